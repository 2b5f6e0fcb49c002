//! The gain of a loop with delays, L(s) = M_open(s)^-1 M_closed(s) - I, where the open system has the signals of links
//! constant. If they are one signal, det(I + L) - 1 is its loop gain.

use super::Delayed;
use marqueue_core::math;
use nalgebra::{Complex, ComplexField, DMatrix};
use std::f64::consts::{PI, TAU};

/// Number of frequencies, spaced logarithmically.
const POINTS: usize = 600;
/// Factors by which frequencies extend below the slowest and above the fastest rate of the system.
const BELOW: f64 = 1e-2;
const ABOVE: f64 = 30.0;
/// What is smaller than this is a rounding error of zero.
const NOTHING: f64 = 1e-9;
/// Bisections of a crossing.
const HALVINGS: usize = 50;

/// A closed feedback loop, and the same with its signals constant.
#[derive(Clone, Debug)]
pub struct Loop {
    /// The closed loop.
    pub closed: Delayed,
    /// The open loop.
    pub open: Delayed,
}

/// Distances of a stable loop from instability; infinite if no such change destabilizes it.
#[derive(Clone, Copy, Debug)]
pub struct Margins {
    /// Smallest factor above 1 by which the loop gain may grow.
    pub gain: f64,
    /// Smallest angle by which it may turn, in either direction, rad.
    pub phase: f64,
    /// Smallest additional delay that makes the loop unstable, s.
    pub delay: f64,
}

impl Loop {
    /// The number of independent signals.
    pub fn signals(&self) -> usize {
        let longest = self.closed.delayed.iter().map(|d| d.0).fold(1e-3, f64::max);
        self.gain_matrix(1.0 / longest).map_or(0, |l| {
            let scale = l.iter().map(|z| z.modulus()).fold(0.0, f64::max);
            l.rank(NOTHING * scale.max(f64::MIN_POSITIVE))
        })
    }

    /// The loop gain at `w` rad/s, for one signal.
    pub fn at(&self, w: f64) -> Complex<f64> {
        let n = self.open.present.nrows();
        let one = DMatrix::identity(n, n);
        self.gain_matrix(w).map_or(Complex::new(f64::NAN, f64::NAN), |l| (one + l).determinant() - Complex::from(1.0))
    }

    fn gain_matrix(&self, w: f64) -> Option<DMatrix<Complex<f64>>> {
        let s = Complex::new(0.0, w);
        let open = self.open.matrix(s);
        let difference = self.closed.matrix(s) - &open;
        open.lu().solve(&difference)
    }

    /// Frequencies from well below the slowest to well above the fastest rate of the system, rad/s.
    pub fn frequencies(&self) -> Vec<f64> {
        let rates = self.closed.rates();
        let fastest = rates.iter().copied().fold(0.0, f64::max);
        let slowest = rates.iter().copied().filter(|&r| r > NOTHING * fastest).fold(fastest, f64::min);
        let (low, high) = (math::ln(BELOW * slowest), math::ln(ABOVE * fastest));
        (0..POINTS).map(|i| math::exp(low + (high - low) * i as f64 / (POINTS - 1) as f64)).collect()
    }

    /// The margins of a stable loop with one signal; `locus` is its gain at the frequencies `w`.
    pub fn margins(&self, w: &[f64], locus: &[Complex<f64>]) -> Margins {
        let mut margins = Margins { gain: f64::INFINITY, phase: f64::INFINITY, delay: f64::INFINITY };
        for (cross, value) in self.crossings(w, locus, |z| z.norm_sqr() - 1.0) {
            // A delay turns clockwise, to -pi.
            let clockwise = (math::atan2(value.im, value.re) + PI).rem_euclid(TAU);
            margins.phase = margins.phase.min(clockwise.min(TAU - clockwise));
            margins.delay = margins.delay.min(clockwise / cross);
        }
        for (_, value) in self.crossings(w, locus, |z| z.im) {
            let size = value.re.abs();
            if value.re < 0.0 && NOTHING < size && size < 1.0 {
                margins.gain = margins.gain.min(1.0 / size);
            }
        }
        margins
    }

    /// The frequencies at which a function of the gain is zero, with the gain there.
    fn crossings(
        &self,
        w: &[f64],
        locus: &[Complex<f64>],
        of: impl Fn(Complex<f64>) -> f64,
    ) -> Vec<(f64, Complex<f64>)> {
        let changes = (1..w.len()).filter(|&i| of(locus[i - 1]) * of(locus[i]) < 0.0);
        changes
            .map(|i| {
                let (mut low, mut high, sign) = (w[i - 1], w[i], of(locus[i - 1]).signum());
                for _ in 0..HALVINGS {
                    let middle = 0.5 * (low + high);
                    if of(self.at(middle)).signum() == sign {
                        low = middle;
                    } else {
                        high = middle;
                    }
                }
                (low, self.at(low))
            })
            .collect()
    }
}
