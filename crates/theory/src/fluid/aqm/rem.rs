//! REM: mu' = gamma (alpha (q - q_ref) / T + q'), mu >= 0; p = 1 - phi^(-mu).
//!
//! Athuraliya, Li, Low and Yin, IEEE Network 15(3), 2001, as written in Kunniyur and Srikant 2004:
//! mu <- max(0, mu + gamma (q[k+1] - (1 - alpha) q[k] - alpha q_ref)) every T, in the limit of short intervals:
//! q[k+1] - (1 - alpha) q[k] is alpha q[k] + (q[k+1] - q[k]).

use super::dynamics::{Aqm, AqmFeedback, LinkParameters, QueueView};
use crate::fluid::invalid::{ensure, positive, Invalid};
use crate::fluid::scalar::Scalar;
use crate::fluid::state::State;
use marqueue_core::math;
use serde::{Deserialize, Serialize};

/// Parameters.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Rem {
    /// Gain of an update.
    pub gamma: f64,
    /// Base of the probability.
    pub phi: f64,
    /// Weight of the queue.
    pub alpha: f64,
    /// Update interval T, s.
    pub period: f64,
    /// Target queue, packets.
    pub q_ref: f64,
}

impl Aqm for Rem {
    fn check(&self, _: &LinkParameters) -> Result<(), Invalid> {
        positive("gamma", self.gamma)?;
        ensure("phi", self.phi, self.phi > 1.0 && self.phi.is_finite(), "above 1")?;
        positive("alpha", self.alpha)?;
        positive("period", self.period)?;
        ensure("q_ref", self.q_ref, self.q_ref >= 0.0, "from 0 packets")
    }

    fn states(&self, _: &LinkParameters) -> Vec<State> {
        vec![State::free("price", "1", 1.0).within(0.0, f64::INFINITY)]
    }

    fn initial(&self, _: &LinkParameters) -> Vec<f64> {
        vec![0.0]
    }

    fn slopes<S: Scalar>(&self, at: &QueueView<'_, S>, out: &mut [S]) {
        out[0] = ((at.queue - self.q_ref) * (self.alpha / self.period) + at.growth) * self.gamma;
    }

    fn feedback<S: Scalar>(&self, at: &QueueView<'_, S>) -> AqmFeedback<S> {
        AqmFeedback::marks(-(at.own[0] * -math::ln(self.phi)).exp() + 1.0)
    }
}
