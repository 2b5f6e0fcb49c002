//! Weights of packets by their code point, in units of 2^-20.

use marqueue_core::PerDscp;

/// Weight 1.
pub const UNIT: u64 = 1 << 20;
/// Code points.
pub const CODE_POINTS: usize = 64;

/// The weight of each of the 64 code points; 1 for those that are not given.
pub fn rounded(given: &PerDscp) -> Vec<u64> {
    given.or(1.0).map(|weight| (weight * UNIT as f64).round() as u64).to_vec()
}

/// By name, as numbers, those that are not 1.
pub fn values(weights: &[u64]) -> impl Iterator<Item = (String, f64)> + '_ {
    let others = weights.iter().enumerate().filter(|(_, weight)| **weight != UNIT);
    others.map(|(dscp, weight)| (format!("weights.{dscp}"), *weight as f64 / UNIT as f64))
}

/// The weights from the words of a program; `None` if there are not 64.
pub fn from_words(words: &[u64]) -> Option<Vec<u64>> {
    (words.len() == CODE_POINTS).then(|| words.to_vec())
}
