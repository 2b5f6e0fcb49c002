//! Connections of noq-proto, which began as a copy of quinn-proto and has several paths and a BBR of its own.

pub use noq_proto as proto;

mod control;
mod differences;
#[path = "../../shared/ends.rs"]
pub mod ends;
mod session;
