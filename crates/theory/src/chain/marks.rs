//! The probability that a flow of window w is marked within a round trip, 1 - E[(1 - p_N(Q))^w] (Eun and Wang,
//! (4)), for all windows at once, in a number of operations that grows as the logarithm of the thresholds.
//!
//! The sum over n of P(Q = n) (1 - (1 - p_N(n))^w) is cut where the curve has a knot. The first HEAD terms are added
//! one by one. The rest is geometric, P(Q = n) = c e^{-δn}, and the curve is smooth there, so that blocks of M numbers
//! are summed by Gauss rules of K nodes ([`super::gauss_quadrature`]). Beyond the last knot every packet is marked,
//! which leaves P(Q >= end), in closed form.
//!
//! The error. A rule of K nodes leaves of f at most 2 M times the distance of f to polynomials of degree
//! 2K - 1, which is 2 B R^{1-2K} / (R - 1) if f is analytic and bounded by B in the ellipse with foci at the
//! block's ends and semi-axes that sum to R/2 of its length (Trefethen, *Approximation Theory and Approximation
//! Practice*, Theorem 8.2). With R = 5.8 the ellipse reaches 0.993 M beyond the ends. A block is no longer than
//! what lies before it, so that c e^{-δn} stays below c, and is cut where 1 - p would fall by more than a
//! half, or w (p(end) - p(begin)) / (1 - p(begin)) exceed DROP for the largest w: |1 - p|^w then stays below
//! e^{0.993 DROP} and 1 - p has no zero there. With K = 14 and DROP = 8 that is 4 × 2800 c × 5.8^-27 / 4.8
//! = 6·10^-18 c a number, and c M is of order 1: less than rounding.
//!
//! Exponents need not be whole: a flow sends w/r packets in each of r slots.

use super::gauss_quadrature::{rule, Node};
use super::queue::{Stationary, HEAD};
use marqueue_core::curve::ScaledCurve;

/// Nodes in a block.
const K: usize = 14;
/// What w times the relative fall of 1 - p may be in a block.
const DROP: f64 = 8.0;
/// e^-SURE is no probability.
const SURE: f64 = 40.0;

/// Where the curve is evaluated, once for all steps.
#[derive(Clone, Debug)]
pub struct Grid {
    nodes: Vec<Node>,
    /// ln(1 - p) at the nodes.
    pass: Vec<f64>,
    /// From this length on each flow is marked.
    end: f64,
}

/// 1 - (1 - p)^e at the nodes of a grid, for some exponents.
#[derive(Clone, Debug)]
pub struct Marks {
    /// A row an exponent.
    table: Vec<f64>,
    nodes: usize,
}

/// The law of the queue at the nodes of a grid.
#[derive(Clone, Debug, Default)]
pub struct Weights {
    at: Vec<f64>,
    beyond: f64,
}

impl Grid {
    /// For exponents from `least` to `most`.
    pub fn new(curve: &ScaledCurve, least: f64, most: f64) -> Grid {
        let end = end(curve, least);
        let mut nodes: Vec<Node> = Vec::new();
        let mut from = 0.0;
        let pieces = curve.behind_knots().into_iter().chain([end]);
        for to in pieces {
            while from < to {
                let length = block(curve, from, to, most);
                nodes.extend(rule(from, length as u64, K));
                from += length;
            }
        }
        let pass = nodes.iter().map(|&(x, _)| (-curve.p(x)).ln_1p()).collect();
        Grid { nodes, pass, end }
    }

    /// The law at the nodes.
    pub fn weigh(&self, law: &Stationary, into: &mut Weights) {
        into.at.clear();
        into.at.extend(self.nodes.iter().map(|&(x, g)| g * law.probability(x)));
        into.beyond = law.tail(self.end);
    }

    /// The table for these exponents.
    pub fn marks(&self, exponents: impl Iterator<Item = f64>) -> Marks {
        let table = exponents.flat_map(|e| self.pass.iter().map(move |pass| -(e * pass).exp_m1())).collect();
        Marks { table, nodes: self.nodes.len() }
    }
}

impl Marks {
    /// The probability for each exponent, into `into`.
    pub fn probabilities(&self, weights: &Weights, into: &mut [f64]) {
        for (row, p) in self.table.chunks_exact(self.nodes).zip(into) {
            *p = (dot(row, &weights.at) + weights.beyond).min(1.0);
        }
    }
}

/// Four sums side by side, which a processor adds together.
fn dot(a: &[f64], b: &[f64]) -> f64 {
    let mut sums = [0.0; 4];
    let (left, right) = (a.chunks_exact(4), b.chunks_exact(4));
    let rest: f64 = left.remainder().iter().zip(right.remainder()).map(|(x, y)| x * y).sum();
    for (x, y) in left.zip(right) {
        (0..4).for_each(|i| sums[i] += x[i] * y[i]);
    }
    sums.iter().sum::<f64>() + rest
}

/// From where on each flow is marked: behind the last knot, or where a smooth curve comes that near to 1.
fn end(curve: &ScaledCurve, least: f64) -> f64 {
    if let Some(&last) = curve.behind_knots().last() {
        return last;
    }
    let sure = |n: f64| -least * (-curve.p(n)).ln_1p() > SURE;
    let mut n = 1.0;
    while !sure(n) {
        n *= 2.0;
    }
    n
}

/// How many numbers from `from` on, before `to`, a rule may sum.
fn block(curve: &ScaledCurve, from: f64, to: f64, most: f64) -> f64 {
    if from < HEAD as f64 {
        // One by one: a rule of that many nodes is the numbers.
        return (to - from).min(K as f64);
    }
    let pass = |n: f64| 1.0 - curve.p(n);
    let fall = (DROP / most).min(0.5);
    let mut length = (to - from).min(from);
    while length > K as f64 && 1.0 - pass(from + length - 1.0) / pass(from) > fall {
        length = (length / 2.0).floor();
    }
    length
}
