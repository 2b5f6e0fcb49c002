//! AVQ and DCTCP in the Linux kernel.

use marqueue_aqm::Signal;
use marqueue_bpf::fixed_point::{AvqParams, FRACTION};
use marqueue_bpf::{dctcp, device, Stats};
use pyo3::exceptions::PyException;
use pyo3::prelude::*;
use pyo3::types::PyDict;
use std::path::PathBuf;
use std::sync::Mutex;

pyo3::create_exception!(_core, KernelError, PyException, "What the kernel or this build does not do: message.");

/// Why no BPF program can be loaded here; None if one can.
#[pyfunction]
pub fn kernel_missing() -> Option<String> {
    marqueue_bpf::missing()
}

/// Attaches AVQ at the egress of a device, or updates its parameters. Returns true if it was not attached before.
#[pyfunction]
#[pyo3(signature = (device, netns, *, rate, gamma, alpha, initial, buffer, signal))]
#[allow(clippy::too_many_arguments)] // Named, all of them, in Python.
pub fn avq_attach(
    py: Python<'_>,
    device: &str,
    netns: Option<PathBuf>,
    rate: u64,
    gamma: f64,
    alpha: f64,
    initial: f64,
    buffer: u64,
    signal: &str,
) -> PyResult<bool> {
    let signal: Signal = serde_json::from_value(signal.into()).map_err(refused)?;
    let law = AvqParams::new(rate, gamma, alpha, initial, buffer).map_err(refused)?;
    py.detach(|| device::attach(netns.as_deref(), device, law, signal)).map_err(refused)
}

/// Detaches AVQ. Returns whether it was attached.
#[pyfunction]
pub fn avq_detach(py: Python<'_>, device: &str, netns: Option<PathBuf>) -> PyResult<bool> {
    py.detach(|| device::detach(netns.as_deref(), device)).map_err(refused)
}

/// State and counters of AVQ; `None` if it is not attached.
#[pyfunction]
pub fn avq_stats<'py>(py: Python<'py>, device: &str, netns: Option<PathBuf>) -> PyResult<Option<Bound<'py, PyDict>>> {
    let stats = py.detach(|| device::stats(netns.as_deref(), device)).map_err(refused)?;
    stats.map(|stats| as_dict(py, &stats)).transpose()
}

fn as_dict<'py>(py: Python<'py>, stats: &Stats) -> PyResult<Bound<'py, PyDict>> {
    let Stats { setup, state, counters } = stats;
    let units = |value: u64| value as f64 / f64::from(1u32 << FRACTION);
    let dict = PyDict::new(py);
    dict.set_item("rate", 8.0 * units(setup.law.capacity))?;
    dict.set_item("alpha", units(setup.law.cost))?;
    let gain = units(setup.law.cost) * units(setup.law.capacity);
    dict.set_item("gamma", if gain > 0.0 { Some(units(setup.law.growth) / gain) } else { None })?;
    dict.set_item("buffer", units(setup.law.buffer))?;
    dict.set_item("signal", serde_json::to_value(setup.signal).ok().and_then(|v| v.as_str().map(str::to_string)))?;
    let capacity = if state.started { state.virtual_capacity } else { setup.law.initial };
    dict.set_item("virtual_capacity", 8.0 * units(capacity.min(setup.law.capacity)))?;
    dict.set_item("virtual_queue", units(state.level))?;
    dict.set_item("packets", counters.packets)?;
    dict.set_item("bytes", counters.bytes)?;
    dict.set_item("marked", counters.marked)?;
    dict.set_item("dropped", counters.dropped)?;
    dict.set_item("already_ce", counters.already_ce)?;
    dict.set_item("unmarked", counters.unmarked)?;
    dict.set_item("segmented", counters.segmented)?;
    Ok(dict)
}

/// DCTCP as a congestion control of the host, until it is closed or the process ends.
#[pyclass(frozen, module = "marqueue._core")]
pub struct Dctcp(Mutex<Option<dctcp::Dctcp>>);

#[pymethods]
impl Dctcp {
    /// The name of the congestion control of this process.
    #[staticmethod]
    fn name() -> String {
        dctcp::name()
    }

    #[new]
    fn new() -> PyResult<Self> {
        let registered = dctcp::Dctcp::register().map_err(refused)?;
        Ok(Dctcp(Mutex::new(Some(registered))))
    }

    /// Unregisters it.
    fn close(&self) {
        self.0.lock().expect("nothing that holds it panics").take();
    }
}

fn refused(error: impl ToString) -> PyErr {
    KernelError::new_err(error.to_string())
}
