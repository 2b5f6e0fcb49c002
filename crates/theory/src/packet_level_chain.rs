//! A packet-level version of the chain of TCP windows ([`crate::chain`]). It lies between the chain and the packet
//! simulator: each assumption of the chain can be replaced by the behaviour of TCP, one at a time.
//!
//! There is no slow start, no timeout, no access link and no delayed acknowledgement, and a packet that finds the
//! buffer full counts as marked. What remains of TCP is additive increase, halving at most once a round trip, and the
//! times at which packets are sent and acknowledged.

use marqueue_core::curve::ScaledCurve;
use marqueue_core::Rng;
use std::cmp::Ordering;
use std::collections::BinaryHeap;

/// When packets are sent, and when the window reacts to a mark.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SendingModel {
    /// As the chain with groups and classes: a flow of window w sends w packets at independent, uniform instants of
    /// its round trip, and changes its window at its end: half a round trip after the mark, on average.
    Rounds,
    /// Packets are sent as a Poisson process at the rate of window over round trip; each is acknowledged a round trip
    /// later.
    Echoes,
    /// Acknowledgements clock packets out, as many as the window allows.
    Clock,
}

/// The distribution of service times in the shared queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Service {
    /// Exponentially distributed.
    Exponential,
    /// The same for all.
    Constant,
}

/// The queue that a packet finds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum QueueModel {
    /// An independent draw from M/M/1 in equilibrium at the present load.
    Own,
    /// The queue of the packets of all flows.
    Common {
        /// The distribution of service times.
        service: Service,
        /// Whether the queueing delay lengthens the round trip.
        waits: bool,
    },
}

/// Flows of one round-trip time.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Class {
    /// How many.
    pub flows: u32,
    /// Over T.
    pub rtt: f64,
}

/// The parameters of a simulation. Times are in units of T.
#[derive(Clone, Debug)]
pub struct Setup {
    /// p_N and the buffer.
    pub curve: ScaledCurve,
    /// Flows by round-trip time.
    pub classes: Vec<Class>,
    /// Packets a flow that the link carries in T.
    pub ct: f64,
    /// The greatest window, packets.
    pub greatest: f64,
    /// When packets are sent and marks answered.
    pub sending: SendingModel,
    /// What packets find.
    pub queue_model: QueueModel,
}

/// The simulation with its state: all flows and the queue.
#[derive(Clone, Debug)]
pub struct PacketLevelChain {
    sending: SendingModel,
    queue_model: QueueModel,
    greatest: f64,
    flows: Vec<Flow>,
    queue: SharedQueue,
    /// What the link carries in T, packets.
    rate: f64,
    /// Packets that flows send in T.
    sent: f64,
    pending: BinaryHeap<Event>,
    order: u64,
    entered: u64,
    draws: Rng,
}

#[derive(Clone, Debug)]
struct Flow {
    rtt: f64,
    window: f64,
    /// Marked since its round began.
    marked: bool,
    /// Packets sent, and those not answered yet.
    sent: u64,
    flight: u64,
    /// Packets before this were sent before the last halving: no answer to them changes the window.
    since: u64,
    /// How often its rate changed, which makes the next packet that was drawn for the old one void.
    rate: u64,
}

/// The shared queue.
#[derive(Clone, Debug)]
struct SharedQueue {
    curve: ScaledCurve,
    buffer: u32,
    length: u32,
    /// When the packet in service leaves.
    departure: f64,
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum EventKind {
    /// A packet comes to the link.
    Packet,
    /// The next packet of a flow that sends at random, drawn for its rate of then.
    Random { rate: u64 },
    /// A packet is answered.
    Answer { packet: u64, marked: bool },
    /// A flow's own round trip ends.
    Round,
}

#[derive(Clone, Copy, Debug, PartialEq)]
struct Event {
    time: f64,
    order: u64,
    flow: u32,
    kind: EventKind,
}

impl Eq for Event {}

impl PartialOrd for Event {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

/// The earliest is the greatest, as a heap wants it.
impl Ord for Event {
    fn cmp(&self, other: &Self) -> Ordering {
        other.time.total_cmp(&self.time).then(other.order.cmp(&self.order))
    }
}

impl PacketLevelChain {
    /// Windows spread over 1 to 2CT, each flow at a random place of its round trip.
    ///
    /// # Panics
    /// Without flows, or if CT is 0.
    pub fn new(setup: Setup, seed: u64, name: &str) -> PacketLevelChain {
        let population: u32 = setup.classes.iter().map(|c| c.flows).sum();
        assert!(population > 0 && setup.ct > 0.0, "flows that send nothing");
        let most = (2.0 * setup.ct).round().max(1.0).min(setup.greatest) as u32;
        let each = setup.classes.iter().flat_map(|c| (0..c.flows).map(move |i| (c.rtt, 1 + i % most)));
        let flows = each.map(|(rtt, window)| Flow {
            rtt,
            window: f64::from(window),
            marked: false,
            sent: 0,
            flight: 0,
            since: 0,
            rate: 0,
        });
        let buffer = setup.curve.buffer();
        let mut chain = PacketLevelChain {
            sending: setup.sending,
            queue_model: setup.queue_model,
            greatest: setup.greatest,
            flows: flows.collect(),
            queue: SharedQueue { curve: setup.curve, buffer, length: 0, departure: f64::INFINITY },
            rate: f64::from(population) * setup.ct,
            sent: 0.0,
            pending: BinaryHeap::new(),
            order: 0,
            entered: 0,
            draws: Rng::named(seed, name),
        };
        (0..population).for_each(|flow| chain.begin(flow));
        chain
    }

