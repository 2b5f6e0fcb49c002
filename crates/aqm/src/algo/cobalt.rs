//! COBALT: CoDel and BLUE alternate.
//!
//! Palmei et al., "Design and Evaluation of COBALT Queue Discipline", IEEE LANMAN 2019; Linux's sch_cake, ns-3's
//! CobaltQueueDisc.
//!
//! CoDel part: while sojourn times are above `target`, packets are signalled at drop_next <- drop_next +
//! interval/sqrt(count), the first after one interval, and count grows by one a signal. Below the target count falls by
//! one at each of these times, so that a flow that is soon back resumes near its last rate.
//! BLUE part: p grows by `increment` when the buffer overflows and falls by `decrement` when the queue is found empty, at
//! most once in `target`; every departing packet is dropped with p, ECN-capable or not.
//!
//! Input: departures and their sojourn times, overflows, idle periods. Output: at departure a mark of reason `sojourn`, or
//! by BLUE a drop of reason `early`.
//! Departures: square roots are exact; Linux has those of one Newton step. BLUE's random numbers are drawn
//! only while p > 0. As in ns-3, an arriving packet that does not fit is dropped (CAKE drops from the longest queue).
//! Defaults: Linux's sch_cake; blue_threshold is ns-3's, where it is 400 ms.

use alloc::vec::Vec;
use crate::policy::{Aqm, Context, Env, Reason, Verdict};
use marqueue_core::params::ParamError;
use marqueue_core::{math, Dur, Packet, Rng, Time};

marqueue_core::params! {
    /// Parameters of COBALT.
    pub struct Params {
        /// Sojourn time above which packets are signalled; also the shortest time between two steps of BLUE.
        target: f64 { unit: Seconds, range: 1e-6 => 100.0, default: 0.005, source: "Linux sch_cake; ns-3 CobaltQueueDisc" },
        /// Time until the first signal; about the longest RTT.
        interval: f64 { unit: Seconds, range: 1e-6 => 100.0, default: 0.1, source: "Linux sch_cake; ns-3 CobaltQueueDisc" },
        /// Step up of BLUE's probability.
        increment: f64 { unit: Fraction, range: 0.0 => 1.0, default: 0.003_906_25, source: "Linux sch_cake p_inc: 1/256" },
        /// Step down of BLUE's probability.
        decrement: f64 { unit: Fraction, range: 0.0 => 1.0, default: 0.000_244_140_625, source: "Linux sch_cake p_dec: 1/4096" },
        /// Sojourn time above which BLUE's probability grows too.
        blue_threshold: Option<f64> { unit: Seconds, range: 0.0 => 1e4, default: None, auto: "off", source: "ns-3 CobaltQueueDisc BlueThreshold: 400 ms" },
    }
}

/// The parameters in the units of the algorithm.
#[derive(Clone, Debug)]
pub(super) struct Settings {
    pub target: Dur,
    pub interval: Dur,
    pub increment: f64,
    pub decrement: f64,
    /// Longer than any sojourn time if it is off.
    pub blue_threshold: Dur,
}

/// What COBALT decides about a departing packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Decision {
    Pass,
    /// CoDel signals it.
    Signal,
    /// BLUE drops it.
    Drop,
}

/// The state of one queue.
#[derive(Clone, Debug)]
pub(super) struct State {
    count: u32,
    dropping: bool,
    /// When the next signal is due; while count is zero, when the last one is forgotten.
    drop_next: Time,
    /// BLUE's probability.
    p: f64,
    /// When it changed last.
    changed: Time,
}

impl State {
    pub fn new(now: Time) -> State {
        State { count: 0, dropping: false, drop_next: now, p: 0.0, changed: now }
    }

    /// interval/sqrt(count) after `from`; count 0 is as 1.
    fn control_law(&self, from: Time, interval: Dur) -> Time {
        from + Dur::from_secs(interval.secs() / math::sqrt(f64::from(self.count.max(1))))
    }

    fn raise(&mut self, set: &Settings, now: Time) {
        if now.since(self.changed) > set.target {
            self.p = (self.p + set.increment).min(1.0);
            self.changed = now;
        }
    }

    /// The queue lost a packet because the buffer was full.
    pub fn on_overflow(&mut self, set: &Settings, now: Time) {
        self.raise(set, now);
        self.dropping = true;
        self.drop_next = now;
        self.count = self.count.max(1);
    }

