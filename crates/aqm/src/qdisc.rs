//! Queueing disciplines. A discipline holds packets, applies the verdicts of a policy and counts every packet.

use crate::accounting::{Accounting, Counters, Reason};
use crate::buffer::Buffer;
use crate::policy::{Aqm, Context, Env, Signal, Verdict};
use alloc::{string::String, vec::Vec};
use marqueue_core::params::{ParamError, PolicySpec};
use marqueue_core::{Dur, Ecn, Flags, Packet, Price, Rng, Time};

/// What happened to an arriving packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EnqueueOutcome {
    /// The packet was queued.
    Queued,
    /// The packet was queued and marked CE.
    Marked,
    /// The packet was dropped.
    Dropped,
}

/// The state of a queue that its server reads after each change.
#[derive(Clone, Copy, Debug)]
pub struct QueueStatus {
    /// [`Qdisc::len`].
    pub len: u32,
    /// [`Qdisc::next_timer`].
    pub next_timer: Time,
    /// [`Qdisc::has_dropped`].
    pub has_dropped: bool,
    /// The flow of the first of [`Qdisc::oldest`], or [`QueueStatus::NO_FLOW`]. Not an option, whose two halves would be
    /// written one by one and read as a whole, which stalls.
    pub next_flow: u32,
}

impl QueueStatus {
    /// There is no next packet, or it is not known.
    pub const NO_FLOW: u32 = u32::MAX;
}

/// The steps of [`Qdisc::prefetch_flow`].
pub const FLOW_STEPS: u32 = 4;

/// A queueing discipline.
pub trait Qdisc {
    /// A packet arrives.
    fn enqueue(&mut self, now: Time, packet: Packet) -> EnqueueOutcome;
    /// Returns the next packet to send, with its sojourn time. `None` if it is empty, or if a shaper holds all packets
    /// until the time of [`Qdisc::next_timer`].
    fn dequeue(&mut self, now: Time) -> Option<(Packet, Dur)>;
    /// Packets that will probably be served next, in this order, each with the time at which it arrived. None if the queue
    /// is empty or if the discipline cannot tell cheaply.
    #[inline]
    fn oldest(&self) -> &[(Time, Packet)] {
        &[]
    }
    /// Prefetches what the next calls of [`Qdisc::enqueue`] and [`Qdisc::dequeue`] read outside the discipline itself, as
    /// far as that is known.
    #[inline]
    fn prefetch(&self) {}
    /// Has it queues of flows, which [`Qdisc::prefetch_flow`] prefetches?
    #[inline]
    fn has_flow_queues(&self) -> bool {
        false
    }
    /// Prefetches what the next packet of `flow` will read when it arrives, or what the next departure will read if there is no flow.
    /// This takes [`FLOW_STEPS`] steps, from 0 on: each reads what those before it have prefetched.
    #[inline]
    fn prefetch_flow(&self, _flow: Option<u32>, _step: u32) {}
    /// When [`Qdisc::on_timer`] is due.
    fn next_timer(&self) -> Time;
    /// The time of [`Qdisc::next_timer`] has come.
    fn on_timer(&mut self, now: Time);
    /// Number of packets in the queue.
    fn len(&self) -> u32;
    /// Is the queue empty?
    fn is_empty(&self) -> bool {
        self.len() == 0
    }
    /// Number of bytes in the queue.
    fn bytes(&self) -> u64;
    /// Counts since the start.
    fn counters(&self) -> &Counters;
    /// Has a packet been dropped since the last call of [`Qdisc::drain_dropped`]?
    fn has_dropped(&self) -> bool;
    /// Packets dropped since the last call, with reasons.
    fn drain_dropped(&mut self) -> alloc::vec::Drain<'_, (Packet, Reason)>;
    /// The present state, in one call.
    #[inline]
    fn status(&self) -> QueueStatus {
        QueueStatus {
            len: self.len(),
            next_timer: self.next_timer(),
            has_dropped: self.has_dropped(),
            next_flow: self.oldest().first().map_or(QueueStatus::NO_FLOW, |(_, packet)| packet.flow()),
        }
    }
    /// [`Qdisc::enqueue`] and [`Qdisc::status`], in one call.
    #[inline]
    fn enqueue_with_status(&mut self, now: Time, packet: Packet) -> (EnqueueOutcome, QueueStatus) {
        (self.enqueue(now, packet), self.status())
    }
    /// [`Qdisc::dequeue`] and [`Qdisc::status`], in one call.
    #[inline]
    fn dequeue_with_status(&mut self, now: Time) -> (Option<(Packet, Dur)>, QueueStatus) {
        (self.dequeue(now), self.status())
    }
    /// The environment, to change the rate.
    fn env_mut(&mut self) -> &mut Env;
    /// The price for `packet`, which has just arrived and carries [`Signals`](marqueue_core::Signals).
    fn price(&self, packet: &Packet) -> Option<Price>;
    /// A warning about parameters that are allowed but unlikely to work well.
    fn warning(&self) -> Option<String> {
        None
    }
    /// Appends the values of the policy's probes.
    fn probe(&self, now: Time, out: &mut Vec<f64>);

    /// Checks conservation: arrivals = departures + drops + queue, in packets and bytes.
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

/// One first-in, first-out queue under one policy.
#[derive(Debug)]
pub struct SingleQueue<A> {
    policy: A,
    queue: Buffer,
    env: Env,
    rng: Rng,
    accounting: Accounting,
}

/// The context of a decision about the queue in its present state.
macro_rules! cx {
    ($self:ident, $now:expr) => {
        Context {
            now: $now,
            env: &$self.env,
            rng: &mut $self.rng,
            queue: &mut $self.queue,
            other_bytes: 0,
            accounting: &mut $self.accounting,
        }
    };
}

impl<A: Aqm> SingleQueue<A> {
    /// An empty queue.
    ///
    /// # Errors
    /// If the policy rejects its parameters.
    pub fn new(params: &A::Params, env: Env, rng: Rng) -> Result<Self, ParamError> {
        let policy = A::new(params, &env, &rng, Time::ZERO)?;
        Ok(Self::with_policy(policy, env, rng))
    }

