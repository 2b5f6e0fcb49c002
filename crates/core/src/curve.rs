//! Marking curves: the marking probability as a function of the queue length, and their scaling with the number of
//! flows.
//!
//! Eun and Wang, "Achieving 100% Throughput in TCP/AQM Under Aggressive Packet Marking With Small Buffer",
//! IEEE/ACM ToN 16(4), 2008, section II-B, Figure 1 and Table I.

use crate::math;
use crate::param_value::{Kind, ParamType, Unit, Value};
use alloc::{
    string::{String, ToString},
    vec::Vec,
};
use core::fmt;

/// The marking probability as a function of the queue length: nondecreasing, 0 at 0, 1 at infinity.
///
/// The text has one of three forms:
/// - `red:MIN:MAX:P` is linear from 0 at MIN to P at MAX, and 1 beyond (Figure 1(a));
/// - `exp:AT:P` is 1 - exp(-x / eta) with eta = -AT / ln(1 - P), so that it is P at AT (Figure 1(b));
/// - `points:X,P;X,P;...` is linear between these points, 0 before the first and 1 beyond the last; at an X with
///   several points, the first one is the value.
#[derive(Clone, Debug, PartialEq)]
pub struct MarkingCurve(Form);

#[derive(Clone, Debug, PartialEq)]
enum Form {
    Red { min: f64, max: f64, p: f64 },
    Exp { at: f64, p: f64 },
    Points(Vec<(f64, f64)>),
}

impl MarkingCurve {
    /// The accepted forms, for error messages.
    pub const EXPECTED: &'static str = "a marking curve: \"red:MIN:MAX:P\", \"exp:AT:P\" or \"points:X,P;X,P;...\"";

    /// Parses a curve.
    ///
    /// # Errors
    /// States what was expected.
    pub fn parse(text: &str) -> Result<Self, String> {
        let (name, rest) = text.split_once(':').ok_or(Self::EXPECTED)?;
        let form = match (name, numbers(rest, ':').as_deref()) {
            ("red", Some(&[min, max, p])) if 0.0 <= min && min < max && (0.0..=1.0).contains(&p) => {
                Form::Red { min, max, p }
            }
            ("red", Some(&[..])) => return Err("\"red:MIN:MAX:P\" with 0 <= MIN < MAX and 0 <= P <= 1".into()),
            ("exp", Some(&[at, p])) if 0.0 < at && 0.0 < p && p < 1.0 => Form::Exp { at, p },
            ("exp", Some(&[..])) => return Err("\"exp:AT:P\" with 0 < AT and 0 < P < 1".into()),
            ("points", _) => Form::Points(points(rest)?),
            _ => return Err(Self::EXPECTED.into()),
        };
        Ok(MarkingCurve(form))
    }

    /// The probability at a queue of `x` packets.
    #[inline]
    pub fn p(&self, x: f64) -> f64 {
        match &self.0 {
            Form::Red { min, max, p } => interpolate(&[(*min, 0.0), (*max, *p)], x),
            Form::Exp { at, p } => -math::exp_m1(x / at * math::ln_1p(-p)),
            Form::Points(points) => interpolate(points, x),
        }
    }

    /// The queue lengths at which the curve may have a corner or a jump, in order. It is smooth between them and 1
    /// beyond the last. Empty if it is smooth everywhere and only approaches 1.
    pub fn knots(&self) -> Vec<f64> {
        match &self.0 {
            Form::Red { min, max, .. } => vec![*min, *max],
            Form::Exp { .. } => vec![],
            Form::Points(points) => points.iter().map(|&(x, _)| x).collect(),
        }
    }
}

/// Parses finite numbers separated by `mark`.
fn numbers(text: &str, mark: char) -> Option<Vec<f64>> {
    text.split(mark).map(|part| part.parse().ok().filter(|x: &f64| x.is_finite())).collect()
}

