//! Routes of least propagation delay, for graphs of Python's.

use marqueue_theory::shortest_routes::{Edge, Graph};
use pyo3::prelude::*;
use pyo3::types::{PyList, PyTuple};

/// For each pair of nodes the edges of the route from the one to the other, each as what `edges` says it is; empty if there
/// is no route. An edge is its start, its end, its delay in ns, its name, and what it is in routes.
#[pyfunction]
pub fn shortest_routes<'py>(
    py: Python<'py>,
    nodes: usize,
    edges: Vec<(u32, u32, u64, String, Bound<'py, PyAny>)>,
    pairs: Vec<(u32, u32)>,
) -> PyResult<Bound<'py, PyList>> {
    let (mut ends, mut names, mut objects) = (Vec::new(), Vec::new(), Vec::new());
    for (start, end, delay, name, object) in edges {
        ends.push(Edge { start, end, delay });
        names.push(name);
        objects.push(object);
    }
    let routes = py.detach(|| Graph::new(nodes, ends, &names).routes(&pairs));
    // All routes share the objects of their edges: a network may have 10^7 steps.
    let routes: Vec<_> = routes
        .iter()
        .map(|route| PyTuple::new(py, route.iter().map(|&i| &objects[i as usize])))
        .collect::<PyResult<_>>()?;
    PyList::new(py, routes)
}
