//! The tolerance, the failures and the solutions of the solver.

use super::history::History;
use super::System;
use crate::fluid::state::View;
use std::fmt;

/// The required accuracy, and limits of the solver.
#[derive(Clone, Copy, Debug)]
pub struct Tolerance {
    /// Error of a step relative to the state, or to its scale if that is larger.
    pub relative: f64,
    /// The longest step, s.
    pub max_step: f64,
    /// The largest number of steps.
    pub max_steps: usize,
}

impl Default for Tolerance {
    fn default() -> Tolerance {
        Tolerance { relative: 1e-6, max_step: f64::INFINITY, max_steps: 500_000 }
    }
}

/// Why there is no solution.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Failure {
    /// The solution grows without bound, at this time in s.
    Unbounded(f64),
    /// No step is short enough for the tolerance, at this time in s.
    StepTooSmall(f64),
    /// The number of steps reached its limit, at this time in s.
    TooManySteps(f64),
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Failure::Unbounded(t) => write!(f, "the solution grows without bound, at {t:.6} s"),
            Failure::StepTooSmall(t) => write!(f, "no step is short enough for the tolerance, at {t:.6} s"),
            Failure::TooManySteps(t) => write!(f, "the solution takes too many steps, at {t:.6} s"),
        }
    }
}

/// A solution, from its beginning to its end.
#[derive(Debug)]
pub struct Solution {
    pub(super) history: History,
    pub(super) beginning: f64,
    /// The end of the solution, s.
    pub end: f64,
    /// Number of accepted steps.
    pub steps: usize,
    /// Number of rejected steps.
    pub rejected: usize,
    /// The times, s, at which states reached or left their bounds, with the index of the state.
    pub bound_events: Vec<(f64, usize)>,
}

impl Solution {
    /// Writes the states at time `t` to `y`. Returns the view of them.
    pub fn at<'a>(&'a self, system: &(impl System + ?Sized), t: f64, y: &'a mut [f64]) -> View<'a, f64> {
        let k = self.history.find(t, 1);
        self.history.at(system, k, t.min(self.end), y);
        if k > 0 {
            for (y, state) in y.iter_mut().zip(system.states()) {
                *y = y.clamp(state.lower, state.upper);
            }
        }
        self.history.view(k, t.max(self.beginning), y)
    }
}
