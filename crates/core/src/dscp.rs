//! Differentiated services code points (DSCP, RFC 2474), and tables from code points to numbers.

use crate::param_value::{whole, Kind, ParamError, ParamType, Unit, Value};
use alloc::collections::BTreeMap;
use alloc::string::{String, ToString};
use core::fmt;

/// A code point.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Dscp(u8);

/// Number of code points.
const CODE_POINTS: usize = 64;

/// The names that code points have: default and class selectors (RFC 2474), assured forwarding
/// (RFC 2597), expedited forwarding (RFC 3246), voice admit (RFC 5865), lower effort (RFC 8622).
const NAMES: [(&str, u8); 24] = [
    ("DF", 0),
    ("LE", 1),
    ("CS0", 0),
    ("CS1", 8),
    ("CS2", 16),
    ("CS3", 24),
    ("CS4", 32),
    ("CS5", 40),
    ("CS6", 48),
    ("CS7", 56),
    ("AF11", 10),
    ("AF12", 12),
    ("AF13", 14),
    ("AF21", 18),
    ("AF22", 20),
    ("AF23", 22),
    ("AF31", 26),
    ("AF32", 28),
    ("AF33", 30),
    ("AF41", 34),
    ("AF42", 36),
    ("AF43", 38),
    ("VA", 44),
    ("EF", 46),
];

impl Dscp {
    /// The accepted forms, for error messages.
    pub const EXPECTED: &'static str = "a DSCP: DF, LE, EF, VA, CS0 to CS7, AF11 to AF43, or 0 to 63";

    /// The names that code points have, with their values.
    pub fn names() -> &'static [(&'static str, u8)] {
        &NAMES
    }

    /// Parses a name or a number.
    pub fn parse(text: &str) -> Option<Dscp> {
        let named = NAMES.iter().find(|(name, _)| *name == text).map(|&(_, value)| value);
        named.or_else(|| text.parse().ok().filter(|&v| usize::from(v) < CODE_POINTS)).map(Dscp)
    }

    /// From the six bits; higher ones are ignored.
    pub fn from_bits(bits: u8) -> Dscp {
        Dscp(bits % CODE_POINTS as u8)
    }

    /// The six bits.
    pub fn value(self) -> u8 {
        self.0
    }
}

impl fmt::Display for Dscp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match NAMES.iter().find(|(_, value)| *value == self.0) {
            Some((name, _)) => f.write_str(name),
            None => self.0.fmt(f),
        }
    }
}

impl ParamType for Dscp {
    fn kind(_: Unit, _: f64, _: f64) -> Kind {
        Kind::Dscp
    }
    fn from_value(v: &Value) -> Option<Self> {
        match v {
            Value::Choice(name) => Dscp::parse(name),
            _ => None,
        }
    }
    fn to_value(&self) -> Option<Value> {
        Some(Value::Choice(self.to_string()))
    }
}

/// Numbers by code point; a code point may have none.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct PerDscp {
    values: BTreeMap<u8, f64>,
    /// The table as given, for display.
    given: BTreeMap<String, f64>,
}

impl PerDscp {
    /// Is the table empty?
    pub fn is_empty(&self) -> bool {
        self.values.is_empty()
    }

    /// The number of a code point, if it has one.
    pub fn get(&self, dscp: Dscp) -> Option<f64> {
        self.values.get(&dscp.0).copied()
    }

    /// Checks that all numbers are whole. `path` is that of the parameter.
    ///
    /// # Errors
    /// Names the first that is not whole.
    pub fn check_whole(&self, path: &str) -> Result<(), ParamError> {
        self.given.iter().try_for_each(|(name, &x)| whole(format!("{path}.{name}"), x).map(drop))
    }

    /// The number of each code point, or `other` if it has none.
    pub fn or(&self, other: f64) -> [f64; CODE_POINTS] {
        let mut all = [other; CODE_POINTS];
        for (&code_point, &value) in &self.values {
            all[usize::from(code_point)] = value;
        }
        all
    }
}

impl ParamType for PerDscp {
    fn kind(unit: Unit, min: f64, max: f64) -> Kind {
        Kind::PerDscp { unit, min, max }
    }
    fn from_value(v: &Value) -> Option<Self> {
        let Value::Table(given) = v else { return None };
        let mut values = BTreeMap::new();
        for (name, &value) in given {
            values.insert(Dscp::parse(name)?.0, value);
        }
        Some(PerDscp { values, given: given.clone() })
    }
    fn to_value(&self) -> Option<Value> {
        Some(Value::Table(self.given.clone()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_and_numbers_denote_the_same_code_points() {
        let value = |text: &str| Dscp::parse(text).map(Dscp::value);
        assert_eq!((value("DF"), value("CS0"), value("0")), (Some(0), Some(0), Some(0)));
        assert_eq!((value("AF43"), value("EF"), value("63")), (Some(38), Some(46), Some(63)));
        assert_eq!((value("64"), value("AF14"), value("-1"), value("")), (None, None, None, None));
        // RFC 2597: class c, drop precedence d is 8 c + 2 d.
        for (c, d) in [(1, 1), (2, 3), (4, 2)] {
            assert_eq!(value(&format!("AF{c}{d}")), Some(8 * c + 2 * d));
        }
        for (name, _) in NAMES {
            let dscp = Dscp::parse(name).unwrap();
            assert_eq!(Dscp::parse(&dscp.to_string()), Some(dscp));
        }
    }

    #[test]
    fn a_table_returns_the_given_numbers() {
        let given: BTreeMap<_, _> = [("AF11".to_string(), 2.0), ("46".to_string(), 3.5)].into();
        let table = PerDscp::from_value(&Value::Table(given)).unwrap();
        let of = |text| table.get(Dscp::parse(text).unwrap());
        assert_eq!((of("AF11"), of("EF"), of("DF")), (Some(2.0), Some(3.5), None));
        assert_eq!(table.or(1.0)[usize::from(Dscp::parse("DF").unwrap().value())], 1.0);
        assert_eq!(table.or(1.0)[46], 3.5);
    }
}
