//! The dual queue of Low Latency DOCSIS, without queue protection.
//!
//! DOCSIS 3.1 MULPI, annexes M (PIE), N (immediate AQM, coupling) and O (delays). The text was not at hand: the algorithm
//! and the numbers of clauses are those of `cablelabs/docsis-ns3`. RFC 9332 has the framework, RFC 8034 the PIE.
//! `docsis_dualq` adds queue protection.
//!
//! The low-latency queue has an immediate AQM: a packet is marked with max(p_native, p_CL) as it arrives, where p_native
//! is a ramp of the delay (queue + packet) / rate from 0 at MINTH to 1 at MAXTH. MINTH = max(MAXTH - 2^LGRANGE ns, FLOOR),
//! FLOOR is the time of two frames of the largest size, and MAXTH moves up with MINTH.
//! The Classic queue has DOCSIS-PIE with drops of probability p. The coupling is p_CL = min(k sqrt(p), 1).
//!
//! PIE's delay is the Classic queue over what the low-latency queue leaves of the rate, R - min(w R, its rate in the last
//! interval). The low-latency queue has the weight w = 230/256 in weighted round robin.
//!
//! Input: arrivals and both queues. Output: at arrival a mark, of reason `sojourn` by the ramp and `early` by coupling, or
//! a drop of a Classic packet. Classic packets are never marked, packets of the low-latency queue that are not ECN-capable
//! pass unmarked, and those that would exceed its own buffer are dropped.
//!
//! Departures:
//!
//! - The delay of the low-latency queue is that of the bytes in it. In a cable modem, which waits for grants, it is that
//!   of a virtual queue (annex O); there are no grants here.
//! - The link's buffer is shared by both queues, and PIE's third is a third of it.
//! - Packets have the size that they have on the link: no framing of Ethernet or DOCSIS is added.
//! - The scheduler is that of `dual_queue.rs`. docsis-ns3 serves downstream traffic by deficits, of 230/256 quantum and of
//!   1 quantum a round: as read there, 47 % of the rate for a backlogged low-latency queue, not 90 %.
//!
//! Defaults: DOCSIS 3.1 MULPI, annex C, as in `cablelabs/docsis-ns3`.

use alloc::vec::Vec;
use super::docsis_pie::{self, Control};
use crate::dual_queue::{CoupledAqm, DualContext, Order, Sharing, Side};
use crate::l4s_fields::L4sFields;
use crate::likelihood::{Likelihood, Signaller};
use crate::periodic_timer::PeriodicTimer;
use crate::policy::{Env, Reason, Verdict};
use marqueue_core::params::{whole, ParamError};
use marqueue_core::{math, Dur, Ecn, Packet, PerDscp, Rate, Rng, Time};

/// No threshold of the ramp is above 65.535 ms (annex O).
const LATEST: u64 = 65_535_000;
/// The low-latency queue's buffer holds at least so many of the largest frames (C.2.2.7.11.4).
const LEAST_FRAMES: f64 = 20.0;
/// Scheduling weights are numbers of 256ths.
const WHOLE_WEIGHT: f64 = 256.0;

marqueue_core::params! {
    /// Parameters of the low-latency queue and of the coupling.
    pub struct Params {
        /// MAXTH: delay of the low-latency queue from which all packets are marked.
        max_th: f64 { unit: Seconds, range: 0.0 => 0.065535, default: 0.001, source: "DOCSIS 3.1 MULPI, C.2.2.7.15.4: 1000 us" },
        /// LGRANGE: the ramp is 2 to this power nanoseconds wide.
        lg_range: f64 { unit: One, range: 0.0 => 25.0, default: 19.0, source: "DOCSIS 3.1 MULPI, C.2.2.7.15.5: 19, 524 us" },
        /// MAX_FRAME_SIZE: the ramp begins at least where two such frames take as long on this link.
        max_frame: f64 { unit: Bytes, range: 1.0 => 1e6, default: 2000.0, source: "DOCSIS 3.1 MULPI, annex N" },
        /// Coupling factor: k = 2 balances windows of Reno and Prague at equal round-trip times.
        k: f64 { unit: One, range: 0.1 => 25.5, default: 2.0, source: "DOCSIS 3.1 MULPI, C.2.2.7.17.5: 20 tenths" },
        /// CONFIG_BUFFER_SIZE: how much the low-latency queue holds, as time at the link's rate; at least 20 largest frames.
        l_buffer: f64 { unit: Seconds, range: 0.0 => 100.0, default: 0.01, source: "DOCSIS 3.1 MULPI, C.2.2.7.11.4, expression (3): 10 ms" },
    }
}

