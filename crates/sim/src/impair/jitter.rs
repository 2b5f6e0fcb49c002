//! Delay that varies: each packet takes a random time longer than propagation.
//!
//! The extra delay is never negative, so that the mean delay is the link's and `mean`. Under `order` = kept a
//! packet waits for the one before it, as behind a radio link that retransmits in order; the extra
//! delay is then larger than drawn. Under free it does not (packets over several paths), and packets
//! that follow each other more closely than delays differ are reordered.

use marqueue_core::params::{required, ParamError, ParamSet, ParamSpec, ParamValues};
use marqueue_core::{Dur, Rng, Time};

marqueue_core::choice! {
    /// How the extra delay is distributed.
    pub enum Distribution {
        /// Uniform from zero to twice the mean.
        Uniform = "uniform",
        /// Exponential.
        Exponential = "exponential",
    }
}

marqueue_core::choice! {
    /// What becomes of the order of packets.
    pub enum Order {
        /// It is kept: a packet waits for the one before it.
        Kept = "kept",
        /// It is not.
        Free = "free",
    }
}

marqueue_core::params! {
    /// Parameters of delay that varies.
    pub struct Params {
        /// Mean of the extra delay.
        mean: Option<f64> { unit: Seconds, range: 0.0 => 3600.0, default: None, source: "marqueue" },
        /// Its distribution: uniform from zero to twice the mean, or exponential.
        distribution: Distribution { default: Distribution::Uniform, source: "marqueue" },
        /// Does a packet wait for the one before it (kept), or may it overtake (free)?
        order: Order { default: Order::Kept, source: "marqueue; most links keep the order" },
    }
}

/// See the head of this file.
#[derive(Debug)]
pub struct Jitter {
    mean: f64,
    distribution: Distribution,
    order: Order,
    /// When the packet before arrives.
    last: Time,
}

impl Jitter {
    /// Its parameters.
    pub fn specs() -> Vec<ParamSpec> {
        Params::specs()
    }

    /// The jitter with these parameters.
    ///
    /// # Errors
    /// Names the parameter that is refused.
    pub fn build(values: &ParamValues) -> Result<Jitter, ParamError> {
        let params = Params::from_values(values)?;
        let mean = required(params.mean, "mean")?;
        Ok(Jitter { mean, distribution: params.distribution, order: params.order, last: Time::ZERO })
    }

    /// Do packets keep their order?
    pub fn keeps_order(&self) -> bool {
        self.order == Order::Kept
    }

    /// When the next packet arrives, which would be due at `due`.
    pub fn arrival(&mut self, due: Time, rng: &mut Rng) -> Time {
        let extra = match self.distribution {
            Distribution::Uniform => 2.0 * self.mean * rng.uniform(),
            Distribution::Exponential => rng.exponential(self.mean),
        };
        let at = due + Dur::from_secs(extra);
        match self.order {
            Order::Kept => {
                self.last = self.last.max(at);
                self.last
            }
            Order::Free => at,
        }
    }
}
