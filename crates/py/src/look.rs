//! A Python function that looks at a run.

use marqueue_sim::{LinkSoFar, SoFar, Watcher};
use numpy::{Element, PyArray1};
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::PyDict;
use std::sync::{Mutex, PoisonError};

/// The function: gets a dict, and returns the number of events at which it is called again, or None to cut the run off.
#[derive(Debug)]
pub struct Look {
    function: Py<PyAny>,
    /// What it raised, which ends the run.
    failure: Mutex<Option<PyErr>>,
}

impl Look {
    pub fn new(function: Py<PyAny>) -> Look {
        Look { function, failure: Mutex::default() }
    }

    /// What the function raised, if it did.
    pub fn failure(&self) -> Option<PyErr> {
        self.failure.lock().unwrap_or_else(PoisonError::into_inner).take()
    }

    fn call(&self, py: Python<'_>, so_far: &SoFar) -> PyResult<Option<u64>> {
        let dict = PyDict::new(py);
        dict.set_item(intern!(py, "events"), so_far.events)?;
        dict.set_item(intern!(py, "seconds"), so_far.now.secs())?;
        dict.set_item(intern!(py, "flows"), so_far.flows)?;
        dict.set_item(intern!(py, "samples"), so_far.samples)?;
        dict.set_item(intern!(py, "links"), column(py, so_far, |link| link.link as u64))?;
        dict.set_item(intern!(py, "arrivals"), column(py, so_far, |link| link.arrivals as f64))?;
        dict.set_item(intern!(py, "left"), column(py, so_far, |link| link.left as f64))?;
        dict.set_item(intern!(py, "used"), column(py, so_far, |link| link.used))?;
        dict.set_item(intern!(py, "capacity"), column(py, so_far, |link| link.capacity))?;
        self.function.call1(py, (dict,))?.extract(py)
    }
}

impl Watcher for Look {
    fn look(&self, so_far: &SoFar) -> Option<u64> {
        Python::attach(|py| self.call(py, so_far)).unwrap_or_else(|error| {
            *self.failure.lock().unwrap_or_else(PoisonError::into_inner) = Some(error);
            None
        })
    }
}

/// A value of each link.
fn column<'py, T: Element>(
    py: Python<'py>,
    so_far: &SoFar,
    value: impl Fn(&LinkSoFar) -> T,
) -> Bound<'py, PyArray1<T>> {
    PyArray1::from_iter(py, so_far.links.iter().map(value))
}
