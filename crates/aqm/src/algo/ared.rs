//! Adaptive RED: RED whose max_p follows the average queue.
//!
//! Floyd, Gummadi and Shenker, "Adaptive RED: An Algorithm for Increasing the Robustness of RED's Active Queue Management",
//! 2001, sections 4 and 5.
//!
//! At most once an `interval`: if avg is above the target range and max_p < `top`, max_p <- max_p + min(`alpha`, max_p/4);
//! if it is below the range and max_p > `bottom`, max_p <- `beta` max_p. The target range is the middle fifth between
//! the thresholds: min_th + 0.4 (max_th - min_th) to min_th + 0.6 (max_th - min_th). Otherwise it is RED with `gentle`.
//! min_th is half of what the target delay holds, at least 5 packets; max_th = 3 min_th; w_q = 1 - exp(-1/C), C in
//! packets a second.
//!
//! Input: the queue at each arrival, idle periods. Output: as RED.
//! Departures, as in ns-2.35 and ns-3: max_p adapts at the first arrival after an interval, so that it does not fall while
//! nothing arrives; the interval begins again when max_p has changed.
//! Defaults: section 4.2 and 5; ns-2.35 and ns-3 have the same.

use alloc::vec::Vec;
use super::red::{self, QueueLength, Red};
use crate::counting_unit::CountingUnit;
use crate::policy::{Aqm, Context, Env, Verdict};
use marqueue_core::params::ParamError;
use marqueue_core::{math, Dur, Packet, Rng, Time};

marqueue_core::params! {
    /// Parameters of Adaptive RED.
    pub struct Params {
        /// Average queueing delay that sets the thresholds.
        target_delay: f64 { unit: Seconds, range: 1e-6 => 100.0, default: 0.005, source: "Floyd, Gummadi and Shenker 2001, section 5; ns-2.35 targetdelay_" },
        /// Average queue below which no packet is signalled.
        min_th: Option<f64> { unit: Packets, range: 0.0 => 1e9, default: None, auto: "max(5, half of what target_delay holds)", source: "Floyd, Gummadi and Shenker 2001, section 5" },
        /// Average queue at which the probability reaches max_p.
        max_th: Option<f64> { unit: Packets, range: 0.0 => 1e9, default: None, auto: "3 min_th", source: "Floyd, Gummadi and Shenker 2001, section 5" },
        /// max_p at the start.
        max_p: f64 { unit: Fraction, range: 0.0 => 1.0, default: 0.1, source: "ns-2.35 linterm_ 10" },
        /// Weight of a new sample in the average.
        w_q: Option<f64> { unit: Fraction, range: 0.0 => 1.0, default: None, auto: "1 - exp(-1/C), C in packets/s", source: "Floyd, Gummadi and Shenker 2001, section 5" },
        /// Shortest time between two changes of max_p.
        interval: f64 { unit: Seconds, range: 1e-6 => 1e4, default: 0.5, source: "Floyd, Gummadi and Shenker 2001, section 4" },
        /// Largest increase of max_p.
        alpha: f64 { unit: Fraction, range: 0.0 => 1.0, default: 0.01, source: "Floyd, Gummadi and Shenker 2001, section 4.2" },
        /// Factor of a decrease of max_p.
        beta: f64 { unit: Fraction, range: 0.0 => 1.0, default: 0.9, source: "Floyd, Gummadi and Shenker 2001, section 4.2: at least 0.83" },
        /// max_p does not grow from here.
        top: f64 { unit: Fraction, range: 0.0 => 1.0, default: 0.5, source: "Floyd, Gummadi and Shenker 2001, section 4" },
        /// max_p does not fall from here.
        bottom: f64 { unit: Fraction, range: 0.0 => 1.0, default: 0.01, source: "Floyd, Gummadi and Shenker 2001, section 4" },
        /// Whether at least 1/p_b packets pass between two signals.
        wait: bool { default: true, source: "ns-2.35 wait_" },
        /// Unit of the queue; in bytes a packet's probability grows with its size.
        mode: CountingUnit { default: CountingUnit::Packets, source: "Floyd and Jacobson 1993, section 7" },
    }
}

/// State of Adaptive RED.
#[derive(Debug)]
pub struct Ared {
    red: Red,
    params: Params,
    interval: Dur,
    /// The end of the target range's lower and the start of its upper part, packets.
    target: (f64, f64),
    /// When max_p changed last.
    changed: Time,
}

impl Ared {
    fn adapt(&mut self, now: Time) {
        if now.since(self.changed) <= self.interval {
            return;
        }
        let (avg, max_p) = (self.red.average(), self.red.max_p());
        let Params { alpha, beta, top, bottom, .. } = self.params;
        let adapted = if avg < self.target.0 && max_p > bottom {
            max_p * beta
        } else if avg > self.target.1 && max_p < top {
            max_p + alpha.min(0.25 * max_p)
        } else {
            return;
        };
        self.red.set_max_p(adapted);
        self.changed = now;
    }
}

impl Aqm for Ared {
    const NAME: &'static str = "ared";
    const SUMMARY: &'static str = "RED whose probability adapts so that the average queue stays between its thresholds";
    const SOURCE: &'static str = "Floyd, Gummadi and Shenker, Adaptive RED, 2001";
    const PROBES: &'static [(&'static str, &'static str)] =
        &[("avg", "packets"), ("p", "fraction"), ("max_p", "fraction")];
    type Params = Params;

    fn new(p: &Params, env: &Env, rng: &Rng, now: Time) -> Result<Self, ParamError> {
        if p.bottom > p.top {
            return Err(ParamError::new("bottom", format!("got {}, expected at most top = {}", p.bottom, p.top)));
        }
        let per_sec = env.rate.packets_per_sec(env.mean_packet);
        let min_th = p.min_th.unwrap_or_else(|| (p.target_delay * per_sec / 2.0).max(5.0));
        let params = red::Params {
            min_th: Some(min_th),
            max_th: Some(p.max_th.unwrap_or(3.0 * min_th)),
            max_p: p.max_p,
            w_q: Some(p.w_q.unwrap_or_else(|| 1.0 - math::exp(-1.0 / per_sec))),
            gentle: true,
            wait: p.wait,
            mark_p: 1.0,
            mode: p.mode,
        };
        let red = Red::new(&params, env, rng, now)?;
        let (min_th, max_th) = red.thresholds();
        let part = 0.4 * (max_th - min_th);
        Ok(Ared {
            red,
            interval: Dur::from_secs(p.interval),
            target: (min_th + part, max_th - part),
            params: p.clone(),
            changed: now,
        })
    }

    fn on_arrival(&mut self, cx: &mut Context<'_>, packet: &Packet) -> Verdict {
        let seen = QueueLength::all(cx);
        self.red.update_average(cx, seen);
        self.adapt(cx.now);
        self.red.decide(cx, packet, seen)
    }

    fn on_idle(&mut self, now: Time) {
        self.red.on_idle(now);
    }

    fn probe(&self, _: Time, _: &Env, out: &mut Vec<f64>) {
        out.extend([self.red.average(), self.red.probability(), self.red.max_p()]);
    }
}
