//! Tests of declarations, values and error messages.

use super::*;

choice! {
    /// Unit of a queue.
    pub enum Mode {
        /// In packets.
        Packets = "packets",
        /// In bytes.
        Bytes = "bytes",
    }
}

params! {
    /// An example.
    pub struct Example {
        /// Weight.
        w: f64 { unit: Fraction, range: 0.0 => 1.0, default: 0.5, source: "test" },
        /// Counted in.
        mode: Mode { default: Mode::Packets, source: "test" },
        /// Threshold.
        th: Option<f64> { unit: Packets, range: 0 => 1e9, default: None, auto: "half the limit", source: "test" },
    }
}

fn values(pairs: &[(&str, Value)]) -> ParamValues {
    pairs.iter().map(|(k, v)| ((*k).into(), v.clone())).collect()
}

#[test]
fn given_values_replace_defaults() {
    let p = Example::from_values(&values(&[("mode", Value::Choice("bytes".into()))])).unwrap();
    assert_eq!(p, Example { w: 0.5, mode: Mode::Bytes, th: None });
}

#[test]
fn errors_name_the_parameter_the_value_and_what_was_expected() {
    let spec = |kind| ParamSpec { name: "weights", doc: "", kind, default: None, auto: "", source: "" };
    let table = |name: &str, x| Value::Table([(name.to_string(), x)].into());
    let weights = spec(Kind::PerDscp { unit: Unit::One, min: 1.0, max: 10.0 });
    assert_eq!(check(&weights, &table("AF11", 2.0)), Ok(()));
    let refused = |value: &Value| check(&weights, value).unwrap_err().to_string();
    assert_eq!(refused(&table("AF11", 0.5)), "weights.AF11: got 0.5, expected a number between 1 and 10 (unit: 1)");
    assert_eq!(refused(&table("AF14", 2.0)), format!("weights.AF14: got \"AF14\", expected {}", Dscp::EXPECTED));
    assert_eq!(refused(&Value::Number(2.0)), "weights: got 2, expected a table from DSCPs to numbers");
    let twice = Value::Table([("46".to_string(), 1.0), ("EF".to_string(), 2.0)].into());
    assert_eq!(refused(&twice), "weights.EF: got \"EF\", expected a code point of its own, not that of \"46\"");
    let e = |pairs: &[(&str, Value)]| Example::from_values(&values(pairs)).unwrap_err().to_string();
    assert_eq!(e(&[("w", Value::Number(1.5))]), "w: got 1.5, expected a number between 0 and 1 (unit: fraction)");
    assert_eq!(e(&[("mode", Value::Choice("bits".into()))]), "mode: got \"bits\", expected one of packets, bytes");
    assert_eq!(e(&[("x", Value::Flag(true))]), "x: unknown parameter, expected one of: w, mode, th");
    assert_eq!(e(&[("w", Value::Number(f64::NAN))]), "w: got NaN, expected a number between 0 and 1 (unit: fraction)");
}

params! {
    /// What a variant adds.
    pub struct Added {
        /// How many.
        n: f64 { unit: One, range: 0.0 => 1e12, default: 3.0, source: "test" },
    }
}

#[test]
fn two_sets_are_read_as_their_union() {
    type Both = (Example, Added);
    let (example, added) =
        Both::from_values(&values(&[("w", Value::Number(0.25)), ("n", Value::Number(7.0))])).unwrap();
    assert_eq!((example.w, added.n), (0.25, 7.0));
    let e = Both::from_values(&values(&[("x", Value::Number(0.0))])).unwrap_err().to_string();
    assert_eq!(e, "x: unknown parameter, expected one of: w, mode, th, n");
    assert!(Both::from_values(&values(&[("n", Value::Number(-1.0))]))
        .unwrap_err()
        .to_string()
        .starts_with("n: got -1"));
}

#[test]
fn counts_are_whole_numbers() {
    assert_eq!(whole("n", 7.0), Ok(7));
    assert_eq!(whole("n", 1.5).unwrap_err().to_string(), "n: got 1.5, expected a whole number up to 4294967295");
    assert!(whole("n", 1e10).is_err() && whole("n", -1.0).is_err());
}

#[test]
fn specs_contain_everything_declared() {
    let s = Example::specs();
    assert_eq!(s[0].doc, "Weight.");
    assert_eq!(s[0].kind, Kind::Number { unit: Unit::Fraction, min: 0.0, max: 1.0 });
    assert_eq!(s[2].auto, "half the limit");
    assert_eq!(s[2].default, None);
}
