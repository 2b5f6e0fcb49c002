//! A wrong parameter is refused with its path, its value and what was expected.

use marqueue_aqm::{catalogue, Discipline, Env, Limit, Signal};
use marqueue_core::{Bytes, Dur, PolicySpec, Rate, Rng, Value};

fn spec(name: &str, params: &[(&str, Value)]) -> PolicySpec {
    PolicySpec { name: name.into(), params: params.iter().map(|(k, v)| (k.to_string(), v.clone())).collect() }
}

fn number(x: f64) -> Value {
    Value::Number(x)
}

fn build(spec: &PolicySpec) -> Result<Discipline, String> {
    let env = Env {
        rate: Rate(10_000_000),
        mean_packet: Bytes(1000),
        limit: Limit::Packets(100),
        delay: Dur::ZERO,
        signal: Signal::Ecn,
    };
    Discipline::build(spec, env, Rng::named(1, "parameters")).map_err(|e| e.to_string())
}

fn refusal(spec: &PolicySpec) -> String {
    build(spec).map(|_| ()).expect_err("should be refused")
}

#[test]
fn every_default_is_accepted() {
    for entry in catalogue() {
        build(&spec(entry.name, &[])).unwrap_or_else(|e| panic!("{}: {e}", entry.name));
    }
}

#[test]
fn every_default_given_explicitly_is_accepted() {
    for entry in catalogue() {
        let given = entry.params.iter().filter_map(|p| p.default.clone().map(|d| (p.name, d)));
        build(&spec(entry.name, &given.collect::<Vec<_>>())).unwrap_or_else(|e| panic!("{}: {e}", entry.name));
    }
}

#[test]
fn an_unknown_algorithm_is_answered_with_the_list() {
    let names: Vec<_> = catalogue().iter().map(|e| e.name).collect();
    assert_eq!(refusal(&spec("avk", &[])), format!("name: got \"avk\", expected one of {}", names.join(", ")));
}

#[test]
fn an_unknown_parameter_is_answered_with_those_that_exist() {
    assert_eq!(
        refusal(&spec("avq", &[("apha", number(1.0))])),
        "apha: unknown parameter, expected one of: gamma, alpha, initial, buffer, mode"
    );
    assert_eq!(
        refusal(&spec("avq-inner", &[("apha", number(1.0))])),
        "apha: unknown parameter, expected one of: gamma, alpha, initial, buffer, mode, inner"
    );
}

#[test]
fn values_out_of_range_or_of_another_kind_are_refused() {
    assert_eq!(
        refusal(&spec("avq", &[("gamma", number(1.5))])),
        "gamma: got 1.5, expected a number between 0 and 1 (unit: fraction)"
    );
    assert_eq!(
        refusal(&spec("rem", &[("phi", number(0.5))])),
        "phi: got 0.5, expected a number between 1 and 1000 (unit: 1)"
    );
    assert_eq!(
        refusal(&spec("pie", &[("mode", Value::Choice("bits".into()))])),
        "mode: got \"bits\", expected one of packets, bytes"
    );
}

#[test]
fn parameters_that_contradict_each_other_are_refused() {
    assert_eq!(
        refusal(&spec("red", &[("min_th", number(20.0)), ("max_th", number(10.0))])),
        "max_th: got 10 packets, expected more than min_th = 20 packets"
    );
    assert_eq!(
        refusal(&spec("pi", &[("a", number(1e-5)), ("b", number(2e-5))])),
        "b: got 0.00002, expected less than a = 0.00001"
    );
    assert_eq!(
        refusal(&spec("codel", &[("target", number(0.2))])),
        "target: got 0.2 s, expected at most interval = 0.1 s"
    );
}

#[test]
fn an_error_inside_the_virtual_queue_names_the_way_there() {
    let inside = |inner: PolicySpec| spec("avq-inner", &[("inner", Value::Policy(inner))]);
    assert_eq!(
        refusal(&inside(spec("pie", &[("alpha", number(-1.0))]))),
        "inner.alpha: got -1, expected a number between 0 and 1000000 (unit: 1/s)"
    );
    let twice = inside(inside(spec("codel", &[("target", number(0.2))])));
    assert_eq!(refusal(&twice), "inner.inner.target: got 0.2 s, expected at most interval = 0.1 s");
    assert_eq!(
        refusal(&spec("avq-inner", &[("inner", number(1.0))])),
        "inner: got 1, expected a table with the name of an AQM"
    );
}
