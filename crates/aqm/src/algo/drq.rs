//! DRQ: dual-resource queue, for links and for CPUs.
//!
//! Shin, Chong and Rhee, "Dual-resource TCP/AQM for Processing-constrained Networks", section III-B, figure 3.
//!
//! RED's average queue gives the pre-marking probability phi (10)-(14). At a link u = phi; at a CPU u = w phi, where w
//! is the cycles a bit of the packet's class. Then delta = u^2 and epsilon = sqrt(2) u (22)-(23). The ECN field is 00
//! (initial), 10 (signalled) or 11 (congested). It becomes 11 with probability delta; if not, it goes from 00 to 10 or
//! from 10 to 11 with probability epsilon. Over a path it becomes 11 with about (sum of u)^2 (30).
//!
//! Weights are an addition: u of a packet whose code point has weight a becomes u / a. By (6) its flow then has an
//! alpha a times as large, if all resources on its path give it that weight.
//!
//! Input: the queue at each arrival, idle periods, the packet's class and ECN field. Output: the signal 10; at 11 a
//! mark, or a drop if the packet's sender does not react to marks.
//! Departures: none from the paper. As in figure 3 and unlike in RED, only the average decides, signals are
//! independent, and there is no hard limit.
//! Defaults: the paper's section IV; the queue is counted in bits, as in (7) and (14).

use alloc::vec::Vec;
use super::red::{self, Red, QueueLength};
use crate::counting_unit::CountingUnit;
use crate::policy::{Aqm, Context, Env, Reason, Verdict};
use marqueue_core::params::ParamError;
use marqueue_core::{Ecn, Packet, PerDscp, Rng, Time};

marqueue_core::params! {
    /// Parameters of DRQ: those of its RED.
    pub struct Params {
        /// Average queue below which phi is zero.
        min_th: f64 { unit: Packets, range: 0.0 => 1e9, default: 50.0, source: "Shin et al., section IV-A" },
        /// Average queue at which phi reaches max_p.
        max_th: f64 { unit: Packets, range: 0.0 => 1e9, default: 550.0, source: "Shin et al., section IV-A" },
        /// phi at max_th; it rises to 1 at 2 max_th.
        max_p: f64 { unit: Fraction, range: 0.0 => 1.0, default: 0.1, source: "Shin et al., section IV-A" },
        /// Weight of a new sample in the average.
        w_q: f64 { unit: Fraction, range: 0.0 => 1.0, default: 1e-4, source: "Shin et al., section IV-A" },
        /// Unit of the queue.
        mode: CountingUnit { default: CountingUnit::Bytes, source: "Shin et al., equations (7) and (14)" },
        /// Signal from one resource to the next (epsilon). Without it a packet is marked with probability delta alone, and
        /// flows over several resources are not marked more.
        inter_resource: bool { default: true, source: "Shin et al., section V" },
        /// Weight of flows in the allocation, by code point; 1 if it has none.
        weights: PerDscp { unit: One, range: 1e-3 => 1e3, default: PerDscp::default(), source: "Shin et al., equation (6): alpha" },
    }
}

/// State of DRQ.
#[derive(Debug)]
pub struct Drq {
    red: Red,
    inter_resource: bool,
    /// By code point.
    weights: [f64; 64],
}

impl Aqm for Drq {
    const NAME: &'static str = "drq";
    const SUMMARY: &'static str = "Marks so that links and CPUs on a path are shared in proportional fairness";
    const SOURCE: &'static str = "Shin, Chong and Rhee, Dual-resource TCP/AQM for Processing-constrained Networks";
    const PROBES: &'static [(&'static str, &'static str)] = &[("avg", "packets"), ("phi", "fraction")];
    type Params = Params;

    fn new(p: &Params, env: &Env, rng: &Rng, now: Time) -> Result<Self, ParamError> {
        let params = red::Params {
            min_th: Some(p.min_th),
            max_th: Some(p.max_th),
            max_p: p.max_p,
            w_q: Some(p.w_q),
            gentle: true,
            wait: false,
            mark_p: 1.0,
            mode: p.mode,
        };
        Ok(Drq {
            red: Red::new(&params, env, rng, now)?,
            inter_resource: p.inter_resource,
            weights: p.weights.or(1.0),
        })
    }

    fn on_arrival(&mut self, cx: &mut Context<'_>, packet: &Packet) -> Verdict {
        let seen = QueueLength::all(cx);
        self.red.update_average(cx, seen);
        let u = cx.env.density(packet) * self.red.probability() / self.weights[usize::from(packet.dscp().value())];
        if u == 0.0 || packet.ecn() == Ecn::Ce {
            return Verdict::Pass;
        }
        if cx.rng.uniform() < u * u {
            return Verdict::Congest(Reason::Early);
        }
        if !self.inter_resource || cx.rng.uniform() >= core::f64::consts::SQRT_2 * u {
            return Verdict::Pass;
        }
        match packet.ecn() {
            Ecn::NotEct => Verdict::Signal,
            Ecn::Ect0 | Ecn::Ect1 | Ecn::Ce => Verdict::Congest(Reason::Early),
        }
    }

    fn on_idle(&mut self, now: Time) {
        self.red.on_idle(now);
    }

    fn probe(&self, _: Time, _: &Env, out: &mut Vec<f64>) {
        out.extend([self.red.average(), self.red.probability()]);
    }
}
