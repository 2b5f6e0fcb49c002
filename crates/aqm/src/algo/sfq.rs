//! SFQ: stochastic fairness queueing.
//!
//! McKenney, "Stochastic Fairness Queueing", IEEE INFOCOM 1990.
//!
//! Flows are hashed to queues, which are served in turn, one packet each. When the buffer overflows, the longest queue
//! drops its last packet.
//!
//! Input: flows. Output: the queue to serve.
//! Departures: the hash has one salt for the whole run; the paper changes it from time to time. The longest queue is
//! the one with the most bytes, not packets.
//! Defaults: the number of queues is that of Linux's sfq.

use super::droptail::{self, DropTail};
use crate::scheduler::{Class, Queues, Scheduler};
use crate::flow_hash::FlowHash;
use crate::policy::{Aqm, Env};
use marqueue_core::params::{whole, ParamError};
use marqueue_core::{Packet, Rng, Time};
use alloc::collections::VecDeque;

marqueue_core::params! {
    /// Parameters of SFQ.
    pub struct Params {
        /// Number of queues.
        queues: f64 { unit: One, range: 1.0 => 1e6, default: 1024.0, source: "Linux sfq, divisor" },
    }
}

/// State of SFQ.
#[derive(Debug)]
pub struct Sfq {
    hash: FlowHash,
    /// Queues that hold packets, in the order of their turns.
    turns: VecDeque<Class>,
}

impl Scheduler for Sfq {
    const NAME: &'static str = "sfq";
    const SUMMARY: &'static str = "Serves hashed flows in turn, a packet each";
    const SOURCE: &'static str = "McKenney, IEEE INFOCOM 1990";
    type Params = Params;
    type Policy = DropTail;

    fn new(p: &Params, _: &Env, rng: &mut Rng) -> Result<Self, ParamError> {
        Ok(Sfq { hash: FlowHash::new(whole("queues", p.queues)?, rng), turns: VecDeque::new() })
    }

    fn policy(_: &Params, env: &Env, rng: &Rng, now: Time) -> Result<DropTail, ParamError> {
        DropTail::new(&droptail::Params {}, env, rng, now)
    }

    fn key(&self, packet: &Packet) -> u32 {
        self.hash.bucket(packet.flow())
    }

    fn keys(&self) -> Option<u32> {
        Some(self.hash.count())
    }

    fn on_enqueue(&mut self, class: Class, _: &Packet, first: bool, _: &Env) {
        if first {
            self.turns.push_back(class);
        }
    }

    fn on_push_out<A>(&mut self, class: Class, _: &Packet, queues: &Queues<A>, _: &Env) {
        if queues.is_empty(class) {
            self.turns.retain(|&c| c != class);
        }
    }

    fn next<A>(&mut self, _: &Queues<A>, _: &Env) -> Option<Class> {
        self.turns.pop_front()
    }

    fn on_service<A>(&mut self, class: Class, _: Option<&Packet>, queues: &Queues<A>, _: &Env) {
        if !queues.is_empty(class) {
            self.turns.push_back(class);
        }
    }
}
