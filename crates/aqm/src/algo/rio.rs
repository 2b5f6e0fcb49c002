//! RIO: RED with in and out.
//!
//! Clark and Fang, "Explicit Allocation of Best-Effort Packet Delivery Service", IEEE/ACM ToN 6(4), 1998.
//!
//! Two REDs share the queue. The one for `in` packets averages the queued `in` packets, the one for `out` packets
//! averages all queued packets.
//!
//! Input: the queue and its `in` packets at each arrival, idle periods. Output: as RED.
//! `in` packets are recognized by their code point; in the paper an edge router marks them.
//! Departures: an `in` arrival updates both averages, an `out` arrival that of all packets, as in the paper. In ns-2.35
//! an `out` arrival updates neither, so its average lags when there are few `in` packets.
//! Defaults: Wen, Fang and Sun 2008, section 4; `wait` as in RED.

use alloc::vec::Vec;
use super::red::{self, Red, QueueLength};
use crate::counting_unit::CountingUnit;
use crate::policy::{Aqm, Context, Env, Verdict};
use marqueue_core::params::ParamError;
use marqueue_core::{Dscp, Dur, Packet, Rng, Time};

marqueue_core::params! {
    /// Parameters of RIO.
    pub struct Params {
        /// Code point of `in` packets.
        in_dscp: Dscp { default: Dscp::parse("AF11").expect("a name"), source: "RFC 2597: the lowest drop precedence" },
        /// Average number of `in` packets below which none of them is signalled.
        in_min_th: f64 { unit: Packets, range: 0.0 => 1e9, default: 110.0, source: "Wen, Fang and Sun 2008, section 4" },
        /// Average number of `in` packets at which their probability reaches in_max_p.
        in_max_th: f64 { unit: Packets, range: 0.0 => 1e9, default: 210.0, source: "Wen, Fang and Sun 2008, section 4" },
        /// Probability of `in` packets at in_max_th.
        in_max_p: f64 { unit: Fraction, range: 0.0 => 1.0, default: 0.01, source: "Wen, Fang and Sun 2008, section 4" },
        /// Average queue below which no `out` packet is signalled.
        out_min_th: f64 { unit: Packets, range: 0.0 => 1e9, default: 100.0, source: "Wen, Fang and Sun 2008, section 4" },
        /// Average queue at which the probability of `out` packets reaches out_max_p.
        out_max_th: f64 { unit: Packets, range: 0.0 => 1e9, default: 200.0, source: "Wen, Fang and Sun 2008, section 4" },
        /// Probability of `out` packets at out_max_th.
        out_max_p: f64 { unit: Fraction, range: 0.0 => 1.0, default: 0.02, source: "Wen, Fang and Sun 2008, section 4" },
        /// Weight of a new sample in both averages.
        w_q: f64 { unit: Fraction, range: 0.0 => 1.0, default: 0.002, source: "Wen, Fang and Sun 2008, section 4" },
        /// Whether the probability rises from max_p at max_th to 1 at 2 max_th, instead of jumping to 1 at max_th.
        gentle: bool { default: true, source: "Wen, Fang and Sun 2008, section 4" },
        /// Whether at least 1/p_b packets pass between two signals.
        wait: bool { default: true, source: "ns-2.35 wait_" },
    }
}

/// State of RIO.
#[derive(Debug)]
pub struct Rio {
    in_dscp: Dscp,
    /// RED for `in` packets.
    in_red: Red,
    /// RED for `out` packets.
    out_red: Red,
    /// The queued `in` packets.
    queued_in: QueueLength,
}

impl Aqm for Rio {
    const NAME: &'static str = "rio";
    const SUMMARY: &'static str = "Two REDs in one queue: a mild one for `in` packets, a strict one for the rest";
    const SOURCE: &'static str = "Clark and Fang, IEEE/ACM ToN 6(4), 1998";
    const PROBES: &'static [(&'static str, &'static str)] =
        &[("avg_in", "packets"), ("avg", "packets"), ("p_in", "fraction"), ("p_out", "fraction")];
    type Params = Params;

    fn new(p: &Params, env: &Env, rng: &Rng, now: Time) -> Result<Self, ParamError> {
        let red = |prefix: &str, min_th, max_th, max_p| {
            let params = red::Params {
                min_th: Some(min_th),
                max_th: Some(max_th),
                max_p,
                w_q: Some(p.w_q),
                gentle: p.gentle,
                wait: p.wait,
                mark_p: 1.0,
                mode: CountingUnit::Packets,
            };
            Red::new(&params, env, rng, now).map_err(|e| ParamError::new(format!("{prefix}_{}", e.path), e.message))
        };
        Ok(Rio {
            in_dscp: p.in_dscp,
            in_red: red("in", p.in_min_th, p.in_max_th, p.in_max_p)?,
            out_red: red("out", p.out_min_th, p.out_max_th, p.out_max_p)?,
            queued_in: QueueLength { len: 0, bytes: 0 },
        })
    }

    fn on_arrival(&mut self, cx: &mut Context<'_>, packet: &Packet) -> Verdict {
        let all = QueueLength::all(cx);
        self.out_red.update_average(cx, all);
        if packet.dscp() != self.in_dscp {
            return self.out_red.decide(cx, packet, all);
        }
        self.in_red.update_average(cx, self.queued_in);
        let verdict = self.in_red.decide(cx, packet, self.queued_in);
        let is_queued = match verdict {
            Verdict::Pass | Verdict::Signal => true,
            Verdict::Mark(_) => !cx.mark_drops(packet),
            Verdict::Drop(_) | Verdict::Congest(_) => false,
        };
        if is_queued && !cx.is_full(packet) {
            self.queued_in.len += 1;
            self.queued_in.bytes += u64::from(packet.bytes());
        }
        verdict
    }

    fn on_departure(&mut self, _: &mut Context<'_>, packet: &Packet, _: Dur) -> Verdict {
        if packet.dscp() == self.in_dscp {
            self.queued_in.len -= 1;
            self.queued_in.bytes -= u64::from(packet.bytes());
        }
        Verdict::Pass
    }

    fn on_idle(&mut self, now: Time) {
        self.in_red.on_idle(now);
        self.out_red.on_idle(now);
    }

    fn probe(&self, _: Time, _: &Env, out: &mut Vec<f64>) {
        out.extend([self.in_red.average(), self.out_red.average(), self.in_red.probability(), self.out_red.probability()]);
    }
}
