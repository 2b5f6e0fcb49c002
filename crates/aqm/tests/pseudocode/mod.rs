//! Literal, slow transcriptions of the RFCs' pseudocode, and random operations to compare them with the disciplines.

pub mod codel;
pub mod docsis_dualq;
pub mod docsis_pie;
pub mod dualpi2;
pub mod fq_codel;
pub mod pie;
pub mod queue_protection;

use marqueue_aqm::{Discipline, EnqueueOutcome, Env, Limit, Qdisc, Signal};
use marqueue_core::{Bytes, Dur, Ecn, Packet, PolicySpec, Rate, Rng, Time, Value};

/// How many sequences of operations each comparison runs.
pub const SEQUENCES: u64 = 10_000;

/// An operation on a queue.
#[derive(Clone, Copy, Debug)]
pub enum Op {
    Enqueue { flow: u32, bytes: u32, ect: bool },
    Dequeue,
}

/// What became of a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Event {
    /// It departed, with CE or without.
    Departed { seq: u32, ce: bool },
    /// It was dropped by the AQM, not by the buffer.
    DroppedEarly { seq: u32 },
    /// The buffer was full.
    Overflowed { seq: u32 },
    /// A queue that was asked for a packet had none.
    Empty,
}

/// The kind of random operations.
#[derive(Clone, Copy, Debug)]
pub struct Shape {
    pub ops: u32,
    pub flows: u32,
    /// Packet sizes are uniform between these.
    pub sizes: (u32, u32),
    /// Mean waiting times between operations; one of these holds for some operations.
    pub gaps: &'static [f64],
}

/// Random operations with their times. Phases with more arrivals and with more departures alternate.
pub fn operations(rng: &mut Rng, shape: Shape) -> Vec<(Time, Op)> {
    // Not at time 0, which is a flag in RFC 8289's pseudocode.
    let mut now = 0.05;
    let (mut gap, mut arrivals) = (0.0, 0.0);
    let mut ops = Vec::new();
    for i in 0..shape.ops {
        if i % 16 == 0 {
            gap = shape.gaps[rng.below(shape.gaps.len() as u32) as usize];
            arrivals = [0.9, 0.5, 0.4, 0.1][rng.below(4) as usize];
        }
        // Several operations may have the same time.
        if rng.below(4) > 0 {
            now += rng.exponential(gap);
        }
        let op = if rng.uniform() < arrivals {
            let bytes = shape.sizes.0 + rng.below(shape.sizes.1 - shape.sizes.0 + 1);
            Op::Enqueue { flow: rng.below(shape.flows), bytes, ect: rng.below(2) == 0 }
        } else {
            Op::Dequeue
        };
        ops.push((Time::ZERO + Dur::from_secs(now), op));
    }
    ops
}

/// A discipline with its parameters, by name.
pub fn discipline(
    name: &str,
    params: &[(&str, Value)],
    limit: Limit,
    signal: Signal,
    mtu: u64,
    rng: Rng,
) -> Discipline {
    let env = Env { rate: Rate(8_000_000), mean_packet: Bytes(mtu), limit, delay: Dur::ZERO, signal, densities: None };
    let params = params.iter().map(|(k, v)| (k.to_string(), v.clone())).collect();
    Discipline::build(&PolicySpec { name: name.into(), params }, env, rng).expect("valid parameters")
}

pub fn number(x: f64) -> Value {
    Value::Number(x)
}

pub fn choice(name: &str) -> Value {
    Value::Choice(name.into())
}

/// Applies an operation to a discipline, after its timers. `seq` is the number of the packet that arrives.
pub fn apply(queue: &mut Discipline, now: Time, op: Op, seq: u32) -> Vec<Event> {
    while queue.next_timer() <= now {
        let due = queue.next_timer();
        queue.on_timer(due);
    }
    let departed = match op {
        Op::Enqueue { flow, bytes, ect } => {
            let ecn = if ect { Ecn::Ect0 } else { Ecn::NotEct };
            let fate = queue.enqueue(now, Packet::data(flow, seq, bytes).with_ecn(ecn));
            assert!(fate != EnqueueOutcome::Marked || ect);
            None
        }
        Op::Dequeue => Some(queue.dequeue(now)),
    };
    let mut events: Vec<Event> = queue
        .drain_dropped()
        .map(|(packet, reason)| match reason.name() {
            "overflow" => Event::Overflowed { seq: packet.seq() },
            _ => Event::DroppedEarly { seq: packet.seq() },
        })
        .collect();
    events.extend(departed.map(|departed| match departed {
        Some((packet, _)) => Event::Departed { seq: packet.seq(), ce: packet.ecn() == Ecn::Ce },
        None => Event::Empty,
    }));
    events
}

/// A discipline's internal variables.
pub fn probes(queue: &Discipline, now: Time) -> Vec<f64> {
    let mut values = Vec::new();
    queue.probe(now, &mut values);
    values
}

/// A transcription of PIE, in one of the forms that RFCs give it.
pub trait LiteralPie {
    /// Runs the updates that are due by `now`.
    fn run_updates(&mut self, now: i64);
    fn enque(&mut self, packet: codel::Stored, now: i64);
    fn deque(&mut self, now: i64) -> Option<codel::Stored>;
    fn events(&mut self) -> &mut Vec<Event>;

    /// Applies an operation, after the updates. `seq` is the number of the packet that arrives.
    fn apply(&mut self, now: i64, op: Op, seq: u32) -> Vec<Event> {
        self.run_updates(now);
        match op {
            Op::Enqueue { bytes, ect, .. } => {
                self.enque(codel::Stored { seq, bytes, ect, ce: false, tstamp: now }, now);
            }
            Op::Dequeue => {
                let departed = self.deque(now);
                self.events().push(departed.map_or(Event::Empty, |p| Event::Departed { seq: p.seq, ce: p.ce }));
            }
        }
        std::mem::take(self.events())
    }
}

/// How often something happened in all sequences: a comparison in which it did not proves little.
#[derive(Debug, Default)]
pub struct Tally {
    pub drops: u64,
    pub marks: u64,
    pub overflows: u64,
    pub drops_in_a_row: u64,
}

impl Tally {
    pub fn add(&mut self, events: &[Event]) {
        let early = events.iter().filter(|e| matches!(e, Event::DroppedEarly { .. })).count() as u64;
        self.drops += early;
        self.drops_in_a_row += u64::from(early > 1);
        self.overflows += events.iter().filter(|e| matches!(e, Event::Overflowed { .. })).count() as u64;
        self.marks += events.iter().filter(|e| matches!(e, Event::Departed { ce: true, .. })).count() as u64;
    }
}
