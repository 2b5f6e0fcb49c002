//! Carries real packets through the network of a plan.

use crate::convert;
use crate::program::PythonPrograms;
use crate::run::{parse, PlanError};
use marqueue_core::params::ParamError;
use marqueue_core::{Dur, Time};
use marqueue_live::audit::{Audit, Counts};
use marqueue_live::event_loop::{EventLoop, Host, Outcome, Settings};
use marqueue_live::network::{packet_time, End, Network};
use marqueue_live::polling::DEFAULT_LONGEST_POLL;
use marqueue_live::sample_feed::{Sample, SharedSamples};
use marqueue_live::stop_handle::StopHandle;
use marqueue_live::tun::Tun;
use marqueue_sim::programs::NoPrograms;
use pyo3::exceptions::{PyOSError, PyRuntimeError};
use pyo3::prelude::*;
use pyo3::types::PyDict;
use std::path::PathBuf;
use std::sync::mpsc::channel;
use std::sync::Mutex;
use std::thread::JoinHandle;

/// The thread of a started link.
type Running = JoinHandle<Result<Outcome, rustix::io::Errno>>;

/// The network of a plan between two TUN devices.
#[pyclass(frozen, module = "marqueue._core")]
pub struct LiveLink {
    stop: StopHandle,
    /// The event loop, until it is started.
    event_loop: Mutex<Option<EventLoop>>,
    running: Mutex<Option<Running>>,
    /// The devices after the end, kept open so that their counters can be read.
    tuns: Mutex<Option<[Tun; 2]>>,
    /// The file by which the thread enters the control group of its own processor.
    own_processor: Option<PathBuf>,
    edges: Vec<Time>,
    packet_time: Option<f64>,
    samples: Option<SharedSamples>,
    programs: Option<PythonPrograms>,
}

/// The name of a device, and the file of its network namespace if that is another one.
type DeviceAddress = (String, Option<PathBuf>);

/// Why no lock is poisoned.
pub const UNPOISONED: &str = "no thread panics while it holds the lock";

