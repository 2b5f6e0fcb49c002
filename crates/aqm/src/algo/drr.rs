//! DRR: deficit round robin.
//!
//! Shreedhar and Varghese, "Efficient Fair Queuing Using Deficit Round Robin", IEEE/ACM ToN 4(3), 1996.
//!
//! Queues with packets take turns. At each turn a queue's deficit grows by its quantum. The queue sends while its first
//! packet is no larger than the deficit, which falls by the bytes sent. The deficit of an empty queue is zero. When the
//! buffer overflows, the longest queue drops its last packet.
//!
//! At a CPU deficits count cycles: a quantum of bytes is the cycles that these take at the mean density (DRR-RED of
//! Shin, Chong and Rhee, "Dual-resource TCP/AQM for Processing-constrained Networks", section IV).
//!
//! Input: flows or code points, sizes. Output: the queue to serve.
//! Departures: each flow has its own queue, as the paper's analysis assumes; the paper hashes flows.
//! Defaults: a quantum of the usual packet size.

use alloc::vec::Vec;
use super::droptail::{self, DropTail};
use crate::scheduler::{Class, Classify, Queues, Scheduler};
use crate::policy::{Aqm, Env};
use marqueue_core::params::ParamError;
use marqueue_core::{math, Packet, PerDscp, Rng, Time};
use alloc::collections::VecDeque;

marqueue_core::params! {
    /// Parameters of DRR.
    pub struct Params {
        /// Bytes that a queue of weight 1 may send at each turn.
        quantum: Option<f64> { unit: Bytes, range: 1.0 => 1e9, default: None, auto: "the usual packet size", source: "Shreedhar and Varghese 1996, section IV" },
        /// Which packets share a queue: those of a flow or of a code point.
        classify: Classify { default: Classify::Flow, source: "Shreedhar and Varghese 1996, section III" },
        /// Weight of a queue by the code point of the packet that opens it; 1 if it has none.
        weights: PerDscp { unit: One, range: 1.0 => 1e6, default: PerDscp::default(), source: "Shreedhar and Varghese 1996, section III (Quantum_i)" },
    }
}

/// State of DRR.
#[derive(Debug)]
pub struct Drr {
    quantum: f64,
    classify: Classify,
    weights: PerDscp,
    /// Queues that hold packets; the first one has its turn.
    turns: VecDeque<Class>,
    /// By queue: its quantum and its deficit, bytes.
    accounts: Vec<(f64, f64)>,
    /// Has the first queue been given its quantum for this turn?
    credited: bool,
}

impl Drr {
    /// Grants at once the quanta of all rounds in which no queue would be served. A quantum may be much smaller than a
    /// packet.
    fn skip_rounds<A>(&mut self, queues: &Queues<A>, env: &Env) {
        let needed = |&class: &Class| {
            let (quantum, deficit) = self.accounts[class];
            let first = queues.first(class).expect("queues take turns only with packets");
            math::ceil((env.cost(first) - deficit) / quantum)
        };
        let rounds = self.turns.iter().map(needed).fold(f64::INFINITY, f64::min) - 1.0;
        if rounds > 0.0 {
            for &class in &self.turns {
                let (quantum, deficit) = &mut self.accounts[class];
                *deficit += rounds * *quantum;
            }
        }
    }
}

impl Scheduler for Drr {
    const NAME: &'static str = "drr";
    const SUMMARY: &'static str = "Serves flows or classes in turn, a quantum of bytes each";
    const SOURCE: &'static str = "Shreedhar and Varghese, IEEE/ACM ToN 4(3), 1996";
    type Params = Params;
    type Policy = DropTail;

    fn new(p: &Params, env: &Env, _: &mut Rng) -> Result<Self, ParamError> {
        Ok(Drr {
            quantum: p.quantum.unwrap_or(env.mean_packet.0 as f64),
            classify: p.classify,
            weights: p.weights.clone(),
            turns: VecDeque::new(),
            accounts: Vec::new(),
            credited: false,
        })
    }

    fn policy(_: &Params, env: &Env, rng: &Rng, now: Time) -> Result<DropTail, ParamError> {
        DropTail::new(&droptail::Params {}, env, rng, now)
    }

    fn key(&self, packet: &Packet) -> u32 {
        self.classify.key(packet)
    }

    fn on_open(&mut self, class: Class) {
        if self.accounts.len() <= class {
            self.accounts.resize(class + 1, (0.0, 0.0));
        }
    }

    fn on_enqueue(&mut self, class: Class, packet: &Packet, first: bool, _: &Env) {
        if first {
            self.accounts[class] = (self.quantum * self.weights.get(packet.dscp()).unwrap_or(1.0), 0.0);
            self.turns.push_back(class);
        }
    }

    fn on_push_out<A>(&mut self, class: Class, _: &Packet, queues: &Queues<A>, _: &Env) {
        if queues.is_empty(class) {
            if self.turns.front() == Some(&class) {
                self.credited = false;
            }
            self.turns.retain(|&c| c != class);
        }
    }

    fn next<A>(&mut self, queues: &Queues<A>, env: &Env) -> Option<Class> {
        let mut passed_over = 0;
        loop {
            if passed_over == self.turns.len() {
                self.skip_rounds(queues, env);
                passed_over = 0;
            }
            let &class = self.turns.front()?;
            let (quantum, deficit) = &mut self.accounts[class];
            if !core::mem::replace(&mut self.credited, true) {
                *deficit += *quantum;
            }
            let first = queues.first(class).expect("queues take turns only with packets");
            if env.cost(first) <= *deficit {
                return Some(class);
            }
            self.turns.rotate_left(1);
            self.credited = false;
            passed_over += 1;
        }
    }

    fn on_service<A>(&mut self, class: Class, packet: Option<&Packet>, queues: &Queues<A>, env: &Env) {
        self.accounts[class].1 -= packet.map_or(0.0, |packet| env.cost(packet));
        if queues.is_empty(class) {
            self.turns.pop_front();
            self.credited = false;
        }
    }
}
