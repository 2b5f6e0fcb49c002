//! Many queues at one server. A scheduler picks the queue to serve next, each queue has a policy of its own, and all
//! share one buffer.

use crate::accounting::{Accounting, Counters, Reason};
use crate::counting_unit::CountingUnit;
use crate::periodic_timer::PeriodicTimer;
use crate::policy::{Aqm, Context, Env};
use crate::qdisc::{apply_verdict, EnqueueOutcome, Qdisc};
use crate::queues::Queue;
use alloc::vec::Vec;
use marqueue_core::params::{ParamError, ParamSet};
use marqueue_core::{Dur, Packet, Price, Rate, Rng, Time};

pub use crate::queues::{Class, Queues};

marqueue_core::choice! {
    /// Which packets share a queue.
    pub enum Classify {
        /// Packets of one flow.
        Flow = "flow",
        /// Packets of one code point.
        Dscp = "dscp",
    }
}

impl Classify {
    /// The key of a packet's queue.
    #[inline]
    pub fn key(self, packet: &Packet) -> u32 {
        match self {
            Classify::Flow => packet.flow(),
            Classify::Dscp => u32::from(packet.dscp().value()),
        }
    }
}

/// Which packets the longest queue drops when the buffer overflows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PushOut {
    /// The last packet.
    Last,
    /// Nothing: the arriving packet is dropped, whatever its queue.
    Arrival,
    /// Half of the queue from its head, rounded down, but at least one packet and at most `at_most`.
    Half {
        /// Half of its packets or half of its bytes?
        unit: CountingUnit,
        /// Upper bound of the number of packets.
        at_most: u32,
    },
}

/// The order in which queues are served.
pub trait Scheduler: Sized {
    /// Its name in scenarios: the name of its file.
    const NAME: &'static str;
    /// One line on what it does.
    const SUMMARY: &'static str;
    /// The paper or RFC that defines it.
    const SOURCE: &'static str;
    /// Its parameters.
    type Params: ParamSet;
    /// The policy of each queue. It must not evict packets, because the discipline counts what all queues hold.
    type Policy: Aqm;

    /// A scheduler without queues. `rng` is the discipline's own stream.
    ///
    /// # Errors
    /// If the parameters contradict each other or the environment.
    fn new(params: &Self::Params, env: &Env, rng: &mut Rng) -> Result<Self, ParamError>;
    /// A policy for one queue.
    ///
    /// # Errors
    /// If the parameters contradict each other or the environment.
    fn policy(params: &Self::Params, env: &Env, rng: &Rng, now: Time) -> Result<Self::Policy, ParamError>;
    /// The key of the queue that a packet joins. Packets with the same key share a queue.
    fn key(&self, packet: &Packet) -> u32;
    /// The number above all keys, if packets are hashed to so many queues.
    fn keys(&self) -> Option<u32> {
        None
    }
    /// The most packets that one queue may hold. By default only the shared buffer limits it.
    fn queue_limit(&self, _key: u32) -> u32 {
        u32::MAX
    }
    /// How often the timers of all policies are due; `None` if they have none.
    fn period(_params: &Self::Params) -> Option<Dur> {
        None
    }
    /// What is dropped when the buffer overflows.
    fn push_out(&self) -> PushOut {
        PushOut::Last
    }
    /// The time is `now`; from now on the link has this rate.
    fn advance_time(&mut self, _now: Time, _rate: Rate) {}
    /// A queue was created.
    fn on_open(&mut self, _class: Class) {}
    /// A packet joined a queue; `first` if the queue was empty. The environment gives the cost of a packet.
    fn on_enqueue(&mut self, class: Class, packet: &Packet, first: bool, env: &Env);
    /// A queue dropped a packet because the buffer overflowed.
    fn on_push_out<A>(&mut self, class: Class, packet: &Packet, queues: &Queues<A>, env: &Env);
    /// Prefetches where [`Scheduler::upcoming`] looks.
    fn prefetch_upcoming(&self) {}
    /// The queue that will probably be served next, if this is known without a change.
    fn upcoming(&self) -> Option<Class> {
        None
    }
    /// Prefetches what it knows of a queue.
    fn prefetch(&self, _class: Class) {}
    /// The queue to serve next; `None` only if no queue holds a packet.
    fn next<A>(&mut self, queues: &Queues<A>, env: &Env) -> Option<Class>;
    /// The queue was served this packet; `None` if it was empty or its policy dropped all that it held.
    fn on_service<A>(&mut self, class: Class, packet: Option<&Packet>, queues: &Queues<A>, env: &Env);
    /// Must this queue be kept while it is empty?
    fn keeps_empty(&self, _class: Class) -> bool {
        false
    }
    /// Takes a queue that was kept and need not be kept any longer.
    fn pop_expired(&mut self) -> Option<Class> {
        None
    }
}

