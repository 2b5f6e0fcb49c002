//! The probability that a flow of window w is marked within a round trip, 1 - E[(1 - p_N(Q))^w] (Eun and Wang, (4)),
//! for all windows at once. The number of operations grows as the logarithm of the thresholds.
//!
//! The probability is the sum over n of P(Q = n) (1 - (1 - p_N(n))^w), split at the knots of the curve. The first HEAD
//! terms are added one by one. For larger n the law is geometric, P(Q = n) = c e^{-δn}, and the curve is smooth between
//! knots, so blocks of M terms are summed by Gauss rules of NODES nodes ([`super::gauss_quadrature`]). Beyond the last
//! knot every packet is marked, and the rest of the sum is P(Q >= end) in closed form.
//!
//! The error of a rule of K = NODES nodes is at most 2 M times the distance of the summand f from polynomials of degree
//! 2K - 1. That distance is at most 2 B R^{1-2K} / (R - 1), if f is analytic and bounded by B in the ellipse with foci
//! at the block's ends and semi-axes that sum to R/2 of its length (Trefethen, *Approximation Theory and Approximation
//! Practice*, Theorem 8.2). With R = 5.8 the ellipse reaches 0.993 M beyond the ends. A block is no longer than the
//! range before it, so c e^{-δn} stays below c. It ends before 1 - p falls by more than a half, and before
//! w (p(end) - p(begin)) / (1 - p(begin)) exceeds MAX_FALL for the largest w. Then |1 - p|^w stays below
//! e^{0.993 MAX_FALL}, and 1 - p has no zero in the ellipse. With K = 14 and MAX_FALL = 8 the error of each term is
//! below 4 × 2800 c × 5.8^-27 / 4.8 = 6·10^-18 c. c M is of order 1, so this is less than rounding.
//!
//! Exponents need not be whole numbers: a flow sends w/r packets in each of r slots.

use super::gauss_quadrature::{rule, Node};
use super::queue::{Stationary, HEAD};
use marqueue_core::curve::ScaledCurve;
use marqueue_core::math;

/// Nodes of a block.
const NODES: usize = 14;
/// Limit of w times the relative fall of 1 - p over a block.
const MAX_FALL: f64 = 8.0;
/// e^-CERTAIN counts as probability zero.
const CERTAIN: f64 = 40.0;

/// The queue lengths at which the curve is evaluated, once for all steps.
#[derive(Clone, Debug)]
pub struct QuadratureGrid {
    nodes: Vec<Node>,
    /// ln(1 - p) at the nodes.
    ln_unmarked: Vec<f64>,
    /// The queue length from which on every flow is marked.
    end: f64,
}

/// 1 - (1 - p)^e at the nodes of a grid for several exponents e.
#[derive(Clone, Debug)]
pub struct MarkTable {
    /// One row for each exponent.
    table: Vec<f64>,
    nodes: usize,
}

/// The law of the queue on a grid.
#[derive(Clone, Debug, Default)]
pub struct QueueWeights {
    /// The weight of each node: node weight times probability.
    nodes: Vec<f64>,
    /// The probability of queue lengths beyond the grid.
    beyond: f64,
}

impl QuadratureGrid {
    /// A grid for exponents from `min` to `max`.
    pub fn new(curve: &ScaledCurve, min: f64, max: f64) -> QuadratureGrid {
        let end = end(curve, min);
        let mut nodes: Vec<Node> = Vec::new();
        let mut from = 0.0;
        let pieces = curve.behind_knots().into_iter().chain([end]);
        for to in pieces {
            while from < to {
                let length = block_length(curve, from, to, max);
                nodes.extend(rule(from, length as u64, NODES));
                from += length;
            }
        }
        let ln_unmarked = nodes.iter().map(|&(x, _)| math::ln_1p(-curve.p(x))).collect();
        QuadratureGrid { nodes, ln_unmarked, end }
    }

    /// Writes the weights of a law to `into`.
    pub fn weigh(&self, law: &Stationary, into: &mut QueueWeights) {
        into.nodes.clear();
        into.nodes.extend(self.nodes.iter().map(|&(x, g)| g * law.probability(x)));
        into.beyond = law.tail(self.end);
    }

    /// The table for these exponents.
    pub fn mark_table(&self, exponents: impl Iterator<Item = f64>) -> MarkTable {
        let table = exponents.flat_map(|e| self.ln_unmarked.iter().map(move |ln| -math::exp_m1(e * ln))).collect();
        MarkTable { table, nodes: self.nodes.len() }
    }
}

impl MarkTable {
    /// Writes the probability for each exponent to `into`.
    pub fn probabilities(&self, weights: &QueueWeights, into: &mut [f64]) {
        for (row, p) in self.table.chunks_exact(self.nodes).zip(into) {
            *p = (dot(row, &weights.nodes) + weights.beyond).min(1.0);
        }
    }
}

/// A dot product with four partial sums, which the compiler vectorizes.
fn dot(a: &[f64], b: &[f64]) -> f64 {
    let mut sums = [0.0; 4];
    let (left, right) = (a.chunks_exact(4), b.chunks_exact(4));
    let rest: f64 = left.remainder().iter().zip(right.remainder()).map(|(x, y)| x * y).sum();
    for (x, y) in left.zip(right) {
        (0..4).for_each(|i| sums[i] += x[i] * y[i]);
    }
    sums.iter().sum::<f64>() + rest
}

/// The queue length from which on every flow is marked: the last knot, or where the probability of no mark is below
/// e^-CERTAIN even for the smallest exponent.
fn end(curve: &ScaledCurve, min: f64) -> f64 {
    if let Some(&last) = curve.behind_knots().last() {
        return last;
    }
    let is_certain = |n: f64| -min * math::ln_1p(-curve.p(n)) > CERTAIN;
    let mut n = 1.0;
    while !is_certain(n) {
        n *= 2.0;
    }
    n
}

/// The length of a block from `from`, at most up to `to`, for exponents up to `max`.
fn block_length(curve: &ScaledCurve, from: f64, to: f64, max: f64) -> f64 {
    if from < HEAD as f64 {
        // A rule for NODES terms or fewer adds them one by one.
        return (to - from).min(NODES as f64);
    }
    let unmarked = |n: f64| 1.0 - curve.p(n);
    let max_fall = (MAX_FALL / max).min(0.5);
    let mut length = (to - from).min(from);
    while length > NODES as f64 && 1.0 - unmarked(from + length - 1.0) / unmarked(from) > max_fall {
        length = (length / 2.0).floor();
    }
    length
}
