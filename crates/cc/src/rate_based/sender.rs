//! The sender of a rate-based flow: paces packets, processes reports, calls the rate law.

use super::pacer::Pacer;
use super::{AnyRateLaw, Interval, Report, ReturnedSignals};
use marqueue_core::{Dur, Signals, Time};

/// The slowest rate: a packet in 64 s (RFC 5348, t_mbi).
const SLOWEST: f64 = 1.0 / 64.0;

/// The fastest rate, packets a second: the clock counts nanoseconds.
const FASTEST: f64 = 1e9;

/// Time without a report after which the rate is reduced, before the first round-trip time is known (RFC 5348, section
/// 4.2), s.
const FIRST_PATIENCE: f64 = 2.0;

/// Weight of the past in the smoothed round-trip time (RFC 5348, section 4.3).
const Q: f64 = 0.9;

/// Counts of a sender.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Packets sent.
    pub sent: u32,
    /// Rate reductions because no report arrived.
    pub timeouts: u32,
    /// Rate reductions for marks alone.
    pub ecn_cuts: u32,
}

/// A rate-based sender.
#[derive(Clone, Debug)]
pub struct Sender {
    law: AnyRateLaw,
    pacer: Pacer,
    /// When it stops.
    stop: Time,
    /// What it has counted.
    pub counts: Counts,
    /// Smoothed round-trip time, s, once measured.
    srtt: Option<f64>,
    /// The packet that is being timed.
    timed: Option<(u32, Time)>,
    /// Packets lost so far, by the latest report.
    lost: u32,
    /// The rate has been reduced for all packets sent before this one.
    recover: u32,
    /// The events of this control interval.
    interval: Interval,
    /// Start and end of the control interval; none before the first report.
    control: Option<(Time, Time)>,
    /// When the rate is reduced unless a report arrives.
    silent_at: Time,
}

impl Sender {
    /// A sender that starts at `start` with `rate` packets a second.
    pub fn new(law: AnyRateLaw, rate: f64, start: Time, stop: Time) -> Sender {
        Sender {
            law,
            pacer: Pacer::new(rate.max(SLOWEST), start),
            stop,
            counts: Counts::default(),
            srtt: None,
            timed: None,
            lost: 0,
            recover: 0,
            interval: Interval::default(),
            control: None,
            silent_at: start + Dur::from_secs(FIRST_PATIENCE),
        }
    }

    /// The rate in force, packets a second.
    pub fn rate(&self) -> f64 {
        self.pacer.rate()
    }

    /// The header for routers of packet `seq`, which is sent now, if the law uses their feedback.
    pub fn header(&self, seq: u32) -> Option<Signals> {
        self.law.header(seq, self.pacer.rate())
    }

    /// State for traces: the rate in force, packets a second, and the latest price.
    pub fn rate_and_price(&self) -> (f64, Option<f64>) {
        (self.pacer.rate(), self.law.price())
    }

    /// When [`Sender::on_timer`] is due; never after the stop.
    pub fn deadline(&self) -> Time {
        let control = self.control.map_or(Time::NEVER, |(_, end)| end);
        let deadline = self.pacer.next().min(control).min(self.silent_at);
        if deadline < self.stop {
            deadline
        } else {
            Time::NEVER
        }
    }

    /// The timer is due ([`Sender::deadline`]). Returns the number of the packet to send now, if there is one.
    pub fn on_timer(&mut self, now: Time) -> Option<u32> {
        if now >= self.silent_at {
            self.counts.timeouts += 1;
            self.cut(now, AnyRateLaw::on_feedback_timeout);
            self.await_report(now);
        }
        if self.control.is_some_and(|(_, end)| now >= end) {
            self.end_interval(now);
        }
        (now >= self.pacer.next()).then(|| self.send(now))
    }

    /// A report arrives.
    pub fn on_report(&mut self, now: Time, report: &Report) {
        if let Some((seq, sent)) = self.timed.filter(|&(seq, _)| report.echo >= seq) {
            if report.echo == seq {
                let sample = (now - sent).secs();
                self.srtt = Some(self.srtt.map_or(sample, |srtt| Q * srtt + (1.0 - Q) * sample));
            }
            self.timed = None;
        }
        self.interval.reports += 1;
        // The count only grows; a report that was overtaken contains nothing new.
        let lost_more = report.lost > self.lost;
        self.lost = self.lost.max(report.lost);
        if report.congested > self.recover {
            self.counts.ecn_cuts += u32::from(!lost_more);
            self.cut(now, AnyRateLaw::on_congestion);
        }
        if let (Some(signals), Some(srtt)) = (report.signals, self.srtt) {
            let returned = ReturnedSignals { now, srtt, signals };
            self.set_rate(now, |law, rate| law.on_signals(rate, &returned));
        }
        if self.control.is_none() {
            self.begin_interval(now);
        }
        self.await_report(now);
    }

    fn send(&mut self, now: Time) -> u32 {
        let seq = self.counts.sent;
        self.counts.sent += 1;
        self.timed.get_or_insert((seq, now));
        self.pacer.sent(now);
        seq
    }

    /// Congestion, or no report for long: the law reduces the rate, once for all packets sent so far.
    fn cut(&mut self, now: Time, ask: impl FnOnce(&mut AnyRateLaw, f64) -> f64) {
        self.recover = self.counts.sent;
        self.set_rate(now, ask);
        self.interval.cut = true;
    }

    fn end_interval(&mut self, now: Time) {
        let begin = self.control.map_or(now, |(begin, _)| begin);
        let interval = Interval { seconds: (now - begin).secs(), ..self.interval };
        self.set_rate(now, |law, rate| law.on_interval(rate, &interval));
        self.interval = Interval::default();
        self.begin_interval(now);
    }

    fn begin_interval(&mut self, now: Time) {
        self.control = self.srtt.map(|srtt| (now, now + Dur::from_secs(self.law.interval(srtt)).max(Dur(1))));
    }

    fn set_rate(&mut self, now: Time, ask: impl FnOnce(&mut AnyRateLaw, f64) -> f64) {
        let rate = ask(&mut self.law, self.pacer.rate()).clamp(SLOWEST, FASTEST);
        self.pacer.set_rate(now, rate);
    }

    /// RFC 5348, section 4.3: four round trips or two packets, whichever is longer.
    fn await_report(&mut self, now: Time) {
        let patience = self.srtt.map_or(FIRST_PATIENCE, |srtt| 4.0 * srtt).max(2.0 / self.pacer.rate());
        self.silent_at = now + Dur::from_secs(patience);
    }
}
