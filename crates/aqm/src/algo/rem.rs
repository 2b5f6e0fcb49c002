//! REM: random exponential marking.
//!
//! Athuraliya, Li, Low and Yin, "REM: Active Queue Management", IEEE Network 15(3), 2001, in the form of Kunniyur and
//! Srikant, IEEE/ACM ToN 12(2), 2004, section III, Experiment 2.
//!
//! Every T seconds the price becomes mu <- max(0, mu + gamma (q[k+1] - (1 - alpha) q[k] - alpha q_ref)), and the
//! probability p = 1 - phi^(-mu).
//!
//! Input: the queue at regular times. Output: a mark, at random. If the mark is CE, it is set at departure, so that it
//! conveys the latest price. If it is a drop, it is made at arrival, so that the packet takes no buffer. ns-2.35's
//! Queue/REM does the same.
//!
//! Departures: none from this law, in which the change of the queue represents the excess of input over capacity.
//! ns-2.35 uses the excess itself (`rem_rate.rs`), and holds one packet less than its limit.
//! Defaults: gamma, phi, alpha and T of the paper and ns-2.35; q_ref of the AVQ paper's Experiment 2.

use alloc::vec::Vec;
use crate::counting_unit::CountingUnit;
use crate::policy::{Aqm, Context, Env, Reason, Verdict};
use crate::periodic_timer::PeriodicTimer;
use marqueue_core::params::ParamError;
use marqueue_core::{math, Dur, Packet, Rng, Time};

marqueue_core::params! {
    /// Parameters of REM.
    pub struct Params {
        /// Gain of the price.
        gamma: f64 { unit: One, range: 0.0 => 1e3, default: 0.001, source: "Athuraliya et al. 2001" },
        /// Base of the marking probability.
        phi: f64 { unit: One, range: 1.0 => 1e3, default: 1.001, source: "Athuraliya et al. 2001" },
        /// Weight of the queue relative to its change.
        alpha: f64 { unit: One, range: 0.0 => 1e3, default: 0.1, source: "Athuraliya et al. 2001" },
        /// T: how often the price is computed.
        period: f64 { unit: Seconds, range: 1e-6 => 1e3, default: 0.002, source: "Athuraliya et al. 2001; ns-2.35 pupdtime_" },
        /// Queue length that the controller holds.
        q_ref: f64 { unit: Packets, range: 0.0 => 1e9, default: 50.0, source: "Kunniyur and Srikant 2004, section III, Experiment 2" },
        /// Unit of the queue.
        mode: CountingUnit { default: CountingUnit::Packets, source: "Athuraliya et al. 2001" },
    }
}

/// The price and the marking probability, common to both laws of the price.
#[derive(Debug)]
pub(super) struct Price {
    pub(super) params: Params,
    timer: PeriodicTimer,
    mu: f64,
    p: f64,
}

impl Price {
    pub(super) fn new(params: &Params, now: Time) -> Price {
        let timer = PeriodicTimer::new(now, Dur::from_secs(params.period));
        Price { params: params.clone(), timer, mu: 0.0, p: 0.0 }
    }

    /// When it changes next.
    pub(super) fn next(&self) -> Time {
        self.timer.due()
    }

    /// Is it zero?
    pub(super) fn is_zero(&self) -> bool {
        self.mu == 0.0
    }

    /// mu <- max(0, mu + gamma excess); p = 1 - phi^(-mu). `unchanged`: the queue is empty, and the
    /// next excess depends on this price alone.
    pub(super) fn step(&mut self, excess: f64, unchanged: bool) {
        let before = (self.mu, self.p);
        self.mu = (self.mu + self.params.gamma * excess).max(0.0);
        self.p = 1.0 - math::powf(self.params.phi, -self.mu);
        self.timer.tick(unchanged && before == (self.mu, self.p));
    }

    #[inline]
    fn draw(&self, cx: &mut Context<'_>, packet: &Packet) -> Verdict {
        if cx.rng.uniform() < self.params.mode.scale_probability(self.p, packet, cx.env.mean_packet) {
            Verdict::Mark(Reason::Early)
        } else {
            Verdict::Pass
        }
    }

    #[inline]
    pub(super) fn at_arrival(&mut self, cx: &mut Context<'_>, packet: &Packet) -> Verdict {
        self.timer.resume(cx.now);
        if cx.mark_drops(packet) {
            self.draw(cx, packet)
        } else {
            Verdict::Pass
        }
    }

    #[inline]
    pub(super) fn at_departure(&self, cx: &mut Context<'_>, packet: &Packet) -> Verdict {
        if cx.mark_drops(packet) {
            Verdict::Pass
        } else {
            self.draw(cx, packet)
        }
    }

    /// Names and units of the values of [`Price::probe`].
    pub(super) const PROBES: &'static [(&'static str, &'static str)] = &[("price", "1"), ("p", "fraction")];

    pub(super) fn probe(&self, out: &mut Vec<f64>) {
        out.extend([self.mu, self.p]);
    }
}

/// State of REM.
#[derive(Debug)]
pub struct Rem {
    price: Price,
    /// q[k], packets.
    q: f64,
}

impl Aqm for Rem {
    const NAME: &'static str = "rem";
    const SUMMARY: &'static str = "Signals with a probability exponential in a price of the queue and its change";
    const SOURCE: &'static str = "Athuraliya, Li, Low and Yin, IEEE Network 15(3), 2001";
    const PROBES: &'static [(&'static str, &'static str)] = Price::PROBES;
    type Params = Params;

    fn new(params: &Params, _: &Env, _: &Rng, now: Time) -> Result<Self, ParamError> {
        Ok(Rem { price: Price::new(params, now), q: 0.0 })
    }

    #[inline]
    fn on_arrival(&mut self, cx: &mut Context<'_>, packet: &Packet) -> Verdict {
        self.price.at_arrival(cx, packet)
    }

    #[inline]
    fn on_departure(&mut self, cx: &mut Context<'_>, packet: &Packet, _: Dur) -> Verdict {
        self.price.at_departure(cx, packet)
    }

    fn next_timer(&self) -> Time {
        self.price.next()
    }

    fn on_timer(&mut self, cx: &mut Context<'_>) {
        let Params { alpha, q_ref, mode, .. } = self.price.params;
        let q = mode.queue_length(cx.packets(), cx.bytes(), cx.env.mean_packet);
        let unchanged = cx.packets() == 0 && q == self.q;
        self.price.step(q - (1.0 - alpha) * self.q - alpha * q_ref, unchanged);
        self.q = q;
    }

    fn probe(&self, _: Time, _: &Env, out: &mut Vec<f64>) {
        self.price.probe(out);
    }
}
