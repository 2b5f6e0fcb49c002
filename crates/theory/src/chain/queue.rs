//! The stationary queue length of M/M/1 and M/D/1 at load ρ < 1, as Poisson arrivals see it.
//!
//! Both laws are given by their first [`HEAD`] probabilities and a geometric rest, P(Q = n) = c e^{-δn}.
//! For M/M/1 that is the law itself. For M/D/1 it is a truncation: the generating function
//! (1-ρ)(1-z) / (1 - z e^{ρ(1-z)}) has one real pole z_0 = e^δ, and all others are complex and far out, the
//! nearest at |z_1| with |z_1| / z_0 from 2.9 at ρ = 0.2 to 8 at ρ = 1 (and z_0 > 14 below ρ = 0.2), so that what is
//! left out of P(Q = n) beyond the head is less than 10^-14 of all packets (tests/chain_queue.rs looks).

use std::f64::consts::LN_2;

/// How many probabilities are kept one by one.
pub const HEAD: usize = 32;

/// How long a packet takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Queue {
    /// Exponentially distributed.
    Mm1,
    /// The same for all.
    Md1,
}

/// A stationary law.
#[derive(Clone, Debug)]
pub struct Stationary {
    /// P(Q = n) for n < HEAD.
    head: [f64; HEAD],
    /// δ: P(Q = n+1) = e^{-δ} P(Q = n) from HEAD - 1 on.
    decay: f64,
}

impl Queue {
    /// The law at load ρ.
    ///
    /// # Panics
    /// Unless 0 <= ρ < 1: at other loads there is none.
    pub fn stationary(self, rho: f64) -> Stationary {
        assert!((0.0..1.0).contains(&rho), "no stationary queue at a load of {rho}");
        match self {
            Queue::Mm1 => {
                let head = std::array::from_fn(|n| (1.0 - rho) * rho.powi(n as i32));
                // No packet at all: nothing decays.
                Stationary { head, decay: -rho.max(f64::MIN_POSITIVE).ln() }
            }
            Queue::Md1 => {
                let mut head = embedded(rho);
                head.iter_mut().for_each(|p| *p *= 1.0 - rho);
                Stationary { head, decay: lundberg(rho) }
            }
        }
    }

    /// The share of packets that find the buffer of a queue in equilibrium full; `buffer` counts the packet
    /// in service. Any load: with so many places there always is an equilibrium.
    ///
    /// M/M/1/B: (1-ρ) ρ^B / (1 - ρ^{B+1}). M/D/1/B: 1 - 1 / (π_0 + ρ), where π is the law without a limit, cut off
    /// before B and normalised (Cohen, *The Single Server Queue*, 1982, III.6).
    pub fn loss(self, rho: f64, buffer: u32) -> f64 {
        let b = f64::from(buffer);
        match self {
            _ if rho == 0.0 => 0.0,
            // (1-ρ)/(1-ρ^{B+1}) is 1/(B+1) at ρ = 1; around it expm1 keeps all digits.
            Queue::Mm1 if rho == 1.0 => 1.0 / (b + 1.0),
            Queue::Mm1 if rho < 1.0 => (1.0 - rho) * rho.powf(b) / -((b + 1.0) * rho.ln()).exp_m1(),
            Queue::Mm1 => (rho - 1.0) / (rho - ((-b) * rho.ln()).exp()),
            Queue::Md1 => {
                // Unnormalised, π_0 = 1. 1 - 1/(1/Σ + ρ) = (1 - Σ (1-ρ)) / (1 + Σρ); 1 - Σ(1-ρ) is what of the
                // unlimited law lies beyond the buffer, if there is one.
                if rho < 1.0 {
                    let beyond = self.stationary(rho).tail(b);
                    beyond / (1.0 + (1.0 - beyond) / (1.0 - rho) * rho)
                } else {
                    1.0 - 1.0 / (1.0 / unnormalised_sum(rho, buffer) + rho)
                }
            }
        }
    }
}

