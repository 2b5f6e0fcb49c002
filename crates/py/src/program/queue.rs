//! AQMs that are classes in Python (`marqueue.aqm`): calls their hooks for each packet.
//!
//! The objects that hooks get are made once for each queue and filled in before each call.

use super::shared::{interned, keywords, shown, Cost, Place, Shared, MODULE};
use marqueue_aqm::program::Program;
use marqueue_aqm::{Context, Env, Reason, Verdict};
use marqueue_core::params::PolicySpec;
use marqueue_core::{Dur, Packet as Carried, Rng, Time};
use pyo3::prelude::*;
use std::sync::Arc;

/// The packet that a hook decides about.
#[pyclass(module = "marqueue._core")]
#[derive(Default)]
pub struct Packet {
    /// Bytes.
    #[pyo3(get)]
    size: u32,
    /// The index of its flow.
    #[pyo3(get)]
    flow: u32,
    /// Its sequence number.
    #[pyo3(get)]
    seq: u32,
    /// The two bits of the ECN field.
    #[pyo3(get)]
    ecn: u8,
    /// Its code point.
    #[pyo3(get)]
    dscp: u8,
    /// Time in the queue, s; 0 at an arrival.
    #[pyo3(get)]
    sojourn: f64,
}

/// The queue that a program manages.
#[pyclass(module = "marqueue._core")]
pub struct Queue {
    /// Packets in it, without the arriving or departing one.
    #[pyo3(get)]
    packets: u32,
    /// Bytes in it, counted the same way.
    #[pyo3(get)]
    bytes: u64,
    /// Age of its oldest packet, s.
    #[pyo3(get)]
    delay: f64,
    /// Rate of the server behind it, bit/s.
    #[pyo3(get)]
    rate: f64,
    /// Usual size of a data packet, bytes.
    #[pyo3(get)]
    mean_packet: u64,
    /// The buffer, in packets of this size.
    #[pyo3(get)]
    limit: f64,
    /// Would the packet that arrives overflow the buffer?
    #[pyo3(get)]
    is_full: bool,
    rng: Rng,
}

#[pymethods]
impl Queue {
    /// The next number of the queue's own random stream, uniform on [0, 1).
    fn uniform(&mut self) -> f64 {
        self.rng.uniform()
    }
}

impl Queue {
    fn new(env: &Env) -> Queue {
        Queue {
            packets: 0,
            bytes: 0,
            delay: 0.0,
            rate: env.rate.0 as f64,
            mean_packet: env.mean_packet.0,
            limit: env.limit.packets(env.mean_packet),
            is_full: false,
            rng: Rng::named(0, ""),
        }
    }

    fn fill(&mut self, cx: &mut Context<'_>) {
        self.packets = cx.packets();
        self.bytes = cx.bytes();
        self.delay = cx.queue.age(cx.now).secs();
        self.rate = cx.env.rate.0 as f64;
        std::mem::swap(&mut self.rng, cx.rng);
    }
}

/// A class in Python as the policy of a queue.
#[derive(Debug)]
pub struct PythonProgram {
    name: String,
    object: Py<PyAny>,
    on_arrival: Option<Py<PyAny>>,
    on_departure: Option<Py<PyAny>>,
    on_timer: Option<Py<PyAny>>,
    probes: &'static [(&'static str, &'static str)],
    packet: Py<Packet>,
    queue: Py<Queue>,
    /// The objects that stand for the verdicts pass, mark and drop.
    verdicts: [Py<PyAny>; 3],
    timer: Time,
    arrivals: u64,
    cost: Arc<Cost>,
    shared: Arc<Shared>,
}

impl PythonProgram {
    /// An object of the class that `spec` names, for an empty queue in `env`.
    pub fn new(py: Python<'_>, spec: &PolicySpec, env: &Env, shared: Arc<Shared>) -> PyResult<PythonProgram> {
        let module = py.import(MODULE)?;
        let object = module.getattr("begin")?.call1((&spec.name, keywords(py, spec)?))?;
        let hook = |name: &str| object.getattr_opt(name).map(|found| found.map(Bound::unbind));
        let probes: Vec<(String, String)> = module.getattr("probes_of")?.call1((&object,))?.extract()?;
        let verdicts: [Py<PyAny>; 3] = module.getattr("VERDICTS")?.extract()?;
        let cost = shared.cost_of(&spec.name);
        let mut program = PythonProgram {
            name: spec.name.clone(),
            on_arrival: hook("on_arrival")?,
            on_departure: hook("on_departure")?,
            on_timer: hook("on_timer")?,
            probes: interned(probes),
            packet: Py::new(py, Packet::default())?,
            queue: Py::new(py, Queue::new(env))?,
            object: object.clone().unbind(),
            verdicts,
            timer: Time::NEVER,
            arrivals: 0,
            cost,
            shared,
        };
        if let Some(start) = object.getattr_opt("start")? {
            match start.call1((&program.queue,)) {
                Ok(first) => program.timer = program.due(py, Time::ZERO, "start", &first)?,
                Err(error) => return Err(program.place("start", Time::ZERO).failure(py, error)),
            }
        }
        Ok(program)
    }