    /// An empty queue under this policy.
    pub(crate) fn with_policy(policy: A, env: Env, rng: Rng) -> Self {
        Self { policy, queue: Buffer::default(), env, rng, accounting: Accounting::default() }
    }

    pub(crate) fn policy(&self) -> &A {
        &self.policy
    }
}

/// Applies a verdict to a packet. Returns the packet unless it was dropped.
#[inline(always)]
pub(crate) fn apply_verdict(
    verdict: Verdict,
    signal: Signal,
    accounting: &mut Accounting,
    packet: Packet,
) -> Option<(Packet, EnqueueOutcome)> {
    match verdict {
        Verdict::Pass => Some((packet, EnqueueOutcome::Queued)),
        Verdict::Mark(reason) => apply_mark(signal, accounting, packet, reason),
        Verdict::Drop(reason) => {
            accounting.drop(packet, reason);
            None
        }
        Verdict::Signal => Some((mark_signalled(packet), EnqueueOutcome::Queued)),
        Verdict::Congest(reason) => mark_congested(signal, accounting, packet, reason),
    }
}

/// Sets DRQ's codepoint 10.
fn mark_signalled(packet: Packet) -> Packet {
    packet.with_ecn(Ecn::Ect0)
}

/// Applies DRQ's codepoint 11: a mark if the sender reacts to marks and marks are in use, else a drop.
fn mark_congested(
    signal: Signal,
    accounting: &mut Accounting,
    packet: Packet,
    reason: Reason,
) -> Option<(Packet, EnqueueOutcome)> {
    match (signal, packet.has(Flags::ANSWERS_CE)) {
        (Signal::Ecn | Signal::EcnOnly, true) => apply_mark(signal, accounting, mark_signalled(packet), reason),
        (Signal::EcnOnly, false) => Some((packet, EnqueueOutcome::Queued)),
        (Signal::Drop, _) | (Signal::Ecn, false) => apply_mark(Signal::Drop, accounting, packet, reason),
    }
}

/// Turns a mark into CE, a drop, or nothing (see [`Signal`]).
#[inline]
fn apply_mark(
    signal: Signal,
    accounting: &mut Accounting,
    mut packet: Packet,
    reason: Reason,
) -> Option<(Packet, EnqueueOutcome)> {
    match (signal, packet.ecn()) {
        (Signal::Drop, _) | (Signal::Ecn, Ecn::NotEct) => {
            accounting.drop(packet, reason);
            None
        }
        (Signal::EcnOnly, Ecn::NotEct) => Some((packet, EnqueueOutcome::Queued)),
        (_, Ecn::Ect0 | Ecn::Ect1) => {
            packet = packet.with_ecn(Ecn::Ce);
            accounting.counters.marks[reason as usize] += 1;
            Some((packet, EnqueueOutcome::Marked))
        }
        (_, Ecn::Ce) => Some((packet, EnqueueOutcome::Marked)),
    }
}

impl<A: Aqm> Qdisc for SingleQueue<A> {
    #[inline]
    fn enqueue(&mut self, now: Time, packet: Packet) -> EnqueueOutcome {
        self.accounting.on_arrival(&packet);
        let verdict = self.policy.on_arrival(&mut cx!(self, now), &packet);
        if let Verdict::Drop(reason) = verdict {
            self.accounting.drop(packet, reason);
            return EnqueueOutcome::Dropped;
        }
        if self.env.limit.overflows(self.queue.len(), self.queue.bytes(), packet.bytes()) {
            self.accounting.drop(packet, Reason::Overflow);
            return EnqueueOutcome::Dropped;
        }
        let Some((packet, fate)) = apply_verdict(verdict, self.env.signal, &mut self.accounting, packet) else {
            return EnqueueOutcome::Dropped;
        };
        self.queue.push(now, packet);
        debug_assert!(self.conserves());
        fate
    }

    #[inline]
    fn dequeue(&mut self, now: Time) -> Option<(Packet, Dur)> {
        while let Some((arrived, packet)) = self.queue.pop() {
            let sojourn = now.since(arrived);
            let verdict = self.policy.on_departure(&mut cx!(self, now), &packet, sojourn);
            if let Some((packet, _)) = apply_verdict(verdict, self.env.signal, &mut self.accounting, packet) {
                self.accounting.on_departure(&packet);
                debug_assert!(self.conserves());
                return Some((packet, sojourn));
            }
        }
        self.policy.on_idle(now);
        None
    }

    #[inline]
    fn oldest(&self) -> &[(Time, Packet)] {
        self.queue.oldest()
    }

    #[inline]
    fn prefetch(&self) {
        self.queue.prefetch_ends();
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
        &self.accounting.counters
    }

    #[inline]
    fn has_dropped(&self) -> bool {
        !self.accounting.dropped.is_empty()
    }

    #[inline]
    fn drain_dropped(&mut self) -> alloc::vec::Drain<'_, (Packet, Reason)> {
        self.accounting.dropped.drain(..)
    }

    fn env_mut(&mut self) -> &mut Env {
        &mut self.env
    }

    fn price(&self, _: &Packet) -> Option<Price> {
        self.policy.price()
    }

    fn warning(&self) -> Option<String> {
        self.policy.warning(&self.env)
    }

    fn probe(&self, now: Time, out: &mut Vec<f64>) {
        self.policy.probe(now, &self.env, out);
    }
}
