//! The interface of an AQM policy: the [`Context`] that it reads and the [`Verdict`] that it returns.

use crate::accounting::Accounting;
use crate::buffer::{Buffer, Drawn};
use alloc::{boxed::Box, string::String, vec::Vec};
use marqueue_core::params::{ParamError, ParamSet};
use marqueue_core::{Bytes, Dur, Ecn, Packet, Price, Rate, Rng, Time};
use serde::{Deserialize, Serialize};

pub use crate::accounting::Reason;

/// The decision of a policy about a packet. The discipline turns a mark into CE or a drop, by [`Env::signal`] and the
/// packet's ECN field.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// Pass the packet.
    Pass,
    /// Signal congestion to the sender.
    Mark(Reason),
    /// Drop the packet.
    Drop(Reason),
    /// Pass the packet and set its ECN field to 10: under DRQ this tells the next resource that this one is congested.
    Signal,
    /// Signal congestion under DRQ (ECN field 11), where the ECN field carries a level and not the ECN capability: a
    /// mark if the sender reacts to marks, else a drop.
    Congest(Reason),
}

/// How a mark is conveyed to the sender.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Signal {
    /// By a drop, whatever the packet's ECN field.
    Drop,
    /// By CE; a packet that is not ECN-capable is dropped (RFC 3168, section 5).
    Ecn,
    /// By CE; a packet that is not ECN-capable passes unchanged (as in ns-2's Vq, REM and GK).
    EcnOnly,
}

/// The size of the buffer, without the packet in transmission.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Limit {
    /// A number of packets.
    Packets(u32),
    /// A number of bytes.
    Bytes(u64),
}

impl Limit {
    /// Would a queue of `len` packets and `bytes` bytes overflow by one more packet of `size`?
    #[inline]
    pub fn overflows(self, len: u32, bytes: u64, size: u32) -> bool {
        match self {
            Limit::Packets(n) => len >= n,
            Limit::Bytes(n) => bytes + u64::from(size) > n,
        }
    }

    /// Does a queue of `len` packets and `bytes` bytes exceed the limit?
    pub fn is_exceeded(self, len: u32, bytes: u64) -> bool {
        match self {
            Limit::Packets(n) => len > n,
            Limit::Bytes(n) => bytes > n,
        }
    }

    /// In packets of `size`.
    pub fn packets(self, size: Bytes) -> f64 {
        match self {
            Limit::Packets(n) => f64::from(n),
            Limit::Bytes(n) => n as f64 / size.0 as f64,
        }
    }

    /// In bytes, with packets of `size`.
    pub fn bytes(self, size: Bytes) -> f64 {
        match self {
            Limit::Packets(n) => f64::from(n) * size.0 as f64,
            Limit::Bytes(n) => n as f64,
        }
    }
}

/// The environment of a queue. A policy takes the rate and the packet size from here, not from its own parameters,
/// and reads them at each use, because the rate may change.
#[derive(Clone, Debug)]
pub struct Env {
    /// The rate of the server behind the queue; of a CPU, at the mean density.
    pub rate: Rate,
    /// The usual size of a data packet on this link.
    pub mean_packet: Bytes,
    /// The buffer.
    pub limit: Limit,
    /// The propagation delay of the link.
    pub delay: Dur,
    /// How marks are conveyed to senders.
    pub signal: Signal,
    /// If the server is a CPU: the processing density of each class of packets.
    pub densities: Option<Box<Densities>>,
}

/// Upper bound of the cost of a packet in bytes. Sums of costs in schedulers stay exact to a byte.
const MAX_COST: f64 = 1e12;

impl Env {
    /// Cycles a bit that `packet`'s class takes of the CPU; 1 at a link.
    #[inline]
    pub fn density(&self, packet: &Packet) -> f64 {
        self.densities.as_ref().map_or(1.0, |d| d.of(packet.class()))
    }

    /// The service that `packet` needs: its size in bytes at a link; at a CPU its cycles, converted to bytes at the
    /// mean density.
    #[inline]
    pub fn cost(&self, packet: &Packet) -> f64 {
        let bytes = f64::from(packet.bytes());
        self.densities.as_ref().map_or(bytes, |d| (bytes * d.of(packet.class()) / d.mean).min(MAX_COST))
    }
}

/// Processing density of each class of packets at a CPU, in cycles a bit: given, or estimated from measured cycles.
///
/// Shin, Chong and Rhee, "Dual-resource TCP/AQM for Processing-constrained Networks", assumption A1 and
/// equation (1).
#[derive(Clone, Debug)]
pub struct Densities {
    by_class: Vec<f64>,
    mean: f64,
    /// Weight of a new measurement; `None` if the densities are fixed.
    lambda: Option<f64>,
}