    /// The queue was to be served and was empty.
    pub fn on_idle(&mut self, set: &Settings, now: Time) {
        if self.p > 0.0 && now.since(self.changed) > set.target {
            self.p = (self.p - set.decrement).max(0.0);
            self.changed = now;
        }
        self.dropping = false;
        if self.count > 0 && now >= self.drop_next {
            self.count -= 1;
            self.drop_next = self.control_law(self.drop_next, set.interval);
        }
    }

    /// A packet departs after `sojourn`; `over`: that is too long. `drops`: a signal for it is a drop.
    #[inline]
    pub fn decide(&mut self, set: &Settings, rng: &mut Rng, now: Time, sojourn: Dur, over: bool, drops: bool) -> Decision {
        let mut due = self.count > 0 && now >= self.drop_next;
        if over {
            if !self.dropping {
                self.dropping = true;
                self.drop_next = self.control_law(now, set.interval);
            }
            self.count = self.count.max(1);
        } else {
            self.dropping = false;
        }
        let mut decision = Decision::Pass;
        if due && self.dropping {
            decision = Decision::Signal;
            self.count = self.count.saturating_add(1);
            self.drop_next = self.control_law(self.drop_next, set.interval);
        } else {
            while due {
                self.count -= 1;
                self.drop_next = self.control_law(self.drop_next, set.interval);
                due = self.count > 0 && now >= self.drop_next;
            }
        }
        if sojourn > set.blue_threshold {
            self.raise(set, now);
        }
        if self.p > 0.0 && rng.uniform() < self.p {
            decision = Decision::Drop;
        }
        let dropped = decision == Decision::Drop || (decision == Decision::Signal && drops);
        if self.count == 0 {
            self.drop_next = now + set.interval;
        } else if now > self.drop_next && !dropped {
            self.drop_next = now;
        }
        decision
    }

    /// Has nothing of an earlier congestion been kept?
    pub fn is_at_rest(&self, now: Time) -> bool {
        self.p == 0.0 && self.count == 0 && now >= self.drop_next
    }

    /// count and BLUE's probability.
    pub fn count_and_p(&self) -> (u32, f64) {
        (self.count, self.p)
    }
}

/// COBALT of one queue.
#[derive(Debug)]
pub struct Cobalt {
    settings: Settings,
    state: State,
}

impl Aqm for Cobalt {
    const NAME: &'static str = "cobalt";
    const SUMMARY: &'static str = "CoDel with a gentle end, and BLUE's drops for senders that do not respond";
    const SOURCE: &'static str = "Palmei et al., IEEE LANMAN 2019; Linux sch_cake";
    const PROBES: &'static [(&'static str, &'static str)] = &[("count", "packets"), ("p", "fraction")];
    type Params = Params;

    fn new(p: &Params, _: &Env, _: &Rng, now: Time) -> Result<Self, ParamError> {
        if p.target > p.interval {
            let expected = format!("at most interval = {} s", p.interval);
            return Err(ParamError::new("target", format!("got {} s, expected {expected}", p.target)));
        }
        let settings = Settings {
            target: Dur::from_secs(p.target),
            interval: Dur::from_secs(p.interval),
            increment: p.increment,
            decrement: p.decrement,
            blue_threshold: p.blue_threshold.map_or(Dur(u64::MAX), Dur::from_secs),
        };
        Ok(Cobalt { settings, state: State::new(now) })
    }

    #[inline]
    fn on_arrival(&mut self, cx: &mut Context<'_>, packet: &Packet) -> Verdict {
        if cx.is_full(packet) {
            self.state.on_overflow(&self.settings, cx.now);
        }
        Verdict::Pass
    }

    #[inline]
    fn on_departure(&mut self, cx: &mut Context<'_>, packet: &Packet, sojourn: Dur) -> Verdict {
        let (over, drops) = (sojourn > self.settings.target, cx.mark_drops(packet));
        match self.state.decide(&self.settings, cx.rng, cx.now, sojourn, over, drops) {
            Decision::Pass => Verdict::Pass,
            Decision::Signal => Verdict::Mark(Reason::Sojourn),
            Decision::Drop => Verdict::Drop(Reason::Early),
        }
    }

    fn on_idle(&mut self, now: Time) {
        self.state.on_idle(&self.settings, now);
    }

    fn probe(&self, _: Time, _: &Env, out: &mut Vec<f64>) {
        let (count, p) = self.state.count_and_p();
        out.extend([f64::from(count), p]);
    }
}
