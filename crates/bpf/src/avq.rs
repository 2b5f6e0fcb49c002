//! AVQ in integer arithmetic: the reference for the BPF program `c/avq.bpf.c`.
//!
//! Kunniyur and Srikant, "An Adaptive Virtual Queue (AVQ) Algorithm for Active Queue Management",
//! IEEE/ACM ToN 12(2), 2004, section II. BPF has no floating point: bytes and bytes/s are counted in units of 2^-20 and
//! time in nanoseconds. The remainder of each division is carried to the next one, so that rounding does not
//! accumulate.
//!
//! Departures: the real buffer is unknown, so packets that overflow it count in the arrival rate, as in ns-2.35's
//! Queue/Vq. As many segments of a segmented packet enter the virtual queue as fit; if not all fit, the whole packet
//! is marked or dropped.

use crate::arrival::{Arrival, Fate};
use crate::fixed_point::{produced, units, FRACTION, LARGEST};
use crate::hook::Hook;
use crate::law::{named, simulated, Fixed, Parameters, Place, Shaper, Variables, IN_BYTES};
use marqueue_aqm::algo::avq;
use marqueue_core::params::PolicySpec;

/// Parameters: C, alpha, gamma, B.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AvqParams {
    /// C, 2^-20 bytes/s.
    pub capacity: u64,
    /// alpha gamma C, 2^-20 bytes/s^2.
    pub growth: u64,
    /// alpha, 2^-20 /s.
    pub cost: u64,
    /// C~ before the first packet, 2^-20 bytes/s.
    pub initial: u64,
    /// B, 2^-20 bytes.
    pub buffer: u64,
}

impl AvqParams {
    /// A link of `rate` bit/s, `gamma`, `alpha` in 1/s, initial C~ as the fraction `initial` of C, B of
    /// `buffer` bytes. The growth of C~ uses the rounded alpha, so that its equilibrium is exactly at
    /// arrivals of gamma C.
    ///
    /// # Errors
    /// If alpha, or alpha times the rate, is larger than the integers can hold, or so small that it rounds to 0.
    pub fn new(rate: u64, gamma: f64, alpha: f64, initial: f64, buffer: u64) -> Result<AvqParams, String> {
        let one = f64::from(1u32 << FRACTION);
        let capacity = rate as f64 / 8.0 * one;
        let cost = (alpha * one).round();
        if alpha > 0.0 && cost == 0.0 {
            return Err(format!("alpha: got {alpha} /s, expected 0 or at least {} /s", 1.0 / one));
        }
        // The largest packet has 2^20 bytes, and alpha times its size must fit.
        let growth = cost * gamma * (capacity / one);
        if cost >= LARGEST / one || growth >= LARGEST {
            return Err(format!("alpha: got {alpha} /s, expected alpha times {rate} bit/s below 3.5e13"));
        }
        let words = [capacity, growth, cost, initial * capacity, buffer as f64 * one];
        if words.iter().any(|word| !(0.0..LARGEST).contains(word)) {
            return Err(format!(
                "got {rate} bit/s and {buffer} bytes, expected less than 3.5e13 bit/s and 4.4e12 bytes"
            ));
        }
        let [capacity, growth, cost, initial, buffer] = words.map(|word| word.round() as u64);
        Ok(AvqParams { capacity, growth, cost, initial, buffer })
    }
}

impl Parameters for AvqParams {
    const PLACE: Place = Place::EitherHook;
    const FIXED: &'static [Fixed] =
        &[IN_BYTES, ("adapt_every", "in the kernel every packet updates the virtual capacity")];

    fn read(spec: &PolicySpec, shaper: Shaper, _: Hook) -> Result<AvqParams, String> {
        let params: avq::Params = simulated(spec)?;
        let buffer = params.buffer.map_or(shaper.buffer, |packets| (packets * shaper.packet as f64) as u64);
        AvqParams::new(shaper.known_rate()?, params.gamma, params.alpha, params.initial, buffer)
    }

    fn rate(&self) -> Option<f64> {
        Some(8.0 * units(self.capacity))
    }

    /// `buffer` is in bytes. There is no gamma if alpha is 0.
    fn values(&self) -> Vec<(String, f64)> {
        let gain = units(self.cost) * units(self.capacity);
        let gamma = (gain > 0.0).then(|| ("gamma", units(self.growth) / gain));
        let others = [("alpha", units(self.cost)), ("buffer", units(self.buffer))];
        named(gamma.into_iter().chain(others).collect())
    }

