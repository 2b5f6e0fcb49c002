//! DualPI2: an L4S queue and a Classic queue under coupled AQMs.
//!
//! RFC 9332, appendix A: figures 2 (parameters), 3 (enqueue), 4 and 7 (dequeue), 5 (native L4S AQM), 6 and 8 (update);
//! sections 2.5.1.1 (packets in the other queue) and 4.2.3 (overload). The queues and their scheduler are in
//! `dual_queue.rs`, the controller in `base_pi.rs`.
//!
//! Every t_update p' <- p' + alpha (d - target) + beta (d - d'), where d is the age of the oldest packet of both queues.
//! Classic packets are signalled with p_C = p'^2. L4S packets are marked with p_L = max(p'_L, p_CL): p_CL = k p' couples
//! the queues, and the native p'_L is a ramp of the packet's sojourn time from 0 at min_th to 1 at min_th + range.
//!
//! Input: both queues' heads at regular times, departures with their sojourn times. Output: at departure a mark, of
//! reason `sojourn` by the ramp and `early` by coupling, evenly spaced or random. Once k p' reaches 1 (overload), drops
//! of reason `forced`: L4S packets with p_C, Classic packets that are signalled, ECN-capable or not.
//!
//! Departures:
//!
//! - p_CL is at most 1. In figure 7 it is k p' also above; with recur() the sum would grow in overload, and all L4S packets
//!   would be marked for as long again after it.
//! - p'_L depends on the sojourn time of the departing packet, and th_len counts this packet. Figure 7 asks lq.time() and
//!   lq.len() after the packet was removed, but its comment and the text speak of a queue that holds one packet.
//! - In the L4S queue, packets that an operator's code point brought there, ECT(0) or not ECN-capable, are signalled with
//!   (p_L / k)^2, the Classic probability of that p_L (2.5.1.1); ECT(1) in the Classic queue with p_CL.
//! - The buffer is the link's, shared by both queues. Figure 3 leaves room for one MTU; here a packet must fit.
//!
//! Linux's signals at arrival (drop_early) and its splitting of aggregates are absent.
//! Defaults: RFC 9332, figure 2. Linux: t_update = 16 ms, alpha = 0.16, beta = 3.2, likelihood = "random", a step
//! (min_th = 1 ms, range = 0, th_len = 0) and exempt = 2.

use alloc::{string::String, vec::Vec};
use crate::base_pi::{BasePi, Gains};
use crate::dual_queue::{CoupledAqm, DualContext, Sharing, Side};
use crate::l4s_fields::L4sFields;
use crate::likelihood::{Likelihood, Signaller};
use crate::periodic_timer::PeriodicTimer;
use crate::policy::{Env, Reason, Verdict};
use marqueue_core::params::ParamError;
use marqueue_core::{Dur, Packet, Rng, Time};

marqueue_core::choice! {
    /// What happens when the coupled probability reaches 1.
    pub enum Overload {
        /// Packets of both queues are dropped with the Classic probability, so that delay stays at the target.
        Drop = "drop",
        /// Probabilities stay where they are: delay grows until the buffer overflows.
        Delay = "delay",
    }
}

marqueue_core::params! {
    /// Parameters of DualPI2 besides the gains, the classifier and the scheduler.
    pub struct Params {
        /// Coupling factor: k = 2 balances windows of Reno and Prague at equal round-trip times.
        k: f64 { unit: One, range: 0.1 => 100.0, default: 2.0, source: "RFC 9332, figure 2, and appendix C" },
        /// minTh: sojourn time at which the L4S ramp begins.
        min_th: f64 { unit: Seconds, range: 0.0 => 100.0, default: 0.0008, source: "RFC 9332, figure 2: 800 us" },
        /// Width of the ramp; 0 makes it a step.
        range: f64 { unit: Seconds, range: 0.0 => 100.0, default: 0.0004, source: "RFC 9332, figure 2: 400 us" },
        /// The ramp begins at least where so many usual packets take as long on this link; 0: at min_th.
        floor: f64 { unit: Packets, range: 0.0 => 1e6, default: 0.0, source: "RFC 9332, appendix A.2: 2 MTU in DOCSIS" },
        /// Th_len: the ramp marks no packet of a queue of at most this many, the departing one included.
        th_len: f64 { unit: Packets, range: 0.0 => 1e9, default: 1.0, source: "RFC 9332, figure 2" },
        /// A step in packets in place of the ramp: a departing packet is marked if it leaves more than this many behind.
        step_packets: Option<f64> { unit: Packets, range: 0.0 => 1e9, default: None, auto: "off", source: "Linux dualpi2 step_thresh in packets" },
        /// Overload: drop from both queues, or let the delay grow.
        overload: Overload { default: Overload::Drop, source: "RFC 9332, section 4.2.3; Linux dualpi2 drop_overload" },
        /// How probabilities become signals.
        likelihood: Likelihood { default: Likelihood::Recurrent, source: "RFC 9332, figure 4: recur(); random: Linux dualpi2" },
        /// No coupled or Classic signal while the queues together hold fewer usual packets' bytes.
        exempt: f64 { unit: Packets, range: 0.0 => 1e6, default: 0.0, source: "RFC 9332, appendix A.1: 2 in Linux" },
    }
}

