//! WFQ: weighted fair queueing, packet by packet.
//!
//! Demers, Keshav and Shenker, "Analysis and Simulation of a Fair Queueing Algorithm", ACM SIGCOMM 1989; Parekh and
//! Gallager, "A Generalized Processor Sharing Approach to Flow Control in Integrated Services Networks: The Single-Node
//! Case", IEEE/ACM ToN 1(3), 1993 (PGPS).
//!
//! Virtual time V grows at rate C / (sum of the weights of the queues that generalized processor sharing (GPS) still
//! serves). A packet of L bytes that joins queue i at time t gets S = max(F_i, V(t)) and F_i = S + L/w_i. The packet
//! with the smallest F is served first.
//!
//! Input: flows or code points, sizes, arrival times. Output: the queue to serve.
//!
//! With a queue for each flow, the queues share the buffer, and the longest drops its last packet when the buffer
//! overflows. With a queue for each code point (the aggregate mode of Wen, Fang and Sun 2009, section 4.2), `room` can
//! divide the buffer. The finishing tag of a dropped packet is removed: GPS does not serve the packet, or stops serving
//! it.
//! Departures: a new rate of the link counts from the next arrival or departure on.
//! Defaults: weight 1.

use alloc::vec::Vec;
use super::droptail::{self, DropTail};
use crate::scheduler::{Class, Classify, Queues, Scheduler};
use crate::policy::{Aqm, Env};
use marqueue_core::params::ParamError;
use marqueue_core::{Dscp, Packet, PerDscp, Rate, Rng, Time};
use alloc::collections::{BTreeSet, VecDeque};

marqueue_core::params! {
    /// Parameters of WFQ.
    pub struct Params {
        /// Which packets share a queue: those of a flow or of a code point.
        classify: Classify { default: Classify::Flow, source: "Demers, Keshav and Shenker 1989; by code point: Wen, Fang and Sun 2009, section 4.2" },
        /// Weight of a queue by the code point of the packet that opens it; 1 if it has none.
        weights: PerDscp { unit: One, range: 1e-3 => 1e3, default: PerDscp::default(), source: "Parekh and Gallager 1993" },
        /// Number of packets that the queue of a code point may hold, within the shared buffer.
        room: PerDscp { unit: Packets, range: 1.0 => 1e9, default: PerDscp::default(), source: "Wen, Fang and Sun 2009, section 4.2" },
    }
}

/// A non-negative virtual time as an integer in the same order.
fn rank(virtual_time: f64) -> u64 {
    virtual_time.to_bits()
}

/// The state of a queue under GPS.
#[derive(Debug, Default)]
struct GpsQueue {
    weight: f64,
    /// Finishing tags of the queued packets.
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
    gps: Vec<GpsQueue>,
    /// Virtual time, in bytes a unit of weight, at time `at`, and the link's rate since then.
    v: f64,
    at: Time,
    rate: Rate,
    /// Queues that GPS still serves, by their last tag.
    busy: BTreeSet<(u64, Class)>,
    busy_weight: f64,
    /// Queues that hold packets, by their first tag.
    heads: BTreeSet<(u64, Class)>,
    /// Empty queues that GPS has just finished.
    finished: Vec<Class>,
}

impl Wfq {
    /// Does GPS still serve this queue?
    fn is_busy(&self, class: Class) -> bool {
        self.busy.contains(&(rank(self.gps[class].last), class))
    }

    /// Sets the last tag of a queue.
    fn set_last(&mut self, class: Class, last: f64) {
        let gps_queue = &mut self.gps[class];
        let was_busy = self.busy.remove(&(rank(gps_queue.last), class));
        gps_queue.last = last;
        let is_busy = last > self.v;
        if is_busy {
            self.busy.insert((rank(last), class));
        }
        match (was_busy, is_busy) {
            (false, true) => self.busy_weight += gps_queue.weight,
            (true, false) => self.busy_weight -= gps_queue.weight,
            _ => {}
        }
    }
}

