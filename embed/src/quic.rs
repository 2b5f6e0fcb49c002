//! A QUIC connection over an emulated link, in one process and without waiting: quinn-proto does no input or output, so that
//! time is a number that goes to the next event. The link is a queue under an AQM, which marks CE.
//!
//!     cargo run --bin quic fq_codel
//!
//! sends 4 MB through 10 Mbit/s with 20 ms of delay each way, and says how long that took, what the queue did and the
//! connection saw.

use marqueue_aqm::{Bottleneck, Config, Dur, Ecn, Header, Rate, Time};
use quinn_proto::{
    ClientConfig, Connection, ConnectionHandle, DatagramEvent, Dir, EcnCodepoint, Endpoint, EndpointConfig, Event,
    ServerConfig, StreamEvent, StreamId,
};
use std::error::Error;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::{Duration, Instant};

const CLIENT: ([u8; 4], u16) = ([10, 0, 0, 1], 40_000);
const SERVER: ([u8; 4], u16) = ([10, 0, 0, 2], 443);
/// IP and UDP headers.
const HEADERS: u32 = 28;
const BYTES: usize = 4_000_000;

fn main() -> Result<(), Box<dyn Error>> {
    let algorithm = std::env::args().nth(1).unwrap_or_else(|| "fq_codel".into());
    let outcome = transfer(&algorithm, BYTES)?;
    println!("{algorithm}: {outcome:?}");
    Ok(())
}

/// What has come of a transfer.
#[derive(Debug)]
#[allow(dead_code, reason = "it is printed")]
struct Outcome {
    received: usize,
    seconds: f64,
    marks: u64,
    drops: u64,
    congestion_events: u64,
    smoothed_rtt: Duration,
}

/// One end: an endpoint, its connection, and the link from it to the other end.
struct End {
    address: SocketAddr,
    endpoint: Endpoint,
    connection: Option<(ConnectionHandle, Connection)>,
    link: Bottleneck<Vec<u8>>,
}

/// Sends `bytes` from a client to a server through `algorithm`; acknowledgements come back through a link without congestion.
fn transfer(algorithm: &str, bytes: usize) -> Result<Outcome, Box<dyn Error>> {
    let made = rcgen::generate_simple_self_signed(vec!["server".into()])?;
    let (certificate, key) = (made.cert.der().clone(), made.signing_key.serialize_der());
    let mut roots = rustls::RootCertStore::empty();
    roots.add(certificate.clone())?;
    let server =
        ServerConfig::with_single_cert(vec![certificate], rustls::pki_types::PrivatePkcs8KeyDer::from(key).into())?;
    let link = |name: &str| Config::new(name, Rate(10_000_000)).delay(Dur::from_secs(0.02)).bottleneck();
    let end = |address, server, link| {
        let endpoint = Endpoint::new(Arc::new(EndpointConfig::default()), server, false, Some([7; 32]));
        End { address: SocketAddr::from(address), endpoint, connection: None, link }
    };
    let mut ends = [end(CLIENT, None, link(algorithm)?), end(SERVER, Some(Arc::new(server)), link("droptail")?)];

    let start = Instant::now();
    let client = ClientConfig::with_root_certificates(Arc::new(roots))?;
    let connected = ends[0].endpoint.connect(start, client, SERVER.into(), "server")?;
    ends[0].connection = Some(connected);
    let (mut now, mut left, mut received, mut stream) = (Time(0), bytes, 0, None);
    while received < bytes {
        let instant = start + Duration::from_nanos(now.0);
        if let Some((_, connection)) = &mut ends[0].connection {
            left -= write(connection, &mut stream, left)?;
        }
        for from in 0..2 {
            ends[from].transmit(instant, now);
            while let Some(delivery) = ends[from].link.receive(now) {
                let source = ends[from].address;
                ends[1 - from].accept(instant, source, delivery.packet.header.ecn, delivery.packet.payload)?;
            }
        }
        for end in &mut ends {
            received += end.process(instant)?;
        }
        ends.iter_mut().for_each(|end| end.transmit(instant, now));
        now = ends.iter_mut().filter_map(|end| end.next_event(start)).min().ok_or("nothing more happens")?.max(now);
    }
    let counters = ends[0].link.counters();
    let Some((_, connection)) = &ends[0].connection else { return Err("no connection".into()) };
    Ok(Outcome {
        received,
        seconds: now.secs(),
        marks: counters.marked(),
        drops: counters.dropped(),
        congestion_events: connection.stats().path.congestion_events,
        smoothed_rtt: connection.rtt(),
    })
}

