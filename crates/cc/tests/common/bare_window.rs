//! A window under a law, without a sender around it, and settings of laws.

use marqueue_cc::algo::AnyWindowLaw;
use marqueue_cc::rto::Rto;
use marqueue_cc::window_law::{AckedSegments, Signal, Window};
use marqueue_cc::Config;
use marqueue_core::Time;

use super::{at, config_of};

/// The RFCs' rules with a window law, its parameters and ECN, and ten segments after the handshake.
pub fn law(name: &str, numbers: &[(&str, f64)]) -> Config {
    let numbers = [&[("delayed_ack", 0.0), ("initial_window", 10.0)], numbers].concat();
    config_of("rfc", &[("control", name), ("recovery", "newreno")], &numbers, &[("ecn", true)])
}

/// A window under a law, without a sender around it.
pub struct Bare {
    pub config: Config,
    pub rto: Rto,
    pub law: AnyWindowLaw,
    pub window: Window,
    pub now: Time,
}

impl Bare {
    /// `cwnd` segments in congestion avoidance at time 0, with a round-trip time of `rtt` seconds.
    pub fn new(config: Config, cwnd: f64, rtt: f64) -> Bare {
        let mut rto = Rto::new(&config, 0.0);
        rto.sample(&config, at(0.0), at(rtt));
        let law = AnyWindowLaw::new(&config);
        Bare { config, rto, law, window: Window { cwnd, ssthresh: 2.0 }, now: at(0.0) }
    }

    /// One acknowledgement of `segments` at `t` seconds; returns the window.
    pub fn ack(&mut self, t: f64, segments: f64) -> f64 {
        self.now = at(t);
        let acked = AckedSegments {
            now: self.now,
            config: &self.config,
            rto: &self.rto,
            segments,
            outstanding: self.window.cwnd,
        };
        self.law.on_ack(&mut self.window, &acked);
        self.window.cwnd
    }

    /// A congestion signal; returns the window.
    pub fn cut(&mut self, signal: Signal) -> f64 {
        self.window.cwnd *= self.law.decrease(&self.config, self.window.cwnd, signal);
        self.window.cwnd
    }
}

#[track_caller]
pub fn near(got: f64, expected: f64, within: f64) {
    assert!((got - expected).abs() <= within, "got {got}, expected {expected}");
}
