//! AQMs as differential equations. Each is one file and one line in the list below.

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
        /// An AQM with its parameters in base units.
        #[derive(Clone, Debug, Serialize, Deserialize)]
        #[serde(tag = "name", rename_all = "kebab-case")]
        pub enum Policy {$($(#[$doc])* $variant($module::$variant),)*}

        /// The names of all AQMs.
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

            fn switch_count(&self) -> usize {
                match self {$(Policy::$variant(aqm) => aqm.switch_count(),)*}
            }

            fn switch_values(&self, at: &QueueView<'_, f64>, out: &mut [f64]) {
                match self {$(Policy::$variant(aqm) => aqm.switch_values(at, out),)*}
            }
        }
    };
}

aqms! {
    /// Drop-tail: only a full buffer drops.
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