    /// The time of the next timer, from what a hook returned: seconds until then, or None.
    fn due(&self, py: Python<'_>, now: Time, hook: &str, returned: &Bound<'_, PyAny>) -> PyResult<Time> {
        if returned.is_none() {
            return Ok(Time::NEVER);
        }
        match returned.extract::<f64>() {
            Ok(f64::INFINITY) => Ok(Time::NEVER),
            Ok(seconds) if (1e-9..1e9).contains(&seconds) => Ok(now + Dur::from_secs(seconds)),
            _ => {
                let expected = "the seconds to the next call of on_timer, above zero, or None";
                Err(self.place(hook, now).nonsense(py, &shown(returned), expected))
            }
        }
    }

    fn place(&self, hook: &str, now: Time) -> Place {
        Place::new(&self.name, hook, self.arrivals, "packets", now)
    }

    /// Asks one of the hooks about a packet.
    fn decide(&mut self, hook: &'static str, cx: &mut Context<'_>, packet: &Carried, sojourn: Dur) -> Verdict {
        if self.shared.has_failed() {
            return Verdict::Pass;
        }
        let since = self.cost.clock();
        let verdict = Python::attach(|py| {
            let called = if hook == ARRIVAL { &self.on_arrival } else { &self.on_departure };
            let Some(called) = called else { return Ok(Verdict::Pass) };
            {
                let mut view = self.packet.borrow_mut(py);
                view.size = packet.bytes();
                view.flow = packet.flow();
                view.seq = packet.seq();
                view.ecn = packet.ecn() as u8;
                view.dscp = packet.dscp().value();
                view.sojourn = sojourn.secs();
            }
            {
                let is_full = cx.is_full(packet);
                let mut view = self.queue.borrow_mut(py);
                view.fill(cx);
                view.is_full = is_full;
            }
            let returned = called.call1(py, (&self.packet, &self.queue, cx.now.secs()));
            std::mem::swap(&mut self.queue.borrow_mut(py).rng, cx.rng);
            let returned = returned.map_err(|error| self.place(hook, cx.now).failure(py, error))?;
            match self.verdicts.iter().position(|each| each.is(&returned)) {
                Some(0) => Ok(Verdict::Pass),
                Some(1) => Ok(Verdict::Mark(Reason::Early)),
                Some(_) => Ok(Verdict::Drop(Reason::Early)),
                None => {
                    let expected = "marqueue.PASS, marqueue.MARK or marqueue.DROP";
                    Err(self.place(hook, cx.now).nonsense(py, &shown(returned.bind(py)), expected))
                }
            }
        });
        self.cost.count(since);
        verdict.unwrap_or_else(|error| {
            self.shared.fail(error);
            Verdict::Pass
        })
    }
}

const ARRIVAL: &str = "on_arrival";
const DEPARTURE: &str = "on_departure";

impl Program for PythonProgram {
    fn on_arrival(&mut self, cx: &mut Context<'_>, packet: &Carried) -> Verdict {
        self.arrivals += 1;
        self.cost.add_packet();
        match self.on_arrival {
            Some(_) => self.decide(ARRIVAL, cx, packet, Dur::ZERO),
            None => Verdict::Pass,
        }
    }

    fn on_departure(&mut self, cx: &mut Context<'_>, packet: &Carried, sojourn: Dur) -> Verdict {
        match self.on_departure {
            Some(_) => self.decide(DEPARTURE, cx, packet, sojourn),
            None => Verdict::Pass,
        }
    }

    fn next_timer(&self) -> Time {
        self.timer
    }

    fn on_timer(&mut self, cx: &mut Context<'_>) {
        self.timer = Time::NEVER;
        if self.shared.has_failed() {
            return;
        }
        let since = self.cost.clock();
        let next = Python::attach(|py| {
            let Some(called) = &self.on_timer else { return Ok(Time::NEVER) };
            self.queue.borrow_mut(py).fill(cx);
            let returned = called.call1(py, (&self.queue, cx.now.secs()));
            std::mem::swap(&mut self.queue.borrow_mut(py).rng, cx.rng);
            let returned = returned.map_err(|error| self.place("on_timer", cx.now).failure(py, error))?;
            self.due(py, cx.now, "on_timer", returned.bind(py))
        });
        self.cost.count(since);
        match next {
            Ok(next) => self.timer = next,
            Err(error) => self.shared.fail(error),
        }
    }

    fn probes(&self) -> &'static [(&'static str, &'static str)] {
        self.probes
    }

    fn probe(&self, now: Time, _: &Env, out: &mut Vec<f64>) {
        let values: PyResult<Vec<f64>> = Python::attach(|py| {
            let read = |name: &str| {
                let value = self.object.bind(py).getattr(name)?;
                value
                    .extract()
                    .map_err(|_| self.place(&format!("the probe {name}"), now).nonsense(py, &shown(&value), "a number"))
            };
            self.probes.iter().map(|(name, _)| read(name)).collect()
        });
        match values {
            Ok(values) => out.extend(values),
            Err(error) => {
                self.shared.fail(error);
                out.extend(self.probes.iter().map(|_| f64::NAN));
            }
        }
    }
}
