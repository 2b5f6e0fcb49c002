//! The sender of a media flow: a queue of packets, pacing within a window, loss detection by reports.
//!
//! Bytes in flight are those beyond the highest sequence number that was reported, lost or not. A packet is missing once
//! a report tells of a later one and not of it, and lost when it still is after the reordering window: the longest time
//! that a missing packet took to be reported yet, zero at first (SCReAMv2's draft, "Detecting Lost Data Units"). If the
//! window lets nothing go for [`PATIENCE`], as when all packets or reports of a round trip were lost, what is in flight
//! counts no more and one packet goes, as in the authors' program.

use super::control::{Arrival, Delivered, Stream};
use super::feedback::Feedback;
use super::{AnyControl, RTP_HEADER, UDP_HEADER};
use crate::queueing_delay::{Memory, QueueingDelay};
use marqueue_core::params::{ParamError, PolicySpec};
use marqueue_core::{Dur, Ecn, Time};
use std::collections::VecDeque;

/// Longest time for which the window may hold packets back.
const PATIENCE: Dur = Dur(500_000_000);
/// How long a lost packet is remembered: a later report of it shows how far packets are reordered.
const REMEMBERED: Dur = Dur(1_000_000_000);
/// Weight of a new round-trip time (RFC 6298, section 2).
const ALPHA: f64 = 1.0 / 8.0;
/// Base delays of ten minutes (RFC 6817, section 2.5); the current delay is that of the latest report.
const DELAYS: Memory = Memory { minutes: 10, samples: 1 };

/// Settings of a sender.
#[derive(Clone, Debug)]
pub struct Setting {
    /// The control.
    pub control: PolicySpec,
    /// Size of a full packet on the wire, bytes.
    pub packet: u32,
    /// ECN field of its packets.
    pub ecn: Ecn,
    /// Time between frames.
    pub frame_period: Dur,
    /// Lowest and highest rate of the encoder, bit/s.
    pub rates: (f64, f64),
}

/// A packet to send.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Unit {
    /// Its frame.
    pub frame: u32,
    /// Size on the wire, bytes.
    pub bytes: u32,
    /// When it was queued.
    pub queued: Time,
}

/// A packet that was sent.
#[derive(Clone, Copy, Debug)]
struct Sent {
    frame: u32,
    /// With its RTP header.
    bytes: u32,
    at: Time,
    arrived: bool,
    /// When a report first told of a later packet and not of it.
    missing_since: Option<Time>,
    lost: bool,
}

/// Counts of a sender.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Packets sent.
    pub sent: u32,
    /// Times that packets in flight were given up because no report came.
    pub timeouts: u32,
    /// Packets found lost.
    pub lost: u32,
}

/// State for traces.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct MediaInfo {
    /// The rate for the encoder, bit/s.
    pub target: f64,
    /// The window, bytes; 0 if the control has none.
    pub window: f64,
    /// Bytes in flight, with RTP headers.
    pub in_flight: u64,
    /// Queueing delay of the latest report, s.
    pub qdelay: f64,
    /// Smoothed round-trip time, s; zero while none is measured.
    pub srtt: f64,
    /// Averaged share of marked packets.
    pub share_of_marks: f64,
    /// Packets that wait in the sender.
    pub queued: u32,
}

/// A media sender.
#[derive(Clone, Debug)]
pub struct Sender {
    control: AnyControl,
    /// A full RTP packet, bytes.
    full: u32,
    queue: VecDeque<Unit>,
    /// Packets from number `first` on that were sent.
    sent: VecDeque<Sent>,
    first: u32,
    /// One past the highest sequence number that was reported.
    reported: u32,
    /// The first packet that counts as in flight.
    edge: u32,
    in_flight: u64,
    next_send: Time,
    last_send: Time,
    reordering: Dur,
    delay: QueueingDelay,
    srtt: Option<f64>,
    /// What it has counted.
    pub counts: Counts,
}

impl Sender {
    /// A sender that starts at `start`.
    ///
    /// # Errors
    /// If the control is unknown or refuses a parameter.
    pub fn new(setting: &Setting, start: Time) -> Result<Sender, ParamError> {
        let stream = Stream {
            mss: f64::from(setting.packet - UDP_HEADER),
            frame_period: setting.frame_period.secs(),
            min_rate: setting.rates.0,
            max_rate: setting.rates.1,
            l4s: setting.ecn == Ecn::Ect1,
        };
        Ok(Sender {
            control: AnyControl::build(&setting.control, stream, start)?,
            full: setting.packet - UDP_HEADER,
            queue: VecDeque::new(),
            sent: VecDeque::new(),
            first: 0,
            reported: 0,
            edge: 0,
            in_flight: 0,
            next_send: start,
            last_send: start,
            reordering: Dur::ZERO,
            delay: QueueingDelay::default(),
            srtt: None,
            counts: Counts::default(),
        })
    }

    /// The rate for the encoder, bit/s, with the headers of RTP.
    pub fn target_bitrate(&self) -> f64 {
        self.control.target_bitrate()
    }

    /// State for traces.
    pub fn info(&self) -> MediaInfo {
        MediaInfo {
            target: self.control.target_bitrate(),
            window: self.control.window(),
            in_flight: self.in_flight,
            qdelay: self.delay.queueing().secs(),
            srtt: self.srtt.unwrap_or(0.0),
            share_of_marks: self.control.share_of_marks(),
            queued: self.queue.len() as u32,
        }
    }

