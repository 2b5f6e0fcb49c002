//! BLUE.
//!
//! Feng, Shin, Kandlur and Saha, "The BLUE Active Queue Management Algorithms", IEEE/ACM ToN 10(4), 2002, section III.
//!
//! When the buffer overflows p_m <- min(1, p_m + d1); when the link becomes idle p_m <- max(0, p_m - d2). p_m changes
//! at most once in `freeze_time`. Every arrival is signalled with probability p_m.
//!
//! Input: overflows, idle periods. Output: a mark, at random.
//! Defaults: d1, d2 and freeze_time of Wen, Fang and Sun 2008, section 4.

use alloc::vec::Vec;
use crate::policy::{Aqm, Context, Env, Reason, Verdict};
use marqueue_core::params::ParamError;
use marqueue_core::{Dur, Packet, Rng, Time};

marqueue_core::params! {
    /// Parameters of BLUE.
    pub struct Params {
        /// Step up of the probability.
        d1: f64 { unit: Fraction, range: 0.0 => 1.0, default: 0.0025, source: "Wen, Fang and Sun 2008, section 4" },
        /// Step down of the probability.
        d2: f64 { unit: Fraction, range: 0.0 => 1.0, default: 0.00025, source: "Wen, Fang and Sun 2008, section 4" },
        /// Shortest time between two steps.
        freeze_time: f64 { unit: Seconds, range: 0.0 => 100.0, default: 0.1, source: "Wen, Fang and Sun 2008, section 4" },
    }
}

/// State of BLUE.
#[derive(Debug)]
pub struct Blue {
    d1: f64,
    d2: f64,
    freeze_time: Dur,
    p: f64,
    /// The probability does not change before this time.
    frozen_until: Time,
}

impl Blue {
    fn step(&mut self, now: Time, by: f64) {
        if now >= self.frozen_until {
            self.p = (self.p + by).clamp(0.0, 1.0);
            self.frozen_until = now + self.freeze_time;
        }
    }
}

impl Aqm for Blue {
    const NAME: &'static str = "blue";
    const SUMMARY: &'static str = "Signals with a probability that losses raise and idleness lowers";
    const SOURCE: &'static str = "Feng, Shin, Kandlur and Saha, IEEE/ACM ToN 10(4), 2002";
    const PROBES: &'static [(&'static str, &'static str)] = &[("p", "fraction")];
    type Params = Params;

    fn new(p: &Params, _: &Env, _: &Rng, now: Time) -> Result<Self, ParamError> {
        Ok(Blue { d1: p.d1, d2: p.d2, freeze_time: Dur::from_secs(p.freeze_time), p: 0.0, frozen_until: now })
    }

    fn on_arrival(&mut self, cx: &mut Context<'_>, packet: &Packet) -> Verdict {
        if cx.is_full(packet) {
            self.step(cx.now, self.d1);
            return Verdict::Pass;
        }
        match cx.rng.uniform() < self.p {
            true => Verdict::Mark(Reason::Early),
            false => Verdict::Pass,
        }
    }

    fn on_idle(&mut self, now: Time) {
        self.step(now, -self.d2);
    }

    fn probe(&self, _: Time, _: &Env, out: &mut Vec<f64>) {
        out.push(self.p);
    }
}
