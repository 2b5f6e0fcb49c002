//! Literal transcriptions of the RFCs' pseudocode, one module an algorithm: slow, without shared state or data
//! structures of the crate, with the variables' names of the text. The tests `differential_*.rs` run them beside the
//! sender on random sequences, from fixed seeds, and expect no difference.
#![allow(dead_code, reason = "each test file uses a part")]
#![allow(clippy::disallowed_methods, reason = "tests may use the platform's functions")]

pub mod path;
pub mod rfc_6298;
pub mod rfc_6675;
pub mod rfc_6937;
pub mod rfc_8985;

/// Random sequences that each comparison runs.
pub const SEQUENCES: u64 = 10_000;
