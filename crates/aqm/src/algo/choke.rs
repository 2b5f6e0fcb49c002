//! CHOKe: choose and keep, choose and kill.
//!
//! Pan, Prabhakar and Psounis, "CHOKe, a Stateless Active Queue Management Scheme for Approximating Fair Bandwidth
//! Allocation", IEEE INFOCOM 2000.
//!
//! While RED's average is above min_th, each arrival is compared with packets drawn at random from the queue. If one is
//! of the same flow, both are dropped. RED decides about an arrival without a match.
//!
//! Input: the queue at each arrival, flows of drawn packets. Output: a drop (matched), else as RED.
//! Defaults: one draw, as in the paper; the others are those of RED.

use alloc::vec::Vec;
use super::red::{self, Red, QueueLength};
use crate::policy::{Aqm, Context, Env, Reason, Verdict};
use marqueue_core::params::{whole, ParamError};
use marqueue_core::{Packet, Rng, Time};

marqueue_core::params! {
    /// Additions to RED's parameters.
    pub struct DrawParams {
        /// Number of packets that each arrival is compared with.
        draws: f64 { unit: Packets, range: 1.0 => 1000.0, default: 1.0, source: "Pan, Prabhakar and Psounis 2000, section II" },
    }
}

/// Parameters: the number of draws and RED's.
pub type Params = (DrawParams, red::Params);

/// State of CHOKe.
#[derive(Debug)]
pub struct Choke {
    red: Red,
    draws: u32,
}

impl Aqm for Choke {
    const NAME: &'static str = "choke";
    const SUMMARY: &'static str = "RED; drops an arrival together with a packet drawn from the queue if both are of the same flow";
    const SOURCE: &'static str = "Pan, Prabhakar and Psounis, IEEE INFOCOM 2000";
    const PROBES: &'static [(&'static str, &'static str)] = Red::PROBES;
    type Params = Params;

    fn new((draw, red): &Params, env: &Env, rng: &Rng, now: Time) -> Result<Self, ParamError> {
        Ok(Choke { red: Red::new(red, env, rng, now)?, draws: whole("draws", draw.draws)? })
    }

    fn on_arrival(&mut self, cx: &mut Context<'_>, packet: &Packet) -> Verdict {
        let seen = QueueLength::all(cx);
        self.red.update_average(cx, seen);
        if self.red.average() > self.red.thresholds().0 {
            if let Some(drawn) = cx.queue.draw_match(cx.rng, packet.flow(), self.draws) {
                cx.evict(drawn, Reason::Matched);
                return Verdict::Drop(Reason::Matched);
            }
        }
        self.red.decide(cx, packet, seen)
    }

    fn on_idle(&mut self, now: Time) {
        self.red.on_idle(now);
    }

    fn probe(&self, now: Time, env: &Env, out: &mut Vec<f64>) {
        self.red.probe(now, env, out);
    }
}