#[pymethods]
impl LiveLink {
    /// Creates both devices. `hosts` has, by the last 16 bits of addresses, route, processing class and whether the ECN
    /// field is reset within the network. The link's thread polls for `longest_poll` (s) before a packet is due, by
    /// default [`DEFAULT_LONGEST_POLL`]; or all the time, on the processor of the control group into which it writes
    /// itself by the file `own_processor`. With `share_samples`, samples are returned by `samples` instead of `finish`.
    #[new]
    #[pyo3(signature = (
        plan_json, seed, near, far, mtu, hosts, *, longest_poll = None, own_processor = None, share_samples = false
    ))]
    #[expect(clippy::too_many_arguments, reason = "keywords in Python")]
    fn new(
        py: Python<'_>,
        plan_json: &str,
        seed: u64,
        near: DeviceAddress,
        far: DeviceAddress,
        mtu: usize,
        hosts: Vec<Option<(usize, u8, bool)>>,
        longest_poll: Option<f64>,
        own_processor: Option<PathBuf>,
        share_samples: bool,
    ) -> PyResult<Self> {
        let plan = parse(plan_json)?;
        let programs = PythonPrograms::of(py, &plan)?;
        let mut network = match &programs {
            Some(programs) => programs.outcome(Network::new(&plan, seed, programs).map_err(refused))?,
            None => Network::new(&plan, seed, &NoPrograms).map_err(refused)?,
        };
        let samples = share_samples.then(|| network.share_samples());
        let open = |(name, namespace): DeviceAddress| {
            Tun::open(&name, namespace.as_deref()).map_err(|e| failed(e, &format!("TUN device {name}")))
        };
        let tuns = [open(near)?, open(far)?];
        let stop = StopHandle::new().map_err(|e| failed(e, "eventfd"))?;
        if let Some(programs) = &programs {
            programs.end_with_failure(stop.clone());
        }
        let host = |(route, class, resets_ecn)| Host { route, class, resets_ecn };
        let longest_poll = longest_poll.map_or(DEFAULT_LONGEST_POLL, Dur::from_secs);
        let hosts = hosts.into_iter().map(|each| each.map(host)).collect();
        let settings = Settings { mtu, hosts, longest_poll, own_processor: own_processor.is_some() };
        let event_loop =
            EventLoop::new(&plan, network, tuns, settings, seed, stop.clone()).map_err(|e| failed(e, "epoll"))?;
        let edges = [Time::ZERO].into_iter().chain(plan.boundaries.iter().copied()).chain([plan.duration]);
        Ok(LiveLink {
            stop,
            event_loop: Mutex::new(Some(event_loop)),
            running: Mutex::new(None),
            tuns: Mutex::new(None),
            own_processor,
            edges: edges.collect(),
            packet_time: packet_time(&plan),
            samples,
            programs,
        })
    }

    /// Starts to forward packets in a thread of its own. Returns the time on the system's monotonic clock at which the
    /// link's clock is zero, s. Raises `OSError` if the thread cannot enter the control group of its processor.
    fn start(&self, py: Python<'_>) -> PyResult<f64> {
        let event_loop = self.event_loop.lock().expect(UNPOISONED).take();
        let mut event_loop = event_loop.ok_or_else(|| PyRuntimeError::new_err("the link was started before"))?;
        let clock = event_loop.restart_clock();
        let own_processor = self.own_processor.clone();
        let (tell, told) = channel();
        *self.running.lock().expect(UNPOISONED) = Some(std::thread::spawn(move || {
            // The thread itself: 0 is who writes it.
            let entered = own_processor.map_or(Ok(()), |threads| std::fs::write(threads, "0"));
            let has_entered = entered.is_ok();
            let _ = tell.send(entered);
            if has_entered {
                event_loop.run()
            } else {
                Err(rustix::io::Errno::CANCELED)
            }
        }));
        let entered = py.detach(move || told.recv()).map_err(|_| PyRuntimeError::new_err("the event loop panicked"))?;
        entered.map_err(|e| PyOSError::new_err((e.raw_os_error(), format!("the link's thread: {e}"))))?;
        Ok(clock.epoch())
    }

    /// The transmission time of a packet of mean size on the fastest managed queue, s; `None` without a managed queue.
    #[getter]
    fn packet_time(&self) -> Option<f64> {
        self.packet_time
    }

    /// Has the link ended because a program that it names broke off? `finish` then raises why.
    #[getter]
    fn is_broken(&self) -> bool {
        self.programs.as_ref().is_some_and(PythonPrograms::are_broken)
    }

    /// The samples since the last call, one dict for each queue and instant; empty unless samples are shared.
    fn samples<'py>(&self, py: Python<'py>) -> PyResult<Vec<Bound<'py, PyDict>>> {
        let Some(samples) = &self.samples else { return Ok(Vec::new()) };
        let taken = std::mem::take(&mut *samples.lock().expect(UNPOISONED));
        taken.into_iter().map(|each| sample(py, each)).collect()
    }

    /// Stops the link. Returns its measurements and the audit. The devices stay open. Raises `ProgramFailed` if a program
    /// has broken off.
    fn finish<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        self.stop.stop();
        let handle = self.running.lock().expect(UNPOISONED).take();
        let handle = handle.ok_or_else(|| PyRuntimeError::new_err("the link does not run"))?;
        let done = py.detach(|| handle.join());
        let outcome = done.map_err(|_| PyRuntimeError::new_err("the event loop panicked"))?;
        let outcome = outcome.map_err(|e| failed(e, "TUN device"))?;
        if let Some(programs) = &self.programs {
            programs.outcome(Ok(()))?;
        }
        *self.tuns.lock().expect(UNPOISONED) = Some(outcome.tuns);
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

fn sample(py: Python<'_>, sample: Sample) -> PyResult<Bound<'_, PyDict>> {
    let [p50, p99] = sample.delay.unwrap_or([f64::NAN; 2]);
    let dict = PyDict::new(py);
    dict.set_item("link", sample.link)?;
    dict.set_item("rate", sample.rate)?;
    dict.set_item("delay_p50", p50)?;
    dict.set_item("delay_p99", p99)?;
    dict.set_item("series", convert::series(py, sample.series)?)?;
    Ok(dict)
}

fn refused(error: ParamError) -> PyErr {
    PlanError::new_err((error.path, error.message))
}

/// The error of a system call on `what`.
pub fn failed(error: rustix::io::Errno, what: &str) -> PyErr {
    PyOSError::new_err((error.raw_os_error(), format!("{what}: {}", std::io::Error::from(error))))
}

fn audit(py: Python<'_>, a: Audit) -> PyResult<Bound<'_, PyDict>> {
    let dict = PyDict::new(py);
    let error = PyDict::new(py);
    for (name, q) in [("p50", 0.5), ("p90", 0.9), ("p99", 0.99), ("p999", 0.999)] {
        error.set_item(name, a.quantile(q))?;
    }
    error.set_item("mean", a.mean())?;
    error.set_item("max", a.largest())?;
    error.set_item("packets", a.releases())?;
    error.set_item("histogram", a.histogram())?;
    dict.set_item("release_error", error)?;
    for (name, end) in [("near", End::Near), ("far", End::Far)] {
        dict.set_item(name, counts(py, *a.counts(end))?)?;
    }
    dict.set_item("busy_wait", a.busy_wait_ns as f64 / 1e9)?;
    dict.set_item("cpu", a.cpu.secs())?;
    dict.set_item("realtime", a.realtime)?;
    dict.set_item("preemptions", a.preemptions)?;
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
