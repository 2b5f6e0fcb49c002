//! Classic discrete Kelly control.
//!
//! Kelly, Maulloo and Tan, "Rate control for communication networks", JORS 49(3), 1998; discrete: Johari and
//! Tan, IEEE/ACM ToN 9(6), 2001; with loss for a price: Zhang, Kang and Loguinov, SIGCOMM 2004, section 3.
//!     x(n) = x(n-1) + kappa (omega - x(n-D) eta(n)), eta the sum of the prices of all routers on the way     (8), (9)
//! With p = (X - C)/X, sum M_i x_i* = sum C_j + N omega over flows with M_i routers (Lemma 1). It is stable on one
//! link if and only if kappa < 2 sin(pi/(2(2D-1))), D the feedback delay in steps (3).
//!
//! Sees: headers that come back, to which each router has added its price. Decides: the rate, at each feedback in
//! which some router has a new price. A step is an interval of the router: (n-1) is the rate in force, (n-D)
//! that which the packet carried.
//! The least rate and what follows silence are as in `emkc`.
//! Defaults: Figure 2.

use super::emkc;
use super::rate_law::{Interval, RateLaw, ReturnedSignals};
use super::router_feedback::RouterFeedback;
use marqueue_core::Signals;

marqueue_core::params! {
    /// Parameters of Kelly control.
    pub struct Params {
        /// The gain of a step.
        kappa: f64 { unit: One, range: 1e-6 => 100.0, default: 0.5, source: "Zhang, Kang, Loguinov 2004, section 3.1" },
        /// What the flow is willing to pay.
        omega: f64 { unit: BitsPerSecond, range: 1.0 => 1e12, default: 20_000.0, source: "Zhang, Kang, Loguinov 2004, section 3.1" },
        /// The slowest rate.
        min_rate: Option<f64> { unit: BitsPerSecond, range: 1e-6 => 1e12, default: None, auto: "kappa omega, what a step adds", source: "the papers are silent" },
    }
}

/// See the head of this file.
#[derive(Clone, Debug)]
pub struct Kelly {
    kappa: f64,
    omega: f64,
    min_rate: f64,
    feedback: RouterFeedback,
}

impl RateLaw for Kelly {
    const NAME: &'static str = "kelly";
    const SUMMARY: &'static str = "Classic Kelly control: reacts to the sum of the prices of all routers on the path";
    const SOURCE: &'static str = "Kelly, Maulloo and Tan 1998; Zhang, Kang and Loguinov, SIGCOMM 2004, section 3";
    type Params = Params;

    fn new(params: &Params, bits: f64) -> Kelly {
        let min_rate = params.min_rate.unwrap_or(params.kappa * params.omega);
        Kelly {
            kappa: params.kappa,
            omega: params.omega / bits,
            min_rate: min_rate / bits,
            feedback: RouterFeedback::new(),
        }
    }

    fn interval(&self, srtt: f64) -> f64 {
        srtt
    }

    fn on_interval(&mut self, rate: f64, _: &Interval) -> f64 {
        rate
    }

    fn on_feedback_timeout(&mut self, rate: f64) -> f64 {
        emkc::halve(rate, self.min_rate)
    }

    fn header(&self, _: u32, rate: f64) -> Option<Signals> {
        Some(Signals::for_price_sum((rate as f32).to_bits()))
    }

    fn on_signals(&mut self, rate: f64, returned: &ReturnedSignals) -> f64 {
        match self.feedback.update(returned) {
            Some(new_price) => {
                let then = f64::from(f32::from_bits(new_price.usr));
                (rate + self.kappa * (self.omega - then * new_price.p)).max(self.min_rate)
            }
            None => rate,
        }
    }

    fn price(&self) -> Option<f64> {
        self.feedback.price()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use marqueue_core::params::ParamSet;
    use marqueue_core::{Price, Time};

    #[test]
    fn each_new_sum_of_prices_is_one_step() {
        let mut law = Kelly::new(&Params::from_values(&Default::default()).unwrap(), 1000.0);
        let mut signals = law.header(9, 200.0).unwrap();
        signals.add_price(Price { router: 4, seq: 3, p: -1.0, delta: 0.1 });
        signals.add_price(Price { router: 5, seq: 2, p: 0.25, delta: 0.2 });
        let returned = |signals| ReturnedSignals { now: Time::ZERO, srtt: 0.1, signals };
        // 300 + (20 + 200 * 0.75) / 2.
        assert_eq!(law.on_signals(300.0, &returned(signals)), 385.0);
        assert_eq!(law.on_signals(385.0, &returned(signals)), 385.0);
        signals.add_price(Price { router: 5, seq: 1, p: 4.75, delta: 0.2 });
        // 385 + (20 - 200 * 4) / 2 is below zero.
        assert_eq!(law.on_signals(385.0, &returned(signals)), 10.0);
    }
}
