//! Many models at once.

use super::description::Description;
use super::invalid::Invalid;
use super::model::Model;
use super::observe::Observed;
use super::solver::{solve, Failure, Solution, Tolerance};
use rayon::prelude::*;
use std::fmt;

/// What is wanted of a solution.
#[derive(Clone, Debug)]
pub struct Run {
    /// When to look, s, increasing; it ends at the last.
    pub times: Vec<f64>,
    /// How exact.
    pub tolerance: Tolerance,
}

/// Why there is none.
#[derive(Clone, Debug)]
pub enum SolveError {
    /// A description that makes no sense.
    Invalid(Invalid),
    /// See there.
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