    /// Until this time.
    pub fn run(&mut self, until: f64) {
        while let Some(&event) = self.pending.peek().filter(|event| event.time < until) {
            self.pending.pop();
            let Event { time, flow, .. } = event;
            match event.kind {
                EventKind::Packet => self.arrive(time, flow),
                EventKind::Random { rate } if rate == self.flows[flow as usize].rate => {
                    self.arrive(time, flow);
                    self.draw_next(time, flow);
                }
                EventKind::Random { .. } => {}
                EventKind::Answer { packet, marked } => self.answer(time, flow, packet, marked),
                EventKind::Round => self.end_round(time, flow),
            }
        }
    }

    /// The sum of all windows, packets.
    pub fn windows(&self) -> f64 {
        self.each().sum()
    }

    /// Each flow's window, packets.
    pub fn each(&self) -> impl Iterator<Item = f64> + '_ {
        self.flows.iter().map(|flow| flow.window)
    }

    /// Packets that came to the link so far and were not lost.
    pub fn entered(&self) -> u64 {
        self.entered
    }

    fn begin(&mut self, flow: u32) {
        let Flow { rtt, window, .. } = self.flows[flow as usize];
        self.sent += window / rtt;
        match self.sending {
            SendingModel::Rounds => {
                let time = rtt * self.draws.uniform();
                self.push(time, flow, EventKind::Round);
            }
            SendingModel::Echoes => self.draw_next(0.0, flow),
            SendingModel::Clock => {
                for _ in 0..window as u64 {
                    let time = rtt * self.draws.uniform();
                    self.let_go(time, flow);
                }
            }
        }
    }

    fn push(&mut self, time: f64, flow: u32, kind: EventKind) {
        self.order += 1;
        self.pending.push(Event { time, order: self.order, flow, kind });
    }

    fn draw_next(&mut self, now: f64, flow: u32) {
        let Flow { rtt, window, rate, .. } = self.flows[flow as usize];
        let time = now + self.draws.exponential(rtt / window);
        self.push(time, flow, EventKind::Random { rate });
    }

    fn let_go(&mut self, time: f64, flow: u32) {
        self.flows[flow as usize].flight += 1;
        self.push(time, flow, EventKind::Packet);
    }

    fn arrive(&mut self, now: f64, flow: u32) {
        let (found, lost, waited) = match self.queue_model {
            QueueModel::Own => (self.draw_stationary(), false, 0.0),
            QueueModel::Common { service, waits } => {
                let found = self.queue.length_at(now, || service.time(&mut self.draws) / self.rate);
                let lost = found >= self.queue.buffer;
                if !lost {
                    self.queue.enter(now, || service.time(&mut self.draws) / self.rate);
                }
                let found = f64::from(found);
                (found, lost, if waits { found / self.rate } else { 0.0 })
            }
        };
        let marked = lost || self.draws.uniform() < self.queue.curve.p(found);
        self.entered += u64::from(!lost);
        let of = &mut self.flows[flow as usize];
        if self.sending == SendingModel::Rounds {
            of.marked |= marked;
            return;
        }
        let (packet, time) = (of.sent, now + of.rtt + waited);
        of.sent += 1;
        self.push(time, flow, EventKind::Answer { packet, marked });
    }

    /// How many packets are in M/M/1 in equilibrium at the present load; without end from a load of 1 on.
    fn draw_stationary(&mut self) -> f64 {
        let load = self.sent / self.rate;
        let u = 1.0 - self.draws.uniform();
        if load < 1.0 {
            (u.ln() / load.ln()).floor()
        } else {
            f64::INFINITY
        }
    }

    fn answer(&mut self, now: f64, flow: u32, packet: u64, marked: bool) {
        let of = &mut self.flows[flow as usize];
        let window = of.window;
        if packet >= of.since {
            if marked {
                of.since = of.sent;
                self.change(flow, (window / 2.0).max(1.0));
            } else {
                self.change(flow, window + 1.0 / window);
            }
        }
        match self.sending {
            SendingModel::Echoes if self.flows[flow as usize].window != window => {
                self.flows[flow as usize].rate += 1;
                self.draw_next(now, flow);
            }
            SendingModel::Clock => {
                self.flows[flow as usize].flight -= 1;
                while self.flows[flow as usize].flight < self.flows[flow as usize].window as u64 {
                    self.let_go(now, flow);
                }
            }
            _ => {}
        }
    }

    fn end_round(&mut self, now: f64, flow: u32) {
        let Flow { rtt, window, marked, .. } = self.flows[flow as usize];
        self.change(flow, if marked { (window / 2.0).floor().max(1.0) } else { window + 1.0 });
        self.flows[flow as usize].marked = false;
        for _ in 0..self.flows[flow as usize].window as u64 {
            let time = now + rtt * self.draws.uniform();
            self.push(time, flow, EventKind::Packet);
        }
        self.push(now + rtt, flow, EventKind::Round);
    }

    fn change(&mut self, flow: u32, window: f64) {
        let of = &mut self.flows[flow as usize];
        let more = window.min(self.greatest) - of.window;
        of.window += more;
        self.sent += more / of.rtt;
    }
}

impl SharedQueue {
    /// How many are there, once everyone has left who is served by now.
    fn length_at(&mut self, now: f64, mut time: impl FnMut() -> f64) -> u32 {
        while self.departure <= now {
            self.length -= 1;
            self.departure = if self.length > 0 { self.departure + time() } else { f64::INFINITY };
        }
        self.length
    }

    fn enter(&mut self, now: f64, mut time: impl FnMut() -> f64) {
        if self.length == 0 {
            self.departure = now + time();
        }
        self.length += 1;
    }
}

impl Service {
    /// Over the mean.
    fn time(self, draws: &mut Rng) -> f64 {
        match self {
            Service::Exponential => draws.exponential(1.0),
            Service::Constant => 1.0,
        }
    }
}
