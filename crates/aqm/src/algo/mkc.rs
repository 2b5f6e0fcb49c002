//! MKC: the router of max-min Kelly control.
//!
//! Zhang, Kang and Loguinov, "Delayed stability and performance of distributed congestion control", SIGCOMM 2004,
//! section 6.2.
//!
//! At the end of each interval of delta seconds, in which S bytes arrived (dropped ones included):
//!     X = S / delta, p = (X - C) / X, seq <- seq + 1, S <- 0.
//! A packet that arrives in the next interval takes this price if its header has a lower one.
//!
//! Input: arrivals. Output: the price; packets are dropped only if the buffer is full. Packets without the header count
//! and pass unchanged. The cost is two variables, and one addition a packet.
//!
//! Departures: if nothing arrived, (58) is minus infinity. Here X is at least one usual packet an interval, the
//! smallest rate that a router can measure, so p says that the link is free. The last price would report a congestion
//! that has ended. There is no price before the end of the first interval. C is the link's rate when the price is
//! computed, which is when the first packet after the end of the interval arrives.
//! Default: delta of the paper's Figures 10 and 11; Figure 12 uses 100 to 180 ms.

use alloc::vec::Vec;
use crate::arrival_rate::{ArrivalRate, ElapsedIntervals};
use crate::policy::{Aqm, Context, Env, Verdict};
use marqueue_core::params::ParamError;
use marqueue_core::{Packet, Price, Rng, Time};

marqueue_core::params! {
    /// Parameters of MKC's router.
    pub struct Params {
        /// The interval over which arrivals are averaged.
        delta: f64 { unit: Seconds, range: 1e-6 => 3600.0, default: 0.05, source: "Zhang, Kang, Loguinov 2004, section 6.3" },
        /// C as a fraction of the link's rate; the rest is for other traffic.
        share: f64 { unit: Fraction, range: 0.001 => 1.0, default: 1.0, source: "1 in the paper" },
    }
}

/// The price of a link of `capacity` bit/s after an interval in which packets arrived at `rate` bit/s: (58).
pub(super) fn price(rate: f64, capacity: f64, env: &Env, delta: f64) -> f64 {
    let least = env.mean_packet.0.max(1) as f64 * 8.0 / delta;
    let rate = rate.max(least);
    (rate - capacity) / rate
}

/// The latest price and its sequence number.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct LatestPrice {
    pub p: f64,
    seq: u64,
}

impl LatestPrice {
    /// Sets the price after `intervals` more intervals.
    pub fn next(self, p: f64, ended: ElapsedIntervals) -> LatestPrice {
        LatestPrice { p, seq: self.seq + ended.count() }
    }

    /// The price as written into packets.
    pub fn price(self, delta: f64) -> Option<Price> {
        let price = Price { router: 0, seq: self.seq as u32, p: self.p as f32, delta: delta as f32 };
        (self.seq > 0).then_some(price)
    }
}

/// State of MKC's router.
#[derive(Debug)]
pub struct Mkc {
    share: f64,
    arrivals: ArrivalRate,
    rate: f64,
    latest: LatestPrice,
}

impl Mkc {
    fn price_of(&self, ended: ElapsedIntervals, env: &Env) -> f64 {
        price(ended.last(), self.share * env.rate.0 as f64, env, self.arrivals.delta())
    }
}

impl Aqm for Mkc {
    const NAME: &'static str = "mkc";
    const SUMMARY: &'static str = "Writes the price of the link into packet headers: (arrival rate - C) / arrival rate";
    const SOURCE: &'static str = "Zhang, Kang and Loguinov, SIGCOMM 2004";
    const PROBES: &'static [(&'static str, &'static str)] = &[("price", "1"), ("arrival_rate", "bit/s")];
    const PRICES: bool = true;
    type Params = Params;

    fn new(params: &Params, _: &Env, _: &Rng, now: Time) -> Result<Self, ParamError> {
        let arrivals = ArrivalRate::new(params.delta, now);
        Ok(Mkc { share: params.share, arrivals, rate: 0.0, latest: LatestPrice::default() })
    }

    #[inline]
    fn on_arrival(&mut self, cx: &mut Context<'_>, packet: &Packet) -> Verdict {
        if let Some(ended) = self.arrivals.on_arrival(cx.now, packet.bytes()) {
            self.rate = ended.last();
            let p = self.price_of(ended, cx.env);
            self.latest = self.latest.next(p, ended);
        }
        Verdict::Pass
    }

    fn price(&self) -> Option<Price> {
        self.latest.price(self.arrivals.delta())
    }

    fn probe(&self, now: Time, env: &Env, out: &mut Vec<f64>) {
        out.extend(match self.arrivals.ended(now) {
            Some(ended) => [self.price_of(ended, env), ended.last()],
            None => [self.latest.p, self.rate],
        });
    }
}
