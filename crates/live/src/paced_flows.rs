//! Rate-based flows with real packets: senders and receivers on UDP sockets in two network namespaces, with the rate
//! laws of the simulator ([`marqueue_cc::rate_based`]).
//!
//! One thread serves all of them. A packet that is late is followed by the next one so much earlier: the pacer counts
//! from the rate, not from the last packet. ECN fields of arriving packets are read by quinn-udp.

use crate::clock::{prepare_timers, to_timespec, Clock, SENDER_PRIORITY};
use crate::namespace::inside;
use crate::paced_packet::{least_payload, read_data, read_report, report_payload, write_data};
use crate::stop_handle::StopHandle;
use hdrhistogram::Histogram;
use marqueue_cc::rate_based::sender::Counts;
use marqueue_cc::rate_based::{AnyRateLaw, Receiver, Sender};
use marqueue_core::{Dur, Ecn, Time};
use quinn_udp::{EcnCodepoint, RecvMeta, UdpSocketState};
use rustix::event::epoll::{self, CreateFlags, EventData, EventFlags};
use rustix::io::{Errno, Result};
use socket2::{Domain, Protocol, SockRef, Socket, Type};
use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap};
use std::io::{self, IoSliceMut};
use std::net::{SocketAddr, UdpSocket};
use std::path::Path;

/// Room for packets that wait in a receiving socket, bytes.
const SOCKET_BUFFER: usize = 8 << 20;
/// Largest datagram, or series of them that the kernel has joined, bytes.
const LARGEST: usize = 1 << 16;
/// Headers of IP and UDP, bytes.
const HEADERS_IPV4: usize = 28;
const HEADERS_IPV6: usize = 48;
/// Most packets that are read from one socket before the others are served.
const BATCH: usize = 64;
/// The longest sleep. The stop handle is checked at least this often.
const LONGEST_SLEEP: Dur = Dur(500_000_000);
/// Unit in which lateness is recorded: a thousandth of the time between two packets.
const LATE_UNIT: f64 = 1000.0;

/// A flow to send.
#[derive(Clone, Debug)]
pub struct FlowSpec {
    /// The address of its sender, and the port that distinguishes it.
    pub near: SocketAddr,
    /// The address of its receiver, which flows may share.
    pub far: SocketAddr,
    /// Its rate law.
    pub law: AnyRateLaw,
    /// Its initial rate, packets a second.
    pub rate: f64,
    /// Size of its packets on the wire, bytes.
    pub bytes: usize,
    /// When it starts.
    pub start: Time,
    /// When it stops.
    pub stop: Time,
    /// Are its packets ECN-capable?
    pub ecn: bool,
    /// Code point of its packets and of their reports.
    pub dscp: u8,
    /// Whether to record every change of its rate.
    pub trace: bool,
}

/// What is known of a flow after the run.
#[derive(Clone, Debug)]
pub struct FlowRecord {
    /// What its sender has counted.
    pub counts: Counts,
    /// Bytes received on the wire by each of the given times.
    pub received: Vec<u64>,
    /// Times, with the rate in packets a second and the latest price from then on; empty unless traced.
    pub rates: Vec<(Time, (f64, Option<f64>))>,
}

/// What is known after the run.
#[derive(Debug)]
pub struct PacedOutcome {
    /// The flows, in their order.
    pub flows: Vec<FlowRecord>,
    /// How late packets were sent, 99th percentile, as a share of the time between two packets of their flow; `None` if
    /// none was sent.
    pub late: Option<f64>,
}

#[derive(Debug)]
struct Flow {
    spec: FlowSpec,
    socket: UdpSocket,
    sender: Sender,
    receiver: Receiver,
    payload: Vec<u8>,
    headers: usize,
    bytes_received: u64,
    record: FlowRecord,
}

#[derive(Debug)]
struct ReceivingSocket {
    socket: UdpSocket,
    state: UdpSocketState,
}

/// The flows with their sockets.
#[derive(Debug)]
pub struct PacedFlows {
    flows: Vec<Flow>,
    receivers: Vec<ReceivingSocket>,
    /// The flow of each sender's port.
    by_port: BTreeMap<u16, usize>,
    /// When received bytes are recorded, the last one being the end of the run.
    edges: Vec<Time>,
    /// When flows' timers are due, the earliest first. An entry whose time is not that in `armed` counts no more.
    timers: BinaryHeap<Reverse<(Time, usize)>>,
    /// When each flow's timer is due.
    armed: Vec<Time>,
    lateness: Histogram<u64>,
    stop: StopHandle,
}

