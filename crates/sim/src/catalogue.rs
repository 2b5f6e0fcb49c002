//! What a scenario can choose from, and its parameters, as data: for Python (`marqueue._core`) and for the browser
//! (`crates/wasm`), which hand it over as JSON.

use crate::impair::{Jitter, Loss, Reorder};
use crate::medium::AnyMedium;
use marqueue_aqm::Reason;
use marqueue_cc::config::{Params, TIMESTAMPS_BYTES};
use marqueue_cc::media::AnyControl;
use marqueue_cc::path_model::ModelState;
use marqueue_cc::preset::{preset, PRESETS};
use marqueue_cc::rate_based::AnyRateLaw;
use marqueue_core::dscp::Dscp;
use marqueue_core::params::{Kind, ParamSet, ParamSpec, PolicySpec};
use marqueue_core::{Bytes, MarkingCurve, ParamError, ParamValues, Value};
use serde::Serialize;

/// Everything that a scenario can choose from.
#[derive(Serialize)]
struct Catalogue {
    aqms: Vec<Aqm>,
    losses: Vec<Model>,
    media: Vec<Model>,
    rate_laws: Vec<RateLaw>,
    media_controls: Vec<MediaControl>,
    jitter: Vec<Declaration>,
    reorder: Vec<Declaration>,
    tcp: Vec<Declaration>,
    /// The values that each preset of TCP sets.
    tcp_presets: Vec<(&'static str, ParamValues)>,
    /// The code points that have names.
    dscps: &'static [(&'static str, u8)],
    /// The forms that a code point may have, for error messages.
    dscp_expected: &'static str,
    /// The forms that a marking curve may have, for error messages.
    marking_curve: &'static str,
    /// Bytes that TCP's timestamps take in a packet.
    timestamps_bytes: u32,
    /// Why packets are marked or dropped.
    reasons: Vec<&'static str>,
    /// The states of models of the path.
    model_states: &'static [&'static str],
}

/// An algorithm with its parameters.
#[derive(Serialize)]
struct Model {
    name: &'static str,
    summary: &'static str,
    source: &'static str,
    params: Vec<Declaration>,
}

#[derive(Serialize)]
struct Aqm {
    #[serde(flatten)]
    model: Model,
    /// Its internal variables with their units.
    probes: &'static [(&'static str, &'static str)],
    /// Does it report a price of the link?
    prices: bool,
}

#[derive(Serialize)]
struct RateLaw {
    #[serde(flatten)]
    model: Model,
    /// Do flows under this law use the feedback of routers?
    listens: bool,
}

#[derive(Serialize)]
struct MediaControl {
    #[serde(flatten)]
    model: Model,
    /// Does it answer to CE marks?
    answers_marks: bool,
}

/// A parameter; what does not apply to its kind is null.
#[derive(Serialize)]
struct Declaration {
    name: &'static str,
    doc: &'static str,
    kind: &'static str,
    unit: Option<&'static str>,
    min: Option<f64>,
    max: Option<f64>,
    choices: Option<&'static [&'static str]>,
    default: Option<Value>,
    auto: &'static str,
    source: &'static str,
}

/// The catalogue.
///
/// # Errors
/// If a preset of TCP is none: a mistake of `PRESETS`.
pub fn catalogue() -> Result<impl Serialize, ParamError> {
    let aqms = marqueue_aqm::catalogue().into_iter().map(|entry| Aqm {
        model: model(entry.name, entry.summary, entry.source, entry.params),
        probes: entry.probes,
        prices: entry.prices,
    });
    let losses = Loss::catalogue().into_iter().map(|loss| model(loss.name, loss.summary, loss.source, loss.params));
    let media = AnyMedium::catalogue();
    let rate_laws = AnyRateLaw::catalogue()
        .into_iter()
        .map(|law| RateLaw { listens: listens(law.name), model: model(law.name, law.summary, law.source, law.params) });
    let media_controls = AnyControl::catalogue().into_iter().map(|control| MediaControl {
        answers_marks: AnyControl::answers_marks(control.name),
        model: model(control.name, control.summary, control.source, control.params),
    });
    Ok(Catalogue {
        aqms: aqms.collect(),
        losses: losses.collect(),
        media: media.into_iter().map(|m| model(m.name, m.summary, m.source, m.params)).collect(),
        rate_laws: rate_laws.collect(),
        media_controls: media_controls.collect(),
        jitter: declarations(Jitter::specs()),
        reorder: declarations(Reorder::specs()),
        tcp: declarations(Params::specs()),
        tcp_presets: PRESETS.into_iter().map(|name| Ok((name, preset(name)?))).collect::<Result<_, ParamError>>()?,
        dscps: Dscp::names(),
        dscp_expected: Dscp::EXPECTED,
        marking_curve: MarkingCurve::EXPECTED,
        timestamps_bytes: TIMESTAMPS_BYTES,
        reasons: Reason::ALL.map(Reason::name).to_vec(),
        model_states: ModelState::NAMES,
    })
}

fn model(name: &'static str, summary: &'static str, source: &'static str, params: Vec<ParamSpec>) -> Model {
    Model { name, summary, source, params: declarations(params) }
}

fn listens(law: &str) -> bool {
    let by_default = PolicySpec { name: law.into(), params: ParamValues::new() };
    AnyRateLaw::build(&by_default, Bytes(1000)).is_ok_and(|law| law.uses_router_feedback())
}

fn declarations(specs: Vec<ParamSpec>) -> Vec<Declaration> {
    specs.into_iter().map(declaration).collect()
}

fn declaration(spec: ParamSpec) -> Declaration {
    let (kind, numeric, choices) = match spec.kind {
        Kind::Number { unit, min, max } => ("number", Some((unit.name(), min, max)), None),
        Kind::Flag => ("flag", None, None),
        Kind::Choice(names) => ("choice", None, Some(names)),
        Kind::Policy => ("policy", None, None),
        Kind::Dscp => ("dscp", None, None),
        Kind::PerDscp { unit, min, max } => ("per-dscp", Some((unit.name(), min, max)), None),
        Kind::Curve => ("curve", None, None),
    };
    Declaration {
        name: spec.name,
        doc: spec.doc,
        kind,
        unit: numeric.map(|(unit, ..)| unit),
        min: numeric.map(|(_, min, _)| min),
        max: numeric.map(|(.., max)| max),
        choices,
        default: spec.default,
        auto: spec.auto,
        source: spec.source,
    }
}
