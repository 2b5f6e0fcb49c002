//! No AQM: only the full buffer drops packets, which the model of every queue includes.

use super::dynamics::{Aqm, AqmFeedback, LinkParameters, QueueView};
use crate::fluid::invalid::Invalid;
use crate::fluid::scalar::Scalar;
use serde::{Deserialize, Serialize};

/// No parameters.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Droptail {}

impl Aqm for Droptail {
    fn check(&self, _: &LinkParameters) -> Result<(), Invalid> {
        Ok(())
    }

    fn feedback<S: Scalar>(&self, _: &QueueView<'_, S>) -> AqmFeedback<S> {
        AqmFeedback::marks(S::from(0.0))
    }
}
