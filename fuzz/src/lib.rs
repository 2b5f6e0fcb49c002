//! Draws values from a fuzzer's bytes: anything that the declarations allow, with their bounds more often than by
//! chance.

pub mod plan;

use arbitrary::{Result, Unstructured};
use marqueue_core::params::{Kind, ParamSpec, ParamValues, PolicySpec, Value};
use marqueue_core::Ecn;

/// A whole number up to `max`, of any order of magnitude.
pub fn magnitude(u: &mut Unstructured<'_>, max: u64) -> Result<u64> {
    if u.ratio(1, 16)? {
        return Ok(max);
    }
    let bits = u.int_in_range(0..=64 - max.leading_zeros())?;
    let below = if bits == 64 { u64::MAX } else { (1 << bits) - 1 };
    u.int_in_range(0..=below.min(max))
}

/// One of `items`.
pub fn one_of<T: Copy>(u: &mut Unstructured<'_>, items: &[T]) -> Result<T> {
    u.choose(items).copied()
}

/// A number between two bounds, or one of them, on a linear or a logarithmic scale.
fn number(u: &mut Unstructured<'_>, min: f64, max: f64) -> Result<f64> {
    let share = f64::from(u.arbitrary::<u16>()?) / f64::from(u16::MAX);
    Ok(match u.int_in_range(0..=4)? {
        0 => min,
        1 => max,
        2 => min + (max - min) * share,
        _ => {
            let low = min.max(max * 1e-12);
            (low * (max / low).powf(share)).clamp(min, max)
        }
    })
}

/// Values for some of the declared parameters, with policies nested up to `depth` levels.
pub fn params(u: &mut Unstructured<'_>, specs: &[ParamSpec], depth: u32) -> Result<ParamValues> {
    let mut values = ParamValues::new();
    for spec in specs {
        if u.ratio(2, 3)? {
            continue;
        }
        let value = match spec.kind {
            Kind::Number { min, max, .. } => Value::Number(number(u, min, max)?),
            Kind::Flag => Value::Flag(u.arbitrary()?),
            Kind::Choice(names) => Value::Choice(one_of(u, names)?.into()),
            Kind::Dscp => Value::Choice(one_of(u, &["DF", "AF11", "46"])?.into()),
            Kind::PerDscp { min, max, .. } => {
                let mut table = std::collections::BTreeMap::new();
                for name in ["DF", "AF11", "46"] {
                    if u.arbitrary()? {
                        table.insert(name.to_string(), number(u, min, max)?);
                    }
                }
                Value::Table(table)
            }
            Kind::Curve => Value::Choice(one_of(u, &["red:2:10:0.2", "exp:10:0.2", "points:0,0;1,1"])?.into()),
            Kind::Policy if depth == 0 => continue,
            Kind::Policy => Value::Policy(policy(u, depth - 1)?),
        };
        values.insert(spec.name.into(), value);
    }
    Ok(values)
}

/// Any AQM with any parameters in their ranges.
pub fn policy(u: &mut Unstructured<'_>, depth: u32) -> Result<PolicySpec> {
    let catalogue = marqueue_aqm::catalogue();
    let entry = u.choose(&catalogue)?;
    Ok(PolicySpec { name: entry.name.into(), params: params(u, &entry.params, depth)? })
}

/// Any ECN field.
pub fn ecn(u: &mut Unstructured<'_>) -> Result<Ecn> {
    one_of(u, &[Ecn::NotEct, Ecn::Ect0, Ecn::Ect1, Ecn::Ce])
}

/// Any consistent settings of TCP.
pub fn config(u: &mut Unstructured<'_>) -> Result<marqueue_cc::Config> {
    use marqueue_core::params::ParamSet;
    let preset = one_of(u, &marqueue_cc::preset::PRESETS)?;
    let values = params(u, &marqueue_cc::config::Params::specs(), 0)?;
    marqueue_cc::Config::with_preset(preset, &values).map_err(|_| arbitrary::Error::IncorrectFormat)
}
