//! The catalogues of algorithms and their parameters as JSON, in the form of `marqueue._core`.

use marqueue_aqm::Reason;
use marqueue_cc::config::{Params, TIMESTAMPS_BYTES};
use marqueue_cc::preset::{preset, PRESETS};
use marqueue_cc::rate_based::AnyRateLaw;
use marqueue_core::dscp::Dscp;
use marqueue_core::params::{Kind, ParamSet, ParamSpec, ParamValues, PolicySpec};
use marqueue_core::{Bytes, MarkingCurve};
use marqueue_sim::impair::{Jitter, Loss, Reorder};
use serde_json::{json, Map, Value};

/// Every catalogue and constant of `marqueue._core` that scenarios need, by name.
pub fn catalogue() -> Value {
    let aqms = marqueue_aqm::catalogue().into_iter().map(|entry| {
        let mut aqm = model(entry.name, entry.summary, entry.source, &entry.params);
        aqm["probes"] = json!(entry.probes);
        aqm["prices"] = json!(entry.prices);
        aqm
    });
    let losses = Loss::catalogue().into_iter().map(|loss| model(loss.name, loss.summary, loss.source, &loss.params));
    let rates = AnyRateLaw::catalogue().into_iter().map(|law| {
        let by_default = PolicySpec { name: law.name.into(), params: ParamValues::new() };
        let mut rate = model(law.name, law.summary, law.source, &law.params);
        rate["listens"] =
            AnyRateLaw::build(&by_default, Bytes(1000)).is_ok_and(|law| law.uses_router_feedback()).into();
        rate
    });
    let presets: Map<String, Value> =
        PRESETS.iter().filter_map(|&name| Some((name.into(), json!(preset(name).ok()?)))).collect();
    let code_points: Map<String, Value> =
        Dscp::names().iter().map(|&(name, value)| (name.into(), value.into())).collect();
    json!({
        "version": env!("CARGO_PKG_VERSION"),
        "aqm_catalogue": aqms.collect::<Vec<_>>(),
        "loss_catalogue": losses.collect::<Vec<_>>(),
        "rate_catalogue": rates.collect::<Vec<_>>(),
        "jitter_params": specs(&Jitter::specs()),
        "reorder_params": specs(&Reorder::specs()),
        "tcp_params": specs(&Params::specs()),
        "tcp_presets": presets,
        "dscps": [json!(Dscp::EXPECTED), Value::from(code_points)],
        "TIMESTAMPS_BYTES": TIMESTAMPS_BYTES,
        "MARKING_CURVE": MarkingCurve::EXPECTED,
        "REASONS": Reason::ALL.map(Reason::name),
    })
}

/// The description of anything that is chosen by name.
fn model(name: &str, summary: &str, source: &str, params: &[ParamSpec]) -> Value {
    json!({ "name": name, "summary": summary, "source": source, "params": specs(params) })
}

/// Declarations; keys that do not apply to a kind are null.
fn specs(specs: &[ParamSpec]) -> Vec<Value> {
    specs.iter().map(spec).collect()
}

fn spec(spec: &ParamSpec) -> Value {
    let (kind, numeric, choices) = match spec.kind {
        Kind::Number { unit, min, max } => ("number", Some((unit.name(), min, max)), None),
        Kind::Flag => ("flag", None, None),
        Kind::Choice(names) => ("choice", None, Some(names)),
        Kind::Policy => ("policy", None, None),
        Kind::Dscp => ("dscp", None, None),
        Kind::PerDscp { unit, min, max } => ("per-dscp", Some((unit.name(), min, max)), None),
        Kind::Curve => ("curve", None, None),
    };
    json!({
        "name": spec.name,
        "doc": spec.doc,
        "kind": kind,
        "unit": numeric.map(|n| n.0),
        "min": numeric.map(|n| n.1),
        "max": numeric.map(|n| n.2),
        "choices": choices,
        "default": spec.default,
        "auto": spec.auto,
        "source": spec.source,
    })
}
