//! MKC's router in integer arithmetic: the reference for the BPF program `c/mkc.bpf.c`.
//!
//! Zhang, Kang and Loguinov, "Delayed stability and performance of distributed congestion control", SIGCOMM 2004, section
//! 6.2: at the end of each interval of delta seconds, in which S bytes arrived, p = (S - C delta) / S, and the number of
//! the price grows by 1. As in `marqueue_aqm`, S is at least one packet.
//!
//! Departures: p is rounded down to single precision. The first interval begins with the first packet. Only the highest
//! price of a path is written, not the sum of all, which would need floating point.

use crate::arrival::{Arrival, Fate};
use crate::fixed_point::{FRACTION, LARGEST};
use crate::hook::Hook;
use crate::law::{named, simulated, Parameters, Place, Shaper, Variables};
use marqueue_aqm::algo::mkc;
use marqueue_core::params::PolicySpec;

/// Parameters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MkcParams {
    /// C delta, 2^-20 bytes.
    pub capacity: u64,
    /// Bytes that an interval has at least.
    pub least: u64,
    /// delta, ns.
    pub delta: u64,
    /// delta as it is written in headers, s: the bits of an `f32`.
    pub delta_bits: u64,
}

impl MkcParams {
    /// The parameters of the simulator's MKC at a link of `rate` bit/s with packets of `size` bytes.
    ///
    /// # Errors
    /// If the integers cannot hold what the link carries in an interval.
    pub fn new(params: &mkc::Params, rate: u64, size: u64) -> Result<MkcParams, String> {
        let mkc::Params { delta, share } = *params;
        let capacity = rate as f64 / 8.0 * share * delta * f64::from(1u32 << FRACTION);
        if capacity >= LARGEST {
            return Err(format!("delta: got {delta} s, expected less than 4.4e12 bytes of the link in it"));
        }
        let nanoseconds = (delta * 1e9).round() as u64;
        let delta_bits = (delta as f32).to_bits().into();
        Ok(MkcParams { capacity: capacity.round() as u64, least: size, delta: nanoseconds, delta_bits })
    }

    /// p after an interval in which `bytes` arrived: the bits of an `f32`.
    fn price(&self, bytes: u64) -> u32 {
        let sum = bytes.max(self.least) << FRACTION;
        match sum.cmp(&self.capacity) {
            std::cmp::Ordering::Equal => 0,
            std::cmp::Ordering::Greater => quotient(sum - self.capacity, sum),
            std::cmp::Ordering::Less => quotient(self.capacity - sum, sum) | 1 << 31,
        }
    }
}

impl Parameters for MkcParams {
    const PLACE: Place = Place::EitherHook;

    fn read(spec: &PolicySpec, shaper: Shaper, _: Hook) -> Result<MkcParams, String> {
        MkcParams::new(&simulated::<mkc::Params>(spec)?, shaper.known_rate()?, shaper.packet)
    }

    /// C.
    fn rate(&self) -> Option<f64> {
        Some(8e9 * self.capacity as f64 / f64::from(1u32 << FRACTION) / self.delta as f64)
    }

    fn values(&self) -> Vec<(String, f64)> {
        named(vec![("delta", self.delta as f64 / 1e9)])
    }

    fn words(&self) -> Vec<u64> {
        let MkcParams { capacity, least, delta, delta_bits } = *self;
        vec![capacity, least, delta, delta_bits]
    }

    fn from_words(words: &[u64]) -> Option<MkcParams> {
        let &[capacity, least, delta, delta_bits] = words else { return None };
        Some(MkcParams { capacity, least, delta, delta_bits })
    }
}

/// The state of MKC's router, in the order of the program's `struct state`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Mkc {
    /// True once a packet has arrived.
    pub started: bool,
    /// S, bytes.
    pub bytes: u64,
    /// When the interval ends, ns.
    pub end: u64,
    /// Number of the price; 0 if there is none yet.
    pub seq: u64,
    /// p: the bits of an `f32`.
    pub p: u64,
}

impl Mkc {
    /// A packet arrives.
    pub fn arrival(&mut self, law: &MkcParams, packet: Arrival) {
        if !self.started {
            self.started = true;
            self.end = packet.now + law.delta;
        }
        if packet.now >= self.end {
            let ended = (packet.now - self.end) / law.delta + 1;
            self.p = law.price(if ended > 1 { 0 } else { self.bytes }).into();
            self.seq += ended;
            self.end += ended * law.delta;
            self.bytes = 0;
        }
        self.bytes += packet.bytes;
    }

    /// The price that packets take, if there is one.
    pub fn price(&self) -> Option<f32> {
        (self.seq > 0).then(|| f32::from_bits(self.p as u32))
    }
}

impl Variables for Mkc {
    type Law = MkcParams;

    fn from_words(started: bool, words: &[u64]) -> Option<Mkc> {
        let &[bytes, end, seq, p] = words else { return None };
        Some(Mkc { started, bytes, end, seq, p })
    }

    fn values(&self, _: &MkcParams) -> Vec<(&'static str, f64)> {
        let price = self.price().map(|p| ("price", p.into()));
        price.into_iter().chain([("intervals", self.seq as f64)]).collect()
    }

    /// All pass.
    fn fate(&mut self, law: &MkcParams, packet: Arrival) -> Option<Fate> {
        self.arrival(law, packet);
        Some(Fate::Pass)
    }
}

/// a / b > 0 in single precision, rounded down: the bits.
fn quotient(a: u64, b: u64) -> u32 {
    let (a_bit, b_bit) = (a.ilog2(), b.ilog2());
    let divisor = if b_bit > 31 { b >> (b_bit - 31) } else { b << (31 - b_bit) };
    let q = (a << (63 - a_bit)) / divisor;
    let bit = q.ilog2();
    // 2^bit is 1 if a and b have as many digits and bit is 32.
    ((bit + a_bit + 127 - 32 - b_bit) << 23) | (q >> (bit - 23)) as u32 & 0x7f_ffff
}

#[cfg(test)]
mod tests {
    use super::quotient;
    use proptest::prelude::*;

    proptest! {
        /// Within two units in the last place: the divisor may have lost digits, and rounding is down.
        #[test]
        fn quotients_are_those_of_single_precision(a in 1..1u64 << 62, b in 1..1u64 << 62, small in any::<bool>()) {
            let b = if small { b >> 30 | 1 } else { b };
            let (got, expected) = (f32::from_bits(quotient(a, b)), (a as f64 / b as f64) as f32);
            prop_assert!(got.to_bits().abs_diff(expected.to_bits()) <= 2, "{got:e}, expected {expected:e}");
        }
    }
}
