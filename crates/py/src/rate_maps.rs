//! Rate maps, stepped from Python, which computes the prices of each step.

use marqueue_theory::rate_maps::{
    Aimd, ConstantDelayMap, Hop, Kelly, Law, Map, Mkc, Network, RandomDelayMap, Scalable, Source,
};
use numpy::{PyArray1, PyReadonlyArray1};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

/// A rate map with its state.
#[pyclass(module = "marqueue._core")]
pub struct RateMap(Box<dyn Map + Send + Sync>);

/// The result of a step: arrivals, then sum, sum of squares, minimum and maximum of the rates.
type Step<'py> = (Bound<'py, PyArray1<f64>>, f64, f64, f64, f64);

#[pymethods]
impl RateMap {
    #[new]
    #[allow(clippy::too_many_arguments)]
    fn new(
        law: &str,
        parameters: (PyReadonlyArray1<'_, f64>, PyReadonlyArray1<'_, f64>),
        start: PyReadonlyArray1<'_, f64>,
        delay: PyReadonlyArray1<'_, u32>,
        route_edges: PyReadonlyArray1<'_, i64>,
        resource: PyReadonlyArray1<'_, u32>,
        forward: PyReadonlyArray1<'_, u32>,
        resources: usize,
        jitter: u32,
        seed: u64,
    ) -> PyResult<Self> {
        let (first, second) = (parameters.0.as_slice()?, parameters.1.as_slice()?);
        let (start, delay, edges) = (start.as_slice()?, delay.as_slice()?, route_edges.as_slice()?);
        let (resource, forward) = (resource.as_slice()?, forward.as_slice()?);
        let source = |i: usize| {
            let hops = edges[i] as usize..edges[i + 1] as usize;
            Source {
                delay: delay[i],
                route: hops.map(|h| Hop { resource: resource[h], forward: forward[h] }).collect(),
                parameters: (first[i], second[i]),
                initial_rate: start[i],
            }
        };
        let network = Network::new(resources, (0..start.len()).map(source).collect());
        let map = match law {
            "kelly" => map_of::<Kelly>(&network, jitter, seed),
            "mkc" => map_of::<Mkc>(&network, jitter, seed),
            "aimd" => map_of::<Aimd>(&network, jitter, seed),
            "scalable" => map_of::<Scalable>(&network, jitter, seed),
            _ => return Err(PyValueError::new_err(format!("got \"{law}\", expected kelly, mkc, aimd or scalable"))),
        };
        Ok(RateMap(map))
    }

    /// The arrival rate at each resource.
    fn arrivals<'py>(&self, py: Python<'py>) -> Bound<'py, PyArray1<f64>> {
        PyArray1::from_slice(py, self.0.arrivals())
    }

    /// The present rates of some sources.
    fn rates<'py>(&self, py: Python<'py>, sources: PyReadonlyArray1<'py, i64>) -> PyResult<Bound<'py, PyArray1<f64>>> {
        let sources = sources.as_slice()?.iter();
        Ok(PyArray1::from_iter(py, sources.map(|&i| self.0.rate(i as usize))))
    }

    /// Advances by one step. `prices` are the present ones of the resources.
    fn step<'py>(&mut self, py: Python<'py>, prices: PyReadonlyArray1<'py, f64>) -> PyResult<Step<'py>> {
        let prices = prices.as_slice()?;
        let map = &mut self.0;
        let statistics = py.detach(|| map.step(prices));
        Ok((self.arrivals(py), statistics.sum, statistics.squares, statistics.min, statistics.max))
    }
}

fn map_of<L: Law + Send + Sync + 'static>(network: &Network, jitter: u32, seed: u64) -> Box<dyn Map + Send + Sync> {
    if jitter == 0 {
        Box::new(ConstantDelayMap::<L>::new(network))
    } else {
        Box::new(RandomDelayMap::<L>::new(network, jitter, seed))
    }
}
