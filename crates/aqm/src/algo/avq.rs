//! AVQ: adaptive virtual queue.
//!
//! Kunniyur and Srikant, "An Adaptive Virtual Queue (AVQ) Algorithm for Active Queue Management",
//! IEEE/ACM ToN 12(2), 2004, section II; dropping: section III, Experiment 6.
//!
//! At the arrival of b bytes at t, the previous arrival having been at s:
//!     VQ <- max(VQ - C~ (t - s), 0); signal if VQ + b > B, else VQ <- VQ + b;
//!     C~ <- max(min(C~ + alpha gamma C (t - s), C) - alpha b, 0), that is dC~/dt = alpha (gamma C - lambda).
//!
//! Sees: arrivals. Decides: mark (the virtual queue of B bytes overflows). No random number, no average.
//!
//! Where a mark is a loss, C~ follows the accepted rate (Experiment 6): a lost packet takes nothing
//! from C~ and its clock s stands still until the next admitted packet, while the virtual queue
//! drains at every arrival. The paper says "only when a packet has been admitted to the real queue",
//! so a packet lost to a full real buffer does not count either; ns-2.35's Queue/Vq counts it. Where
//! a mark is no loss every arrival counts, full buffer or not, as in the pseudocode.
//!
//! Departures: none from the paper. If the link's rate falls below C~, then C~ <= C is restored at the
//! next arrival, before the virtual queue drains. Before the first packet there is no s: C~ keeps its
//! initial value until then. ns-2.35's Queue/Vq caps C~ at C after taking alpha b instead of before, and
//! C~ starts at 0.8 C (`initial` 0.8); with its order of the two, replaying its arrivals gave its marks.
//! Defaults: gamma and alpha as in the paper's experiments; B is the real buffer (section II). The
//! paper does not say where C~ starts: here at C, to which law (1) drives an idle link.

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
        /// Buffer of the virtual queue.
        buffer: Option<f64> { unit: Packets, range: 0.0 => 1e9, default: None, auto: "the real buffer", source: "Kunniyur and Srikant 2004, section II" },
        /// In what the virtual queue and the arrival rate are measured.
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
        VirtualCapacity::new(self.gamma, self.alpha, self.initial * env.rate.bytes_per_sec())
    }
}

/// Does the packet count in the arrival rate to which C~ is matched? Everywhere but where marks are
/// losses, every arrival does.
#[inline]
pub(super) fn counts(cx: &Context<'_>, packet: &Packet, signalled: bool) -> bool {
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
        if counts(cx, packet, signalled) {
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
