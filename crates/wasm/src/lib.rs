//! The simulator as a module of WebAssembly. It only converts arguments and results.
//!
//! `web/src/engine` calls it from workers. On other targets this crate is compiled too: its functions without `Result` of
//! JavaScript run in native tests.

mod run;
mod samples;
mod summary;
mod theory;

pub use run::Run;

use marqueue_aqm::algo::red;
use marqueue_core::params::{ParamSet, ParamValues};
use marqueue_core::{MarkingCurve, ParamError};
use marqueue_sim::plan::Plan;
use marqueue_sim::{Control, RunError};
use marqueue_theory::shortest_routes::{Edge, Graph};
use serde_json::json;
use wasm_bindgen::prelude::*;

/// Panics become errors of JavaScript with the message of the panic.
#[wasm_bindgen(start)]
fn start() {
    #[cfg(target_arch = "wasm32")]
    std::panic::set_hook(Box::new(|info| wasm_bindgen::throw_str(&format!("the engine failed: {info}"))));
}

/// The version of the engine.
#[wasm_bindgen]
pub fn version() -> String {
    env!("CARGO_PKG_VERSION").into()
}

/// Everything that a scenario can choose from, as JSON.
///
/// # Errors
/// If a preset of TCP is none.
#[wasm_bindgen]
pub fn catalogue() -> Result<String, String> {
    let found = marqueue_sim::catalogue().map_err(|e| e.to_string())?;
    serde_json::to_string(&found).map_err(|e| e.to_string())
}

/// The engine's seed of a replication, counted from 0, as `marqueue run` derives it from the scenario's.
#[wasm_bindgen]
pub fn replication_seed(seed: u64, replication: u64) -> u64 {
    marqueue_core::replication_seed(seed, replication)
}

/// Checks a plan. Returns JSON: `{"warnings": [...]}`, or `{"path": ..., "message": ...}` of the first mistake.
#[wasm_bindgen]
pub fn check(plan: &str) -> String {
    let checked = parse(plan).and_then(|plan| marqueue_sim::check(&plan));
    match checked {
        Ok(warnings) => json!({ "warnings": warnings }),
        Err(RunError::Invalid(e)) => json!({ "path": e.path, "message": e.message }),
        Err(e) => json!({ "path": "", "message": e.to_string() }),
    }
    .to_string()
}

/// An estimate of the largest memory that a run takes, bytes; NaN if the plan cannot be read.
#[wasm_bindgen]
pub fn estimated_bytes(plan: &str) -> f64 {
    parse(plan).map_or(f64::NAN, |plan| marqueue_sim::estimated_bytes(&plan, false))
}

/// Parses a marking curve. Returns JSON: `{"curve": text}`, or `{"error": what was expected}`.
#[wasm_bindgen]
pub fn read_marking_curve(text: &str) -> String {
    match MarkingCurve::parse(text) {
        Ok(curve) => json!({ "curve": curve.to_string() }),
        Err(expected) => json!({ "error": expected }),
    }
    .to_string()
}

/// The digest of a run's whole result, hexadecimal: equal on all platforms.
///
/// # Errors
/// If the plan is invalid.
#[wasm_bindgen]
pub fn digest(plan: &str, seed: u64) -> Result<String, String> {
    let result = parse(plan).and_then(|plan| marqueue_sim::run(&plan, seed, &Control::default()));
    result.map(|result| marqueue_sim::digest(&result)).map_err(|e| e.to_string())
}

/// `min_th`, `max_th` and `w_q` of RED, those that are not given computed for a link of `per_second` packets/s and this
/// delay in s. Returns JSON: `{"parameters": [...]}`, or `{"path": ..., "message": ...}`.
#[wasm_bindgen]
pub fn red_parameters(given: &str, per_second: f64, delay: f64) -> String {
    let read = serde_json::from_str::<ParamValues>(given).map_err(|e| ParamError::new(String::new(), e.to_string()));
    match read.and_then(|values| red::Params::from_values(&values)) {
        Ok(params) => json!({ "parameters": params.resolve(per_second, delay) }),
        Err(e) => json!({ "path": e.path, "message": e.message }),
    }
    .to_string()
}

/// Routes of least delay in a graph of so many nodes. `graph` is JSON: `[edges, pairs]`, an edge `[start, end, delay in ns,
/// name, what it is in routes]` and a pair `[start, end]`. Returns the route of each pair as JSON; empty if there is none.
///
/// # Errors
/// If `graph` is not of this form.
#[wasm_bindgen]
pub fn shortest_routes(nodes: u32, graph: &str) -> Result<String, String> {
    let (edges, pairs): (Vec<NamedEdge>, Vec<(u32, u32)>) = serde_json::from_str(graph).map_err(|e| e.to_string())?;
    let (mut ends, mut names, mut links) = (Vec::new(), Vec::new(), Vec::new());
    for (start, end, delay, name, link) in edges {
        ends.push(Edge { start, end, delay });
        names.push(name);
        links.push(link);
    }
    let found = Graph::new(nodes as usize, ends, &names).routes(&pairs);
    let routes: Vec<Vec<u32>> =
        found.iter().map(|route| route.iter().map(|&edge| links[edge as usize]).collect()).collect();
    Ok(json!(routes).to_string())
}

/// What theory says of a fluid model, as JSON (`Theory` of `web/src/engine/protocol.ts`).
///
/// # Errors
/// If the description is not one of a fluid model.
#[wasm_bindgen]
pub fn theory(description: &str, duration: f64) -> Result<String, String> {
    theory::theory(description, duration).map(|found| found.to_string())
}

/// The largest real part of a characteristic root of each fluid model of a list, 1/s: a model is stable if it is below
/// zero. JSON; null where there is no equilibrium.
///
/// # Errors
/// If the descriptions are not those of fluid models.
#[wasm_bindgen]
pub fn stability(descriptions: &str, duration: f64) -> Result<String, String> {
    theory::stability(descriptions, duration).map(|found| found.to_string())
}

/// Start, end, delay in ns, name, and what the edge is in routes.
type NamedEdge = (u32, u32, u64, String, u32);

/// A plan from JSON.
fn parse(plan: &str) -> Result<Plan, RunError> {
    serde_json::from_str(plan).map_err(|e| RunError::Invalid(ParamError::new(String::new(), e.to_string())))
}