    /// The encoder has made a frame of `bytes` in RTP packets. Returns how many packets it takes, and their bytes: none has
    /// less than a byte beside its header.
    pub fn on_frame(&mut self, now: Time, frame: u32, bytes: u32) -> (u32, u32) {
        let waited = self.queue.front().map_or(0.0, |unit| (now - unit.queued).secs());
        let (packets, mut total) = (bytes.div_ceil(self.full), 0);
        for i in 0..packets {
            let size = (bytes - i * self.full).clamp(RTP_HEADER + 1, self.full);
            total += size;
            self.queue.push_back(Unit { frame, bytes: size + UDP_HEADER, queued: now });
        }
        self.control.on_frame(waited, f64::from(total));
        (packets, total)
    }

    /// When [`Sender::on_timer`] is due.
    pub fn deadline(&self) -> Time {
        let Some(unit) = self.queue.front() else { return Time::NEVER };
        let at = if self.fits(unit) { self.next_send } else { self.last_send + PATIENCE };
        at.max(unit.queued)
    }

    fn fits(&self, unit: &Unit) -> bool {
        let after = self.in_flight + u64::from(unit.bytes - UDP_HEADER);
        self.in_flight == 0 || after as f64 <= self.control.most_in_flight()
    }

    /// The timer is due ([`Sender::deadline`]). Returns number and size of the packet to send now, if there is one.
    pub fn on_timer(&mut self, now: Time) -> Option<(u32, Unit)> {
        if now < self.deadline() {
            return None;
        }
        let unit = self.queue.pop_front()?;
        if !self.fits(&unit) {
            self.counts.timeouts += 1;
            (self.in_flight, self.edge) = (0, self.counts.sent);
        }
        let (seq, bytes) = (self.counts.sent, unit.bytes - UDP_HEADER);
        self.counts.sent += 1;
        self.in_flight += u64::from(bytes);
        self.sent.push_back(Sent {
            frame: unit.frame,
            bytes,
            at: now,
            arrived: false,
            missing_since: None,
            lost: false,
        });
        self.control.on_sent(now, self.in_flight as f64);
        self.last_send = now;
        self.next_send = now + self.control.pace(f64::from(bytes));
        Some((seq, unit))
    }

    /// A report arrives. Returns the newest frame of which a packet was found lost.
    pub fn on_feedback(&mut self, now: Time, report: &Feedback) -> Option<u32> {
        let mut told = self.mark_arrived(now, report);
        let end = report.begin + report.packets.len() as u32;
        for seq in self.reported.max(self.first)..end {
            let sent = &self.sent[(seq - self.first) as usize];
            told.bytes += f64::from(sent.bytes);
            let marked = seq.checked_sub(report.begin).and_then(|i| report.packets[i as usize]);
            if marked.is_some_and(|packet| packet.ecn == Ecn::Ce) {
                told.bytes_ce += f64::from(sent.bytes);
            }
            if seq >= self.edge {
                self.in_flight -= u64::from(sent.bytes);
            }
        }
        self.time(now, report, end);
        self.edge = self.edge.max(end);
        self.reported = self.reported.max(end);
        let lost_before = self.counts.lost;
        let lost = self.find_lost(now);
        told.units_lost = self.counts.lost - lost_before;
        (told.qdelay, told.s_rtt) = (self.delay.queueing().secs(), self.srtt.unwrap_or(0.0));
        self.control.on_feedback(now, &told);
        lost
    }

    /// Notes which packets have arrived, and tells the control. Returns their number, and that of the marked ones.
    fn mark_arrived(&mut self, now: Time, report: &Feedback) -> Delivered {
        let mut told = Delivered::default();
        for (seq, packet) in (report.begin..).zip(&report.packets) {
            let (Some(place), Some(packet)) = (seq.checked_sub(self.first), packet) else { continue };
            let sent = &mut self.sent[place as usize];
            if !sent.arrived {
                sent.arrived = true;
                // Rounding may put the arrival before the sending.
                let arrived = Time(report.at.0.saturating_sub(packet.waited().0)).max(sent.at);
                self.control.on_arrival(Arrival { sent: sent.at, arrived, bytes: sent.bytes });
                told.units += 1;
                told.units_ce += u32::from(packet.ecn == Ecn::Ce);
                if let Some(since) = sent.missing_since {
                    self.reordering = self.reordering.max(now - since);
                }
            }
        }
        told
    }

    /// Takes round-trip time and delay of the packet with the highest sequence number, if it is new.
    fn time(&mut self, now: Time, report: &Feedback, end: u32) {
        let Some(Some(packet)) = report.packets.last().filter(|_| end > self.reported) else { return };
        let sent = self.sent[(end - 1 - self.first) as usize].at;
        let (rtt, held) = ((now - sent).secs(), packet.waited());
        let rtt = (rtt - held.secs()).max(0.0);
        self.srtt = Some(self.srtt.map_or(rtt, |srtt| (1.0 - ALPHA) * srtt + ALPHA * rtt));
        // Both ends have one clock here; rounding may put the arrival before the sending.
        let one_way = Dur(report.at.0.saturating_sub(held.0).saturating_sub(sent.0));
        self.delay.note(DELAYS, now, one_way);
    }

    /// Finds packets that are lost, and forgets what is settled. Returns the newest frame that lost one.
    fn find_lost(&mut self, now: Time) -> Option<u32> {
        let mut newest = None;
        let known = (self.reported - self.first) as usize;
        for sent in self.sent.iter_mut().take(known).filter(|sent| !sent.arrived && !sent.lost) {
            let since = *sent.missing_since.get_or_insert(now);
            if now - since >= self.reordering {
                sent.lost = true;
                self.counts.lost += 1;
                newest = Some(sent.frame);
            }
        }
        while self.first < self.reported {
            let Some(oldest) = self.sent.front() else { break };
            let is_settled = oldest.arrived || (oldest.lost && now - oldest.at > REMEMBERED);
            if !is_settled {
                break;
            }
            self.sent.pop_front();
            self.first += 1;
        }
        newest
    }
}
