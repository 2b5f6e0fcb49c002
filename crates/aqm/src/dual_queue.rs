//! Two queues at one server under coupled AQMs: one of low latency for L4S senders, one for Classic senders.
//!
//! RFC 9332: sections 2.3 (classifier), 2.4 (scheduler) and 4.2.2 (starvation of Classic traffic).
//!
//! Both queues share one buffer. A [`CoupledAqm`] decides about packets as they depart, when their queueing delay is
//! known, or as they arrive, when it may also move them to the other queue.

use crate::accounting::{Accounting, Counters, Reason};
use crate::algorithm::Algorithm;
use crate::buffer::Buffer;
use crate::l4s_fields::L4sFields;
use crate::policy::{Env, Verdict};
use crate::qdisc::{apply_verdict, EnqueueOutcome, Qdisc};
use alloc::{string::String, vec::Vec};
use marqueue_core::params::{ParamError, ParamSet};
use marqueue_core::{Dur, Packet, PerDscp, Price, Rng, Time};

marqueue_core::choice! {
    /// Which queue is served while both hold packets.
    pub enum Order {
        /// Weighted round robin: the Classic queue gets `c_protection` of the service.
        Wrr = "wrr",
        /// Time-shifted FIFO: the packet that has waited longest, after `tshift` is taken from Classic packets.
        TsFifo = "ts_fifo",
    }
}

marqueue_core::params! {
    /// Parameters of the classifier and the scheduler.
    pub struct Sharing {
        /// ECN fields of packets that join the L4S queue.
        l4s: L4sFields { default: L4sFields::Ect1, source: "RFC 9331, section 5.1; any_ect: Linux dualpi2 ecn_mask" },
        /// Code points whose packets join the L4S queue (1) or the Classic queue (0), whatever their ECN field.
        sides: PerDscp { unit: One, range: 0.0 => 1.0, default: PerDscp::default(), source: "RFC 9332, section 2.3" },
        /// Which queue is served while both hold packets.
        scheduler: Order { default: Order::Wrr, source: "RFC 9332, appendix A.2" },
        /// Weight of the Classic queue under wrr.
        c_protection: f64 { unit: Fraction, range: 0.0 => 1.0, default: 0.1, source: "Linux dualpi2 c_protection: 10 %; RFC 9332, appendix A.2, has 1/16 as an example" },
        /// Time shift under ts_fifo.
        tshift: f64 { unit: Seconds, range: 0.0 => 100.0, default: 0.05, source: "RFC 9332, appendix A.2: 50 ms" },
    }
}

/// One of the two queues.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Side {
    /// The L4S queue (L).
    L4s,
    /// The Classic queue (C).
    Classic,
}

/// What a coupled AQM can read and use for one decision.
pub struct DualContext<'a> {
    /// The time.
    pub now: Time,
    /// The environment of the queues.
    pub env: &'a Env,
    /// The discipline's own random stream.
    pub rng: &'a mut Rng,
    /// The L4S queue, without the arriving or departing packet.
    pub l: &'a Buffer,
    /// The Classic queue, without the arriving or departing packet.
    pub c: &'a Buffer,
}

impl DualContext<'_> {
    /// Would this packet overflow the buffer of both queues?
    pub fn is_full(&self, packet: &Packet) -> bool {
        let (l, c) = (self.l, self.c);
        self.env.limit.overflows(l.len() + c.len(), l.bytes() + c.bytes(), packet.bytes())
    }
}

/// The AQMs of both queues.
pub trait CoupledAqm: Sized {
    /// Its name in scenarios: the name of its file.
    const NAME: &'static str;
    /// One line on what it does.
    const SUMMARY: &'static str;
    /// The paper or RFC that defines it.
    const SOURCE: &'static str;
    /// Names of the internal variables that [`CoupledAqm::probe`] reports, with units.
    const PROBES: &'static [(&'static str, &'static str)];
    /// Its parameters besides those of classifier and scheduler.
    type Params: ParamSet;
    /// The parameters of classifier and scheduler: [`Sharing`], or what stands for it.
    type Sharing: ParamSet;

    /// The classifier and the scheduler that its parameters describe.
    ///
    /// # Errors
    /// If a parameter is refused.
    fn sharing(given: &Self::Sharing) -> Result<Sharing, ParamError>;

