//! FQ-CoDel: flow queues with CoDel in each.
//!
//! RFC 8290, sections 4.1 (enqueue) and 4.2 (dequeue).
//!
//! Flows are hashed to queues. A queue that receives its first packet is new; new queues are served before old ones.
//! Each queue has a quantum of byte credits. When they are used up, it gets another quantum and moves to the end of the
//! old queues, which are served in turn. When the buffer overflows, the longest queue drops half of its packets, at
//! most 64, from its head.
//!
//! Input: flows, sizes, sojourn times. Output: the queue to serve; marks, as CoDel.
//! Departures: credits are used up at zero (section 3; Linux), although section 4.2 requires a negative number. CoDel does not
//! count packets that an overflow drops (Linux adds them to count). The hash is salted, but it is not Jenkins's.
//! Defaults: RFC 8290, section 5.2; RFC 8289.

use super::codel::{self, Codel, SquareRoot};
use crate::counting_unit::CountingUnit;
use crate::flow_hash::FlowHash;
use crate::policy::{Aqm, Env};
use crate::scheduler::{Class, PushOut, Queues, Scheduler};
use crate::sparse_first::SparseFirst;
use marqueue_core::params::{whole, ParamError};
use marqueue_core::{math, Packet, Rng, Time};

marqueue_core::choice! {
    /// The bytes that CoDel compares with one packet: it does not signal while no more are queued.
    pub enum Occupancy {
        /// Those of the packet's own queue.
        PerQueue = "per_queue",
        /// Those of all queues.
        Total = "total",
    }
}

marqueue_core::params! {
    /// Parameters of FQ-CoDel.
    pub struct Params {
        /// Number of queues.
        queues: f64 { unit: One, range: 1.0 => 1e6, default: 1024.0, source: "RFC 8290, section 5.2.5 (flows)" },
        /// Byte credits that a queue gets at each turn.
        quantum: f64 { unit: Bytes, range: 1.0 => 1e9, default: 1514.0, source: "RFC 8290, section 5.2.4" },
        /// CoDel's target.
        target: f64 { unit: Seconds, range: 1e-6 => 100.0, default: 0.005, source: "RFC 8290, section 5.2.2" },
        /// CoDel's interval.
        interval: f64 { unit: Seconds, range: 1e-6 => 100.0, default: 0.1, source: "RFC 8290, section 5.2.1" },
        /// Sojourn time above which every ECN-capable packet is marked, besides CoDel's signals. Needs signal = "ecn" or "ecn-only".
        ce_threshold: Option<f64> { unit: Seconds, range: 0.0 => 100.0, default: None, auto: "off", source: "RFC 8290, section 5.2.7" },
        /// How CoDel computes the distance of signals: exactly, or as in Linux by a step of Newton's method at each signal.
        square_root: SquareRoot { default: SquareRoot::Exact, source: "RFC 8289, section 5.6; newton: Linux, codel_Newton_step" },
        /// CoDel does not signal while at most one largest packet is queued: in all queues together (a SHOULD of RFC 8289 and Linux; less delay with many flows), or in the packet's own queue (fewer timeouts with many flows).
        occupancy: Occupancy { default: Occupancy::Total, source: "RFC 8289, section 4.4; Linux fq_codel" },
        /// When the buffer overflows, the longest queue drops half of its packets (as the RFC says) or of its bytes (as Linux does), at most 64 packets.
        overflow_unit: CountingUnit { default: CountingUnit::Packets, source: "RFC 8290, section 4.1; bytes: Linux fq_codel" },
    }
}

/// State of FQ-CoDel.
#[derive(Debug)]
pub struct FqCodel {
    hash: FlowHash,
    lists: SparseFirst,
    overflow_unit: CountingUnit,
}

impl Scheduler for FqCodel {
    const NAME: &'static str = "fq_codel";
    const SUMMARY: &'static str = "Serves hashed flows in turn, sparse ones first, with CoDel in each queue";
    const SOURCE: &'static str = "Hoeiland-Joergensen et al., RFC 8290, 2018";
    type Params = Params;
    type Policy = Codel;

    fn new(p: &Params, _: &Env, rng: &mut Rng) -> Result<Self, ParamError> {
        Ok(FqCodel {
            hash: FlowHash::new(whole("queues", p.queues)?, rng),
            lists: SparseFirst::new(p.quantum as i64),
            overflow_unit: p.overflow_unit,
        })
    }

    fn policy(p: &Params, env: &Env, rng: &Rng, now: Time) -> Result<Codel, ParamError> {
        let &Params { target, interval, ce_threshold, square_root, .. } = p;
        let codel = codel::Params { target, interval, ce_threshold, square_root };
        let total = p.occupancy == Occupancy::Total;
        Ok(Codel::new(&codel, env, rng, now)?.with_total_occupancy(total))
    }

    fn push_out(&self) -> PushOut {
        PushOut::Half { unit: self.overflow_unit, at_most: 64 }
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

    /// CoDel's state is kept while the queue is empty: a queue that is busy again soon resumes at the last drop rate.
    fn keeps_empty(&self, _: Class) -> bool {
        true
    }
}
