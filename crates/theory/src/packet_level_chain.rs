//! A packet-level version of the chain of TCP windows ([`crate::chain`]). It lies between the chain and the packet
//! simulator: each assumption of the chain can be replaced by the behaviour of TCP, one at a time.
//!
//! There is no slow start, no timeout, no access link and no delayed acknowledgement, and a packet that finds the
//! buffer full counts as marked. What remains of TCP is additive increase, halving at most once a round trip, and the
//! times at which packets are sent and acknowledged.

use marqueue_core::curve::ScaledCurve;
use marqueue_core::{math, Rng};
use std::cmp::Ordering;
use std::collections::BinaryHeap;

/// When packets are sent, and when a window reacts to marks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SendingModel {
    /// As in the chain: a flow of window w sends w packets at independent, uniform instants of its round trip, and
    /// changes its window at the end of the round trip, on average half a round trip after the mark.
    Rounds,
    /// Packets are sent as a Poisson process of rate window over round trip. Each is acknowledged a round trip later.
    Poisson,
    /// Each acknowledgement triggers as many packets as the window allows.
    AckClocked,
}

/// The distribution of service times in the shared queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Service {
    /// Exponentially distributed.
    Exponential,
    /// Constant.
    Constant,
}

/// The queue that a packet meets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum QueueModel {
    /// A queue length drawn independently for each packet from M/M/1 in equilibrium at the present load.
    Stationary,
    /// One queue that the packets of all flows share.
    Shared {
        /// The distribution of service times.
        service: Service,
        /// Whether the queueing delay is added to the round trip.
        adds_delay: bool,
    },
}

/// The flows of one round-trip time.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Class {
    /// Number of flows.
    pub flows: u32,
    /// Round-trip time in units of T.
    pub rtt: f64,
}

/// The parameters of a simulation. Times are in units of T.
#[derive(Clone, Debug)]
pub struct Setup {
    /// Marking curve p_N and buffer.
    pub curve: ScaledCurve,
    /// The flows, by round-trip time.
    pub classes: Vec<Class>,
    /// CT: packets for each flow that the link carries in T.
    pub ct: f64,
    /// The largest window, packets.
    pub max_window: f64,
    /// When packets are sent and windows react.
    pub sending: SendingModel,
    /// The queue that packets meet.
    pub queue_model: QueueModel,
}

/// The simulation with its state: all flows and the queue.
#[derive(Clone, Debug)]
pub struct PacketLevelChain {
    sending: SendingModel,
    queue_model: QueueModel,
    max_window: f64,
    flows: Vec<Flow>,
    queue: SharedQueue,
    /// Packets that the link carries in T.
    capacity: f64,
    /// Packets that all flows send in T.
    sending_rate: f64,
    pending: BinaryHeap<Event>,
    /// Sequence number of the last event.
    sequence: u64,
    entered: u64,
    draws: Rng,
}

#[derive(Clone, Debug)]
struct Flow {
    rtt: f64,
    window: f64,
    /// True if a packet was marked in the current round.
    marked: bool,
    /// Number of packets sent.
    sent: u64,
    /// Packets that are not acknowledged yet.
    in_flight: u64,
    /// The first packet sent after the last halving. Acknowledgements of earlier packets do not change the window.
    first_after_halving: u64,
    /// Number of changes of the rate. A packet that was drawn for an earlier rate is not sent.
    rate_version: u64,
}

