//! The dual queue of Low Latency DOCSIS: low-latency and Classic traffic, coupled, with queue protection.
//!
//! DOCSIS 3.1 MULPI, annexes M, N, O and P; RFC 9957 for queue protection. `docsis_dualq_unprotected` has the law and its
//! departures, `queue_protection.rs` the score.
//!
//! A packet that arrives at the low-latency queue while its delay is critical joins the Classic queue if its flow has built
//! enough of that delay: delay x score > MAXTH x 4 ms.
//!
//! Input: as without protection, and the flows of packets. Output: the same; a sanctioned packet keeps the mark that it may
//! have got and is subject to DOCSIS-PIE, as in `cablelabs/docsis-ns3`. Packets of a flow may overtake sanctioned ones.
//! Departures: those of both parts.
//! Defaults: DOCSIS 3.1 MULPI, annex C.

use alloc::vec::Vec;
use super::docsis_dualq_unprotected::{Aggregate, DocsisDualqUnprotected, Immediate};
use crate::dual_queue::{CoupledAqm, DualContext, Sharing, Side};
use crate::policy::{Env, Reason, Verdict};
use crate::queue_protection::{self, QueueProtection};
use marqueue_core::params::ParamError;
use marqueue_core::{Dur, Packet, Rng, Time};

/// State of the dual queue with its protection.
#[derive(Debug)]
pub struct DocsisDualq {
    dual: DocsisDualqUnprotected,
    protection: QueueProtection,
    /// Packets that were sanctioned since the start.
    sanctioned: u64,
}

impl CoupledAqm for DocsisDualq {
    const NAME: &'static str = "docsis_dualq";
    const SUMMARY: &'static str = "Dual queue of Low Latency DOCSIS with queue protection";
    const SOURCE: &'static str =
        "CableLabs, DOCSIS 3.1 MULPI, annexes M to P; Briscoe and White, RFC 9957, 2026; White and Pan, RFC 8034, 2017";
    const PROBES: &'static [(&'static str, &'static str)] = &[
        ("p_classic", "fraction"),
        ("p_coupled", "fraction"),
        ("p_native", "fraction"),
        ("delay", "s"),
        ("sanctioned", "packets"),
        ("l_queue", "packets"),
        ("c_queue", "packets"),
    ];
    type Params = (<DocsisDualqUnprotected as CoupledAqm>::Params, queue_protection::Params);
    type Sharing = Aggregate;

    fn sharing(given: &Aggregate) -> Result<Sharing, ParamError> {
        DocsisDualqUnprotected::sharing(given)
    }

    fn new(
        (dual, protection): &Self::Params,
        sharing: &Sharing,
        env: &Env,
        rng: &mut Rng,
        now: Time,
    ) -> Result<Self, ParamError> {
        Ok(DocsisDualq {
            dual: DocsisDualqUnprotected::new(dual, sharing, env, rng, now)?,
            protection: QueueProtection::new(protection, rng)?,
            sanctioned: 0,
        })
    }

    #[inline]
    fn on_arrival(&mut self, cx: &mut DualContext<'_>, side: Side, packet: &Packet) -> (Side, Verdict) {
        if side == Side::Classic {
            return self.dual.on_arrival(cx, side, packet);
        }
        self.dual.resume(cx.now);
        let Immediate { delay, ramp, native, verdict } = self.dual.immediate(cx, packet);
        let judgement = self.protection.judge(cx.now, packet.flow(), packet.bytes(), delay, native, ramp.max_th);
        if judgement.sanctioned {
            self.sanctioned += 1;
            let dropped = self.dual.drops(cx, packet);
            return (Side::Classic, if dropped { Verdict::Drop(Reason::Early) } else { verdict });
        }
        (side, if self.dual.has_room(cx) { verdict } else { Verdict::Drop(Reason::Overflow) })
    }

    #[inline]
    fn on_departure(&mut self, cx: &mut DualContext<'_>, side: Side, packet: &Packet, sojourn: Dur) -> Verdict {
        self.dual.on_departure(cx, side, packet, sojourn)
    }

    fn next_timer(&self) -> Time {
        self.dual.next_timer()
    }

    fn on_timer(&mut self, cx: &mut DualContext<'_>) {
        self.dual.on_timer(cx);
    }

    fn probe(&self, env: &Env, out: &mut Vec<f64>) {
        self.dual.probe(env, out);
        out.push(self.sanctioned as f64);
    }
}
