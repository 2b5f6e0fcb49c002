//! Scaled marking in integer arithmetic: the reference for the BPF program `c/scaled.bpf.c`.
//!
//! Eun and Wang, "Achieving 100% Throughput in TCP/AQM Under Aggressive Packet Marking With Small Buffer", IEEE/ACM ToN
//! 16(4), 2008, sections II-B and V-A. The curve p_N(x) is computed once for each whole number of packets. The queue is
//! counted in bytes and rounded to packets. A segmented packet is signalled if one of its segments would be.
//!
//! Departure: of a segmented packet all segments find the queue that the first one finds.

use crate::arrival::{Arrival, Fate};
use crate::fixed_point::{power, ONE};
use crate::hook::Hook;
use crate::law::{named, simulated, Parameters, Place, Shaper, Variables};
use marqueue_aqm::algo::scaled;
use marqueue_core::params::PolicySpec;
use marqueue_core::ScaledCurve;

/// The largest buffer, packets.
pub const LEVELS: usize = 1024;

/// Parameters.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ScaledParams {
    /// Size of a packet, bytes.
    pub size: u64,
    /// q N^b: packets are dropped that find so many.
    pub buffer: u64,
    /// p_N(x) for each x below the buffer, 2^-32; 0 behind.
    pub p: Vec<u64>,
}

impl ScaledParams {
    /// The parameters of the simulator's scaled marking with packets of `size` bytes.
    ///
    /// # Errors
    /// If the buffer is larger than [`LEVELS`].
    pub fn new(params: scaled::Params, size: u64) -> Result<ScaledParams, String> {
        let b = params.b.unwrap_or((params.a + 0.1).min(1.0));
        let curve = ScaledCurve::new(params.curve, params.flows, params.a, b, params.buffer);
        let buffer = curve.buffer() as usize;
        if buffer > LEVELS {
            return Err(format!("buffer: got {buffer} packets for all flows, expected at most {LEVELS}"));
        }
        let mut p: Vec<u64> = (0..buffer).map(|x| (curve.p(x as f64) * ONE as f64).round() as u64).collect();
        p.resize(LEVELS, 0);
        Ok(ScaledParams { size, buffer: buffer as u64, p })
    }

    /// p of a packet that finds so many.
    pub fn p(&self, found: u64) -> u64 {
        self.p.get(found as usize).copied().unwrap_or_default()
    }
}

impl Parameters for ScaledParams {
    const PLACE: Place = Place::Egress;

    fn read(spec: &PolicySpec, shaper: Shaper, _: Hook) -> Result<ScaledParams, String> {
        ScaledParams::new(simulated(spec)?, shaper.packet)
    }

    fn rate(&self) -> Option<f64> {
        None
    }

    /// The largest p below the buffer, and the buffer in packets.
    fn values(&self) -> Vec<(String, f64)> {
        let most = self.p.iter().max().copied().unwrap_or_default();
        named(vec![("buffer", self.buffer as f64), ("largest_p", most as f64 / ONE as f64)])
    }

    fn words(&self) -> Vec<u64> {
        [&[self.size, self.buffer], self.p.as_slice()].concat()
    }

    fn from_words(words: &[u64]) -> Option<ScaledParams> {
        let &[size, buffer, ref p @ ..] = words else { return None };
        (p.len() == LEVELS).then(|| ScaledParams { size, buffer, p: p.to_vec() })
    }
}

/// The state of scaled marking, in the order of the program's `struct state`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Scaled {
    /// True once a packet has arrived.
    pub started: bool,
    /// Packets that the last packet found.
    pub queue: u64,
}

impl Scaled {
    /// A packet arrives.
    pub fn arrival(&mut self, law: &ScaledParams, packet: Arrival) -> Fate {
        let found = (packet.queue + law.size / 2) / law.size;
        (self.started, self.queue) = (true, found);
        if found >= law.buffer {
            return Fate::Loss;
        }
        let pass = ONE - law.p(found);
        let pass = if packet.segments > 1 { power(pass, packet.segments as u32) } else { pass };
        if u64::from(packet.random) < ONE - pass {
            Fate::Signal
        } else {
            Fate::Pass
        }
    }
}

impl Variables for Scaled {
    type Law = ScaledParams;

    fn from_words(started: bool, words: &[u64]) -> Option<Scaled> {
        let &[queue] = words else { return None };
        Some(Scaled { started, queue })
    }

    fn values(&self, law: &ScaledParams) -> Vec<(&'static str, f64)> {
        vec![("p", law.p(self.queue) as f64 / ONE as f64), ("queue", (self.queue * law.size) as f64)]
    }

    fn fate(&mut self, law: &ScaledParams, packet: Arrival) -> Option<Fate> {
        Some(self.arrival(law, packet))
    }
}