    /// The AQMs of empty queues. `rng` is the discipline's own stream.
    ///
    /// # Errors
    /// If the parameters contradict each other or the environment.
    fn new(params: &Self::Params, sharing: &Sharing, env: &Env, rng: &mut Rng, now: Time) -> Result<Self, ParamError>;
    /// A packet arrives that the classifier puts on `side`. Returns the queue that it joins, and what happens to it. A
    /// packet that overflows the buffer is dropped whatever the answer.
    fn on_arrival(&mut self, _cx: &mut DualContext<'_>, side: Side, _packet: &Packet) -> (Side, Verdict) {
        (side, Verdict::Pass)
    }
    /// A packet departs from a queue after a sojourn time of `sojourn`.
    fn on_departure(&mut self, cx: &mut DualContext<'_>, side: Side, packet: &Packet, sojourn: Dur) -> Verdict;
    /// When [`CoupledAqm::on_timer`] is due; [`Time::NEVER`] without a timer.
    fn next_timer(&self) -> Time {
        Time::NEVER
    }
    /// The time of [`CoupledAqm::next_timer`] has come.
    fn on_timer(&mut self, _cx: &mut DualContext<'_>) {}
    /// A warning about parameters that are allowed but unlikely to work well.
    fn warning(&self, _env: &Env) -> Option<String> {
        None
    }
    /// Appends the values of [`CoupledAqm::PROBES`].
    fn probe(&self, env: &Env, out: &mut Vec<f64>);
}

/// Chooses the queue to serve.
#[derive(Debug)]
struct Scheduler {
    order: Order,
    /// Weight of the Classic queue.
    weight: f64,
    tshift: Dur,
    /// Under wrr the service that the L4S queue is ahead by, in bytes times weight; the Classic queue is served above 0.
    credit: f64,
}

impl Scheduler {
    fn next(&self, l: &Buffer, c: &Buffer, now: Time) -> Option<Side> {
        match (l.is_empty(), c.is_empty()) {
            (true, true) => None,
            (false, true) => Some(Side::L4s),
            (true, false) => Some(Side::Classic),
            (false, false) => {
                let l_first = match self.order {
                    Order::Wrr => self.credit <= 0.0,
                    Order::TsFifo => l.age(now).0.saturating_add(self.tshift.0) >= c.age(now).0,
                };
                Some(if l_first { Side::L4s } else { Side::Classic })
            }
        }
    }

    /// A queue was served while both held packets.
    fn serve(&mut self, side: Side, cost: f64) {
        self.credit += match side {
            Side::L4s => self.weight * cost,
            Side::Classic => -(1.0 - self.weight) * cost,
        };
    }

    /// Both queues are empty: the L4S queue goes first again.
    fn restart(&mut self, env: &Env) {
        self.credit = env.mean_packet.0 as f64 * (2.0 * self.weight - 1.0);
    }
}

/// A discipline of two queues under coupled AQMs.
#[derive(Debug)]
pub struct DualQueue<A> {
    aqm: A,
    l4s: L4sFields,
    /// By code point; `None`: by the ECN field.
    sides: [Option<Side>; 64],
    scheduler: Scheduler,
    l: Buffer,
    c: Buffer,
    env: Env,
    rng: Rng,
    accounting: Accounting,
}

/// The sides of code points, from 1 (the L4S queue) and 0 (the Classic queue).
fn sides(given: &PerDscp) -> Result<[Option<Side>; 64], ParamError> {
    const BY_ECN: f64 = -1.0;
    let mut sides = [None; 64];
    for (side, number) in sides.iter_mut().zip(given.or(BY_ECN)) {
        *side = match number {
            BY_ECN => None,
            0.0 => Some(Side::Classic),
            1.0 => Some(Side::L4s),
            other => {
                let expected = "1 (the L4S queue) or 0 (the Classic queue) for each code point";
                return Err(ParamError::new("sides", format!("got {other}, expected {expected}")));
            }
        };
    }
    Ok(sides)
}

impl<A> DualQueue<A> {
    fn side(&self, packet: &Packet) -> Side {
        let by_ecn = || if self.l4s.has(packet.ecn()) { Side::L4s } else { Side::Classic };
        self.sides[usize::from(packet.dscp().value())].unwrap_or_else(by_ecn)
    }
}

macro_rules! cx {
    ($self:ident, $now:expr) => {
        DualContext { now: $now, env: &$self.env, rng: &mut $self.rng, l: &$self.l, c: &$self.c }
    };
}

impl<A: CoupledAqm> Algorithm for DualQueue<A> {
    const NAME: &'static str = A::NAME;
    const SUMMARY: &'static str = A::SUMMARY;
    const SOURCE: &'static str = A::SOURCE;
    const PROBES: &'static [(&'static str, &'static str)] = A::PROBES;
    const PRICES: bool = false;
    type Params = (A::Params, A::Sharing);

    fn build((params, sharing): &Self::Params, env: Env, mut rng: Rng) -> Result<Self, ParamError> {
        let sharing = A::sharing(sharing)?;
        let mut scheduler = Scheduler {
            order: sharing.scheduler,
            weight: sharing.c_protection,
            tshift: Dur::from_secs(sharing.tshift),
            credit: 0.0,
        };
        scheduler.restart(&env);
        Ok(DualQueue {
            aqm: A::new(params, &sharing, &env, &mut rng, Time::ZERO)?,
            l4s: sharing.l4s,
            sides: sides(&sharing.sides)?,
            scheduler,
            l: Buffer::default(),
            c: Buffer::default(),
            env,
            rng,
            accounting: Accounting::default(),
        })
    }
}

impl<A: CoupledAqm> Qdisc for DualQueue<A> {
    // Not inlined: otherwise single queues, which share the callers, become slower.
    #[inline(never)]
    fn enqueue(&mut self, now: Time, packet: Packet) -> EnqueueOutcome {
        self.accounting.on_arrival(&packet);
        let classified = self.side(&packet);
        let (side, verdict) = self.aqm.on_arrival(&mut cx!(self, now), classified, &packet);
        if self.env.limit.overflows(self.len(), self.bytes(), packet.bytes()) {
            self.accounting.drop(packet, Reason::Overflow);
            return EnqueueOutcome::Dropped;
        }
        let Some((packet, outcome)) = apply_verdict(verdict, self.env.signal, &mut self.accounting, packet) else {
            return EnqueueOutcome::Dropped;
        };
        match side {
            Side::L4s => self.l.push(now, packet),
            Side::Classic => self.c.push(now, packet),
        }
        debug_assert!(self.conserves());
        outcome
    }

    #[inline(never)]
    fn dequeue(&mut self, now: Time) -> Option<(Packet, Dur)> {
        while let Some(side) = self.scheduler.next(&self.l, &self.c, now) {
            let contended = !self.l.is_empty() && !self.c.is_empty();
            let queue = match side {
                Side::L4s => &mut self.l,
                Side::Classic => &mut self.c,
            };
            let (arrived, packet) = queue.pop().expect("the scheduler chose a queue with packets");
            let sojourn = now.since(arrived);
            let verdict = self.aqm.on_departure(&mut cx!(self, now), side, &packet, sojourn);
            if let Some((packet, _)) = apply_verdict(verdict, self.env.signal, &mut self.accounting, packet) {
                if contended {
                    self.scheduler.serve(side, self.env.cost(&packet));
                }
                self.accounting.on_departure(&packet);
                debug_assert!(self.conserves());
                return Some((packet, sojourn));
            }
        }
        self.scheduler.restart(&self.env);
        None
    }

    fn next_timer(&self) -> Time {
        self.aqm.next_timer()
    }

    fn on_timer(&mut self, now: Time) {
        self.aqm.on_timer(&mut cx!(self, now));
    }

    fn len(&self) -> u32 {
        self.l.len() + self.c.len()
    }

    fn bytes(&self) -> u64 {
        self.l.bytes() + self.c.bytes()
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

    fn price(&self, _: &Packet) -> Option<Price> {
        None
    }

    fn warning(&self) -> Option<String> {
        self.aqm.warning(&self.env)
    }

    fn probe(&self, _: Time, out: &mut Vec<f64>) {
        self.aqm.probe(&self.env, out);
        out.extend([f64::from(self.l.len()), f64::from(self.c.len())]);
    }
}
