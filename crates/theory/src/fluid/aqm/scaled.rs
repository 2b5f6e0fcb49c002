//! Scaled marking: p = curve(q / N^a) of the instantaneous queue.
//!
//! Eun and Wang, IEEE/ACM ToN 16(4), 2008, section II-B. The paper's own model is of random queues: there a queue
//! far below the first threshold in the mean marks now and then, which this one does not know.
//! Between whole numbers of packets the probability is linear: curves may jump, and where marks are losses a queue
//! could neither stay above a jump nor below it. A queue of k or k + 1 packets can.

use super::dynamics::{Aqm, AqmFeedback, LinkParameters, QueueView};
use crate::fluid::invalid::{ensure, positive, Invalid};
use crate::fluid::scalar::Scalar;
use marqueue_core::MarkingCurve;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// Parameters.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Scaled {
    /// Of one flow.
    #[serde(deserialize_with = "read", serialize_with = "write")]
    pub curve: MarkingCurve,
    /// N.
    pub flows: f64,
    /// Exponent of the thresholds.
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
        self.flows.powf(self.a)
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