impl Stationary {
    /// P(Q = n); between whole numbers, from the head on, as if it were smooth.
    pub fn probability(&self, n: f64) -> f64 {
        match self.head.get(n as usize) {
            Some(&p) => p,
            None => self.head[HEAD - 1] * (-self.decay * (n - (HEAD - 1) as f64)).exp(),
        }
    }

    /// P(Q >= n), of whole n >= 0; all digits of it, however small.
    pub fn tail(&self, n: f64) -> f64 {
        let rest = |from: f64| self.probability(from) / -(-self.decay).exp_m1();
        if n >= HEAD as f64 {
            rest(n)
        } else {
            self.head[n as usize..].iter().rev().fold(rest(HEAD as f64), |sum, p| sum + p)
        }
    }
}

/// π_n / π_0 of M/D/1 for n < HEAD, from the cut between n and n+1 of the chain that departures see:
/// π_{n+1} a_0 = π_0 P(A > n) + Σ_{j=1}^n π_j P(A > n+1-j), A Poisson(ρ). There is nothing to subtract.
fn embedded(rho: f64) -> [f64; HEAD] {
    // P(A = k), then P(A > k), summed from the far end.
    let mut mass = [0.0; 2 * HEAD];
    let mut p = (-rho).exp();
    for (k, each) in mass.iter_mut().enumerate() {
        *each = p;
        p *= rho / (k + 1) as f64;
    }
    let mut exceeds = [0.0; 2 * HEAD];
    let mut sum = 0.0;
    for k in (0..2 * HEAD).rev() {
        exceeds[k] = sum;
        sum += mass[k];
    }
    let mut ratio = [1.0; HEAD];
    for n in 0..HEAD - 1 {
        let up: f64 = (1..=n).map(|j| ratio[j] * exceeds[n + 1 - j]).sum();
        ratio[n + 1] = (exceeds[n] + up) / mass[0];
    }
    ratio
}

/// Σ_{n<B} π_n / π_0 of M/D/1 at ρ >= 1, where the ratios soon grow geometrically.
fn unnormalised_sum(rho: f64, buffer: u32) -> f64 {
    if rho > 20.0 {
        // Σ is 1, e^ρ and more than e^{2ρ}, of which 1/Σ is below rounding.
        return [1.0, rho.exp()].get(buffer as usize - 1).copied().unwrap_or(f64::INFINITY);
    }
    let ratio = embedded(rho);
    let kept = (buffer as usize).min(HEAD);
    let head: f64 = ratio[..kept].iter().sum();
    let more = f64::from(buffer) - kept as f64;
    let growth = (ratio[HEAD - 1] / ratio[HEAD - 2]).ln();
    let rest = match more {
        0.0 => 0.0,
        _ if growth > 0.0 => (more * growth).exp_m1() / growth.exp_m1(),
        _ => more,
    };
    head + ratio[HEAD - 1] * growth.exp() * rest
}

/// δ > 0 with e^{ρ(z-1)} = z, z = e^δ: ρ (e^δ - 1) = δ, where P(Q = n) ~ e^{-δn} (Lundberg).
fn lundberg(rho: f64) -> f64 {
    if rho == 0.0 {
        return -f64::MIN_POSITIVE.ln();
    }
    // 1 - ρ = 1 - δ / (e^δ - 1) =: g(δ), which rises and is concave; g(δ) = δ/2 - δ²/12 + ... keeps its digits
    // near 0.
    let idle = 1.0 - rho;
    let g = |d: f64| {
        if d < 0.1 {
            let s = d * d;
            d / 2.0 - s / 12.0 * (1.0 - s / 60.0 * (1.0 - s / 42.0 * (1.0 - s / 40.0)))
        } else {
            1.0 - d / d.exp_m1()
        }
    };
    let (mut low, mut high) = (0.0, 2.0 * idle);
    while g(high) < idle {
        low = high;
        high *= 2.0;
    }
    while high - low > f64::EPSILON * high {
        let middle = 0.5 * (low + high);
        if middle <= low || middle >= high {
            break;
        }
        if g(middle) < idle {
            low = middle;
        } else {
            high = middle;
        }
    }
    debug_assert!(high < 1100.0 * LN_2);
    high
}
