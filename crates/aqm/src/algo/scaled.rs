//! Scaled marking: a marking curve whose thresholds and buffer grow slowly with the number of flows.
//!
//! Eun and Wang, "Achieving 100% Throughput in TCP/AQM Under Aggressive Packet Marking With Small Buffer", IEEE/ACM ToN
//! 16(4), 2008, sections II-B and V-A.
//!
//! An arrival that finds x packets in the queue is signalled with probability p_N(x), where p_N(N^a x) = p(x) and p is
//! any [`MarkingCurve`]. An arrival that finds q N^b packets is dropped.
//!
//! Input: arrivals, the instantaneous queue. Output: a mark, at random, or a drop beyond its own buffer.
//! The paper computes the buffer from N; a link has a buffer of its own. A packet is dropped when either is full. A
//! warning says if the link's buffer is smaller than q N^b, because then the paper's scaling does not hold.
//! Departures: none. The paper's buffer of 12 N^(a + eps) packets is rounded to a whole number.
//! Defaults: RED1 of Table I, which averages the queue with weight 1, that is, not at all. The paper gives no source
//! for min_th, max_th, max_p and buffer.

use alloc::{string::String, vec::Vec};
use crate::policy::{Aqm, Context, Env, Limit, Reason, Verdict};
use marqueue_core::params::ParamError;
use marqueue_core::{MarkingCurve, Packet, Rng, ScaledCurve, Time};

marqueue_core::params! {
    /// Parameters of scaled marking.
    pub struct Params {
        /// Probability of a signal by queue length in packets, for one flow.
        curve: MarkingCurve { default: MarkingCurve::parse("red:2:10:0.2").expect("RED1"), source: "Eun and Wang 2008, Table I, RED1" },
        /// Number of flows N that thresholds and buffer are scaled to.
        flows: f64 { unit: One, range: 1.0 => 1e12, default: 100.0, source: "none: depends on the traffic" },
        /// Exponent a of the thresholds, which grow as N^a.
        a: f64 { unit: One, range: 0.0 => 1.0, default: 0.2, source: "Eun and Wang 2008, Table I" },
        /// Exponent of the buffer, which grows as N^b.
        b: Option<f64> { unit: One, range: 0.0 => 1.0, default: None, auto: "a + 0.1, but at most 1", source: "Eun and Wang 2008, section V: eps = 0.1" },
        /// Buffer of one flow, q; packets are dropped when q N^b are queued.
        buffer: f64 { unit: Packets, range: 1.0 => 1e9, default: 12.0, source: "Eun and Wang 2008, Table I" },
    }
}

/// State of scaled marking.
#[derive(Debug)]
pub struct Scaled {
    scale: ScaledCurve,
    buffer: Limit,
    /// The probability at the last arrival.
    p: f64,
}

impl Aqm for Scaled {
    const NAME: &'static str = "scaled";
    const SUMMARY: &'static str = "Signals at random by any curve of the queue, scaled with the number of flows";
    const SOURCE: &'static str = "Eun and Wang, IEEE/ACM ToN 16(4), 2008";
    const PROBES: &'static [(&'static str, &'static str)] = &[("p", "fraction")];
    type Params = Params;

    fn new(params: &Params, _: &Env, _: &Rng, _: Time) -> Result<Self, ParamError> {
        let b = params.b.unwrap_or((params.a + 0.1).min(1.0));
        let scale = ScaledCurve::new(params.curve.clone(), params.flows, params.a, b, params.buffer);
        Ok(Scaled { buffer: Limit::Packets(scale.buffer()), scale, p: 0.0 })
    }

    #[inline]
    fn on_arrival(&mut self, cx: &mut Context<'_>, packet: &Packet) -> Verdict {
        self.p = self.scale.p(f64::from(cx.packets()));
        if self.buffer.overflows(cx.packets(), cx.bytes(), packet.bytes()) {
            Verdict::Drop(Reason::Overflow)
        } else if self.p > 0.0 && cx.rng.uniform() < self.p {
            Verdict::Mark(Reason::Early)
        } else {
            Verdict::Pass
        }
    }

    fn probe(&self, _: Time, _: &Env, out: &mut Vec<f64>) {
        out.push(self.p);
    }

    fn warning(&self, env: &Env) -> Option<String> {
        let (own, links) = (self.scale.buffer(), env.limit.packets(env.mean_packet));
        let short = (links < f64::from(own))
            .then(|| format!("its buffer holds {links:.0} packets, less than the {own} that the scale asks for"));
        let said: Vec<_> = self.scale.warning().into_iter().chain(short).collect();
        (!said.is_empty()).then(|| said.join("; "))
    }
}
