//! The packet simulator.
pub mod plan;
pub mod result;
pub mod run;
pub use run::{run, Control, RunError};
