//! Declarations of parameters. A parameter is declared once, with unit, range, default and source. The scenario schema,
//! the help of the command line, the documentation and all checks are generated from the declaration.

use crate::curve::MarkingCurve;
use crate::dscp::Dscp;
use alloc::collections::BTreeMap;
use alloc::{
    string::{String, ToString},
    vec::Vec,
};

pub use crate::param_value::{whole, Kind, ParamError, ParamType, ParamValues, PolicySpec, Unit, Value};

/// The declaration of a parameter.
#[derive(Clone, Debug)]
pub struct ParamSpec {
    /// Its name in scenarios.
    pub name: &'static str,
    /// The effect of the parameter.
    pub doc: &'static str,
    /// The kind of its value.
    pub kind: Kind,
    /// Its default; `None` if it is required or computed (see `auto`).
    pub default: Option<Value>,
    /// How the default is computed if it is not constant.
    pub auto: &'static str,
    /// The source of its definition and default.
    pub source: &'static str,
}

/// An entry of a catalogue.
#[derive(Clone, Debug)]
pub struct Entry {
    /// Its name in scenarios.
    pub name: &'static str,
    /// One line on what it does.
    pub summary: &'static str,
    /// The paper or RFC that defines it.
    pub source: &'static str,
    /// Its parameters.
    pub params: Vec<ParamSpec>,
}

/// A set of parameters, as declared by [`params!`](crate::params!).
pub trait ParamSet: Sized {
    /// The declarations in order.
    fn specs() -> Vec<ParamSpec>;
    /// Reads the given values and fills in defaults. Rejects unknown names and values out of range.
    ///
    /// # Errors
    /// Names the parameter, the value and what was expected.
    fn from_values(values: &ParamValues) -> Result<Self, ParamError>;
}

/// The union of two sets with different names: the parameters of an algorithm, and those that a variant adds.
impl<A: ParamSet, B: ParamSet> ParamSet for (A, B) {
    fn specs() -> Vec<ParamSpec> {
        [A::specs(), B::specs()].concat()
    }

    fn from_values(values: &ParamValues) -> Result<Self, ParamError> {
        refuse_unknown(&Self::specs(), values)?;
        let first = A::specs();
        let (a, b) = values.clone().into_iter().partition(|(name, _)| first.iter().any(|spec| spec.name == name));
        Ok((A::from_values(&a)?, B::from_values(&b)?))
    }
}

/// Checks one value against its declaration. Called by [`params!`](crate::params!).
///
/// # Errors
/// Names the parameter, the value and what was expected.
pub fn check(spec: &ParamSpec, value: &Value) -> Result<(), ParamError> {
    let refuse =
        |expected: String| Err(ParamError::new(spec.name, format!("got {}, expected {expected}", show(value))));
    match (&spec.kind, value) {
        (Kind::Number { unit, min, max }, Value::Number(x)) => match in_range(*x, *unit, *min, *max) {
            Ok(()) => Ok(()),
            Err(expected) => refuse(expected),
        },
        (Kind::Number { unit, .. }, _) => refuse(format!("a number (unit: {})", unit.name())),
        (Kind::Flag, Value::Flag(_)) | (Kind::Policy, Value::Policy(_)) => Ok(()),
        (Kind::Flag, _) => refuse("true or false".into()),
        (Kind::Policy, _) => refuse("a table with the name of an AQM".into()),
        (Kind::Choice(names), Value::Choice(s)) if names.contains(&s.as_str()) => Ok(()),
        (Kind::Choice(names), _) => refuse(format!("one of {}", names.join(", "))),
        (Kind::Dscp, Value::Choice(s)) if Dscp::parse(s).is_some() => Ok(()),
        (Kind::Dscp, _) => refuse(Dscp::EXPECTED.into()),
        (Kind::PerDscp { unit, min, max }, Value::Table(table)) => {
            check_table(spec.name, table, |x| in_range(x, *unit, *min, *max))
        }
        (Kind::PerDscp { .. }, _) => refuse("a table from DSCPs to numbers".into()),
        (Kind::Curve, Value::Choice(s)) => MarkingCurve::parse(s).map(drop).or_else(refuse),
        (Kind::Curve, _) => refuse(MarkingCurve::EXPECTED.into()),
    }
}

/// Checks the entries of a table from code points to numbers.
fn check_table(
    parameter: &str,
    table: &BTreeMap<String, f64>,
    in_range: impl Fn(f64) -> Result<(), String>,
) -> Result<(), ParamError> {
    let mut names = BTreeMap::new();
    for (name, &x) in table {
        let refuse = |got: String, expected: &str| {
            Err(ParamError::new(format!("{parameter}.{name}"), format!("got {got}, expected {expected}")))
        };
        let Some(dscp) = Dscp::parse(name) else { return refuse(format!("\"{name}\""), Dscp::EXPECTED) };
        if let Some(other) = names.insert(dscp, name) {
            return refuse(format!("\"{name}\""), &format!("a code point of its own, not that of \"{other}\""));
        }
        if let Err(expected) = in_range(x) {
            return refuse(x.to_string(), &expected);
        }
    }
    Ok(())
}

/// What was expected, if `x` is not between `min` and `max`.
fn in_range(x: f64, unit: Unit, min: f64, max: f64) -> Result<(), String> {
    if x.is_finite() && min <= x && x <= max {
        return Ok(());
    }
    Err(format!("a number between {min} and {max} (unit: {})", unit.name()))
}

