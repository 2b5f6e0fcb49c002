//! The square-root law of TCP at several bottlenecks, for arrays of Python's.

use marqueue_theory::square_root_law::{rates, Crossings};
use numpy::{PyArray1, PyReadonlyArray1};
use pyo3::prelude::*;

/// The rates of bundles of flows, bit/s, after so many rounds. Bundle `i` crosses the `links` from `first[i]` to `first[i + 1]`.
#[pyfunction]
#[allow(clippy::too_many_arguments)]
pub fn square_root_rates<'py>(
    py: Python<'py>,
    first: PyReadonlyArray1<'py, i64>,
    links: PyReadonlyArray1<'py, i64>,
    shares: PyReadonlyArray1<'py, f64>,
    capacity: PyReadonlyArray1<'py, f64>,
    weights: PyReadonlyArray1<'py, f64>,
    wanted: PyReadonlyArray1<'py, f64>,
    rounds: usize,
) -> PyResult<Bound<'py, PyArray1<f64>>> {
    let first: Vec<usize> = first.as_slice()?.iter().map(|&entry| entry as usize).collect();
    let links: Vec<u32> = links.as_slice()?.iter().map(|&link| link as u32).collect();
    let crossings = Crossings { first: &first, links: &links, shares: shares.as_slice()? };
    let (capacity, weights, wanted) = (capacity.as_slice()?, weights.as_slice()?, wanted.as_slice()?);
    let found = py.detach(|| rates(crossings, capacity, weights, wanted, rounds));
    Ok(PyArray1::from_vec(py, found))
}
