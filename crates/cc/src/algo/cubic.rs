//! CUBIC's window law: RFC 9438, section 4.
//!
//! t is the time in seconds since a stage of congestion avoidance began with a window of cwnd_epoch. The cubic curve is
//! W_cubic(t) = C (t - K)^3 + W_max with K = cbrt((W_max - cwnd_epoch)/C) (equations 1 and 2). Each acknowledgement of new
//! data adds (target - cwnd)/cwnd, where target is W_cubic one smoothed round-trip time ahead, at least cwnd and at most
//! 1.5 cwnd (4.2, 4.4, 4.5). While W_cubic(t) is below W_est, the window of an AIMD flow with Reno's throughput (equation
//! 4), cwnd is W_est (4.3).
//!
//! A congestion signal leaves the share beta (4.6). W_max is then the window before it, or less after a second cut in
//! decline (fast convergence, 4.7). After a timeout K is 0 and W_max the window at which congestion avoidance begins (4.8).
//! Time in which the window was not used is no part of t (4.2, 5.8): the time between two acknowledgements of which the
//! later one finds the window unused.
//!
//! Departures:
//! - In the Reno-friendly region cwnd is not lowered to W_est. Section 4.3 sets it to W_est, which is less than cwnd where
//!   W_cubic(t) < W_est < cwnd; 4.2 says that an acknowledgement does not decrease the window.
//! - If a stage begins above W_max, which happens at windows below two segments, the curve starts on its plateau. Section
//!   4.2 defines no K for it.
//!
//! Linux differs in three ways, each a parameter. An acknowledgement of n segments moves the window n times as far
//! (`cubic_count_segments`). W_est never grows by more than 3(1 - beta)/(1 + beta) a round trip (`cubic_reno_rate`).
//! Before the first signal the window grows by a twentieth a round trip at least (`cubic_first_growth`).
//! Not included: the response to spurious signals (4.9), which is optional. HyStart++ (4.10) is `slow_start`.

use crate::config::Config;
use crate::window_law::{AckedSegments, Signal, Window, WindowLaw};
use marqueue_core::{math, Time};

/// The stage of congestion avoidance. Windows are in segments.
#[derive(Clone, Copy, Debug)]
pub struct Cubic {
    /// W_max: the plateau; 0 if nothing is known about it.
    w_max: f64,
    /// cwnd before the last cut.
    cwnd_prior: f64,
    /// W_est.
    w_est: f64,
    /// K, in seconds.
    k: f64,
    /// When the stage began, moved on by the time that does not count; never, before its first acknowledgement.
    epoch: Time,
    /// The latest acknowledgement.
    latest_ack: Time,
}

impl Default for Cubic {
    fn default() -> Cubic {
        Cubic { w_max: 0.0, cwnd_prior: 0.0, w_est: 0.0, k: 0.0, epoch: Time::NEVER, latest_ack: Time::ZERO }
    }
}

impl Cubic {
    /// A stage begins. With no W_max known, or from above it, the curve starts on its plateau.
    fn begin(&mut self, acked: &AckedSegments<'_>, cwnd: f64) {
        self.epoch = acked.now;
        self.w_max = self.w_max.max(cwnd);
        self.k = math::cbrt((self.w_max - cwnd) / acked.config.cubic_c);
        self.w_est = cwnd;
    }

    /// Equation (1).
    fn w_cubic(&self, c: f64, t: f64) -> f64 {
        c * math::powi(t - self.k, 3) + self.w_max
    }

    /// Equation (4) and what follows it: once W_est is where the last cut was made, it grows as Reno, if that is
    /// wanted.
    fn grow_w_est(&mut self, config: &Config, round_trips: f64) {
        let beta = config.cubic_beta;
        let reno = config.cubic_reno_rate && self.w_est >= self.cwnd_prior;
        let alpha = if reno { 1.0 } else { 3.0 * (1.0 - beta) / (1.0 + beta) };
        self.w_est += alpha * round_trips;
    }
}

impl WindowLaw for Cubic {
    fn on_ack(&mut self, window: &mut Window, acked: &AckedSegments<'_>) {
        let (config, cwnd) = (acked.config, window.cwnd);
        if self.epoch == Time::NEVER {
            self.begin(acked, cwnd);
        }
        self.latest_ack = acked.now;
        let t = (acked.now - self.epoch).secs();
        self.grow_w_est(config, acked.segments / cwnd);
        window.cwnd = if self.w_cubic(config.cubic_c, t) < self.w_est {
            self.w_est.max(cwnd)
        } else {
            let target = self.w_cubic(config.cubic_c, t + acked.rto.srtt(config)).clamp(cwnd, 1.5 * cwnd);
            let counted = if config.cubic_count_segments { acked.segments } else { 1.0 };
            cwnd + (target - cwnd) * (counted / cwnd).min(1.0)
        };
        if self.cwnd_prior == 0.0 {
            window.cwnd = window.cwnd.max(cwnd + config.cubic_first_growth * acked.segments);
        }
    }

    /// Sections 4.6 and 4.7.
    fn decrease(&mut self, config: &Config, cwnd: f64, _: Signal) -> f64 {
        let beta = config.cubic_beta;
        let in_decline = config.cubic_fast_convergence && cwnd < self.w_max;
        self.cwnd_prior = cwnd;
        self.w_max = if in_decline { cwnd * (1.0 + beta) / 2.0 } else { cwnd };
        self.epoch = Time::NEVER;
        beta
    }

    fn on_unused_window(&mut self, now: Time) {
        if self.epoch != Time::NEVER {
            self.epoch += now - self.latest_ack;
        }
        self.latest_ack = now;
    }

    fn on_timeout(&mut self) {
        self.w_max = 0.0;
        self.epoch = Time::NEVER;
    }
}
