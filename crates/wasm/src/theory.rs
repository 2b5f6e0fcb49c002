//! Fluid models: their course, equilibrium, loop gain and margins. Descriptions are those of `marqueue.theory.fluid`.

use marqueue_theory::fluid::solver::Tolerance;
use marqueue_theory::fluid::{Description, Model, Observation, SolverSettings};
use marqueue_theory::linear::{at_end, equilibrium, Delayed, Loop};
use serde_json::{json, Map, Value};

/// Number of times at which the fluid model is observed.
const TIMES: usize = 1000;

/// What theory says of a description over `duration` seconds, as `Theory` of `web/src/engine/protocol.ts`. A part that
/// does not exist is missing, and `missing` says why.
pub fn theory(description: &str, duration: f64) -> Result<Value, String> {
    let description: Description = serde_json::from_str(description).map_err(|e| e.to_string())?;
    let mut found = Map::new();
    let missing = course(&description, duration).map(|course| found.insert("fluid".into(), course)).err();
    let unstable = near_equilibrium(&description, duration, &mut found).err();
    if let Some(why) = missing.or(unstable) {
        found.insert("missing".into(), why.into());
    }
    Ok(found.into())
}

/// Is the model of each description stable? The largest real part of a root of each, 1/s; null without an equilibrium.
pub fn stability(descriptions: &str, duration: f64) -> Result<Value, String> {
    let descriptions: Vec<Description> = serde_json::from_str(descriptions).map_err(|e| e.to_string())?;
    let root = |description: &Description| {
        let (model, y) = rest(description, duration).ok()?;
        Some(Delayed::of(&model, &y, false).rightmost())
    };
    Ok(descriptions.iter().map(root).collect())
}

/// The course of the first link, and of the first class.
fn course(description: &Description, duration: f64) -> Result<Value, String> {
    let model = Model::new(description.clone()).map_err(|e| e.to_string())?;
    let times: Vec<f64> = (0..=TIMES).map(|i| duration * i as f64 / TIMES as f64).collect();
    let settings = SolverSettings { times, tolerance: Tolerance::default() };
    let solution = settings.solve(&model, &model.initial_states()).map_err(|e| e.to_string())?;
    let seen = settings.observe(&model, &solution);
    let column = |of: &dyn Fn(&Observation) -> f64| seen.iter().map(of).collect::<Vec<f64>>();
    Ok(json!({
        "t": settings.times,
        "queue": column(&|o| o.links[0].queue),
        "window": column(&|o| o.sources[0].window),
        "probability": column(&|o| o.links[0].p),
    }))
}

/// The model with the links and flows of the end, and its states at rest.
fn rest(description: &Description, duration: f64) -> Result<(Model, Vec<f64>), String> {
    let constant = at_end(description, duration);
    let longest = constant.classes.iter().map(|class| class.rtt).fold(0.0, f64::max);
    if longest == 0.0 {
        return Err("there are no flows at the end".into());
    }
    let model = Model::new(constant).map_err(|e| e.to_string())?;
    let y = equilibrium(&model, longest).ok_or("no equilibrium was found")?;
    Ok((model, y))
}

fn near_equilibrium(description: &Description, duration: f64, found: &mut Map<String, Value>) -> Result<(), String> {
    let (model, y) = rest(description, duration)?;
    let seen = model.observe_rest(0.0, &y);
    let (link, source) = (&seen.links[0], &seen.sources[0]);
    found.insert(
        "equilibrium".into(),
        json!({ "queue": link.queue, "window": source.window, "probability": link.p, "rtt": source.rtt }),
    );
    let cut = Loop { closed: Delayed::of(&model, &y, false), open: Delayed::of(&model, &y, true) };
    let root = cut.closed.rightmost();
    found.insert("root".into(), root.into());
    if cut.signals() != 1 {
        return Err(format!("the model has {} loops, expected one for margins", cut.signals()));
    }
    let w = cut.frequencies();
    let locus: Vec<_> = w.iter().map(|&w| cut.at(w)).collect();
    found.insert(
        "nyquist".into(),
        json!({
            "frequency": w,
            "real": locus.iter().map(|z| z.re).collect::<Vec<_>>(),
            "imaginary": locus.iter().map(|z| z.im).collect::<Vec<_>>(),
        }),
    );
    let margins = cut.margins(&w, &locus);
    found.insert(
        "margins".into(),
        json!({ "gain": margins.gain, "phase": margins.phase, "delay": margins.delay, "stable": root < 0.0 }),
    );
    Ok(())
}
