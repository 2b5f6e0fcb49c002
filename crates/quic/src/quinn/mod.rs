//! Connections of quinn-proto.

pub use quinn_proto as proto;

mod control;
mod differences;
#[path = "../../shared/ends.rs"]
pub mod ends;
mod session;