/// Writes what flow control lets through of `left` bytes. Returns how many.
fn write(connection: &mut Connection, stream: &mut Option<StreamId>, left: usize) -> Result<usize, Box<dyn Error>> {
    if stream.is_none() && !connection.is_handshaking() {
        *stream = connection.streams().open(Dir::Uni);
    }
    let Some(id) = *stream else { return Ok(0) };
    let mut written = 0;
    while written < left {
        let piece = [0; 65_536];
        match connection.send_stream(id).write(&piece[..piece.len().min(left - written)]) {
            Ok(n) => written += n,
            Err(quinn_proto::WriteError::Blocked) => break,
            Err(error) => return Err(error.into()),
        }
    }
    Ok(written)
}

impl End {
    /// Puts on the link what the connection has to send.
    fn transmit(&mut self, instant: Instant, now: Time) {
        let Some((_, connection)) = &mut self.connection else { return };
        let mut datagram = Vec::new();
        while let Some(transmit) = connection.poll_transmit(instant, 1, &mut datagram) {
            let header = Header::new(transmit.size as u32 + HEADERS, 1, to_field(transmit.ecn));
            self.link.send(now, header, std::mem::take(&mut datagram));
        }
    }

    /// A datagram arrives.
    fn accept(
        &mut self,
        instant: Instant,
        from: SocketAddr,
        ecn: Ecn,
        datagram: Vec<u8>,
    ) -> Result<(), Box<dyn Error>> {
        let mut answer = Vec::new();
        let ecn = EcnCodepoint::from_bits(ecn as u8);
        match self.endpoint.handle(instant, from, None, ecn, datagram[..].into(), &mut answer) {
            Some(DatagramEvent::ConnectionEvent(_, event)) => {
                if let Some((_, connection)) = &mut self.connection {
                    connection.handle_event(event);
                }
            }
            Some(DatagramEvent::NewConnection(incoming)) => {
                let accepted = self.endpoint.accept(incoming, instant, &mut answer, None);
                self.connection = Some(accepted.map_err(|refused| refused.cause)?);
            }
            Some(DatagramEvent::Response(_)) | None => {}
        }
        Ok(())
    }

    /// Runs timers, tells endpoint and connection of each other, and reads. Returns the bytes that were read.
    fn process(&mut self, instant: Instant) -> Result<usize, Box<dyn Error>> {
        let Some((handle, connection)) = &mut self.connection else { return Ok(0) };
        if connection.poll_timeout().is_some_and(|due| due <= instant) {
            connection.handle_timeout(instant);
        }
        while let Some(event) = connection.poll_endpoint_events() {
            if let Some(event) = self.endpoint.handle_event(*handle, event) {
                connection.handle_event(event);
            }
        }
        let mut received = 0;
        let mut readable = Vec::new();
        while let Some(event) = connection.poll() {
            match event {
                Event::Stream(StreamEvent::Opened { dir: Dir::Uni }) => {
                    readable.extend(connection.streams().accept(Dir::Uni));
                }
                Event::Stream(StreamEvent::Readable { id }) => readable.push(id),
                Event::ConnectionLost { reason } => return Err(reason.into()),
                _ => {}
            }
        }
        for id in readable {
            let mut stream = connection.recv_stream(id);
            let mut chunks = stream.read(true)?;
            while let Ok(Some(chunk)) = chunks.next(usize::MAX) {
                received += chunk.bytes.len();
            }
            // What it would send is polled anyway.
            let _ = chunks.finalize();
        }
        Ok(received)
    }

    /// When a packet arrives at the other end, or a timer is due.
    fn next_event(&mut self, start: Instant) -> Option<Time> {
        let timer = self.connection.as_mut().and_then(|(_, connection)| connection.poll_timeout());
        let timer = timer.map(|due| Time(due.saturating_duration_since(start).as_nanos() as u64));
        [self.link.next_event(), timer].into_iter().flatten().min()
    }
}

fn to_field(ecn: Option<EcnCodepoint>) -> Ecn {
    match ecn {
        None => Ecn::NotEct,
        Some(EcnCodepoint::Ect1) => Ecn::Ect1,
        Some(EcnCodepoint::Ect0) => Ecn::Ect0,
        Some(EcnCodepoint::Ce) => Ecn::Ce,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// 2 MB take 1.6 s at 10 Mbit/s, and the handshake a round trip of 40 ms; slow start and headers take more.
    #[test]
    fn a_transfer_is_as_fast_as_the_link_allows_and_is_marked_not_dropped() {
        let outcome = transfer("codel", 2_000_000).unwrap();
        assert_eq!((outcome.received, outcome.drops), (2_000_000, 0));
        assert!(outcome.marks > 0 && outcome.congestion_events > 0, "{outcome:?}");
        assert!(outcome.seconds > 1.64 && outcome.seconds < 3.0, "{outcome:?}");
    }
}
