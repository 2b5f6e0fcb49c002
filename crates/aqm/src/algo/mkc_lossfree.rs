//! MKC's router with a price that avoids loss.
//!
//! Zhang, Kang and Loguinov, SIGCOMM 2004, section 5.3, leave this to future work: the price is tuned as in AVQ
//! (Kunniyur and Srikant, SIGCOMM 2001), so that N flows settle below the link's rate C instead of at C + N alpha /
//! beta.
//!
//! At the end of each interval with arrival rate X:
//!     p = (X - V) / X, then V <- V + gain (gamma C - X), 0 <= V <= C, initially V = C.
//! V is AVQ's virtual capacity. Flows settle at X* = gamma C, V* = gamma C - N alpha / beta while this is not negative.
//! With more flows V = 0 and X* = N alpha / beta; from N = C beta / alpha flows on this is more than C, and packets are
//! dropped. It is stable with any beta up to 1 if gain < 2 sin(pi/(2(2D+1))), where D is the longest feedback delay in
//! intervals.
//!
//! Input and output: those of `mkc`. On an idle link V rises to C and stays there, so that it does not wind up.
//! Defaults: gamma of AVQ's paper; a gain that is stable with delays of up to 30 intervals.

use alloc::vec::Vec;
use super::mkc::{self, LatestPrice};
use crate::arrival_rate::{ArrivalRate, ElapsedIntervals};
use crate::policy::{Aqm, Context, Env, Verdict};
use marqueue_core::params::ParamError;
use marqueue_core::{Packet, Price, Rng, Time};

marqueue_core::params! {
    /// What loss-free MKC adds to the parameters of MKC's router.
    pub struct Params {
        /// Desired utilization.
        gamma: f64 { unit: Fraction, range: 0.01 => 1.0, default: 0.98, source: "Kunniyur and Srikant 2004, section III.A" },
        /// Fraction of the rate error gamma C - X by which the virtual capacity changes in an interval.
        gain: f64 { unit: One, range: 1e-6 => 10.0, default: 0.05, source: "stable up to delays of 30 intervals" },
    }
}

/// State of the router.
#[derive(Debug)]
pub struct MkcLossfree {
    params: Params,
    share: f64,
    arrivals: ArrivalRate,
    /// V, bit/s, and X of the last interval.
    capacity: f64,
    rate: f64,
    latest: LatestPrice,
}

impl MkcLossfree {
    /// V in the price of the last interval, and V after it.
    fn adapt(&self, ended: ElapsedIntervals, env: &Env) -> (f64, f64) {
        let c = self.share * env.rate.0 as f64;
        let Params { gamma, gain } = self.params;
        let after = |v: f64, rate: f64, times: f64| (v + times * gain * (gamma * c - rate)).clamp(0.0, c);
        let first = self.capacity.min(c);
        let second = after(first, ended.rate, 1.0);
        match ended.idle {
            0 => (first, second),
            // Without arrivals V only rises, so it is enough to bound it at the end.
            idle => (after(second, 0.0, (idle - 1) as f64), after(second, 0.0, idle as f64)),
        }
    }
}

impl Aqm for MkcLossfree {
    const NAME: &'static str = "mkc_lossfree";
    const SUMMARY: &'static str = "MKC's router with an adaptive price: flows settle below the link's rate";
    const SOURCE: &'static str = "Zhang, Kang and Loguinov, SIGCOMM 2004, section 5.3 (future work)";
    const PROBES: &'static [(&'static str, &'static str)] =
        &[("price", "1"), ("arrival_rate", "bit/s"), ("virtual_capacity", "bit/s")];
    const PRICES: bool = true;
    type Params = (mkc::Params, Params);

    fn new((mkc, params): &(mkc::Params, Params), env: &Env, _: &Rng, now: Time) -> Result<Self, ParamError> {
        Ok(MkcLossfree {
            params: params.clone(),
            share: mkc.share,
            arrivals: ArrivalRate::new(mkc.delta, now),
            capacity: mkc.share * env.rate.0 as f64,
            rate: 0.0,
            latest: LatestPrice::default(),
        })
    }

    #[inline]
    fn on_arrival(&mut self, cx: &mut Context<'_>, packet: &Packet) -> Verdict {
        if let Some(ended) = self.arrivals.on_arrival(cx.now, packet.bytes()) {
            let (priced, after) = self.adapt(ended, cx.env);
            self.rate = ended.last();
            self.latest = self.latest.next(mkc::price(self.rate, priced, cx.env, self.arrivals.delta()), ended);
            self.capacity = after;
        }
        Verdict::Pass
    }

    fn price(&self) -> Option<Price> {
        self.latest.price(self.arrivals.delta())
    }

    fn probe(&self, now: Time, env: &Env, out: &mut Vec<f64>) {
        out.extend(match self.arrivals.ended(now) {
            Some(ended) => {
                let (priced, after) = self.adapt(ended, env);
                [mkc::price(ended.last(), priced, env, self.arrivals.delta()), ended.last(), after]
            }
            None => [self.latest.p, self.rate, self.capacity],
        });
    }
}
