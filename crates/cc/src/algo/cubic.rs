//! CUBIC's window law: RFC 9438, section 4.
//!
//! t seconds into a stage of congestion avoidance that began with a window of cwnd_epoch:
//! W_cubic(t) = C (t - K)^3 + W_max, K = cbrt((W_max - cwnd_epoch)/C) (equations 1 and 2). An
//! acknowledgement moves cwnd by (target - cwnd)/cwnd, where target is W_cubic one round trip
//! ahead, at least cwnd and at most 1.5 cwnd. While W_cubic(t) is below W_est, the window of an AIMD
//! flow with Reno's throughput (equation 4), cwnd is W_est.
//! A congestion signal leaves the share beta; W_max is the window before it, or less if flows have
//! come (fast convergence, 4.7). After a timeout K is 0 and W_max the window at which congestion
//! avoidance begins (4.8).
//! Not included: the answer to spurious signals (4.9). HyStart++ (4.10) is `slow_start`.
//! Linux departs in two ways, each a parameter: W_est grows by 3(1 - beta)/(1 + beta) for good, where section 4.3 has
//! it grow by 1 from cwnd_prior on (`cubic_reno_rate`), and before the first signal the window grows by a
//! twentieth a round trip at least (`cubic_first_growth`). There the curve is led by the smallest round-trip time, here
//! by the smoothed one (4.2).
//! Time in which the application does not use the window is no part of t (5.8): what passes between
//! two acknowledgements, of which the later one finds the window unused.

use crate::config::Config;
use crate::window_law::{AckedSegments, WindowLaw, Signal, Window};
use marqueue_core::{Dur, Time};

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
    /// When the stage began, moved on by the time that does not count; never, before its first
    /// acknowledgement.
    epoch: Time,
}

impl Default for Cubic {
    fn default() -> Cubic {
        Cubic { w_max: 0.0, cwnd_prior: 0.0, w_est: 0.0, k: 0.0, epoch: Time::NEVER }
    }
}

impl Cubic {
    /// A stage begins. From above W_max, or with none known, the curve starts on its plateau.
    fn begin(&mut self, acked: &AckedSegments<'_>, cwnd: f64) {
        self.epoch = acked.now;
        self.w_max = self.w_max.max(cwnd);
        self.k = ((self.w_max - cwnd) / acked.config.cubic_c).cbrt();
        self.w_est = cwnd;
    }

    /// Equation (1).
    fn w_cubic(&self, c: f64, t: f64) -> f64 {
        c * (t - self.k).powi(3) + self.w_max
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
        let cwnd = window.cwnd;
        if self.epoch == Time::NEVER {
            self.begin(acked, cwnd);
        }
        let c = acked.config.cubic_c;
        let t = (acked.now - self.epoch).secs();
        let round_trips = acked.segments / cwnd;
        self.grow_w_est(acked.config, round_trips);
        window.cwnd = if self.w_cubic(c, t) < self.w_est {
            self.w_est.max(cwnd)
        } else {
            let target = self.w_cubic(c, t + acked.rto.srtt(acked.config)).clamp(cwnd, 1.5 * cwnd);
            cwnd + (target - cwnd) * round_trips.min(1.0)
        };
        if self.cwnd_prior == 0.0 {
            window.cwnd = window.cwnd.max(cwnd + acked.config.cubic_first_growth * acked.segments);
        }
    }

    /// Sections 4.6 and 4.7. What the receiver's window has not let out was not in the network.
    fn decrease(&mut self, config: &Config, cwnd: f64, _: Signal) -> f64 {
        let beta = config.cubic_beta;
        let cwnd = cwnd.min(f64::from(config.max_window));
        self.cwnd_prior = cwnd;
        self.w_max = if cwnd < self.w_max { cwnd * (1.0 + beta) / 2.0 } else { cwnd };
        self.epoch = Time::NEVER;
        beta
    }

    fn on_application_limited(&mut self, time: Dur) {
        if self.epoch != Time::NEVER {
            self.epoch += time;
        }
    }

    fn on_timeout(&mut self) {
        self.w_max = 0.0;
        self.epoch = Time::NEVER;
    }
}
