//! Rate-based flows of a plan with real packets.

use crate::convert;
use crate::live::{failed, UNPOISONED};
use crate::run::{parse, PlanError};
use marqueue_cc::rate_based::AnyRateLaw;
use marqueue_core::{Dur, Time};
use marqueue_live::clock::Clock;
use marqueue_live::paced_flows::{FlowSpec, PacedFlows, PacedOutcome};
use marqueue_live::stop_handle::StopHandle;
use marqueue_sim::plan::{Plan, TrafficKind};
use marqueue_sim::result::RateTrace;
use numpy::PyArray1;
use pyo3::exceptions::{PyRuntimeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::PyDict;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Mutex;
use std::thread::JoinHandle;

/// The thread of started flows.
type Running = JoinHandle<Result<PacedOutcome, rustix::io::Errno>>;

/// A flow: its entry in the plan's traffic, its start, s, and the addresses of its sender and of its receiver.
type FlowPlace = (usize, f64, String, String);

/// Senders and receivers of rate-based flows, in one thread.
#[pyclass(frozen, module = "marqueue._core", name = "PacedFlows")]
pub struct Paced {
    stop: StopHandle,
    flows: Mutex<Option<PacedFlows>>,
    running: Mutex<Option<Running>>,
    /// For each flow the size of its packets, bytes, if it is traced.
    traced: Vec<Option<u32>>,
}

#[pymethods]
impl Paced {
    /// Opens the sockets of all flows, whose addresses are there, in the network namespaces of two files.
    #[new]
    fn new(plan_json: &str, flows: Vec<FlowPlace>, near: PathBuf, far: PathBuf) -> PyResult<Self> {
        let plan = parse(plan_json)?;
        let specs = flows.into_iter().map(|flow| spec(&plan, flow)).collect::<PyResult<Vec<_>>>()?;
        let traced = specs.iter().map(|spec| spec.trace.then_some(spec.bytes as u32)).collect();
        let stop = StopHandle::new().map_err(|e| failed(e, "eventfd"))?;
        let edges = [Time::ZERO].into_iter().chain(plan.boundaries.iter().copied()).chain([plan.duration]).collect();
        let flows = PacedFlows::open(specs, Some(&near), Some(&far), edges, stop.clone());
        let flows = flows.map_err(|e| failed(e, "UDP sockets"))?;
        Ok(Paced { stop, flows: Mutex::new(Some(flows)), running: Mutex::new(None), traced })
    }

    /// Starts to send, in a thread of its own. Time zero is `epoch` on the system's monotonic clock, s.
    fn start(&self, epoch: f64) -> PyResult<()> {
        let flows = self.flows.lock().expect(UNPOISONED).take();
        let flows = flows.ok_or_else(|| PyRuntimeError::new_err("the flows were started before"))?;
        *self.running.lock().expect(UNPOISONED) = Some(std::thread::spawn(move || flows.run(Clock::since(epoch))));
        Ok(())
    }

    /// Waits for the end of the run. Returns how late packets were (99th percentile, as a share of the time between two;
    /// None if none was sent), and for each flow a dict.
    fn finish<'py>(&self, py: Python<'py>) -> PyResult<(Option<f64>, Vec<Bound<'py, PyDict>>)> {
        let handle = self.running.lock().expect(UNPOISONED).take();
        let handle = handle.ok_or_else(|| PyRuntimeError::new_err("the flows were not started"))?;
        let done = py.detach(|| handle.join()).map_err(|_| PyRuntimeError::new_err("the senders panicked"))?;
        let outcome = done.map_err(|e| failed(e, "UDP sockets"))?;
        let mut records = Vec::new();
        for (f, (record, &traced)) in outcome.flows.into_iter().zip(&self.traced).enumerate() {
            let dict = PyDict::new(py);
            dict.set_item("sent", record.counts.sent)?;
            dict.set_item("timeouts", record.counts.timeouts)?;
            dict.set_item("ecn_cuts", record.counts.ecn_cuts)?;
            dict.set_item("received", PyArray1::from_iter(py, record.received.into_iter().map(|n| n as f64)))?;
            if let Some(bytes) = traced {
                let trace = RateTrace { flow: f as u32, bytes, rows: record.rates };
                dict.set_item("trace", convert::paced(py, trace)?)?;
            }
            records.push(dict);
        }
        Ok((outcome.late, records))
    }
}

impl Drop for Paced {
    fn drop(&mut self) {
        self.stop.stop();
    }
}

fn spec(plan: &Plan, (entry, start, near, far): FlowPlace) -> PyResult<FlowSpec> {
    let group = plan.traffic.get(entry).ok_or_else(|| PyValueError::new_err("the plan has no such traffic"))?;
    let TrafficKind::Paced { control, rate, packet, ecn, stop, trace, .. } = &group.kind else {
        return Err(PyValueError::new_err("the traffic is not rate-based"));
    };
    let address = |text: &str| text.parse::<SocketAddr>().map_err(|e| PyValueError::new_err(e.to_string()));
    Ok(FlowSpec {
        near: address(&near)?,
        far: address(&far)?,
        law: AnyRateLaw::build(control, *packet).map_err(|e| PlanError::new_err((e.path, e.message)))?,
        rate: rate.packets_per_sec(*packet),
        bytes: packet.0 as usize,
        start: Time::ZERO + Dur::from_secs(start),
        stop: stop.unwrap_or(Time::NEVER),
        ecn: *ecn,
        dscp: group.dscp,
        trace: *trace,
    })
}
