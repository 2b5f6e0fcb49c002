//! Curvy RED: an L4S queue and a Classic queue whose probabilities are powers of one average delay.
//!
//! RFC 9332, appendix B: figures 9 (parameters) and 10 (dequeue). The queues and their scheduler are in `dual_queue.rs`.
//!
//! At each Classic departure Q_C <- gamma d + (1 - gamma) Q_C with its sojourn time d and gamma = 2^-g_c. With
//! x = (Q_C - min_th)/range, Classic packets are signalled with x^(2 u), L4S packets with (k x)^u; these are also marked
//! when they waited for longer than `threshold`.
//!
//! Input: departures with their sojourn times. Output: at departure a mark, of reason `sojourn` above the threshold
//! and `early` by coupling, at random (the maximum of u or 2 u random numbers).
//! Departures: the default of min_th is 0.5 ms. Figure 9 prints 500 ms, which is longer than its buffer of 250 ms, so
//! that no Classic packet would ever be signalled. The default scheduler is wrr, which appendix B permits; figure 10
//! has scheduler = "ts_fifo". As in figure 10, Q_C stays as it is while only L4S packets depart, and there is no
//! protection from overload.
//! Defaults: RFC 9332, figure 9.

use alloc::{string::String, vec::Vec};
use crate::dual_queue::{CoupledAqm, DualContext, Sharing, Side};
use crate::l4s_fields::L4sFields;
use crate::policy::{Env, Reason, Verdict};
use marqueue_core::params::{whole, ParamError};
use marqueue_core::{math, Dur, Packet, Rng, Time};

marqueue_core::params! {
    /// Parameters of Curvy RED besides the classifier and the scheduler.
    pub struct Params {
        /// Coupling factor.
        k: f64 { unit: One, range: 0.1 => 100.0, default: 2.0, source: "RFC 9332, figure 9: 2^1" },
        /// g_C: the weight of a new delay in the average is 2^-g_c.
        g_c: f64 { unit: One, range: 0.0 => 30.0, default: 5.0, source: "RFC 9332, figure 9" },
        /// range_C: delay above min_th at which every Classic packet is signalled.
        range: f64 { unit: Seconds, range: 1e-6 => 100.0, default: 0.5, source: "RFC 9332, figure 9: 2^-1 s" },
        /// minTh: average delay below which no signal is coupled.
        min_th: f64 { unit: Seconds, range: 0.0 => 100.0, default: 0.0005, source: "RFC 9332, figure 9, in ms instead of s" },
        /// T: sojourn time above which every L4S packet is marked.
        threshold: f64 { unit: Seconds, range: 0.0 => 100.0, default: 0.001, source: "RFC 9332, figure 9: 1 ms" },
        /// U: the curviness.
        u: f64 { unit: One, range: 1.0 => 16.0, default: 1.0, source: "RFC 9332, appendix B.1" },
    }
}

/// State of Curvy RED.
#[derive(Debug)]
pub struct CurvyRed {
    params: Params,
    l4s: L4sFields,
    threshold: Dur,
    gamma: f64,
    u: u32,
    /// Q_C, s.
    average: f64,
}

/// Figure 10, maxrand(): the largest of `n` random numbers.
fn largest_of(n: u32, rng: &mut Rng) -> f64 {
    (0..n).fold(0.0, |largest, _| rng.uniform().max(largest))
}

impl CurvyRed {
    /// The square root of p_C, for u = 1.
    fn x(&self) -> f64 {
        ((self.average - self.params.min_th) / self.params.range).max(0.0)
    }

    /// Is a packet signalled that reacts as an L4S sender does?
    fn couples(&self, rng: &mut Rng) -> bool {
        let p = self.params.k * self.x();
        p > 0.0 && p > largest_of(self.u, rng)
    }

    /// Is a packet signalled that reacts as a Classic sender does?
    fn signals_classic(&self, rng: &mut Rng) -> bool {
        let x = self.x();
        x > 0.0 && x > largest_of(2 * self.u, rng)
    }
}

impl CoupledAqm for CurvyRed {
    const NAME: &'static str = "curvy_red";
    const SUMMARY: &'static str = "Two queues, one of low latency for L4S senders, with coupled curves of the average delay";
    const SOURCE: &'static str = "De Schepper, Briscoe and White, RFC 9332, 2023, appendix B";
    const PROBES: &'static [(&'static str, &'static str)] = &[
        ("avg", "s"),
        ("p_classic", "fraction"),
        ("p_coupled", "fraction"),
        ("l_queue", "packets"),
        ("c_queue", "packets"),
    ];
    type Params = Params;
    type Sharing = Sharing;

    fn sharing(given: &Sharing) -> Result<Sharing, ParamError> {
        Ok(given.clone())
    }

    fn new(p: &Params, sharing: &Sharing, _: &Env, _: &mut Rng, _: Time) -> Result<Self, ParamError> {
        Ok(CurvyRed {
            l4s: sharing.l4s,
            threshold: Dur::from_secs(p.threshold),
            gamma: math::powf(2.0, -p.g_c),
            u: whole("u", p.u)?,
            average: 0.0,
            params: p.clone(),
        })
    }

    fn on_departure(&mut self, cx: &mut DualContext<'_>, side: Side, packet: &Packet, sojourn: Dur) -> Verdict {
        if side == Side::Classic {
            self.average = self.gamma * sojourn.secs() + (1.0 - self.gamma) * self.average;
        }
        let scalable = self.l4s.has(packet.ecn());
        if side == Side::L4s && scalable && sojourn > self.threshold {
            return Verdict::Mark(Reason::Sojourn);
        }
        match if scalable { self.couples(cx.rng) } else { self.signals_classic(cx.rng) } {
            true => Verdict::Mark(Reason::Early),
            false => Verdict::Pass,
        }
    }

    fn warning(&self, env: &Env) -> Option<String> {
        let longest = env.limit.bytes(env.mean_packet) / env.rate.bytes_per_sec();
        (longest < self.params.min_th).then(|| {
            let (min_th, longest) = (self.params.min_th * 1e3, longest * 1e3);
            format!("min_th: got {min_th} ms, expected less than the {longest:.3} ms that fill the buffer")
        })
    }

    fn probe(&self, _: &Env, out: &mut Vec<f64>) {
        let u = self.u as i32;
        let x = self.x().min(1.0);
        out.extend([self.average, math::powi(x, 2 * u), math::powi((self.params.k * x).min(1.0), u)]);
    }
}
