//! EMKC: exponential max-min Kelly control, as its authors would have it.
//!
//! Zhang, Kang and Loguinov, "Delayed stability and performance of distributed congestion control",
//! SIGCOMM 2004, section 6.3.2.
//!
//! Packets carry their number. If the n-th feedback p came with packet z(n), the rate that the router saw of
//! this flow in the interval delta that p is about is
//!     r = (bytes sent from z(n-1) up to z(n)) / delta     (59), and the new rate is
//!     x = r + alpha - beta p r                            (60).
//! One link of capacity C and N flows: x* = C/N + alpha/beta and p* = N alpha / (C beta + N alpha); stable if and
//! only if 0 < beta < 2, whatever the delays (Theorem 4), and without overshoot up to 1.
//!
//! Sees: headers that come back ([`super::router_feedback`]). Decides: the rate, once an interval. Losses do not move
//! it.
//!
//! The paper leaves open, and here:
//! - The first feedback of all has no z(n-1): it only sets it. Where routers take turns, r is known less often
//!   (see there); after a wait for another router it is the rate in force.
//! - If feedback is lost, the next is about the latest interval, but the bytes are those of all intervals since:
//!   r is their mean.
//! - A rate has a least value (`min_rate`): beyond beta = 1 equation (60) may fall below zero.
//! - Without any report for long (four round trips, or two packets) the rate is halved, down to the least, as
//!   RFC 5348, section 4.4, does: a way that is cut may be one that others need. A way without a router
//!   that speaks leaves the rate at what it was.
//!
//! Defaults: alpha and beta of Figures 10 to 12.

use super::rate_law::{Interval, RateLaw, ReturnedSignals};
use super::router_feedback::{BottleneckStatus, RouterFeedback};
use marqueue_core::Signals;

marqueue_core::params! {
    /// Parameters of EMKC.
    pub struct Params {
        /// What each step adds to the rate.
        alpha: f64 { unit: BitsPerSecond, range: 1.0 => 1e12, default: 100_000.0, source: "Zhang, Kang, Loguinov 2004, section 6.3" },
        /// How much of the loss that a router tells the rate gives up; stable between 0 and 2, without overshoot up to
        /// 1.
        beta: f64 { unit: One, range: 0.0 => 100.0, default: 0.9, source: "Zhang, Kang, Loguinov 2004, section 6.3; Theorem 4" },
        /// The slowest rate.
        min_rate: Option<f64> { unit: BitsPerSecond, range: 1.0 => 1e12, default: None, auto: "alpha, which (60) leaves of any rate at p = 1/beta", source: "the paper is silent" },
    }
}

/// The step that all of MKC takes: (12). Rates in packets a second.
#[derive(Clone, Debug)]
pub(super) struct Step {
    alpha: f64,
    beta: f64,
    min_rate: f64,
}

impl Step {
    pub fn new(params: &Params, bits: f64) -> Step {
        let min_rate = params.min_rate.unwrap_or(params.alpha);
        Step { alpha: params.alpha / bits, beta: params.beta, min_rate: min_rate / bits }
    }

    /// The rate that follows `reference` at the price `p`.
    pub fn from(&self, reference: f64, p: f64) -> f64 {
        (reference + self.alpha - self.beta * p * reference).max(self.min_rate)
    }

    /// The rate that follows silence.
    pub fn halve(&self, rate: f64) -> f64 {
        halve(rate, self.min_rate)
    }
}

/// The rate after a time without reports: half of it, but not below the minimum.
pub(super) fn halve(rate: f64, min_rate: f64) -> f64 {
    (0.5 * rate).max(min_rate.min(rate))
}

/// See the head of this file.
#[derive(Clone, Debug)]
pub struct Emkc {
    step: Step,
    feedback: RouterFeedback,
}

impl RateLaw for Emkc {
    const NAME: &'static str = "emkc";
    const SUMMARY: &'static str = "Max-min Kelly control: follows the price of the most congested router on the path";
    const SOURCE: &'static str = "Zhang, Kang and Loguinov, SIGCOMM 2004, section 6.3.2";
    type Params = Params;

    fn new(params: &Params, bits: f64) -> Emkc {
        Emkc { step: Step::new(params, bits), feedback: RouterFeedback::new() }
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

    fn header(&self, seq: u32, _: f64) -> Option<Signals> {
        Some(Signals::for_max_price(seq))
    }

    fn on_signals(&mut self, rate: f64, returned: &ReturnedSignals) -> f64 {
        let Some(new_price) = self.feedback.update(returned) else { return rate };
        match (new_price.bottleneck_status, new_price.since) {
            (BottleneckStatus::Unchanged | BottleneckStatus::Switched, Some((before, seconds))) => {
                let sent = new_price.usr.saturating_sub(before);
                self.step.from(f64::from(sent) / seconds, new_price.p)
            }
            (BottleneckStatus::Switched, None) => self.step.from(rate, new_price.p),
            (BottleneckStatus::Unchanged, None) | (BottleneckStatus::Waiting, _) => rate,
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

    fn returned(seq: u32, p: f32, usr: u32) -> ReturnedSignals {
        let price = Price { router: 0, seq, p, delta: 0.5 };
        ReturnedSignals { now: Time::ZERO, srtt: 0.1, signals: Signals { price, usr } }
    }

    /// Packets of 1000 bits: alpha = 100 packets/s, beta = 0.9.
    fn law() -> Emkc {
        Emkc::new(&Params::from_values(&Default::default()).unwrap(), 1000.0)
    }

    #[test]
    fn the_reference_is_what_was_sent_in_the_interval() {
        let mut law = law();
        assert_eq!(law.header(17, 5.0).unwrap().usr, 17);
        assert_eq!(law.on_signals(125.0, &returned(1, -3.0, 0)), 125.0);
        // 60 packets in half a second: 120 + 100 + 0.9 * 3 * 120.
        assert_eq!(law.on_signals(125.0, &returned(2, -3.0, 60)), 544.0);
        // The same again, and older news, change nothing.
        assert_eq!(law.on_signals(544.0, &returned(2, -3.0, 90)), 544.0);
        // Two intervals, 200 packets: 200 + 100 - 0.9 * 0.5 * 200.
        assert_eq!(law.on_signals(544.0, &returned(4, 0.5, 260)), 210.0);
    }

    #[test]
    fn a_rate_has_a_least_value_and_silence_halves_it_down_to_that() {
        let mut law = law();
        law.on_signals(0.0, &returned(1, 0.5, 0));
        assert_eq!(law.on_signals(0.0, &returned(2, 5.0, 100)), 100.0);
        assert_eq!(law.on_feedback_timeout(300.0), 150.0);
        assert_eq!(law.on_feedback_timeout(150.0), 100.0);
        assert_eq!(law.on_feedback_timeout(20.0), 20.0);
    }
}
