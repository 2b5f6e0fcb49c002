//! Congestion controls that are classes in Python: one object a flow, whose hooks are called for each acknowledgement.

use super::shared::{keywords, shown, Cost, Place, Shared, MODULE};
use marqueue_cc::program::{FlowState, ProgramLaw, ProgramLaws};
use marqueue_core::params::PolicySpec;
use marqueue_core::Time;
use pyo3::prelude::*;
use std::sync::Arc;

const ON_ACK: &str = "on_ack";

/// The flow that a congestion control decides about.
#[pyclass(module = "marqueue._core")]
#[derive(Default)]
pub struct Flow {
    /// Congestion window, segments.
    #[pyo3(get)]
    cwnd: f64,
    /// Slow-start threshold, segments.
    #[pyo3(get)]
    ssthresh: f64,
    /// Segments that the acknowledgement newly reports; 0 at a congestion signal.
    #[pyo3(get)]
    acked: f64,
    /// Segments that were outstanding before it.
    #[pyo3(get)]
    outstanding: f64,
    /// The latest round-trip time, s; 0 before the first.
    #[pyo3(get)]
    rtt: f64,
    /// The smoothed round-trip time, s; 0 before the first.
    #[pyo3(get)]
    srtt: f64,
    /// Payload of a segment, bytes.
    #[pyo3(get)]
    segment: u32,
}

/// A class in Python as the congestion control of a transport.
#[derive(Debug)]
pub struct PythonLaws {
    name: Arc<str>,
    /// Makes the object of a flow.
    make: Py<PyAny>,
    flow: Py<Flow>,
    cost: Arc<Cost>,
    shared: Arc<Shared>,
}

impl PythonLaws {
    /// The class that `spec` names.
    pub fn new(py: Python<'_>, spec: &PolicySpec, shared: Arc<Shared>) -> PyResult<PythonLaws> {
        let make = py.import(MODULE)?.getattr("maker")?.call1((&spec.name, keywords(py, spec)?))?;
        let cost = shared.cost_of(&spec.name);
        let name = spec.name.as_str().into();
        Ok(PythonLaws { name, make: make.unbind(), flow: Py::new(py, Flow::default())?, cost, shared })
    }

    fn object(&self, py: Python<'_>) -> PyResult<Hooks> {
        let object = self.make.bind(py).call0()?;
        Hooks::of(object)
    }
}

impl ProgramLaws for PythonLaws {
    fn law(&self) -> Box<dyn ProgramLaw> {
        let hooks = Python::attach(|py| {
            self.object(py).map_err(|error| {
                let place = Place::new(&self.name, "__init__", 0, "acknowledgements", Time::ZERO);
                self.shared.fail(place.failure(py, error));
            })
        });
        Box::new(PythonLaw {
            name: self.name.clone(),
            hooks: hooks.ok(),
            flow: Python::attach(|py| self.flow.clone_ref(py)),
            now: Time::ZERO,
            acks: 0,
            pacing_rate: None,
            cost: self.cost.clone(),
            shared: self.shared.clone(),
        })
    }
}

#[derive(Debug)]
struct Hooks {
    object: Py<PyAny>,
    on_ack: Py<PyAny>,
    on_loss: Py<PyAny>,
    on_ecn: Option<Py<PyAny>>,
    on_timeout: Option<Py<PyAny>>,
}

impl Hooks {
    fn of(object: Bound<'_, PyAny>) -> PyResult<Hooks> {
        let optional = |name: &str| object.getattr_opt(name).map(|found| found.map(Bound::unbind));
        Ok(Hooks {
            on_ack: object.getattr("on_ack")?.unbind(),
            on_loss: object.getattr("on_loss")?.unbind(),
            on_ecn: optional("on_ecn")?,
            on_timeout: optional("on_timeout")?,
            object: object.unbind(),
        })
    }
}

/// The object of one flow.
#[derive(Debug)]
struct PythonLaw {
    name: Arc<str>,
    /// None if it could not be made: the run ends then.
    hooks: Option<Hooks>,
    flow: Py<Flow>,
    /// The time of the latest acknowledgement.
    now: Time,
    acks: u64,
    /// Segments/s.
    pacing_rate: Option<f64>,
    cost: Arc<Cost>,
    shared: Arc<Shared>,
}

/// What a hook returned: the window, and the pacing rate in bit/s.
type Decision = (f64, Option<f64>);

impl PythonLaw {
    fn place(&self, hook: &str) -> Place {
        Place::new(&self.name, hook, self.acks, "acknowledgements of the flow", self.now)
    }

