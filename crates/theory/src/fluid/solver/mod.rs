//! Delay differential equations y'(t) = f(t, y(t), y(t - d_1), ..., y(t - d_m)), where delays may depend on
//! the present state, by the method of steps with error control.
//!
//! The explicit Runge-Kutta pair 5(4) of Dormand and Prince with its continuous extension of order 4 (Hairer,
//! Norsett and Wanner, "Solving Ordinary Differential Equations I", 2nd ed. 1993, II.5 and II.6). Every step is
//! kept as a polynomial, which delayed values are taken from. What a delay of less than a step looks at is the
//! polynomial of the step itself, which is iterated (ibid., II.17).
//!
//! Where a right-hand side has corners or jumps, a step ends: at bounds that a state reaches or leaves, where a
//! switching function changes its sign, and where parameters change. Delays bring corners back as corners of a
//! higher derivative; the first [`breaks::FOLLOWED`] of them end a step too. Each look back stays on its side of
//! such a break until a step has ended on it, so that no step sees both sides.

mod breaks;
mod dopri;
mod events;
mod history;
mod integrate;
mod solution;

pub use history::Dense;
pub use integrate::solve;
pub use solution::{Failure, Solution, Tolerance};

use super::state::{Mode, State, View};

/// What is solved.
pub trait System {
    /// The states, with their bounds.
    fn states(&self) -> &[State];

    /// How many looks back there are.
    fn looks(&self) -> usize;

    /// How long ago each of them is, s, not negative.
    fn delays(&self, now: &View<'_, f64>, out: &mut [f64]);

    /// The slopes of all states, as if none had bounds.
    fn slopes(&self, now: &View<'_, f64>, looks: &[View<'_, f64>], out: &mut [f64]);

    /// The solution until the beginning.
    fn past(&self, t: f64, out: &mut [f64]);

    /// Times at which parameters change, s, increasing.
    fn changes(&self) -> &[f64] {
        &[]
    }

    /// How many functions there are whose change of sign is a corner.
    fn switches(&self) -> usize {
        0
    }

    /// The values of these functions.
    fn switch(&self, _now: &View<'_, f64>, _looks: &[View<'_, f64>], _out: &mut [f64]) {}
}

/// The slope of a state that rests at its bounds.
#[inline]
pub fn resting<S: From<f64>>(mode: Mode, slope: S) -> S {
    if mode.is_at_bound() {
        S::from(0.0)
    } else {
        slope
    }
}
