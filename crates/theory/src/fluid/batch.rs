//! Solves many models in parallel.

use super::description::Description;
use super::invalid::Invalid;
use super::model::Model;
use super::observe::Observed;
use super::solver::{solve, Failure, Solution, Tolerance};
use rayon::prelude::*;
use std::fmt;

/// The times and tolerance of a solution.
#[derive(Clone, Debug)]
pub struct Run {
    /// Times of observation, s, increasing. The solution ends at the last.
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

impl Run {
    /// One model, from its states at the beginning.
    ///
    /// # Errors
    /// See [`Failure`].
    pub fn solve(&self, model: &Model, start: &[f64]) -> Result<Solution, Failure> {
        solve(model, start, 0.0, self.times.last().copied().unwrap_or(0.0), self.tolerance)
    }

    /// What is seen of it at the times.
    pub fn observe(&self, model: &Model, solution: &Solution) -> Vec<Observed> {
        self.times.iter().map(|&t| model.observe(solution, t)).collect()
    }
}

/// All of them, on all processors; the order of what comes out is that of the descriptions.
pub fn batch(descriptions: Vec<Description>, run: &Run) -> Vec<Result<Vec<Observed>, SolveError>> {
    let one = |description: Description| {
        let model = Model::new(description).map_err(SolveError::Invalid)?;
        let solution = run.solve(&model, &model.start()).map_err(SolveError::Failed)?;
        Ok(run.observe(&model, &solution))
    };
    descriptions.into_par_iter().map(one).collect()
}
