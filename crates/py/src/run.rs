//! Checks and runs a plan without holding the interpreter lock.

use crate::convert;
use marqueue_sim::plan::Plan;
use marqueue_sim::RunError;
use pyo3::exceptions::{PyException, PyValueError};
use pyo3::prelude::*;
use pyo3::types::PyDict;
use std::sync::Arc;

pyo3::create_exception!(_core, PlanError, PyValueError, "The plan cannot be run: path, message.");
pyo3::create_exception!(_core, TraceFull, PyException, "The traced links saw more than fits.");
pyo3::create_exception!(_core, Cancelled, PyException, "The run was cancelled.");

/// Controls a run from another thread.
#[pyclass(frozen, module = "marqueue._core")]
pub struct Control(Arc<marqueue_sim::Control>);

#[pymethods]
impl Control {
    #[new]
    #[pyo3(signature = (max_events=None))]
    fn new(max_events: Option<u64>) -> Self {
        Control(Arc::new(marqueue_sim::Control::with_max_events(max_events)))
    }

    /// Cuts the run off. Its result covers the time so far.
    fn stop(&self) {
        self.0.stop();
    }

    /// Ends the run without a result.
    fn cancel(&self) {
        self.0.cancel();
    }

    /// Simulated seconds done so far.
    fn done_secs(&self) -> f64 {
        self.0.done_secs()
    }
}

/// Checks a plan. Returns warnings about the parameters of its queues.
#[pyfunction]
pub fn check(plan_json: &str) -> PyResult<Vec<String>> {
    marqueue_sim::check(&parse(plan_json)?).map_err(refused)
}

/// An estimate of the largest memory that a run takes, bytes.
#[pyfunction]
pub fn estimated_bytes(plan_json: &str) -> PyResult<f64> {
    Ok(marqueue_sim::estimated_bytes(&parse(plan_json)?))
}

/// The engine's seed of a replication, counted from 0: the first 64-bit word that numpy's
/// `SeedSequence([seed, replication])` generates.
#[pyfunction]
pub fn replication_seed(seed: u64, replication: u64) -> u64 {
    marqueue_core::replication_seed(seed, replication)
}

/// Runs a plan.
#[pyfunction]
pub fn run<'py>(py: Python<'py>, plan_json: &str, seed: u64, control: &Control) -> PyResult<Bound<'py, PyDict>> {
    let plan = parse(plan_json)?;
    let result = py.detach(|| marqueue_sim::run(&plan, seed, &control.0)).map_err(refused)?;
    convert::result(py, result)
}

/// Runs a plan. Returns the digest of the whole result, hexadecimal: equal on all platforms.
#[pyfunction]
pub fn digest(py: Python<'_>, plan_json: &str, seed: u64) -> PyResult<String> {
    let plan = parse(plan_json)?;
    let result = py.detach(|| marqueue_sim::run(&plan, seed, &marqueue_sim::Control::default()));
    result.map(|result| marqueue_sim::digest(&result)).map_err(refused)
}

/// A plan from JSON.
pub fn parse(plan_json: &str) -> PyResult<Plan> {
    serde_json::from_str(plan_json).map_err(|e| PlanError::new_err((String::new(), e.to_string())))
}

fn refused(e: RunError) -> PyErr {
    match e {
        RunError::Invalid(e) => PlanError::new_err((e.path, e.message)),
        RunError::Cancelled => Cancelled::new_err("cancelled"),
        RunError::TraceFull { .. } => TraceFull::new_err(e.to_string()),
    }
}
