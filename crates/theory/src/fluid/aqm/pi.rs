//! PI: p' = w ((a - b) (q - q_ref)) + a q', within 0 and 1.
//!
//! Hollot, Misra, Towsley and Gong, INFOCOM 2001, section V: p[k+1] = p[k] + a (q[k+1] - q_ref) - b (q[k] - q_ref), w
//! times a second, in the limit of short intervals: a q[k+1] - b q[k] is (a - b) q[k] + a (q[k+1] - q[k]).

use super::dynamics::{Aqm, AqmFeedback, LinkParameters, QueueView};
use crate::fluid::invalid::{ensure, positive, Invalid};
use crate::fluid::scalar::Scalar;
use crate::fluid::state::State;
use serde::{Deserialize, Serialize};

/// Parameters.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Pi {
    /// Gain on the new queue, 1/packet.
    pub a: f64,
    /// Gain on the previous queue, 1/packet.
    pub b: f64,
    /// Updates a second.
    pub w: f64,
    /// Target queue, packets.
    pub q_ref: f64,
}

impl Aqm for Pi {
    fn check(&self, _: &LinkParameters) -> Result<(), Invalid> {
        positive("a", self.a)?;
        ensure("b", self.b, self.b > 0.0 && self.b < self.a, "above 0 and below a")?;
        positive("w", self.w)?;
        ensure("q_ref", self.q_ref, self.q_ref >= 0.0, "from 0 packets")
    }

    fn states(&self, _: &LinkParameters) -> Vec<State> {
        vec![State::free("probability", "1", 1e-3).within(0.0, 1.0)]
    }

    fn initial(&self, _: &LinkParameters) -> Vec<f64> {
        vec![0.0]
    }

    fn slopes<S: Scalar>(&self, at: &QueueView<'_, S>, out: &mut [S]) {
        out[0] = (at.queue - self.q_ref) * (self.w * (self.a - self.b)) + at.growth * self.a;
    }

    fn feedback<S: Scalar>(&self, at: &QueueView<'_, S>) -> AqmFeedback<S> {
        AqmFeedback::marks(at.own[0])
    }
}