/// State of DualPI2.
#[derive(Debug)]
pub struct DualPi2 {
    params: Params,
    l4s: L4sFields,
    pi: BasePi,
    timer: PeriodicTimer,
    min_th: Dur,
    range: f64,
    /// p_CL = min(k p', 1).
    coupled: f64,
    /// p_C = p'^2.
    classic: f64,
    /// p_Cmax.
    most_classic: f64,
    l: Signaller,
    c: Signaller,
}

impl DualPi2 {
    /// Figure 5 and lines 5a to 5d of figure 7: p'_L of a packet that has left `behind` packets in the L4S queue.
    fn native(&self, env: &Env, sojourn: Dur, behind: u32) -> f64 {
        let behind = f64::from(behind);
        if let Some(step) = self.params.step_packets {
            return f64::from(u8::from(behind > step));
        }
        if behind + 1.0 <= self.params.th_len {
            return 0.0;
        }
        let floor = if self.params.floor > 0.0 { self.params.floor / env.rate.packets_per_sec(env.mean_packet) } else { 0.0 };
        let min_th = self.min_th.max(Dur::from_secs(floor));
        if sojourn <= min_th {
            return 0.0;
        }
        let above = Dur(sojourn.0 - min_th.0).secs();
        if above >= self.range {
            1.0
        } else {
            above / self.range
        }
    }

    fn on_l4s(&mut self, cx: &mut DualContext<'_>, packet: &Packet, sojourn: Dur, coupled: f64) -> Verdict {
        if coupled >= 1.0 && self.params.overload == Overload::Drop {
            if self.l.signals(self.classic, cx.rng) {
                return Verdict::Drop(Reason::Forced);
            }
            return match self.l.signals(coupled, cx.rng) {
                true => Verdict::Mark(Reason::Early),
                false => Verdict::Pass,
            };
        }
        let native = self.native(cx.env, sojourn, cx.l.len());
        let p = native.max(coupled);
        let classic = p / self.params.k;
        let p = if self.l4s.has(packet.ecn()) { p } else { (classic * classic).min(1.0) };
        match self.l.signals(p, cx.rng) {
            true if native > coupled => Verdict::Mark(Reason::Sojourn),
            true => Verdict::Mark(Reason::Early),
            false => Verdict::Pass,
        }
    }

    fn on_classic(&mut self, cx: &mut DualContext<'_>, packet: &Packet, coupled: f64, classic: f64) -> Verdict {
        let p = if self.l4s.has(packet.ecn()) { coupled } else { classic };
        match self.c.signals(p, cx.rng) {
            true if classic >= self.most_classic && self.params.overload == Overload::Drop => Verdict::Drop(Reason::Forced),
            true => Verdict::Mark(Reason::Early),
            false => Verdict::Pass,
        }
    }
}

