//! CHOKeW-avg: CHOKeW by the average queue.
//!
//! Wen, Fang and Sun 2009, section 4.
//!
//! avg <- (1 - w_q) avg + w_q L at each arrival replaces L in figures 1 and 2.
//!
//! Input: the queue at each arrival, flows of drawn packets, code points. Output: a drop (matched).
//! Departures: the paper does not treat idle periods; here they do not change the average.
//! Defaults: w_q is that of the paper's RED.

use alloc::vec::Vec;
use super::chokew::{self, MatchedDrops};
use crate::policy::{Aqm, Context, Env, Reason, Verdict};
use marqueue_core::params::ParamError;
use marqueue_core::{Packet, Rng, Time};

marqueue_core::params! {
    /// Additions to CHOKeW's parameters.
    pub struct AverageParams {
        /// Weight of a new sample in the average.
        w_q: f64 { unit: Fraction, range: 0.0 => 1.0, default: 0.002, source: "Wen, Fang and Sun 2009, section 4 (RED)" },
    }
}

/// Parameters: CHOKeW's and the weight of the average.
pub type Params = (chokew::Params, AverageParams);

/// State of CHOKeW with an average.
#[derive(Debug)]
pub struct ChokeWAvg {
    draws: MatchedDrops,
    w_q: f64,
    avg: f64,
}

impl Aqm for ChokeWAvg {
    const NAME: &'static str = "chokew_avg";
    const SUMMARY: &'static str = "CHOKeW that goes by the average queue";
    const SOURCE: &'static str = "Wen, Fang and Sun, IEEE TPDS 20(1), 2009, section 4";
    const PROBES: &'static [(&'static str, &'static str)] = &[("p0", "1"), ("avg", "packets")];
    type Params = Params;

    fn new((chokew, average): &Params, _: &Env, _: &Rng, _: Time) -> Result<Self, ParamError> {
        Ok(ChokeWAvg { draws: MatchedDrops::new(chokew)?, w_q: average.w_q, avg: 0.0 })
    }

    fn on_arrival(&mut self, cx: &mut Context<'_>, packet: &Packet) -> Verdict {
        self.avg = (1.0 - self.w_q) * self.avg + self.w_q * self.draws.queue_with(cx, packet);
        self.draws.adapt(self.avg);
        let m = self.draws.draw_count(cx, packet, self.avg);
        if self.draws.draw_match(cx, packet, m) {
            return Verdict::Drop(Reason::Matched);
        }
        Verdict::Pass
    }

    fn probe(&self, _: Time, _: &Env, out: &mut Vec<f64>) {
        self.draws.probe(out);
        out.push(self.avg);
    }
}
