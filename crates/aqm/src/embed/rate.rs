//! The rates that a link can have.

use alloc::format;
use marqueue_core::params::ParamError;
use marqueue_core::Rate;

/// The highest rate, bits a second.
const MAX_RATE: u64 = 1_000_000_000_000_000;

/// Rejects a rate that arithmetic of transmission times cannot have.
pub(super) fn check_rate(rate: Rate) -> Result<(), ParamError> {
    if (1..=MAX_RATE).contains(&rate.0) {
        return Ok(());
    }
    Err(ParamError::new("rate", format!("got {} bit/s, expected 1 to {MAX_RATE}", rate.0)))
}
