//! Real packets through the network of a plan.

use crate::convert;
use crate::run::{parse, PlanError};
use marqueue_core::Time;
use marqueue_live::audit::{Audit, Counts};
use marqueue_live::engine::{Engine, Outcome, Settings, Stop};
use marqueue_live::network::{packet_time, End, Network};
use marqueue_live::tun::Tun;
use marqueue_live::watch::{Look, Looks};
use pyo3::exceptions::{PyOSError, PyRuntimeError};
use pyo3::prelude::*;
use pyo3::types::PyDict;
use std::path::PathBuf;
use std::sync::Mutex;
use std::thread::JoinHandle;

type Running = JoinHandle<Result<Outcome, rustix::io::Errno>>;

/// The network of a plan between two TUN devices.
#[pyclass(frozen, module = "marqueue._core")]
pub struct LiveLink {
    stop: Stop,
    engine: Mutex<Option<Engine>>,
    running: Mutex<Option<Running>>,
    /// Once it has ended: they are there as long as this is.
    tuns: Mutex<Option<[Tun; 2]>>,
    edges: Vec<Time>,
    packet_time: Option<f64>,
    looks: Option<Looks>,
}

/// Where a device is: its name, and the file of its network namespace if that is not ours.
type Place = (String, Option<PathBuf>);

#[pymethods]
impl LiveLink {
    /// Makes both devices. If it is `watched`, samples are for `looks`.
    #[new]
    #[pyo3(signature = (plan_json, seed, near, far, mtu, hosts, *, watched = false))]
    fn new(
        plan_json: &str,
        seed: u64,
        near: Place,
        far: Place,
        mtu: usize,
        hosts: Vec<u16>,
        watched: bool,
    ) -> PyResult<Self> {
        let plan = parse(plan_json)?;
        let mut network = Network::new(&plan, seed).map_err(|e| PlanError::new_err((e.path, e.message)))?;
        let looks = watched.then(|| network.watched());
        let open = |(name, namespace): Place| {
            Tun::open(&name, namespace.as_deref()).map_err(|e| failed(e, &format!("TUN device {name}")))
        };
        let tuns = [open(near)?, open(far)?];
        let stop = Stop::new().map_err(|e| failed(e, "eventfd"))?;
        let settings = Settings { mtu, hosts };
        let engine = Engine::new(&plan, network, tuns, settings, seed, stop.clone()).map_err(|e| failed(e, "epoll"))?;
        let edges = [Time::ZERO].into_iter().chain(plan.boundaries.iter().copied()).chain([plan.duration]);
        Ok(LiveLink {
            stop,
            engine: Mutex::new(Some(engine)),
            running: Mutex::new(None),
            tuns: Mutex::new(None),
            edges: edges.collect(),
            packet_time: packet_time(&plan),
            looks,
        })
    }

    /// Starts to forward packets, in a thread of its own; gives what the system's monotonic clock says when
    /// its own is at zero, s.
    fn start(&self) -> PyResult<f64> {
        let engine = self.engine.lock().expect("nobody panics with it").take();
        let mut engine = engine.ok_or_else(|| PyRuntimeError::new_err("it was started before"))?;
        let clock = engine.set_clock();
        *self.running.lock().expect("nobody panics with it") = Some(std::thread::spawn(move || engine.run()));
        Ok(clock.epoch())
    }

    /// How long the fastest managed queue takes for a packet of usual size, s; none without such a queue.
    #[getter]
    fn packet_time(&self) -> Option<f64> {
        self.packet_time
    }

    /// The samples since the last call, one dict a queue and instant; none if it is not watched.
    fn looks<'py>(&self, py: Python<'py>) -> PyResult<Vec<Bound<'py, PyDict>>> {
        let Some(looks) = &self.looks else { return Ok(Vec::new()) };
        let taken = std::mem::take(&mut *looks.lock().expect("nobody panics with it"));
        taken.into_iter().map(|each| look(py, each)).collect()
    }

    /// Stops it and gives what it measured, with what tells whether it kept up. The devices stay.
    fn finish<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        self.stop.stop();
        let handle = self.running.lock().expect("nobody panics with it").take();
        let handle = handle.ok_or_else(|| PyRuntimeError::new_err("it does not run"))?;
        let done = py.detach(|| handle.join());
        let outcome = done.map_err(|_| PyRuntimeError::new_err("the engine panicked"))?;
        let outcome = outcome.map_err(|e| failed(e, "TUN device"))?;
        *self.tuns.lock().expect("nobody panics with it") = Some(outcome.tuns);
        let dict = PyDict::new(py);
        dict.set_item("edges", convert::seconds(py, &self.edges))?;
        dict.set_item("ended", outcome.ended.secs())?;
        dict.set_item("links", convert::list(py, outcome.links, convert::link)?)?;
        dict.set_item("pipes", convert::list(py, outcome.pipes, convert::pipe)?)?;
        dict.set_item("audit", audit(py, outcome.audit)?)?;
        Ok(dict)
    }
}

impl Drop for LiveLink {
    fn drop(&mut self) {
        self.stop.stop();
    }
}

fn look(py: Python<'_>, look: Look) -> PyResult<Bound<'_, PyDict>> {
    let [p50, p99] = look.delay.unwrap_or([f64::NAN; 2]);
    let dict = PyDict::new(py);
    dict.set_item("link", look.link)?;
    dict.set_item("rate", look.rate)?;
    dict.set_item("delay_p50", p50)?;
    dict.set_item("delay_p99", p99)?;
    dict.set_item("series", convert::series(py, look.series)?)?;
    Ok(dict)
}

fn failed(error: rustix::io::Errno, what: &str) -> PyErr {
    PyOSError::new_err((error.raw_os_error(), format!("{what}: {}", std::io::Error::from(error))))
}

fn audit(py: Python<'_>, mut a: Audit) -> PyResult<Bound<'_, PyDict>> {
    let dict = PyDict::new(py);
    let error = PyDict::new(py);
    for (name, q) in [("p50", 0.5), ("p90", 0.9), ("p99", 0.99), ("p999", 0.999)] {
        error.set_item(name, a.quantile(q))?;
    }
    error.set_item("max", a.largest())?;
    error.set_item("packets", a.releases())?;
    error.set_item("histogram", a.histogram())?;
    dict.set_item("release_error", error)?;
    for (name, end) in [("near", End::Near), ("far", End::Far)] {
        dict.set_item(name, counts(py, *a.of(end))?)?;
    }
    dict.set_item("spun", a.spun as f64 / 1e9)?;
    dict.set_item("cpu", a.cpu.secs())?;
    dict.set_item("realtime", a.realtime)?;
    dict.set_item("interrupted", a.interrupted)?;
    Ok(dict)
}

fn counts(py: Python<'_>, c: Counts) -> PyResult<Bound<'_, PyDict>> {
    let dict = PyDict::new(py);
    for (name, value) in [
        ("received", c.received),
        ("malformed", c.malformed),
        ("no_memory", c.no_memory),
        ("no_route", c.no_route),
        ("sent", c.sent),
        ("refused", c.refused),
        ("ce_sent", c.ce_sent),
        ("ce_set", c.ce_set),
    ] {
        dict.set_item(name, value)?;
    }
    Ok(dict)
}
