//! The packet simulator.
pub mod plan;
pub mod result;
