//! Losses in bursts: a channel with a good and a bad state, and random transitions between them.
//!
//! Gilbert, "Capacity of a burst-noise channel", Bell System Technical Journal 39, 1960, with losses in
//! both states as in Elliott, "Estimates of error rates for codes on burst-noise channels", BSTJ 42,
//! 1963. With `to_bad` = p and `to_good` = r, a share p/(p + r) of packets meets the bad state, the mean loss is
//! (r `loss_good` + p `loss_bad`)/(p + r), and the bad state lasts 1/r packets on average. A transition follows each
//! packet; time without packets has no effect. The initial state is drawn from the stationary distribution.

use super::loss_model::LossModel;
use marqueue_core::params::{required, ParamError};
use marqueue_core::Rng;

marqueue_core::params! {
    /// Parameters of Gilbert-Elliott losses.
    pub struct Params {
        /// Probability of a transition to the bad state after a packet in the good state.
        to_bad: Option<f64> { unit: Fraction, range: 0.0 => 1.0, default: None, source: "Gilbert 1960" },
        /// Probability of a transition to the good state after a packet in the bad state. Its inverse is the mean
        /// length of a bad period in packets.
        to_good: Option<f64> { unit: Fraction, range: 0.0 => 1.0, default: None, source: "Gilbert 1960" },
        /// Loss probability of a packet in the good state.
        loss_good: f64 { unit: Fraction, range: 0.0 => 1.0, default: 0.0, source: "Elliott 1963; zero as in Gilbert 1960" },
        /// Loss probability of a packet in the bad state.
        loss_bad: f64 { unit: Fraction, range: 0.0 => 1.0, default: 1.0, source: "Elliott 1963; one is the simplified Gilbert channel" },
    }
}

/// The Gilbert-Elliott channel with its state.
#[derive(Debug)]
pub struct Gilbert {
    to_bad: f64,
    to_good: f64,
    loss_good: f64,
    loss_bad: f64,
    /// True in the bad state; `None` before the first packet.
    is_bad: Option<bool>,
}

impl LossModel for Gilbert {
    const NAME: &'static str = "gilbert";
    const SUMMARY: &'static str = "Losses in bursts: a good and a bad state, each with its own loss probability";
    const SOURCE: &'static str = "Gilbert, BSTJ 39, 1960; Elliott, BSTJ 42, 1963";
    type Params = Params;

    fn new(params: &Params) -> Result<Self, ParamError> {
        let to_bad = required(params.to_bad, "to_bad")?;
        let to_good = required(params.to_good, "to_good")?;
        if to_bad + to_good == 0.0 {
            return Err(ParamError::new("to_good", "got 0 with to_bad 0, expected at least one above 0"));
        }
        Ok(Gilbert { to_bad, to_good, loss_good: params.loss_good, loss_bad: params.loss_bad, is_bad: None })
    }

    fn is_lost(&mut self, rng: &mut Rng) -> bool {
        let is_bad = match self.is_bad {
            Some(is_bad) => is_bad,
            None => rng.uniform() < self.to_bad / (self.to_bad + self.to_good),
        };
        let (loss, transition) = if is_bad { (self.loss_bad, self.to_good) } else { (self.loss_good, self.to_bad) };
        let lost = rng.uniform() < loss;
        self.is_bad = Some(is_bad != (rng.uniform() < transition));
        lost
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The lengths of the bursts of losses among `n` packets, and the number of lost packets.
    fn bursts(params: &Params, n: u32) -> (Vec<u32>, u32) {
        let mut model = Gilbert::new(params).unwrap();
        let mut rng = Rng::named(1, "gilbert");
        let (mut bursts, mut lost, mut burst) = (Vec::new(), 0, 0);
        for _ in 0..n {
            if model.is_lost(&mut rng) {
                (lost, burst) = (lost + 1, burst + 1);
            } else if burst > 0 {
                bursts.push(burst);
                burst = 0;
            }
        }
        (bursts, lost)
    }

    #[test]
    fn mean_loss_and_burst_length_are_those_of_the_chain() {
        let n = 1_000_000;
        for (p, r) in [(0.01, 0.2), (0.002, 0.05), (0.3, 0.7)] {
            let params = Params { to_bad: Some(p), to_good: Some(r), loss_good: 0.0, loss_bad: 1.0 };
            let (lengths, lost) = bursts(&params, n);
            let bad = p / (p + r);
            // The variance of the mean of a two-state chain: correlations decay as (1 - p - r)^k.
            let sd = (bad * (1.0 - bad) * (2.0 - p - r) / (p + r) / f64::from(n)).sqrt();
            let share = f64::from(lost) / f64::from(n);
            assert!((share - bad).abs() < 4.0 * sd, "loss {share}, expected {bad}");
            let mean = f64::from(lost) / lengths.len() as f64;
            // A geometric law with mean 1/r has variance (1 - r)/r^2.
            let sd = ((1.0 - r) / r / r / lengths.len() as f64).sqrt();
            assert!((mean - 1.0 / r).abs() < 4.0 * sd, "bursts of {mean}, expected {}", 1.0 / r);
        }
    }

    #[test]
    fn each_state_has_its_own_loss() {
        let params = Params { to_bad: Some(0.1), to_good: Some(0.3), loss_good: 0.02, loss_bad: 0.6 };
        let n = 1_000_000;
        let share = f64::from(bursts(&params, n).1) / f64::from(n);
        let expected = (0.3 * 0.02 + 0.1 * 0.6) / 0.4;
        // An upper bound: the variance of the trials at a loss of 0.165, increased by the correlation of the chain.
        let sd = (0.14 * (1.0 + 2.0 * 0.6 / 0.4) / f64::from(n)).sqrt();
        assert!((share - expected).abs() < 4.0 * sd, "{share}, expected {expected}");
    }
}
