//! Reordering: a share of packets is held back, and packets that follow within that time overtake them.
//!
//! At a rate of R packets a second a packet held back by d is overtaken by R d others: its reordering
//! extent (RFC 4737, section 4.2.1), as long as those are not held back themselves. A TCP whose duplicate
//! threshold is not larger retransmits it.

use marqueue_core::params::{required, ParamError, ParamSet, ParamSpec, ParamValues};
use marqueue_core::{Dur, Rng, Time};

marqueue_core::params! {
    /// Parameters of reordering.
    pub struct Params {
        /// Probability with which a packet is held back.
        probability: Option<f64> { unit: Fraction, range: 0.0 => 1.0, default: None, source: "marqueue" },
        /// For how long.
        delay: Option<f64> { unit: Seconds, range: 0.0 => 3600.0, default: None, source: "marqueue" },
    }
}

/// See the head of this file.
#[derive(Debug)]
pub struct Reorder {
    probability: f64,
    delay: Dur,
}

impl Reorder {
    /// Its parameters.
    pub fn specs() -> Vec<ParamSpec> {
        Params::specs()
    }

    /// The reordering with these parameters.
    ///
    /// # Errors
    /// Names the parameter that is refused.
    pub fn build(values: &ParamValues) -> Result<Reorder, ParamError> {
        let params = Params::from_values(values)?;
        let probability = required(params.probability, "probability")?;
        Ok(Reorder { probability, delay: Dur::from_secs(required(params.delay, "delay")?) })
    }

    /// When the next packet arrives, which would at `due`.
    pub fn arrival(&mut self, due: Time, rng: &mut Rng) -> Time {
        if rng.uniform() < self.probability {
            due + self.delay
        } else {
            due
        }
    }
}
