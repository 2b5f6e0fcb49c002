//! RED in integer arithmetic: the reference for the BPF program `c/red.bpf.c`.
//!
//! Floyd and Jacobson, "Random Early Detection Gateways for Congestion Avoidance", IEEE/ACM ToN 1(4), 1993; gentle: Floyd
//! 2000. The queue is counted in bytes, and the probability of a packet grows with its size, as in byte mode of
//! `marqueue_aqm`; that of a segmented packet is the sum of its segments'. Probabilities have units of 2^-32.
//!
//! Departures: the hook sees no departures. A packet that finds no queue takes the link for idle since the time at which
//! all that the previous packet left behind had been sent at the rate of the shaper. What the qdisc drops because it is
//! full does not restart the count.

use crate::arrival::{Arrival, Fate};
use crate::fixed_point::{power, produced, product, scaled, units, FRACTION, LARGEST, ONE, SECOND};
use crate::hook::Hook;
use crate::law::{named, simulated, Fixed, Parameters, Place, Shaper, Variables, IN_BYTES};
use marqueue_aqm::algo::red;
use marqueue_core::params::PolicySpec;

/// Parameters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RedParams {
    /// min_th, 2^-20 bytes.
    pub min_th: u64,
    /// max_th, 2^-20 bytes.
    pub max_th: u64,
    /// The average from which on every packet is dropped, 2^-20 bytes.
    pub hard_limit: u64,
    /// Slope of p_b up to max_th, 2^-44 a byte.
    pub slope: u64,
    /// Slope of p_b from max_th on (gentle), 2^-44 a byte.
    pub steep: u64,
    /// max_p.
    pub max_p: u64,
    /// p_b above which packets are dropped, also those that could be marked.
    pub mark_p: u64,
    /// w_q.
    pub w_q: u64,
    /// Rate of the shaper, bytes/s.
    pub rate: u64,
    /// Size of a packet, bytes.
    pub size: u64,
    /// 1 if at least 1/p_b packets pass between two signals, else 0.
    pub wait: u64,
}

impl RedParams {
    /// The parameters of the simulator's RED at a link of `rate` bit/s with packets of `size` bytes. Computed defaults
    /// are those of a link without propagation delay.
    ///
    /// # Errors
    /// If max_th is not more than min_th, or the integers cannot hold a value.
    pub fn new(params: &red::Params, rate: u64, size: u64) -> Result<RedParams, String> {
        let (bytes, one) = (size as f64, ONE as f64);
        let (min_th, max_th, w_q) = params.resolve(rate as f64 / 8.0 / bytes, 0.0);
        if max_th <= min_th {
            return Err(format!("max_th: got {max_th} packets, expected more than min_th = {min_th} packets"));
        }
        if max_th * bytes >= f64::from(u32::MAX) {
            return Err(format!("max_th: got {max_th} packets, expected less than 2^32 bytes"));
        }
        let weight = (w_q * one).round();
        if w_q > 0.0 && weight == 0.0 {
            return Err(format!("w_q: got {w_q}, expected 0 or at least 2^-32"));
        }
        if rate < 8 {
            return Err(format!("rate: got {rate} bit/s, expected at least 8 bit/s"));
        }
        let level = |packets: f64| packets * bytes * f64::from(1u32 << FRACTION);
        let slope = |rise: f64, packets: f64| rise / (packets * bytes) * one * f64::from(1u32 << 12);
        let words = [
            level(min_th),
            level(max_th),
            level(if params.gentle { 2.0 * max_th } else { max_th }),
            slope(params.max_p, max_th - min_th),
            slope(1.0 - params.max_p, max_th),
            params.max_p * one,
            params.mark_p * one,
            weight,
        ];
        if words.iter().any(|word| *word >= LARGEST) {
            return Err(format!("max_th: got {max_th} packets, expected a byte more than min_th = {min_th} packets"));
        }
        let [min_th, max_th, hard_limit, slope, steep, max_p, mark_p, w_q] = words.map(|word| word.round() as u64);
        let (rate, wait) = (rate / 8, params.wait.into());
        Ok(RedParams { min_th, max_th, hard_limit, slope, steep, max_p, mark_p, w_q, rate, size, wait })
    }
}

impl Parameters for RedParams {
    const PLACE: Place = Place::Egress;
    const FIXED: &'static [Fixed] = &[IN_BYTES];

    fn read(spec: &PolicySpec, shaper: Shaper, _: Hook) -> Result<RedParams, String> {
        RedParams::new(&simulated::<red::Params>(spec)?, shaper.known_rate()?, shaper.packet)
    }

    fn rate(&self) -> Option<f64> {
        Some(8.0 * self.rate as f64)
    }

