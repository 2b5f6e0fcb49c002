//! AQMs and congestion controls that are classes in Python (`marqueue.aqm`, `marqueue.congestion_control`).

mod compiled;
mod flow;
mod queue;
mod shared;

pub use compiled::uniform_address;
pub use flow::Flow;
pub use marqueue_cc::program::PREFIX;
pub use queue::{Packet, Queue};
pub use shared::ProgramFailed;

use compiled::Compiled;
use flow::PythonLaws;
use marqueue_aqm::program::Program;
use marqueue_aqm::Env;
use marqueue_cc::program::{program_of, Control};
use marqueue_core::params::{ParamError, PolicySpec};
use marqueue_live::stop_handle::StopHandle;
use marqueue_sim::plan::Plan;
use marqueue_sim::programs::Programs;
use pyo3::prelude::*;
use queue::PythonProgram;
use shared::{keywords, Costs, Shared, MODULE};
use std::sync::Arc;

/// The programs that a plan names.
fn programs(plan: &Plan) -> impl Iterator<Item = &PolicySpec> {
    let policies = plan.links.iter().filter_map(|link| Some(&link.queue.as_ref()?.policy));
    let controls = plan.transports.iter().filter_map(|transport| program_of(&transport.params));
    policies.filter(|policy| policy.name.starts_with(PREFIX)).chain(controls)
}

/// Has Numba compiled a program?
fn is_compiled(py: Python<'_>, spec: &PolicySpec) -> PyResult<bool> {
    py.import(MODULE)?.getattr("is_compiled")?.call1((&spec.name, keywords(py, spec)?))?.extract()
}

/// The programs of one run.
#[derive(Debug)]
pub struct PythonPrograms {
    shared: Arc<Shared>,
    /// Does the interpreter run any of them?
    pub interpreted: bool,
}

impl PythonPrograms {
    /// Those of a plan; `None` if it has none.
    ///
    /// # Errors
    /// If a program is not known.
    pub fn of(py: Python<'_>, plan: &Plan) -> PyResult<Option<PythonPrograms>> {
        let mut named = programs(plan).peekable();
        if named.peek().is_none() {
            return Ok(None);
        }
        let mut interpreted = false;
        for spec in named {
            interpreted |= !is_compiled(py, spec)?;
        }
        Ok(Some(PythonPrograms { shared: Arc::default(), interpreted }))
    }

    /// The result of the run, or why a program broke off.
    pub fn outcome<T>(&self, result: PyResult<T>) -> PyResult<T> {
        self.shared.failure().map_or(result, Err)
    }

    /// Those of a link with real packets, which ends when one breaks off.
    pub fn end_with_failure(&self, link: StopHandle) {
        self.shared.end_with_failure(link);
    }

    /// Has one broken off?
    pub fn are_broken(&self) -> bool {
        self.shared.has_failed()
    }

    /// What they cost.
    pub fn costs(&self) -> Costs {
        self.shared.costs()
    }

    fn made<T>(&self, spec: &PolicySpec, made: PyResult<T>) -> Result<T, ParamError> {
        made.map_err(|error| {
            self.shared.fail(error);
            ParamError::new("name", format!("{} cannot begin", spec.name))
        })
    }
}

impl Programs for PythonPrograms {
    fn policy(&self, spec: &PolicySpec, env: &Env) -> Result<Box<dyn Program>, ParamError> {
        self.made(
            spec,
            Python::attach(|py| -> PyResult<Box<dyn Program>> {
                if is_compiled(py, spec)? {
                    return Ok(Box::new(Compiled::new(py, spec, env, self.shared.clone())?));
                }
                Ok(Box::new(PythonProgram::new(py, spec, env, self.shared.clone())?))
            }),
        )
    }

    fn laws(&self, spec: &PolicySpec) -> Result<Option<Control>, ParamError> {
        let made = Python::attach(|py| PythonLaws::new(py, spec, self.shared.clone()));
        Ok(Some(Control(Arc::new(self.made(spec, made)?))))
    }

    fn have_failed(&self) -> bool {
        if self.interpreted {
            // Other threads wait for the lock.
            Python::attach(|py| py.detach(std::thread::yield_now));
        }
        self.shared.has_failed()
    }
}
