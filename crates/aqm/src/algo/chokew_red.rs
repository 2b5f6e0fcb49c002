//! CHOKeW-RED: CHOKeW in front of RED.
//!
//! Wen, Fang and Sun 2009, section 4.6.
//!
//! RED decides about an arrival without a match, as in CHOKe.
//!
//! Input: that of CHOKeW and RED. Output: a drop (matched), else as RED.
//! Defaults: those of both.

use alloc::vec::Vec;
use super::chokew::{self, MatchedDrops};
use super::red::{self, Red, QueueLength};
use crate::policy::{Aqm, Context, Env, Reason, Verdict};
use marqueue_core::params::ParamError;
use marqueue_core::{Packet, Rng, Time};

marqueue_core::params! {
    /// Additions to CHOKeW's parameters.
    pub struct RedParams {
        /// RED's average queue below which it signals nothing.
        min_th: f64 { unit: Packets, range: 0.0 => 1e9, default: 100.0, source: "Wen, Fang and Sun 2009, section 4" },
        /// RED's average queue at which its probability reaches max_p.
        max_th: f64 { unit: Packets, range: 0.0 => 1e9, default: 200.0, source: "Wen, Fang and Sun 2009, section 4" },
        /// RED's probability at max_th.
        max_p: f64 { unit: Fraction, range: 0.0 => 1.0, default: 0.02, source: "Wen, Fang and Sun 2009, section 4" },
        /// Weight of a new sample in RED's average.
        w_q: f64 { unit: Fraction, range: 0.0 => 1.0, default: 0.002, source: "Wen, Fang and Sun 2009, section 4" },
        /// Whether RED's probability rises from max_p at max_th to 1 at 2 max_th, instead of jumping to 1 at max_th.
        gentle: bool { default: true, source: "Wen, Fang and Sun 2009, section 4" },
        /// Whether at least 1/p_b packets pass between two signals of RED.
        wait: bool { default: true, source: "ns-2.35 wait_" },
    }
}

/// Parameters: CHOKeW's and RED's.
pub type Params = (chokew::Params, RedParams);

/// State of CHOKeW with RED.
#[derive(Debug)]
pub struct ChokeWRed {
    draws: MatchedDrops,
    red: Red,
}

impl Aqm for ChokeWRed {
    const NAME: &'static str = "chokew_red";
    const SUMMARY: &'static str = "CHOKeW's matched drops in front of RED";
    const SOURCE: &'static str = "Wen, Fang and Sun, IEEE TPDS 20(1), 2009, section 4.6";
    const PROBES: &'static [(&'static str, &'static str)] = &[("p0", "1"), ("avg", "packets"), ("p", "fraction")];
    type Params = Params;

    fn new((chokew, red_params): &Params, env: &Env, rng: &Rng, now: Time) -> Result<Self, ParamError> {
        let red = red::Params {
            min_th: Some(red_params.min_th),
            max_th: Some(red_params.max_th),
            max_p: red_params.max_p,
            w_q: Some(red_params.w_q),
            gentle: red_params.gentle,
            wait: red_params.wait,
            mark_p: 1.0,
            mode: chokew.mode,
        };
        Ok(ChokeWRed { draws: MatchedDrops::new(chokew)?, red: Red::new(&red, env, rng, now)? })
    }

    fn on_arrival(&mut self, cx: &mut Context<'_>, packet: &Packet) -> Verdict {
        let (l, seen) = (self.draws.queue_with(cx, packet), QueueLength::all(cx));
        self.draws.adapt(l);
        self.red.update_average(cx, seen);
        let m = self.draws.draw_count(cx, packet, l);
        if self.draws.draw_match(cx, packet, m) {
            return Verdict::Drop(Reason::Matched);
        }
        self.red.decide(cx, packet, seen)
    }

    fn on_idle(&mut self, now: Time) {
        self.red.on_idle(now);
    }

    fn probe(&self, now: Time, env: &Env, out: &mut Vec<f64>) {
        self.draws.probe(out);
        self.red.probe(now, env, out);
    }
}
