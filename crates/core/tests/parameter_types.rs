//! Types of parameters: each takes values of its own kind, shows them again, and refuses those of other kinds.

#![allow(clippy::disallowed_methods, reason = "tests may use the platform's functions")]

use marqueue_core::params::{check, Kind, ParamSpec, ParamType, PolicySpec, Value};
use marqueue_core::{Dscp, MarkingCurve, PerDscp, ScaledCurve};
use std::collections::BTreeMap;

fn table(entries: &[(&str, f64)]) -> Value {
    Value::Table(entries.iter().map(|&(name, x)| (name.to_string(), x)).collect::<BTreeMap<_, _>>())
}

/// Reads `value` as a `T` and shows it again; `None` if it is refused.
fn round_trip<T: ParamType>(value: &Value) -> Option<Value> {
    T::from_value(value).map(|read| read.to_value().expect("shown"))
}

#[test]
fn a_type_shows_the_value_that_it_took_and_takes_no_other_kind() {
    let policy = Value::Policy(PolicySpec { name: "red".into(), params: BTreeMap::new() });
    let values = [
        Value::Flag(true),
        Value::Number(2.5),
        Value::Choice("EF".into()),
        Value::Choice("exp:10:0.2".into()),
        policy,
        table(&[("AF11", 2.0)]),
    ];
    let types: [fn(&Value) -> Option<Value>; 6] = [
        round_trip::<bool>,
        round_trip::<f64>,
        round_trip::<Dscp>,
        round_trip::<MarkingCurve>,
        round_trip::<PolicySpec>,
        round_trip::<PerDscp>,
    ];
    for (i, read) in types.iter().enumerate() {
        for (j, value) in values.iter().enumerate() {
            let expected = (i == j).then(|| value.clone());
            assert_eq!(read(value), expected, "type {i} and value {value:?}");
        }
    }
    assert_eq!(round_trip::<bool>(&Value::Flag(false)), Some(Value::Flag(false)));
    assert_eq!(round_trip::<Option<f64>>(&Value::Number(2.5)), Some(Value::Number(2.5)));
    assert_eq!(round_trip::<Option<f64>>(&Value::Flag(true)), None);
    assert_eq!(None::<f64>.to_value(), None);
}

#[test]
fn the_names_of_code_points_are_listed_with_their_values() {
    let names = Dscp::names();
    assert_eq!(names.len(), 24);
    for &(name, value) in names {
        assert_eq!(Dscp::parse(name).map(Dscp::value), Some(value), "{name}");
    }
}

#[test]
fn tables_know_whether_they_are_empty_and_whether_their_numbers_are_whole() {
    let read = |entries: &[(&str, f64)]| PerDscp::from_value(&table(entries)).unwrap();
    assert!(read(&[]).is_empty() && !read(&[("EF", 1.0)]).is_empty());
    assert!(read(&[("EF", 1.0), ("DF", 3.0)]).check_whole("weights").is_ok());
    let error = read(&[("DF", 3.0), ("EF", 1.5)]).check_whole("weights").unwrap_err();
    assert_eq!(error.path, "weights.EF");
    assert!(error.message.contains("1.5") && error.message.contains("whole number"), "{error}");
}

#[test]
fn the_ends_of_a_curves_ranges_are_refused_or_accepted_as_the_message_says() {
    let accepted = |text: &str| MarkingCurve::parse(text).is_ok();
    assert!(
        accepted("red:0:10:0") && accepted("red:0:10:1") && !accepted("red:10:10:0.5") && !accepted("red:-1:10:0.5")
    );
    assert!(!accepted("exp:0:0.5") && !accepted("exp:10:0") && !accepted("exp:10:1"));
    assert!(accepted("points:0,0;5,1") && !accepted("points:-1,0") && !accepted("points:1,1.5"));
}

#[test]
fn the_first_whole_number_behind_a_knot_is_where_the_scaled_curve_has_passed_it() {
    let curve = MarkingCurve::parse("points:1,0;2.5,0.5;7,1").unwrap();
    for flows in [1.0, 2.0, 10.0, 333.0, 1e6] {
        let scaled = ScaledCurve::new(curve.clone(), flows, 0.25, 0.3, 12.0);
        let factor = flows.powf(0.25);
        for (knot, behind) in curve.knots().into_iter().zip(scaled.behind_knots()) {
            assert!(behind / factor > knot && (behind - 1.0) / factor <= knot, "{knot} {behind} {flows}");
            assert_eq!(behind.fract(), 0.0);
        }
    }
}

#[test]
fn a_code_point_is_checked_against_the_names_that_exist() {
    let spec = ParamSpec { name: "dscp", doc: "", kind: Kind::Dscp, default: None, auto: "", source: "" };
    let checked = |text: &str| check(&spec, &Value::Choice(text.into()));
    assert_eq!((checked("EF"), checked("63")), (Ok(()), Ok(())));
    let error = checked("AF14").unwrap_err();
    assert_eq!(error.path, "dscp");
    assert!(error.message.contains("\"AF14\"") && error.message.contains(Dscp::EXPECTED), "{error}");
}
