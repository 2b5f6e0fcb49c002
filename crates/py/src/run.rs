//! Checks and runs a plan without holding the interpreter lock.

use crate::convert;
use crate::flow_file::{FlowWriter, FlowsNotWritten};
use crate::look::Look;
use crate::program::{ProgramFailed, PythonPrograms};
use marqueue_sim::plan::Plan;
use marqueue_sim::result::RunResult;
use marqueue_sim::{Estimate, MemoryParts, RunError};
use marqueue_uml::{Error, KernelFiles};
use pyo3::exceptions::{PyException, PyOSError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::PyDict;
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;

pyo3::create_exception!(_core, PlanError, PyValueError, "The plan cannot be run: path, message.");
pyo3::create_exception!(_core, TraceFull, PyException, "The traced links saw more than fits.");
pyo3::create_exception!(_core, GuestFailed, PyException, "A kernel of the run failed.");
pyo3::create_exception!(_core, Cancelled, PyException, "The run was cancelled.");

/// Controls one run from another thread.
#[pyclass(frozen, module = "marqueue._core")]
pub struct Control {
    control: marqueue_sim::Control,
    /// Where rows of flows go that leave the run.
    flows: Option<Arc<FlowWriter>>,
    /// The function that looks at the run.
    look: Option<Arc<Look>>,
}

#[pymethods]
impl Control {
    #[new]
    #[pyo3(signature = (max_events=None, flows_in=None, look=None))]
    fn new(max_events: Option<u64>, flows_in: Option<PathBuf>, look: Option<Py<PyAny>>) -> Self {
        let mut control = marqueue_sim::Control::with_max_events(max_events);
        let flows = flows_in.map(|directory| Arc::new(FlowWriter::new(directory)));
        if let Some(flows) = &flows {
            control = control.with_flow_sink(flows.clone());
        }
        let look = look.map(|function| Arc::new(Look::new(function)));
        if let Some(look) = &look {
            control = control.with_watcher(look.clone());
        }
        Control { control, flows, look }
    }

    /// Cuts the run off. Its result covers the time so far.
    fn stop(&self) {
        self.control.stop();
    }

    /// Ends the run without a result.
    fn cancel(&self) {
        self.control.cancel();
    }

    /// Simulated seconds done so far.
    fn done_secs(&self) -> f64 {
        self.control.done_secs()
    }
}

/// Checks a plan. Returns warnings about the parameters of its queues.
#[pyfunction]
pub fn check(plan_json: &str) -> PyResult<Vec<String>> {
    let plan = parse(plan_json)?;
    let warnings = marqueue_sim::check(&plan).map_err(refused)?;
    marqueue_uml::check(&plan).and_then(|()| marqueue_quic::check(&plan)).map_err(|e| refused(RunError::Invalid(e)))?;
    Ok(warnings)
}

/// An estimate of the largest memory that a run takes, bytes, if rows of flows leave it or not.
#[pyfunction]
#[pyo3(signature = (plan_json, rows_leave=false))]
pub fn estimated_bytes(plan_json: &str, rows_leave: bool) -> PyResult<f64> {
    Ok(marqueue_sim::estimated_bytes(&parse(plan_json)?, rows_leave))
}

/// The fields of an [`Estimate`] in the order of its class in Python, then those of its parts.
#[pyfunction]
#[allow(clippy::type_complexity, reason = "fields of two classes")]
pub fn estimated_memory(plan_json: &str) -> PyResult<((f64, f64, f64, f64, f64, usize), (f64, f64, f64, f64))> {
    let Estimate { bytes, parts, released, of_thread, flows, rows, windows } = Estimate::of(&parse(plan_json)?);
    let MemoryParts { flows: of_flows, packets, flow_queues, samples } = parts;
    Ok(((bytes, released, of_thread, flows, rows, windows), (of_flows, packets, flow_queues, samples)))
}

/// The kernels of a run, by the names that its plan has: image, first program and tc.
type Kernels = BTreeMap<String, (PathBuf, PathBuf, Option<PathBuf>)>;

/// The engine's seed of a replication, counted from 0: the first 64-bit word that numpy's
/// `SeedSequence([seed, replication])` generates.
#[pyfunction]
pub fn replication_seed(seed: u64, replication: u64) -> u64 {
    marqueue_core::replication_seed(seed, replication)
}

/// On how many threads, at most `most`, a plan runs, and why on no more if it is one.
#[pyfunction]
pub fn threads_for(plan_json: &str, most: usize) -> PyResult<(usize, Option<String>)> {
    let (threads, reason) = marqueue_sim::threads_for(&parse(plan_json)?, most).map_err(refused)?;
    Ok((threads, reason.map(|reason| reason.to_string())))
}

/// On how many threads, at most `most`, a plan runs faster than on one.
#[pyfunction]
pub fn threads_that_pay(plan_json: &str, most: usize) -> PyResult<usize> {
    marqueue_sim::threads_that_pay(&parse(plan_json)?, most).map_err(refused)
}

/// Runs a plan; one with QUIC flows, or with kernels as its end hosts and routers if it names any.
#[pyfunction]
#[pyo3(signature = (plan_json, seed, control, kernels=None, threads=1))]
pub fn run<'py>(
    py: Python<'py>,
    plan_json: &str,
    seed: u64,
    control: &Control,
    kernels: Option<Kernels>,
    threads: usize,
) -> PyResult<Bound<'py, PyDict>> {
    let plan = parse(plan_json)?;
    if let Some(programs) = PythonPrograms::of(py, &plan)? {
        let ran = run_programs(py, &plan, seed, &control.control, &programs);
        let dict = control.result(py, ran)?;
        dict.set_item("program_costs", programs.costs())?;
        return Ok(dict);
    }
    let ran = py.detach(|| run_plan(&plan, seed, &control.control, kernels, threads, false));
    control.result(py, ran)
}

