//! WFQ: weighted fair queueing, packet by packet.
//!
//! Demers, Keshav and Shenker, "Analysis and Simulation of a Fair Queueing Algorithm", ACM SIGCOMM 1989; Parekh
//! and Gallager, "A Generalized Processor Sharing Approach to Flow Control in Integrated Services Networks: The
//! Single-Node Case", IEEE/ACM ToN 1(3), 1993 (PGPS).
//!
//! Virtual time grows at rate C / (sum of the weights of the queues that generalized processor sharing would
//! still serve). A packet of L bytes that joins queue i at t gets S = max(F_i, V(t)), F_i = S + L/w_i; the packet
//! with the least F is served first.
//!
//! Sees: flows or code points, sizes, arrival times. Decides: which queue is served.
//!
//! By flow, the queues share the buffer and the longest loses its last packet when it is full. By code point
//! (the aggregate mode of Wen, Fang and Sun 2009, section 4.2) `room` can split the buffer.
//! Departures: V follows the link's rate at each arrival; a rate that changes in between counts from then.
//! Defaults: weight 1.

use super::droptail::{self, DropTail};
use crate::fair::{Arrived, Class, Classify, Queues, Scheduler};
use crate::policy::{Aqm, Env};
use marqueue_core::params::ParamError;
use marqueue_core::{Dscp, Packet, PerDscp, Rng, Time};
use std::collections::{BTreeSet, VecDeque};

marqueue_core::params! {
    /// Parameters of WFQ.
    pub struct Params {
        /// What packets share a queue.
        classify: Classify { default: Classify::Flow, source: "Demers, Keshav and Shenker 1989; by code point: Wen, Fang and Sun 2009, section 4.2" },
        /// Weight of a queue by the code point of the packet that opens it; 1 if it has none.
        weights: PerDscp { unit: One, range: 1e-6 => 1e6, default: PerDscp::default(), source: "Parekh and Gallager 1993" },
        /// How many packets the queue of a code point may hold, within the buffer that all share.
        room: PerDscp { unit: Packets, range: 1.0 => 1e9, default: PerDscp::default(), source: "Wen, Fang and Sun 2009, section 4.2" },
    }
}

/// A non-negative virtual time as an integer in the same order.
fn rank(virtual_time: f64) -> u64 {
    virtual_time.to_bits()
}

/// A queue as fluid fair sharing sees it.
#[derive(Debug, Default)]
struct Fluid {
    weight: f64,
    /// Finishing tags of the packets that wait.
    tags: VecDeque<f64>,
    /// The tag given last.
    last: f64,
}

/// State of WFQ.
#[derive(Debug)]
pub struct Wfq {
    classify: Classify,
    weights: PerDscp,
    room: PerDscp,
    fluids: Vec<Fluid>,
    /// Virtual time, bytes a unit of weight, and when it was that.
    v: f64,
    at: Time,
    /// Queues that fluid sharing still serves, by their last tag.
    busy: BTreeSet<(u64, Class)>,
    busy_weight: f64,
    /// Queues that hold packets, by their first tag.
    heads: BTreeSet<(u64, Class)>,
    /// Empty queues that fluid sharing has just finished with.
    finished: Vec<Class>,
}

impl Wfq {
    /// Lets virtual time run until `now`.
    fn advance(&mut self, now: Time, env: &Env) {
        let mut left = (now - self.at).secs() * env.rate.bytes_per_sec();
        self.at = now;
        while let Some(&(last, class)) = self.busy.first() {
            let until = (f64::from_bits(last) - self.v).max(0.0) * self.busy_weight;
            if until > left {
                self.v += left / self.busy_weight;
                return;
            }
            left -= until;
            self.v = self.v.max(f64::from_bits(last));
            self.busy.pop_first();
            self.busy_weight -= self.fluids[class].weight;
            if self.fluids[class].tags.is_empty() {
                self.finished.push(class);
            }
        }
        self.busy_weight = 0.0;
    }

