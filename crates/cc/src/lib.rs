//! TCP.
pub mod config;
