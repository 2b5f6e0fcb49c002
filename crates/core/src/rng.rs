//! Random streams, one per component, keyed by the component's path. Adding a component does not change the draws of
//! others.

use crate::math;
use rand_core::{RngCore, SeedableRng};
use rand_xoshiro::{SplitMix64, Xoshiro256PlusPlus};

/// A random stream (xoshiro256++; Blackman and Vigna 2021).
#[derive(Clone, Debug)]
pub struct Rng(Xoshiro256PlusPlus);

impl Rng {
    /// The stream of the component at `path` in the run with this `seed`.
    pub fn named(seed: u64, path: &str) -> Rng {
        // FNV-1a of the path, mixed with the seed by SplitMix64: stable across versions and machines.
        let mut h: u64 = 0xcbf2_9ce4_8422_2325;
        for b in path.bytes() {
            h = (h ^ u64::from(b)).wrapping_mul(0x0000_0100_0000_01b3);
        }
        let mixed = SplitMix64::seed_from_u64(seed).next_u64() ^ h;
        Rng(Xoshiro256PlusPlus::seed_from_u64(mixed))
    }

    /// The stream of a part of this component. This stream does not advance.
    pub fn child(&self, name: &str) -> Rng {
        Rng::named(self.0.clone().next_u64(), name)
    }

    /// Sixty-four random bits.
    pub fn bits(&mut self) -> u64 {
        self.0.next_u64()
    }

    /// Uniform on [0, 1).
    pub fn uniform(&mut self) -> f64 {
        (self.0.next_u64() >> 11) as f64 * (1.0 / (1u64 << 53) as f64)
    }

    /// Exponential with the given mean.
    pub fn exponential(&mut self, mean: f64) -> f64 {
        -mean * math::ln(1.0 - self.uniform())
    }

    /// Normal with mean 0 and variance 1, by Marsaglia's polar method.
    pub fn normal(&mut self) -> f64 {
        loop {
            let (x, y) = (2.0 * self.uniform() - 1.0, 2.0 * self.uniform() - 1.0);
            let square = x * x + y * y;
            if square > 0.0 && square < 1.0 {
                return x * math::sqrt(-2.0 * math::ln(square) / square);
            }
        }
    }

    /// Uniform on 0..n.
    ///
    /// # Panics
    /// If `n` is zero.
    pub fn below(&mut self, n: u32) -> u32 {
        assert!(n > 0, "a draw from nothing");
        // Lemire 2019: multiply and reject, so every value is equally likely.
        loop {
            let m = (self.0.next_u64() >> 32) * u64::from(n);
            if (m as u32) >= n || (m as u32) >= n.wrapping_neg() % n {
                return (m >> 32) as u32;
            }
        }
    }
}

/// For distributions of other crates.
impl RngCore for Rng {
    fn next_u32(&mut self) -> u32 {
        self.0.next_u32()
    }
    fn next_u64(&mut self) -> u64 {
        self.0.next_u64()
    }
    fn fill_bytes(&mut self, into: &mut [u8]) {
        self.0.fill_bytes(into);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn streams_differ_by_name_and_by_seed_and_repeat() {
        let draw = |seed, name: &str| Rng::named(seed, name).uniform();
        assert_eq!(draw(1, "a"), draw(1, "a"));
        assert_ne!(draw(1, "a"), draw(1, "b"));
        assert_ne!(draw(1, "a"), draw(2, "a"));
    }

    #[test]
    fn child_streams_are_independent_of_their_parents() {
        let (mut alone, mut parent) = (Rng::named(1, "a"), Rng::named(1, "a"));
        let mut child = parent.child("inner");
        assert_ne!(child.uniform(), parent.child("other").uniform());
        let (first, second) = (alone.uniform(), parent.uniform());
        assert_eq!(first, second);
        assert_ne!(child.uniform(), alone.uniform());
    }

    #[test]
    fn exponential_has_its_mean() {
        let mut r = Rng::named(1, "exp");
        let n = 200_000;
        let mean = (0..n).map(|_| r.exponential(2.0)).sum::<f64>() / f64::from(n);
        // Standard error 2/sqrt(n) = 0.0045; five of them are allowed.
        assert!((mean - 2.0).abs() < 0.0225, "{mean}");
    }

    #[test]
    fn below_is_uniform() {
        let mut r = Rng::named(1, "below");
        let mut counts = [0u32; 7];
        for _ in 0..70_000 {
            counts[r.below(7) as usize] += 1;
        }
        // Chi-square with 6 degrees of freedom: 0.1% point 22.46.
        let chi: f64 = counts.iter().map(|&c| (f64::from(c) - 1e4).powi(2) / 1e4).sum();
        assert!(chi < 22.46, "{chi}");
    }
}
