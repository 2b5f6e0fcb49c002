//! Jitter: each packet has a random delay in addition to the propagation delay.
//!
//! The extra delay is never negative, so the mean delay is the propagation delay plus `mean`. With `order = "kept"` a
//! packet does not arrive before the previous one, as on a radio link that retransmits in order. Its extra delay may
//! then be longer than drawn. With `order = "free"` packets may overtake each other, as on several paths.

use marqueue_core::params::{required, ParamError, ParamSet, ParamSpec, ParamValues};
use marqueue_core::{Dur, Rng, Time};

marqueue_core::choice! {
    /// The distribution of the extra delay.
    pub enum Distribution {
        /// Uniform from zero to twice the mean.
        Uniform = "uniform",
        /// Exponential.
        Exponential = "exponential",
    }
}

marqueue_core::choice! {
    /// The order of packets.
    pub enum Order {
        /// A packet does not arrive before the previous one.
        Kept = "kept",
        /// Packets may overtake each other.
        Free = "free",
    }
}

marqueue_core::params! {
    /// Parameters of jitter.
    pub struct Params {
        /// Mean of the extra delay.
        mean: Option<f64> { unit: Seconds, range: 0.0 => 3600.0, default: None, source: "marqueue" },
        /// Distribution of the extra delay: uniform from zero to twice the mean, or exponential.
        distribution: Distribution { default: Distribution::Uniform, source: "marqueue" },
        /// Order of packets: kept, or free if packets may overtake each other.
        order: Order { default: Order::Kept, source: "marqueue; most links keep the order" },
    }
}

/// Jitter with its state.
#[derive(Debug)]
pub struct Jitter {
    mean: f64,
    distribution: Distribution,
    order: Order,
    /// When the previous packet arrives.
    last_arrival: Time,
}

impl Jitter {
    /// The declared parameters.
    pub fn specs() -> Vec<ParamSpec> {
        Params::specs()
    }

    /// The jitter with these parameters.
    ///
    /// # Errors
    /// Names the invalid parameter.
    pub fn build(values: &ParamValues) -> Result<Jitter, ParamError> {
        let params = Params::from_values(values)?;
        let mean = required(params.mean, "mean")?;
        Ok(Jitter { mean, distribution: params.distribution, order: params.order, last_arrival: Time::ZERO })
    }

    /// Does it keep the order of packets?
    pub fn keeps_order(&self) -> bool {
        self.order == Order::Kept
    }

    /// The arrival time of the next packet, which is `due` without jitter.
    pub fn arrival(&mut self, due: Time, rng: &mut Rng) -> Time {
        let extra = match self.distribution {
            Distribution::Uniform => 2.0 * self.mean * rng.uniform(),
            Distribution::Exponential => rng.exponential(self.mean),
        };
        let at = due + Dur::from_secs(extra);
        match self.order {
            Order::Kept => {
                self.last_arrival = self.last_arrival.max(at);
                self.last_arrival
            }
            Order::Free => at,
        }
    }
}
