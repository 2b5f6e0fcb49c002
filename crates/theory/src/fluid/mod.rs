//! Fluid models of a network: sources and queues as differential equations with delays.
//!
//! A [`Description`] (links with their AQMs, classes of like flows with their laws and routes) makes a [`Model`].
//! Its right-hand side ([`Model::slopes`]) is written once for any [`Scalar`]: [`solver`] integrates it, and
//! [`Model::jacobian`] differentiates it, exactly, by every present and every delayed state. An AQM is a file in
//! `aqm` and a line in its list. The laws of sources are in `law`.

pub mod aqm;
mod batch;
mod delay;
mod description;
mod invalid;
mod jacobian;
pub mod law;
mod model;
mod observe;
mod parameter_intervals;
mod scalar;
pub mod solver;
mod state;

pub use batch::{batch, Run, SolveError};
pub use description::{Class, Description, Hop, Link, Signal};
pub use invalid::Invalid;
pub use jacobian::Jacobian;
pub use model::Model;
pub use observe::{AtLink, AtSource, Observed};
pub use scalar::{Dual, Scalar};
pub use state::{Mode, State, View};