marqueue_core::params! {
    /// Parameters of the classifier and the scheduler.
    pub struct Aggregate {
        /// ECN fields of packets that join the low-latency queue.
        l4s: L4sFields { default: L4sFields::Ect1, source: "RFC 9331, section 5.1" },
        /// Code points whose packets join the low-latency queue (1) or the Classic queue (0), whatever their ECN field.
        sides: PerDscp { unit: One, range: 0.0 => 1.0, default: PerDscp::default(), source: "DOCSIS 3.1 MULPI: classifiers; docsis-ns3 has EF = 1" },
        /// Weight of the low-latency queue, in 256ths.
        scheduling_weight: f64 { unit: One, range: 1.0 => 255.0, default: 230.0, source: "DOCSIS 3.1 MULPI, C.2.2.7.17.6" },
    }
}

/// MINTH and MAXTH on a link.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Ramp {
    /// MINTH.
    min_th: Dur,
    /// MAXTH.
    pub(super) max_th: Dur,
}

impl Ramp {
    fn new(p: &Params, rate: Rate) -> Ramp {
        let floor = Dur::from_secs(2.0 * p.max_frame / rate.bytes_per_sec()).0.min(LATEST);
        let range = 1 << p.lg_range as u32;
        let min_th = Dur::from_secs(p.max_th).0.saturating_sub(range).max(floor);
        Ramp { min_th: Dur(min_th), max_th: Dur((min_th + range).min(LATEST)) }
    }

    /// calcProbNative().
    fn probability(&self, delay: Dur) -> f64 {
        if delay >= self.max_th {
            return 1.0;
        }
        let above = delay.0.saturating_sub(self.min_th.0);
        above as f64 / (self.max_th.0 - self.min_th.0).max(1) as f64
    }
}

/// What the immediate AQM knows of a packet that arrives at the low-latency queue.
pub(super) struct Immediate {
    /// The delay of the queue with this packet.
    pub(super) delay: Dur,
    /// The ramp on this link.
    pub(super) ramp: Ramp,
    /// p_native.
    pub(super) native: f64,
    /// Whether it is marked.
    pub(super) verdict: Verdict,
}

/// State of the dual queue.
#[derive(Debug)]
pub struct DocsisDualqUnprotected {
    params: Params,
    pie: Control,
    timer: PeriodicTimer,
    signaller: Signaller,
    /// w.
    weight: f64,
    /// Bytes that left the low-latency queue in this interval.
    l_bytes: u64,
    /// p_CL.
    coupled: f64,
    /// p_native of the last packet.
    native: f64,
    /// PIE's delay, s.
    delay: f64,
}

impl DocsisDualqUnprotected {
    /// A packet arrives at `now`, at either queue.
    pub(super) fn resume(&mut self, now: Time) {
        self.timer.resume(now);
    }

    /// The immediate AQM on a packet that arrives at the low-latency queue.
    #[inline]
    pub(super) fn immediate(&mut self, cx: &mut DualContext<'_>, packet: &Packet) -> Immediate {
        let ramp = Ramp::new(&self.params, cx.env.rate);
        let bytes = cx.l.bytes() + u64::from(packet.bytes());
        let delay = Dur::from_secs(bytes as f64 / cx.env.rate.bytes_per_sec());
        self.native = ramp.probability(delay);
        let marked = self.signaller.signals(self.native.max(self.coupled), cx.rng) && packet.ecn() != Ecn::NotEct;
        let verdict = match marked {
            true if self.native > self.coupled => Verdict::Mark(Reason::Sojourn),
            true => Verdict::Mark(Reason::Early),
            false => Verdict::Pass,
        };
        Immediate { delay, ramp, native: self.native, verdict }
    }

    /// Is there room in the low-latency queue's own buffer?
    pub(super) fn has_room(&self, cx: &DualContext<'_>) -> bool {
        let frame = self.params.max_frame;
        let buffer = (self.params.l_buffer * cx.env.rate.bytes_per_sec()).max(LEAST_FRAMES * frame);
        (cx.l.bytes() as f64) < buffer - frame
    }

    /// DOCSIS-PIE on a packet that joins the Classic queue: is it dropped?
    pub(super) fn drops(&mut self, cx: &mut DualContext<'_>, packet: &Packet) -> bool {
        if cx.is_full(packet) {
            self.pie.overflow();
            return false;
        }
        let buffer = cx.env.limit.bytes(cx.env.mean_packet);
        self.pie.drops(cx.rng, cx.c.bytes() as f64, buffer, packet.bytes())
    }

    /// qdelayCoupledC(), s.
    fn classic_delay(&self, cx: &DualContext<'_>) -> f64 {
        let rate = cx.env.rate.bytes_per_sec();
        let taken = (self.weight * rate).min(self.l_bytes as f64 / self.pie.interval());
        cx.c.bytes() as f64 / (rate - taken)
    }
}

