//! What the programs of a run share: why one broke off, and what they cost.

#![allow(clippy::disallowed_types, clippy::disallowed_methods, reason = "what a program costs is no part of a result")]

use marqueue_cc::program::PREFIX;
use marqueue_core::params::{PolicySpec, Value};
use marqueue_core::Time;
use marqueue_live::stop_handle::StopHandle;
use pyo3::exceptions::PyException;
use pyo3::prelude::*;
use pyo3::types::PyDict;
use std::collections::BTreeSet;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::Instant;

pyo3::create_exception!(_core, ProgramFailed, PyException, "A program of the user's broke off.");

/// The module that knows the programs.
pub const MODULE: &str = "marqueue.programs.registry";

/// The values of a program's parameters.
pub fn keywords<'py>(py: Python<'py>, spec: &PolicySpec) -> PyResult<Bound<'py, PyDict>> {
    let values = PyDict::new(py);
    for (name, value) in &spec.params {
        match value {
            Value::Flag(flag) => values.set_item(name, flag)?,
            Value::Number(number) => values.set_item(name, number)?,
            Value::Choice(text) => values.set_item(name, text)?,
            Value::Policy(_) | Value::Table(_) => {}
        }
    }
    Ok(values)
}

/// One call in so many is timed.
const TIMED: u64 = 64;

/// For each program its name, the packets or acknowledgements that it saw, and about how many seconds its hooks took.
pub type Costs = Vec<(String, u64, f64)>;

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// What the programs of a run share.
#[derive(Debug, Default)]
pub struct Shared {
    has_failed: AtomicBool,
    failure: Mutex<Option<PyErr>>,
    /// Ends the link that the programs manage, if it is one with real packets.
    link: OnceLock<StopHandle>,
    costs: Mutex<Vec<(String, Arc<Cost>)>>,
}

impl Shared {
    /// A program has broken off; only the first of them is told.
    pub fn fail(&self, error: PyErr) {
        locked(&self.failure).get_or_insert(error);
        self.has_failed.store(true, Ordering::Relaxed);
        if let Some(link) = self.link.get() {
            link.stop();
        }
    }

    /// The same, outside Python.
    pub fn fail_with(&self, error: impl FnOnce(Python<'_>) -> PyErr) {
        self.fail(Python::attach(error));
    }

    /// Lets the first failure end a link.
    pub fn end_with_failure(&self, link: StopHandle) {
        self.link.get_or_init(|| link);
    }

    /// Has one broken off?
    pub fn has_failed(&self) -> bool {
        self.has_failed.load(Ordering::Relaxed)
    }

    /// Why one broke off.
    pub fn failure(&self) -> Option<PyErr> {
        locked(&self.failure).take()
    }

    /// The count of a new queue, or of all flows of a transport, under a program.
    pub fn cost_of(&self, name: &str) -> Arc<Cost> {
        let cost = Arc::new(Cost::default());
        locked(&self.costs).push((name.to_string(), cost.clone()));
        cost
    }

    /// What they cost.
    pub fn costs(&self) -> Costs {
        locked(&self.costs)
            .iter()
            .map(|(name, cost)| (name.clone(), cost.packets.load(Ordering::Relaxed), cost.secs()))
            .collect()
    }
}

/// The calls of one program, and the time of those that were timed.
#[derive(Debug, Default)]
pub struct Cost {
    packets: AtomicU64,
    calls: AtomicU64,
    timed: AtomicU64,
    nanoseconds: AtomicU64,
}

impl Cost {
    /// A packet, or an acknowledgement.
    pub fn add_packet(&self) {
        self.packets.fetch_add(1, Ordering::Relaxed);
    }

    /// The time if the call that begins now is timed.
    pub fn clock(&self) -> Option<Instant> {
        let calls = self.calls.fetch_add(1, Ordering::Relaxed);
        calls.is_multiple_of(TIMED).then(Instant::now)
    }

    /// A call that began then has ended.
    pub fn count(&self, since: Option<Instant>) {
        if let Some(since) = since {
            self.timed.fetch_add(1, Ordering::Relaxed);
            self.nanoseconds.fetch_add(since.elapsed().as_nanos() as u64, Ordering::Relaxed);
        }
    }

    fn secs(&self) -> f64 {
        let read = |count: &AtomicU64| count.load(Ordering::Relaxed) as f64;
        read(&self.nanoseconds) / read(&self.timed).max(1.0) * read(&self.calls) * 1e-9
    }
}

/// Where a program is, for messages: the hook, how much it has seen, the time.
pub struct Place(String);

impl Place {
    /// In a hook of the program `name`, after `seen` of `what`.
    pub fn new(name: &str, hook: &str, seen: u64, what: &str, now: Time) -> Place {
        let name = name.strip_prefix(PREFIX).unwrap_or(name);
        Place(format!("{name}: {hook}, after {seen} {what}, at {} s", now.secs()))
    }

    /// The error for a value that the hook may not return.
    pub fn nonsense(self, py: Python<'_>, shown: &str, expected: &str) -> PyErr {
        let error = ProgramFailed::new_err(format!("{}: returned {shown}, expected {expected}", self.0));
        error.set_cause(py, None);
        error
    }

    /// The error for one that the hook raised.
    pub fn failure(self, py: Python<'_>, cause: PyErr) -> PyErr {
        let error = ProgramFailed::new_err(self.0);
        error.set_cause(py, Some(cause));
        error
    }
}

/// A value as messages show it.
pub fn shown(value: &Bound<'_, PyAny>) -> String {
    value.repr().map_or_else(|_| "a value".to_string(), |text| text.to_string())
}

/// A static copy of the names of probes. Each list is stored once, however many queues have it.
pub fn interned(probes: Vec<(String, String)>) -> &'static [(&'static str, &'static str)] {
    type Names = &'static [(&'static str, &'static str)];
    static KNOWN: Mutex<BTreeSet<Names>> = Mutex::new(BTreeSet::new());
    let mut known = locked(&KNOWN);
    let is_same = |names: &Names| names.iter().map(|(a, b)| (*a, *b)).eq(probes.iter().map(|(a, b)| (&a[..], &b[..])));
    if let Some(found) = known.iter().find(|names| is_same(names)) {
        return found;
    }
    let leak = |(name, unit): (String, String)| (&*name.leak(), &*unit.leak());
    let names: Names = probes.into_iter().map(leak).collect::<Vec<_>>().leak();
    known.insert(names);
    names
}
