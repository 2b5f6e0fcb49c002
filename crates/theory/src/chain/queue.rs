//! The stationary queue length of M/M/1 and M/D/1 at load ρ < 1, as Poisson arrivals find it.
//!
//! Both laws are stored as their first [`HEAD`] probabilities and a geometric tail, P(Q = n) = c e^{-δn}. For M/M/1
//! this is exact. For M/D/1 it is an approximation: the generating function (1-ρ)(1-z) / (1 - z e^{ρ(1-z)}) has one
//! real pole z_0 = e^δ and complex poles, the nearest at |z_1|. |z_1| / z_0 rises from 2.9 at ρ = 0.2 to 8 at ρ = 1,
//! and z_0 > 14 below ρ = 0.2. The error of P(Q = n) beyond the head is therefore less than 10^-14
//! (tests/chain_queue.rs).

use marqueue_core::math;
use std::f64::consts::LN_2;

/// Number of probabilities that are stored one by one.
pub const HEAD: usize = 32;

/// A queue, by the distribution of its service times.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Queue {
    /// Exponential service times.
    Mm1,
    /// Constant service times.
    Md1,
}

/// The law of the stationary queue length.
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
    /// Unless 0 <= ρ < 1.
    pub fn stationary(self, rho: f64) -> Stationary {
        assert!((0.0..1.0).contains(&rho), "no stationary queue at a load of {rho}");
        match self {
            Queue::Mm1 => {
                let head = std::array::from_fn(|n| (1.0 - rho) * math::powi(rho, n as i32));
                // With ρ = 0 the queue is always empty, and the decay is as large as possible.
                Stationary { head, decay: -math::ln(rho.max(f64::MIN_POSITIVE)) }
            }
            Queue::Md1 => {
                let mut head = embedded(rho);
                head.iter_mut().for_each(|p| *p *= 1.0 - rho);
                Stationary { head, decay: lundberg(rho) }
            }
        }
    }

    /// The share of packets that find a finite buffer full, at any load. `buffer` includes the packet in service.
    ///
    /// M/M/1/B: (1-ρ) ρ^B / (1 - ρ^{B+1}). M/D/1/B: 1 - 1 / (π_0 + ρ), where π is the law of the unlimited
    /// queue, truncated before B and normalised (Cohen, *The Single Server Queue*, 1982, III.6).
    pub fn loss(self, rho: f64, buffer: u32) -> f64 {
        let b = f64::from(buffer);
        match self {
            _ if rho == 0.0 => 0.0,
            // (1-ρ)/(1-ρ^{B+1}) is 1/(B+1) at ρ = 1. expm1 avoids cancellation near it.
            Queue::Mm1 if rho == 1.0 => 1.0 / (b + 1.0),
            Queue::Mm1 if rho < 1.0 => (1.0 - rho) * math::powf(rho, b) / -math::exp_m1((b + 1.0) * math::ln(rho)),
            Queue::Mm1 => (rho - 1.0) / (rho - math::exp(-b * math::ln(rho))),
            Queue::Md1 => {
                // With π_0 = 1, 1 - 1/(1/Σ + ρ) = (1 - Σ (1-ρ)) / (1 + Σρ). For ρ < 1, 1 - Σ(1-ρ) is the probability
                // that the unlimited queue has B packets or more.
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
    /// P(Q = n). Beyond the head, n need not be a whole number.
    pub fn probability(&self, n: f64) -> f64 {
        match self.head.get(n as usize) {
            Some(&p) => p,
            None => self.head[HEAD - 1] * math::exp(-self.decay * (n - (HEAD - 1) as f64)),
        }
    }

    /// P(Q >= n) for whole n >= 0, with full relative accuracy.
    pub fn tail(&self, n: f64) -> f64 {
        let geometric_tail = |from: f64| self.probability(from) / -math::exp_m1(-self.decay);
        if n >= HEAD as f64 {
            geometric_tail(n)
        } else {
            self.head[n as usize..].iter().rev().fold(geometric_tail(HEAD as f64), |sum, p| sum + p)
        }
    }
}

/// π_n / π_0 of M/D/1 for n < HEAD, from the balance across the cut between n and n+1 of the chain embedded at
/// departures: π_{n+1} a_0 = π_0 P(A > n) + Σ_{j=1}^n π_j P(A > n+1-j), A Poisson(ρ). All terms are positive, so
/// nothing cancels.
fn embedded(rho: f64) -> [f64; HEAD] {
    // P(A = k), then P(A > k), summed from the smallest terms.
    let mut mass = [0.0; 2 * HEAD];
    let mut p = math::exp(-rho);
    for (k, probability) in mass.iter_mut().enumerate() {
        *probability = p;
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

/// Σ_{n<B} π_n / π_0 of M/D/1 at ρ >= 1, where the ratios grow geometrically beyond the head.
fn unnormalised_sum(rho: f64, buffer: u32) -> f64 {
    if rho > 20.0 {
        // Σ is 1 for B = 1 and e^ρ for B = 2. For larger B it exceeds e^{2ρ}, and 1/Σ is below rounding.
        return [1.0, math::exp(rho)].get(buffer as usize - 1).copied().unwrap_or(f64::INFINITY);
    }
    let ratio = embedded(rho);
    let in_head = (buffer as usize).min(HEAD);
    let head: f64 = ratio[..in_head].iter().sum();
    let beyond = f64::from(buffer) - in_head as f64;
    let growth = math::ln(ratio[HEAD - 1] / ratio[HEAD - 2]);
    let rest = match beyond {
        0.0 => 0.0,
        _ if growth > 0.0 => math::exp_m1(beyond * growth) / math::exp_m1(growth),
        _ => beyond,
    };
    head + ratio[HEAD - 1] * math::exp(growth) * rest
}

/// δ > 0 with e^{ρ(z-1)} = z, z = e^δ: ρ (e^δ - 1) = δ, where P(Q = n) ~ e^{-δn} (Lundberg).
fn lundberg(rho: f64) -> f64 {
    if rho == 0.0 {
        return -math::ln(f64::MIN_POSITIVE);
    }
    // Solves 1 - ρ = g(δ) = 1 - δ / (e^δ - 1) by bisection; g increases. Near 0 its series δ/2 - δ²/12 + ... avoids
    // cancellation.
    let idle = 1.0 - rho;
    let g = |d: f64| {
        if d < 0.1 {
            let s = d * d;
            d / 2.0 - s / 12.0 * (1.0 - s / 60.0 * (1.0 - s / 42.0 * (1.0 - s / 40.0)))
        } else {
            1.0 - d / math::exp_m1(d)
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
