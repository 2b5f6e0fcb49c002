//! The router of MKC: price = (X - C) / X, where X is the arrival rate, at least one packet an interval.
//!
//! Zhang, Kang and Loguinov, SIGCOMM 2004, (58). In the paper X is a mean over an interval. Here the law of sources
//! contains the interval instead.

use super::dynamics::{Aqm, AqmFeedback, LinkParameters, QueueView};
use crate::fluid::invalid::{ensure, positive, Invalid};
use crate::fluid::scalar::Scalar;
use serde::{Deserialize, Serialize};

/// Parameters.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Mkc {
    /// The interval, s.
    pub delta: f64,
    /// C as a share of the capacity.
    pub share: f64,
}

impl Aqm for Mkc {
    fn check(&self, _: &LinkParameters) -> Result<(), Invalid> {
        positive("delta", self.delta)?;
        ensure("share", self.share, self.share > 0.0 && self.share <= 1.0, "above 0, at most 1")
    }

    fn feedback<S: Scalar>(&self, at: &QueueView<'_, S>) -> AqmFeedback<S> {
        let x = at.arrivals.at_least(1.0 / self.delta);
        AqmFeedback { price: (x - self.share * at.capacity) / x, ..AqmFeedback::marks(S::from(0.0)) }
    }

    fn switch_count(&self) -> usize {
        1
    }

    fn switch_values(&self, at: &QueueView<'_, f64>, out: &mut [f64]) {
        out[0] = at.arrivals - 1.0 / self.delta;
    }
}
