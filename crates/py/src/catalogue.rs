//! What scenarios can choose from.

use crate::run::PlanError;
use marqueue_core::MarkingCurve;
use pyo3::exceptions::{PyRuntimeError, PyValueError};
use pyo3::prelude::*;

/// Everything that a scenario can choose from, as JSON.
#[pyfunction]
pub fn catalogue() -> PyResult<String> {
    let found = marqueue_sim::catalogue().map_err(|e| PlanError::new_err((e.path, e.message)))?;
    serde_json::to_string(&found).map_err(|e| PyRuntimeError::new_err(e.to_string()))
}

/// Parses a marking curve and returns it as text. Raises ValueError with what was expected.
#[pyfunction]
pub fn read_marking_curve(text: &str) -> PyResult<String> {
    MarkingCurve::parse(text).map(|curve| curve.to_string()).map_err(PyValueError::new_err)
}
