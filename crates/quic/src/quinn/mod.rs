//! Connections of quinn-proto.

pub use quinn_proto as proto;

mod control;
#[path = "../../shared/ends.rs"]
pub mod ends;
mod own;
mod session;
