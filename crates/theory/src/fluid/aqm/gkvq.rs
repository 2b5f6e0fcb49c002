//! GKVQ: a virtual queue of theta B served at theta C; everything is marked from its overflow until it is empty.
//!
//! Gibbens and Kelly, ITC 16, 1999, as described in Kunniyur and Srikant 2004, section III, Experiment 2.

use super::{Aqm, Sight, Told};
use crate::fluid::description::{ensure, Invalid, Link};
use crate::fluid::scalar::Scalar;
use crate::fluid::state::{Mode, State};
use serde::{Deserialize, Serialize};

/// Parameters.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Gkvq {
    /// Virtual capacity and buffer as a part of the real ones.
    pub theta: f64,
}

impl Aqm for Gkvq {
    fn check(&self, link: &Link) -> Result<(), Invalid> {
        ensure("theta", self.theta, self.theta > 0.0 && self.theta <= 1.0, "above 0, at most 1")?;
        let buffer = link.buffer.unwrap_or(f64::INFINITY);
        ensure("theta", self.theta, buffer.is_finite(), "a finite buffer to be a part of")
    }

    fn states(&self, link: &Link) -> Vec<State> {
        let most = self.theta * link.buffer.unwrap_or(f64::INFINITY);
        vec![State::free("virtual queue", "packets", 1.0).within(0.0, most)]
    }

    fn initial(&self, _: &Link) -> Vec<f64> {
        vec![0.0]
    }

    fn slopes<S: Scalar>(&self, at: &Sight<'_, S>, out: &mut [S]) {
        out[0] = at.arrivals - self.theta * at.capacity;
    }

    fn told<S: Scalar>(&self, at: &Sight<'_, S>) -> Told<S> {
        let up = matches!(at.modes[0], Mode::Upper | Mode::Fallen);
        Told::marks(S::from(f64::from(u8::from(up))))
    }
}
