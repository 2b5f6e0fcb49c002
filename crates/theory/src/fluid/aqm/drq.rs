//! DRQ: RED's curve of the average is phi, which a path multiplies by densities and adds up.
//!
//! Shin, Chong and Rhee, (10)-(15): avg' = eta (q - avg), phi = curve(avg); see [`crate::fluid::Model`] for (15).

use super::curve::Curve;
use super::dynamics::{Aqm, AqmFeedback, LinkParameters, QueueView};
use crate::fluid::invalid::Invalid;
use crate::fluid::scalar::Scalar;
use crate::fluid::state::State;
use serde::{Deserialize, Serialize};

/// The curve.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Drq {
    /// Its parameters.
    pub curve: Curve,
}

impl Aqm for Drq {
    fn check(&self, _: &LinkParameters) -> Result<(), Invalid> {
        self.curve.check()
    }

    fn states(&self, _: &LinkParameters) -> Vec<State> {
        vec![State::free("average", "packets", 1.0)]
    }

    fn initial(&self, link: &LinkParameters) -> Vec<f64> {
        vec![link.queue]
    }

    fn slopes<S: Scalar>(&self, at: &QueueView<'_, S>, out: &mut [S]) {
        out[0] = self.curve.follow(at.own[0], at.queue, at.capacity);
    }

    fn feedback<S: Scalar>(&self, at: &QueueView<'_, S>) -> AqmFeedback<S> {
        AqmFeedback { phi: self.curve.probability(at.own[0]), ..AqmFeedback::marks(S::from(0.0)) }
    }

    fn corners(&self) -> usize {
        3
    }

    fn corner(&self, at: &QueueView<'_, f64>, out: &mut [f64]) {
        self.curve.corners(at.own[0], out);
    }
}
