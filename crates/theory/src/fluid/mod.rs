//! Fluid models of a network: sources and queues as differential equations with delays.
//!
//! A [`Model`] is built from a [`Description`]: links with their AQMs, and classes of equal flows with laws and routes.
//! Its right-hand side ([`Model::slopes`]) is generic over the [`Scalar`]. The [`solver`] integrates it with plain
//! numbers, and [`Model::jacobian`] differentiates it with dual numbers. Each AQM is one file in `aqm` and one line in
//! its list. The laws of sources are in `law`.

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
mod paths;
mod scalar;
pub mod solver;
mod state;

pub use batch::{solve_batch, SolveError, SolverSettings};
pub use description::{Class, Description, Hop, Link, Signal};
pub use invalid::Invalid;
pub use jacobian::Jacobian;
pub use model::Model;
pub use observe::{LinkObservation, Observation, SourceObservation};
pub use scalar::{Dual, Scalar};
pub use state::{Mode, State, View};
