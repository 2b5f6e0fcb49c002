//! Step marking: every ECN-capable packet that meets more than a threshold of queue is marked.
//!
//! Alizadeh et al., "Data Center TCP (DCTCP)", ACM SIGCOMM 2010, section 3.1: a packet that arrives at more than K queued
//! packets is marked. The L4S step of RFC 9332, appendix A.1, note c, and of Linux's dualpi2 (step_thresh) is a sojourn
//! time: a packet that waited for longer is marked as it departs.
//!
//! Input: the queue at each arrival, or sojourn times. Output: a mark.
//! Packets that are not ECN-capable pass (or are dropped as by a router that follows RFC 3168, by `not_ect`). Where
//! signals are drops (signal = "drop"), they are signalled as all others, because no packet counts as ECN-capable there.
//! Departures: none.
//! Defaults: 1 ms as in Linux's dualpi2. DCTCP's K is 20 packets at 1 Gbit/s and 65 at 10 Gbit/s (section 3.4).

use alloc::string::String;
use crate::policy::{Aqm, Context, Env, Reason, Signal, Verdict};
use marqueue_core::params::ParamError;
use marqueue_core::{Dur, Ecn, Packet, Rng, Time};

marqueue_core::choice! {
    /// What happens to packets above the threshold that are not ECN-capable.
    pub enum NotEct {
        /// They pass.
        Pass = "pass",
        /// They are signalled, which drops them (RFC 3168, section 5).
        Drop = "drop",
    }
}

marqueue_core::params! {
    /// Parameters of step marking.
    pub struct Params {
        /// Sojourn time above which a departing packet is marked. Not together with packets.
        delay: Option<f64> { unit: Seconds, range: 0.0 => 100.0, default: None, auto: "1 ms if packets is not given", source: "Linux dualpi2 step_thresh; RFC 9332, appendix A.1, note c" },
        /// K: an arriving packet is marked if more than this many are queued. Not together with delay.
        packets: Option<f64> { unit: Packets, range: 0.0 => 1e9, default: None, auto: "off", source: "Alizadeh et al. 2010, sections 3.1 and 3.4" },
        /// Packets that are not ECN-capable pass, or are dropped.
        not_ect: NotEct { default: NotEct::Pass, source: "RFC 8257, section 3.1; RFC 3168, section 5" },
    }
}

/// The threshold.
#[derive(Clone, Copy, Debug)]
enum Threshold {
    Packets(f64),
    Sojourn(Dur),
}

/// State of step marking: its settings.
#[derive(Debug)]
pub struct Step {
    threshold: Threshold,
    not_ect: NotEct,
}

impl Step {
    #[inline]
    fn signal(&self, signal: Signal, packet: &Packet, reason: Reason) -> Verdict {
        match (packet.ecn(), signal, self.not_ect) {
            (Ecn::NotEct, Signal::Ecn | Signal::EcnOnly, NotEct::Pass) => Verdict::Pass,
            _ => Verdict::Mark(reason),
        }
    }
}

impl Aqm for Step {
    const NAME: &'static str = "step";
    const SUMMARY: &'static str = "Marks every ECN-capable packet above a threshold of queue or sojourn time";
    const SOURCE: &'static str = "Alizadeh et al., ACM SIGCOMM 2010; RFC 9332, appendix A.1";
    type Params = Params;

    fn new(p: &Params, _: &Env, _: &Rng, _: Time) -> Result<Self, ParamError> {
        let threshold = match (p.packets, p.delay) {
            (Some(packets), Some(_)) => {
                let message = format!("got {packets} packets together with delay, expected one of them");
                return Err(ParamError::new("packets", message));
            }
            (Some(packets), None) => Threshold::Packets(packets),
            (None, delay) => Threshold::Sojourn(Dur::from_secs(delay.unwrap_or(0.001))),
        };
        Ok(Step { threshold, not_ect: p.not_ect })
    }

    #[inline]
    fn on_arrival(&mut self, cx: &mut Context<'_>, packet: &Packet) -> Verdict {
        match self.threshold {
            Threshold::Packets(k) if f64::from(cx.packets()) > k => self.signal(cx.env.signal, packet, Reason::Forced),
            Threshold::Packets(_) | Threshold::Sojourn(_) => Verdict::Pass,
        }
    }

    #[inline]
    fn on_departure(&mut self, cx: &mut Context<'_>, packet: &Packet, sojourn: Dur) -> Verdict {
        match self.threshold {
            Threshold::Sojourn(longest) if sojourn > longest => self.signal(cx.env.signal, packet, Reason::Sojourn),
            Threshold::Packets(_) | Threshold::Sojourn(_) => Verdict::Pass,
        }
    }

    fn warning(&self, env: &Env) -> Option<String> {
        let (buffer, k) = match self.threshold {
            Threshold::Packets(k) => (env.limit.packets(env.mean_packet), k),
            Threshold::Sojourn(longest) => (env.limit.bytes(env.mean_packet) / env.rate.bytes_per_sec(), longest.secs()),
        };
        let (name, unit) = match self.threshold {
            Threshold::Packets(_) => ("packets", "packets"),
            Threshold::Sojourn(_) => ("delay", "s"),
        };
        (buffer <= k).then(|| format!("{name}: got {k} {unit}, expected less than the buffer of {buffer} {unit}"))
    }
}
