//! REM: random exponential marking.
//!
//! Athuraliya, Li, Low and Yin, "REM: Active Queue Management", IEEE Network 15(3), 2001.
//!
//! Every T seconds the price mu <- max(0, mu + gamma (q[k+1] - (1 - alpha) q[k] - alpha q_ref)), and the
//! probability p = 1 - phi^(-mu).
//!
//! Sees: the queue at regular times. Decides: mark, at random: at departure where marks reach the sender
//! as CE, so that they leave with the freshest price, and at arrival where they are losses, so that no
//! buffer is spent on a packet that is to be lost. ns-2.35's Queue/REM does the same.
//!
//! Departures: none from the paper, which replaces the excess of input over capacity by the change of
//! the queue. ns-2.35 keeps the excess: mu + gamma (x - C T + 0.1 (q - q_ref)) with x the arrivals of the
//! last T seconds, averaged with weight 0.02. While the queue is neither empty nor full the two are the
//! same but for that averaging. When it is empty ns-2's price falls by the unused capacity, here by
//! alpha q_ref only; when it is full ns-2's price also counts what is lost, here only the queue. ns-2.35
//! also updates every 10 ms by default, holds one packet less than its limit, and
//! signals no packet without ECN when it marks.
//! Defaults: gamma, phi and alpha of the paper; T as in the AVQ paper's comparison; q_ref of the AVQ
//! paper, section III, Experiment 2.

use crate::mode::Mode;
use crate::policy::{Aqm, Cx, Env, Reason, Verdict};
use marqueue_core::params::ParamError;
use marqueue_core::{Dur, Packet, Rng, Time};

marqueue_core::params! {
    /// Parameters of REM.
    pub struct Params {
        /// How fast the price follows.
        gamma: f64 { unit: One, range: 0.0 => 1e3, default: 0.001, source: "Athuraliya et al. 2001" },
        /// Base of the marking probability.
        phi: f64 { unit: One, range: 1.0 => 1e3, default: 1.001, source: "Athuraliya et al. 2001" },
        /// Weight of the queue against its change.
        alpha: f64 { unit: One, range: 0.0 => 1e3, default: 0.1, source: "Athuraliya et al. 2001" },
        /// T: how often the price is computed.
        period: f64 { unit: Seconds, range: 1e-6 => 1e3, default: 0.002, source: "Athuraliya et al. 2001; ns-2.35 pupdtime_" },
        /// The queue to settle at.
        q_ref: f64 { unit: Packets, range: 0.0 => 1e9, default: 50.0, source: "Kunniyur and Srikant 2004, section III, Experiment 2" },
        /// In what the queue is measured.
        mode: Mode { default: Mode::Packets, source: "Athuraliya et al. 2001" },
    }
}

/// State of REM.
#[derive(Debug)]
pub struct Rem {
    params: Params,
    period: Dur,
    next: Time,
    /// q[k], packets.
    q: f64,
    /// mu.
    price: f64,
    p: f64,
}

impl Rem {
    #[inline]
    fn draw(&self, cx: &mut Cx<'_>, packet: &Packet) -> Verdict {
        if cx.rng.uniform() < self.params.mode.chance(self.p, packet, cx.env.mean_packet) {
            Verdict::Mark(Reason::Early)
        } else {
            Verdict::Pass
        }
    }
}

impl Aqm for Rem {
    const NAME: &'static str = "rem";
    const SUMMARY: &'static str = "Signals with a probability exponential in a price of the queue and its change";
    const SOURCE: &'static str = "Athuraliya, Li, Low and Yin, IEEE Network 15(3), 2001";
    const PROBES: &'static [(&'static str, &'static str)] = &[("price", "1"), ("p", "fraction")];
    type Params = Params;

    fn new(params: &Params, _: &Env, _: &Rng, now: Time) -> Result<Self, ParamError> {
        let period = Dur::from_secs(params.period);
        Ok(Rem { params: params.clone(), period, next: now + period, q: 0.0, price: 0.0, p: 0.0 })
    }

    #[inline]
    fn on_arrival(&mut self, cx: &mut Cx<'_>, packet: &Packet) -> Verdict {
        if cx.mark_loses(packet) {
            self.draw(cx, packet)
        } else {
            Verdict::Pass
        }
    }

    #[inline]
    fn on_departure(&mut self, cx: &mut Cx<'_>, packet: &Packet, _: Dur) -> Verdict {
        if cx.mark_loses(packet) {
            Verdict::Pass
        } else {
            self.draw(cx, packet)
        }
    }

    fn next_timer(&self) -> Time {
        self.next
    }

    fn on_timer(&mut self, cx: &mut Cx<'_>) {
        let Params { gamma, phi, alpha, q_ref, mode, .. } = self.params;
        let q = mode.queue(cx.len, cx.bytes, cx.env.mean_packet);
        self.price = (self.price + gamma * (q - (1.0 - alpha) * self.q - alpha * q_ref)).max(0.0);
        self.p = 1.0 - phi.powf(-self.price);
        self.q = q;
        self.next += self.period;
    }

    fn probe(&self, _: Time, _: &Env, out: &mut Vec<f64>) {
        out.extend([self.price, self.p]);
    }
}
