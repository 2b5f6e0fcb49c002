//! AQMs that are classes in Python (`marqueue.aqm`): calls their hooks for each packet.
//!
//! The objects that hooks get are made once for each queue and filled in before each call.

use crate::run::ProgramFailed;
use marqueue_aqm::program::{Program, Programs};
use marqueue_aqm::{Context, Env, Reason, Verdict};
use marqueue_core::params::{ParamError, PolicySpec, Value};
use marqueue_core::{Dur, Packet as Carried, Rng, Time};
use marqueue_sim::plan::Plan;
use pyo3::prelude::*;
use pyo3::types::PyDict;
use std::collections::BTreeSet;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Instant;

/// One call in so many is timed.
const TIMED: u64 = 64;

/// The module that knows the programs.
const MODULE: &str = "marqueue.programs.registry";

/// Does a plan name any program?
pub fn has_programs(plan: &Plan) -> bool {
    let queues = plan.links.iter().filter_map(|link| link.queue.as_ref());
    queues.into_iter().any(|queue| queue.policy.name.starts_with(PythonPrograms::PREFIX))
}

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
            mean_packet: u64::from(env.mean_packet.0),
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

/// What the programs of a run share.
#[derive(Debug, Default)]
struct Shared {
    failed: AtomicBool,
    failure: Mutex<Option<PyErr>>,
    costs: Mutex<Vec<(String, Arc<Cost>)>>,
}

impl Shared {
    fn fail(&self, error: PyErr) {
        self.failure.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(error);
        self.failed.store(true, Ordering::Relaxed);
    }
}

/// The calls of one program, and the time of those that were timed.
#[derive(Debug, Default)]
struct Cost {
    packets: AtomicU64,
    calls: AtomicU64,
    timed: AtomicU64,
    nanoseconds: AtomicU64,
}

/// The programs of one run.
#[derive(Debug, Default)]
pub struct PythonPrograms(Arc<Shared>);

impl PythonPrograms {
    /// The result of the run, or why a program broke off.
    pub fn outcome<T>(&self, py: Python<'_>, result: PyResult<T>) -> PyResult<T> {
        match self.0.failure.lock().unwrap_or_else(PoisonError::into_inner).take() {
            // The context of the failure is the error that the program raised.
            Some(error) => Err(error.clone_ref(py)),
            None => result,
        }
    }

    /// For each program its name, the packets that it saw, and about how many seconds its hooks took.
    pub fn costs(&self) -> Vec<(String, u64, f64)> {
        let costs = self.0.costs.lock().unwrap_or_else(PoisonError::into_inner);
        let read = |count: &AtomicU64| count.load(Ordering::Relaxed);
        let seconds = |cost: &Cost| {
            let mean = read(&cost.nanoseconds) as f64 / read(&cost.timed).max(1) as f64;
            mean * read(&cost.calls) as f64 * 1e-9
        };
        costs.iter().map(|(name, cost)| (name.clone(), read(&cost.packets), seconds(cost))).collect()
    }
}

impl Programs for PythonPrograms {
    fn policy(&self, spec: &PolicySpec, env: &Env) -> Result<Box<dyn Program>, ParamError> {
        let made = Python::attach(|py| PythonProgram::new(py, spec, env, self.0.clone()));
        match made {
            Ok(program) => Ok(Box::new(program)),
            Err(error) => {
                self.0.fail(error);
                Err(ParamError::new("name", format!("{} cannot begin", spec.name)))
            }
        }
    }

    fn have_failed(&self) -> bool {
        // Other threads wait for the lock.
        Python::attach(|py| py.detach(std::thread::yield_now));
        self.0.failed.load(Ordering::Relaxed)
    }
}

/// A static copy of the names of probes. Each list is stored once, however many queues have it.
fn interned(probes: Vec<(String, String)>) -> &'static [(&'static str, &'static str)] {
    type Names = &'static [(&'static str, &'static str)];
    static KNOWN: Mutex<BTreeSet<Names>> = Mutex::new(BTreeSet::new());
    let mut known = KNOWN.lock().unwrap_or_else(PoisonError::into_inner);
    let is_same = |names: &Names| names.iter().map(|(a, b)| (*a, *b)).eq(probes.iter().map(|(a, b)| (&a[..], &b[..])));
    if let Some(found) = known.iter().find(|names| is_same(names)) {
        return found;
    }
    let leak = |(name, unit): (String, String)| (&*name.leak(), &*unit.leak());
    let names: Names = probes.into_iter().map(leak).collect::<Vec<_>>().leak();
    known.insert(names);
    names
}