    /// Calls a hook. A program that has broken off leaves the window as it is.
    fn decide(
        &mut self,
        hook: &str,
        state: &FlowState,
        call: impl Fn(&Hooks, Python<'_>) -> PyResult<Py<PyAny>>,
    ) -> f64 {
        let Some(hooks) = self.hooks.as_ref().filter(|_| !self.shared.has_failed()) else { return state.cwnd };
        let since = self.cost.clock();
        let decided = Python::attach(|py| {
            {
                let mut view = self.flow.borrow_mut(py);
                *view = Flow {
                    cwnd: state.cwnd,
                    ssthresh: state.ssthresh,
                    acked: state.acked,
                    outstanding: state.outstanding,
                    rtt: state.rtt,
                    srtt: state.srtt,
                    segment: state.segment,
                };
            }
            let returned = call(hooks, py).map_err(|error| self.place(hook).failure(py, error))?;
            self.read(py, hook, returned.bind(py))
        });
        self.cost.count(since);
        match decided {
            Ok((cwnd, pacing)) => {
                if let Some(rate) = pacing {
                    self.pacing_rate = Some(rate / 8.0 / f64::from(state.segment));
                }
                cwnd
            }
            Err(error) => {
                self.shared.fail(error);
                state.cwnd
            }
        }
    }

    fn read(&self, py: Python<'_>, hook: &str, returned: &Bound<'_, PyAny>) -> PyResult<Decision> {
        let decision = match returned.extract::<f64>() {
            Ok(cwnd) => Some((cwnd, None)),
            Err(_) => returned.extract::<(f64, f64)>().ok().map(|(cwnd, rate)| (cwnd, Some(rate))),
        };
        // The sender raises a window below one segment that a signal leaves.
        let least = if hook == ON_ACK { 1.0 } else { f64::MIN_POSITIVE };
        match decision {
            Some((cwnd, rate))
                if (least..1e9).contains(&cwnd) && rate.is_none_or(|rate| rate > 0.0 && rate.is_finite()) =>
            {
                Ok((cwnd, rate))
            }
            _ => {
                let bound = if hook == ON_ACK { "a window of at least 1 segment" } else { "a window above 0 segments" };
                let expected = &format!("{bound}, or a tuple of that and a pacing rate in bit/s above 0");
                Err(self.place(hook).nonsense(py, &shown(returned), expected))
            }
        }
    }
}

impl ProgramLaw for PythonLaw {
    fn on_ack(&mut self, state: &FlowState, now: Time) -> f64 {
        self.now = now;
        self.acks += 1;
        self.cost.add_packet();
        let flow = Python::attach(|py| self.flow.clone_ref(py));
        self.decide(ON_ACK, state, |hooks, py| hooks.on_ack.call1(py, (&flow, now.secs())))
    }

    fn on_loss(&mut self, state: &FlowState) -> f64 {
        let flow = Python::attach(|py| self.flow.clone_ref(py));
        self.decide("on_loss", state, |hooks, py| hooks.on_loss.call1(py, (&flow,)))
    }

    fn on_ecn(&mut self, state: &FlowState) -> f64 {
        let flow = Python::attach(|py| self.flow.clone_ref(py));
        self.decide("on_ecn", state, |hooks, py| hooks.on_ecn.as_ref().unwrap_or(&hooks.on_loss).call1(py, (&flow,)))
    }

    fn on_timeout(&mut self) {
        let Some(hooks) = self.hooks.as_ref().filter(|_| !self.shared.has_failed()) else { return };
        let Some(called) = &hooks.on_timeout else { return };
        if let Err(error) = Python::attach(|py| called.call0(py).map_err(|e| self.place("on_timeout").failure(py, e))) {
            self.shared.fail(error);
        }
    }

    fn pacing_rate(&self) -> Option<f64> {
        self.pacing_rate
    }

    fn boxed_clone(&self) -> Box<dyn ProgramLaw> {
        let (hooks, flow) = Python::attach(|py| {
            let copied = self.hooks.as_ref().and_then(|hooks| {
                let copied = py.import("copy").and_then(|copy| copy.getattr("copy")?.call1((&hooks.object,)));
                copied.and_then(Hooks::of).map_err(|error| self.shared.fail(error)).ok()
            });
            (copied, self.flow.clone_ref(py))
        });
        let (name, cost, shared) = (self.name.clone(), self.cost.clone(), self.shared.clone());
        let PythonLaw { now, acks, pacing_rate, .. } = *self;
        Box::new(PythonLaw { name, hooks, flow, now, acks, pacing_rate, cost, shared })
    }
}