/// A discipline of many queues under a scheduler.
#[derive(Debug)]
pub struct MultiQueue<S: Scheduler> {
    scheduler: S,
    params: S::Params,
    queues: Queues<S::Policy>,
    /// The timer of all policies.
    timer: Option<PeriodicTimer>,
    env: Env,
    rng: Rng,
    accounting: Accounting,
}

/// The context of a decision about one queue; `total` is the number of bytes in all queues.
macro_rules! cx {
    ($self:ident, $now:expr, $packets:ident, $total:expr) => {
        Context {
            now: $now,
            env: &$self.env,
            rng: &mut $self.rng,
            other_bytes: $total - $packets.bytes(),
            queue: $packets,
            accounting: &mut $self.accounting,
        }
    };
}

impl<S: Scheduler> MultiQueue<S> {
    /// An empty discipline.
    ///
    /// # Errors
    /// If the scheduler rejects its parameters.
    pub fn new(params: S::Params, env: Env, mut rng: Rng) -> Result<Self, ParamError> {
        let scheduler = S::new(&params, &env, &mut rng)?;
        S::policy(&params, &env, &rng, Time::ZERO)?;
        let timer = S::period(&params).map(|period| PeriodicTimer::new(Time::ZERO, period));
        let (queues, accounting) = (Queues::new(scheduler.keys()), Accounting::default());
        Ok(MultiQueue { scheduler, params, queues, timer, env, rng, accounting })
    }

    fn advance_time(&mut self, now: Time) {
        self.scheduler.advance_time(now, self.env.rate);
        while let Some(class) = self.scheduler.pop_expired() {
            self.close_if_idle(class);
        }
    }

    /// The queue of a packet.
    fn class_of(&mut self, now: Time, key: u32) -> Class {
        if let Some(class) = self.queues.by_key.get(key) {
            return class;
        }
        let policy = S::policy(&self.params, &self.env, &self.rng, now).expect("accepted when the discipline was made");
        let class = self.queues.open(key, policy);
        self.scheduler.on_open(class);
        class
    }

    fn close_if_idle(&mut self, class: Class) {
        if self.queues.is_empty(class) && !self.scheduler.keeps_empty(class) {
            self.queues.close(class);
        }
    }

    /// Asks the policy of the queue about an arriving packet. Returns the packet unless it was dropped.
    fn apply_policy(&mut self, now: Time, class: Class, packet: Packet) -> Option<(Packet, EnqueueOutcome)> {
        let total = self.queues.bytes;
        let is_full = self.scheduler.push_out() == PushOut::Arrival
            && self.env.limit.overflows(self.queues.len, total, packet.bytes());
        let Queue { key, packets, policy } = self.queues.get_mut(class);
        if is_full || packets.len() >= self.scheduler.queue_limit(*key) {
            self.accounting.drop(packet, Reason::Overflow);
            return None;
        }
        let verdict = policy.on_arrival(&mut cx!(self, now, packets, total), &packet);
        apply_verdict(verdict, self.env.signal, &mut self.accounting, packet)
    }

    /// Drops packets of the longest queues until the others fit into the buffer. Returns false if the packet that has
    /// just arrived at the queue `arrival` was dropped.
    fn push_out(&mut self, arrival: Class) -> bool {
        let mut stays = true;
        while self.env.limit.is_exceeded(self.queues.len, self.queues.bytes) {
            let class = self.queues.longest();
            match self.scheduler.push_out() {
                PushOut::Last | PushOut::Arrival => {
                    let victim = self.queues.pop_last(class);
                    self.drop_from(class, victim);
                    stays &= class != arrival;
                }
                PushOut::Half { unit, at_most } => {
                    self.drop_half(class, unit, at_most);
                    stays &= class != arrival || !self.queues.is_empty(class);
                }
            }
            self.close_if_idle(class);
        }
        stays
    }

    /// Drops half of a queue, from its head.
    fn drop_half(&mut self, class: Class, unit: CountingUnit, at_most: u32) {
        let (packets, bytes) = (self.queues.get(class).packets.len(), self.queues.get(class).packets.bytes());
        for dropped in 1..=at_most {
            let victim = self.queues.pop(class);
            self.drop_from(class, victim);
            let is_half = match unit {
                CountingUnit::Packets => dropped >= packets / 2,
                CountingUnit::Bytes => bytes - self.queues.get(class).packets.bytes() >= bytes / 2,
            };
            if is_half {
                break;
            }
        }
    }

    fn drop_from(&mut self, class: Class, victim: Option<(Time, Packet)>) {
        let (_, victim) = victim.expect("the longest queue holds packets");
        self.scheduler.on_push_out(class, &victim, &self.queues, &self.env);
        self.accounting.drop(victim, Reason::Overflow);
    }

