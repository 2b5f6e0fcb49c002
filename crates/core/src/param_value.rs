//! Values of parameters: their units, kinds and conversions, and the error for invalid ones.
//!
//! Particular types of parameters are defined on top of this module ([`crate::curve`], [`crate::dscp`]).
//! [`crate::params`] checks values against declarations.

use crate::math;
use alloc::collections::BTreeMap;
use alloc::string::String;
use core::fmt;
use serde::{Deserialize, Serialize};

/// The unit of a number. Values reach Rust in the base unit named here.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unit {
    /// No unit.
    One,
    /// A probability or a fraction of one.
    Fraction,
    /// Packets.
    Packets,
    /// Bytes.
    Bytes,
    /// Seconds.
    Seconds,
    /// One over seconds.
    PerSecond,
    /// Bits a second.
    BitsPerSecond,
}

impl Unit {
    /// The name of the unit in the schema.
    pub fn name(self) -> &'static str {
        match self {
            Unit::One => "1",
            Unit::Fraction => "fraction",
            Unit::Packets => "packets",
            Unit::Bytes => "bytes",
            Unit::Seconds => "s",
            Unit::PerSecond => "1/s",
            Unit::BitsPerSecond => "bit/s",
        }
    }
}

/// A value given to a parameter.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Value {
    /// `true` or `false`.
    Flag(bool),
    /// A number in the parameter's base unit.
    Number(f64),
    /// One of several names.
    Choice(String),
    /// A policy with parameters of its own.
    Policy(PolicySpec),
    /// Numbers by name.
    Table(BTreeMap<String, f64>),
}

impl From<f64> for Value {
    fn from(number: f64) -> Value {
        Value::Number(number)
    }
}

impl From<bool> for Value {
    fn from(flag: bool) -> Value {
        Value::Flag(flag)
    }
}

impl From<&str> for Value {
    fn from(choice: &str) -> Value {
        Value::Choice(choice.into())
    }
}

/// Values by parameter name.
pub type ParamValues = BTreeMap<String, Value>;

/// A policy by name with its parameters.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PolicySpec {
    /// The name of an algorithm.
    pub name: String,
    /// The given parameters; all others have their defaults.
    #[serde(default)]
    pub params: ParamValues,
}

/// The kind of value that a parameter takes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Kind {
    /// A number in `unit` between `min` and `max`, both included.
    Number {
        /// Base unit.
        unit: Unit,
        /// Smallest value allowed.
        min: f64,
        /// Largest value allowed.
        max: f64,
    },
    /// `true` or `false`.
    Flag,
    /// One of these names.
    Choice(&'static [&'static str]),
    /// Another policy.
    Policy,
    /// A differentiated services code point.
    Dscp,
    /// Numbers in `unit` between `min` and `max`, both included, by code point.
    PerDscp {
        /// Base unit.
        unit: Unit,
        /// Smallest value allowed.
        min: f64,
        /// Largest value allowed.
        max: f64,
    },
    /// A marking curve.
    Curve,
}

/// The error that rejects a parameter value.
#[derive(Clone, Debug, PartialEq)]
pub struct ParamError {
    /// The parameter, as a dotted path from the policy.
    pub path: String,
    /// What was given and what was expected.
    pub message: String,
}

impl ParamError {
    /// An error at `path`.
    pub fn new(path: impl Into<String>, message: impl Into<String>) -> Self {
        Self { path: path.into(), message: message.into() }
    }

    /// The same error one level further out.
    pub fn within(mut self, outer: &str) -> Self {
        self.path = if self.path.is_empty() { outer.into() } else { format!("{outer}.{}", self.path) };
        self
    }
}

impl fmt::Display for ParamError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.path, self.message)
    }
}

impl core::error::Error for ParamError {}

/// Converts the value of a parameter that counts something.
///
/// # Errors
/// If it is not whole, or larger than a count can be.
pub fn whole(path: impl Into<String>, x: f64) -> Result<u32, ParamError> {
    if math::floor(x) == x && (0.0..=f64::from(u32::MAX)).contains(&x) {
        return Ok(x as u32);
    }
    Err(ParamError::new(path, format!("got {x}, expected a whole number up to {}", u32::MAX)))
}

/// A type that a parameter can have.
pub trait ParamType: Sized {
    /// Its kind, given the declared unit and range.
    fn kind(unit: Unit, min: f64, max: f64) -> Kind;
    /// From a value of the right kind.
    fn from_value(v: &Value) -> Option<Self>;
    /// To a value, for showing defaults.
    fn to_value(&self) -> Option<Value>;
}

impl ParamType for f64 {
    fn kind(unit: Unit, min: f64, max: f64) -> Kind {
        Kind::Number { unit, min, max }
    }
    fn from_value(v: &Value) -> Option<Self> {
        match v {
            Value::Number(x) => Some(*x),
            _ => None,
        }
    }
    fn to_value(&self) -> Option<Value> {
        Some(Value::Number(*self))
    }
}

impl ParamType for bool {
    fn kind(_: Unit, _: f64, _: f64) -> Kind {
        Kind::Flag
    }
    fn from_value(v: &Value) -> Option<Self> {
        match v {
            Value::Flag(x) => Some(*x),
            _ => None,
        }
    }
    fn to_value(&self) -> Option<Value> {
        Some(Value::Flag(*self))
    }
}

impl ParamType for PolicySpec {
    fn kind(_: Unit, _: f64, _: f64) -> Kind {
        Kind::Policy
    }
    fn from_value(v: &Value) -> Option<Self> {
        match v {
            Value::Policy(p) => Some(p.clone()),
            _ => None,
        }
    }
    fn to_value(&self) -> Option<Value> {
        Some(Value::Policy(self.clone()))
    }
}

/// `None` stands for a default that is computed from the environment.
impl<T: ParamType> ParamType for Option<T> {
    fn kind(unit: Unit, min: f64, max: f64) -> Kind {
        T::kind(unit, min, max)
    }
    fn from_value(v: &Value) -> Option<Self> {
        T::from_value(v).map(Some)
    }
    fn to_value(&self) -> Option<Value> {
        self.as_ref().and_then(T::to_value)
    }
}
