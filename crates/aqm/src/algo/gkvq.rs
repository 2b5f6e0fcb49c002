//! GKVQ: the virtual queue of Gibbens and Kelly.
//!
//! Gibbens and Kelly, "Distributed connection acceptance control for a connectionless network", ITC 16, 1999, as
//! described and compared in Kunniyur and Srikant, IEEE/ACM ToN 12(2), 2004, section III, Experiment 2.
//!
//! Every arrival also enters a virtual queue with capacity theta C and buffer theta B, or a buffer of its own. An arrival that overflows it
//! does not enter it and sets a flag; the flag is cleared when the virtual queue is empty. Packets that leave the real
//! queue while the flag is set are marked.
//!
//! Input: arrivals and departures. Output: a mark, at departure.
//!
//! The paper marks all packets in the real queue and every arrival until the virtual queue is empty. These are the same
//! packets, up to the rounding of one packet. The virtual queue takes B/C to drain theta B bytes at theta C, and the
//! real queue takes at most B/C to empty. So packets queued at the overflow leave while the flag is set, and the real
//! queue is empty when the flag is cleared. ns-2.35's Queue/GK also marks at departure.
//!
//! Departures: if signals are drops, packets are dropped at the head of the queue; the paper does not use GKVQ with
//! drops. ns-2.35 holds one packet less than its limit.
//! Defaults: theta of the paper's experiments (ns-2.35's ecnlim_ is 0.95); packets as in ns-2.35.

use alloc::vec::Vec;
use crate::counting_unit::CountingUnit;
use crate::policy::{Aqm, Context, Env, Reason, Verdict};
use crate::virtual_queue::FluidQueue;
use marqueue_core::params::ParamError;
use marqueue_core::{Dur, Packet, Rng, Time};

marqueue_core::params! {
    /// Parameters of GKVQ.
    pub struct Params {
        /// Virtual capacity and virtual buffer as a fraction of the real ones.
        theta: f64 { unit: Fraction, range: 0.0 => 1.0, default: 0.90, source: "Kunniyur and Srikant 2004, section III, Experiment 2" },
        /// Buffer of the virtual queue.
        buffer: Option<f64> { unit: Packets, range: 0.0 => 1e9, default: None, auto: "theta times the real buffer", source: "Kunniyur and Srikant 2004, section III, Experiment 2" },
        /// Unit of the virtual queue.
        mode: CountingUnit { default: CountingUnit::Packets, source: "ns-2.35 Queue/GK" },
    }
}

/// State of GKVQ.
#[derive(Debug)]
pub struct Gkvq {
    params: Params,
    queue: FluidQueue,
    /// Has the virtual queue overflowed and not been empty since?
    flag: bool,
}

impl Gkvq {
    #[inline]
    fn capacity(&self, env: &Env) -> f64 {
        self.params.theta * env.rate.bytes_per_sec()
    }

    #[inline]
    fn drain(&mut self, now: Time, env: &Env) {
        self.queue.drain(now, self.capacity(env));
        self.flag &= !self.queue.is_empty();
    }
}

impl Aqm for Gkvq {
    const NAME: &'static str = "gkvq";
    const SUMMARY: &'static str = "Once a slower virtual queue overflows, marks everything until that queue is empty";
    const SOURCE: &'static str = "Gibbens and Kelly, ITC 16, 1999";
    const PROBES: &'static [(&'static str, &'static str)] = &[("virtual_queue", "packets"), ("marking", "fraction")];
    type Params = Params;

    fn new(params: &Params, _: &Env, _: &Rng, now: Time) -> Result<Self, ParamError> {
        Ok(Gkvq { params: params.clone(), queue: FluidQueue::new(now), flag: false })
    }

    #[inline]
    fn on_arrival(&mut self, cx: &mut Context<'_>, packet: &Packet) -> Verdict {
        self.drain(cx.now, cx.env);
        let mean_packet = cx.env.mean_packet;
        let buffer = match self.params.buffer {
            Some(packets) => packets * mean_packet.0 as f64,
            None => self.params.theta * cx.env.limit.bytes(mean_packet),
        };
        self.flag |= !self.queue.offer(self.params.mode.size(packet, cx.env.mean_packet), buffer);
        Verdict::Pass
    }

    #[inline]
    fn on_departure(&mut self, cx: &mut Context<'_>, _: &Packet, _: Dur) -> Verdict {
        self.drain(cx.now, cx.env);
        if self.flag {
            Verdict::Mark(Reason::Virtual)
        } else {
            Verdict::Pass
        }
    }

    fn probe(&self, now: Time, env: &Env, out: &mut Vec<f64>) {
        let level = self.queue.level_at(now, self.capacity(env));
        out.extend([level / env.mean_packet.0 as f64, f64::from(u8::from(self.flag && level > 0.0))]);
    }
}
