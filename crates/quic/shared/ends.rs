//! The two ends of one connection. This file is compiled for each library: `super::proto` is the library, and `super::differences` what
//! it does in its own way.

use super::control::{install, EcnCuts};
use super::differences;
use super::proto::{
    ClientConfig, Connection as QuicConnection, ConnectionHandle, ConnectionId, ConnectionIdGenerator, DatagramEvent,
    Dir, EcnCodepoint, Endpoint, EndpointConfig, Event, ServerConfig, StreamEvent, StreamId, TransportConfig, VarInt,
};
use super::session::{NoKey, NoTls};
use crate::application::Application;
use crate::clock::Clock;
use crate::connection::{Connection, Datagram, End, Progress};
use bytes::{Bytes, BytesMut};
use marqueue_cc::SenderInfo;
use marqueue_core::{Dur, Ecn, Rng, Time};
use marqueue_sim::plan::{QuicPlan, UDP_HEADER};
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::sync::atomic::Ordering;
use std::sync::Arc;
use std::time::Duration;

/// Length of a connection ID, bytes: quinn's own.
const CONNECTION_ID: usize = 8;
/// What the client asks with, bytes: about a request of HTTP/3.
const REQUEST: &[u8] = &[0; 100];
/// What the server hands to its stream at a time.
static DATA: [u8; 1 << 16] = [0; 1 << 16];
/// Flow control of the receiver, bytes: so large that congestion control decides.
const WINDOW: u32 = 1 << 28;
/// What is taken for the round-trip time before the first sample (RFC 9002, section 6.2.2), quinn's default.
const INITIAL_RTT: Duration = Duration::from_millis(333);
/// Least buffer of the sender for what is not acknowledged, bytes. It has room for two congestion windows, so that it
/// is never the application that limits, and that little is left in it when the application stops.
const LEAST_BUFFER: u64 = 1 << 16;

/// One end.
struct Side {
    end: End,
    endpoint: Endpoint,
    connection: Option<(ConnectionHandle, QuicConnection)>,
}

/// The two ends of one connection.
pub struct Ends {
    client: Side,
    server: Side,
    ecn: bool,
    ecn_cuts: EcnCuts,
    /// The stream with the data, at the server.
    stream: Option<StreamId>,
    application: Application,
    finished: bool,
    completed: bool,
    payload: f64,
}

impl std::fmt::Debug for Ends {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Ends")
            .field("application", &self.application)
            .field("completed", &self.completed)
            .finish_non_exhaustive()
    }
}

impl Ends {
    /// The ends of a flow of `size` bytes, with random numbers of `rng`. The client begins at `now`.
    pub fn new(plan: &QuicPlan, size: Option<u32>, rng: &mut Rng, clock: Clock, now: Time) -> Ends {
        let ecn_cuts = EcnCuts::default();
        let transport = Arc::new(transport_config(plan, ecn_cuts.clone()));
        let mut server = ServerConfig::new(Arc::new(NoTls), Arc::new(NoKey));
        server.transport_config(transport.clone()).migration(false);
        let mut client = ClientConfig::new(Arc::new(NoTls));
        let first_id = random_id(rng);
        client.transport_config(transport).initial_dst_cid_provider(Arc::new(move || first_id));
        let mut ends = Ends {
            client: Side::new(End::Client, endpoint(None, rng)),
            server: Side::new(End::Server, endpoint(Some(Arc::new(server)), rng)),
            ecn: plan.ecn,
            ecn_cuts,
            stream: None,
            application: Application::new(size.map(u64::from), plan.rate, u64::from(plan.payload())),
            finished: false,
            completed: false,
            payload: f64::from(plan.payload()),
        };
        let connection = ends.client.endpoint.connect(clock.instant(now), client, address(End::Server), "server");
        ends.client.connection = Some(connection.expect("the address and the version are valid"));
        ends
    }

    fn advance(&mut self, clock: Clock, now: Time, progress: &mut Progress) {
        self.play_client(progress);
        self.play_server(now, progress);
        let from = progress.sent.len();
        for side in [&mut self.client, &mut self.server] {
            side.settle(clock, now, progress);
        }
        if !self.ecn {
            progress.sent[from..].iter_mut().for_each(|datagram| datagram.ecn = Ecn::NotEct);
        }
    }

