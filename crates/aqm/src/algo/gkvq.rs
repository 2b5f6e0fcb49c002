//! GKVQ: the virtual queue of Gibbens and Kelly.
//!
//! Gibbens and Kelly, "Distributed connection acceptance control for a connectionless network",
//! ITC 16, 1999, as described and compared in Kunniyur and Srikant, IEEE/ACM ToN 12(2), 2004,
//! section III, Experiment 2.
//!
//! A virtual queue with capacity theta C and buffer theta B gets every arrival. From the arrival that
//! overflows it (and does not enter it) until it is empty, a flag is up; a packet that leaves the
//! real queue while the flag is up is marked.
//!
//! Sees: arrivals and departures. Decides: mark, at departure.
//!
//! The paper has all packets in the real queue marked and every arrival until the virtual queue
//! empties. That is the same set of packets, up to one packet's rounding: theta B bytes drain at theta C in
//! the time B/C in which the real queue empties at most, so what stands there at the overflow leaves
//! with the flag up, and when the virtual queue empties the real one, served faster, is empty too.
//! ns-2.35's Queue/GK also marks at departure.
//!
//! Departures: where marks are losses, what would be marked is lost at the head of the queue; the paper
//! does not use GKVQ so, "as the number of packets dropped ... would be very high". ns-2.35 holds one
//! packet less than its limit; here the buffer is what it says.
//! Defaults: theta as in the paper's experiments (ns-2.35 ecnlim_ has 0.95); packets as ns-2.35.

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
        /// In what the virtual queue is measured.
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
        let buffer = self.params.theta * cx.env.limit.bytes(cx.env.mean_packet);
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
