//! The receiver of a media flow and its feedback: the RTCP report block of RFC 8888.
//!
//! A block has an entry for each sequence number from the first to the highest: received or not, ECN field, and the time
//! between its arrival and the report in 1/1024 s (13 bits). The report's own time has 1/65536 s. When to report: after
//! [`PACKETS`] packets, with the last packet of a frame, and at the latest [`INTERVAL`] after a packet (SCReAMv2's draft,
//! "Receiver Requirements on Feedback Intensity"). Blocks overlap, so that a lost report does no harm: each covers at
//! least the latest [`SPAN`] sequence numbers (the same, "Discussion").

use super::UDP_HEADER;
use marqueue_core::{Dur, Ecn, Time};
use std::collections::VecDeque;

/// Most packets without a report.
pub const PACKETS: u32 = 16;
/// Longest time between a packet and the report of it.
pub const INTERVAL: Dur = Dur(40_000_000);
/// Fewest sequence numbers in a block, once there are so many.
pub const SPAN: u32 = 32;
/// The largest arrival time offset that can be told, in 1/1024 s.
const LONGEST: u64 = 0x1FFD;
/// Headers of the report and of its block: two words each, and the report's time.
const HEADERS: u32 = 20;

/// What a report says of a packet that has arrived.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PacketReport {
    /// Its ECN field.
    pub ecn: Ecn,
    /// Time from its arrival to the report, in 1/1024 s.
    pub offset: u16,
}

impl PacketReport {
    /// Time from its arrival to the report.
    pub fn waited(&self) -> Dur {
        Dur(u64::from(self.offset) * 1_000_000_000 / 1024)
    }
}

/// A report of the receiver to its sender.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Feedback {
    /// The first sequence number.
    pub begin: u32,
    /// When it was made, to 1/65536 s.
    pub at: Time,
    /// The packets from `begin` on: `None` if one has not arrived.
    pub packets: Vec<Option<PacketReport>>,
}

impl Feedback {
    /// Size on the wire, bytes. Two entries are a word.
    pub fn bytes(&self) -> u32 {
        UDP_HEADER + HEADERS + 4 * (self.packets.len() as u32).div_ceil(2)
    }
}

/// State of a receiver.
#[derive(Clone, Debug, Default)]
pub struct Receiver {
    /// The first sequence number in `arrivals`.
    first: u32,
    /// Time and ECN field of what has arrived.
    arrivals: VecDeque<Option<(Time, Ecn)>>,
    /// One past the highest sequence number of the latest report.
    reported: u32,
    /// Packets since the latest report.
    since: u32,
    /// When a report is due; `None` without a packet since the latest.
    due: Option<Time>,
}

impl Receiver {
    /// When [`Receiver::on_timer`] is due.
    pub fn deadline(&self) -> Time {
        self.due.unwrap_or(Time::NEVER)
    }

    /// A packet arrives. Returns the report that it makes due.
    pub fn on_packet(&mut self, now: Time, seq: u32, ecn: Ecn, ends_frame: bool) -> Option<Feedback> {
        // One that is older than all that is kept has been reported as missing many times.
        let place = seq.checked_sub(self.first)? as usize;
        while self.arrivals.len() <= place {
            self.arrivals.push_back(None);
        }
        self.arrivals[place] = Some((now, ecn));
        self.since += 1;
        self.due.get_or_insert(now + INTERVAL);
        (ends_frame || self.since >= PACKETS).then(|| self.report(now))
    }

    /// The timer is due ([`Receiver::deadline`]).
    pub fn on_timer(&mut self, now: Time) -> Feedback {
        self.report(now)
    }

    fn report(&mut self, now: Time) -> Feedback {
        let end = self.first + self.arrivals.len() as u32;
        let begin = self.reported.min(end.saturating_sub(SPAN)).max(self.first);
        self.arrivals.drain(..(begin - self.first) as usize);
        self.first = begin;
        self.reported = end;
        self.since = 0;
        self.due = None;
        let at = Time((u128::from(now.0) * 65_536 / 1_000_000_000 * 1_000_000_000).div_ceil(65_536) as u64);
        let told = |&(arrived, ecn): &(Time, Ecn)| PacketReport {
            ecn,
            offset: (now.since(arrived).0 * 1024 / 1_000_000_000).min(LONGEST) as u16,
        };
        Feedback { begin, at, packets: self.arrivals.iter().map(|each| each.as_ref().map(told)).collect() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: u64 = 1_000_000;

    #[test]
    fn a_report_comes_with_the_end_of_a_frame_after_sixteen_packets_or_after_40_ms() {
        let mut r = Receiver::default();
        assert_eq!(r.deadline(), Time::NEVER);
        for seq in 0..15 {
            assert_eq!(r.on_packet(Time(MS), seq, Ecn::Ect1, false), None);
        }
        assert_eq!(r.deadline(), Time(41 * MS));
        assert_eq!(r.on_packet(Time(2 * MS), 15, Ecn::Ce, false).unwrap().packets.len(), 16);
        assert_eq!(r.deadline(), Time::NEVER);
        assert!(r.on_packet(Time(3 * MS), 16, Ecn::Ect1, true).is_some());
        assert!(r.on_packet(Time(4 * MS), 17, Ecn::Ect1, false).is_none());
        // 250 ms later: 256 units of 1/1024 s; the size: 28 + 20 + 9 words.
        let report = r.on_timer(Time(254 * MS));
        assert_eq!(report.packets[17], Some(PacketReport { ecn: Ecn::Ect1, offset: 256 }));
        assert_eq!(report.packets[15].unwrap().ecn, Ecn::Ce);
        assert_eq!((report.begin, report.bytes()), (0, 84));
    }

    #[test]
    fn blocks_overlap_and_cover_all_that_was_not_reported() {
        let mut r = Receiver::default();
        for seq in 0..64 {
            r.on_packet(Time(MS), seq, Ecn::Ect1, false);
        }
        r.on_packet(Time(MS), 64, Ecn::Ect1, false);
        // A burst of 40 is lost: the report reaches back to 64, which none has told yet.
        let report = r.on_packet(Time(MS), 105, Ecn::Ect1, true).unwrap();
        assert_eq!((report.begin, report.packets.len()), (64, 42));
        assert!(report.packets[0].is_some() && report.packets[1..41].iter().all(Option::is_none));
        assert_eq!(r.on_packet(Time(MS), 106, Ecn::Ect1, true).unwrap().begin, 75);
    }
}
