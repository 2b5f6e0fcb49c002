//! Fluid models: descriptions are JSON, states and observations are arrays.

use marqueue_aqm::algo::red;
use marqueue_core::params::{ParamSet, ParamValues};
use marqueue_theory::fluid::solver::{bounded_slope, System, Tolerance};
use marqueue_theory::fluid::{solve_batch, Description, Invalid, Model, Observation, SolveError, SolverSettings, View};
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
        self.0.states().iter().map(|s| (s.name.clone(), s.unit, s.lower, s.upper)).collect()
    }

    /// The index of the queue of each link among the states.
    fn queues(&self) -> Vec<usize> {
        self.0.queues().to_vec()
    }

    /// The states at the beginning.
    fn start<'py>(&self, py: Python<'py>) -> Bound<'py, PyArray1<f64>> {
        self.0.initial_states().into_pyarray(py)
    }

    /// The delay of each delayed time, s.
    fn lags<'py>(&self, py: Python<'py>, t: f64, y: PyReadonlyArray1<'py, f64>) -> PyResult<Bound<'py, PyArray1<f64>>> {
        let y = self.sized(y.as_slice()?)?;
        let modes = self.0.modes(y);
        let mut lags = vec![0.0; self.0.delay_count()];
        self.0.lags(&View { t, y, modes: &modes, interval: self.0.interval(t), constant_feedback: false }, &mut lags);
        Ok(lags.into_pyarray(py))
    }

    /// The slopes of all states; those at a bound that point outwards are zero.
    fn rhs<'py>(
        &self,
        py: Python<'py>,
        t: f64,
        y: PyReadonlyArray1<'py, f64>,
        delayed: PyReadonlyArray2<'py, f64>,
    ) -> PyResult<Bound<'py, PyArray1<f64>>> {
        let y = self.sized(y.as_slice()?)?;
        let delayed: ArrayView2<'_, f64> = delayed.as_array();
        let (n, delays) = (y.len(), self.0.delay_count());
        if delayed.dim() != (delays, n) {
            let (rows, columns) = delayed.dim();
            return Err(PyValueError::new_err(format!("delayed: got {rows} x {columns}, expected {delays} x {n}")));
        }
        let rows: Vec<Vec<f64>> = delayed.outer_iter().map(|row| row.to_vec()).collect();
        let interval = self.0.interval(t);
        let modes: Vec<_> = rows.iter().map(|row| self.0.modes(row)).collect();
        let present_modes = self.0.modes(y);
        let now = View { t, y, modes: &present_modes, interval, constant_feedback: false };
        let mut lags = vec![0.0; delays];
        self.0.lags(&now, &mut lags);
        let views: Vec<_> = (0..delays)
            .map(|k| View {
                t: t - lags[k],
                y: &rows[k],
                modes: &modes[k],
                interval: self.0.interval(t - lags[k]),
                constant_feedback: false,
            })
            .collect();
        let mut slopes = vec![0.0; n];
        self.0.slopes(&now, &views, &mut slopes);
        for ((slope, mode), (value, state)) in slopes.iter_mut().zip(&present_modes).zip(y.iter().zip(self.0.states()))
        {
            let inwards = (*value <= state.lower && *slope > 0.0) || (*value >= state.upper && *slope < 0.0);
            if !inwards {
                *slope = bounded_slope(*mode, *slope);
            }
        }
        Ok(slopes.into_pyarray(py))
    }

    /// Delays, slopes, and the derivatives of slopes by the present states and by the states at each delay, at rest.
    /// With `constant_feedback`, the feedback of links counts as constant.
    fn jacobian<'py>(
        &self,
        py: Python<'py>,
        t: f64,
        y: PyReadonlyArray1<'py, f64>,
        constant_feedback: bool,
    ) -> PyResult<Matrices<'py>> {
        let y = self.sized(y.as_slice()?)?;
        let n = y.len();
        let found = self.0.jacobian(t, y, constant_feedback);
        let present = Array2::from_shape_fn((n, n), |(i, j)| found.present[i][j]);
        let delayed = Array3::from_shape_fn((found.delayed.len(), n, n), |(k, i, j)| found.delayed[k][i][j]);
        let (lags, slopes) = (found.lags.into_pyarray(py), found.slopes.into_pyarray(py));
        Ok((lags, slopes, present.into_pyarray(py), delayed.into_pyarray(py)))
    }

    /// Observations of links and classes at rest.
    fn observe<'py>(&self, py: Python<'py>, t: f64, y: PyReadonlyArray1<'py, f64>) -> PyResult<Bound<'py, PyDict>> {
        let observation = self.0.observe_rest(t, self.sized(y.as_slice()?)?);
        observations_dict(py, &[observation])
    }

    /// The solution at some times, from 0: states, observations, and statistics of the solver.
    #[pyo3(signature = (times, start, tolerance, max_step))]
    fn integrate<'py>(
        &self,
        py: Python<'py>,
        times: PyReadonlyArray1<'py, f64>,
        start: PyReadonlyArray1<'py, f64>,
        tolerance: f64,
        max_step: f64,
    ) -> PyResult<Bound<'py, PyDict>> {
        let settings = settings(times.as_slice()?, tolerance, max_step);
        let start = self.sized(start.as_slice()?)?.to_vec();
        let model = &self.0;
        let (solution, observations, states) = py
            .detach(|| {
                let solution = settings.solve(model, &start)?;
                let observations = settings.observe(model, &solution);
                let mut states = Array2::zeros((settings.times.len(), start.len()));
                for (mut row, &t) in states.outer_iter_mut().zip(&settings.times) {
                    let mut y = vec![0.0; start.len()];
                    solution.at(model, t, &mut y);
                    row.assign(&numpy::ndarray::ArrayView1::from(&y));
                }
                Ok((solution, observations, states))
            })
            .map_err(|e: marqueue_theory::fluid::solver::Failure| PyArithmeticError::new_err(e.to_string()))?;
        let out = observations_dict(py, &observations)?;
        out.set_item("states", states.into_pyarray(py))?;
        out.set_item("steps", solution.steps)?;
        out.set_item("refused", solution.rejected)?;
        out.set_item("bounds", solution.bound_events.clone())?;
        Ok(out)
    }
}

