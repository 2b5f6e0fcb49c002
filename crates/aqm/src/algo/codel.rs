//! CoDel: controlled delay.
//!
//! RFC 8289, section 5 (annotated pseudocode); sections 3 and 4 explain it.
//!
//! CoDel enters the dropping state when the sojourn time of departing packets has been at least `target` for
//! `interval`. It then signals one packet, and further ones at decreasing distances:
//! drop_next <- drop_next + interval/sqrt(count), where count is the number of signals. It leaves the state when a
//! packet waited for less than `target`, or when at most MAXPACKET bytes remain in the queue.
//!
//! Input: departures and their sojourn times. Output: a mark, at departure.
//!
//! The pseudocode's dequeue() drops a packet and fetches the next one itself. Here the discipline offers packets one at
//! a time, and `Step` holds the place in the pseudocode between two of them. RFC 8289 has no ECN: as in Linux, a
//! packet that is marked instead of dropped departs, no other is fetched, and count and drop_next advance at once.
//! Departures: none. MAXPACKET is the largest packet that arrived (permitted by section 4.1), and at least the usual
//! packet size. `ce_threshold` is Linux's; RFC 8290, section 5.2.7, describes it. `square_root = "newton"` computes as Linux
//! (codel_Newton_step, codel_control_law): 1/sqrt(count) in 16 bits by one step x <- x (3 - count x^2) / 2 a signal, from
//! x = 1 at count = 1, and times in units of 1024 ns. So the second signal of a dropping state is followed by a third after
//! interval/2, not after interval/sqrt(2); later distances are within a few percent.
//! Defaults: RFC 8289, sections 4.2 and 4.3.

use alloc::vec::Vec;
use crate::policy::{Aqm, Context, Env, Reason, Signal, Verdict};
use marqueue_core::params::ParamError;
use marqueue_core::{math, Dur, Packet, Rng, Time};

marqueue_core::choice! {
    /// How the square root of the number of signals is computed.
    pub enum SquareRoot {
        /// Exactly.
        Exact = "exact",
        /// By a step of Newton's method at each signal.
        Newton = "newton",
    }
}

marqueue_core::params! {
    /// Parameters of CoDel.
    pub struct Params {
        /// TARGET: the acceptable sojourn time of a standing queue.
        target: f64 { unit: Seconds, range: 1e-6 => 100.0, default: 0.005, source: "RFC 8289, section 4.3" },
        /// INTERVAL: how long the sojourn time must stay above target before a signal; about the longest RTT.
        interval: f64 { unit: Seconds, range: 1e-6 => 100.0, default: 0.1, source: "RFC 8289, section 4.2" },
        /// Sojourn time above which every ECN-capable packet is marked, besides CoDel's signals. Needs signal = "ecn" or "ecn-only".
        ce_threshold: Option<f64> { unit: Seconds, range: 0.0 => 100.0, default: None, auto: "off", source: "RFC 8290, section 5.2.7; Linux codel" },
        /// How the distance of signals is computed: exactly, or as in Linux by a step of Newton's method at each signal.
        square_root: SquareRoot { default: SquareRoot::Exact, source: "RFC 8289, section 5.6; newton: Linux, codel_Newton_step" },
    }
}

/// The place in the pseudocode's dequeue() (RFC 8289, section 5.5) at which the next packet is offered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Step {
    /// Its first line: the previous packet, if any, was returned.
    Start,
    /// In the loop of the dropping state: the previous packet was dropped.
    Dropped,
    /// In the branch that enters the dropping state: the previous packet was dropped.
    DroppedOnEntry,
}

/// State of CoDel.
#[derive(Debug)]
pub struct Codel {
    target: Dur,
    interval: Dur,
    /// Longer than any sojourn time if it is off.
    ce_threshold: Dur,
    /// Does MAXPACKET refer to all queues of the link or to this one?
    uses_total_occupancy: bool,
    /// MAXPACKET, bytes.
    max_packet: u64,
    /// first_above_time_: when the sojourn time will have been above target for an interval.
    first_above: Option<Time>,
    drop_next: Time,
    count: u32,
    last_count: u32,
    square_root: SquareRoot,
    /// 1/sqrt(count) in units of 2^-16, by Newton's method.
    inverse_root: u16,
    dropping: bool,
    step: Step,
}

/// Linux's unit of time is 2^10 ns: CODEL_SHIFT.
const UNIT: u32 = 10;

/// One step of Newton's method for 1/sqrt(count), in units of 2^-16, with Linux's rounding.
fn newton_step(root: u16, count: u32) -> u16 {
    let x = u64::from(root) << 16;
    let rest = (3_u64 << 32).saturating_sub(u64::from(count) * ((x * x) >> 32)) >> 2;
    ((rest * x) >> 47) as u16
}

impl Codel {
    /// The same policy for one of several queues. `total`: MAXPACKET is compared with the bytes of all queues that
    /// share the link (RFC 8289, section 4.4), else with those of this queue.
    pub fn with_total_occupancy(self, total: bool) -> Codel {
        Codel { uses_total_occupancy: total, ..self }
    }

