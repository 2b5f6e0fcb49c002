//! Running a plan.

use crate::plan::Plan;
use crate::result::RunResult;
use marqueue_core::params::ParamError;
use std::fmt;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

/// The line between a run and whoever watches it from another thread.
#[derive(Debug, Default)]
pub struct Control {
    cancelled: AtomicBool,
    /// Simulated nanoseconds done.
    done: AtomicU64,
}

impl Control {
    /// Asks the run to stop.
    pub fn cancel(&self) {
        self.cancelled.store(true, Ordering::Relaxed);
    }

    /// Simulated seconds done so far.
    pub fn done_secs(&self) -> f64 {
        self.done.load(Ordering::Relaxed) as f64 / 1e9
    }
}

/// Why a run did not yield a result.
#[derive(Clone, Debug, PartialEq)]
pub enum RunError {
    /// The plan cannot be run; the path leads to the offending value.
    Invalid(ParamError),
    /// Someone asked it to stop.
    Cancelled,
}

impl fmt::Display for RunError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            RunError::Invalid(e) => e.fmt(f),
            RunError::Cancelled => f.write_str("cancelled"),
        }
    }
}

impl std::error::Error for RunError {}

/// Runs `plan` with `seed`.
///
/// # Errors
/// If the plan is invalid or the run was cancelled.
pub fn run(plan: &Plan, seed: u64, control: &Control) -> Result<RunResult, RunError> {
    let _ = (plan, seed, control);
    Err(RunError::Cancelled)
}