impl Scheduler for Wfq {
    const NAME: &'static str = "wfq";
    const SUMMARY: &'static str = "Serves flows or classes in the order in which generalized processor sharing would finish their packets";
    const SOURCE: &'static str = "Demers, Keshav and Shenker 1989; Parekh and Gallager, IEEE/ACM ToN 1(3), 1993";
    type Params = Params;
    type Policy = DropTail;

    fn new(p: &Params, env: &Env, _: &mut Rng) -> Result<Self, ParamError> {
        if p.classify == Classify::Flow && !p.room.is_empty() {
            return Err(ParamError::new("room", "got a table, expected none with classify = \"flow\""));
        }
        p.room.check_whole("room")?;
        Ok(Wfq {
            classify: p.classify,
            weights: p.weights.clone(),
            room: p.room.clone(),
            gps: Vec::new(),
            v: 0.0,
            at: Time::ZERO,
            rate: env.rate,
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

    fn queue_limit(&self, key: u32) -> u32 {
        match self.classify {
            Classify::Flow => u32::MAX,
            Classify::Dscp => self.room.get(Dscp::from_bits(key as u8)).map_or(u32::MAX, |packets| packets as u32),
        }
    }

    /// Advances virtual time.
    fn advance_time(&mut self, now: Time, rate: Rate) {
        let mut left = (now - core::mem::replace(&mut self.at, now)).secs() * self.rate.bytes_per_sec();
        self.rate = rate;
        while let Some(&(last, class)) = self.busy.first() {
            let until = (f64::from_bits(last) - self.v) * self.busy_weight;
            if until > left {
                self.v = (self.v + left / self.busy_weight).min(f64::from_bits(last));
                return;
            }
            left -= until;
            self.v = f64::from_bits(last);
            self.busy.pop_first();
            self.busy_weight -= self.gps[class].weight;
            if self.gps[class].tags.is_empty() {
                self.finished.push(class);
            }
        }
        // Rounding may have left a remainder.
        self.busy_weight = 0.0;
    }

    fn on_open(&mut self, class: Class) {
        if self.gps.len() <= class {
            self.gps.resize_with(class + 1, GpsQueue::default);
        }
    }

    fn on_enqueue(&mut self, class: Class, packet: &Packet, first: bool, env: &Env) {
        let idle = !self.is_busy(class);
        let gps_queue = &mut self.gps[class];
        if idle && first {
            gps_queue.weight = self.weights.get(packet.dscp()).unwrap_or(1.0);
        }
        let tag = gps_queue.last.max(self.v) + env.cost(packet) / gps_queue.weight;
        gps_queue.tags.push_back(tag);
        if first {
            self.heads.insert((rank(tag), class));
        }
        self.set_last(class, tag);
    }

    fn on_push_out<A>(&mut self, class: Class, packet: &Packet, _: &Queues<A>, env: &Env) {
        let gps_queue = &mut self.gps[class];
        let tag = gps_queue.tags.pop_back().expect("a queued packet has a tag");
        if gps_queue.tags.is_empty() {
            self.heads.remove(&(rank(tag), class));
        }
        // Where a tag remains, it is used as it is, because a computed one may differ by rounding.
        let start = tag - env.cost(packet) / gps_queue.weight;
        let before = gps_queue.tags.back().copied().unwrap_or(start.max(0.0));
        self.set_last(class, before);
    }

    fn next<A>(&mut self, _: &Queues<A>, _: &Env) -> Option<Class> {
        self.heads.pop_first().map(|(_, class)| class)
    }

    fn on_service<A>(&mut self, class: Class, _: Option<&Packet>, _: &Queues<A>, _: &Env) {
        let tags = &mut self.gps[class].tags;
        tags.pop_front();
        if let Some(&head) = tags.front() {
            self.heads.insert((rank(head), class));
        }
    }

    /// GPS may still serve packets that have already left.
    fn keeps_empty(&self, class: Class) -> bool {
        self.is_busy(class)
    }

    fn pop_expired(&mut self) -> Option<Class> {
        self.finished.pop()
    }
}