fn points(text: &str) -> Result<Vec<(f64, f64)>, String> {
    let point = |part: &str| match numbers(part, ',').as_deref() {
        Some(&[x, p]) if x >= 0.0 && (0.0..=1.0).contains(&p) => Ok((x, p)),
        _ => Err(format!("points \"X,P\" with 0 <= X and 0 <= P <= 1, separated by semicolons, not \"{part}\"")),
    };
    let points: Vec<_> = text.split(';').map(point).collect::<Result<_, _>>()?;
    if let Some(w) = points.windows(2).find(|w| w[1].0 < w[0].0 || w[1].1 < w[0].1) {
        let [(x, p), (y, r)] = [w[0], w[1]];
        return Err(format!("points in the order of X with P that does not fall, not \"{x},{p};{y},{r}\""));
    }
    if points[0].0 == 0.0 && points[0].1 > 0.0 {
        return Err(format!("a probability of 0 at 0, not \"0,{}\"", points[0].1));
    }
    Ok(points)
}

/// Interpolates linearly between points; 0 before the first, 1 beyond the last.
#[inline]
fn interpolate(points: &[(f64, f64)], x: f64) -> f64 {
    let Some(next) = points.iter().position(|&(at, _)| x <= at) else { return 1.0 };
    let (to, high) = points[next];
    if x == to {
        return high;
    }
    let Some(before) = next.checked_sub(1) else { return 0.0 };
    let (from, low) = points[before];
    low + (high - low) * (x - from) / (to - from)
}

impl fmt::Display for MarkingCurve {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.0 {
            Form::Red { min, max, p } => write!(f, "red:{min}:{max}:{p}"),
            Form::Exp { at, p } => write!(f, "exp:{at}:{p}"),
            Form::Points(points) => {
                let points: Vec<_> = points.iter().map(|(x, p)| format!("{x},{p}")).collect();
                write!(f, "points:{}", points.join(";"))
            }
        }
    }
}

impl ParamType for MarkingCurve {
    fn kind(_: Unit, _: f64, _: f64) -> Kind {
        Kind::Curve
    }
    fn from_value(v: &Value) -> Option<Self> {
        match v {
            Value::Choice(s) => Self::parse(s).ok(),
            _ => None,
        }
    }
    fn to_value(&self) -> Option<Value> {
        Some(Value::Choice(self.to_string()))
    }
}

/// A marking curve scaled for N flows: p_N(N^a x) = p(x), with a buffer of q N^b packets.
#[derive(Clone, Debug, PartialEq)]
pub struct ScaledCurve {
    curve: MarkingCurve,
    a: f64,
    b: f64,
    /// N^a.
    factor: f64,
    buffer: f64,
}

impl ScaledCurve {
    /// `curve` and `buffer` (q, packets) are those of one flow.
    pub fn new(curve: MarkingCurve, flows: f64, a: f64, b: f64, buffer: f64) -> ScaledCurve {
        ScaledCurve { curve, a, b, factor: math::powf(flows, a), buffer: buffer * math::powf(flows, b) }
    }

    /// The probability at a queue of `queue` packets.
    #[inline]
    pub fn p(&self, queue: f64) -> f64 {
        self.curve.p(queue / self.factor)
    }

    /// The first whole number of packets behind each knot ([`MarkingCurve::knots`]), rounded as [`ScaledCurve::p`]
    /// rounds.
    pub fn behind_knots(&self) -> Vec<f64> {
        let behind = |x: f64| {
            let near = math::floor(x * self.factor);
            [near, near + 1.0].into_iter().find(|n| n / self.factor > x).unwrap_or(near + 2.0)
        };
        self.curve.knots().into_iter().map(behind).collect()
    }

    /// The buffer, packets: the whole number next to q N^b, at least 1.
    pub fn buffer(&self) -> u32 {
        math::round(self.buffer).clamp(1.0, f64::from(u32::MAX)) as u32
    }

