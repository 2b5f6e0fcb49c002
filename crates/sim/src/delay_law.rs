//! Distributions of the propagation delays of flows.

use marqueue_core::params::ParamError;
use marqueue_core::{math, Dur, Rng};
use serde::{Deserialize, Serialize};

/// Longest draw. Longer ones, which only a wide lognormal has, are drawn again.
const MAX_DRAW: f64 = 1e9;
/// Draws of a lognormal delay before its distribution is taken to lie below its least delay.
const MAX_TRIES: u32 = 10_000;

/// The distribution of a one-way propagation delay.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub enum DelayLaw {
    /// The same delay for every flow.
    Constant {
        /// That delay.
        delay: Dur,
    },
    /// Uniform between two delays.
    Uniform {
        /// Shortest delay.
        least: Dur,
        /// Longest delay.
        most: Dur,
    },
    /// A least delay plus an exponential time.
    Exponential {
        /// Shortest delay.
        least: Dur,
        /// Mean delay, at least `least`.
        mean: Dur,
    },
    /// A lognormal time less a constant. Draws below `least` are drawn again.
    Lognormal {
        /// Median of the lognormal time.
        median: Dur,
        /// Standard deviation of its logarithm.
        sigma: f64,
        /// The constant.
        less: Dur,
        /// Shortest delay.
        least: Dur,
    },
    /// One of these delays, each with equal probability.
    Empirical {
        /// The delays.
        delays: Vec<Dur>,
    },
}

impl DelayLaw {
    /// The shortest delay that it can give.
    pub fn least(&self) -> Dur {
        match self {
            DelayLaw::Constant { delay } => *delay,
            DelayLaw::Uniform { least, .. }
            | DelayLaw::Exponential { least, .. }
            | DelayLaw::Lognormal { least, .. } => *least,
            DelayLaw::Empirical { delays } => delays.iter().copied().min().unwrap_or(Dur::ZERO),
        }
    }

    /// The longest delay among its parameters.
    pub fn longest(&self) -> Dur {
        match self {
            DelayLaw::Constant { delay } => *delay,
            DelayLaw::Uniform { most, .. } => *most,
            DelayLaw::Exponential { mean, .. } => *mean,
            DelayLaw::Lognormal { median, less, least, .. } => *median.max(less).max(least),
            DelayLaw::Empirical { delays } => delays.iter().copied().max().unwrap_or(Dur::ZERO),
        }
    }

    /// Draws a delay, rounded to nanoseconds.
    pub fn draw(&self, rng: &mut Rng) -> Dur {
        match self {
            DelayLaw::Constant { delay } => *delay,
            DelayLaw::Uniform { least, most } => {
                Dur::from_secs(least.secs() + (most.secs() - least.secs()) * rng.uniform())
            }
            DelayLaw::Exponential { least, mean } => {
                Dur::from_secs(least.secs() + rng.exponential(mean.secs() - least.secs()))
            }
            DelayLaw::Lognormal { median, sigma, less, least } => {
                let draws = (0..MAX_TRIES).map(|_| median.secs() * math::exp(sigma * rng.normal()) - less.secs());
                let kept = draws.into_iter().find(|&delay| delay >= least.secs() && delay <= MAX_DRAW);
                Dur::from_secs(kept.unwrap_or(least.secs()))
            }
            DelayLaw::Empirical { delays } => delays[rng.below(delays.len() as u32) as usize],
        }
    }

    /// Checks the parameters.
    ///
    /// # Errors
    /// Names the first invalid value.
    pub fn check(&self) -> Result<(), ParamError> {
        let expect = |ok: bool, path: &str, message: &str| match ok {
            true => Ok(()),
            false => Err(ParamError::new(path, message)),
        };
        match self {
            DelayLaw::Constant { .. } => Ok(()),
            DelayLaw::Uniform { least, most } => expect(least <= most, "most", "expected at least the shortest delay"),
            DelayLaw::Exponential { least, mean } => {
                expect(least <= mean, "mean", "expected at least the shortest delay")
            }
            DelayLaw::Lognormal { median, sigma, .. } => {
                expect(*median > Dur::ZERO, "median", "expected a time above zero")?;
                expect(*sigma > 0.0 && *sigma <= 5.0, "sigma", "expected more than 0 and at most 5")
            }
            DelayLaw::Empirical { delays } => expect(!delays.is_empty(), "delays", "expected at least one delay"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ms(x: f64) -> Dur {
        Dur::from_secs(x / 1e3)
    }

    fn draws(law: &DelayLaw) -> Vec<f64> {
        let mut rng = Rng::named(1, "delays");
        law.check().expect("a valid law");
        (0..40_000).map(|_| law.draw(&mut rng).secs() * 1e3).collect()
    }

    fn mean(x: &[f64]) -> f64 {
        x.iter().sum::<f64>() / x.len() as f64
    }

    fn share_below(x: &[f64], limit: f64) -> f64 {
        x.iter().filter(|&&d| d < limit).count() as f64 / x.len() as f64
    }

    // Five standard errors of a share of n = 40,000 draws are at most 5 * 0.5 / 200 = 0.0125.

    #[test]
    fn uniform_delays_have_a_straight_distribution_function() {
        let x = draws(&DelayLaw::Uniform { least: ms(20.0), most: ms(100.0) });
        assert!(x.iter().all(|&d| (20.0..=100.0).contains(&d)));
        for k in 1..8 {
            let limit = 20.0 + 10.0 * f64::from(k);
            assert!((share_below(&x, limit) - f64::from(k) / 8.0).abs() < 0.0125, "{limit}");
        }
    }

    #[test]
    fn exponential_delays_start_at_the_least_and_have_the_mean() {
        let x = draws(&DelayLaw::Exponential { least: ms(20.0), mean: ms(50.0) });
        assert!(x.iter().all(|&d| d >= 20.0));
        // Standard error 30 / 200.
        assert!((mean(&x) - 50.0).abs() < 0.75, "{}", mean(&x));
        assert!((share_below(&x, 20.0 + 30.0 * 2f64.ln()) - 0.5).abs() < 0.0125);
    }

    #[test]
    fn lognormal_delays_have_the_median_where_nothing_is_cut_off() {
        let x = draws(&DelayLaw::Lognormal { median: ms(80.0), sigma: 0.5, less: ms(10.0), least: Dur::ZERO });
        assert!((share_below(&x, 70.0) - 0.5).abs() < 0.0125);
        // One standard deviation of the logarithm above the median lies 84.13 % of the distribution.
        assert!((share_below(&x, 80.0 * 0.5f64.exp() - 10.0) - 0.8413).abs() < 0.0125);
    }

    #[test]
    fn lognormal_delays_below_the_least_are_drawn_again() {
        let x = draws(&DelayLaw::Lognormal { median: ms(80.0), sigma: 0.5, less: Dur::ZERO, least: ms(80.0) });
        assert!(x.iter().all(|&d| d >= 80.0));
        // The upper half: 84.13 % of the whole is 68.27 % of it.
        assert!((share_below(&x, 80.0 * 0.5f64.exp()) - 0.6827).abs() < 0.0125);
    }

    #[test]
    fn empirical_delays_are_equally_likely() {
        let x = draws(&DelayLaw::Empirical { delays: vec![ms(1.0), ms(5.0), ms(5.0), ms(9.0)] });
        assert!((share_below(&x, 2.0) - 0.25).abs() < 0.0125);
        assert!((share_below(&x, 6.0) - 0.75).abs() < 0.0125);
    }
}