    /// RFC 8289, section 5.6.
    fn control_law(&self, from: Time) -> Time {
        match self.square_root {
            SquareRoot::Exact => from + Dur::from_secs(self.interval.secs() / math::sqrt(f64::from(self.count))),
            SquareRoot::Newton => {
                let distance = ((self.interval.0 >> UNIT) * u64::from(self.inverse_root)) >> 16;
                Time(((from.0 >> UNIT) + distance) << UNIT)
            }
        }
    }

    fn set_count(&mut self, count: u32) {
        self.count = count;
        self.inverse_root = if count == 1 { u16::MAX } else { newton_step(self.inverse_root, count) };
    }

    /// RFC 8289, section 5.6, dodequeue(): has the sojourn time been above target for an interval?
    #[inline]
    fn ok_to_drop(&mut self, cx: &Context<'_>, sojourn: Dur) -> bool {
        let other_bytes = if self.uses_total_occupancy { cx.other_bytes } else { 0 };
        if sojourn < self.target || cx.bytes() + other_bytes <= self.max_packet {
            self.first_above = None;
            return false;
        }
        let first_above = *self.first_above.get_or_insert(cx.now + self.interval);
        cx.now >= first_above
    }

    /// RFC 8289, section 5.5: enters the dropping state, at a rate near the last one if that was left recently.
    fn enter(&mut self, now: Time) {
        self.dropping = true;
        let delta = self.count - self.last_count;
        let recent = now.since(self.drop_next).0 < 16 * self.interval.0;
        self.set_count(if delta > 1 && recent { delta } else { 1 });
        self.drop_next = self.control_law(now);
        self.last_count = self.count;
    }

    /// Signals a packet. `dropped` is the next step if the signal is a drop.
    fn signal(&mut self, cx: &Context<'_>, packet: &Packet, dropped: Step) -> Verdict {
        if cx.mark_drops(packet) {
            self.step = dropped;
        } else if dropped == Step::Dropped {
            self.drop_next = self.control_law(self.drop_next);
        }
        Verdict::Mark(Reason::Sojourn)
    }

    /// RFC 8289, section 5.5, for one packet.
    #[inline]
    fn decide(&mut self, cx: &Context<'_>, packet: &Packet, sojourn: Dur) -> Verdict {
        let ok = self.ok_to_drop(cx, sojourn);
        match core::mem::replace(&mut self.step, Step::Start) {
            // The packet after the one dropped on entry is returned whatever its sojourn time.
            Step::DroppedOnEntry => return Verdict::Pass,
            Step::Dropped if ok => self.drop_next = self.control_law(self.drop_next),
            Step::Dropped | Step::Start => {}
        }
        if self.dropping {
            self.dropping = ok;
            if ok && cx.now >= self.drop_next {
                self.set_count(self.count + 1);
                return self.signal(cx, packet, Step::Dropped);
            }
        } else if ok {
            self.enter(cx.now);
            return self.signal(cx, packet, Step::DroppedOnEntry);
        }
        Verdict::Pass
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
        if let (Some(threshold), Signal::Drop) = (p.ce_threshold, env.signal) {
            let message = format!("got {threshold} s, expected none where signals are drops (signal = \"drop\")");
            return Err(ParamError::new("ce_threshold", message));
        }
        Ok(Codel {
            target: Dur::from_secs(p.target),
            interval: Dur::from_secs(p.interval),
            ce_threshold: p.ce_threshold.map_or(Dur(u64::MAX), Dur::from_secs),
            uses_total_occupancy: true,
            max_packet: env.mean_packet.0,
            first_above: None,
            drop_next: now,
            count: 0,
            last_count: 0,
            square_root: p.square_root,
            inverse_root: u16::MAX,
            dropping: false,
            step: Step::Start,
        })
    }

    #[inline]
    fn on_arrival(&mut self, _: &mut Context<'_>, packet: &Packet) -> Verdict {
        self.max_packet = self.max_packet.max(u64::from(packet.bytes()));
        Verdict::Pass
    }

    #[inline]
    fn on_departure(&mut self, cx: &mut Context<'_>, packet: &Packet, sojourn: Dur) -> Verdict {
        match self.decide(cx, packet, sojourn) {
            Verdict::Pass if sojourn > self.ce_threshold && packet.ecn().is_ect() => Verdict::Mark(Reason::Sojourn),
            verdict => verdict,
        }
    }

    fn on_idle(&mut self, _: Time) {
        self.first_above = None;
        // Entering the dropping state is completed even if the drop leaves no packet to return.
        self.dropping &= core::mem::replace(&mut self.step, Step::Start) == Step::DroppedOnEntry;
    }

    fn probe(&self, _: Time, _: &Env, out: &mut Vec<f64>) {
        out.extend([f64::from(u8::from(self.dropping)), f64::from(self.count)]);
    }
}
