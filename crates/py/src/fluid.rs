//! Fluid models: descriptions are JSON, states and observations are arrays.

use marqueue_aqm::algo::red;
use marqueue_core::params::{ParamSet, ParamValues};
use marqueue_theory::fluid::solver::{resting, System, Tolerance};
use marqueue_theory::fluid::{batch, Description, Invalid, Model, Observed, Run, SolveError, View};
use numpy::ndarray::{Array2, Array3, ArrayView2};
use numpy::{IntoPyArray, PyArray1, PyArray2, PyArray3, PyReadonlyArray1, PyReadonlyArray2};
use pyo3::exceptions::{PyArithmeticError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::PyDict;

pyo3::create_exception!(marqueue._core, FluidError, PyValueError, "path, message");

/// The fluid model of a network of queues and classes of flows.
#[pyclass(module = "marqueue._core", frozen)]
pub struct FluidModel(Model);

type Matrices<'py> =
    (Bound<'py, PyArray1<f64>>, Bound<'py, PyArray1<f64>>, Bound<'py, PyArray2<f64>>, Bound<'py, PyArray3<f64>>);

#[pymethods]
impl FluidModel {
    #[new]
    fn new(description: &str) -> PyResult<Self> {
        Model::new(read(description)?).map(FluidModel).map_err(invalid)
    }

    /// Name, unit, lower and upper bound of each state.
    fn states(&self) -> Vec<(String, &'static str, f64, f64)> {
        self.0.names().iter().map(|s| (s.name.clone(), s.unit, s.lower, s.upper)).collect()
    }

    /// The index of the queue of each link among the states.
    fn queues(&self) -> Vec<usize> {
        self.0.queues().to_vec()
    }

    /// The states at the beginning.
    fn start<'py>(&self, py: Python<'py>) -> Bound<'py, PyArray1<f64>> {
        self.0.start().into_pyarray(py)
    }

    /// The delay of each delayed time, s.
    fn lags<'py>(&self, py: Python<'py>, t: f64, y: PyReadonlyArray1<'py, f64>) -> PyResult<Bound<'py, PyArray1<f64>>> {
        let y = self.sized(y.as_slice()?)?;
        let modes = self.0.modes(y);
        let mut lags = vec![0.0; self.0.looks()];
        self.0.lags(&View { t, y, modes: &modes, interval: self.0.interval(t), mute: false }, &mut lags);
        Ok(lags.into_pyarray(py))
    }

    /// The slopes of all states; those at a bound that point outwards are zero.
    fn rhs<'py>(
        &self,
        py: Python<'py>,
        t: f64,
        y: PyReadonlyArray1<'py, f64>,
        then: PyReadonlyArray2<'py, f64>,
    ) -> PyResult<Bound<'py, PyArray1<f64>>> {
        let y = self.sized(y.as_slice()?)?;
        let then: ArrayView2<'_, f64> = then.as_array();
        let (n, looks) = (y.len(), self.0.looks());
        if then.dim() != (looks, n) {
            let (rows, columns) = then.dim();
            return Err(PyValueError::new_err(format!("then: got {rows} x {columns}, expected {looks} x {n}")));
        }
        let rows: Vec<Vec<f64>> = then.outer_iter().map(|row| row.to_vec()).collect();
        let interval = self.0.interval(t);
        let modes: Vec<_> = rows.iter().map(|row| self.0.modes(row)).collect();
        let here = self.0.modes(y);
        let now = View { t, y, modes: &here, interval, mute: false };
        let mut lags = vec![0.0; looks];
        self.0.lags(&now, &mut lags);
        let views: Vec<_> = (0..looks)
            .map(|k| View {
                t: t - lags[k],
                y: &rows[k],
                modes: &modes[k],
                interval: self.0.interval(t - lags[k]),
                mute: false,
            })
            .collect();
        let mut slopes = vec![0.0; n];
        self.0.slopes(&now, &views, &mut slopes);
        for ((slope, mode), (value, state)) in slopes.iter_mut().zip(&here).zip(y.iter().zip(self.0.names())) {
            let inwards = (*value <= state.lower && *slope > 0.0) || (*value >= state.upper && *slope < 0.0);
            if !inwards {
                *slope = resting(*mode, *slope);
            }
        }
        Ok(slopes.into_pyarray(py))
    }

    /// Lags, slopes, and the derivatives of slopes by present states and by those at each look, at rest; with `mute`
    /// those of the model with constant feedback of links.
    fn jacobian<'py>(
        &self,
        py: Python<'py>,
        t: f64,
        y: PyReadonlyArray1<'py, f64>,
        mute: bool,
    ) -> PyResult<Matrices<'py>> {
        let y = self.sized(y.as_slice()?)?;
        let n = y.len();
        let found = self.0.jacobian(t, y, mute);
        let now = Array2::from_shape_fn((n, n), |(i, j)| found.now[i][j]);
        let then = Array3::from_shape_fn((found.then.len(), n, n), |(k, i, j)| found.then[k][i][j]);
        Ok((found.lags.into_pyarray(py), found.slopes.into_pyarray(py), now.into_pyarray(py), then.into_pyarray(py)))
    }

    /// Observations of links and classes at rest.
    fn observe<'py>(&self, py: Python<'py>, t: f64, y: PyReadonlyArray1<'py, f64>) -> PyResult<Bound<'py, PyDict>> {
        let seen = self.0.observe_rest(t, self.sized(y.as_slice()?)?);
        observed(py, &[seen])
    }

    /// The solution at some times, from 0: states, observations, and statistics of the solver.
    #[pyo3(signature = (times, start, tolerance, longest))]
    fn integrate<'py>(
        &self,
        py: Python<'py>,
        times: PyReadonlyArray1<'py, f64>,
        start: PyReadonlyArray1<'py, f64>,
        tolerance: f64,
        longest: f64,
    ) -> PyResult<Bound<'py, PyDict>> {
        let run = run_of(times.as_slice()?, tolerance, longest);
        let start = self.sized(start.as_slice()?)?.to_vec();
        let model = &self.0;
        let (solution, seen, states) = py
            .detach(|| {
                let solution = run.solve(model, &start)?;
                let seen = run.observe(model, &solution);
                let mut states = Array2::zeros((run.times.len(), start.len()));
                for (mut row, &t) in states.outer_iter_mut().zip(&run.times) {
                    let mut y = vec![0.0; start.len()];
                    solution.at(model, t, &mut y);
                    row.assign(&numpy::ndarray::ArrayView1::from(&y));
                }
                Ok((solution, seen, states))
            })
            .map_err(|e: marqueue_theory::fluid::solver::Failure| PyArithmeticError::new_err(e.to_string()))?;
        let out = observed(py, &seen)?;
        out.set_item("states", states.into_pyarray(py))?;
        out.set_item("steps", solution.steps)?;
        out.set_item("refused", solution.refused)?;
        out.set_item("bounds", solution.bounds.clone())?;
        Ok(out)
    }
}

