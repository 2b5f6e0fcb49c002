//! Additive increase, multiplicative decrease of a rate: Chiu and Jain, "Analysis of the increase and
//! decrease algorithms for congestion avoidance in computer networks", Computer Networks and ISDN Systems
//! 17, 1989; as a transport: Rejaie, Handley and Estrin, "RAP", INFOCOM 1999.
//!
//! After each control interval T with reports and without congestion r <- r + alpha; at congestion, at
//! most once a round trip, r <- beta r. If every (1/p)-th packet is lost, the rate is a saw-tooth with mean
//! sqrt(alpha (1 + beta) / (2 (1 - beta) p T)), as long as T is not much shorter than the feedback takes.
//! With alpha = 1/T and T the round-trip time, one packet more a round trip, that is Reno's
//! sqrt(3/2p)/RTT at beta = 1/2.

use super::rate_law::{Interval, RateLaw};

marqueue_core::params! {
    /// Parameters of AIMD on a rate.
    pub struct Params {
        /// By how many packets a second the rate grows after a control interval without congestion.
        alpha: Option<f64> { unit: PerSecond, range: 1e-6 => 1e6, default: None, auto: "one packet an interval more: 1/interval", source: "RAP, section 2.2" },
        /// What congestion leaves of the rate.
        beta: f64 { unit: Fraction, range: 0.01 => 0.99, default: 0.5, source: "RAP, section 2.2" },
        /// Length of a control interval.
        interval: Option<f64> { unit: Seconds, range: 0.001 => 3600.0, default: None, auto: "the smoothed round-trip time", source: "RAP, section 2.3" },
    }
}

/// See the head of this file.
#[derive(Clone, Debug)]
pub struct Aimd {
    alpha: Option<f64>,
    beta: f64,
    interval: Option<f64>,
}

impl RateLaw for Aimd {
    const NAME: &'static str = "aimd";
    const SUMMARY: &'static str = "The rate grows by a constant an interval, congestion leaves a share of it";
    const SOURCE: &'static str = "Chiu and Jain 1989; Rejaie, Handley, Estrin (RAP), INFOCOM 1999";
    type Params = Params;

    fn new(params: &Params, _: f64) -> Aimd {
        Aimd { alpha: params.alpha, beta: params.beta, interval: params.interval }
    }

    fn interval(&self, srtt: f64) -> f64 {
        self.interval.unwrap_or(srtt)
    }

    fn on_interval(&mut self, rate: f64, interval: &Interval) -> f64 {
        // Silence is no proof that the network is free.
        if interval.cut || interval.reports == 0 {
            return rate;
        }
        rate + self.alpha.unwrap_or(1.0 / interval.seconds)
    }

    fn on_congestion(&mut self, rate: f64) -> f64 {
        self.beta * rate
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use marqueue_core::params::ParamSet;

    /// Chiu and Jain 1989, section 3: under the same feedback to both, increase moves two rates along a line
    /// of equal difference, decrease towards the origin; so their difference only shrinks, by beta a
    /// cut.
    #[test]
    fn two_rates_under_common_feedback_converge_to_equality() {
        let mut law = Aimd::new(&Params::from_values(&Default::default()).unwrap(), 8000.0);
        let (mut a, mut b): (f64, f64) = (95.0, 5.0);
        let quiet = Interval { seconds: 0.1, reports: 7, ..Interval::default() };
        let mut cuts = 0;
        for _ in 0..1000 {
            if a + b > 120.0 {
                (a, b) = (law.on_congestion(a), law.on_congestion(b));
                cuts += 1;
            } else {
                (a, b) = (law.on_interval(a, &quiet), law.on_interval(b, &quiet));
            }
            let expected = 90.0 * 0.5f64.powi(cuts);
            assert!(((a - b) - expected).abs() < 1e-9 * expected + 1e-9);
        }
        assert!(cuts > 100 && (a / b - 1.0).abs() < 1e-9, "{a} {b} after {cuts} cuts");
    }

    #[test]
    fn neither_silence_nor_an_interval_with_a_cut_raises_the_rate() {
        let mut law = Aimd::new(&Params::from_values(&Default::default()).unwrap(), 8000.0);
        let interval = Interval { seconds: 0.1, reports: 7, ..Interval::default() };
        assert_eq!(law.on_interval(50.0, &interval), 60.0);
        assert_eq!(law.on_interval(50.0, &Interval { reports: 0, ..interval }), 50.0);
        assert_eq!(law.on_interval(50.0, &Interval { cut: true, ..interval }), 50.0);
    }
}
