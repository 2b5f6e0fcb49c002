//! Solves many models in parallel.

use super::description::Description;
use super::invalid::Invalid;
use super::model::Model;
use super::observe::Observation;
use super::solver::{solve, Failure, Solution, Tolerance};
use rayon::prelude::*;
use std::fmt;

/// The times of observation and the tolerance of a solution.
#[derive(Clone, Debug)]
pub struct SolverSettings {
    /// Times of observation, s, increasing. The solution ends at the last one.
    pub times: Vec<f64>,
    /// The tolerance of the solver.
    pub tolerance: Tolerance,
}

/// Why there is no solution.
#[derive(Clone, Debug)]
pub enum SolveError {
    /// The description is invalid.
    Invalid(Invalid),
    /// The solver failed.
    Failed(Failure),
}

impl fmt::Display for SolveError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            SolveError::Invalid(why) => why.fmt(f),
            SolveError::Failed(why) => why.fmt(f),
        }
    }
}

impl SolverSettings {
    /// Solves `model` from the states `start` at time 0.
    ///
    /// # Errors
    /// See [`Failure`].
    pub fn solve(&self, model: &Model, start: &[f64]) -> Result<Solution, Failure> {
        solve(model, start, 0.0, self.times.last().copied().unwrap_or(0.0), self.tolerance)
    }

    /// Observes `solution` at the times of observation.
    pub fn observe(&self, model: &Model, solution: &Solution) -> Vec<Observation> {
        self.times.iter().map(|&t| model.observe(solution, t)).collect()
    }
}

/// Solves all models in parallel. Results are in the order of `descriptions`.
pub fn solve_batch(
    descriptions: Vec<Description>,
    settings: &SolverSettings,
) -> Vec<Result<Vec<Observation>, SolveError>> {
    let one = |description: Description| {
        let model = Model::new(description).map_err(SolveError::Invalid)?;
        let solution = settings.solve(&model, &model.initial_states()).map_err(SolveError::Failed)?;
        Ok(settings.observe(&model, &solution))
    };
    descriptions.into_par_iter().map(one).collect()
}
