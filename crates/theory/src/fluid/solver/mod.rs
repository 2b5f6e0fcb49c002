//! Solves delay differential equations y'(t) = f(t, y(t), y(t - d_1), ..., y(t - d_m)) by the method of steps with
//! error control. The delays may depend on the present state.
//!
//! The method is the explicit Runge-Kutta pair 5(4) of Dormand and Prince with its continuous extension of order 4
//! (Hairer, Norsett and Wanner, "Solving Ordinary Differential Equations I", 2nd ed. 1993, II.5 and II.6). Every step
//! is stored as a polynomial, from which delayed states are computed. If a delay is shorter than the step, the step's
//! own polynomial is used, and the step is iterated (ibid., II.17).
//!
//! A step ends where the right-hand side has a kink or a jump: when a state reaches or leaves a bound, a switching
//! function changes its sign, or parameters change. Delays repeat such a break in a higher derivative; steps end there
//! too, up to derivative [`breaks::MAX_TRACKED_ORDER`]. A delayed time stays on its side of a break until a step has
//! ended when it crosses, so that no step spans a break.

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

/// A system of delay differential equations.
pub trait System {
    /// The states, with their bounds.
    fn states(&self) -> &[State];

    /// Number of delays.
    fn delay_count(&self) -> usize;

    /// The delays in the state `now`, s, not negative.
    fn delays(&self, now: &View<'_, f64>, out: &mut [f64]);

    /// The slopes of all states, without regard to bounds. `delayed` has the state at each delay.
    fn slopes(&self, now: &View<'_, f64>, delayed: &[View<'_, f64>], out: &mut [f64]);

    /// The states at times up to the beginning.
    fn past(&self, t: f64, out: &mut [f64]);

    /// Times at which parameters change, s, increasing.
    fn changes(&self) -> &[f64] {
        &[]
    }

    /// Number of switching functions. The right-hand side has a kink where one changes its sign.
    fn switch_count(&self) -> usize {
        0
    }

    /// The values of the switching functions.
    fn switch_values(&self, _now: &View<'_, f64>, _delayed: &[View<'_, f64>], _out: &mut [f64]) {}
}

/// The slope of a state in `mode`: zero at a bound.
#[inline]
pub fn bounded_slope<S: From<f64>>(mode: Mode, slope: S) -> S {
    if mode.is_at_bound() {
        S::from(0.0)
    } else {
        slope
    }
}