/// The shared queue.
#[derive(Clone, Debug)]
struct SharedQueue {
    curve: ScaledCurve,
    buffer: u32,
    length: u32,
    /// When the packet in service departs.
    departure: f64,
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum EventKind {
    /// A packet arrives at the link.
    Packet,
    /// The next packet of a Poisson flow, unless the rate has changed since it was drawn.
    PoissonPacket { rate_version: u64 },
    /// A packet is acknowledged.
    Acknowledgement { packet: u64, marked: bool },
    /// A round trip of a flow ends.
    Round,
}

#[derive(Clone, Copy, Debug, PartialEq)]
struct Event {
    time: f64,
    sequence: u64,
    flow: u32,
    kind: EventKind,
}

impl Eq for Event {}

impl PartialOrd for Event {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

/// The earliest event is the maximum, because a heap returns the maximum first.
impl Ord for Event {
    fn cmp(&self, other: &Self) -> Ordering {
        other.time.total_cmp(&self.time).then(other.sequence.cmp(&self.sequence))
    }
}

impl PacketLevelChain {
    /// A simulation whose windows are spread over 1 to 2CT, each flow at a random point of its round trip. Draws come
    /// from the stream `name`.
    ///
    /// # Panics
    /// If there are no flows, or CT is 0.
    pub fn new(setup: Setup, seed: u64, name: &str) -> PacketLevelChain {
        let population: u32 = setup.classes.iter().map(|c| c.flows).sum();
        assert!(population > 0 && setup.ct > 0.0, "expected flows and a CT above 0");
        let spread = (2.0 * setup.ct).round().max(1.0).min(setup.max_window) as u32;
        let rtts_and_windows = setup.classes.iter().flat_map(|c| (0..c.flows).map(move |i| (c.rtt, 1 + i % spread)));
        let flows = rtts_and_windows.map(|(rtt, window)| Flow {
            rtt,
            window: f64::from(window),
            marked: false,
            sent: 0,
            in_flight: 0,
            first_after_halving: 0,
            rate_version: 0,
        });
        let buffer = setup.curve.buffer();
        let mut chain = PacketLevelChain {
            sending: setup.sending,
            queue_model: setup.queue_model,
            max_window: setup.max_window,
            flows: flows.collect(),
            queue: SharedQueue { curve: setup.curve, buffer, length: 0, departure: f64::INFINITY },
            capacity: f64::from(population) * setup.ct,
            sending_rate: 0.0,
            pending: BinaryHeap::new(),
            sequence: 0,
            entered: 0,
            draws: Rng::named(seed, name),
        };
        (0..population).for_each(|flow| chain.start_flow(flow));
        chain
    }

    /// Advances to time `until`.
    pub fn run(&mut self, until: f64) {
        while let Some(&event) = self.pending.peek().filter(|event| event.time < until) {
            self.pending.pop();
            let Event { time, flow, .. } = event;
            match event.kind {
                EventKind::Packet => self.arrive(time, flow),
                EventKind::PoissonPacket { rate_version } if rate_version == self.flows[flow as usize].rate_version => {
                    self.arrive(time, flow);
                    self.draw_next(time, flow);
                }
                EventKind::PoissonPacket { .. } => {}
                EventKind::Acknowledgement { packet, marked } => self.acknowledge(time, flow, packet, marked),
                EventKind::Round => self.end_round(time, flow),
            }
        }
    }

    /// The sum of all windows, packets.
    pub fn total_window(&self) -> f64 {
        self.windows().sum()
    }

    /// The window of each flow, packets.
    pub fn windows(&self) -> impl Iterator<Item = f64> + '_ {
        self.flows.iter().map(|flow| flow.window)
    }

    /// Number of packets that entered the queue so far.
    pub fn entered(&self) -> u64 {
        self.entered
    }

    fn start_flow(&mut self, flow: u32) {
        let Flow { rtt, window, .. } = self.flows[flow as usize];
        self.sending_rate += window / rtt;
        match self.sending {
            SendingModel::Rounds => {
                let time = rtt * self.draws.uniform();
                self.push(time, flow, EventKind::Round);
            }
            SendingModel::Poisson => self.draw_next(0.0, flow),
            SendingModel::AckClocked => {
                for _ in 0..window as u64 {
                    let time = rtt * self.draws.uniform();
                    self.send_packet(time, flow);
                }
            }
        }
    }

    fn push(&mut self, time: f64, flow: u32, kind: EventKind) {
        self.sequence += 1;
        self.pending.push(Event { time, sequence: self.sequence, flow, kind });
    }

    /// Draws the next packet of a Poisson flow.
    fn draw_next(&mut self, now: f64, flow: u32) {
        let Flow { rtt, window, rate_version, .. } = self.flows[flow as usize];
        let time = now + self.draws.exponential(rtt / window);
        self.push(time, flow, EventKind::PoissonPacket { rate_version });
    }