fn show(v: &Value) -> String {
    match v {
        Value::Flag(b) => b.to_string(),
        Value::Number(x) => x.to_string(),
        Value::Choice(s) => format!("\"{s}\""),
        Value::Policy(p) => format!("the policy {}", p.name),
        Value::Table(_) => "a table".into(),
    }
}

/// The value of a parameter that has no default and must be given.
///
/// # Errors
/// If it is missing.
pub fn required<T>(value: Option<T>, name: &str) -> Result<T, ParamError> {
    value.ok_or_else(|| ParamError::new(name, "missing, expected a value"))
}

/// Rejects names that are not declared. Called by [`params!`](crate::params!).
///
/// # Errors
/// Names the unknown parameter and those that exist.
pub fn refuse_unknown(specs: &[ParamSpec], values: &ParamValues) -> Result<(), ParamError> {
    for name in values.keys() {
        if !specs.iter().any(|s| s.name == name) {
            let known: Vec<_> = specs.iter().map(|s| s.name).collect();
            let known = if known.is_empty() { "no parameters".into() } else { known.join(", ") };
            return Err(ParamError::new(name, format!("unknown parameter, expected one of: {known}")));
        }
    }
    Ok(())
}

/// Declares a set of parameters: doc comment (what it does), type, unit and range for numbers,
/// default, and source. `Option<f64>` with `default: None` is computed; `auto` says how.
///
/// ```
/// marqueue_core::params! {
///     /// Parameters of an example.
///     pub struct Params {
///         /// Desired utilization.
///         gamma: f64 { unit: Fraction, range: 0.0 => 1.0, default: 0.98, source: "the paper" },
///         /// Be gentle.
///         gentle: bool { default: true, source: "the paper" },
///     }
/// }
/// use marqueue_core::params::ParamSet;
/// assert_eq!(Params::from_values(&Default::default()).unwrap().gamma, 0.98);
/// ```
#[macro_export]
macro_rules! params {
    ($(#[$outer:meta])* $vis:vis struct $name:ident { $(
        $(#[doc = $doc:literal])+
        $field:ident : $ty:ty {
            $(unit: $unit:ident, range: $lo:literal => $hi:literal,)?
            default: $default:expr,
            $(auto: $auto:literal,)?
            source: $source:literal $(,)?
        }
    ),* $(,)? }) => {
        $(#[$outer])*
        #[derive(Clone, Debug, PartialEq)]
        $vis struct $name { $( $(#[doc = $doc])+ pub $field: $ty, )* }

        impl $crate::params::ParamSet for $name {
            fn specs() -> $crate::alloc::vec::Vec<$crate::params::ParamSpec> {
                #[allow(unused_imports)]
                use $crate::params::{ParamType, Unit};
                $crate::alloc::vec![$({
                    #[allow(unused_mut, unused_assignments)]
                    let mut numeric = (Unit::One, 0.0_f64, 0.0_f64);
                    $( numeric = (Unit::$unit, $lo as f64, $hi as f64); )?
                    let default: $ty = $default;
                    $crate::params::ParamSpec {
                        name: stringify!($field),
                        doc: concat!($($doc,)+).trim_start(),
                        kind: <$ty as ParamType>::kind(numeric.0, numeric.1, numeric.2),
                        default: default.to_value(),
                        auto: concat!("" $(, $auto)?),
                        source: $source,
                    }
                }),*]
            }

            fn from_values(values: &$crate::params::ParamValues) -> Result<Self, $crate::params::ParamError> {
                #[allow(unused_imports)]
                use $crate::params::ParamType;
                let specs = Self::specs();
                $crate::params::refuse_unknown(&specs, values)?;
                #[allow(unused_mut, unused_variables)]
                let mut specs = specs.iter();
                Ok(Self { $(
                    $field: {
                        let spec = specs.next().expect("one spec a field");
                        match values.get(stringify!($field)) {
                            None => $default,
                            Some(v) => {
                                $crate::params::check(spec, v)?;
                                <$ty as ParamType>::from_value(v).expect("checked against its kind")
                            }
                        }
                    },
                )* })
            }
        }
    };
}

/// Declares an enum whose variants are names in scenarios.
#[macro_export]
macro_rules! choice {
    ($(#[$outer:meta])* $vis:vis enum $name:ident { $( $(#[doc = $doc:literal])+ $variant:ident = $text:literal ),+ $(,)? }) => {
        $(#[$outer])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        $vis enum $name { $( $(#[doc = $doc])+ $variant ),+ }

        impl $crate::params::ParamType for $name {
            fn kind(_: $crate::params::Unit, _: f64, _: f64) -> $crate::params::Kind {
                $crate::params::Kind::Choice(&[$($text),+])
            }
            fn from_value(v: &$crate::params::Value) -> Option<Self> {
                match v {
                    $( $crate::params::Value::Choice(s) if s == $text => Some(Self::$variant), )+
                    _ => None,
                }
            }
            fn to_value(&self) -> Option<$crate::params::Value> {
                Some($crate::params::Value::Choice(match self { $( Self::$variant => $text ),+ }.into()))
            }
        }
    };
}

#[cfg(test)]
mod tests;
