//! The catalogues of algorithms and their parameters: AQMs, loss models, rate laws, TCP.

use marqueue_cc::config::Params;
use marqueue_cc::preset::{preset, PRESETS};
use marqueue_cc::rate_based;
use marqueue_core::dscp::Dscp;
use marqueue_core::params::{Kind, ParamSet, ParamSpec, ParamValues, PolicySpec, Value};
use marqueue_core::{Bytes, MarkingCurve};
use marqueue_sim::impair::{Jitter, Loss, Reorder};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList};

/// Every AQM with its parameters and probes.
#[pyfunction]
pub fn aqm_catalogue(py: Python<'_>) -> PyResult<Bound<'_, PyList>> {
    let list = PyList::empty(py);
    for entry in marqueue_aqm::catalogue() {
        let dict = model(py, entry.name, entry.summary, entry.source, &entry.params)?;
        dict.set_item("probes", entry.probes)?;
        dict.set_item("prices", entry.prices)?;
        list.append(dict)?;
    }
    Ok(list)
}

/// Every loss model with its parameters.
#[pyfunction]
pub fn loss_catalogue(py: Python<'_>) -> PyResult<Bound<'_, PyList>> {
    let list = PyList::empty(py);
    for loss in Loss::catalogue() {
        list.append(model(py, loss.name, loss.summary, loss.source, &loss.params)?)?;
    }
    Ok(list)
}

/// The description of anything that is chosen by name.
fn model<'py>(
    py: Python<'py>,
    name: &str,
    summary: &str,
    source: &str,
    params: &[ParamSpec],
) -> PyResult<Bound<'py, PyDict>> {
    let dict = PyDict::new(py);
    dict.set_item("name", name)?;
    dict.set_item("summary", summary)?;
    dict.set_item("source", source)?;
    dict.set_item("params", specs(py, params)?)?;
    Ok(dict)
}

/// Every rate law with its parameters.
#[pyfunction]
pub fn rate_catalogue(py: Python<'_>) -> PyResult<Bound<'_, PyList>> {
    let list = PyList::empty(py);
    for law in rate_based::AnyRateLaw::catalogue() {
        let dict = model(py, law.name, law.summary, law.source, &law.params)?;
        dict.set_item("listens", listens(law.name))?;
        list.append(dict)?;
    }
    Ok(list)
}

/// Do flows under this law use the feedback of routers?
fn listens(law: &str) -> bool {
    let by_default = PolicySpec { name: law.into(), params: ParamValues::new() };
    rate_based::AnyRateLaw::build(&by_default, Bytes(1000)).is_ok_and(|law| law.uses_router_feedback())
}

/// The parameters of jitter.
#[pyfunction]
pub fn jitter_params(py: Python<'_>) -> PyResult<Bound<'_, PyList>> {
    specs(py, &Jitter::specs())
}

/// The parameters of reordering.
#[pyfunction]
pub fn reorder_params(py: Python<'_>) -> PyResult<Bound<'_, PyList>> {
    specs(py, &Reorder::specs())
}

/// Every parameter of TCP.
#[pyfunction]
pub fn tcp_params(py: Python<'_>) -> PyResult<Bound<'_, PyList>> {
    specs(py, &Params::specs())
}

/// The values that each preset of TCP sets.
#[pyfunction]
pub fn tcp_presets(py: Python<'_>) -> PyResult<Bound<'_, PyDict>> {
    let dict = PyDict::new(py);
    for name in PRESETS {
        let values = preset(name).map_err(|e| crate::run::PlanError::new_err((e.path, e.message)))?;
        dict.set_item(name, param_values(py, &values)?)?;
    }
    Ok(dict)
}

/// The accepted forms of code points, for error messages, and the names of code points.
#[pyfunction]
pub fn dscps(py: Python<'_>) -> PyResult<(&'static str, Bound<'_, PyDict>)> {
    let dict = PyDict::new(py);
    for (name, value) in Dscp::names() {
        dict.set_item(name, value)?;
    }
    Ok((Dscp::EXPECTED, dict))
}

/// Parses a marking curve and returns it as text. Raises ValueError with what was expected.
#[pyfunction]
pub fn read_marking_curve(text: &str) -> PyResult<String> {
    MarkingCurve::parse(text).map(|curve| curve.to_string()).map_err(PyValueError::new_err)
}

fn specs<'py>(py: Python<'py>, specs: &[ParamSpec]) -> PyResult<Bound<'py, PyList>> {
    let list = PyList::empty(py);
    for s in specs {
        list.append(spec(py, s)?)?;
    }
    Ok(list)
}

/// One declaration; keys that do not apply to its kind are `None`.
fn spec<'py>(py: Python<'py>, spec: &ParamSpec) -> PyResult<Bound<'py, PyDict>> {
    let dict = PyDict::new(py);
    dict.set_item("name", spec.name)?;
    dict.set_item("doc", spec.doc)?;
    let (kind, numeric, choices) = match spec.kind {
        Kind::Number { unit, min, max } => ("number", Some((unit.name(), min, max)), None),
        Kind::Flag => ("flag", None, None),
        Kind::Choice(names) => ("choice", None, Some(names)),
        Kind::Policy => ("policy", None, None),
        Kind::Dscp => ("dscp", None, None),
        Kind::PerDscp { unit, min, max } => ("per-dscp", Some((unit.name(), min, max)), None),
        Kind::Curve => ("curve", None, None),
    };
    dict.set_item("kind", kind)?;
    dict.set_item("unit", numeric.map(|n| n.0))?;
    dict.set_item("min", numeric.map(|n| n.1))?;
    dict.set_item("max", numeric.map(|n| n.2))?;
    dict.set_item("choices", choices)?;
    dict.set_item("default", spec.default.as_ref().map(|v| value(py, v)).transpose()?)?;
    dict.set_item("auto", spec.auto)?;
    dict.set_item("source", spec.source)?;
    Ok(dict)
}

fn param_values<'py>(py: Python<'py>, values: &ParamValues) -> PyResult<Bound<'py, PyDict>> {
    let dict = PyDict::new(py);
    for (name, v) in values {
        dict.set_item(name, value(py, v)?)?;
    }
    Ok(dict)
}

/// A policy becomes the dict that serde reads: name and params.
fn value<'py>(py: Python<'py>, v: &Value) -> PyResult<Bound<'py, PyAny>> {
    Ok(match v {
        Value::Flag(b) => b.into_pyobject(py)?.to_owned().into_any(),
        Value::Number(x) => x.into_pyobject(py)?.into_any(),
        Value::Choice(s) => s.into_pyobject(py)?.into_any(),
        Value::Policy(p) => {
            let dict = PyDict::new(py);
            dict.set_item("name", &p.name)?;
            dict.set_item("params", param_values(py, &p.params)?)?;
            dict.into_any()
        }
        Value::Table(table) => table.clone().into_pyobject(py)?.into_any(),
    })
}
