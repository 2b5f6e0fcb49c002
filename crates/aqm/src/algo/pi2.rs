//! PI2: a PI controller whose probability is squared for Classic senders.
//!
//! De Schepper, Bondarenko, Tsang and Briscoe, "PI2: A Linearized AQM for both Classic and Scalable TCP", ACM CoNEXT 2016,
//! sections 4 and 5; RFC 9332, appendix A, of which it is the base AQM in one queue.
//!
//! Every t_update p' <- p' + alpha (d - target) + beta (d - d'), where d is the age of the oldest queued packet. Classic
//! packets are signalled with p_C = p'^2, scalable ones with p_CL = min(k p', 1). The squaring linearizes the
//! response of Classic senders, so the gains need no table of p as PIE's do.
//!
//! Input: the queue's head at regular times, departures (or arrivals). Output: a mark, by chance or evenly. In overload,
//! when k p' reaches 1, Classic packets are dropped and scalable ones are dropped with p'^2, else marked.
//! Departures: none. The paper signals at arrivals, RFC 9332 at departures: `decide` chooses.
//! Defaults: RFC 9332, appendix A. The paper has target = 20 ms, t_update = 32 ms, alpha = 5/16 Hz, beta = 50/16 Hz.

use alloc::{string::String, vec::Vec};
use crate::base_pi::{BasePi, Gains};
use crate::l4s_fields::L4sFields;
use crate::likelihood::{Likelihood, Signaller};
use crate::periodic_timer::PeriodicTimer;
use crate::policy::{Aqm, Context, Env, Reason, Verdict};
use marqueue_core::params::ParamError;
use marqueue_core::{Dur, Packet, Rng, Time};

marqueue_core::choice! {
    /// When a packet is signalled.
    pub enum Decide {
        /// When it leaves the queue.
        Departure = "departure",
        /// When it arrives.
        Arrival = "arrival",
    }
}

marqueue_core::params! {
    /// Parameters of PI2 besides the gains.
    pub struct Params {
        /// Coupling factor between Classic and scalable packets.
        k: f64 { unit: One, range: 0.1 => 100.0, default: 2.0, source: "De Schepper et al. 2016, section 5; RFC 9332, figure 2" },
        /// ECN fields of scalable packets.
        l4s: L4sFields { default: L4sFields::Ect1, source: "De Schepper et al. 2016, section 5; RFC 9331, section 4.1" },
        /// When packets are signalled.
        decide: Decide { default: Decide::Departure, source: "RFC 9332, appendix A.1; arrival: De Schepper et al. 2016" },
        /// How probabilities become signals.
        likelihood: Likelihood { default: Likelihood::Random, source: "De Schepper et al. 2016, section 4; recurrent: RFC 9332, figure 4" },
    }
}

/// State of PI2.
#[derive(Debug)]
pub struct Pi2 {
    pi: BasePi,
    timer: PeriodicTimer,
    k: f64,
    l4s: L4sFields,
    decide: Decide,
    classic: Signaller,
    scalable: Signaller,
}

impl Pi2 {
    fn signal(&mut self, cx: &mut Context<'_>, packet: &Packet) -> Verdict {
        let p = self.pi.p();
        if p == 0.0 {
            return Verdict::Pass;
        }
        let (classic, coupled) = (p * p, (self.k * p).min(1.0));
        let overload = coupled >= 1.0;
        if !self.l4s.has(packet.ecn()) {
            return match self.classic.signals(classic, cx.rng) {
                true if overload => Verdict::Drop(Reason::Forced),
                true => Verdict::Mark(Reason::Early),
                false => Verdict::Pass,
            };
        }
        if overload && self.scalable.signals(classic, cx.rng) {
            return Verdict::Drop(Reason::Forced);
        }
        match self.scalable.signals(coupled, cx.rng) {
            true => Verdict::Mark(Reason::Early),
            false => Verdict::Pass,
        }
    }
}

impl Aqm for Pi2 {
    const NAME: &'static str = "pi2";
    const SUMMARY: &'static str = "Signals at random; a PI controller of the delay, squared for Classic senders";
    const SOURCE: &'static str = "De Schepper, Bondarenko, Tsang and Briscoe, ACM CoNEXT 2016; RFC 9332, 2023";
    const PROBES: &'static [(&'static str, &'static str)] =
        &[("p_base", "fraction"), ("p_classic", "fraction"), ("p_coupled", "fraction"), ("delay", "s")];
    type Params = (Gains, Params);

    fn new((gains, p): &Self::Params, _: &Env, _: &Rng, now: Time) -> Result<Self, ParamError> {
        Ok(Pi2 {
            pi: BasePi::new(gains, 1.0)?,
            timer: PeriodicTimer::new(now, Dur::from_secs(gains.resolve().0)),
            k: p.k,
            l4s: p.l4s,
            decide: p.decide,
            classic: Signaller::new(p.likelihood),
            scalable: Signaller::new(p.likelihood),
        })
    }

    #[inline]
    fn on_arrival(&mut self, cx: &mut Context<'_>, packet: &Packet) -> Verdict {
        self.timer.resume(cx.now);
        match self.decide {
            // A packet that does not fit is no signal.
            Decide::Arrival if !cx.is_full(packet) => self.signal(cx, packet),
            Decide::Arrival | Decide::Departure => Verdict::Pass,
        }
    }

    #[inline]
    fn on_departure(&mut self, cx: &mut Context<'_>, packet: &Packet, _: Dur) -> Verdict {
        match self.decide {
            Decide::Departure => self.signal(cx, packet),
            Decide::Arrival => Verdict::Pass,
        }
    }

    fn next_timer(&self) -> Time {
        self.timer.due()
    }

    fn on_timer(&mut self, cx: &mut Context<'_>) {
        let before = self.pi.state();
        self.pi.update(cx.queue.age(cx.now).secs());
        self.timer.tick(cx.packets() == 0 && before == self.pi.state());
    }

    fn warning(&self, env: &Env) -> Option<String> {
        self.pi.warning(env)
    }

    fn probe(&self, _: Time, _: &Env, out: &mut Vec<f64>) {
        let (p, delay) = self.pi.state();
        out.extend([p, p * p, (self.k * p).min(1.0), delay]);
    }
}
