//! RED: the probability is a curve of the average queue.
//!
//! Misra, Gong and Towsley, SIGCOMM 2000, section 4: avg' = -ln(1 - w_q) C (q - avg), p = curve(avg). RED spreads its
//! marks, so the share of marked packets is not p_b = curve(avg). The gaps between marks are uniform over 1 to 1/p_b
//! packets (Floyd and Jacobson 1993, section 7), or over 1/p_b to 2/p_b with `wait` (ns-2.35). The shares are 2 p_b /
//! (1 + p_b) and 2 p_b / (3 + p_b). The papers on fluid models use p_b, as if each packet were marked independently.

use super::curve::Curve;
use super::dynamics::{Aqm, AqmFeedback, LinkParameters, QueueView};
use crate::fluid::invalid::Invalid;
use crate::fluid::scalar::Scalar;
use crate::fluid::state::State;
use serde::{Deserialize, Serialize};

/// Parameters and spreading.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Red {
    /// The curve.
    pub curve: Curve,
    /// The gaps between marks.
    pub gaps: Gaps,
}

/// The distribution of gaps between marks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Gaps {
    /// Geometric: each packet is marked independently.
    Geometric,
    /// Uniform up to 1/p_b packets.
    Uniform,
    /// Uniform from 1/p_b to 2/p_b packets.
    Wait,
}

impl Aqm for Red {
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
        let p = self.curve.probability(at.own[0]);
        AqmFeedback::marks(match self.gaps {
            Gaps::Geometric => p,
            // Where the curve is 1, every packet is dropped.
            _ if p.value() >= 1.0 => p,
            Gaps::Uniform => p * 2.0 / (p + 1.0),
            Gaps::Wait => p * 2.0 / (p + 3.0),
        })
    }

    fn switch_count(&self) -> usize {
        3
    }

    fn switch_values(&self, at: &QueueView<'_, f64>, out: &mut [f64]) {
        self.curve.switch_values(at.own[0], out);
    }
}
