//! Scaled marking: p = curve(q / N^a) of the instantaneous queue.
//!
//! Eun and Wang, IEEE/ACM ToN 16(4), 2008, section II-B. The paper models random queues: with a mean queue far below
//! the first threshold some packets are marked. This model marks none there. The probability is linear between whole
//! numbers of packets. Curves may have jumps, and a queue with losses would have no equilibrium at a jump.

use super::dynamics::{Aqm, AqmFeedback, LinkParameters, QueueView};
use crate::fluid::invalid::{ensure, positive, Invalid};
use crate::fluid::scalar::Scalar;
use marqueue_core::{math, MarkingCurve};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// Parameters.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Scaled {
    /// The curve of one flow.
    #[serde(deserialize_with = "read", serialize_with = "write")]
    pub curve: MarkingCurve,
    /// Number of flows N.
    pub flows: f64,
    /// Exponent of N in the thresholds.
    pub a: f64,
}

fn read<'a, D: Deserializer<'a>>(from: D) -> Result<MarkingCurve, D::Error> {
    MarkingCurve::parse(&String::deserialize(from)?).map_err(serde::de::Error::custom)
}

fn write<S: Serializer>(curve: &MarkingCurve, to: S) -> Result<S::Ok, S::Error> {
    to.collect_str(curve)
}

impl Scaled {
    fn factor(&self) -> f64 {
        math::powf(self.flows, self.a)
    }
}

impl Aqm for Scaled {
    fn check(&self, _: &LinkParameters) -> Result<(), Invalid> {
        positive("flows", self.flows)?;
        ensure("a", self.a, (0.0..=1.0).contains(&self.a), "from 0 to 1")
    }

    fn feedback<S: Scalar>(&self, at: &QueueView<'_, S>) -> AqmFeedback<S> {
        let whole = at.queue.value().max(0.0).floor();
        let p = |queue: f64| self.curve.p(queue / self.factor());
        let (here, next) = (p(whole), p(whole + 1.0));
        AqmFeedback::marks((at.queue - whole) * (next - here) + here)
    }
}