    /// Flags are 0 or 1.
    fn values(&self) -> Vec<(String, f64)> {
        let share = |value: u64| value as f64 / ONE as f64;
        let packets = |value: u64| units(value) / self.size as f64;
        named(vec![
            ("min_th", packets(self.min_th)),
            ("max_th", packets(self.max_th)),
            ("max_p", share(self.max_p)),
            ("w_q", share(self.w_q)),
            ("gentle", f64::from(u8::from(self.hard_limit > self.max_th))),
            ("wait", self.wait as f64),
            ("mark_p", share(self.mark_p)),
        ])
    }

    fn words(&self) -> Vec<u64> {
        let RedParams { min_th, max_th, hard_limit, slope, steep, max_p, mark_p, w_q, rate, size, wait } = *self;
        vec![min_th, max_th, hard_limit, slope, steep, max_p, mark_p, w_q, rate, size, wait]
    }

    fn from_words(words: &[u64]) -> Option<RedParams> {
        let &[min_th, max_th, hard_limit, slope, steep, max_p, mark_p, w_q, rate, size, wait] = words else {
            return None;
        };
        Some(RedParams { min_th, max_th, hard_limit, slope, steep, max_p, mark_p, w_q, rate, size, wait })
    }
}

/// The state of RED, in the order of the program's `struct state`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Red {
    /// True if the average was above min_th at the last packet.
    pub above: bool,
    /// The average queue, 2^-20 bytes.
    pub avg: u64,
    /// Bytes since the last signal.
    pub count: u64,
    /// When the last packet arrived, ns.
    pub last: u64,
    /// Bytes in the queue after it.
    pub behind: u64,
}

impl Red {
    /// A packet arrives.
    pub fn arrival(&mut self, law: &RedParams, packet: Arrival) -> Fate {
        if packet.queue == 0 {
            self.idle(law, packet.now);
        }
        self.average(law, packet.queue);
        let fate = self.judge(law, packet);
        if fate != Fate::Pass {
            self.count = 0;
        }
        self.last = self.last.max(packet.now);
        let enters = fate == Fate::Pass || (fate == Fate::Signal && !packet.loses);
        self.behind = packet.queue + if enters { packet.bytes } else { 0 };
        fate
    }

    /// p_b, before spreading; zero below min_th.
    pub fn probability(&self, law: &RedParams) -> u64 {
        let p = if self.avg < law.min_th {
            0
        } else if self.avg < law.max_th {
            scaled(self.avg - law.min_th, law.slope)
        } else {
            law.max_p + scaled(self.avg - law.max_th, law.steep)
        };
        p.min(ONE)
    }

    /// avg <- (1 - w_q)^m avg, m the packets that could have been sent since the queue was empty.
    pub(crate) fn idle(&mut self, law: &RedParams, now: u64) {
        let empty = self.last + self.behind * SECOND / law.rate;
        if now > empty {
            let bytes = produced(law.rate, now - empty, 0x7fff_ffff * law.size, &mut 0);
            self.avg = scaled(self.avg, power(ONE - law.w_q, (bytes / law.size) as u32));
        }
    }

    /// avg <- (1 - w_q) avg + w_q q
    pub(crate) fn average(&mut self, law: &RedParams, queue: u64) {
        let now = queue << FRACTION;
        if now > self.avg {
            self.avg += scaled(now - self.avg, law.w_q);
        } else {
            self.avg -= scaled(self.avg - now, law.w_q);
        }
    }

    fn judge(&mut self, law: &RedParams, packet: Arrival) -> Fate {
        self.count += packet.bytes;
        if self.avg < law.min_th || packet.queue <= 1 {
            self.above = false;
            Fate::Pass
        } else if self.avg >= law.hard_limit {
            Fate::Loss
        } else if !self.above {
            self.above = true;
            self.count = packet.bytes;
            Fate::Pass
        } else {
            self.draw(law, packet)
        }
    }

    /// Both sides of random < p_a are multiplied by the denominator of p_a.
    fn draw(&self, law: &RedParams, packet: Arrival) -> Fate {
        let p = self.probability(law);
        let x = product(self.count / law.size, p, 2 * ONE);
        if law.wait == 1 && x < ONE {
            return Fate::Pass;
        }
        let left = (if law.wait == 1 { 2 * ONE } else { ONE }).saturating_sub(x);
        if left > p && scaled(packet.random.into(), left) >= p * packet.bytes / law.size {
            return Fate::Pass;
        }
        if p > law.mark_p {
            Fate::Loss
        } else {
            Fate::Signal
        }
    }
}

impl Variables for Red {
    type Law = RedParams;

    fn from_words(above: bool, words: &[u64]) -> Option<Red> {
        let &[avg, count, last, behind] = words else { return None };
        Some(Red { above, avg, count, last, behind })
    }

    fn values(&self, law: &RedParams) -> Vec<(&'static str, f64)> {
        vec![("avg", units(self.avg)), ("p", self.probability(law) as f64 / ONE as f64)]
    }

    fn fate(&mut self, law: &RedParams, packet: Arrival) -> Option<Fate> {
        Some(self.arrival(law, packet))
    }
}