impl CoupledAqm for DocsisDualqUnprotected {
    const NAME: &'static str = "docsis_dualq_unprotected";
    const SUMMARY: &'static str = "Dual queue of Low Latency DOCSIS: immediate AQM coupled with DOCSIS-PIE";
    const SOURCE: &'static str = "CableLabs, DOCSIS 3.1 MULPI, annexes M, N and O; White and Pan, RFC 8034, 2017";
    const PROBES: &'static [(&'static str, &'static str)] = &[
        ("p_classic", "fraction"),
        ("p_coupled", "fraction"),
        ("p_native", "fraction"),
        ("delay", "s"),
        ("l_queue", "packets"),
        ("c_queue", "packets"),
    ];
    type Params = (Params, docsis_pie::Params);
    type Sharing = Aggregate;

    fn sharing(given: &Aggregate) -> Result<Sharing, ParamError> {
        let weight = f64::from(whole("scheduling_weight", given.scheduling_weight)?) / WHOLE_WEIGHT;
        Ok(Sharing {
            l4s: given.l4s,
            sides: given.sides.clone(),
            scheduler: Order::Wrr,
            c_protection: 1.0 - weight,
            tshift: 0.0,
        })
    }

    fn new((p, pie): &Self::Params, sharing: &Sharing, _: &Env, _: &mut Rng, now: Time) -> Result<Self, ParamError> {
        whole("lg_range", p.lg_range)?;
        let pie = Control::new(pie)?;
        Ok(DocsisDualqUnprotected {
            timer: PeriodicTimer::new(now, Dur::from_secs(pie.interval())),
            pie,
            signaller: Signaller::new(Likelihood::Recurrent),
            weight: 1.0 - sharing.c_protection,
            l_bytes: 0,
            coupled: 0.0,
            native: 0.0,
            delay: 0.0,
            params: p.clone(),
        })
    }

    #[inline]
    fn on_arrival(&mut self, cx: &mut DualContext<'_>, side: Side, packet: &Packet) -> (Side, Verdict) {
        self.resume(cx.now);
        let verdict = match side {
            Side::L4s => {
                let immediate = self.immediate(cx, packet);
                if self.has_room(cx) { immediate.verdict } else { Verdict::Drop(Reason::Overflow) }
            }
            Side::Classic if self.drops(cx, packet) => Verdict::Drop(Reason::Early),
            Side::Classic => Verdict::Pass,
        };
        (side, verdict)
    }

    #[inline]
    fn on_departure(&mut self, _: &mut DualContext<'_>, side: Side, packet: &Packet, _: Dur) -> Verdict {
        if side == Side::L4s {
            self.l_bytes += u64::from(packet.bytes());
        }
        Verdict::Pass
    }

    fn next_timer(&self) -> Time {
        self.timer.due()
    }

    fn on_timer(&mut self, cx: &mut DualContext<'_>) {
        self.delay = self.classic_delay(cx);
        self.l_bytes = 0;
        let changed = self.pie.tick(self.delay);
        self.coupled = (self.params.k * math::sqrt(self.pie.p())).min(1.0);
        self.timer.tick(cx.l.is_empty() && cx.c.is_empty() && !changed);
    }

    fn probe(&self, _: &Env, out: &mut Vec<f64>) {
        out.extend([self.pie.p(), self.coupled, self.native, self.delay]);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use marqueue_core::params::ParamSet;
    use marqueue_core::ParamValues;

    fn ramp(max_th: f64, rate: u64) -> Ramp {
        let defaults = Params::from_values(&ParamValues::new()).unwrap();
        Ramp::new(&Params { max_th, ..defaults }, Rate(rate))
    }

    #[test]
    fn the_ramp_begins_at_the_time_of_two_frames_or_524_us_below_its_end() {
        // The two cases of cablelabs/docsis-ns3, test/dual-queue-coupled-aqm-test-suite.cc, at 50 Mbit/s: MAXTH = 1000 us
        // gives MINTH = FLOOR = 640 us, MAXTH = 2000 us gives 2000 - 524 = 1476 us, each within 1 us.
        for (max_th, min_th) in [(0.001, 640_000), (0.002, 1_476_000)] {
            let got = ramp(max_th, 50_000_000);
            assert!(got.min_th.0.abs_diff(min_th) < 1000, "{got:?}");
            assert_eq!(got.max_th.0 - got.min_th.0, 1 << 19);
        }
        // At 1 Gbit/s the ramp is as configured; at 100 kbit/s, where a frame takes 160 ms, all of it is at 65.535 ms.
        assert_eq!(ramp(0.001, 1_000_000_000), Ramp { min_th: Dur(475_712), max_th: Dur(1_000_000) });
        assert_eq!(ramp(0.001, 100_000), Ramp { min_th: Dur(LATEST), max_th: Dur(LATEST) });
        assert_eq!([0, LATEST - 1, LATEST].map(|ns| ramp(0.001, 100_000).probability(Dur(ns))), [0.0, 0.0, 1.0]);
    }

    #[test]
    fn the_ramp_is_linear() {
        let ramp = ramp(0.001, 1_000_000_000);
        let quarters = [0, 1, 2, 3, 4].map(|q| ramp.probability(Dur(475_712 + q * (1 << 17))));
        assert_eq!(quarters, [0.0, 0.25, 0.5, 0.75, 1.0]);
        assert_eq!(ramp.probability(Dur(1)), 0.0);
    }
}
