//! What a policy sees and what it may say.

use crate::buffer::{Buffer, Drawn};
use crate::door::Door;
use marqueue_core::params::{ParamError, ParamSet};
use marqueue_core::{Bytes, Dur, Ecn, Packet, Price, Rate, Rng, Time};
use serde::{Deserialize, Serialize};

pub use crate::door::Reason;

/// What a policy says of a packet. Whether a mark becomes CE or a drop is settled outside, by
/// [`Env::signal`] and the packet's ECN field.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// Let it through.
    Pass,
    /// Tell its sender about congestion.
    Mark(Reason),
    /// Lose it.
    Drop(Reason),
    /// Let it through, and tell the next resource that this one is congested: DRQ sets the ECN field to 10.
    Signal,
    /// Tell its sender about congestion where the ECN field says how far, not whether it is ECN-capable
    /// (DRQ's 11): a mark if the sender answers marks, else a loss.
    Congest(Reason),
}

/// How a mark reaches the sender.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Signal {
    /// By loss, whatever the packet's ECN field says.
    Drop,
    /// By CE; a packet that is not ECN-capable is dropped (RFC 3168, section 5).
    Ecn,
    /// By CE; a packet that is not ECN-capable passes unharmed (as ns-2's Vq, REM and GK do).
    EcnOnly,
}

/// The size of the buffer; the packet being transmitted is not in it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Limit {
    /// So many packets.
    Packets(u32),
    /// So many bytes.
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

    /// Is a queue of `len` packets and `bytes` bytes too long?
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

/// What surrounds a queue. A policy takes the rate and the packet size from here, not from
/// parameters of its own, and reads them at each use: the rate may change.
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
    /// How marks reach senders.
    pub signal: Signal,
    /// Where the server is a CPU: what is known of the processing that packets take.
    pub densities: Option<Box<Densities>>,
}

/// The most that a packet costs, in bytes: what schedulers sum up stays exact to a byte.
const DEAREST: f64 = 1e12;

impl Env {
    /// Cycles a bit that `packet`'s class takes of the CPU; 1 at a link.
    #[inline]
    pub fn density(&self, packet: &Packet) -> f64 {
        self.densities.as_ref().map_or(1.0, |d| d.of(packet.class()))
    }

    /// What of the server `packet` takes: its bytes at a link; at a CPU its cycles, in bytes of mean
    /// density.
    #[inline]
    pub fn cost(&self, packet: &Packet) -> f64 {
        let bytes = f64::from(packet.bytes());
        self.densities.as_ref().map_or(bytes, |d| (bytes * d.of(packet.class()) / d.mean).min(DEAREST))
    }
}

/// What a CPU knows of the processing that packets take: cycles a bit by class. They are told, or
/// learned from measured cycles.
///
/// Shin, Chong and Rhee, "Dual-resource TCP/AQM for Processing-constrained Networks", assumption A1 and
/// equation (1).
#[derive(Clone, Debug)]
pub struct Densities {
    by_class: Vec<f64>,
    mean: f64,
    /// Weight of a new measurement, if it learns.
    lambda: Option<f64>,
}

impl Densities {
    /// Those that are told, whose `mean` makes bits of cycles; with `lambda` only where learning begins.
    pub fn new(by_class: Vec<f64>, mean: f64, lambda: Option<f64>) -> Densities {
        Densities { by_class, mean, lambda }
    }

    /// Cycles a bit of a class.
    #[inline]
    pub fn of(&self, class: u8) -> f64 {
        self.by_class[usize::from(class)]
    }

    /// A packet of `class` took so many cycles a bit (1).
    #[inline]
    pub fn measured(&mut self, class: u8, density: f64) {
        if let Some(lambda) = self.lambda {
            let w = &mut self.by_class[usize::from(class)];
            *w = (1.0 - lambda) * *w + lambda * density;
        }
    }
}

/// The context of one decision.
pub struct Cx<'a> {
    /// When.
    pub now: Time,
    /// What surrounds the queue.
    pub env: &'a Env,
    /// This queue's own random stream.
    pub rng: &'a mut Rng,
    /// What waits.
    pub queue: &'a mut Buffer,
    /// Where lost packets go.
    pub door: &'a mut Door,
}

impl Cx<'_> {
    /// Packets waiting, without the arriving or departing one and without the one in transmission.
    #[inline]
    pub fn packets(&self) -> u32 {
        self.queue.len()
    }

    /// Bytes waiting, counted the same way.
    #[inline]
    pub fn bytes(&self) -> u64 {
        self.queue.bytes()
    }

    /// Loses a packet that was drawn and still waits.
    pub fn evict(&mut self, drawn: Drawn, reason: Reason) {
        let packet = self.queue.take(drawn);
        self.door.lose(packet, reason);
    }

    /// Has the buffer no room for this packet?
    pub fn is_full(&self, packet: &Packet) -> bool {
        self.env.limit.overflows(self.packets(), self.bytes(), packet.bytes())
    }

    /// Would a mark on this packet be a loss?
    pub fn mark_loses(&self, packet: &Packet) -> bool {
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
    /// Has it a price to tell ([`Aqm::price`])?
    const PRICES: bool = false;
    /// Its parameters.
    type Params: ParamSet;

    /// A policy for an empty queue in `env`. `rng` is the queue's own stream, from which a policy
    /// that holds another queue derives that queue's.
    ///
    /// # Errors
    /// If the parameters contradict each other or the environment.
    fn new(params: &Self::Params, env: &Env, rng: &Rng, now: Time) -> Result<Self, ParamError>;

    /// A packet arrives; it is not in the queue yet. Called for every arrival, also when the buffer
    /// is full (the discipline then drops the packet whatever is said here).
    fn on_arrival(&mut self, cx: &mut Cx<'_>, packet: &Packet) -> Verdict;

    /// A packet has left the queue for transmission after waiting for `sojourn`.
    fn on_departure(&mut self, _cx: &mut Cx<'_>, _packet: &Packet, _sojourn: Dur) -> Verdict {
        Verdict::Pass
    }

    /// The server asked for a packet and there was none.
    fn on_idle(&mut self, _now: Time) {}

    /// When [`Aqm::on_timer`] wants to be called; [`Time::NEVER`] if not at all.
    fn next_timer(&self) -> Time {
        Time::NEVER
    }

    /// The time of [`Aqm::next_timer`] has come.
    fn on_timer(&mut self, _cx: &mut Cx<'_>) {}

    /// What it tells packets that carry [`Signals`](marqueue_core::Signals), if anything. Whoever asks fills in
    /// the router.
    fn price(&self) -> Option<Price> {
        None
    }

    /// What is to be said of parameters that are allowed, though they will hardly give what is expected of it.
    fn caution(&self, _env: &Env) -> Option<String> {
        None
    }

    /// Appends the values of [`Aqm::PROBES`], as they are at `now`.
    fn probe(&self, _now: Time, _env: &Env, _out: &mut Vec<f64>) {}
}