impl Densities {
    /// Densities by class and their mean. With `lambda` they are the initial values of an estimate.
    pub fn new(by_class: Vec<f64>, mean: f64, lambda: Option<f64>) -> Densities {
        Densities { by_class, mean, lambda }
    }

    /// Cycles a bit of a class.
    #[inline]
    pub fn of(&self, class: u8) -> f64 {
        self.by_class[usize::from(class)]
    }

    /// Updates the estimate: a packet of `class` took `density` cycles a bit (1).
    #[inline]
    pub fn measured(&mut self, class: u8, density: f64) {
        if let Some(lambda) = self.lambda {
            let w = &mut self.by_class[usize::from(class)];
            *w = (1.0 - lambda) * *w + lambda * density;
        }
    }
}

/// What a policy can read and use for one decision.
pub struct Context<'a> {
    /// The time.
    pub now: Time,
    /// The environment of the queue.
    pub env: &'a Env,
    /// This queue's own random stream.
    pub rng: &'a mut Rng,
    /// The packets in the queue.
    pub queue: &'a mut Buffer,
    /// Bytes in the other queues of the discipline; 0 for a single queue.
    pub other_bytes: u64,
    /// Counts dropped packets.
    pub accounting: &'a mut Accounting,
}

impl Context<'_> {
    /// Packets in the queue, without the arriving or departing one and without the one in transmission.
    #[inline]
    pub fn packets(&self) -> u32 {
        self.queue.len()
    }

    /// Bytes in the queue, counted the same way.
    #[inline]
    pub fn bytes(&self) -> u64 {
        self.queue.bytes()
    }

    /// Drops a packet that was drawn from the queue.
    pub fn evict(&mut self, drawn: Drawn, reason: Reason) {
        let packet = self.queue.take(drawn);
        self.accounting.drop(packet, reason);
    }

    /// Would this packet overflow the buffer?
    pub fn is_full(&self, packet: &Packet) -> bool {
        self.env.limit.overflows(self.packets(), self.bytes(), packet.bytes())
    }

    /// Would a mark on this packet become a drop?
    pub fn mark_drops(&self, packet: &Packet) -> bool {
        match self.env.signal {
            Signal::Drop => true,
            Signal::Ecn => packet.ecn() == Ecn::NotEct,
            Signal::EcnOnly => false,
        }
    }
}

/// An active queue management policy.
pub trait Aqm: Sized {
    /// Its name in scenarios: the name of its file.
    const NAME: &'static str;
    /// One line on what it does.
    const SUMMARY: &'static str;
    /// The paper or RFC that defines it.
    const SOURCE: &'static str;
    /// Names of the internal variables that [`Aqm::probe`] reports, with units.
    const PROBES: &'static [(&'static str, &'static str)] = &[];
    /// Does it report a price ([`Aqm::price`])?
    const PRICES: bool = false;
    /// Its parameters.
    type Params: ParamSet;

    /// A policy for an empty queue in `env`. `rng` is the queue's own stream, from which a policy
    /// that holds another queue derives that queue's.
    ///
    /// # Errors
    /// If the parameters contradict each other or the environment.
    fn new(params: &Self::Params, env: &Env, rng: &Rng, now: Time) -> Result<Self, ParamError>;

    /// A packet arrives and is not in the queue yet. Called for every arrival, also when the buffer is full: the
    /// discipline then drops the packet whatever the verdict.
    fn on_arrival(&mut self, cx: &mut Context<'_>, packet: &Packet) -> Verdict;

    /// A packet leaves the queue for transmission after a sojourn time of `sojourn`.
    fn on_departure(&mut self, _cx: &mut Context<'_>, _packet: &Packet, _sojourn: Dur) -> Verdict {
        Verdict::Pass
    }

    /// The server finds the queue empty.
    fn on_idle(&mut self, _now: Time) {}

    /// When [`Aqm::on_timer`] is due; [`Time::NEVER`] if the policy has no timer.
    fn next_timer(&self) -> Time {
        Time::NEVER
    }

    /// The time of [`Aqm::next_timer`] has come.
    fn on_timer(&mut self, _cx: &mut Context<'_>) {}

    /// The price for packets that carry [`Signals`](marqueue_core::Signals), if the policy has one. The caller fills in
    /// the router.
    fn price(&self) -> Option<Price> {
        None
    }

    /// A warning about parameters that are allowed but unlikely to work well.
    fn warning(&self, _env: &Env) -> Option<String> {
        None
    }

    /// Appends the values of [`Aqm::PROBES`], as they are at `now`.
    fn probe(&self, _now: Time, _env: &Env, _out: &mut Vec<f64>) {}
}