impl FluidModel {
    fn sized<'a>(&self, y: &'a [f64]) -> PyResult<&'a [f64]> {
        let n = self.0.names().len();
        if y.len() != n {
            return Err(PyValueError::new_err(format!("y: got {} states, expected {n}", y.len())));
        }
        Ok(y)
    }
}

/// Solves many models in parallel: a JSON list of descriptions. Returns observations or an error for each.
#[pyfunction]
pub fn fluid_batch<'py>(
    py: Python<'py>,
    descriptions: &str,
    times: PyReadonlyArray1<'py, f64>,
    tolerance: f64,
    longest: f64,
) -> PyResult<Vec<Bound<'py, PyAny>>> {
    let descriptions: Vec<Description> = serde_json::from_str(descriptions).map_err(malformed)?;
    let run = run_of(times.as_slice()?, tolerance, longest);
    let found = py.detach(|| batch(descriptions, &run));
    let entry = |each: Result<Vec<Observed>, SolveError>| match each {
        Ok(seen) => Ok(observed(py, &seen)?.into_any()),
        Err(why) => Ok(why.to_string().into_pyobject(py)?.into_any()),
    };
    found.into_iter().map(entry).collect()
}

/// RED's thresholds (packets) and weight, with computed defaults for a link of `per_sec` packets a second and a delay
/// in seconds.
#[pyfunction]
pub fn red_in_force(given: &str, per_second: f64, delay: f64) -> PyResult<(f64, f64, f64)> {
    let values: ParamValues = serde_json::from_str(given).map_err(malformed)?;
    let params = red::Params::from_values(&values).map_err(|e| PyValueError::new_err(e.to_string()))?;
    Ok(params.resolve(per_second, delay))
}

fn run_of(times: &[f64], relative: f64, longest: f64) -> Run {
    Run { times: times.to_vec(), tolerance: Tolerance { relative, longest, ..Tolerance::default() } }
}

fn read(description: &str) -> PyResult<Description> {
    serde_json::from_str(description).map_err(malformed)
}

fn malformed(error: serde_json::Error) -> PyErr {
    FluidError::new_err((String::new(), error.to_string()))
}

fn invalid(error: Invalid) -> PyErr {
    FluidError::new_err((error.path, error.message))
}

/// Arrays `[time, link]` and `[time, class]` by name.
fn observed<'py>(py: Python<'py>, seen: &[Observed]) -> PyResult<Bound<'py, PyDict>> {
    let out = PyDict::new(py);
    macro_rules! put {
        ($of:ident: $($name:literal $field:ident),*) => {$(
            let width = seen.first().map_or(0, |s| s.$of.len());
            let values = Array2::from_shape_fn((seen.len(), width), |(t, i)| seen[t].$of[i].$field);
            out.set_item($name, values.into_pyarray(py))?;
        )*};
    }
    put!(links: "queue" queue, "arrivals" arrivals, "probability" p, "loss" loss, "phi" phi, "price" price,
         "capacity" capacity);
    put!(sources: "window" window, "rate" rate, "rtt" rtt, "heard" p, "count" count);
    Ok(out)
}
