//! RED: random early detection.
//!
//! Floyd and Jacobson, "Random Early Detection Gateways for Congestion Avoidance", IEEE/ACM ToN 1(4), 1993; gentle:
//! Floyd, "Recommendation on using the gentle_ variant of RED", 2000.
//!
//! At each arrival avg <- (1 - w_q) avg + w_q q. After an idle period avg <- (1 - w_q)^m avg, where m is the number of
//! packets that could have been sent during it.
//! p_b = max_p (avg - min_th)/(max_th - min_th); with `gentle` p_b rises from max_p at max_th to 1 at 2 max_th.
//! p_a = p_b / (1 - count p_b); with `wait` p_a = p_b / (2 - count p_b) once count p_b >= 1, else 0.
//!
//! Input: the queue at each arrival, idle periods. Output: a mark, at random; a drop if avg exceeds the hard limit or
//! p_b exceeds mark_p.
//! Departures, as in ns-2.35: no packet is signalled while at most one is queued, and the count restarts when avg first
//! exceeds min_th. With use_mark_p_ (its default), ns-2.35 has no hard limit. There p_b is 1, which exceeds mark_p_, so
//! the packet is dropped all the same.
//! Defaults: Floyd's recommendations of 1997 and 2000, as in ns-2.35; `wait` as in ns-2.35. Computed defaults use the
//! rate at the start and do not follow later changes, as in ns-2.35.

use alloc::vec::Vec;
use crate::counting_unit::CountingUnit;
use crate::policy::{Aqm, Context, Env, Reason, Verdict};
use marqueue_core::params::ParamError;
use marqueue_core::{math, Packet, Rng, Time};

marqueue_core::params! {
    /// Parameters of RED.
    pub struct Params {
        /// Average queue below which no packet is signalled.
        min_th: Option<f64> { unit: Packets, range: 0.0 => 1e9, default: None, auto: "max(5, half of what 5 ms hold)", source: "Floyd 1997; ns-2.35 targetdelay_" },
        /// Average queue at which the probability reaches max_p.
        max_th: Option<f64> { unit: Packets, range: 0.0 => 1e9, default: None, auto: "3 min_th", source: "Floyd 1997" },
        /// Probability at max_th.
        max_p: f64 { unit: Fraction, range: 0.0 => 1.0, default: 0.1, source: "Floyd 1997" },
        /// Weight of a new sample in the average.
        w_q: Option<f64> { unit: Fraction, range: 0.0 => 1.0, default: None, auto: "1 - exp(-1/(10 R C)), R = max(0.1 s, 3 (delay + 1/C)), C in packets/s", source: "ns-2.35 q_weight_ -1" },
        /// Whether the probability rises from max_p at max_th to 1 at 2 max_th, instead of jumping to 1 at max_th.
        gentle: bool { default: true, source: "Floyd 2000" },
        /// Whether at least 1/p_b packets pass between two signals.
        wait: bool { default: true, source: "ns-2.35 wait_" },
        /// Above this p_b packets are dropped, also those that could be marked.
        mark_p: f64 { unit: Fraction, range: 0.0 => 1.0, default: 1.0, source: "RFC 3168, section 7; ns-2.35 mark_p_ has 0.1" },
        /// Unit of the queue; in bytes a packet's probability grows with its size.
        mode: CountingUnit { default: CountingUnit::Packets, source: "Floyd and Jacobson 1993, section 7" },
    }
}

impl Params {
    /// min_th and max_th (packets) and w_q; those that are not given are computed for a link of `per_sec` packets a second
    /// with a propagation delay of `delay` seconds.
    pub fn resolve(&self, per_sec: f64, delay: f64) -> (f64, f64, f64) {
        let min_th = self.min_th.unwrap_or_else(|| (0.005 * per_sec / 2.0).max(5.0));
        let max_th = self.max_th.unwrap_or(3.0 * min_th);
        let w_q = self.w_q.unwrap_or_else(|| {
            let rtt = (3.0 * (delay + 1.0 / per_sec)).max(0.1);
            1.0 - math::exp(-1.0 / (10.0 * rtt * per_sec))
        });
        (min_th, max_th, w_q)
    }
}

/// State of RED.
#[derive(Debug)]
pub struct Red {
    min_th: f64,
    max_th: f64,
    max_p: f64,
    mark_p: f64,
    avg: f64,
    /// Packets, or bytes in byte mode, since the last signal.
    count: f64,
    w_q: f64,
    /// 1 - w_q.
    keep: f64,
    gentle: bool,
    wait: bool,
    mode: CountingUnit,
    /// Was the average above `min_th` at the last arrival?
    above: bool,
    idle_since: Option<Time>,
}