/// A class in Python as the policy of a queue.
#[derive(Debug)]
struct PythonProgram {
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
    fn new(py: Python<'_>, spec: &PolicySpec, env: &Env, shared: Arc<Shared>) -> PyResult<PythonProgram> {
        let params = PyDict::new(py);
        for (name, value) in &spec.params {
            match value {
                Value::Flag(flag) => params.set_item(name, flag)?,
                Value::Number(number) => params.set_item(name, number)?,
                Value::Choice(text) => params.set_item(name, text)?,
                Value::Policy(_) | Value::Table(_) => {}
            }
        }
        let module = py.import(MODULE)?;
        let object = module.getattr("begin")?.call1((&spec.name, params))?;
        let hook = |name: &str| object.getattr_opt(name).map(|found| found.map(Bound::unbind));
        let probes: Vec<(String, String)> = module.getattr("probes_of")?.call1((&object,))?.extract()?;
        let verdicts: [Py<PyAny>; 3] = module.getattr("VERDICTS")?.extract()?;
        let cost = Arc::new(Cost::default());
        shared.costs.lock().unwrap_or_else(PoisonError::into_inner).push((spec.name.clone(), cost.clone()));
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
                Err(error) => return Err(program.failure(py, "start", Time::ZERO, Some(error))),
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
            Ok(seconds) if seconds >= 1e-9 && seconds < 1e9 => Ok(now + Dur::from_secs(seconds)),
            _ => {
                let expected = "the seconds to the next call of on_timer, above zero, or None";
                Err(self.nonsense(py, hook, now, returned, expected))
            }
        }
    }

    /// The error for a value that no hook may return.
    fn nonsense(
        &self,
        py: Python<'_>,
        hook: &str,
        now: Time,
        returned: &Bound<'_, PyAny>,
        expected: &str,
    ) -> PyErr {
        let shown = returned.repr().map_or_else(|_| "something".to_string(), |text| text.to_string());
        let mut message = self.place(hook, now);
        message.push_str(&format!(": returned {shown}, expected {expected}"));
        let error = ProgramFailed::new_err(message);
        error.set_cause(py, None);
        error
    }

    fn failure(&self, py: Python<'_>, hook: &str, now: Time, cause: Option<PyErr>) -> PyErr {
        let error = ProgramFailed::new_err(self.place(hook, now));
        error.set_cause(py, cause);
        error
    }

    /// Where the run is: the hook, the packet and the time.
    fn place(&self, hook: &str, now: Time) -> String {
        let name = self.name.strip_prefix(PythonPrograms::PREFIX).unwrap_or(&self.name);
        format!("{name}: {hook}, {} packets after the start, at {} s", self.arrivals, now.secs())
    }

    /// Is the call that begins now to be timed?
    fn clock(&mut self) -> Option<Instant> {
        let calls = self.cost.calls.fetch_add(1, Ordering::Relaxed);
        (calls % TIMED == 0).then(Instant::now)
    }

    fn count(&self, since: Option<Instant>) {
        if let Some(since) = since {
            self.cost.timed.fetch_add(1, Ordering::Relaxed);
            self.cost.nanoseconds.fetch_add(since.elapsed().as_nanos() as u64, Ordering::Relaxed);
        }
    }

    fn has_failed(&self) -> bool {
        self.shared.failed.load(Ordering::Relaxed)
    }

    /// Asks one of the hooks about a packet.
    fn decide(
        &mut self,
        hook: &'static str,
        cx: &mut Context<'_>,
        packet: &Carried,
        sojourn: Dur,
    ) -> Verdict {
        if self.has_failed() {
            return Verdict::Pass;
        }
        let since = self.clock();
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
            let returned = returned.map_err(|error| self.failure(py, hook, cx.now, Some(error)))?;
            match self.verdicts.iter().position(|each| each.is(&returned)) {
                Some(0) => Ok(Verdict::Pass),
                Some(1) => Ok(Verdict::Mark(Reason::Early)),
                Some(_) => Ok(Verdict::Drop(Reason::Early)),
                None => {
                    let expected = "marqueue.PASS, marqueue.MARK or marqueue.DROP";
                    Err(self.nonsense(py, hook, cx.now, returned.bind(py), expected))
                }
            }
        });
        self.count(since);
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
        self.cost.packets.fetch_add(1, Ordering::Relaxed);
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
        if self.has_failed() {
            return;
        }
        let since = self.clock();
        let next = Python::attach(|py| {
            let Some(called) = &self.on_timer else { return Ok(Time::NEVER) };
            self.queue.borrow_mut(py).fill(cx);
            let returned = called.call1(py, (&self.queue, cx.now.secs()));
            std::mem::swap(&mut self.queue.borrow_mut(py).rng, cx.rng);
            let returned = returned.map_err(|error| self.failure(py, "on_timer", cx.now, Some(error)))?;
            self.due(py, cx.now, "on_timer", returned.bind(py))
        });
        self.count(since);
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
                value.extract().map_err(|_| self.nonsense(py, &format!("the probe {name}"), now, &value, "a number"))
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
