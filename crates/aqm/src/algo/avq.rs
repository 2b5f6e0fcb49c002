//! AVQ: adaptive virtual queue.
//!
//! Kunniyur and Srikant, "An Adaptive Virtual Queue (AVQ) Algorithm for Active Queue Management", IEEE/ACM ToN 12(2),
//! 2004, section II; dropping: section III, Experiment 6.
//!
//! When b bytes arrive at time t, after the previous arrival at time s:
//!     VQ <- max(VQ - C~ (t - s), 0); signal if VQ + b > B, else VQ <- VQ + b;
//!     C~ <- max(min(C~ + alpha gamma C (t - s), C) - alpha b, 0), that is dC~/dt = alpha (gamma C - lambda).
//!
//! Input: arrivals. Output: a mark, when the virtual queue of B bytes overflows. No randomness, no average.
//!
//! If marks are drops, C~ follows the rate of admitted packets (Experiment 6). A dropped packet takes nothing from C~
//! and does not move s; the virtual queue drains at every arrival. Admitted means admitted to the real queue, so a
//! packet that finds the real buffer full does not count; in ns-2.35's Queue/Vq it does. If marks are not drops, every
//! arrival counts, as in the pseudocode.
//!
//! Departures: none from the paper. If the link's rate falls below C~, the next arrival restores C~ <= C before the
//! virtual queue drains. Before the first packet C~ keeps its initial value. ns-2.35's Queue/Vq caps C~ at C after it
//! subtracts alpha b, not before, and C~ starts at 0.8 C (`initial` 0.8).
//! Defaults: gamma and alpha of the paper's experiments; B is the real buffer (section II). The paper does not give the
//! initial C~: here it is C, to which law (1) converges on an idle link.

use alloc::vec::Vec;
use crate::counting_unit::CountingUnit;
use crate::policy::{Aqm, Context, Env, Reason, Verdict};
use crate::virtual_queue::{VirtualCapacity, FluidQueue};
use marqueue_core::params::ParamError;
use marqueue_core::{Packet, Rng, Time};

marqueue_core::params! {
    /// Parameters of AVQ.
    pub struct Params {
        /// Desired utilization.
        gamma: f64 { unit: Fraction, range: 0.0 => 1.0, default: 0.98, source: "Kunniyur and Srikant 2004, section III.A" },
        /// Smoothing: how fast the virtual capacity follows the traffic.
        alpha: f64 { unit: PerSecond, range: 0.0 => 1e6, default: 0.15, source: "Kunniyur and Srikant 2004, section III.A" },
        /// Virtual capacity until the first packet, as a fraction of the link's rate.
        initial: f64 { unit: Fraction, range: 0.0 => 1.0, default: 1.0, source: "the paper is silent; ns-2.35 ecnlim_ has 0.8" },
        /// Packets an update of the virtual capacity. The virtual queue is updated at every packet.
        adapt_every: f64 { unit: Packets, range: 1 => 1e6, default: 1.0, source: "Kunniyur and Srikant 2004, section V: every K packets" },
        /// Buffer of the virtual queue.
        buffer: Option<f64> { unit: Packets, range: 0.0 => 1e9, default: None, auto: "the real buffer", source: "Kunniyur and Srikant 2004, section II" },
        /// Unit of the virtual queue and the arrival rate.
        mode: CountingUnit { default: CountingUnit::Bytes, source: "Kunniyur and Srikant 2004, section II" },
    }
}

impl Params {
    /// B in bytes.
    #[inline]
    pub(super) fn buffer_bytes(&self, env: &Env) -> f64 {
        match self.buffer {
            Some(packets) => packets * env.mean_packet.0 as f64,
            None => env.limit.bytes(env.mean_packet),
        }
    }

    /// The virtual capacity at the start.
    pub(super) fn capacity(&self, env: &Env) -> VirtualCapacity {
        VirtualCapacity::new(self.gamma, self.alpha, self.initial * env.rate.bytes_per_sec(), self.adapt_every as u32)
    }
}

/// Does the packet count in the arrival rate that C~ follows? If marks are not drops, every arrival does.
#[inline]
pub(super) fn counts_as_arrival(cx: &Context<'_>, packet: &Packet, signalled: bool) -> bool {
    !cx.mark_drops(packet) || !(signalled || cx.is_full(packet))
}

/// State of AVQ.
#[derive(Debug)]
pub struct Avq {
    params: Params,
    queue: FluidQueue,
    capacity: VirtualCapacity,
}

impl Aqm for Avq {
    const NAME: &'static str = "avq";
    const SUMMARY: &'static str = "Signals when a virtual queue overflows whose capacity tracks a desired utilization";
    const SOURCE: &'static str = "Kunniyur and Srikant, IEEE/ACM ToN 12(2), 2004";
    const PROBES: &'static [(&'static str, &'static str)] =
        &[("virtual_capacity", "bit/s"), ("virtual_capacity_share", "fraction"), ("virtual_queue", "packets")];
    type Params = Params;

    fn new(params: &Params, env: &Env, _: &Rng, now: Time) -> Result<Self, ParamError> {
        Ok(Avq { params: params.clone(), queue: FluidQueue::new(now), capacity: params.capacity(env) })
    }

    #[inline]
    fn on_arrival(&mut self, cx: &mut Context<'_>, packet: &Packet) -> Verdict {
        let c = cx.env.rate.bytes_per_sec();
        let b = self.params.mode.size(packet, cx.env.mean_packet);
        self.capacity.bound(c);
        self.queue.drain(cx.now, self.capacity.get());
        let signalled = !self.queue.offer(b, self.params.buffer_bytes(cx.env));
        if counts_as_arrival(cx, packet, signalled) {
            self.capacity.admit(cx.now, c, b);
        }
        if signalled {
            Verdict::Mark(Reason::Virtual)
        } else {
            Verdict::Pass
        }
    }

    fn probe(&self, now: Time, env: &Env, out: &mut Vec<f64>) {
        let capacity = self.capacity.get();
        let queue = self.queue.level_at(now, capacity) / env.mean_packet.0 as f64;
        out.extend([8.0 * capacity, capacity / env.rate.bytes_per_sec(), queue]);
    }
}
