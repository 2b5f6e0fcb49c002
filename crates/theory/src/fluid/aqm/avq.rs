//! AVQ: C~' = alpha (gamma C - lambda), 0 <= C~ <= C; p = max(0, lambda - C~) / lambda.
//!
//! Kunniyur and Srikant, IEEE/ACM ToN 12(2), 2004, (2) and section IV: the virtual queue counts as full
//! whenever the arrival rate exceeds C~.

use super::dynamics::{Aqm, AqmFeedback, LinkParameters, QueueView};
use crate::fluid::invalid::{ensure, positive, Invalid};
use crate::fluid::scalar::Scalar;
use crate::fluid::state::State;
use serde::{Deserialize, Serialize};

/// Parameters.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Avq {
    /// Desired utilization.
    pub gamma: f64,
    /// Gain, 1/s.
    pub alpha: f64,
    /// Initial C~ as a share of C.
    pub initial: f64,
}

impl Aqm for Avq {
    fn check(&self, link: &LinkParameters) -> Result<(), Invalid> {
        ensure("gamma", self.gamma, self.gamma > 0.0 && self.gamma <= 1.0, "above 0, at most 1")?;
        positive("alpha", self.alpha)?;
        ensure("initial", self.initial, (0.0..=1.0).contains(&self.initial), "from 0 to 1")?;
        let changes = link.changes;
        ensure("name", changes as f64, changes == 0, "a link without changes of its capacity")
    }

    fn states(&self, link: &LinkParameters) -> Vec<State> {
        let scale = 1e-3 * link.capacity;
        vec![State::free("virtual capacity", "packets/s", scale).within(0.0, link.capacity)]
    }

    fn initial(&self, link: &LinkParameters) -> Vec<f64> {
        vec![self.initial * link.capacity]
    }

    fn slopes<S: Scalar>(&self, at: &QueueView<'_, S>, out: &mut [S]) {
        out[0] = (-at.arrivals + self.gamma * at.capacity) * self.alpha;
    }

    fn feedback<S: Scalar>(&self, at: &QueueView<'_, S>) -> AqmFeedback<S> {
        let excess = at.arrivals - at.own[0];
        AqmFeedback::marks(if excess.value() > 0.0 { excess / at.arrivals } else { S::from(0.0) })
    }

    fn switch_count(&self) -> usize {
        1
    }

    fn switch_values(&self, at: &QueueView<'_, f64>, out: &mut [f64]) {
        out[0] = at.arrivals - at.own[0];
    }
}
