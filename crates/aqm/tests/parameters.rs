//! A wrong parameter is refused with its path, its value and what was expected.

use marqueue_aqm::{catalogue, Discipline, Env, Limit, Qdisc, Signal};
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
        densities: None,
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
        "apha: unknown parameter, expected one of: gamma, alpha, initial, adapt_every, buffer, mode"
    );
    assert_eq!(
        refusal(&spec("avq_inner", &[("apha", number(1.0))])),
        "apha: unknown parameter, expected one of: gamma, alpha, initial, adapt_every, buffer, mode, inner"
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
fn chokew_thresholds_in_the_wrong_order_are_refused() {
    for name in ["chokew", "chokew_id", "chokew_red", "chokew_avg"] {
        assert_eq!(
            refusal(&spec(name, &[("l_th", number(125.0))])),
            "l_minus: got 125 packets, expected more than l_th = 125 packets (l_th < l_minus < l_plus)"
        );
        assert_eq!(
            refusal(&spec(name, &[("l_plus", number(120.0))])),
            "l_plus: got 120 packets, expected more than l_minus = 125 packets (l_th < l_minus < l_plus)"
        );
    }
}

#[test]
fn weights_are_at_least_one_and_of_code_points_that_exist() {
    let weights = |pairs: &[(&str, f64)]| {
        spec("chokew", &[("weights", Value::Table(pairs.iter().map(|(k, v)| (k.to_string(), *v)).collect()))])
    };
    assert!(build(&weights(&[("AF11", 1.0), ("AF21", 1.5), ("46", 2.0), ("CS7", 2.5)])).is_ok());
    assert_eq!(
        refusal(&weights(&[("AF11", 0.5)])),
        "weights.AF11: got 0.5, expected a number between 1 and 1000000 (unit: 1)"
    );
    assert_eq!(
        refusal(&weights(&[("AF14", 2.0)])),
        "weights.AF14: got \"AF14\", expected a DSCP: DF, LE, EF, VA, CS0 to CS7, AF11 to AF43, or 0 to 63"
    );
    assert_eq!(
        refusal(&weights(&[("46", 2.0), ("EF", 3.0)])),
        "weights.EF: got \"EF\", expected a code point of its own, not that of \"46\""
    );
    assert_eq!(
        refusal(&spec("drr", &[("weights", number(2.0))])),
        "weights: got 2, expected a table from DSCPs to numbers"
    );
    assert_eq!(
        refusal(&spec("rio", &[("in_dscp", Value::Choice("in".into()))])),
        "in_dscp: got \"in\", expected a DSCP: DF, LE, EF, VA, CS0 to CS7, AF11 to AF43, or 0 to 63"
    );
}

#[test]
fn a_curve_is_one_of_three_forms() {
    let curve = |text: &str| spec("scaled", &[("curve", Value::Choice(text.into()))]);
    assert!(build(&curve("points:0,0;2,0;10,0.2")).is_ok());
    assert_eq!(
        refusal(&curve("linear")),
        "curve: got \"linear\", expected a marking curve: \"red:MIN:MAX:P\", \"exp:AT:P\" or \"points:X,P;X,P;...\""
    );
    assert_eq!(
        refusal(&curve("red:10:2:0.2")),
        "curve: got \"red:10:2:0.2\", expected \"red:MIN:MAX:P\" with 0 <= MIN < MAX and 0 <= P <= 1"
    );
}

#[test]
fn scaling_outside_the_theorems_or_the_link_gives_a_warning() {
    let warning = |params: &[(&str, Value)]| build(&spec("scaled", params)).unwrap().warning();
    assert_eq!(warning(&[]), None);
    assert!(warning(&[("a", number(0.45))]).unwrap().contains("a = 0.45 and b = 0.55"));
    // The link has 100 packets; 12 x 10000^0.3 = 190.
    let both = warning(&[("flows", number(1e4)), ("a", number(0.0)), ("b", number(0.3))]).unwrap();
    assert!(both.contains("0 < a < b < 1/2") && both.contains("holds 100 packets, less than the 190"));
}

#[test]
fn counts_are_whole() {
    for (name, parameter) in [("choke", "draws"), ("chokew_id", "ids"), ("sfq", "queues"), ("fq_codel", "queues")] {
        assert_eq!(
            refusal(&spec(name, &[(parameter, number(1.5))])),
            format!("{parameter}: got 1.5, expected a whole number up to 4294967295")
        );
    }
    let room = |x| {
        spec(
            "wfq",
            &[("classify", Value::Choice("dscp".into())), ("room", Value::Table([("EF".to_string(), x)].into()))],
        )
    };
    assert!(build(&room(7.0)).is_ok());
    assert_eq!(refusal(&room(7.5)), "room.EF: got 7.5, expected a whole number up to 4294967295");
}

#[test]
fn thresholds_of_a_red_inside_another_algorithm_are_named_as_there() {
    assert_eq!(
        refusal(&spec("rio", &[("in_min_th", number(210.0))])),
        "in_max_th: got 210 packets, expected more than min_th = 210 packets"
    );
    assert_eq!(
        refusal(&spec("chokew_red", &[("max_th", number(50.0))])),
        "max_th: got 50 packets, expected more than min_th = 100 packets"
    );
    assert_eq!(
        refusal(&spec("wfq", &[("room", Value::Table([("EF".to_string(), 7.0)].into()))])),
        "room: got a table, expected none with classify = \"flow\""
    );
}

#[test]
fn errors_of_an_inner_aqm_have_the_full_path() {
    let inside = |inner: PolicySpec| spec("avq_inner", &[("inner", Value::Policy(inner))]);
    assert_eq!(
        refusal(&inside(spec("pie", &[("alpha", number(-1.0))]))),
        "inner.alpha: got -1, expected a number between 0 and 1000000 (unit: 1/s)"
    );
    let twice = inside(inside(spec("codel", &[("target", number(0.2))])));
    assert_eq!(refusal(&twice), "inner.inner.target: got 0.2 s, expected at most interval = 0.1 s");
    assert_eq!(
        refusal(&spec("avq_inner", &[("inner", number(1.0))])),
        "inner: got 1, expected a table with the name of an AQM"
    );
}

#[test]
fn a_ce_threshold_needs_a_link_that_marks() {
    let with = |signal, name: &str| {
        let env = Env {
            rate: Rate(10_000_000),
            mean_packet: Bytes(1000),
            limit: Limit::Packets(100),
            delay: Dur::ZERO,
            signal,
            densities: None,
        };
        Discipline::build(&spec(name, &[("ce_threshold", number(0.001))]), env, Rng::named(1, "parameters"))
    };
    for name in ["codel", "fq_codel"] {
        assert!(with(Signal::Ecn, name).is_ok() && with(Signal::EcnOnly, name).is_ok());
        assert_eq!(
            with(Signal::Drop, name).map(|_| ()).unwrap_err().to_string(),
            "ce_threshold: got 0.001 s, expected none where signals are drops (signal = \"drop\")"
        );
    }
}