    /// The last tag of a queue changes.
    fn set_last(&mut self, class: Class, last: f64) {
        let fluid = &mut self.fluids[class];
        if self.busy.remove(&(rank(fluid.last), class)) {
            self.busy_weight -= fluid.weight;
        }
        fluid.last = last;
        if last > self.v {
            self.busy.insert((rank(last), class));
            self.busy_weight += fluid.weight;
        }
    }
}

impl Scheduler for Wfq {
    const NAME: &'static str = "wfq";
    const SUMMARY: &'static str = "Serves flows or classes in the order in which weighted fluid sharing would end";
    const SOURCE: &'static str = "Demers, Keshav and Shenker 1989; Parekh and Gallager, IEEE/ACM ToN 1(3), 1993";
    type Params = Params;
    type Policy = DropTail;

    fn new(p: &Params, _: &Env, _: &mut Rng) -> Result<Self, ParamError> {
        if p.classify == Classify::Flow && !p.room.is_empty() {
            return Err(ParamError::new("room", "got a table, expected none with classify = \"flow\""));
        }
        Ok(Wfq {
            classify: p.classify,
            weights: p.weights.clone(),
            room: p.room.clone(),
            fluids: Vec::new(),
            v: 0.0,
            at: Time::ZERO,
            busy: BTreeSet::new(),
            busy_weight: 0.0,
            heads: BTreeSet::new(),
            finished: Vec::new(),
        })
    }

    fn policy(_: &Params, env: &Env, rng: &Rng, now: Time) -> Result<DropTail, ParamError> {
        DropTail::new(&droptail::Params {}, env, rng, now)
    }

    fn key(&self, packet: &Packet) -> u32 {
        self.classify.key(packet)
    }

    fn room(&self, key: u32) -> u32 {
        match self.classify {
            Classify::Flow => u32::MAX,
            Classify::Dscp => self.room.get(Dscp::from_bits(key as u8)).map_or(u32::MAX, |packets| packets as u32),
        }
    }

    fn opened(&mut self, class: Class, _: u32) {
        if self.fluids.len() <= class {
            self.fluids.resize_with(class + 1, Fluid::default);
        }
    }

    fn joined(&mut self, class: Class, packet: &Packet, arrived: &Arrived<'_>) {
        self.advance(arrived.now, arrived.env);
        let fluid = &mut self.fluids[class];
        if fluid.tags.is_empty() && fluid.last <= self.v {
            fluid.weight = self.weights.get(packet.dscp).unwrap_or(1.0);
        }
        let tag = fluid.last.max(self.v) + f64::from(packet.bytes) / fluid.weight;
        fluid.tags.push_back(tag);
        if fluid.tags.len() == 1 {
            self.heads.insert((rank(tag), class));
        }
        self.set_last(class, tag);
    }

    fn pushed_out<A>(&mut self, class: Class, packet: &Packet, _: &Queues<A>) {
        let fluid = &mut self.fluids[class];
        let Some(tag) = fluid.tags.pop_back() else { return };
        if fluid.tags.is_empty() {
            self.heads.remove(&(rank(tag), class));
        }
        let before = tag - f64::from(packet.bytes) / fluid.weight;
        self.set_last(class, before.max(0.0));
    }

    fn next<A>(&mut self, _: &Queues<A>, _: Time) -> Option<Class> {
        self.heads.pop_first().map(|(_, class)| class)
    }

    fn served<A>(&mut self, class: Class, _: Option<u32>, _: &Queues<A>) {
        let tags = &mut self.fluids[class].tags;
        tags.pop_front();
        if let Some(&head) = tags.front() {
            self.heads.insert((rank(head), class));
        }
    }

    /// Fluid sharing may still be serving what has already left.
    fn remembers(&self, class: Class) -> bool {
        self.fluids[class].last > self.v
    }

    fn forgets(&mut self) -> Option<Class> {
        self.finished.pop()
    }
}