impl PacedFlows {
    /// Opens the sockets of `flows`: senders in the network namespace of the file `near`, receivers in that of `far`.
    /// Received bytes are recorded at `edges`, of which the last ends the run.
    ///
    /// # Errors
    /// If an address is not there or in use, or the system has no file descriptors left.
    pub fn open(
        flows: Vec<FlowSpec>,
        near: Option<&Path>,
        far: Option<&Path>,
        edges: Vec<Time>,
        stop: StopHandle,
    ) -> Result<PacedFlows> {
        let sockets = inside(near, || flows.iter().map(open_sender).collect::<Result<Vec<_>>>())?;
        let mut far_ends: Vec<_> = flows.iter().map(|flow| (flow.far, flow.dscp)).collect();
        far_ends.sort_unstable();
        far_ends.dedup();
        let receivers = inside(far, || far_ends.into_iter().map(open_receiver).collect::<Result<Vec<_>>>())?;
        let by_port = flows.iter().enumerate().map(|(f, flow)| (flow.near.port(), f)).collect();
        let flows: Vec<_> = flows.into_iter().zip(sockets).map(|(spec, socket)| Flow::new(spec, socket)).collect();
        let mut all = PacedFlows {
            armed: vec![Time::NEVER; flows.len()],
            flows,
            receivers,
            by_port,
            edges,
            timers: BinaryHeap::new(),
            lateness: Histogram::new(3).expect("three digits are valid"),
            stop,
        };
        (0..all.flows.len()).for_each(|f| all.arm(f));
        Ok(all)
    }

    /// Sends and receives until the last edge on `clock`, or until the run is stopped.
    ///
    /// # Errors
    /// If a socket fails.
    pub fn run(mut self, clock: Clock) -> Result<PacedOutcome> {
        prepare_timers(SENDER_PRIORITY);
        let epoll = epoll::create(CreateFlags::CLOEXEC)?;
        self.stop.wake(&epoll)?;
        let senders = self.flows.iter().map(|flow| &flow.socket);
        for (number, socket) in senders.chain(self.receivers.iter().map(|r| &r.socket)).enumerate() {
            epoll::add(&epoll, socket, EventData::new_u64(number as u64 + 1), EventFlags::IN)?;
        }
        let mut buffer = vec![0; LARGEST];
        let mut events = [epoll::Event { flags: EventFlags::empty(), data: EventData::new_u64(0) }; BATCH];
        let end = self.edges.last().copied().unwrap_or(Time::ZERO);
        while !self.stop.is_set() {
            self.send_due(clock)?;
            let now = clock.now();
            self.record_edges(now);
            if now >= end {
                break;
            }
            let due = self.timers.peek().map_or(Time::NEVER, |t| t.0 .0).min(end);
            let ready = match epoll::wait(&epoll, &mut events, Some(&to_timespec(due.since(now).min(LONGEST_SLEEP)))) {
                Ok(ready) => ready,
                Err(Errno::INTR) => 0,
                Err(error) => return Err(error),
            };
            for event in &events[..ready] {
                // Zero is the stop handle.
                if let Some(socket) = (event.data.u64() as usize).checked_sub(1) {
                    self.receive(socket, clock, &mut buffer)?;
                }
            }
        }
        self.record_edges(Time::NEVER);
        let late = (!self.lateness.is_empty()).then(|| self.lateness.value_at_quantile(0.99) as f64 / LATE_UNIT);
        Ok(PacedOutcome { flows: self.flows.into_iter().map(Flow::into_record).collect(), late })
    }

    /// Sends the packets that are due.
    fn send_due(&mut self, clock: Clock) -> Result<()> {
        while let Some(&Reverse((due, f))) = self.timers.peek() {
            let now = clock.now();
            if due > now {
                break;
            }
            self.timers.pop();
            if due != self.armed[f] {
                continue;
            }
            self.armed[f] = Time::NEVER;
            let flow = &mut self.flows[f];
            // A thread that is woken too late sends nothing after the stop.
            if now >= flow.spec.stop {
                continue;
            }
            let gap = 1.0 / flow.sender.rate();
            if flow.on_timer(now)? {
                let late = now.since(due).secs() / gap * LATE_UNIT;
                self.lateness.saturating_record(late as u64);
            }
            self.arm(f);
        }
        Ok(())
    }

    /// Enters the next deadline of flow `f`.
    fn arm(&mut self, f: usize) {
        let deadline = self.flows[f].sender.deadline();
        if deadline != self.armed[f] {
            self.armed[f] = deadline;
            self.timers.push(Reverse((deadline, f)));
        }
    }

    /// Reads what waits in a socket: those of senders have the first numbers.
    fn receive(&mut self, socket: usize, clock: Clock, buffer: &mut [u8]) -> Result<()> {
        for _ in 0..BATCH {
            let received = match socket.checked_sub(self.flows.len()) {
                Some(r) => self.receive_data(r, buffer)?,
                None => self.receive_report(socket, clock, buffer)?,
            };
            if !received {
                break;
            }
        }
        Ok(())
    }

    /// Reads one report. Returns false if there is none.
    fn receive_report(&mut self, f: usize, clock: Clock, buffer: &mut [u8]) -> Result<bool> {
        let Some(length) = would_block(self.flows[f].socket.recv(buffer))? else { return Ok(false) };
        if let Some(report) = read_report(&buffer[..length]) {
            self.flows[f].on_report(clock.now(), &report);
            self.arm(f);
        }
        Ok(true)
    }

