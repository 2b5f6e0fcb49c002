//! Disciplines: they hold the packets, apply verdicts, and account for every packet.

use crate::buffer::Buffer;
use crate::door::{Counters, Door, Reason};
use crate::policy::{Aqm, Cx, Env, Signal, Verdict};
use marqueue_core::params::{ParamError, PolicySpec};
use marqueue_core::{Dur, Ecn, Flags, Packet, Price, Rng, Time};

/// What became of an arriving packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fate {
    /// It stands in the queue.
    Queued,
    /// It stands in the queue and got a CE mark.
    Marked,
    /// It was lost.
    Lost,
}

/// What a server looks at whenever a queue has changed.
#[derive(Clone, Copy, Debug)]
pub struct Outlook {
    /// [`Qdisc::len`].
    pub len: u32,
    /// [`Qdisc::next_timer`].
    pub next_timer: Time,
    /// [`Qdisc::has_lost`].
    pub has_lost: bool,
    /// The flow of [`Qdisc::first`].
    pub next_flow: Option<u32>,
}

/// A queueing discipline.
pub trait Qdisc {
    /// A packet arrives.
    fn enqueue(&mut self, now: Time, packet: Packet) -> Fate;
    /// The server wants a packet. Comes with its sojourn time.
    fn dequeue(&mut self, now: Time) -> Option<(Packet, Dur)>;
    /// The packet that will probably be served next, if that is easily said.
    #[inline]
    fn first(&self) -> Option<&Packet> {
        None
    }
    /// When [`Qdisc::on_timer`] wants to be called.
    fn next_timer(&self) -> Time;
    /// The time of [`Qdisc::next_timer`] has come.
    fn on_timer(&mut self, now: Time);
    /// Packets waiting.
    fn len(&self) -> u32;
    /// Is nothing waiting?
    fn is_empty(&self) -> bool {
        self.len() == 0
    }
    /// Bytes waiting.
    fn bytes(&self) -> u64;
    /// Counts since the start.
    fn counters(&self) -> &Counters;
    /// Has a packet been lost since [`Qdisc::drain_lost`] was called last?
    fn has_lost(&self) -> bool;
    /// Packets lost since the last call, with reasons.
    fn drain_lost(&mut self) -> std::vec::Drain<'_, (Packet, Reason)>;
    /// How it now stands, in one call.
    #[inline]
    fn outlook(&self) -> Outlook {
        Outlook {
            len: self.len(),
            next_timer: self.next_timer(),
            has_lost: self.has_lost(),
            next_flow: self.first().map(|packet| packet.flow()),
        }
    }
    /// [`Qdisc::enqueue`] and [`Qdisc::outlook`], in one call.
    #[inline]
    fn enqueue_and_look(&mut self, now: Time, packet: Packet) -> (Fate, Outlook) {
        (self.enqueue(now, packet), self.outlook())
    }
    /// [`Qdisc::dequeue`] and [`Qdisc::outlook`], in one call.
    #[inline]
    fn dequeue_and_look(&mut self, now: Time) -> (Option<(Packet, Dur)>, Outlook) {
        (self.dequeue(now), self.outlook())
    }
    /// The environment, to change the rate.
    fn env_mut(&mut self) -> &mut Env;
    /// What `packet`, which has just arrived, is told if it carries [`Signals`](marqueue_core::Signals).
    fn price(&self, packet: &Packet) -> Option<Price>;
    /// What is to be said of parameters that are allowed.
    fn caution(&self) -> Option<String> {
        None
    }
    /// Appends the values of the policy's probes.
    fn probe(&self, now: Time, out: &mut Vec<f64>);

    /// Does every packet and byte that arrived stand here, or has it left or been lost?
    fn conserves(&self) -> bool {
        let c = self.counters();
        c.arrivals == c.departures + c.dropped() + u64::from(self.len())
            && c.arrived_bytes == c.departed_bytes + c.dropped_bytes + self.bytes()
    }
}

/// A discipline that is built from the name of an algorithm and its parameters.
pub trait FromSpec: Qdisc + Sized {
    /// An empty queue under the algorithm that `spec` names.
    ///
    /// # Errors
    /// If the name is unknown or a parameter is refused.
    fn from_spec(spec: &PolicySpec, env: Env, rng: Rng) -> Result<Self, ParamError>;
}

/// First in, first out, under one policy.
#[derive(Debug)]
pub struct Single<A> {
    policy: A,
    queue: Buffer,
    env: Env,
    rng: Rng,
    door: Door,
}

/// The context of a decision about a queue as it now stands.
macro_rules! cx {
    ($self:ident, $now:expr) => {
        Cx { now: $now, env: &$self.env, rng: &mut $self.rng, queue: &mut $self.queue, door: &mut $self.door }
    };
}

