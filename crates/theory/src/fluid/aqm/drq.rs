//! DRQ: phi is RED's curve of the average queue. A path adds phi times density over its links.
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
        out[0] = self.curve.average_slope(at.own[0], at.queue, at.capacity);
    }

    fn feedback<S: Scalar>(&self, at: &QueueView<'_, S>) -> AqmFeedback<S> {
        AqmFeedback { phi: self.curve.probability(at.own[0]), ..AqmFeedback::marks(S::from(0.0)) }
    }

    fn switch_count(&self) -> usize {
        3
    }

    fn switch_values(&self, at: &QueueView<'_, f64>, out: &mut [f64]) {
        self.curve.switch_values(at.own[0], out);
    }
}
