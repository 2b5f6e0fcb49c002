//! DRR over traffic classes with an MKC router for each: flows that use router feedback share a link with flows that do
//! not.
//!
//! Shreedhar and Varghese, IEEE/ACM ToN 4(3), 1996, for the scheduler (`drr`); Zhang, Kang and Loguinov, SIGCOMM 2004,
//! section 6.2, for the price (`mkc`), which the paper computes for each queue.
//!
//! Flows under EMKC keep a common queue overloaded, and TCP starves. In a queue of their own they receive the price of
//! their share of the link, and TCP uses the rest.
//!
//! Input: code points, sizes, arrivals. Output: the class to serve; the price for its packets.
//! Departures: classes are code points. A class is kept while it is empty, because its router continues. All classes
//! have the same `share`; only flows that use router feedback react to it.
//! Defaults: as in `drr` and `mkc`. With a `share` of 1 the other classes get only what DRR guarantees them.

use super::drr::{self, Drr};
use super::mkc::{self, Mkc};
use crate::scheduler::{Class, Classify, Queues, Scheduler};
use crate::policy::{Aqm, Env};
use marqueue_core::params::ParamError;
use marqueue_core::{Packet, PerDscp, Rng, Time};

marqueue_core::params! {
    /// Parameters of the scheduler.
    pub struct Params {
        /// Bytes that a class of weight 1 may send at each turn.
        quantum: Option<f64> { unit: Bytes, range: 1.0 => 1e9, default: None, auto: "the usual packet size", source: "Shreedhar and Varghese 1996, section IV" },
        /// Weight of a class; 1 if it has none.
        weights: PerDscp { unit: One, range: 1.0 => 1e6, default: PerDscp::default(), source: "Shreedhar and Varghese 1996, section III (Quantum_i)" },
    }
}

/// DRR over priced classes.
#[derive(Debug)]
pub struct DrrMkc(Drr);

impl Scheduler for DrrMkc {
    const NAME: &'static str = "drr_mkc";
    const SUMMARY: &'static str = "DRR over code points with an MKC router at each: flows with router feedback beside TCP";
    const SOURCE: &'static str = "Zhang, Kang and Loguinov, SIGCOMM 2004, section 6.2; Shreedhar and Varghese 1996";
    type Params = (Params, mkc::Params);
    type Policy = Mkc;

    fn new((own, _): &Self::Params, env: &Env, rng: &mut Rng) -> Result<Self, ParamError> {
        let drr = drr::Params { quantum: own.quantum, classify: Classify::Dscp, weights: own.weights.clone() };
        Drr::new(&drr, env, rng).map(DrrMkc)
    }

    fn policy((_, mkc): &Self::Params, env: &Env, rng: &Rng, now: Time) -> Result<Mkc, ParamError> {
        Mkc::new(mkc, env, rng, now)
    }

    fn key(&self, packet: &Packet) -> u32 {
        self.0.key(packet)
    }

    fn on_open(&mut self, class: Class) {
        self.0.on_open(class);
    }

    fn on_enqueue(&mut self, class: Class, packet: &Packet, first: bool, env: &Env) {
        self.0.on_enqueue(class, packet, first, env);
    }

    fn on_push_out<A>(&mut self, class: Class, packet: &Packet, queues: &Queues<A>, env: &Env) {
        self.0.on_push_out(class, packet, queues, env);
    }

    fn next<A>(&mut self, queues: &Queues<A>, env: &Env) -> Option<Class> {
        self.0.next(queues, env)
    }

    fn on_service<A>(&mut self, class: Class, packet: Option<&Packet>, queues: &Queues<A>, env: &Env) {
        self.0.on_service(class, packet, queues, env);
    }

    fn keeps_empty(&self, _: Class) -> bool {
        true
    }
}
