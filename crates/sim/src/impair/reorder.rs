//! Reordering: a share of packets is delayed, and packets that follow within the delay overtake them.
//!
//! At R packets a second, a packet delayed by d is overtaken by R d others, unless these are delayed too. This number
//! is its reordering extent (RFC 4737, section 4.2.1). A TCP sender retransmits the packet if the extent reaches its
//! duplicate threshold.

use marqueue_core::params::{required, ParamError, ParamSet, ParamSpec, ParamValues};
use marqueue_core::{Dur, Rng, Time};

marqueue_core::params! {
    /// Parameters of reordering.
    pub struct Params {
        /// Probability that a packet is delayed.
        probability: Option<f64> { unit: Fraction, range: 0.0 => 1.0, default: None, source: "marqueue" },
        /// Extra delay of these packets.
        delay: Option<f64> { unit: Seconds, range: 0.0 => 3600.0, default: None, source: "marqueue" },
    }
}

/// Reordering by extra delay.
#[derive(Debug)]
pub struct Reorder {
    probability: f64,
    delay: Dur,
}

impl Reorder {
    /// The declared parameters.
    pub fn specs() -> Vec<ParamSpec> {
        Params::specs()
    }

    /// The reordering with these parameters.
    ///
    /// # Errors
    /// Names the invalid parameter.
    pub fn build(values: &ParamValues) -> Result<Reorder, ParamError> {
        let params = Params::from_values(values)?;
        let probability = required(params.probability, "probability")?;
        Ok(Reorder { probability, delay: Dur::from_secs(required(params.delay, "delay")?) })
    }

    /// The arrival time of the next packet, which is `due` without reordering.
    pub fn arrival(&mut self, due: Time, rng: &mut Rng) -> Time {
        if rng.uniform() < self.probability {
            due + self.delay
        } else {
            due
        }
    }
}