impl Control {
    /// The result of the run, with the flows that have left it.
    fn result<'py>(&self, py: Python<'py>, ran: PyResult<RunResult>) -> PyResult<Bound<'py, PyDict>> {
        if let Some(error) = self.look.as_ref().and_then(|look| look.failure()) {
            return Err(error);
        }
        // If flows could not be written, that is why there is no result.
        let flows = self.flows.as_ref().map(|flows| flows.finish()).transpose()?.flatten();
        let dict = convert::result(py, ran?)?;
        if let Some(flows) = flows {
            dict.set_item("flows", flows)?;
        }
        Ok(dict)
    }
}

/// Runs a plan. Returns the digest of the whole result, hexadecimal: equal on all platforms.
#[pyfunction]
#[pyo3(signature = (plan_json, seed, kernels=None, threads=1, messages=false))]
pub fn digest(
    py: Python<'_>,
    plan_json: &str,
    seed: u64,
    kernels: Option<Kernels>,
    threads: usize,
    messages: bool,
) -> PyResult<String> {
    let plan = parse(plan_json)?;
    let control = marqueue_sim::Control::default();
    let result = match PythonPrograms::of(py, &plan)? {
        Some(programs) => run_programs(py, &plan, seed, &control, &programs)?,
        None => py.detach(|| run_plan(&plan, seed, &control, kernels, threads, messages))?,
    };
    Ok(marqueue_sim::digest(&result))
}

/// Runs a plan with programs. If the interpreter runs any of them, its lock is held, and let go between batches of events:
/// to take it for each call would cost more than the call.
fn run_programs(
    py: Python<'_>,
    plan: &Plan,
    seed: u64,
    control: &marqueue_sim::Control,
    programs: &PythonPrograms,
) -> PyResult<RunResult> {
    let run = || marqueue_sim::run_with(plan, seed, control, programs).map_err(refused);
    programs.outcome(if programs.interpreted { run() } else { py.detach(run) })
}

fn run_plan(
    plan: &Plan,
    seed: u64,
    control: &marqueue_sim::Control,
    kernels: Option<Kernels>,
    threads: usize,
    messages: bool,
) -> PyResult<RunResult> {
    if plan.has_quic() {
        return marqueue_quic::run(plan, seed, control).map_err(refused);
    }
    if !plan.has_kernels() {
        return marqueue_sim::run_on(plan, seed, control, threads).map_err(refused);
    }
    let files = |(image, init, tc)| KernelFiles { image, init, tc, messages };
    let kernels = kernels.unwrap_or_default().into_iter().map(|(name, paths)| (name, files(paths))).collect();
    marqueue_uml::run(plan, seed, &kernels, control).map_err(|error| match error {
        Error::Run(error) => refused(error),
        Error::NoKernel(_) | Error::System { .. } => PyOSError::new_err(error.to_string()),
        Error::Guest { .. } => GuestFailed::new_err(error.to_string()),
    })
}

/// A plan from JSON.
pub fn parse(plan_json: &str) -> PyResult<Plan> {
    serde_json::from_str(plan_json).map_err(|e| PlanError::new_err((String::new(), e.to_string())))
}

fn refused(e: RunError) -> PyErr {
    match e {
        RunError::Invalid(e) => PlanError::new_err((e.path, e.message)),
        RunError::Cancelled => Cancelled::new_err("cancelled"),
        RunError::ProgramFailed => ProgramFailed::new_err(e.to_string()),
        RunError::FlowSinkFailed => FlowsNotWritten::new_err(e.to_string()),
        RunError::TraceFull { .. } => TraceFull::new_err(e.to_string()),
    }
}