impl FluidModel {
    /// Checks that `y` has a value for each state.
    fn sized<'a>(&self, y: &'a [f64]) -> PyResult<&'a [f64]> {
        let n = self.0.states().len();
        if y.len() != n {
            return Err(PyValueError::new_err(format!("y: got {} states, expected {n}", y.len())));
        }
        Ok(y)
    }
}

/// Solves the models of a JSON list of descriptions in parallel. Returns the observations or the error of each.
#[pyfunction]
pub fn fluid_batch<'py>(
    py: Python<'py>,
    descriptions: &str,
    times: PyReadonlyArray1<'py, f64>,
    tolerance: f64,
    max_step: f64,
) -> PyResult<Vec<Bound<'py, PyAny>>> {
    let descriptions: Vec<Description> = serde_json::from_str(descriptions).map_err(malformed)?;
    let settings = settings(times.as_slice()?, tolerance, max_step);
    let found = py.detach(|| solve_batch(descriptions, &settings));
    let entry = |each: Result<Vec<Observation>, SolveError>| match each {
        Ok(observations) => Ok(observations_dict(py, &observations)?.into_any()),
        Err(why) => Ok(why.to_string().into_pyobject(py)?.into_any()),
    };
    found.into_iter().map(entry).collect()
}

/// RED's thresholds (packets) and weight, with defaults computed for a link of `per_second` packets a second and a
/// delay in seconds.
#[pyfunction]
pub fn red_parameters(given: &str, per_second: f64, delay: f64) -> PyResult<(f64, f64, f64)> {
    let values: ParamValues = serde_json::from_str(given).map_err(malformed)?;
    let params = red::Params::from_values(&values).map_err(|e| PyValueError::new_err(e.to_string()))?;
    Ok(params.resolve(per_second, delay))
}

fn settings(times: &[f64], relative: f64, max_step: f64) -> SolverSettings {
    SolverSettings { times: times.to_vec(), tolerance: Tolerance { relative, max_step, ..Tolerance::default() } }
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

/// Arrays of shape (times, links) and (times, classes) by name.
fn observations_dict<'py>(py: Python<'py>, observations: &[Observation]) -> PyResult<Bound<'py, PyDict>> {
    let out = PyDict::new(py);
    macro_rules! put {
        ($of:ident: $($name:literal $field:ident),*) => {$(
            let width = observations.first().map_or(0, |s| s.$of.len());
            let values = Array2::from_shape_fn((observations.len(), width), |(t, i)| observations[t].$of[i].$field);
            out.set_item($name, values.into_pyarray(py))?;
        )*};
    }
    put!(links: "queue" queue, "arrivals" arrivals, "probability" p, "loss" loss, "phi" phi, "price" price,
         "capacity" capacity);
    put!(sources: "window" window, "rate" rate, "rtt" rtt, "congestion_signal" p, "count" count);
    Ok(out)
}
