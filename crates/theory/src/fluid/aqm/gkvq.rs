//! GKVQ: a virtual queue with buffer theta B and capacity theta C. All packets are marked from its overflow until it is
//! empty.
//!
//! Gibbens and Kelly, ITC 16, 1999, as described in Kunniyur and Srikant 2004, section III, Experiment 2.

use super::dynamics::{Aqm, AqmFeedback, LinkParameters, QueueView};
use crate::fluid::invalid::{ensure, Invalid};
use crate::fluid::scalar::Scalar;
use crate::fluid::state::{Mode, State};
use serde::{Deserialize, Serialize};

/// Parameters.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Gkvq {
    /// Virtual capacity and buffer as a share of the real ones.
    pub theta: f64,
}

impl Aqm for Gkvq {
    fn check(&self, link: &LinkParameters) -> Result<(), Invalid> {
        ensure("theta", self.theta, self.theta > 0.0 && self.theta <= 1.0, "above 0, at most 1")?;
        let buffer = link.buffer;
        ensure("theta", self.theta, buffer.is_finite(), "a link with a finite buffer")
    }

    fn states(&self, link: &LinkParameters) -> Vec<State> {
        let most = self.theta * link.buffer;
        vec![State::free("virtual queue", "packets", 1.0).within(0.0, most)]
    }

    fn initial(&self, _: &LinkParameters) -> Vec<f64> {
        vec![0.0]
    }

    fn slopes<S: Scalar>(&self, at: &QueueView<'_, S>, out: &mut [S]) {
        out[0] = at.arrivals - self.theta * at.capacity;
    }

    fn feedback<S: Scalar>(&self, at: &QueueView<'_, S>) -> AqmFeedback<S> {
        let marks = matches!(at.modes[0], Mode::Upper | Mode::Fallen);
        AqmFeedback::marks(S::from(f64::from(u8::from(marks))))
    }
}
