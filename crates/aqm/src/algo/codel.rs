//! CoDel: controlled delay.
//!
//! RFC 8289, section 5 (the pseudocode); section 4 explains it.
//!
//! Once the sojourn time of departing packets has been at least `target` for `interval`, one packet is
//! signalled, the next after interval/sqrt(1), then interval/sqrt(2), and so on:
//! drop_next <- drop_next + interval/sqrt(count), until a packet leaves that waited for less.
//!
//! Sees: departures with their sojourn times. Decides: mark, at departure.
//!
//! The RFC's dequeue() drops and then fetches the next packet itself; here the discipline asks about
//! each packet in turn, so `previous` remembers why the previous one was lost. Where a signal is a mark,
//! the packet leaves and no other is fetched: then count and drop_next move at once, from drop_next
//! and not from now, as they would after a drop whose successor was late too.
//! Departures: MAXPACKET, for which the RFC takes the interface's MTU, is the largest packet seen, and
//! at least the usual size.
//! Defaults: RFC 8289, sections 4.2 and 4.3.

use crate::policy::{Aqm, Context, Env, Reason, Verdict};
use marqueue_core::params::ParamError;
use marqueue_core::{Dur, Packet, Rng, Time};

marqueue_core::params! {
    /// Parameters of CoDel.
    pub struct Params {
        /// Sojourn time that a standing queue may cause.
        target: f64 { unit: Seconds, range: 1e-6 => 100.0, default: 0.005, source: "RFC 8289, section 4.3" },
        /// How long the sojourn time must stay above target: a round-trip time of the slowest flows.
        interval: f64 { unit: Seconds, range: 1e-6 => 100.0, default: 0.1, source: "RFC 8289, section 4.2" },
    }
}

/// The fate of the previous packet in the same dequeue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Previous {
    /// There was none.
    First,
    /// It was dropped because drop_next had come.
    AfterDrop,
    /// It was dropped upon entering the dropping state.
    AfterEntry,
}

/// State of CoDel.
#[derive(Debug)]
pub struct Codel {
    target: Dur,
    interval: Dur,
    /// MAXPACKET, bytes.
    max_packet: u64,
    /// When the sojourn time will have been above target for an interval.
    first_above: Option<Time>,
    drop_next: Time,
    count: u32,
    last_count: u32,
    dropping: bool,
    previous: Previous,
}

impl Codel {
    /// RFC 8289, section 5.6.
    fn control_law(&self, from: Time) -> Time {
        from + Dur::from_secs(self.interval.secs() / f64::from(self.count).sqrt())
    }

    /// RFC 8289, section 5.6: has the sojourn time been above target for an interval?
    #[inline]
    fn ok_to_drop(&mut self, cx: &Context<'_>, sojourn: Dur) -> bool {
        if sojourn < self.target || cx.bytes() <= self.max_packet {
            self.first_above = None;
            return false;
        }
        let first_above = *self.first_above.get_or_insert(cx.now + self.interval);
        cx.now >= first_above
    }

    /// RFC 8289, section 5.5: enters the dropping state; resumes near the old rate if that was left recently.
    fn enter(&mut self, now: Time) {
        self.dropping = true;
        let delta = self.count - self.last_count;
        let recent = now.since(self.drop_next).0 < 16 * self.interval.0;
        self.count = if delta > 1 && recent { delta } else { 1 };
        self.drop_next = self.control_law(now);
        self.last_count = self.count;
    }

    /// Another signal is given in the dropping state.
    fn advance(&mut self) {
        self.count += 1;
        self.drop_next = self.control_law(self.drop_next);
    }

    fn signal(&mut self, cx: &Context<'_>, packet: &Packet, previous: Previous) -> Verdict {
        if cx.mark_drops(packet) {
            self.previous = previous;
        } else if previous == Previous::AfterDrop {
            self.advance();
        }
        Verdict::Mark(Reason::Sojourn)
    }
}

impl Aqm for Codel {
    const NAME: &'static str = "codel";
    const SUMMARY: &'static str = "Signals at growing frequency while the sojourn time exceeds a target for an interval";
    const SOURCE: &'static str = "Nichols, Jacobson, McGregor and Iyengar, RFC 8289, 2018";
    const PROBES: &'static [(&'static str, &'static str)] = &[("dropping", "fraction"), ("count", "packets")];
    type Params = Params;

    fn new(p: &Params, env: &Env, _: &Rng, now: Time) -> Result<Self, ParamError> {
        if p.target > p.interval {
            let expected = format!("at most interval = {} s", p.interval);
            return Err(ParamError::new("target", format!("got {} s, expected {expected}", p.target)));
        }
        Ok(Codel {
            target: Dur::from_secs(p.target),
            interval: Dur::from_secs(p.interval),
            max_packet: env.mean_packet.0,
            first_above: None,
            drop_next: now,
            count: 0,
            last_count: 0,
            dropping: false,
            previous: Previous::First,
        })
    }

    #[inline]
    fn on_arrival(&mut self, _: &mut Context<'_>, packet: &Packet) -> Verdict {
        self.max_packet = self.max_packet.max(u64::from(packet.bytes()));
        Verdict::Pass
    }

    #[inline]
    fn on_departure(&mut self, cx: &mut Context<'_>, packet: &Packet, sojourn: Dur) -> Verdict {
        let ok = self.ok_to_drop(cx, sojourn);
        match std::mem::replace(&mut self.previous, Previous::First) {
            // The RFC returns the packet after the one lost upon entry whatever it waited.
            Previous::AfterEntry => return Verdict::Pass,
            Previous::AfterDrop if ok => self.advance(),
            Previous::AfterDrop | Previous::First => {}
        }
        if self.dropping {
            self.dropping = ok;
            if ok && cx.now >= self.drop_next {
                return self.signal(cx, packet, Previous::AfterDrop);
            }
        } else if ok {
            self.enter(cx.now);
            return self.signal(cx, packet, Previous::AfterEntry);
        }
        Verdict::Pass
    }

    fn on_idle(&mut self, _: Time) {
        self.first_above = None;
        if std::mem::replace(&mut self.previous, Previous::First) == Previous::AfterDrop {
            self.dropping = false;
        }
    }

    fn probe(&self, _: Time, _: &Env, out: &mut Vec<f64>) {
        out.extend([f64::from(u8::from(self.dropping)), f64::from(self.count)]);
    }
}
