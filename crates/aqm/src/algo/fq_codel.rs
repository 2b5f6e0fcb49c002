//! FQ-CoDel: flow queues with CoDel in each.
//!
//! RFC 8290, sections 4.1 (enqueue) and 4.2 (dequeue).
//!
//! Flows are hashed to queues. A queue that was empty is new and goes before the old ones, for one quantum of
//! bytes; then queues are served in turn, a quantum each. When the buffer overflows the longest queue loses half of
//! its bytes, at most 64 packets, from its head.
//!
//! Sees: flows, sizes, sojourn times. Decides: which queue is served; mark, as CoDel.
//! Departures: CoDel does not count what an overflow takes (Linux adds it to CoDel's count). CoDel spares the
//! last packet of each queue, as RFC 8289 has it for one queue; Linux spares only the last one of all queues,
//! so it also drops where many flows hold a packet each.
//! Defaults: RFC 8290, section 5.2; RFC 8289.

use super::codel::{self, Codel};
use crate::scheduler::{Class, PushOut, Queues, Scheduler};
use crate::flow_hash::FlowHash;
use crate::policy::{Aqm, Env};
use marqueue_core::params::{whole, ParamError};
use marqueue_core::{Packet, Rng, Time};
use std::collections::VecDeque;

marqueue_core::params! {
    /// Parameters of FQ-CoDel.
    pub struct Params {
        /// How many queues.
        queues: f64 { unit: One, range: 1.0 => 1e6, default: 1024.0, source: "RFC 8290, section 5.2.4" },
        /// What a queue may send at each turn.
        quantum: f64 { unit: Bytes, range: 1.0 => 1e9, default: 1514.0, source: "RFC 8290, section 5.2.3" },
        /// CoDel's target.
        target: f64 { unit: Seconds, range: 1e-6 => 100.0, default: 0.005, source: "RFC 8290, section 5.2.2" },
        /// CoDel's interval.
        interval: f64 { unit: Seconds, range: 1e-6 => 100.0, default: 0.1, source: "RFC 8290, section 5.2.1" },
    }
}

/// In which list a queue stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum List {
    None,
    New,
    Old,
}

/// State of FQ-CoDel.
#[derive(Debug)]
pub struct FqCodel {
    hash: FlowHash,
    quantum: i64,
    new: VecDeque<Class>,
    old: VecDeque<Class>,
    /// By queue: its list, and the bytes that it may still send.
    state: Vec<(List, i64)>,
}

impl FqCodel {
    /// A queue moves to the end of the old ones.
    fn make_old(&mut self, class: Class) {
        self.state[class].0 = List::Old;
        self.old.push_back(class);
    }

    /// Rounds in which nobody would be served, all at once: a quantum may be much smaller than a packet.
    fn skip_rounds(&mut self) {
        let rounds = self.old.iter().map(|&class| (-self.state[class].1 / self.quantum).max(0)).min().unwrap_or(0);
        for &class in &self.old {
            self.state[class].1 += rounds * self.quantum;
        }
    }
}

impl Scheduler for FqCodel {
    const NAME: &'static str = "fq_codel";
    const SUMMARY: &'static str = "Serves hashed flows in turn, sparse ones first, with CoDel in each queue";
    const SOURCE: &'static str = "Hoeiland-Joergensen et al., RFC 8290, 2018";
    const PUSH_OUT: PushOut = PushOut::Half { at_most: 64 };
    type Params = Params;
    type Policy = Codel;

    fn new(p: &Params, _: &Env, rng: &mut Rng) -> Result<Self, ParamError> {
        let hash = FlowHash::new(whole("queues", p.queues)?, rng);
        Ok(FqCodel { hash, quantum: p.quantum as i64, new: VecDeque::new(), old: VecDeque::new(), state: Vec::new() })
    }

    fn policy(p: &Params, env: &Env, rng: &Rng, now: Time) -> Result<Codel, ParamError> {
        Codel::new(&codel::Params { target: p.target, interval: p.interval }, env, rng, now)
    }

    fn key(&self, packet: &Packet) -> u32 {
        self.hash.bucket(packet.flow())
    }

    fn on_open(&mut self, class: Class) {
        if self.state.len() <= class {
            self.state.resize(class + 1, (List::None, 0));
        }
    }

    fn on_enqueue(&mut self, class: Class, _: &Packet, _: bool, _: &Env) {
        if self.state[class].0 == List::None {
            self.state[class] = (List::New, self.quantum);
            self.new.push_back(class);
        }
    }

    fn on_push_out<A>(&mut self, _: Class, _: &Packet, _: &Queues<A>, _: &Env) {}

    fn next<A>(&mut self, _: &Queues<A>, _: &Env) -> Option<Class> {
        let mut passed_over = 0;
        loop {
            if self.new.is_empty() && passed_over > self.old.len() {
                self.skip_rounds();
                passed_over = 0;
            }
            passed_over += 1;
            let list = if self.new.is_empty() { &mut self.old } else { &mut self.new };
            let &class = list.front()?;
            if self.state[class].1 > 0 {
                return Some(class);
            }
            list.pop_front();
            self.state[class].1 += self.quantum;
            self.make_old(class);
        }
    }

    fn on_service<A>(&mut self, class: Class, packet: Option<&Packet>, _: &Queues<A>, env: &Env) {
        if let Some(packet) = packet {
            self.state[class].1 -= env.cost(packet).round() as i64;
            return;
        }
        // It was found empty: a new queue has to wait for its turn among the old ones, lest sparse flows that
        // come again at once starve these; an old one leaves.
        match self.state[class].0 {
            List::New => {
                self.new.pop_front();
                self.make_old(class);
            }
            List::Old | List::None => {
                self.old.pop_front();
                self.state[class].0 = List::None;
            }
        }
    }

    /// CoDel's state outlives the packets: a queue that is back soon drops on where it left off.
    fn keeps_empty(&self, _: Class) -> bool {
        true
    }
}
