//! The base AQM of PI2 and DualPI2: a PI controller of the queueing delay. Its probability p' is linear in the congestion
//! of scalable senders; Classic senders are signalled with its square.
//!
//! De Schepper, Bondarenko, Tsang and Briscoe, "PI2: A Linearized AQM for both Classic and Scalable TCP", ACM CoNEXT 2016;
//! RFC 9332, appendix A, figures 2, 6 and 8: every t_update p' <- p' + alpha (d - target) + beta (d - d'), within [0, 1].

use crate::policy::Env;
use alloc::string::String;
use marqueue_core::params::ParamError;

marqueue_core::params! {
    /// Parameters of the controller.
    pub struct Gains {
        /// Queueing delay that the controller holds.
        target: f64 { unit: Seconds, range: 1e-6 => 100.0, default: 0.015, source: "RFC 9332, appendix A.1: 15 ms" },
        /// RTT_max: round-trip time up to which the gains are stable; sets t_update, alpha and beta that are not given.
        rtt_max: f64 { unit: Seconds, range: 1e-6 => 100.0, default: 0.1, source: "RFC 9332, appendix A.1: 100 ms" },
        /// Tupdate: how often p' is computed.
        t_update: Option<f64> { unit: Seconds, range: 1e-6 => 100.0, default: None, auto: "min(target, rtt_max / 3)", source: "RFC 9332, figure 2, line 12; Linux dualpi2: 16 ms" },
        /// Gain on the deviation from the target.
        alpha: Option<f64> { unit: PerSecond, range: 0.0 => 1e6, default: None, auto: "0.1 t_update / rtt_max^2", source: "RFC 9332, figure 2, line 13; Linux dualpi2: 0.16" },
        /// Gain on the change of the delay.
        beta: Option<f64> { unit: PerSecond, range: 0.0 => 1e6, default: None, auto: "0.3 / rtt_max", source: "RFC 9332, figure 2, line 14; Linux dualpi2: 3.2" },
    }
}

impl Gains {
    /// Tupdate in seconds, alpha and beta in Hz; what is not given is computed.
    pub fn resolve(&self) -> (f64, f64, f64) {
        let t_update = self.t_update.unwrap_or_else(|| self.target.min(self.rtt_max / 3.0));
        let alpha = self.alpha.unwrap_or(0.1 * t_update / (self.rtt_max * self.rtt_max));
        let beta = self.beta.unwrap_or(0.3 / self.rtt_max);
        (t_update, alpha, beta)
    }
}

/// The controller.
#[derive(Clone, Debug)]
pub struct BasePi {
    target: f64,
    alpha: f64,
    beta: f64,
    /// Upper bound of p'.
    highest: f64,
    /// p'.
    p: f64,
    /// prevq: the delay at the last update, s.
    delay: f64,
}

impl BasePi {
    /// A controller whose p' is at most `highest`.
    ///
    /// # Errors
    /// If both gains are zero, so that p' never changes.
    pub fn new(gains: &Gains, highest: f64) -> Result<BasePi, ParamError> {
        let (_, alpha, beta) = gains.resolve();
        if alpha == 0.0 && beta == 0.0 {
            return Err(ParamError::new("alpha", "got 0 with beta = 0, expected a gain above 0"));
        }
        Ok(BasePi { target: gains.target, alpha, beta, highest, p: 0.0, delay: 0.0 })
    }

    /// RFC 9332, figure 6, with the present delay in seconds.
    pub fn update(&mut self, delay: f64) {
        let step = self.alpha * (delay - self.target) + self.beta * (delay - self.delay);
        self.p = (self.p + step).clamp(0.0, self.highest);
        self.delay = delay;
    }

    /// p' and the delay of the last update, s.
    #[inline]
    pub fn state(&self) -> (f64, f64) {
        (self.p, self.delay)
    }

    /// p'.
    #[inline]
    pub fn p(&self) -> f64 {
        self.p
    }

    /// A warning if the buffer cannot hold the target delay.
    pub fn warning(&self, env: &Env) -> Option<String> {
        let longest = env.limit.bytes(env.mean_packet) / env.rate.bytes_per_sec();
        (longest < self.target).then(|| {
            let (target, longest) = (self.target * 1e3, longest * 1e3);
            format!("target: got {target} ms, expected less than the {longest:.3} ms that fill the buffer")
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use marqueue_core::params::ParamSet;
    use marqueue_core::{ParamValues, Value};

    fn gains(given: &[(&str, f64)]) -> Gains {
        let values: ParamValues = given.iter().map(|(k, v)| (k.to_string(), Value::Number(*v))).collect();
        Gains::from_values(&values).unwrap()
    }

    #[test]
    fn derived_constants_are_those_of_figure_2() {
        // min(15, 100/3) = 15 ms; 0.1 * 0.015 / 0.1^2 = 0.15 Hz; 0.3 / 0.1 = 3 Hz.
        let (t_update, alpha, beta) = gains(&[]).resolve();
        assert_eq!(t_update, 0.015);
        assert!((alpha - 0.15).abs() < 1e-12 && (beta - 3.0).abs() < 1e-12);
        // The text's 16 ms give 0.16 Hz, which it rounds to as well.
        assert!((gains(&[("t_update", 0.016)]).resolve().1 - 0.16).abs() < 1e-12);
        // A short maximal RTT updates three times in it: min(15, 20/3) ms.
        let (t_update, alpha, beta) = gains(&[("rtt_max", 0.02)]).resolve();
        assert!((t_update - 0.02 / 3.0).abs() < 1e-15);
        assert!((alpha - 0.1 * (0.02 / 3.0) / 4e-4).abs() < 1e-12 && (beta - 15.0).abs() < 1e-12);
    }

    #[test]
    fn the_controller_integrates_and_stays_in_its_range() {
        let mut pi = BasePi::new(&gains(&[]), 1.0).unwrap();
        // 0.15 (0.035 - 0.015) + 3 (0.035 - 0) = 0.108; again: + 0.003.
        pi.update(0.035);
        assert!((pi.p() - 0.108).abs() < 1e-12);
        pi.update(0.035);
        assert!((pi.p() - 0.111).abs() < 1e-12);
        pi.update(10.0);
        assert_eq!(pi.p(), 1.0);
        pi.update(0.0);
        assert_eq!(pi.state(), (0.0, 0.0));
    }
}