impl<A: Aqm> Single<A> {
    /// An empty queue.
    ///
    /// # Errors
    /// If the policy refuses its parameters.
    pub fn new(params: &A::Params, env: Env, rng: Rng) -> Result<Self, ParamError> {
        let policy = A::new(params, &env, &rng, Time::ZERO)?;
        Ok(Self { policy, queue: Buffer::default(), env, rng, door: Door::default() })
    }
}

/// What a verdict leaves of a packet.
#[inline(always)]
pub(crate) fn apply(verdict: Verdict, signal: Signal, door: &mut Door, packet: Packet) -> Option<(Packet, Fate)> {
    match verdict {
        Verdict::Pass => Some((packet, Fate::Queued)),
        Verdict::Mark(reason) => settle(signal, door, packet, reason),
        Verdict::Drop(reason) => {
            door.lose(packet, reason);
            None
        }
        Verdict::Signal => Some((signalled(packet), Fate::Queued)),
        Verdict::Congest(reason) => congest(signal, door, packet, reason),
    }
}

/// DRQ's 10.
fn signalled(packet: Packet) -> Packet {
    packet.with_ecn(Ecn::Ect)
}

/// DRQ's 11: a mark if the sender answers it and marks are in use, else a loss.
fn congest(signal: Signal, door: &mut Door, packet: Packet, reason: Reason) -> Option<(Packet, Fate)> {
    match (signal, packet.has(Flags::ANSWERS_CE)) {
        (Signal::Ecn | Signal::EcnOnly, true) => settle(signal, door, signalled(packet), reason),
        (Signal::EcnOnly, false) => Some((packet, Fate::Queued)),
        (Signal::Drop, _) | (Signal::Ecn, false) => settle(Signal::Drop, door, packet, reason),
    }
}

/// Turns a mark into CE, a loss, or nothing (see [`Signal`]).
#[inline]
fn settle(signal: Signal, door: &mut Door, mut packet: Packet, reason: Reason) -> Option<(Packet, Fate)> {
    match (signal, packet.ecn()) {
        (Signal::Drop, _) | (Signal::Ecn, Ecn::NotEct) => {
            door.lose(packet, reason);
            None
        }
        (Signal::EcnOnly, Ecn::NotEct) => Some((packet, Fate::Queued)),
        (_, Ecn::Ect) => {
            packet = packet.with_ecn(Ecn::Ce);
            door.counters.marks[reason as usize] += 1;
            Some((packet, Fate::Marked))
        }
        (_, Ecn::Ce) => Some((packet, Fate::Marked)),
    }
}

impl<A: Aqm> Qdisc for Single<A> {
    #[inline]
    fn enqueue(&mut self, now: Time, packet: Packet) -> Fate {
        self.door.arrives(&packet);
        let verdict = self.policy.on_arrival(&mut cx!(self, now), &packet);
        if let Verdict::Drop(reason) = verdict {
            self.door.lose(packet, reason);
            return Fate::Lost;
        }
        if self.env.limit.overflows(self.queue.len(), self.queue.bytes(), packet.bytes()) {
            self.door.lose(packet, Reason::Overflow);
            return Fate::Lost;
        }
        let Some((packet, fate)) = apply(verdict, self.env.signal, &mut self.door, packet) else { return Fate::Lost };
        self.queue.push(now, packet);
        debug_assert!(self.conserves());
        fate
    }

    #[inline]
    fn dequeue(&mut self, now: Time) -> Option<(Packet, Dur)> {
        while let Some((arrived, packet)) = self.queue.pop() {
            let sojourn = now.since(arrived);
            let verdict = self.policy.on_departure(&mut cx!(self, now), &packet, sojourn);
            if let Some((packet, _)) = apply(verdict, self.env.signal, &mut self.door, packet) {
                self.door.departs(&packet);
                debug_assert!(self.conserves());
                return Some((packet, sojourn));
            }
        }
        self.policy.on_idle(now);
        None
    }

    #[inline]
    fn first(&self) -> Option<&Packet> {
        self.queue.first()
    }

    #[inline]
    fn next_timer(&self) -> Time {
        self.policy.next_timer()
    }

    fn on_timer(&mut self, now: Time) {
        self.policy.on_timer(&mut cx!(self, now));
    }

    #[inline]
    fn len(&self) -> u32 {
        self.queue.len()
    }

    fn bytes(&self) -> u64 {
        self.queue.bytes()
    }

    fn counters(&self) -> &Counters {
        &self.door.counters
    }

    #[inline]
    fn has_lost(&self) -> bool {
        !self.door.lost.is_empty()
    }

    #[inline]
    fn drain_lost(&mut self) -> std::vec::Drain<'_, (Packet, Reason)> {
        self.door.lost.drain(..)
    }

    fn env_mut(&mut self) -> &mut Env {
        &mut self.env
    }

    fn price(&self, _: &Packet) -> Option<Price> {
        self.policy.price()
    }

    fn caution(&self) -> Option<String> {
        self.policy.caution(&self.env)
    }

    fn probe(&self, now: Time, out: &mut Vec<f64>) {
        self.policy.probe(now, &self.env, out);
    }
}
