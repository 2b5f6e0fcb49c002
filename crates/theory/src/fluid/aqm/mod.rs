//! The AQMs as differential equations, one file each, and the list of them.

mod avq;
mod curve;
mod droptail;
mod drq;
mod dynamics;
mod gkvq;
mod mkc;
mod pi;
mod red;
mod rem;
mod scaled;

pub use dynamics::{Aqm, AqmFeedback, LinkParameters, QueueView};

use super::invalid::Invalid;
use super::scalar::Scalar;
use super::state::State;
use serde::{Deserialize, Serialize};

macro_rules! aqms {
    ($($(#[$doc:meta])* $module:ident :: $variant:ident,)*) => {
        /// The list: an AQM with its parameters, in base units.
        #[derive(Clone, Debug, Serialize, Deserialize)]
        #[serde(tag = "name", rename_all = "kebab-case")]
        pub enum Policy {$($(#[$doc])* $variant($module::$variant),)*}

        /// The names of the list.
        pub const NAMES: &[&str] = &[$(stringify!($module)),*];

        impl Aqm for Policy {
            fn check(&self, link: &LinkParameters) -> Result<(), Invalid> {
                match self {$(Policy::$variant(aqm) => aqm.check(link),)*}
            }

            fn states(&self, link: &LinkParameters) -> Vec<State> {
                match self {$(Policy::$variant(aqm) => aqm.states(link),)*}
            }

            fn initial(&self, link: &LinkParameters) -> Vec<f64> {
                match self {$(Policy::$variant(aqm) => aqm.initial(link),)*}
            }

            fn slopes<S: Scalar>(&self, at: &QueueView<'_, S>, out: &mut [S]) {
                match self {$(Policy::$variant(aqm) => aqm.slopes(at, out),)*}
            }

            fn feedback<S: Scalar>(&self, at: &QueueView<'_, S>) -> AqmFeedback<S> {
                match self {$(Policy::$variant(aqm) => aqm.feedback(at),)*}
            }

            fn corners(&self) -> usize {
                match self {$(Policy::$variant(aqm) => aqm.corners(),)*}
            }

            fn corner(&self, at: &QueueView<'_, f64>, out: &mut [f64]) {
                match self {$(Policy::$variant(aqm) => aqm.corner(at, out),)*}
            }
        }
    };
}

aqms! {
    /// Drop-tail: drops of a full buffer only.
    droptail::Droptail,
    /// RED.
    red::Red,
    /// PI.
    pi::Pi,
    /// REM.
    rem::Rem,
    /// AVQ.
    avq::Avq,
    /// GKVQ.
    gkvq::Gkvq,
    /// DRQ.
    drq::Drq,
    /// The router of MKC.
    mkc::Mkc,
    /// Scaled marking.
    scaled::Scaled,
}