    fn send_packet(&mut self, time: f64, flow: u32) {
        self.flows[flow as usize].in_flight += 1;
        self.push(time, flow, EventKind::Packet);
    }

    /// A packet arrives at the link.
    fn arrive(&mut self, now: f64, flow: u32) {
        let (queue, lost, delay) = match self.queue_model {
            QueueModel::Stationary => (self.draw_stationary(), false, 0.0),
            QueueModel::Shared { service, adds_delay } => {
                let length = self.queue.length_at(now, || service.time(&mut self.draws) / self.capacity);
                let lost = length >= self.queue.buffer;
                if !lost {
                    self.queue.enter(now, || service.time(&mut self.draws) / self.capacity);
                }
                let queue = f64::from(length);
                (queue, lost, if adds_delay { queue / self.capacity } else { 0.0 })
            }
        };
        let marked = lost || self.draws.uniform() < self.queue.curve.p(queue);
        self.entered += u64::from(!lost);
        let state = &mut self.flows[flow as usize];
        if self.sending == SendingModel::Rounds {
            state.marked |= marked;
            return;
        }
        let (packet, time) = (state.sent, now + state.rtt + delay);
        state.sent += 1;
        self.push(time, flow, EventKind::Acknowledgement { packet, marked });
    }

    /// Draws the length of M/M/1 in equilibrium at the present load; infinite at loads of 1 and more.
    fn draw_stationary(&mut self) -> f64 {
        let load = self.sending_rate / self.capacity;
        let u = 1.0 - self.draws.uniform();
        if load < 1.0 {
            (math::ln(u) / math::ln(load)).floor()
        } else {
            f64::INFINITY
        }
    }

    fn acknowledge(&mut self, now: f64, flow: u32, packet: u64, marked: bool) {
        let state = &mut self.flows[flow as usize];
        let window = state.window;
        if packet >= state.first_after_halving {
            if marked {
                state.first_after_halving = state.sent;
                self.set_window(flow, (window / 2.0).max(1.0));
            } else {
                self.set_window(flow, window + 1.0 / window);
            }
        }
        match self.sending {
            SendingModel::Poisson if self.flows[flow as usize].window != window => {
                self.flows[flow as usize].rate_version += 1;
                self.draw_next(now, flow);
            }
            SendingModel::AckClocked => {
                self.flows[flow as usize].in_flight -= 1;
                while self.flows[flow as usize].in_flight < self.flows[flow as usize].window as u64 {
                    self.send_packet(now, flow);
                }
            }
            _ => {}
        }
    }

    fn end_round(&mut self, now: f64, flow: u32) {
        let Flow { rtt, window, marked, .. } = self.flows[flow as usize];
        self.set_window(flow, if marked { (window / 2.0).floor().max(1.0) } else { window + 1.0 });
        self.flows[flow as usize].marked = false;
        for _ in 0..self.flows[flow as usize].window as u64 {
            let time = now + rtt * self.draws.uniform();
            self.push(time, flow, EventKind::Packet);
        }
        self.push(now + rtt, flow, EventKind::Round);
    }

    /// Sets a window, at most the largest one.
    fn set_window(&mut self, flow: u32, window: f64) {
        let flow = &mut self.flows[flow as usize];
        let change = window.min(self.max_window) - flow.window;
        flow.window += change;
        self.sending_rate += change / flow.rtt;
    }
}

impl SharedQueue {
    /// The length at `now`. `service_time` draws the service times of packets that start service until then.
    fn length_at(&mut self, now: f64, mut service_time: impl FnMut() -> f64) -> u32 {
        while self.departure <= now {
            self.length -= 1;
            self.departure = if self.length > 0 { self.departure + service_time() } else { f64::INFINITY };
        }
        self.length
    }

    /// A packet enters the queue.
    fn enter(&mut self, now: f64, mut service_time: impl FnMut() -> f64) {
        if self.length == 0 {
            self.departure = now + service_time();
        }
        self.length += 1;
    }
}

impl Service {
    /// Draws a service time in units of its mean.
    fn time(self, draws: &mut Rng) -> f64 {
        match self {
            Service::Exponential => draws.exponential(1.0),
            Service::Constant => 1.0,
        }
    }
}
