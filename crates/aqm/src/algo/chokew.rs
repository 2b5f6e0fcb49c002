//! CHOKeW: matched drops with priority weights.
//!
//! Wen, Fang and Sun, "Differentiated Bandwidth Allocation with TCP Protection in Core Routers", IEEE TPDS 20(1), 2009,
//! figures 1 and 2.
//!
//! L is the queue including the arrival. If L < L-, p0 <- max(0, p0 - p-); if L > L+, p0 <- p0 + p+.
//! An arrival of level k has p = p0/w(k) and m = floor(p), plus one with probability p - floor(p). If L > L_th, the
//! arrival is compared with up to m packets drawn at random. It is dropped together with the first of the same flow.
//!
//! Input: the queue at each arrival, flows of drawn packets, code points. Output: a drop (matched).
//!
//! The state is one number, p0, for any number of flows. Draws are with replacement.
//! Section 5.2's parallel form draws all m packets at once, compares them together and drops any one that matches. A
//! router drops the same with it: the first of independent draws that matches is as good as any, and what is drawn behind
//! it decides nothing. It is a matter of hardware, so that there is no parameter for it.
//! In byte mode the thresholds count bytes, packets are drawn in proportion to their size, and a larger arrival is
//! compared with more packets. This gives fairness in bytes, which the paper does not treat.
//! Defaults: section 4 of the paper. A code point without a weight has weight 1.

use alloc::vec::Vec;
use crate::counting_unit::CountingUnit;
use crate::policy::{Aqm, Context, Env, Reason, Verdict};
use marqueue_core::params::ParamError;
use marqueue_core::{Packet, PerDscp, Rng, Time};

marqueue_core::params! {
    /// Parameters of CHOKeW.
    pub struct Params {
        /// L_th: queue up to which no packet is drawn.
        l_th: f64 { unit: Packets, range: 0.0 => 1e9, default: 100.0, source: "Wen, Fang and Sun 2009, section 4" },
        /// L-: queue below which p0 falls.
        l_minus: f64 { unit: Packets, range: 0.0 => 1e9, default: 125.0, source: "Wen, Fang and Sun 2009, section 4" },
        /// L+: queue above which p0 rises.
        l_plus: f64 { unit: Packets, range: 0.0 => 1e9, default: 175.0, source: "Wen, Fang and Sun 2009, section 4" },
        /// p+: step up of p0 at an arrival.
        p_plus: f64 { unit: One, range: 0.0 => 100.0, default: 0.002, source: "Wen, Fang and Sun 2009, section 4" },
        /// p-: step down of p0 at an arrival.
        p_minus: f64 { unit: One, range: 0.0 => 100.0, default: 0.001, source: "Wen, Fang and Sun 2009, section 4" },
        /// w(k): priority weight by code point.
        weights: PerDscp { unit: One, range: 1.0 => 1e6, default: PerDscp::default(), source: "Wen, Fang and Sun 2009, section 2.1" },
        /// Unit of the queue; in bytes, packets are drawn by size and larger arrivals are compared with more packets.
        mode: CountingUnit { default: CountingUnit::Packets, source: "Wen, Fang and Sun 2009, section 4" },
    }
}

impl Params {
    /// L_th < L- < L+ (section 2.2).
    ///
    /// # Errors
    /// If it is not so: the parameter that is too small.
    pub fn check_order(&self) -> Result<(), ParamError> {
        let Params { l_th, l_minus, l_plus, .. } = *self;
        if l_th >= l_minus {
            let expected = format!("more than l_th = {l_th} packets (l_th < l_minus < l_plus)");
            return Err(ParamError::new("l_minus", format!("got {l_minus} packets, expected {expected}")));
        }
        if l_minus >= l_plus {
            let expected = format!("more than l_minus = {l_minus} packets (l_th < l_minus < l_plus)");
            return Err(ParamError::new("l_plus", format!("got {l_plus} packets, expected {expected}")));
        }
        Ok(())
    }
}