impl Red {
    /// p_b: the probability before spreading.
    fn p_b(&self) -> f64 {
        let p = if self.avg < self.max_th {
            self.max_p * (self.avg - self.min_th) / (self.max_th - self.min_th)
        } else if self.gentle {
            self.max_p + (1.0 - self.max_p) * (self.avg - self.max_th) / self.max_th
        } else {
            1.0
        };
        p.clamp(0.0, 1.0)
    }

    /// Is `drawn`, a number in [0, 1), below p_a, the probability that spaces signals evenly? Both sides are multiplied
    /// by the denominator, because a division for each packet would be the largest cost here.
    #[inline(always)]
    fn falls_below_p_a(&self, drawn: f64, p_b: f64, packet: &Packet, mean_packet: f64) -> bool {
        let count = match self.mode {
            CountingUnit::Packets => self.count,
            CountingUnit::Bytes => math::floor(self.count / mean_packet),
        };
        let x = count * p_b;
        if self.wait && x < 1.0 {
            return false;
        }
        let left = if self.wait { 2.0 - x } else { 1.0 - x };
        let share = match self.mode {
            CountingUnit::Packets => 1.0,
            CountingUnit::Bytes => f64::from(packet.bytes()) / mean_packet,
        };
        left <= p_b || drawn * left < p_b * share
    }

    /// Updates the average for an arrival that finds the queue `seen`.
    pub(super) fn update_average(&mut self, cx: &Context<'_>, seen: QueueLength) {
        if let Some(since) = self.idle_since {
            self.end_idle_period(cx, since);
        }
        let q = self.mode.queue_length(seen.len, seen.bytes, cx.env.mean_packet);
        self.avg = self.keep * self.avg + self.w_q * q;
    }

    /// The average after an idle period.
    #[cold]
    fn end_idle_period(&mut self, cx: &Context<'_>, since: Time) {
        self.idle_since = None;
        let m = math::floor((cx.now - since).secs() * cx.env.rate.packets_per_sec(cx.env.mean_packet));
        self.avg *= math::powi(self.keep, m.min(f64::from(i32::MAX)) as i32);
    }

    /// Decides about the arriving packet by the average.
    #[inline(always)]
    pub(super) fn decide(&mut self, cx: &mut Context<'_>, packet: &Packet, seen: QueueLength) -> Verdict {
        let step = match self.mode {
            CountingUnit::Packets => 1.0,
            CountingUnit::Bytes => f64::from(packet.bytes()),
        };
        self.count += step;
        // ns-2.35 compares the queue, in its unit, with one.
        let hardly_any = match self.mode {
            CountingUnit::Packets => seen.len <= 1,
            CountingUnit::Bytes => seen.bytes <= 1,
        };
        let verdict = if self.avg < self.min_th || hardly_any {
            self.above = false;
            Verdict::Pass
        } else if self.avg >= self.hard_limit() {
            Verdict::Drop(Reason::Forced)
        } else if !self.above {
            self.above = true;
            self.count = step;
            Verdict::Pass
        } else {
            self.draw(cx, packet)
        };
        if verdict != Verdict::Pass || cx.is_full(packet) {
            self.count = 0.0;
        }
        verdict
    }

    /// Signals at random.
    #[inline(always)]
    fn draw(&self, cx: &mut Context<'_>, packet: &Packet) -> Verdict {
        let p_b = self.p_b();
        match self.falls_below_p_a(cx.rng.uniform(), p_b, packet, cx.env.mean_packet.0 as f64) {
            true if p_b > self.mark_p => Verdict::Drop(Reason::Early),
            true => Verdict::Mark(Reason::Early),
            false => Verdict::Pass,
        }
    }

    /// The average from which on every packet is dropped.
    pub(super) fn hard_limit(&self) -> f64 {
        if self.gentle {
            2.0 * self.max_th
        } else {
            self.max_th
        }
    }

    /// The average queue, packets.
    pub(super) fn average(&self) -> f64 {
        self.avg
    }

    /// max_p.
    pub(super) fn max_p(&self) -> f64 {
        self.max_p
    }

    /// Sets max_p.
    pub(super) fn set_max_p(&mut self, max_p: f64) {
        self.max_p = max_p;
    }

    /// The thresholds, packets.
    pub(super) fn thresholds(&self) -> (f64, f64) {
        (self.min_th, self.max_th)
    }

    /// p_b, zero below `min_th`.
    pub(super) fn probability(&self) -> f64 {
        if self.avg < self.min_th {
            0.0
        } else {
            self.p_b()
        }
    }
}