    /// A warning about exponents outside the range of the theorems.
    pub fn warning(&self) -> Option<String> {
        let ScaledCurve { a, b, .. } = self;
        let inside = 0.0 < *a && a < b && *b < 0.5;
        (!inside).then(|| {
            format!(
                "a = {a} and b = {b}: that utilization goes to 1 and loss to 0 with the number of flows is \
                 shown for 0 < a < b < 1/2 (Eun and Wang 2008, Theorems 1 and 2)"
            )
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn p(text: &str, x: f64) -> f64 {
        MarkingCurve::parse(text).unwrap().p(x)
    }

    #[test]
    fn each_form_equals_its_formula() {
        assert_eq!([0.0, 2.0, 6.0, 10.0, 10.1].map(|x| p("red:2:10:0.2", x)), [0.0, 0.0, 0.1, 0.2, 1.0]);
        let eta = -10.0 / 0.8f64.ln();
        for x in [0.0, 1.0, 10.0, 300.0] {
            assert!((p("exp:10:0.2", x) - (1.0 - (-x / eta).exp())).abs() < 1e-15);
        }
        assert!((p("exp:10:0.2", 10.0) - 0.2).abs() < 1e-15);
        // 0 before the first point, the value at each, linear between, a jump after (10, 0.5), 1 beyond.
        let jumps = "points:4,0.25;10,0.5;10,0.75;14,0.875";
        assert_eq!(
            [3.9, 4.0, 7.0, 10.0, 12.0, 14.0, 15.0].map(|x| p(jumps, x)),
            [0.0, 0.25, 0.375, 0.5, 0.8125, 0.875, 1.0]
        );
        for x in 0..50 {
            assert_eq!(p("points:0,0;2,0;10,0.2", f64::from(x)), p("red:2:10:0.2", f64::from(x)));
        }
    }

    #[test]
    fn text_is_read_back() {
        for text in ["red:2:10:0.2", "exp:10:0.2", "points:0,0;2,0;10,0.2"] {
            assert_eq!(MarkingCurve::parse(text).unwrap().to_string(), text);
        }
    }

    #[test]
    fn invalid_curves_are_refused() {
        let refused = |text: &str| MarkingCurve::parse(text).unwrap_err();
        for text in ["", "red", "blue:1:2", "red:a:b:c", "exp:1:nan"] {
            assert_eq!(refused(text), MarkingCurve::EXPECTED, "{text}");
        }
        assert!(refused("red:10:2:0.2").contains("MIN < MAX"));
        assert!(refused("red:2:10").contains("red:MIN:MAX:P"));
        assert!(refused("exp:10:1").contains("P < 1"));
        assert!(refused("points:").contains("not \"\""));
        assert!(refused("points:0,0;5,2").contains("not \"5,2\""));
        assert!(refused("points:5,0;3,1").contains("not \"5,0;3,1\""));
        assert!(refused("points:3,0.5;5,0.1").contains("not \"3,0.5;5,0.1\""));
        assert!(refused("points:0,0.5").contains("0 at 0"));
    }

    #[test]
    fn scaled_curves_scale_the_queue_length() {
        // 1024^0.2 = 4 and 1024^0.3 = 8.
        let scale = |text: &str| ScaledCurve::new(MarkingCurve::parse(text).unwrap(), 1024.0, 0.2, 0.3, 12.0);
        for text in ["red:2:10:0.2", "exp:10:0.2", "points:1,0;2,0.5"] {
            for q in 0..60 {
                let (q, of) = (f64::from(q), scale(text));
                assert!((of.p(4.0 * q + 1.0) - p(text, q + 0.25)).abs() < 1e-12);
            }
        }
        assert_eq!(scale("exp:10:0.2").buffer(), 96);
        assert_eq!(scale("red:2:10.1:0.2").behind_knots(), [9.0, 41.0]);
    }

    #[test]
    fn exponents_outside_the_theorems_give_a_warning() {
        let warning = |a, b| ScaledCurve::new(MarkingCurve::parse("exp:10:0.2").unwrap(), 100.0, a, b, 12.0).warning();
        assert_eq!(warning(0.2, 0.3), None);
        for (a, b) in [(0.0, 0.3), (0.3, 0.3), (0.4, 0.3), (0.2, 0.5), (1.0, 1.0)] {
            assert!(warning(a, b).unwrap().contains("0 < a < b < 1/2"));
        }
    }
}