    /// The client's application: it asks once it is connected, and reads.
    fn play_client(&mut self, progress: &mut Progress) {
        let Some((_, connection)) = &mut self.client.connection else { return };
        while let Some(event) = connection.poll() {
            match event {
                Event::Connected => {
                    let stream = connection.streams().open(Dir::Bi).expect("the server allows streams");
                    let mut request = connection.send_stream(stream);
                    request.write(REQUEST).expect("the first bytes of a stream");
                    request.finish().expect("a stream that is open");
                }
                Event::Stream(StreamEvent::Readable { id }) => progress.delivered += read_all(connection, id),
                _ => {}
            }
        }
    }

    /// The server's application: it answers, and writes as much as its stream takes.
    fn play_server(&mut self, now: Time, progress: &mut Progress) {
        let Some((_, connection)) = &mut self.server.connection else { return };
        while let Some(event) = connection.poll() {
            match event {
                Event::Stream(StreamEvent::Opened { dir: Dir::Bi }) => {
                    self.stream = connection.streams().accept(Dir::Bi);
                    if let Some(stream) = self.stream {
                        read_all(connection, stream);
                    }
                }
                Event::Stream(StreamEvent::Readable { id }) => {
                    read_all(connection, id);
                }
                Event::Stream(StreamEvent::Finished { .. }) => {
                    self.completed = true;
                    progress.completed = true;
                }
                _ => {}
            }
        }
        let Some(stream) = self.stream.filter(|_| !self.finished) else { return };
        connection.set_send_window(LEAST_BUFFER.max(2 * differences::controller(connection).window()));
        let mut stream = connection.send_stream(stream);
        self.application.advance(now);
        while !self.application.is_done() {
            let most = usize::try_from(self.application.ready()).map_or(DATA.len(), |ready| ready.min(DATA.len()));
            if most == 0 {
                return;
            }
            let Some(written) = differences::write(&mut stream, Bytes::from_static(&DATA[..most])) else { return };
            self.application.wrote(written as u64);
        }
        self.finished = stream.finish().is_ok();
    }
}

impl Connection for Ends {
    fn receive(&mut self, datagram: Datagram, clock: Clock, now: Time, progress: &mut Progress) {
        let side = if datagram.from == End::Client { &mut self.server } else { &mut self.client };
        side.receive(datagram, clock, now, progress);
        self.advance(clock, now, progress);
    }

    fn wake(&mut self, clock: Clock, now: Time, progress: &mut Progress) {
        for side in [&mut self.client, &mut self.server] {
            side.fire_timers(clock, now);
        }
        self.advance(clock, now, progress);
    }

    fn stop(&mut self) {
        self.application.stop();
    }

    fn deadline(&mut self, clock: Clock) -> Time {
        self.client.deadline(clock).min(self.server.deadline(clock)).min(self.application.next())
    }

    fn sender(&self) -> Option<SenderInfo> {
        let (_, connection) = self.server.connection.as_ref()?;
        let metrics = differences::controller(connection).metrics();
        let packets = |bytes: u64| bytes as f64 / self.payload;
        let ssthresh = metrics.ssthresh.filter(|&bytes| bytes < u64::MAX / 2).map_or(f64::INFINITY, packets);
        // They tell the smoothed one alone, and its initial value before the first sample.
        let srtt = Some(differences::rtt(connection)).filter(|&srtt| srtt != INITIAL_RTT);
        Some(SenderInfo {
            cwnd: packets(metrics.congestion_window),
            ssthresh,
            rtt: srtt.map(|srtt| Dur(srtt.as_nanos() as u64)),
            srtt: srtt.map_or(0.0, |srtt| srtt.as_secs_f64()),
            rto: Dur::ZERO,
        })
    }

    fn lost(&mut self) -> u64 {
        self.server.connection.as_mut().map_or(0, |(_, connection)| differences::lost(connection))
    }

    fn ecn_cuts(&self) -> u32 {
        self.ecn_cuts.load(Ordering::Relaxed)
    }
}

impl Side {
    fn new(end: End, endpoint: Endpoint) -> Side {
        Side { end, endpoint, connection: None }
    }

    fn receive(&mut self, datagram: Datagram, clock: Clock, now: Time, progress: &mut Progress) {
        let instant = clock.instant(now);
        let ecn = EcnCodepoint::from_bits(datagram.ecn as u8);
        let data = BytesMut::from(&datagram.payload[..]);
        let mut answer = Vec::new();
        let event = differences::handle(&mut self.endpoint, instant, address(datagram.from), ecn, data, &mut answer);
        let transmit = match event {
            None => None,
            Some(DatagramEvent::ConnectionEvent(handle, event)) => {
                let ours = self.connection.as_mut().filter(|(ours, _)| *ours == handle);
                if let Some((_, connection)) = ours {
                    connection.handle_event(event);
                }
                None
            }
            Some(DatagramEvent::NewConnection(incoming)) => {
                match self.endpoint.accept(incoming, instant, &mut answer, None) {
                    Ok(connection) => {
                        self.connection = Some(connection);
                        None
                    }
                    Err(refused) => refused.response,
                }
            }
            Some(DatagramEvent::Response(transmit)) => Some(transmit),
        };
        if let Some(transmit) = transmit {
            answer.truncate(transmit.size);
            progress.sent.push(Datagram { from: self.end, payload: answer, ecn: Ecn::NotEct });
        }
    }

