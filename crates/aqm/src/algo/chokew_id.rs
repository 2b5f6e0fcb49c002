//! CHOKeW-ID: CHOKeW with a buffer of flow ids.
//!
//! Wen, Fang and Sun 2009, section 5.1, figure 15.
//!
//! The flow ids of the last L_ID forwarded packets are kept. If L > L_th, then with probability L_ID/(L_ID + L) up to
//! 2m draws are made from them instead of from the queue. A match there drops the arrival only.
//!
//! Input: that of CHOKeW, and departures. Output: a drop (matched).
//! Defaults: those of CHOKeW; the paper gives no size of the ID buffer.

use alloc::vec::Vec;
use super::chokew::{self, MatchedDrops};
use crate::policy::{Aqm, Context, Env, Reason, Verdict};
use marqueue_core::params::{whole, ParamError};
use marqueue_core::{math, Dur, Packet, Rng, Time};

marqueue_core::params! {
    /// Additions to CHOKeW's parameters.
    pub struct IdBufferParams {
        /// Number of flow ids that are kept.
        ids: f64 { unit: Packets, range: 1.0 => 1e7, default: 500.0, source: "as many as the paper's queue may hold" },
    }
}

/// Parameters: CHOKeW's and the size of the ID buffer.
pub type Params = (chokew::Params, IdBufferParams);

/// The last flow ids, in no particular order.
#[derive(Debug)]
struct IdBuffer {
    flows: Vec<u32>,
    size: usize,
    oldest: usize,
}

impl IdBuffer {
    fn push(&mut self, flow: u32) {
        if self.flows.len() < self.size {
            self.flows.push(flow);
        } else {
            self.flows[self.oldest] = flow;
            self.oldest = (self.oldest + 1) % self.size;
        }
    }

    fn len(&self) -> f64 {
        self.flows.len() as f64
    }

    /// Is one of `m` drawn ids that of `flow`? With more draws than ids, the ids of the flow are counted and the
    /// outcome is drawn at once.
    fn matched(&self, rng: &mut Rng, flow: u32, m: u32) -> bool {
        let n = self.flows.len() as u32;
        if m > n {
            let own = self.flows.iter().filter(|&&id| id == flow).count() as f64;
            return rng.uniform() < 1.0 - math::powf(1.0 - own / f64::from(n), f64::from(m));
        }
        (0..m).any(|_| self.flows[rng.below(n) as usize] == flow)
    }
}

/// State of CHOKeW with an ID buffer.
#[derive(Debug)]
pub struct ChokeWId {
    draws: MatchedDrops,
    ids: IdBuffer,
}

impl Aqm for ChokeWId {
    const NAME: &'static str = "chokew_id";
    const SUMMARY: &'static str = "CHOKeW that also draws from the flow ids of packets already forwarded";
    const SOURCE: &'static str = "Wen, Fang and Sun, IEEE TPDS 20(1), 2009, section 5.1";
    const PROBES: &'static [(&'static str, &'static str)] = MatchedDrops::PROBES;
    type Params = Params;

    fn new((chokew, id_buffer): &Params, _: &Env, _: &Rng, _: Time) -> Result<Self, ParamError> {
        let ids = IdBuffer { flows: Vec::new(), size: whole("ids", id_buffer.ids)? as usize, oldest: 0 };
        Ok(ChokeWId { draws: MatchedDrops::new(chokew)?, ids })
    }

    fn on_arrival(&mut self, cx: &mut Context<'_>, packet: &Packet) -> Verdict {
        let l = self.draws.queue_with(cx, packet);
        self.draws.adapt(l);
        let m = self.draws.draw_count(cx, packet, l);
        let matched = if cx.rng.uniform() < self.ids.len() / (self.ids.len() + l) {
            self.ids.matched(cx.rng, packet.flow(), m.saturating_mul(2))
        } else {
            self.draws.draw_match(cx, packet, m)
        };
        match matched {
            true => Verdict::Drop(Reason::Matched),
            false => Verdict::Pass,
        }
    }

    fn on_departure(&mut self, _: &mut Context<'_>, packet: &Packet, _: Dur) -> Verdict {
        self.ids.push(packet.flow());
        Verdict::Pass
    }

    fn probe(&self, _: Time, _: &Env, out: &mut Vec<f64>) {
        self.draws.probe(out);
    }
}
