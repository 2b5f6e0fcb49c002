//! A minimal RED/ECN dumbbell: a lower bound of the cost of simulating one.
//!
//! `floor FLOWS CLASSES PACKETS` prints what a run took. Each packet has two events, its arrival at the bottleneck and
//! that of its acknowledgement. Each direction of each round-trip class has a first-in-first-out line of arrivals.
//! Flows take 20 bytes, grow by 1/cwnd and halve once a window. There are no losses, timers, measurements, sizes and
//! routes. The scenario is that of `make bench-scale`: 100 kbit/s a flow in packets of 500 bytes, round-trip times
//! evenly from 120 to 280 ms, RED thresholds of 0.25 and 1.25 packets a flow.

use events::EventQueue;
use marqueue_core::{Dur, Rng, Time};
use std::collections::VecDeque;
use std::error::Error;
use std::fs::read_to_string;

#[path = "../src/events.rs"]
#[allow(dead_code, unused_imports, reason = "the engine's module as it is; the floor uses the queue")]
mod events;

/// Propagation delay after the bottleneck, s. The rest of a round trip is before it, in both directions.
const BEHIND: f64 = 0.010;

/// A sender.
#[derive(Clone)]
struct Flow {
    cwnd: f32,
    in_flight: u32,
    sent: u32,
    acked: u32,
    /// `sent` at the last cut of the window.
    recover: u32,
}

/// RED in packets.
struct Red {
    avg: f64,
    count: f64,
    min_th: f64,
    max_th: f64,
    rng: Rng,
}

impl Red {
    const MAX_P: f64 = 0.1;
    const W_Q: f64 = 0.0005;

    fn marks(&mut self, queue: f64) -> bool {
        self.avg += Red::W_Q * (queue - self.avg);
        if self.avg < self.min_th {
            self.count = 0.0;
            return false;
        }
        self.count += 1.0;
        let p_b = (Red::MAX_P * (self.avg - self.min_th) / (self.max_th - self.min_th)).min(1.0);
        let p_a = p_b / (1.0 - self.count * p_b).max(p_b);
        let marks = self.rng.uniform() < p_a;
        if marks {
            self.count = 0.0;
        }
        marks
    }
}

/// The dumbbell. Line `c` carries data of class `c` to the bottleneck, line `classes + c` its acknowledgements.
struct Floor {
    now: Time,
    events: EventQueue,
    lines: Vec<VecDeque<(Time, u32)>>,
    delays: Vec<Dur>,
    flows: Vec<Flow>,
    red: Red,
    /// The time when the bottleneck has sent all packets that have arrived.
    free: Time,
    transmission: Dur,
    processed: u64,
}

/// Bit above the flow in a word of a line: the packet is marked.
const MARK: u32 = 1 << 31;

impl Floor {
    fn new(flows: usize, classes: usize) -> Floor {
        let half = |c: usize| Dur::from_secs((0.120 + 0.160 * (c as f64 + 0.5) / classes as f64) / 2.0 - BEHIND);
        let back = |c: usize| half(c) + Dur::from_secs(2.0 * BEHIND);
        let n = flows as f64;
        let red = Red { avg: 0.0, count: 0.0, min_th: 0.25 * n, max_th: 1.25 * n, rng: Rng::named(1, "red") };
        let idle = Flow { cwnd: 2.0, in_flight: 0, sent: 0, acked: 0, recover: 0 };
        Floor {
            now: Time::ZERO,
            events: EventQueue::new(2 * classes),
            lines: vec![VecDeque::new(); 2 * classes],
            delays: (0..classes).map(half).chain((0..classes).map(back)).collect(),
            flows: vec![idle; flows],
            red,
            free: Time::ZERO,
            transmission: Dur::from_secs(500.0 * 8.0 / (100_000.0 * n)),
            processed: 0,
        }
    }

    fn put(&mut self, line: usize, from: Time, word: u32) {
        let at = from + self.delays[line];
        self.lines[line].push_back((at, word));
        if self.lines[line].len() == 1 {
            self.events.set(line as u32, at);
        }
    }

    fn fill_window(&mut self, f: usize) {
        while self.flows[f].in_flight < self.flows[f].cwnd as u32 {
            self.flows[f].in_flight += 1;
            self.flows[f].sent += 1;
            self.put(f % (self.lines.len() / 2), self.now, f as u32);
        }
    }

    fn acknowledged(&mut self, word: u32) {
        let flow = &mut self.flows[(word & !MARK) as usize];
        flow.in_flight -= 1;
        flow.acked += 1;
        if word & MARK == 0 {
            flow.cwnd += 1.0 / flow.cwnd;
        } else if flow.acked > flow.recover {
            flow.cwnd = (flow.cwnd / 2.0).max(1.0);
            flow.recover = flow.sent;
        }
        self.fill_window((word & !MARK) as usize);
    }

    /// Sends `packets` through the bottleneck.
    fn run(&mut self, packets: u64) {
        (0..self.flows.len()).for_each(|f| self.fill_window(f));
        let classes = self.lines.len() / 2;
        let mut through = 0;
        while let Some((now, source)) = self.events.first().filter(|_| through < packets) {
            self.now = now;
            self.processed += 1;
            let line = source as usize;
            let Some((_, word)) = self.lines[line].pop_front() else { unreachable!("an event without a packet") };
            self.events.set(source, self.lines[line].front().map_or(Time::NEVER, |a| a.0));
            if line >= classes {
                self.acknowledged(word);
                continue;
            }
            through += 1;
            let queue = self.free.since(now).0 as f64 / self.transmission.0 as f64;
            let mark = if self.red.marks(queue) { MARK } else { 0 };
            self.free = self.free.max(now) + self.transmission;
            self.put(classes + line, self.free, word | mark);
        }
    }
}

/// CPU time of this process so far, s.
fn cpu() -> Result<f64, Box<dyn Error>> {
    let spent = read_to_string("/proc/self/schedstat")?;
    Ok(spent.split(' ').next().ok_or("an empty schedstat")?.parse::<f64>()? / 1e9)
}

fn main() -> Result<(), Box<dyn Error>> {
    let arguments = std::env::args().skip(1).map(|a| a.parse()).collect::<Result<Vec<usize>, _>>()?;
    let &[flows, classes, packets] = arguments.as_slice() else { return Err("expected FLOWS CLASSES PACKETS".into()) };
    let mut floor = Floor::new(flows, classes);
    let setup = cpu()?;
    floor.run(packets as u64);
    println!(r#"{{"packets": {packets}, "events": {}, "engine": {}}}"#, floor.processed, cpu()? - setup);
    Ok(())
}
