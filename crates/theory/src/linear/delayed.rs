//! Linear systems with delays, y'(t) = A y(t) + sum of A_k y(t - d_k).

use crate::fluid::solver::System;
use crate::fluid::{Jacobian, Model};
use marqueue_core::math;
use nalgebra::{Complex, DMatrix};
use std::f64::consts::PI;

/// Degree of the polynomials: roots of modulus below about 3/d have 8 correct digits.
const DEGREE: usize = 12;

/// A linear system with delays.
#[derive(Clone, Debug)]
pub struct Delayed {
    /// A, 1/s.
    pub present: DMatrix<f64>,
    /// Each delay, s, above zero, with its matrix.
    pub delayed: Vec<(f64, DMatrix<f64>)>,
}

impl Delayed {
    /// The linearization of a model at rest in `y`, of the states that are not at a bound. With `constant_feedback` the
    /// loops are open.
    pub fn of(model: &Model, y: &[f64], constant_feedback: bool) -> Delayed {
        let Jacobian { lags, present, delayed, .. } = model.jacobian(0.0, y, constant_feedback);
        let free: Vec<usize> =
            (0..y.len()).filter(|&i| model.states()[i].lower < y[i] && y[i] < model.states()[i].upper).collect();
        let kept = |m: &Vec<Vec<f64>>| DMatrix::from_fn(free.len(), free.len(), |a, b| m[free[a]][free[b]]);
        let with_delays = lags.iter().zip(&delayed).map(|(&lag, m)| (lag, kept(m))).filter(|(_, m)| m.amax() > 0.0);
        Delayed { present: kept(&present), delayed: with_delays.collect() }
    }

    /// z I minus the system at z: its determinant is zero at roots.
    pub fn matrix(&self, z: Complex<f64>) -> DMatrix<Complex<f64>> {
        let n = self.present.nrows();
        let mut total = DMatrix::from_diagonal_element(n, n, z) - self.present.map(Complex::from);
        for (delay, m) in &self.delayed {
            let size = math::exp(-z.re * delay);
            let (sin, cos) = math::sin_cos(-z.im * delay);
            total -= m.map(Complex::from) * Complex::new(size * cos, size * sin);
        }
        total
    }

    /// The largest real part of a root, 1/s: below zero if the system is stable. The roots are eigenvalues of the
    /// infinitesimal generator, discretized by polynomials through Chebyshev points (Breda, Maset and Vermiglio, SIAM J.
    /// Sci. Comput. 27(2), 2005).
    pub fn rightmost(&self) -> f64 {
        let n = self.present.nrows();
        let longest = self.delayed.iter().map(|d| d.0).fold(0.0, f64::max);
        let points: Vec<f64> = (0..=DEGREE).map(|k| math::sin_cos(PI * k as f64 / DEGREE as f64).1).collect();
        let derivative = differentiation(&points);
        // Row 0 is the equation at time 0; the other rows are derivatives at earlier times.
        let mut generator = DMatrix::zeros(n * (DEGREE + 1), n * (DEGREE + 1));
        if longest == 0.0 {
            return largest_real(&self.present);
        }
        for (a, row) in derivative.iter().enumerate().skip(1) {
            for (b, entry) in row.iter().enumerate() {
                (0..n).for_each(|i| generator[(a * n + i, b * n + i)] = entry * 2.0 / longest);
            }
        }
        generator.view_mut((0, 0), (n, n)).copy_from(&self.present);
        for (delay, m) in &self.delayed {
            for (b, weight) in interpolation(&points, 1.0 - 2.0 * delay / longest).into_iter().enumerate() {
                let mut block = generator.view_mut((0, b * n), (n, n));
                block += m * weight;
            }
        }
        largest_real(&generator)
    }

    /// The moduli of the rates of the system: eigenvalues without delays, eigenvalues of the present part, inverse delays.
    pub fn rates(&self) -> Vec<f64> {
        let undelayed = self.delayed.iter().fold(self.present.clone(), |sum, (_, m)| sum + m);
        let eigenvalues = [undelayed, self.present.clone()].into_iter().flat_map(|m| {
            let found: Vec<f64> = m.complex_eigenvalues().iter().map(|z| math::hypot(z.re, z.im)).collect();
            found
        });
        eigenvalues.chain(self.delayed.iter().map(|(delay, _)| 1.0 / delay)).collect()
    }
}

fn largest_real(m: &DMatrix<f64>) -> f64 {
    m.complex_eigenvalues().iter().map(|z| z.re).fold(f64::NEG_INFINITY, f64::max)
}

/// The differentiation matrix of Chebyshev points (Trefethen, "Spectral methods in MATLAB", 2000, chapter 6).
fn differentiation(x: &[f64]) -> Vec<Vec<f64>> {
    let last = x.len() - 1;
    let double = |k: usize| if k == 0 || k == last { 2.0 } else { 1.0 };
    let sign = |k: usize| if k.is_multiple_of(2) { 1.0 } else { -1.0 };
    let c = |k: usize| double(k) * sign(k);
    let entry = |i: usize, j: usize| if i == j { 0.0 } else { c(i) / c(j) / (x[i] - x[j]) };
    (0..=last)
        .map(|i| {
            let mut row: Vec<f64> = (0..=last).map(|j| entry(i, j)).collect();
            row[i] = -row.iter().sum::<f64>();
            row
        })
        .collect()
}

/// The weights that interpolate values at Chebyshev points at `at` (barycentric formula).
fn interpolation(x: &[f64], at: f64) -> Vec<f64> {
    if let Some(hit) = x.iter().position(|&x| (at - x).abs() < 1e-14) {
        return (0..x.len()).map(|k| f64::from(u8::from(k == hit))).collect();
    }
    let last = x.len() - 1;
    let half = |k: usize| if k == 0 || k == last { 0.5 } else { 1.0 };
    let sign = |k: usize| if k.is_multiple_of(2) { 1.0 } else { -1.0 };
    let weight = |k: usize| half(k) * sign(k) / (at - x[k]);
    let sum: f64 = (0..=last).map(weight).sum();
    (0..=last).map(|k| weight(k) / sum).collect()
}
