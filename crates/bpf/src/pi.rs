//! PI in integer arithmetic: the reference for the BPF program `c/pi.bpf.c`.
//!
//! Hollot, Misra, Towsley and Gong, "On Designing Improved Controllers for AQM Routers Supporting TCP Flows", IEEE
//! INFOCOM 2001, section V. The queue is counted in bytes, and the probability of a packet grows with its size, as in
//! byte mode of `marqueue_aqm`; that of a segmented packet is the sum of its segments'. p has units of 2^-56.
//!
//! Departures: the hook has no timer. The first packet after a time to compute p computes it, from the queue that it
//! finds, for all such times since the previous packet.

use crate::arrival::{Arrival, Fate};
use crate::fixed_point::{product, SECOND};
use crate::hook::Hook;
use crate::law::{named, simulated, Fixed, Parameters, Place, Shaper, Variables, IN_BYTES};
use marqueue_aqm::algo::pi;
use marqueue_core::params::PolicySpec;

/// p = 1.
const CERTAIN: u64 = 1 << 56;

/// Parameters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PiParams {
    /// a - b, 2^-56 a byte.
    pub integral: u64,
    /// b, 2^-56 a byte.
    pub proportional: u64,
    /// q_ref, bytes.
    pub reference: u64,
    /// 1/w, ns.
    pub period: u64,
    /// Size of a packet that is signalled with probability p, bytes.
    pub size: u64,
}

impl PiParams {
    /// The parameters of the simulator's PI with packets of `size` bytes.
    ///
    /// # Errors
    /// If b is not less than a, or the integers cannot hold a value.
    pub fn new(params: &pi::Params, size: u64) -> Result<PiParams, String> {
        let pi::Params { a, b, w, q_ref, .. } = *params;
        if b >= a {
            return Err(format!("b: got {b}, expected less than a = {a}"));
        }
        let gain = |value: f64| (value / size as f64 * CERTAIN as f64).round() as u64;
        let integral = gain(a - b);
        if integral == 0 {
            return Err(format!("a: got {a}, expected at least {:e} more than b = {b}", size as f64 / CERTAIN as f64));
        }
        let reference = q_ref * size as f64;
        if reference >= f64::from(u32::MAX) {
            return Err(format!("q_ref: got {q_ref} packets, expected less than 2^32 bytes"));
        }
        let period = (SECOND as f64 / w).round() as u64;
        Ok(PiParams { integral, proportional: gain(b), reference: reference.round() as u64, period, size })
    }
}

impl Parameters for PiParams {
    const PLACE: Place = Place::Egress;
    const FIXED: &'static [Fixed] = &[IN_BYTES];

    fn read(spec: &PolicySpec, shaper: Shaper, _: Hook) -> Result<PiParams, String> {
        PiParams::new(&simulated::<pi::Params>(spec)?, shaper.packet)
    }

    fn rate(&self) -> Option<f64> {
        None
    }

    fn values(&self) -> Vec<(String, f64)> {
        let gain = |value: u64| value as f64 / CERTAIN as f64 * self.size as f64;
        named(vec![
            ("a", gain(self.integral + self.proportional)),
            ("b", gain(self.proportional)),
            ("w", SECOND as f64 / self.period as f64),
            ("q_ref", self.reference as f64 / self.size as f64),
        ])
    }

    fn words(&self) -> Vec<u64> {
        let PiParams { integral, proportional, reference, period, size } = *self;
        vec![integral, proportional, reference, period, size]
    }

    fn from_words(words: &[u64]) -> Option<PiParams> {
        let &[integral, proportional, reference, period, size] = words else { return None };
        Some(PiParams { integral, proportional, reference, period, size })
    }
}

/// The state of PI, in the order of the program's `struct state`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Pi {
    /// True once a packet has arrived.
    pub started: bool,
    /// p, 2^-56.
    pub p: u64,
    /// q\[k\], bytes.
    pub queue: u64,
    /// When p is computed next, ns.
    pub due: u64,
}

impl Pi {
    /// p as a number.
    pub fn probability(&self) -> f64 {
        self.p as f64 / CERTAIN as f64
    }

    /// A packet arrives.
    pub fn arrival(&mut self, law: &PiParams, packet: Arrival) -> Fate {
        if !self.started {
            self.started = true;
            self.due = packet.now + law.period;
        }
        if packet.now >= self.due {
            let times = (packet.now - self.due) / law.period + 1;
            self.compute(law, packet.queue, times);
            self.due += times * law.period;
        }
        if u64::from(packet.random) < (self.p >> 24) * packet.bytes / law.size {
            Fate::Signal
        } else {
            Fate::Pass
        }
    }

    /// p <- p + a (q\[k+1\] - q_ref) - b (q\[k\] - q_ref), written as (a - b) (q\[k+1\] - q_ref) + b (q\[k+1\] - q\[k\]).
    fn compute(&mut self, law: &PiParams, queue: u64, times: u64) {
        let mut away = product(law.integral, queue.abs_diff(law.reference), 2 * CERTAIN);
        let grown = product(law.proportional, queue.abs_diff(self.queue), 2 * CERTAIN);
        let (mut rise, mut fall) = (0, 0);
        *if queue > law.reference { &mut rise } else { &mut fall } += away;
        *if queue > self.queue { &mut rise } else { &mut fall } += grown;
        self.advance(rise, fall);
        away = product(away, times - 1, 2 * CERTAIN);
        let (rise, fall) = if queue > law.reference { (away, 0) } else { (0, away) };
        self.advance(rise, fall);
        self.queue = queue;
    }

    /// p <- p + rise - fall, within \[0, 1\]; each is at most 4.
    fn advance(&mut self, rise: u64, fall: u64) {
        self.p = (self.p + rise).saturating_sub(fall).min(CERTAIN);
    }
}

impl Variables for Pi {
    type Law = PiParams;

    fn from_words(started: bool, words: &[u64]) -> Option<Pi> {
        let &[p, queue, due] = words else { return None };
        Some(Pi { started, p, queue, due })
    }

    fn values(&self, _: &PiParams) -> Vec<(&'static str, f64)> {
        vec![("p", self.probability()), ("queue", self.queue as f64)]
    }

    fn fate(&mut self, law: &PiParams, packet: Arrival) -> Option<Fate> {
        Some(self.arrival(law, packet))
    }
}