impl CoupledAqm for DualPi2 {
    const NAME: &'static str = "dualpi2";
    const SUMMARY: &'static str = "Two queues, one of low latency for L4S senders, with coupled PI2 and ramp";
    const SOURCE: &'static str = "De Schepper, Briscoe and White, RFC 9332, 2023, appendix A";
    const PROBES: &'static [(&'static str, &'static str)] = &[
        ("p_base", "fraction"),
        ("p_classic", "fraction"),
        ("p_coupled", "fraction"),
        ("delay", "s"),
        ("l_queue", "packets"),
        ("c_queue", "packets"),
    ];
    type Params = (Gains, Params);
    type Sharing = Sharing;

    fn sharing(given: &Sharing) -> Result<Sharing, ParamError> {
        Ok(given.clone())
    }

    fn new(
        (gains, p): &Self::Params,
        sharing: &Sharing,
        _: &Env,
        _: &mut Rng,
        now: Time,
    ) -> Result<Self, ParamError> {
        let highest = match p.overload {
            Overload::Drop => 1.0,
            Overload::Delay => (1.0 / p.k).min(1.0),
        };
        Ok(DualPi2 {
            l4s: sharing.l4s,
            pi: BasePi::new(gains, highest)?,
            timer: PeriodicTimer::new(now, Dur::from_secs(gains.resolve().0)),
            min_th: Dur::from_secs(p.min_th),
            range: p.range,
            coupled: 0.0,
            classic: 0.0,
            most_classic: (1.0 / (p.k * p.k)).min(1.0),
            l: Signaller::new(p.likelihood),
            c: Signaller::new(p.likelihood),
            params: p.clone(),
        })
    }

    #[inline]
    fn on_arrival(&mut self, cx: &mut DualContext<'_>, side: Side, _: &Packet) -> (Side, Verdict) {
        self.timer.resume(cx.now);
        (side, Verdict::Pass)
    }

    #[inline]
    fn on_departure(&mut self, cx: &mut DualContext<'_>, side: Side, packet: &Packet, sojourn: Dur) -> Verdict {
        let queued = (cx.l.bytes() + cx.c.bytes() + u64::from(packet.bytes())) as f64;
        let exempt = queued < self.params.exempt * cx.env.mean_packet.0 as f64;
        let (coupled, classic) = if exempt { (0.0, 0.0) } else { (self.coupled, self.classic) };
        match side {
            Side::L4s => self.on_l4s(cx, packet, sojourn, coupled),
            Side::Classic => self.on_classic(cx, packet, coupled, classic),
        }
    }

    fn next_timer(&self) -> Time {
        self.timer.due()
    }

    fn on_timer(&mut self, cx: &mut DualContext<'_>) {
        let before = self.pi.state();
        let delay = cx.c.age(cx.now).max(cx.l.age(cx.now));
        self.pi.update(delay.secs());
        let p = self.pi.p();
        (self.coupled, self.classic) = ((self.params.k * p).min(1.0), p * p);
        let empty = cx.l.is_empty() && cx.c.is_empty();
        self.timer.tick(empty && before == self.pi.state());
    }

    fn warning(&self, env: &Env) -> Option<String> {
        self.pi.warning(env)
    }

    fn probe(&self, _: &Env, out: &mut Vec<f64>) {
        let (p, delay) = self.pi.state();
        out.extend([p, self.classic, self.coupled, delay]);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::algo::Discipline;
    use crate::policy::{Limit, Signal};
    use marqueue_core::params::ParamSet;
    use marqueue_core::{Bytes, ParamValues, PolicySpec, Rate, Value};

    fn env(rate: u64, mean_packet: u64) -> Env {
        Env {
            rate: Rate(rate),
            mean_packet: Bytes(mean_packet),
            limit: Limit::Packets(1000),
            delay: Dur::ZERO,
            signal: Signal::Ecn,
            densities: None,
        }
    }

    fn values(given: &[(&str, f64)]) -> ParamValues {
        given.iter().map(|(k, v)| (k.to_string(), Value::Number(*v))).collect()
    }

    fn dualpi2(given: &[(&str, f64)]) -> DualPi2 {
        let params = <(Gains, Params)>::from_values(&values(given)).unwrap();
        let sharing = Sharing::from_values(&ParamValues::new()).unwrap();
        DualPi2::new(&params, &sharing, &env(8_000_000, 1000), &mut Rng::named(1, "q"), Time::ZERO).unwrap()
    }

    #[test]
    fn the_ramp_is_that_of_figure_5() {
        let (aqm, env) = (dualpi2(&[]), env(100_000_000, 1000));
        let p = |us: u64| aqm.native(&env, Dur(us * 1000), 5);
        assert_eq!([p(0), p(800), p(1200), p(2000)], [0.0, 0.0, 1.0, 1.0]);
        assert!((p(900) - 0.25).abs() < 1e-12 && (p(1000) - 0.5).abs() < 1e-12);
        // Th_len: a queue of one packet is not marked.
        assert_eq!(aqm.native(&env, Dur(2_000_000), 0), 0.0);
        assert_eq!(aqm.native(&env, Dur(2_000_000), 1), 1.0);
    }

    #[test]
    fn a_range_of_zero_is_a_step() {
        let (aqm, env) = (dualpi2(&[("range", 0.0), ("min_th", 0.001)]), env(100_000_000, 1000));
        assert_eq!(aqm.native(&env, Dur(1_000_000), 5), 0.0);
        assert_eq!(aqm.native(&env, Dur(1_000_001), 5), 1.0);
        let aqm = dualpi2(&[("step_packets", 3.0)]);
        assert_eq!([3, 4].map(|behind| aqm.native(&env, Dur(0), behind)), [0.0, 1.0]);
    }

    #[test]
    fn the_floor_shifts_the_ramp_on_slow_links() {
        // Two packets of 2000 bytes at 50 Mbit/s take 640 us, less than 800 us; at 20 Mbit/s 1600 us.
        let aqm = dualpi2(&[("floor", 2.0), ("min_th", 0.0004)]);
        let first = |rate| (0..4000).find(|us| aqm.native(&env(rate, 2000), Dur(us * 1000), 5) > 0.0);
        assert_eq!([50_000_000, 20_000_000, 1_000_000_000].map(first), [Some(641), Some(1601), Some(401)]);
    }

    #[test]
    fn a_coupling_factor_of_zero_and_other_sides_are_refused() {
        let refusal = |params: ParamValues| {
            let spec = PolicySpec { name: "dualpi2".into(), params };
            Discipline::build(&spec, env(8_000_000, 1000), Rng::named(1, "q")).map(|_| ()).unwrap_err().to_string()
        };
        assert_eq!(refusal(values(&[("k", 0.0)])), "k: got 0, expected a number between 0.1 and 100 (unit: 1)");
        let half = Value::Table([("EF".to_string(), 0.5)].into());
        let expected = "sides: got 0.5, expected 1 (the L4S queue) or 0 (the Classic queue) for each code point";
        assert_eq!(refusal([("sides".to_string(), half)].into()), expected);
    }
}
