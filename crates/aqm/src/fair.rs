//! Many queues behind one server: a scheduler says which is served next, each is managed by a policy of its
//! own, and all share one buffer.

use crate::buffer::Buffer;
use crate::door::{Counters, Door};
use crate::policy::{Aqm, Cx, Env, Reason, Verdict};
use crate::qdisc::{settle, Fate, Qdisc};
use marqueue_core::params::{ParamError, ParamSet};
use marqueue_core::{Dur, Packet, Rng, Time};
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
            Classify::Flow => packet.flow,
            Classify::Dscp => u32::from(packet.dscp.value()),
        }
    }
}

/// The index of a queue. A queue exists while packets wait in it, or its scheduler remembers it.
pub type Class = usize;

/// In what order queues are served.
pub trait Scheduler: Sized {
    /// Its name in scenarios: the name of its file.
    const NAME: &'static str;
    /// One line on what it does.
    const SUMMARY: &'static str;
    /// The paper or RFC that defines it.
    const SOURCE: &'static str;
    /// Its parameters.
    type Params: ParamSet;
    /// What manages each queue.
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
    /// A queue came into being.
    fn opened(&mut self, class: Class, key: u32);
    /// A packet joined a queue.
    fn joined(&mut self, class: Class, packet: &Packet, cx: &Arrived<'_>);
    /// The last packet of a queue was pushed out.
    fn pushed_out<A>(&mut self, class: Class, packet: &Packet, queues: &Queues<A>);
    /// The queue to serve; `None` only if none holds a packet.
    fn next<A>(&mut self, queues: &Queues<A>, now: Time) -> Option<Class>;
    /// The queue just served gave up these bytes; `None`: its policy lost all that it held.
    fn served<A>(&mut self, class: Class, bytes: Option<u32>, queues: &Queues<A>);
    /// Is an empty queue to be kept?
    fn remembers(&self, class: Class) -> bool;
    /// A queue that was kept and need not be any longer, if it is still empty.
    fn forgets(&mut self) -> Option<Class> {
        None
    }
}

/// What surrounds an arrival.
#[derive(Debug)]
pub struct Arrived<'a> {
    /// When.
    pub now: Time,
    /// What surrounds the queues.
    pub env: &'a Env,
    /// The queue was empty before.
    pub first: bool,
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
    len: u32,
    bytes: u64,
}

impl<A> Queues<A> {
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

    /// Size of the packet that is first in this queue.
    pub fn first_bytes(&self, class: Class) -> Option<u32> {
        self.get(class).packets.first().map(|packet| packet.bytes)
    }

    /// The queue that holds most, in bytes; of equals the one with the lowest key.
    fn longest(&self) -> Option<Class> {
        let longest = self.by_key.iter().max_by_key(|&(&key, &class)| (self.get(class).packets.bytes(), !key));
        longest.map(|(_, &class)| class)
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
        let queues = Queues { all: Vec::new(), free: Vec::new(), by_key: BTreeMap::new(), len: 0, bytes: 0 };
        Ok(Fair { scheduler, params, queues, env, rng, door: Door::default() })
    }

    /// The queue of a packet.
    fn class_of(&mut self, now: Time, packet: &Packet) -> Class {
        let key = self.scheduler.key(packet);
        if let Some(&class) = self.queues.by_key.get(&key) {
            return class;
        }
        let policy = S::policy(&self.params, &self.env, &self.rng, now).expect("accepted when the discipline was made");
        let class = self.queues.open(key, policy);
        self.scheduler.opened(class, key);
        class
    }

    /// Makes room for a packet in the shared buffer by losing the last packets of the longest queues.
    fn make_room(&mut self, packet: &Packet) -> bool {
        while self.env.limit.overflows(self.queues.len, self.queues.bytes, packet.bytes) {
            let Some(class) = self.queues.longest() else { return false };
            let Some((_, victim)) = self.queues.get_mut(class).packets.pop_last() else { return false };
            self.queues.len -= 1;
            self.queues.bytes -= u64::from(victim.bytes);
            self.scheduler.pushed_out(class, &victim, &self.queues);
            self.door.lose(victim, Reason::Overflow);
            self.close_if_idle(class);
        }
        true
    }

    fn close_if_idle(&mut self, class: Class) {
        if self.queues.is_empty(class) && !self.scheduler.remembers(class) {
            self.queues.close(class);
        }
    }

    /// Takes packets from a queue until its policy lets one pass.
    fn take(&mut self, now: Time, class: Class) -> Option<(Packet, Dur)> {
        let Queue { packets, policy, .. } = self.queues.all[class].as_mut().expect("a queue that exists");
        while let Some((arrived, packet)) = packets.pop() {
            self.queues.len -= 1;
            self.queues.bytes -= u64::from(packet.bytes);
            let sojourn = now.since(arrived);
            let mut cx = Cx { now, env: &self.env, rng: &mut self.rng, queue: packets, door: &mut self.door };
            let kept = match policy.on_departure(&mut cx, &packet, sojourn) {
                Verdict::Pass => Some(packet),
                Verdict::Mark(reason) => settle(self.env.signal, &mut self.door, packet, reason).map(|(p, _)| p),
                Verdict::Drop(reason) => {
                    self.door.lose(packet, reason);
                    None
                }
            };
            if let Some(packet) = kept {
                return Some((packet, sojourn));
            }
        }
        policy.on_idle(now);
        None
    }
}

impl<S: Scheduler> Qdisc for Fair<S> {
    fn enqueue(&mut self, now: Time, packet: Packet) -> Fate {
        self.door.arrives(&packet);
        let key = self.scheduler.key(&packet);
        let held = self.queues.by_key.get(&key).map_or(0, |&class| self.queues.get(class).packets.len());
        if held >= self.scheduler.room(key) || !self.make_room(&packet) {
            self.door.lose(packet, Reason::Overflow);
            return Fate::Lost;
        }
        let class = self.class_of(now, &packet);
        let Queue { packets, policy, .. } = self.queues.all[class].as_mut().expect("a queue that exists");
        let mut cx = Cx { now, env: &self.env, rng: &mut self.rng, queue: packets, door: &mut self.door };
        let kept = match policy.on_arrival(&mut cx, &packet) {
            Verdict::Pass => Some((packet, Fate::Queued)),
            Verdict::Mark(reason) => settle(self.env.signal, &mut self.door, packet, reason),
            Verdict::Drop(reason) => {
                self.door.lose(packet, reason);
                None
            }
        };
        let Some((packet, fate)) = kept else {
            self.close_if_idle(class);
            return Fate::Lost;
        };
        let first = packets.is_empty();
        packets.push(now, packet);
        self.queues.len += 1;
        self.queues.bytes += u64::from(packet.bytes);
        self.scheduler.joined(class, &packet, &Arrived { now, env: &self.env, first });
        while let Some(class) = self.scheduler.forgets() {
            self.close_if_idle(class);
        }
        debug_assert!(self.conserves());
        fate
    }

    fn dequeue(&mut self, now: Time) -> Option<(Packet, Dur)> {
        while let Some(class) = self.scheduler.next(&self.queues, now) {
            let taken = self.take(now, class);
            self.scheduler.served(class, taken.map(|(packet, _)| packet.bytes), &self.queues);
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

    fn probe(&self, _: Time, out: &mut Vec<f64>) {
        out.push(self.queues.by_key.len() as f64);
    }
}

/// Names of what [`Fair`] reports.
pub const PROBES: &[(&str, &str)] = &[("queues", "1")];