    fn fire_timers(&mut self, clock: Clock, now: Time) {
        if self.deadline(clock) <= now {
            if let Some((_, connection)) = &mut self.connection {
                connection.handle_timeout(clock.instant(now));
            }
        }
    }

    fn deadline(&mut self, clock: Clock) -> Time {
        let connection = self.connection.as_mut();
        connection.and_then(|(_, connection)| connection.poll_timeout()).map_or(Time::NEVER, |at| clock.time(at))
    }

    /// Exchanges events between connection and endpoint, and takes what they send.
    fn settle(&mut self, clock: Clock, now: Time, progress: &mut Progress) {
        let Some((handle, connection)) = &mut self.connection else { return };
        loop {
            while let Some(event) = connection.poll_endpoint_events() {
                if let Some(event) = self.endpoint.handle_event(*handle, event) {
                    connection.handle_event(event);
                }
            }
            let mut payload = Vec::new();
            let Some(transmit) = differences::poll_transmit(connection, clock.instant(now), &mut payload) else {
                return;
            };
            payload.truncate(transmit.size);
            let ecn = match transmit.ecn {
                None => Ecn::NotEct,
                Some(EcnCodepoint::Ect0) => Ecn::Ect0,
                Some(EcnCodepoint::Ect1) => Ecn::Ect1,
                Some(EcnCodepoint::Ce) => Ecn::Ce,
            };
            progress.sent.push(Datagram { from: self.end, payload, ecn });
        }
    }
}

/// Reads all that has arrived in order. Returns its length.
fn read_all(connection: &mut QuicConnection, stream: StreamId) -> u64 {
    let mut bytes = 0;
    let mut receiver = connection.recv_stream(stream);
    if let Ok(mut chunks) = receiver.read(true) {
        while let Ok(Some(chunk)) = chunks.next(usize::MAX) {
            bytes += chunk.bytes.len() as u64;
        }
        // What flow control has to say is sent with the rest.
        let _ = chunks.finalize();
    }
    bytes
}

fn address(end: End) -> SocketAddr {
    let last = if end == End::Client { 1 } else { 2 };
    SocketAddr::new(IpAddr::V4(Ipv4Addr::new(10, 0, 0, last)), 443)
}

fn transport_config(plan: &QuicPlan, ecn_cuts: EcnCuts) -> TransportConfig {
    let payload = plan.packet.0 as u16 - UDP_HEADER as u16;
    let mut config = TransportConfig::default();
    config
        .initial_rtt(INITIAL_RTT)
        .initial_mtu(payload)
        .min_mtu(payload)
        .mtu_discovery_config(None)
        .enable_segmentation_offload(false)
        .max_idle_timeout(None)
        .stream_receive_window(VarInt::from_u32(WINDOW))
        .receive_window(VarInt::from_u32(WINDOW));
    install(plan.control, ecn_cuts, &mut config);
    config
}

fn endpoint(server: Option<Arc<ServerConfig>>, rng: &mut Rng) -> Endpoint {
    let ids = rng.child("connection IDs");
    rng.bits();
    let mut config = EndpointConfig::new(Arc::new(NoKey));
    differences::generate_ids(&mut config, move || Box::new(RandomIds(ids.clone())));
    config.rng_seed(Some(seed(rng)));
    differences::endpoint(Arc::new(config), server)
}

fn seed(rng: &mut Rng) -> [u8; 32] {
    let mut seed = [0; 32];
    for part in seed.chunks_mut(8) {
        part.copy_from_slice(&rng.bits().to_le_bytes());
    }
    seed
}

fn random_id(rng: &mut Rng) -> ConnectionId {
    ConnectionId::new(&rng.bits().to_le_bytes())
}

/// Connection IDs of a random stream.
struct RandomIds(Rng);

impl ConnectionIdGenerator for RandomIds {
    fn generate_cid(&mut self) -> ConnectionId {
        random_id(&mut self.0)
    }

    fn cid_len(&self) -> usize {
        CONNECTION_ID
    }

    fn cid_lifetime(&self) -> Option<std::time::Duration> {
        None
    }
}