    /// Takes packets from a queue until its policy passes one.
    fn take(&mut self, now: Time, class: Class) -> Option<(Packet, Dur)> {
        while let Some((arrived, packet)) = self.queues.pop(class) {
            let sojourn = now.since(arrived);
            let total = self.queues.bytes;
            let Queue { packets, policy, .. } = self.queues.get_mut(class);
            let verdict = policy.on_departure(&mut cx!(self, now, packets, total), &packet, sojourn);
            if let Some((packet, _)) = apply_verdict(verdict, self.env.signal, &mut self.accounting, packet) {
                return Some((packet, sojourn));
            }
        }
        self.queues.get_mut(class).policy.on_idle(now);
        None
    }
}

impl<S: Scheduler> Qdisc for MultiQueue<S> {
    // Not inlined: otherwise single queues, which share the callers, become slower.
    #[inline(never)]
    fn enqueue(&mut self, now: Time, packet: Packet) -> EnqueueOutcome {
        self.accounting.on_arrival(&packet);
        self.advance_time(now);
        if let Some(timer) = &mut self.timer {
            timer.resume(now);
        }
        let class = self.class_of(now, self.scheduler.key(&packet));
        let Some((packet, fate)) = self.apply_policy(now, class, packet) else {
            self.close_if_idle(class);
            return EnqueueOutcome::Dropped;
        };
        let first = self.queues.is_empty(class);
        self.queues.push(class, now, packet);
        self.scheduler.on_enqueue(class, &packet, first, &self.env);
        let stays = self.push_out(class);
        debug_assert!(self.conserves());
        if stays {
            fate
        } else {
            EnqueueOutcome::Dropped
        }
    }

    #[inline(never)]
    fn dequeue(&mut self, now: Time) -> Option<(Packet, Dur)> {
        self.advance_time(now);
        while let Some(class) = self.scheduler.next(&self.queues, &self.env) {
            let taken = self.take(now, class);
            self.scheduler.on_service(class, taken.as_ref().map(|(packet, _)| packet), &self.queues, &self.env);
            self.close_if_idle(class);
            if let Some((packet, sojourn)) = taken {
                self.accounting.on_departure(&packet);
                debug_assert!(self.conserves());
                return Some((packet, sojourn));
            }
        }
        None
    }

    #[inline]
    fn has_flow_queues(&self) -> bool {
        true
    }

    #[inline(never)]
    fn prefetch_flow(&self, flow: Option<u32>, step: u32) {
        let key = flow.map(|flow| self.scheduler.key(&Packet::data(flow, 0, 0)));
        if step == 0 {
            return match key {
                Some(key) => self.queues.by_key.prefetch(key),
                None => self.scheduler.prefetch_upcoming(),
            };
        }
        let class = match key {
            Some(key) => self.queues.by_key.get(key),
            None => self.scheduler.upcoming(),
        };
        let Some(class) = class else { return };
        if step == 1 {
            self.scheduler.prefetch(class);
        }
        self.queues.prefetch(class, step);
    }

    fn next_timer(&self) -> Time {
        self.timer.as_ref().map_or(Time::NEVER, PeriodicTimer::due)
    }

    fn on_timer(&mut self, now: Time) {
        let total = self.queues.bytes;
        let mut unchanged = self.queues.len == 0;
        for Queue { packets, policy, .. } in self.queues.iter_mut() {
            policy.on_timer(&mut cx!(self, now, packets, total));
            unchanged &= policy.next_timer() == Time::NEVER;
        }
        if let Some(timer) = &mut self.timer {
            timer.tick(unchanged);
        }
    }

    fn len(&self) -> u32 {
        self.queues.len
    }

    fn bytes(&self) -> u64 {
        self.queues.bytes
    }

    fn counters(&self) -> &Counters {
        &self.accounting.counters
    }

    fn has_dropped(&self) -> bool {
        !self.accounting.dropped.is_empty()
    }

    fn drain_dropped(&mut self) -> alloc::vec::Drain<'_, (Packet, Reason)> {
        self.accounting.dropped.drain(..)
    }

    fn env_mut(&mut self) -> &mut Env {
        &mut self.env
    }

    fn price(&self, packet: &Packet) -> Option<Price> {
        let class = self.queues.by_key.get(self.scheduler.key(packet))?;
        self.queues.get(class).policy.price()
    }

    fn probe(&self, _: Time, out: &mut Vec<f64>) {
        out.push(f64::from(self.queues.busy));
    }
}

/// Probes of [`MultiQueue`]: the number of queues that hold packets.
pub const PROBES: &[(&str, &str)] = &[("queues", "1")];
