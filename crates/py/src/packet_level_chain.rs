//! The packet-level version of the chain of TCP windows.

use crate::chain::{scaled, Scaled};
use marqueue_theory::packet_level_chain::{Class, PacketLevelChain, QueueModel, SendingModel, Service, Setup};
use numpy::PyArray1;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

/// The sum of windows at each sample; for each flow the sum of its windows and of their squares.
type Samples<'py> = (Bound<'py, PyArray1<f64>>, Bound<'py, PyArray1<f64>>, Bound<'py, PyArray1<f64>>);

/// The packet-level chain with its state.
#[pyclass(module = "marqueue._core")]
pub struct HybridFlows {
    hybrid: PacketLevelChain,
    flows: usize,
    time: f64,
}

#[pymethods]
impl HybridFlows {
    #[new]
    #[allow(clippy::too_many_arguments)]
    fn new(
        curve: Scaled,
        answers: &str,
        meets: &str,
        waits: bool,
        classes: Vec<(u32, f64)>,
        ct: f64,
        greatest: f64,
        seed: u64,
        name: &str,
    ) -> PyResult<Self> {
        let answers = match answers {
            "rounds" => SendingModel::Rounds,
            "echoes" => SendingModel::Echoes,
            "clock" => SendingModel::Clock,
            _ => return Err(PyValueError::new_err(format!("got \"{answers}\", expected rounds, echoes or clock"))),
        };
        let meets = match meets {
            "own" => QueueModel::Own,
            "mm1" => QueueModel::Common { service: Service::Exponential, waits },
            "md1" => QueueModel::Common { service: Service::Constant, waits },
            _ => return Err(PyValueError::new_err(format!("got \"{meets}\", expected own, mm1 or md1"))),
        };
        let flows = classes.iter().map(|&(flows, _)| flows as usize).sum();
        let classes = classes.into_iter().map(|(flows, rtt)| Class { flows, rtt }).collect();
        let setup = Setup { curve: scaled(&curve)?, classes, ct, greatest, sending: answers, queue_model: meets };
        Ok(HybridFlows { hybrid: PacketLevelChain::new(setup, seed, name), flows, time: 0.0 })
    }

    /// Advances by a number of samples, ``every`` T apart.
    fn run<'py>(&mut self, py: Python<'py>, samples: usize, every: f64) -> Samples<'py> {
        let mut sums = Vec::with_capacity(samples);
        let (mut first, mut second) = (vec![0.0; self.flows], vec![0.0; self.flows]);
        py.detach(|| {
            for _ in 0..samples {
                self.time += every;
                self.hybrid.run(self.time);
                sums.push(self.hybrid.windows());
                for (w, (a, b)) in self.hybrid.each().zip(first.iter_mut().zip(&mut second)) {
                    *a += w;
                    *b += w * w;
                }
            }
        });
        (PyArray1::from_vec(py, sums), PyArray1::from_vec(py, first), PyArray1::from_vec(py, second))
    }

    /// Packets that entered the queue so far.
    #[getter]
    fn entered(&self) -> u64 {
        self.hybrid.entered()
    }
}
