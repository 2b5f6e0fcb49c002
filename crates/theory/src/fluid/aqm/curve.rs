//! The average queue of RED and the marking curve over it, for RED and DRQ.

use crate::fluid::invalid::{ensure, positive, Invalid};
use crate::fluid::scalar::Scalar;
use marqueue_core::math;
use serde::{Deserialize, Serialize};

/// A curve that is zero up to `min_th`, then linear to `max_p` at `max_th`. The rest depends on `gentle`.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Curve {
    /// Lower threshold, packets.
    pub min_th: f64,
    /// Upper threshold, packets.
    pub max_th: f64,
    /// Probability at `max_th`.
    pub max_p: f64,
    /// Above `max_th`: if true, linear to 1 at 2 `max_th`; else 1.
    pub gentle: bool,
    /// Weight of a sample in the average. A sample is taken for each packet at the rate of the capacity, so the average
    /// follows the queue at rate -ln(1 - w_q) C (Misra, Gong and Towsley 2000, section 4).
    pub w_q: f64,
}

impl Curve {
    pub(super) fn check(&self) -> Result<(), Invalid> {
        ensure("min_th", self.min_th, self.min_th >= 0.0, "from 0 packets")?;
        ensure("max_th", self.max_th, self.max_th > self.min_th && self.max_th.is_finite(), "above min_th")?;
        ensure("max_p", self.max_p, (0.0..=1.0).contains(&self.max_p), "from 0 to 1")?;
        positive("w_q", self.w_q)?;
        ensure("w_q", self.w_q, self.w_q < 1.0, "below 1")
    }

    /// The probability at an average queue, packets.
    pub fn probability<S: Scalar>(&self, average: S) -> S {
        if average.value() < self.min_th {
            S::from(0.0)
        } else if average.value() < self.max_th {
            (average - self.min_th) * (self.max_p / (self.max_th - self.min_th))
        } else if self.gentle {
            ((average - self.max_th) * ((1.0 - self.max_p) / self.max_th) + self.max_p).at_most(1.0)
        } else {
            S::from(1.0)
        }
    }

    /// The slope of the average, packets/s.
    pub fn average_slope<S: Scalar>(&self, average: S, queue: S, capacity: f64) -> S {
        (queue - average) * (-math::ln_1p(-self.w_q) * capacity)
    }

    /// The switching functions, zero at the kinks of the curve.
    pub fn switch_values(&self, average: f64, out: &mut [f64]) {
        out.copy_from_slice(&[average - self.min_th, average - self.max_th, average - 2.0 * self.max_th]);
    }
}