/// The drawing factor p0 and the draws, common to all variants of CHOKeW.
#[derive(Debug)]
pub(super) struct MatchedDrops {
    params: Params,
    /// By code point.
    weights: [f64; 64],
    p0: f64,
    /// The largest packet seen, bytes.
    largest: u32,
}

impl MatchedDrops {
    /// Names and units of the values of [`MatchedDrops::probe`].
    pub(super) const PROBES: &'static [(&'static str, &'static str)] = &[("p0", "1")];

    pub(super) fn new(params: &Params) -> Result<MatchedDrops, ParamError> {
        params.check_order()?;
        Ok(MatchedDrops { params: params.clone(), weights: params.weights.or(1.0), p0: 0.0, largest: 0 })
    }

    /// L: the queue with the arrival, packets.
    #[inline]
    pub(super) fn queue_with(&mut self, cx: &Context<'_>, packet: &Packet) -> f64 {
        self.largest = self.largest.max(packet.bytes());
        self.params.mode.queue_length(cx.packets() + 1, cx.bytes() + u64::from(packet.bytes()), cx.env.mean_packet)
    }

    /// Figure 2.
    #[inline]
    pub(super) fn adapt(&mut self, l: f64) {
        if l < self.params.l_minus {
            self.p0 = (self.p0 - self.params.p_minus).max(0.0);
        } else if l > self.params.l_plus {
            self.p0 += self.params.p_plus;
        }
    }

    /// Figure 1, steps 3 and 4: the largest number of packets that the arrival is compared with, 0 if the queue is too
    /// short.
    #[inline]
    pub(super) fn draw_count(&self, cx: &mut Context<'_>, packet: &Packet, l: f64) -> u32 {
        if l <= self.params.l_th {
            return 0;
        }
        let p = self.p0 / self.weights[usize::from(packet.dscp().value())];
        let p = self.params.mode.scale_probability(p, packet, cx.env.mean_packet);
        // The cast truncates, and saturates.
        let whole = p as u32;
        whole.saturating_add(u32::from(cx.rng.uniform() < p - f64::from(whole)))
    }

    /// Figure 1, step 5: draws up to `m` packets and drops the first of the arrival's flow; the caller drops the
    /// arrival.
    #[inline]
    pub(super) fn draw_match(&self, cx: &mut Context<'_>, packet: &Packet, m: u32) -> bool {
        let drawn = match self.params.mode {
            CountingUnit::Packets => cx.queue.draw_match(cx.rng, packet.flow(), m),
            CountingUnit::Bytes => cx.queue.draw_match_by_size(cx.rng, self.largest, packet.flow(), m),
        };
        drawn.map(|drawn| cx.evict(drawn, Reason::Matched)).is_some()
    }

    pub(super) fn probe(&self, out: &mut Vec<f64>) {
        out.push(self.p0);
    }
}

/// State of CHOKeW.
#[derive(Debug)]
pub struct ChokeW {
    draws: MatchedDrops,
}

impl Aqm for ChokeW {
    const NAME: &'static str = "chokew";
    const SUMMARY: &'static str = "Drops an arrival together with a drawn packet of the same flow, more often for lower weights";
    const SOURCE: &'static str = "Wen, Fang and Sun, IEEE TPDS 20(1), 2009";
    const PROBES: &'static [(&'static str, &'static str)] = MatchedDrops::PROBES;
    type Params = Params;

    fn new(p: &Params, _: &Env, _: &Rng, _: Time) -> Result<Self, ParamError> {
        Ok(ChokeW { draws: MatchedDrops::new(p)? })
    }

    fn on_arrival(&mut self, cx: &mut Context<'_>, packet: &Packet) -> Verdict {
        let l = self.draws.queue_with(cx, packet);
        self.draws.adapt(l);
        let m = self.draws.draw_count(cx, packet, l);
        if self.draws.draw_match(cx, packet, m) {
            return Verdict::Drop(Reason::Matched);
        }
        Verdict::Pass
    }

    fn probe(&self, _: Time, _: &Env, out: &mut Vec<f64>) {
        self.draws.probe(out);
    }
}
