//! Many queues behind one server: a scheduler says which is served next, each is managed by a policy of its
//! own, and all share one buffer.

use crate::buffer::Buffer;
use crate::door::{Counters, Door, Reason};
use crate::policy::{Aqm, Cx, Env};
use crate::qdisc::{apply, Fate, Qdisc};
use marqueue_core::params::{ParamError, ParamSet};
use marqueue_core::{Dur, Packet, Price, Rate, Rng, Time};
use std::collections::BTreeMap;

marqueue_core::choice! {
    /// What packets share a queue.
    pub enum Classify {
        /// Those of a flow.
        Flow = "flow",
        /// Those of a code point.
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

/// The index of a queue. A queue exists while packets wait in it, or its scheduler remembers it.
pub type Class = usize;

/// What the longest queue loses when the buffer overflows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PushOut {
    /// The packet that came last.
    Last,
    /// From the head, until half of its bytes or so many packets are gone.
    Half {
        /// How many packets at most.
        at_most: u32,
    },
}

/// In what order queues are served.
pub trait Scheduler: Sized {
    /// Its name in scenarios: the name of its file.
    const NAME: &'static str;
    /// One line on what it does.
    const SUMMARY: &'static str;
    /// The paper or RFC that defines it.
    const SOURCE: &'static str;
    /// What is lost when the buffer overflows.
    const PUSH_OUT: PushOut = PushOut::Last;
    /// Its parameters.
    type Params: ParamSet;
    /// What manages each queue. It must not evict packets: the discipline counts what all queues hold.
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
    /// Which queue a packet joins, as a key: packets with the same key share one.
    fn key(&self, packet: &Packet) -> u32;
    /// How many packets one queue may hold; by default only the shared buffer bounds it.
    fn room(&self, _key: u32) -> u32 {
        u32::MAX
    }
    /// It is `now`, and the link will go on at this rate.
    fn clock(&mut self, _now: Time, _rate: Rate) {}
    /// A queue came into being.
    fn opened(&mut self, _class: Class) {}
    /// A packet joined a queue, as its `first` or behind others. The environment says what a packet costs.
    fn joined(&mut self, class: Class, packet: &Packet, first: bool, env: &Env);
    /// A queue lost a packet because the buffer overflowed.
    fn pushed_out<A>(&mut self, class: Class, packet: &Packet, queues: &Queues<A>, env: &Env);
    /// The queue to serve; `None` only if none holds a packet.
    fn next<A>(&mut self, queues: &Queues<A>, env: &Env) -> Option<Class>;
    /// The queue just served gave up this packet; `None`: it was empty, or its policy lost all that it held.
    fn served<A>(&mut self, class: Class, packet: Option<&Packet>, queues: &Queues<A>, env: &Env);
    /// Is an empty queue to be kept?
    fn remembers(&self, _class: Class) -> bool {
        false
    }
    /// A queue that was kept and need not be any longer, if it is still empty.
    fn forgets(&mut self) -> Option<Class> {
        None
    }
}

#[derive(Debug)]
struct Queue<A> {
    key: u32,
    packets: Buffer,
    policy: A,
}

/// The queues of a discipline.
#[derive(Debug)]
pub struct Queues<A> {
    all: Vec<Option<Queue<A>>>,
    free: Vec<Class>,
    by_key: BTreeMap<u32, Class>,
    /// Queues that hold packets.
    busy: u32,
    len: u32,
    bytes: u64,
}

impl<A> Queues<A> {
    fn new() -> Self {
        Queues { all: Vec::new(), free: Vec::new(), by_key: BTreeMap::new(), busy: 0, len: 0, bytes: 0 }
    }

    fn get(&self, class: Class) -> &Queue<A> {
        self.all[class].as_ref().expect("a queue that exists")
    }

    fn get_mut(&mut self, class: Class) -> &mut Queue<A> {
        self.all[class].as_mut().expect("a queue that exists")
    }

    /// Does nothing wait in this queue?
    pub fn is_empty(&self, class: Class) -> bool {
        self.get(class).packets.is_empty()
    }

    /// The packet that is first in this queue.
    pub fn first(&self, class: Class) -> Option<&Packet> {
        self.get(class).packets.first()
    }

    /// The queue that holds most, in bytes; of equals the one with the lowest key.
    fn longest(&self) -> Class {
        let longest = self.by_key.iter().max_by_key(|&(&key, &class)| (self.get(class).packets.bytes(), !key));
        *longest.expect("a queue with packets").1
    }

    fn push(&mut self, class: Class, now: Time, packet: Packet) {
        self.busy += u32::from(self.is_empty(class));
        self.len += 1;
        self.bytes += u64::from(packet.bytes());
        self.get_mut(class).packets.push(now, packet);
    }

    fn pop(&mut self, class: Class) -> Option<(Time, Packet)> {
        let popped = self.get_mut(class).packets.pop()?;
        self.popped(class, &popped.1);
        Some(popped)
    }

    fn pop_last(&mut self, class: Class) -> Option<(Time, Packet)> {
        let popped = self.get_mut(class).packets.pop_last()?;
        self.popped(class, &popped.1);
        Some(popped)
    }

    fn popped(&mut self, class: Class, packet: &Packet) {
        self.busy -= u32::from(self.is_empty(class));
        self.len -= 1;
        self.bytes -= u64::from(packet.bytes());
    }

    fn open(&mut self, key: u32, policy: A) -> Class {
        let queue = Some(Queue { key, packets: Buffer::default(), policy });
        let class = match self.free.pop() {
            Some(class) => {
                self.all[class] = queue;
                class
            }
            None => {
                self.all.push(queue);
                self.all.len() - 1
            }
        };
        self.by_key.insert(key, class);
        class
    }

    fn close(&mut self, class: Class) {
        if let Some(queue) = self.all[class].take() {
            self.by_key.remove(&queue.key);
            self.free.push(class);
        }
    }
}

/// Queues under a scheduler.
#[derive(Debug)]
pub struct Fair<S: Scheduler> {
    scheduler: S,
    params: S::Params,
    queues: Queues<S::Policy>,
    env: Env,
    rng: Rng,
    door: Door,
}

impl<S: Scheduler> Fair<S> {
    /// No packets yet.
    ///
    /// # Errors
    /// If the scheduler refuses its parameters.
    pub fn new(params: S::Params, env: Env, mut rng: Rng) -> Result<Self, ParamError> {
        let scheduler = S::new(&params, &env, &mut rng)?;
        S::policy(&params, &env, &rng, Time::ZERO)?;
        Ok(Fair { scheduler, params, queues: Queues::new(), env, rng, door: Door::default() })
    }

    fn tell_time(&mut self, now: Time) {
        self.scheduler.clock(now, self.env.rate);
        while let Some(class) = self.scheduler.forgets() {
            self.close_if_idle(class);
        }
    }

    /// The queue of a packet.
    fn class_of(&mut self, now: Time, key: u32) -> Class {
        if let Some(&class) = self.queues.by_key.get(&key) {
            return class;
        }
        let policy = S::policy(&self.params, &self.env, &self.rng, now).expect("accepted when the discipline was made");
        let class = self.queues.open(key, policy);
        self.scheduler.opened(class);
        class
    }

    fn close_if_idle(&mut self, class: Class) {
        if self.queues.is_empty(class) && !self.scheduler.remembers(class) {
            self.queues.close(class);
        }
    }

    /// What the policy of its queue makes of an arriving packet.
    fn judge(&mut self, now: Time, class: Class, packet: Packet) -> Option<(Packet, Fate)> {
        let Queue { key, packets, policy } = self.queues.get_mut(class);
        if packets.len() >= self.scheduler.room(*key) {
            self.door.lose(packet, Reason::Overflow);
            return None;
        }
        let mut cx = Cx { now, env: &self.env, rng: &mut self.rng, queue: packets, door: &mut self.door };
        let verdict = policy.on_arrival(&mut cx, &packet);
        apply(verdict, self.env.signal, &mut self.door, packet)
    }

    /// Loses packets of the longest queues until the buffer holds the others. Is the packet that came last, to
    /// the queue `arrival`, one of these?
    fn push_out(&mut self, arrival: Class) -> bool {
        let mut stays = true;
        while self.env.limit.is_exceeded(self.queues.len, self.queues.bytes) {
            let class = self.queues.longest();
            match S::PUSH_OUT {
                PushOut::Last => {
                    let victim = self.queues.pop_last(class);
                    self.lose_from(class, victim);
                    stays &= class != arrival;
                }
                PushOut::Half { at_most } => {
                    let half = self.queues.get(class).packets.bytes() / 2;
                    for _ in 0..at_most {
                        let victim = self.queues.pop(class);
                        self.lose_from(class, victim);
                        if self.queues.get(class).packets.bytes() <= half {
                            break;
                        }
                    }
                    stays &= class != arrival || !self.queues.is_empty(class);
                }
            }
            self.close_if_idle(class);
        }
        stays
    }

    fn lose_from(&mut self, class: Class, victim: Option<(Time, Packet)>) {
        let (_, victim) = victim.expect("the longest queue holds packets");
        self.scheduler.pushed_out(class, &victim, &self.queues, &self.env);
        self.door.lose(victim, Reason::Overflow);
    }

    /// Takes packets from a queue until its policy lets one pass.
    fn take(&mut self, now: Time, class: Class) -> Option<(Packet, Dur)> {
        while let Some((arrived, packet)) = self.queues.pop(class) {
            let sojourn = now.since(arrived);
            let Queue { packets, policy, .. } = self.queues.get_mut(class);
            let mut cx = Cx { now, env: &self.env, rng: &mut self.rng, queue: packets, door: &mut self.door };
            let verdict = policy.on_departure(&mut cx, &packet, sojourn);
            if let Some((packet, _)) = apply(verdict, self.env.signal, &mut self.door, packet) {
                return Some((packet, sojourn));
            }
        }
        self.queues.get_mut(class).policy.on_idle(now);
        None
    }
}

impl<S: Scheduler> Qdisc for Fair<S> {
    // Schedulers stay out of the way: inlined, they would slow down the single queues that share their callers.
    #[inline(never)]
    fn enqueue(&mut self, now: Time, packet: Packet) -> Fate {
        self.door.arrives(&packet);
        self.tell_time(now);
        let class = self.class_of(now, self.scheduler.key(&packet));
        let Some((packet, fate)) = self.judge(now, class, packet) else {
            self.close_if_idle(class);
            return Fate::Lost;
        };
        let first = self.queues.is_empty(class);
        self.queues.push(class, now, packet);
        self.scheduler.joined(class, &packet, first, &self.env);
        let stays = self.push_out(class);
        debug_assert!(self.conserves());
        if stays {
            fate
        } else {
            Fate::Lost
        }
    }

    #[inline(never)]
    fn dequeue(&mut self, now: Time) -> Option<(Packet, Dur)> {
        self.tell_time(now);
        while let Some(class) = self.scheduler.next(&self.queues, &self.env) {
            let taken = self.take(now, class);
            self.scheduler.served(class, taken.as_ref().map(|(packet, _)| packet), &self.queues, &self.env);
            self.close_if_idle(class);
            if let Some((packet, sojourn)) = taken {
                self.door.departs(&packet);
                debug_assert!(self.conserves());
                return Some((packet, sojourn));
            }
        }
        None
    }

    fn next_timer(&self) -> Time {
        Time::NEVER
    }

    fn on_timer(&mut self, _: Time) {}

    fn len(&self) -> u32 {
        self.queues.len
    }

    fn bytes(&self) -> u64 {
        self.queues.bytes
    }

    fn counters(&self) -> &Counters {
        &self.door.counters
    }

    fn has_lost(&self) -> bool {
        !self.door.lost.is_empty()
    }

    fn drain_lost(&mut self) -> std::vec::Drain<'_, (Packet, Reason)> {
        self.door.lost.drain(..)
    }

    fn env_mut(&mut self) -> &mut Env {
        &mut self.env
    }

    fn price(&self, packet: &Packet) -> Option<Price> {
        let class = self.queues.by_key.get(&self.scheduler.key(packet))?;
        self.queues.get(*class).policy.price()
    }

    fn probe(&self, _: Time, out: &mut Vec<f64>) {
        out.push(f64::from(self.queues.busy));
    }
}

/// Names of what [`Fair`] reports: how many queues hold packets.
pub const PROBES: &[(&str, &str)] = &[("queues", "1")];
