//! Independent losses: each packet is lost with the same probability.
//!
//! The square-root law and PFTK assume such a channel in their simplest form. With a probability of zero, random
//! numbers are drawn but no packet is lost.

use super::loss_model::LossModel;
use marqueue_core::params::{required, ParamError};
use marqueue_core::Rng;

marqueue_core::params! {
    /// Parameters of independent losses.
    pub struct Params {
        /// Loss probability of a packet.
        probability: Option<f64> { unit: Fraction, range: 0.0 => 1.0, default: None, source: "marqueue" },
    }
}

/// Independent losses.
#[derive(Debug)]
pub struct Random {
    probability: f64,
}

impl LossModel for Random {
    const NAME: &'static str = "random";
    const SUMMARY: &'static str = "Each packet is lost with the same probability, independently";
    const SOURCE: &'static str = "Bernoulli trials";
    type Params = Params;

    fn new(params: &Params) -> Result<Self, ParamError> {
        Ok(Random { probability: required(params.probability, "probability")? })
    }

    #[inline]
    fn is_lost(&mut self, rng: &mut Rng) -> bool {
        rng.uniform() < self.probability
    }
}