    fn words(&self) -> Vec<u64> {
        let AvqParams { capacity, growth, cost, initial, buffer } = *self;
        vec![capacity, growth, cost, initial, buffer]
    }

    fn from_words(words: &[u64]) -> Option<AvqParams> {
        let &[capacity, growth, cost, initial, buffer] = words else { return None };
        Some(AvqParams { capacity, growth, cost, initial, buffer })
    }
}

/// The state of AVQ, in the order of the program's `struct state`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Avq {
    /// True once a packet has counted in the arrival rate.
    pub started: bool,
    /// VQ, 2^-20 bytes.
    pub level: u64,
    /// Remainder of VQ, 10^-9 units.
    pub level_rest: u64,
    /// C~, 2^-20 bytes/s.
    pub virtual_capacity: u64,
    /// Remainder of C~, 10^-9 units.
    pub capacity_rest: u64,
    /// Time up to which VQ has drained, ns.
    pub drained: u64,
    /// s: when the last packet that counted arrived, ns.
    pub last: u64,
}

impl Avq {
    /// A packet arrives.
    pub fn arrival(&mut self, law: &AvqParams, packet: Arrival) -> Fate {
        if !self.started {
            self.virtual_capacity = law.initial;
        }
        self.virtual_capacity = self.virtual_capacity.min(law.capacity);
        self.drain(packet.now);
        let fits = self.offer(law, packet);
        if fits || !packet.loses {
            self.admit(law, packet.now, packet.bytes);
        }
        if fits {
            Fate::Pass
        } else {
            Fate::Signal
        }
    }

    /// VQ <- max(VQ - C~ (t - s), 0). For a timestamp earlier than the previous one, which several CPUs can cause, no
    /// time passes.
    fn drain(&mut self, now: u64) {
        if now <= self.drained {
            return;
        }
        let gone = produced(self.virtual_capacity, now - self.drained, self.level, &mut self.level_rest);
        self.drained = now;
        if gone < self.level {
            self.level -= gone;
        } else {
            self.level = 0;
            self.level_rest = 0;
        }
    }

    /// Segments enter as long as they fit. A packet that a mark would drop enters as a whole or not at all.
    fn offer(&mut self, law: &AvqParams, packet: Arrival) -> bool {
        let size = packet.bytes << FRACTION;
        let room = law.buffer.saturating_sub(self.level);
        if size <= room {
            self.level += size;
            return true;
        }
        if packet.segments > 1 && !packet.loses {
            let each = packet.bytes.div_ceil(packet.segments) << FRACTION;
            self.level += room / each * each;
        }
        false
    }

    /// C~ <- max(min(C~ + alpha gamma C (t - s), C) - alpha b, 0)
    fn admit(&mut self, law: &AvqParams, now: u64, bytes: u64) {
        if self.started && now > self.last {
            self.virtual_capacity += produced(law.growth, now - self.last, law.capacity, &mut self.capacity_rest);
            if self.virtual_capacity >= law.capacity {
                self.virtual_capacity = law.capacity;
                self.capacity_rest = 0;
            }
        }
        if !self.started || now > self.last {
            self.last = now;
        }
        self.started = true;
        self.virtual_capacity = self.virtual_capacity.saturating_sub(law.cost * bytes);
    }
}

impl Variables for Avq {
    type Law = AvqParams;

    fn from_words(started: bool, words: &[u64]) -> Option<Avq> {
        let &[level, level_rest, virtual_capacity, capacity_rest, drained, last] = words else { return None };
        Some(Avq { started, level, level_rest, virtual_capacity, capacity_rest, drained, last })
    }

    fn values(&self, law: &AvqParams) -> Vec<(&'static str, f64)> {
        let capacity = if self.started { self.virtual_capacity } else { law.initial };
        let capacity = 8.0 * units(capacity.min(law.capacity));
        vec![("virtual_capacity", capacity), ("virtual_queue", units(self.level))]
    }

    fn fate(&mut self, law: &AvqParams, packet: Arrival) -> Option<Fate> {
        Some(self.arrival(law, packet))
    }
}