/// A queue length, from which an average is computed.
#[derive(Clone, Copy, Debug)]
pub(super) struct QueueLength {
    /// Packets.
    pub len: u32,
    /// Bytes.
    pub bytes: u64,
}

impl QueueLength {
    /// All queued packets.
    #[inline]
    pub fn all(cx: &Context<'_>) -> QueueLength {
        QueueLength { len: cx.packets(), bytes: cx.bytes() }
    }
}

impl Aqm for Red {
    const NAME: &'static str = "red";
    const SUMMARY: &'static str = "Signals at random, more often the longer the average queue";
    const SOURCE: &'static str = "Floyd and Jacobson, IEEE/ACM ToN 1(4), 1993; gentle: Floyd 2000";
    const PROBES: &'static [(&'static str, &'static str)] = &[("avg", "packets"), ("p", "fraction")];
    type Params = Params;

    fn new(p: &Params, env: &Env, _: &Rng, now: Time) -> Result<Self, ParamError> {
        let per_sec = env.rate.packets_per_sec(env.mean_packet);
        let (min_th, max_th, w_q) = p.resolve(per_sec, env.delay.secs());
        if max_th <= min_th {
            return Err(ParamError::new("max_th", format!("got {max_th} packets, expected more than min_th = {min_th} packets")));
        }
        Ok(Red {
            min_th,
            max_th,
            max_p: p.max_p,
            mark_p: p.mark_p,
            avg: 0.0,
            count: 0.0,
            w_q,
            keep: 1.0 - w_q,
            gentle: p.gentle,
            wait: p.wait,
            mode: p.mode,
            above: false,
            idle_since: Some(now),
        })
    }

    fn on_arrival(&mut self, cx: &mut Context<'_>, packet: &Packet) -> Verdict {
        let seen = QueueLength::all(cx);
        self.update_average(cx, seen);
        self.decide(cx, packet, seen)
    }

    fn on_idle(&mut self, now: Time) {
        self.idle_since.get_or_insert(now);
    }

    fn probe(&self, _: Time, _: &Env, out: &mut Vec<f64>) {
        out.extend([self.avg, self.probability()]);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::policy::{Limit, Signal};
    use marqueue_core::params::ParamSet;
    use marqueue_core::{Bytes, Dur, ParamValues, Rate, Value};

    fn env() -> Env {
        Env {
            rate: Rate(8_000_000),
            mean_packet: Bytes(500),
            limit: Limit::Packets(100),
            delay: Dur(20_000_000),
            signal: Signal::Ecn,
            densities: None,
        }
    }

    fn red(given: &[(&str, Value)]) -> Red {
        let values: ParamValues = given.iter().map(|(k, v)| (k.to_string(), v.clone())).collect();
        Red::new(&Params::from_values(&values).unwrap(), &env(), &Rng::named(1, "red"), Time::ZERO).unwrap()
    }

    #[test]
    fn computed_defaults_are_those_of_ns2() {
        // 2000 packets/s: 5 ms hold 10, half of that is 5; R = max(0.1, 3 (0.02 + 0.0005)) = 0.1 s.
        let red = red(&[]);
        assert_eq!((red.min_th, red.max_th), (5.0, 15.0));
        assert!((red.w_q - (1.0 - (-1.0f64 / 2000.0).exp())).abs() < 1e-15);
    }

    #[test]
    fn p_a_spreads_p_b_over_the_count() {
        // What is just below p_a falls below it, and what is just above does not.
        let is_p_a = |p: f64, wait, count, mode, bytes| {
            let mut red = red(&[("wait", Value::Flag(wait))]);
            (red.count, red.mode) = (count, mode);
            let below = |drawn| red.falls_below_p_a(drawn, 0.125, &Packet::data(0, 0, bytes), 500.0);
            (p == 0.0 || below(p * (1.0 - 1e-12))) && (p == 1.0 || !below(p * (1.0 + 1e-12)))
        };
        let packets = |p, wait, count| is_p_a(p, wait, count, CountingUnit::Packets, 1500);
        assert!(packets(0.125, false, 0.0));
        assert!(packets(0.25, false, 4.0));
        assert!(packets(1.0, false, 8.0));
        assert!(packets(0.0, true, 7.0));
        assert!(packets(0.125, true, 8.0));
        assert!(packets(0.25, true, 12.0));
        assert!(packets(1.0, true, 16.0));
        // Bytes: 2400 of them are four whole packets; then three times the chance for three times the size.
        assert!(is_p_a(0.75, false, 2400.0, CountingUnit::Bytes, 1500));
        assert!(is_p_a(0.025, false, 2400.0, CountingUnit::Bytes, 50));
    }
}
