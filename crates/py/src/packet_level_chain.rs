//! The packet-level version of the chain of TCP windows.

use crate::chain::{scaled_curve, CurveArguments};
use marqueue_theory::packet_level_chain::{self, Class, QueueModel, SendingModel, Service, Setup};
use numpy::PyArray1;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

/// The sum of windows at each sample; for each flow the sum of its windows and the sum of their squares.
type Samples<'py> = (Bound<'py, PyArray1<f64>>, Bound<'py, PyArray1<f64>>, Bound<'py, PyArray1<f64>>);

/// The packet-level chain with its state.
#[pyclass(module = "marqueue._core")]
pub struct PacketLevelChain {
    chain: packet_level_chain::PacketLevelChain,
    flows: usize,
    time: f64,
}

#[pymethods]
impl PacketLevelChain {
    #[new]
    #[allow(clippy::too_many_arguments)]
    fn new(
        curve: CurveArguments,
        sending: &str,
        queue: &str,
        adds_delay: bool,
        classes: Vec<(u32, f64)>,
        ct: f64,
        max_window: f64,
        seed: u64,
        name: &str,
    ) -> PyResult<Self> {
        let sending = match sending {
            "rounds" => SendingModel::Rounds,
            "poisson" => SendingModel::Poisson,
            "ack_clocked" => SendingModel::AckClocked,
            _ => {
                return Err(PyValueError::new_err(format!(
                    "got \"{sending}\", expected rounds, poisson or ack_clocked"
                )))
            }
        };
        let queue_model = match queue {
            "stationary" => QueueModel::Stationary,
            "mm1" => QueueModel::Shared { service: Service::Exponential, adds_delay },
            "md1" => QueueModel::Shared { service: Service::Constant, adds_delay },
            _ => return Err(PyValueError::new_err(format!("got \"{queue}\", expected stationary, mm1 or md1"))),
        };
        let flows = classes.iter().map(|&(flows, _)| flows as usize).sum();
        let classes = classes.into_iter().map(|(flows, rtt)| Class { flows, rtt }).collect();
        let setup = Setup { curve: scaled_curve(&curve)?, classes, ct, max_window, sending, queue_model };
        let chain = packet_level_chain::PacketLevelChain::new(setup, seed, name);
        Ok(PacketLevelChain { chain, flows, time: 0.0 })
    }

    /// Advances by a number of samples, `every` T apart.
    fn run<'py>(&mut self, py: Python<'py>, samples: usize, every: f64) -> Samples<'py> {
        let mut sums = Vec::with_capacity(samples);
        let (mut windows, mut squares) = (vec![0.0; self.flows], vec![0.0; self.flows]);
        py.detach(|| {
            for _ in 0..samples {
                self.time += every;
                self.chain.run(self.time);
                sums.push(self.chain.total_window());
                for (w, (a, b)) in self.chain.windows().zip(windows.iter_mut().zip(&mut squares)) {
                    *a += w;
                    *b += w * w;
                }
            }
        });
        (PyArray1::from_vec(py, sums), PyArray1::from_vec(py, windows), PyArray1::from_vec(py, squares))
    }

    /// Packets that entered the queue so far.
    #[getter]
    fn entered(&self) -> u64 {
        self.chain.entered()
    }
}
