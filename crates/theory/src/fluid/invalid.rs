//! The error that rejects a description, and the checks that return it.

use std::fmt;

/// An invalid value of a description.
#[derive(Clone, Debug, PartialEq)]
pub struct Invalid {
    /// Where, such as `classes.0.rtt`.
    pub path: String,
    /// The value, and what was expected.
    pub message: String,
}

impl fmt::Display for Invalid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.path, self.message)
    }
}

pub(super) fn positive(path: impl Into<String>, value: f64) -> Result<(), Invalid> {
    ensure(path, value, value > 0.0 && value.is_finite(), "a number above 0")
}

pub(super) fn ensure(path: impl Into<String>, value: f64, holds: bool, expected: &str) -> Result<(), Invalid> {
    if holds {
        return Ok(());
    }
    Err(Invalid { path: path.into(), message: format!("got {value}, expected {expected}") })
}
