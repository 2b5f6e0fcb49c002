//! The engine of one part, and its result.

use crate::engine::{Engine, Part};
use crate::partition::Partition;
use crate::plan::Plan;
use crate::prepare::prepare;
use crate::programs::NoPrograms;
use crate::result::RunResult;
use crate::run::{collect, edges, measured, RunError};

/// The engine of one part.
pub fn engine_of(plan: &Plan, seed: u64, partition: &Partition, part: usize) -> Result<Engine, RunError> {
    let prepared = prepare(plan, seed, &NoPrograms).map_err(RunError::Invalid)?;
    Ok(Engine::new(plan, seed, prepared, Some(Part::new(partition, part))))
}

/// The result of one part whose engine has ended.
pub fn result_of(plan: &Plan, engine: Engine) -> RunResult {
    collect(engine.finish(), edges(plan), plan.duration, &measured(plan))
}
