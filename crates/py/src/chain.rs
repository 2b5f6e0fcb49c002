//! The Markov chain of TCP windows, and the queue within a round trip.

use marqueue_core::curve::{MarkingCurve, ScaledCurve};
use marqueue_theory::chain::{marking_probabilities, Chain, Class, Queue, Setup};
use numpy::{PyArray1, PyArray2, PyArrayMethods, PyReadonlyArray1};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

/// A scaled curve: its text, N, a, b, and the buffer of one flow, packets.
pub type CurveArguments = (String, f64, f64, f64, f64);

/// Loads and sums of windows by step; the number of flows by class and window, summed over steps.
type Steps<'py> = (Bound<'py, PyArray1<f64>>, Bound<'py, PyArray1<f64>>, Bound<'py, PyArray2<f64>>);

/// The lumped chain with its state.
#[pyclass(module = "marqueue._core")]
pub struct WindowChain {
    chain: Chain,
    classes: usize,
    max_window: usize,
}

/// A queue with a scaled marking curve.
#[pyclass(module = "marqueue._core")]
pub struct ChainQueue {
    queue: Queue,
    curve: ScaledCurve,
}

#[pymethods]
impl WindowChain {
    #[new]
    #[allow(clippy::too_many_arguments)]
    #[pyo3(signature = (curve, queue, classes, slots, ct, max_window, seed, name, start=None))]
    fn new(
        curve: CurveArguments,
        queue: &str,
        classes: Vec<(u64, u32)>,
        slots: u32,
        ct: f64,
        max_window: u32,
        seed: u64,
        name: &str,
        start: Option<Vec<f64>>,
    ) -> PyResult<Self> {
        let count = classes.len();
        let classes = classes.into_iter().map(|(flows, slots)| Class { flows, slots }).collect();
        let setup = Setup { curve: scaled_curve(&curve)?, queue: queue_model(queue)?, classes, slots, ct, max_window };
        let chain = match start {
            Some(start) => Chain::with_window_shares(setup, &start, seed, name),
            None => Chain::new(setup, seed, name),
        };
        Ok(WindowChain { chain, classes: count, max_window: max_window as usize })
    }

    /// Advances by a number of steps.
    fn run<'py>(&mut self, py: Python<'py>, steps: usize) -> PyResult<Steps<'py>> {
        let (mut loads, mut windows) = (Vec::with_capacity(steps), Vec::with_capacity(steps));
        let mut counts = vec![0.0; self.classes * self.max_window];
        py.detach(|| {
            for _ in 0..steps {
                for (class, sums) in counts.chunks_exact_mut(self.max_window).enumerate() {
                    sums.iter_mut().zip(self.chain.counts(class)).for_each(|(sum, &n)| *sum += n as f64);
                }
                let step = self.chain.step();
                loads.push(step.load);
                windows.push(step.windows);
            }
        });
        let counts = PyArray1::from_vec(py, counts).reshape([self.classes, self.max_window])?;
        Ok((PyArray1::from_vec(py, loads), PyArray1::from_vec(py, windows), counts))
    }
}

#[pymethods]
impl ChainQueue {
    #[new]
    fn new(curve: CurveArguments, queue: &str) -> PyResult<Self> {
        Ok(ChainQueue { curve: scaled_curve(&curve)?, queue: queue_model(queue)? })
    }

    /// The buffer, packets.
    #[getter]
    fn buffer(&self) -> u32 {
        self.curve.buffer()
    }

    /// A warning about the exponents, if any.
    #[getter]
    fn warning(&self) -> Option<String> {
        self.curve.warning()
    }

    /// The marking probability at each queue length.
    fn curve<'py>(&self, py: Python<'py>, queue: PyReadonlyArray1<'py, f64>) -> PyResult<Bound<'py, PyArray1<f64>>> {
        Ok(PyArray1::from_iter(py, queue.as_slice()?.iter().map(|&q| self.curve.p(q))))
    }

    /// The probability that at least one of `packets[j]` packets is marked at load `loads[i]`, shape (loads, packets).
    fn marking<'py>(
        &self,
        py: Python<'py>,
        loads: PyReadonlyArray1<'py, f64>,
        packets: PyReadonlyArray1<'py, f64>,
    ) -> PyResult<Bound<'py, PyArray2<f64>>> {
        let (loads, packets) = (loads.as_slice()?, packets.as_slice()?);
        let all = py.detach(|| marking_probabilities(&self.curve, self.queue, loads, packets));
        PyArray1::from_vec(py, all).reshape([loads.len(), packets.len()])
    }

    /// P(Q >= n) for each n, averaged over loads; 1 at loads of 1 and more.
    fn tail<'py>(
        &self,
        py: Python<'py>,
        loads: PyReadonlyArray1<'py, f64>,
        lengths: PyReadonlyArray1<'py, f64>,
    ) -> PyResult<Bound<'py, PyArray1<f64>>> {
        let (loads, lengths) = (loads.as_slice()?, lengths.as_slice()?);
        let mut sums = vec![0.0; lengths.len()];
        py.detach(|| {
            for &load in loads {
                let law = (load < 1.0).then(|| self.queue.stationary(load));
                for (sum, &n) in sums.iter_mut().zip(lengths) {
                    *sum += law.as_ref().map_or(1.0, |law| law.tail(n));
                }
            }
        });
        Ok(PyArray1::from_iter(py, sums.into_iter().map(|sum| sum / loads.len() as f64)))
    }

    /// P(Q >= buffer) of the unlimited queue at each load; 1 at loads of 1 and more.
    fn full<'py>(
        &self,
        py: Python<'py>,
        loads: PyReadonlyArray1<'py, f64>,
        buffer: u32,
    ) -> PyResult<Bound<'py, PyArray1<f64>>> {
        let full = |&load: &f64| if load < 1.0 { self.queue.stationary(load).tail(f64::from(buffer)) } else { 1.0 };
        let loads = loads.as_slice()?;
        let all: Vec<f64> = py.detach(|| loads.iter().map(full).collect());
        Ok(PyArray1::from_vec(py, all))
    }

    /// The share of packets that find the buffer full, at each load, in equilibrium.
    fn loss<'py>(
        &self,
        py: Python<'py>,
        loads: PyReadonlyArray1<'py, f64>,
        buffer: u32,
    ) -> PyResult<Bound<'py, PyArray1<f64>>> {
        let loads = loads.as_slice()?;
        let all: Vec<f64> = py.detach(|| loads.iter().map(|&load| self.queue.loss(load, buffer)).collect());
        Ok(PyArray1::from_vec(py, all))
    }
}

pub fn scaled_curve((curve, flows, a, b, buffer): &CurveArguments) -> PyResult<ScaledCurve> {
    let curve = MarkingCurve::parse(curve).map_err(PyValueError::new_err)?;
    Ok(ScaledCurve::new(curve, *flows, *a, *b, *buffer))
}

fn queue_model(queue: &str) -> PyResult<Queue> {
    match queue {
        "mm1" => Ok(Queue::Mm1),
        "md1" => Ok(Queue::Md1),
        _ => Err(PyValueError::new_err(format!("got \"{queue}\", expected mm1 or md1"))),
    }
}
