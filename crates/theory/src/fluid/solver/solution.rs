//! The tolerance of the solver, its failures, and its solution.

use super::history::History;
use super::System;
use crate::fluid::state::View;
use std::fmt;

/// How exact a solution is to be.
#[derive(Clone, Copy, Debug)]
pub struct Tolerance {
    /// Error of a step relative to a state, or to its scale where it is smaller than that.
    pub relative: f64,
    /// The longest step, s.
    pub longest: f64,
    /// Steps after which to give up.
    pub steps: usize,
}

impl Default for Tolerance {
    fn default() -> Tolerance {
        Tolerance { relative: 1e-6, longest: f64::INFINITY, steps: 500_000 }
    }
}

/// Why there is no solution.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Failure {
    /// It grows without bound.
    Unbounded(f64),
    /// No step is short enough.
    Stuck(f64),
    /// There were too many steps.
    Long(f64),
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Failure::Unbounded(t) => write!(f, "the solution grows without bound, at {t:.6} s"),
            Failure::Stuck(t) => write!(f, "no step is short enough for the error asked for, at {t:.6} s"),
            Failure::Long(t) => write!(f, "the solution takes too many steps, at {t:.6} s"),
        }
    }
}

/// A solution, from its beginning to its end.
#[derive(Debug)]
pub struct Solution {
    pub(super) history: History,
    pub(super) beginning: f64,
    /// How far it goes, s.
    pub end: f64,
    /// How many steps it took.
    pub steps: usize,
    /// How many steps were refused.
    pub refused: usize,
    /// When states came to their bounds or left them, s, with the state.
    pub bounds: Vec<(f64, usize)>,
}

impl Solution {
    /// The states at a time, and what was in force then.
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
