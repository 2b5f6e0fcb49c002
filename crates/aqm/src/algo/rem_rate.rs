//! REM by the input rate.
//!
//! Athuraliya, Li, Low and Yin, "REM: Active Queue Management", IEEE Network 15(3), 2001: the law before the change of
//! the queue is substituted for the excess of input over capacity; as in Queue/REM of ns-2.35.
//!
//! Every T seconds mu <- max(0, mu + gamma (x - C T + alpha (q - q_ref))), where x arrived during the last T seconds
//! and C T could have left; p = 1 - phi^(-mu).
//!
//! Input: arrivals, the queue at regular times. Output: a mark, at random, where `rem` makes it.
//!
//! Difference to `rem`: none while the queue is neither empty nor full. When it is empty, this price falls with all
//! unused capacity, that of `rem` by alpha q_ref only. When it is full, this price rises with the dropped traffic, that
//! of `rem` with the standing queue only.
//! Departures: ns-2.35 holds one packet less than its limit. It can average x; by default the weight is 1, which is no
//! average, and there is none here.
//! Defaults: those of `rem`.

use alloc::vec::Vec;
use super::rem::{Params, Price};
use crate::policy::{Aqm, Context, Env, Verdict};
use marqueue_core::params::ParamError;
use marqueue_core::{Dur, Packet, Rng, Time};

/// State of REM by the input rate.
#[derive(Debug)]
pub struct RemRate {
    price: Price,
    /// What arrived since the last step, bytes.
    arrived: f64,
}

impl Aqm for RemRate {
    const NAME: &'static str = "rem_rate";
    const SUMMARY: &'static str = "REM whose price follows the input rate, as in ns-2, instead of the queue's change";
    const SOURCE: &'static str = "Athuraliya, Li, Low and Yin, IEEE Network 15(3), 2001; ns-2.35 Queue/REM";
    const PROBES: &'static [(&'static str, &'static str)] = Price::PROBES;
    type Params = Params;

    fn new(params: &Params, _: &Env, _: &Rng, now: Time) -> Result<Self, ParamError> {
        Ok(RemRate { price: Price::new(params, now), arrived: 0.0 })
    }

    #[inline]
    fn on_arrival(&mut self, cx: &mut Context<'_>, packet: &Packet) -> Verdict {
        self.arrived += self.price.params.mode.size(packet, cx.env.mean_packet);
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
        let Params { alpha, q_ref, period, mode, .. } = self.price.params;
        let q = mode.queue_length(cx.packets(), cx.bytes(), cx.env.mean_packet);
        let excess = (self.arrived - period * cx.env.rate.bytes_per_sec()) / cx.env.mean_packet.0 as f64;
        // Unlike in `rem` the excess depends on the link's rate, which may change while the queue is empty. A price of
        // zero stays zero at any rate.
        let unchanged = q == 0.0 && self.arrived == 0.0 && self.price.is_zero();
        self.price.step(excess + alpha * (q - q_ref), unchanged);
        self.arrived = 0.0;
    }

    fn probe(&self, _: Time, _: &Env, out: &mut Vec<f64>) {
        self.price.probe(out);
    }
}
