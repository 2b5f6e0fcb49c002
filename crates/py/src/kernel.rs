//! AQMs and DCTCP in the Linux kernel.

use marqueue_aqm::Signal;
use marqueue_bpf::algorithm::{self, Law, Shaper};
use marqueue_bpf::{attachment, dctcp, Hook, Stats};
use marqueue_core::params::PolicySpec;
use pyo3::exceptions::PyException;
use pyo3::prelude::*;
use pyo3::types::{IntoPyDict, PyDict};
use std::path::PathBuf;
use std::sync::Mutex;

pyo3::create_exception!(_core, KernelError, PyException, "What the kernel or this build does not do: message.");

/// Why no BPF program can be loaded here; None if one can.
#[pyfunction]
pub fn kernel_missing() -> Option<String> {
    marqueue_bpf::missing()
}

/// Names of the AQMs that the kernel can have.
#[pyfunction]
pub fn kernel_aqms() -> Vec<&'static str> {
    algorithm::names().collect()
}

/// Names of those that are the root qdisc of a device.
#[pyfunction]
pub fn kernel_qdiscs() -> Vec<&'static str> {
    algorithm::qdiscs().collect()
}

/// Does an AQM go by the queue of the root qdisc at a hook?
#[pyfunction]
pub fn kernel_needs_queue(aqm: &str, hook: &str) -> PyResult<bool> {
    Ok(algorithm::needs_queue(aqm, read_hook(hook)?))
}

/// Checks the parameters of an AQM for a hook: a policy as JSON, at a shaper, and weights of cgroups.
#[pyfunction]
#[pyo3(signature = (policy, hook, *, rate, packet, buffer, cgroup_weights))]
pub fn kernel_check(
    policy: &str,
    hook: &str,
    rate: Option<u64>,
    packet: u64,
    buffer: u64,
    cgroup_weights: Vec<(PathBuf, f64)>,
) -> PyResult<()> {
    read(policy, Shaper { rate, packet, buffer }, read_hook(hook)?, &cgroup_weights).map(drop)
}

/// Attaches an AQM at the egress or the ingress of a device, or as its root qdisc, or updates its parameters. Returns true if it was not attached
/// before.
#[pyfunction]
#[pyo3(signature = (device, netns, hook, policy, *, rate, packet, buffer, signal, cgroup_weights))]
#[allow(clippy::too_many_arguments)] // Named in Python.
pub fn kernel_attach(
    py: Python<'_>,
    device: &str,
    netns: Option<PathBuf>,
    hook: &str,
    policy: &str,
    rate: Option<u64>,
    packet: u64,
    buffer: u64,
    signal: &str,
    cgroup_weights: Vec<(PathBuf, f64)>,
) -> PyResult<bool> {
    let signal: Signal = serde_json::from_value(signal.into()).map_err(refused)?;
    let at = read_hook(hook)?;
    let law = read(policy, Shaper { rate, packet, buffer }, at, &cgroup_weights)?;
    py.detach(|| attachment::attach(netns.as_deref(), device, at, law, signal)).map_err(refused)
}

/// Detaches the AQM. Returns whether one was attached.
#[pyfunction]
pub fn kernel_detach(py: Python<'_>, device: &str, netns: Option<PathBuf>, hook: &str) -> PyResult<bool> {
    let at = read_hook(hook)?;
    py.detach(|| attachment::detach(netns.as_deref(), device, at)).map_err(refused)
}

/// Settings, state and counters of the AQM; `None` if none is attached.
#[pyfunction]
pub fn kernel_stats<'py>(
    py: Python<'py>,
    device: &str,
    netns: Option<PathBuf>,
    hook: &str,
) -> PyResult<Option<Bound<'py, PyDict>>> {
    let at = read_hook(hook)?;
    let stats = py.detach(|| attachment::stats(netns.as_deref(), device, at)).map_err(refused)?;
    stats.map(|stats| as_dict(py, &stats)).transpose()
}

fn read_hook(name: &str) -> PyResult<Hook> {
    let found = [Hook::Egress, Hook::Ingress].into_iter().find(|hook| hook.name() == name);
    found.ok_or_else(|| refused(format!("hook: got \"{name}\", expected egress or ingress")))
}

fn read(policy: &str, shaper: Shaper, hook: Hook, cgroup_weights: &[(PathBuf, f64)]) -> PyResult<Law> {
    let spec: PolicySpec = serde_json::from_str(policy).map_err(refused)?;
    Law::read(&spec, shaper, hook).and_then(|law| law.weigh_cgroups(cgroup_weights)).map_err(refused)
}

fn as_dict<'py>(py: Python<'py>, stats: &Stats) -> PyResult<Bound<'py, PyDict>> {
    let Stats { setup, state, counters } = stats;
    let dict = PyDict::new(py);
    dict.set_item("aqm", setup.law.name())?;
    dict.set_item("rate", setup.law.rate())?;
    dict.set_item("signal", serde_json::to_value(setup.signal).ok().and_then(|v| v.as_str().map(str::to_string)))?;
    dict.set_item("parameters", setup.law.values().into_py_dict(py)?)?;
    dict.set_item("state", state.values(&setup.law).into_py_dict(py)?)?;
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
