//! PI: proportional integral controller.
//!
//! Hollot, Misra, Towsley and Gong, "On Designing Improved Controllers for AQM Routers Supporting TCP Flows", IEEE
//! INFOCOM 2001, section V.
//!
//! Every 1/w seconds p <- p + a (q[k+1] - q_ref) - b (q[k] - q_ref), kept within [0, 1]. Each arrival is signalled with
//! probability p.
//!
//! Input: the queue at regular times, arrivals. Output: a mark, at random.
//! Departures: none. In byte mode a packet's probability grows with its size, as with ns-2.35's bytes_.
//! Defaults: a, b and w of the paper, designed for 3750 packets/s, at least 60 flows and round-trip times of at most
//! 0.246 s; q_ref of the AVQ paper and ns-2.35. Section V shows how to design a and b for other links.

use alloc::vec::Vec;
use crate::counting_unit::CountingUnit;
use crate::policy::{Aqm, Context, Env, Reason, Verdict};
use crate::periodic_timer::PeriodicTimer;
use marqueue_core::params::ParamError;
use marqueue_core::{Dur, Packet, Rng, Time};

marqueue_core::params! {
    /// Parameters of PI.
    pub struct Params {
        /// Gain on the new queue, per packet.
        a: f64 { unit: One, range: 0.0 => 1.0, default: 1.822e-5, source: "Hollot et al. 2001, section V" },
        /// Gain on the previous queue, per packet; less than a, or the queue does not settle at q_ref.
        b: f64 { unit: One, range: 0.0 => 1.0, default: 1.816e-5, source: "Hollot et al. 2001, section V" },
        /// How often the probability is computed.
        w: f64 { unit: PerSecond, range: 1e-3 => 1e6, default: 170.0, source: "Hollot et al. 2001, section V: 170 Hz" },
        /// Queue length that the controller holds.
        q_ref: f64 { unit: Packets, range: 0.0 => 1e9, default: 50.0, source: "Kunniyur and Srikant 2004, section III; ns-2.35 qref_" },
        /// Unit of the queue.
        mode: CountingUnit { default: CountingUnit::Packets, source: "Hollot et al. 2001" },
    }
}

/// State of PI.
#[derive(Debug)]
pub struct Pi {
    params: Params,
    timer: PeriodicTimer,
    /// q[k], packets.
    q: f64,
    p: f64,
}

impl Aqm for Pi {
    const NAME: &'static str = "pi";
    const SUMMARY: &'static str = "Signals at random; a PI controller holds the queue at a reference";
    const SOURCE: &'static str = "Hollot, Misra, Towsley and Gong, IEEE INFOCOM 2001";
    const PROBES: &'static [(&'static str, &'static str)] = &[("p", "fraction")];
    type Params = Params;

    fn new(params: &Params, _: &Env, _: &Rng, now: Time) -> Result<Self, ParamError> {
        if params.b >= params.a {
            return Err(ParamError::new("b", format!("got {}, expected less than a = {}", params.b, params.a)));
        }
        let period = Dur::from_secs(1.0 / params.w);
        Ok(Pi { params: params.clone(), timer: PeriodicTimer::new(now, period), q: 0.0, p: 0.0 })
    }

    #[inline]
    fn on_arrival(&mut self, cx: &mut Context<'_>, packet: &Packet) -> Verdict {
        self.timer.resume(cx.now);
        if cx.rng.uniform() < self.params.mode.scale_probability(self.p, packet, cx.env.mean_packet) {
            Verdict::Mark(Reason::Early)
        } else {
            Verdict::Pass
        }
    }

    fn next_timer(&self) -> Time {
        self.timer.due()
    }

    fn on_timer(&mut self, cx: &mut Context<'_>) {
        let Params { a, b, q_ref, mode, .. } = self.params;
        let q = mode.queue_length(cx.packets(), cx.bytes(), cx.env.mean_packet);
        let before = (self.p, self.q);
        self.p = (self.p + a * (q - q_ref) - b * (self.q - q_ref)).clamp(0.0, 1.0);
        self.q = q;
        self.timer.tick(cx.packets() == 0 && before == (self.p, self.q));
    }

    fn probe(&self, _: Time, _: &Env, out: &mut Vec<f64>) {
        out.push(self.p);
    }
}
