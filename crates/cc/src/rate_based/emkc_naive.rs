//! EMKC as one would write it first.
//!
//! Zhang, Kang and Loguinov, SIGCOMM 2004, section 6.3.1. Packets carry the sending rate, and
//!     x(n) = x(n-D) + alpha - beta p x(n-D)     (12)
//! with the rate that came back for x(n-D). The router's p is about an interval in which packets of several rates
//! arrived, so that it does not belong to that rate: as the rates grow, the flow overshoots (Figure 10).
//! It settles where EMKC does. All else is as in `emkc`.

use super::emkc::{Params, Step};
use super::rate_law::{Interval, RateLaw, ReturnedSignals};
use super::router_feedback::{BottleneckStatus, RouterFeedback};
use marqueue_core::Signals;

/// See the head of this file.
#[derive(Clone, Debug)]
pub struct EmkcNaive {
    step: Step,
    feedback: RouterFeedback,
}

impl RateLaw for EmkcNaive {
    const NAME: &'static str = "emkc_naive";
    const SUMMARY: &'static str = "EMKC with the wrong reference rate: overshoots as it starts";
    const SOURCE: &'static str = "Zhang, Kang and Loguinov, SIGCOMM 2004, section 6.3.1";
    type Params = Params;

    fn new(params: &Params, bits: f64) -> EmkcNaive {
        EmkcNaive { step: Step::new(params, bits), feedback: RouterFeedback::new() }
    }

    fn interval(&self, srtt: f64) -> f64 {
        srtt
    }

    fn on_interval(&mut self, rate: f64, _: &Interval) -> f64 {
        rate
    }

    fn on_feedback_timeout(&mut self, rate: f64) -> f64 {
        self.step.halve(rate)
    }

    fn header(&self, _: u32, rate: f64) -> Option<Signals> {
        Some(Signals::for_max_price((rate as f32).to_bits()))
    }

    fn on_signals(&mut self, rate: f64, returned: &ReturnedSignals) -> f64 {
        match self.feedback.update(returned) {
            Some(new_price) if new_price.bottleneck_status != BottleneckStatus::Waiting => {
                self.step.from(f64::from(f32::from_bits(new_price.usr)), new_price.p)
            }
            _ => rate,
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
    fn the_rate_that_comes_back_is_the_reference() {
        let mut law = EmkcNaive::new(&Params::from_values(&Default::default()).unwrap(), 1000.0);
        let usr = law.header(9, 200.0).unwrap().usr;
        let price = Price { router: 0, seq: 1, p: -2.0, delta: 0.5 };
        let returned = ReturnedSignals { now: Time::ZERO, srtt: 0.1, signals: Signals { price, usr } };
        // 200 + 100 + 0.9 * 2 * 200, whatever the rate is by now.
        assert_eq!(law.on_signals(350.0, &returned), 660.0);
        assert_eq!(law.on_signals(660.0, &returned), 660.0);
        // Another router is obeyed a round trip after it spoke first.
        let from = |ms: u64, seq| {
            let price = Price { router: 1, seq, p: 0.5, delta: 0.5 };
            ReturnedSignals { now: Time(ms * 1_000_000), srtt: 0.1, signals: Signals { price, usr } }
        };
        assert_eq!(law.on_signals(660.0, &from(0, 1)), 660.0);
        assert_eq!(law.on_signals(660.0, &from(100, 2)), 200.0 + 100.0 - 0.9 * 0.5 * 200.0);
    }
}
