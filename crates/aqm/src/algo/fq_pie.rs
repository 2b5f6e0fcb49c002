//! FQ-PIE: flow queues with PIE in each.
//!
//! Linux's sch_fq_pie (Ramakrishnan et al., "FQ-PIE Queue Discipline in the Linux Kernel: Design, Implementation and
//! Challenges", IEEE LCN 2019); the queues and their order are those of RFC 8290, PIE is that of RFC 8033.
//!
//! Flows are hashed to queues, which are served as by FQ-CoDel (`sparse_first.rs`). Each queue has a PIE (`pie.rs`), whose
//! delay is the sojourn time of its last departure. All probabilities are computed at the same times, every `t_update`.
//!
//! Input: flows, sizes, sojourn times, arrivals. Output: the queue to serve; marks at arrival, as PIE.
//! A full buffer drops the arriving packet, whatever its queue.
//! Departures: the probability that PIE accumulates is kept when a packet is dropped by a full buffer (Linux resets it).
//! Linux limits one round of updates to 2048 queues; here all are updated.
//! Defaults: Linux's fq_pie; RFC 8033.

use super::pie::{self, DelayEstimate, Pie};
use crate::flow_hash::FlowHash;
use crate::policy::{Aqm, Env};
use crate::scheduler::{Class, PushOut, Queues, Scheduler};
use crate::sparse_first::SparseFirst;
use marqueue_core::params::{whole, ParamError, ParamSet};
use marqueue_core::{math, Dur, Packet, ParamValues, Rng, Time};

marqueue_core::params! {
    /// Parameters of FQ-PIE.
    pub struct Params {
        /// Number of queues.
        queues: f64 { unit: One, range: 1.0 => 65536.0, default: 1024.0, source: "Linux fq_pie flows" },
        /// Byte credits that a queue gets at each turn.
        quantum: f64 { unit: Bytes, range: 1.0 => 1_048_576.0, default: 1514.0, source: "Linux fq_pie quantum: the MTU with its header" },
        /// The queueing delay that PIE controls to.
        target: f64 { unit: Seconds, range: 1e-6 => 100.0, default: 0.015, source: "Linux fq_pie target; RFC 8033, section 4.2" },
        /// How often probabilities are computed.
        t_update: f64 { unit: Seconds, range: 1e-6 => 100.0, default: 0.015, source: "Linux fq_pie tupdate; RFC 8033, section 4.2" },
        /// Gain on the deviation from the target.
        alpha: f64 { unit: PerSecond, range: 0.0 => 1e6, default: 0.125, source: "Linux fq_pie alpha: 2/16; RFC 8033, appendix A" },
        /// Gain on the change of the delay.
        beta: f64 { unit: PerSecond, range: 0.0 => 1e6, default: 1.25, source: "Linux fq_pie beta: 20/16; RFC 8033, appendix A" },
        /// From this probability on packets are dropped, also those that could be marked.
        ecn_prob: f64 { unit: Fraction, range: 0.0 => 1.0, default: 0.1, source: "Linux fq_pie ecn_prob: 10 %" },
        /// For how long a burst passes without signals.
        max_burst: f64 { unit: Seconds, range: 0.0 => 100.0, default: 0.15, source: "RFC 8033, section 4.4; Linux pie" },
    }
}

/// State of FQ-PIE.
#[derive(Debug)]
pub struct FqPie {
    hash: FlowHash,
    lists: SparseFirst,
}

impl Scheduler for FqPie {
    const NAME: &'static str = "fq_pie";
    const SUMMARY: &'static str = "Serves hashed flows in turn, sparse ones first, with PIE in each queue";
    const SOURCE: &'static str = "Ramakrishnan et al., IEEE LCN 2019; Linux sch_fq_pie";
    type Params = Params;
    type Policy = Pie;

    fn new(p: &Params, _: &Env, rng: &mut Rng) -> Result<Self, ParamError> {
        let hash = FlowHash::new(whole("queues", p.queues)?, rng);
        Ok(FqPie { hash, lists: SparseFirst::new(p.quantum as i64) })
    }

    fn policy(p: &Params, env: &Env, rng: &Rng, now: Time) -> Result<Pie, ParamError> {
        let defaults = pie::Params::from_values(&ParamValues::new()).expect("the defaults are valid");
        let pie = pie::Params {
            delay_ref: p.target,
            t_update: p.t_update,
            alpha: p.alpha,
            beta: p.beta,
            mark_ecnth: p.ecn_prob,
            max_burst: p.max_burst,
            delay_estimate: DelayEstimate::Timestamps,
            ..defaults
        };
        Pie::new(&pie, env, rng, now)
    }

    fn period(p: &Params) -> Option<Dur> {
        Some(Dur::from_secs(p.t_update))
    }

    fn push_out(&self) -> PushOut {
        PushOut::Arrival
    }

    fn key(&self, packet: &Packet) -> u32 {
        self.hash.bucket(packet.flow())
    }

    fn keys(&self) -> Option<u32> {
        Some(self.hash.count())
    }

    fn on_open(&mut self, class: Class) {
        self.lists.on_open(class);
    }

    fn on_enqueue(&mut self, class: Class, _: &Packet, _: bool, _: &Env) {
        self.lists.on_enqueue(class);
    }

    fn on_push_out<A>(&mut self, _: Class, _: &Packet, _: &Queues<A>, _: &Env) {}

    fn prefetch_upcoming(&self) {
        self.lists.prefetch_upcoming();
    }

    fn upcoming(&self) -> Option<Class> {
        self.lists.upcoming()
    }

    fn prefetch(&self, class: Class) {
        self.lists.prefetch(class);
    }

    fn next<A>(&mut self, _: &Queues<A>, _: &Env) -> Option<Class> {
        self.lists.next()
    }

    fn on_service<A>(&mut self, class: Class, packet: Option<&Packet>, _: &Queues<A>, env: &Env) {
        self.lists.on_service(class, packet.map(|packet| math::round(env.cost(packet)) as i64));
    }

    /// PIE's probability is kept while the queue is empty, and decays.
    fn keeps_empty(&self, _: Class) -> bool {
        true
    }
}