    /// Reads one datagram, or several that the kernel has joined, and answers them. Returns false if there is none.
    fn receive_data(&mut self, r: usize, buffer: &mut [u8]) -> Result<bool> {
        let ReceivingSocket { socket, state } = &self.receivers[r];
        let mut meta = [RecvMeta::default()];
        let received = state.recv(socket.into(), &mut [IoSliceMut::new(buffer)], &mut meta);
        let (Some(_), [meta]) = (would_block(received)?, meta) else { return Ok(false) };
        let ecn = if meta.ecn == Some(EcnCodepoint::Ce) { Ecn::Ce } else { Ecn::NotEct };
        let Some(flow) = self.by_port.get(&meta.addr.port()).map(|&f| &mut self.flows[f]) else { return Ok(true) };
        for datagram in buffer[..meta.len].chunks(meta.stride.max(1)) {
            let Some((seq, signals)) = read_data(datagram) else { continue };
            flow.bytes_received += (datagram.len() + flow.headers) as u64;
            let report = report_payload(&flow.receiver.on_packet(seq, ecn, signals));
            would_block(socket.send_to(&report, meta.addr))?;
        }
        Ok(true)
    }

    fn record_edges(&mut self, now: Time) {
        for flow in &mut self.flows {
            while self.edges.get(flow.record.received.len()).is_some_and(|&edge| edge <= now) {
                flow.record.received.push(flow.bytes_received);
            }
        }
    }
}

impl Flow {
    fn new(spec: FlowSpec, socket: UdpSocket) -> Flow {
        let headers = if spec.near.is_ipv4() { HEADERS_IPV4 } else { HEADERS_IPV6 };
        let least = least_payload(spec.law.uses_router_feedback());
        let record = FlowRecord { counts: Counts::default(), received: Vec::new(), rates: Vec::new() };
        Flow {
            sender: Sender::new(spec.law.clone(), spec.rate, spec.start, spec.stop),
            receiver: Receiver::default(),
            payload: vec![0; spec.bytes.saturating_sub(headers).max(least)],
            headers,
            bytes_received: 0,
            record,
            socket,
            spec,
        }
    }

    /// The timer is due. Returns true if a packet was sent.
    fn on_timer(&mut self, now: Time) -> Result<bool> {
        let due = self.sender.on_timer(now);
        self.record_rate(now);
        let Some(seq) = due else { return Ok(false) };
        write_data(&mut self.payload, seq, self.sender.header(seq));
        would_block(self.socket.send(&self.payload))?;
        Ok(true)
    }

    fn on_report(&mut self, now: Time, report: &marqueue_cc::rate_based::Report) {
        self.sender.on_report(now, report);
        self.record_rate(now);
    }

    /// Records the rate and the price if the flow is traced and they have changed.
    fn record_rate(&mut self, now: Time) {
        let state = self.sender.rate_and_price();
        if self.spec.trace && self.record.rates.last().is_none_or(|row| row.1 != state) {
            self.record.rates.push((now, state));
        }
    }

    fn into_record(self) -> FlowRecord {
        FlowRecord { counts: self.sender.counts, ..self.record }
    }
}

fn open_sender(flow: &FlowSpec) -> Result<UdpSocket> {
    let socket = open_socket(flow.near, flow.dscp << 2 | if flow.ecn { Ecn::Ect0 as u8 } else { 0 })?;
    socket.connect(flow.far).map_err(errno)?;
    Ok(socket)
}

fn open_receiver((address, dscp): (SocketAddr, u8)) -> Result<ReceivingSocket> {
    let socket = open_socket(address, dscp << 2)?;
    let state = UdpSocketState::new((&socket).into()).map_err(errno)?;
    // More than the system grants is refused without harm: packets that find no room are counted by the audit.
    let _ = SockRef::from(&socket).set_recv_buffer_size(SOCKET_BUFFER);
    Ok(ReceivingSocket { socket, state })
}

/// A socket whose packets have this traffic class.
fn open_socket(address: SocketAddr, class: u8) -> Result<UdpSocket> {
    let socket = Socket::new(Domain::for_address(address), Type::DGRAM, Some(Protocol::UDP)).map_err(errno)?;
    socket.set_nonblocking(true).map_err(errno)?;
    let set =
        if address.is_ipv4() { socket.set_tos_v4(u32::from(class)) } else { socket.set_tclass_v6(u32::from(class)) };
    set.map_err(errno)?;
    socket.bind(&address.into()).map_err(errno)?;
    Ok(socket.into())
}

/// `None` if the operation would have had to wait, or if a packet found no room in the kernel or no receiver: it is
/// lost.
fn would_block<T>(done: io::Result<T>) -> Result<Option<T>> {
    match done.map_err(errno) {
        Ok(value) => Ok(Some(value)),
        Err(Errno::AGAIN | Errno::INTR | Errno::NOBUFS | Errno::CONNREFUSED) => Ok(None),
        Err(error) => Err(error),
    }
}

fn errno(error: io::Error) -> Errno {
    Errno::from_io_error(&error).unwrap_or(Errno::IO)
}
