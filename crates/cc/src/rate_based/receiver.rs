//! The receiver of a rate-based flow: detects losses by gaps, counts marks, answers each packet with a report.

use crate::sequence_ranges::SequenceRanges;
use marqueue_core::{Ecn, Signals};

/// Number of later packets after which a missing one counts as lost (RFC 5348, section 5.1; RFC 9002, section 6.1.1).
pub const REORDER: u32 = 3;

/// A cumulative report of the receiver to its sender.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Report {
    /// The packet that it answers.
    pub echo: u32,
    /// Packets lost so far.
    pub lost: u32,
    /// One past the newest packet known to be lost or marked; zero if there is none.
    pub congested: u32,
    /// The header for routers of that packet.
    pub signals: Option<Signals>,
}

/// State of a receiver.
#[derive(Clone, Debug, Default)]
pub struct Receiver {
    /// All packets before it have arrived or count as lost.
    next: u32,
    /// Packets that arrived beyond.
    ahead: SequenceRanges,
    lost: u32,
    congested: u32,
}

impl Receiver {
    /// A packet arrives, with its header for routers if it has one.
    pub fn on_packet(&mut self, seq: u32, ecn: Ecn, signals: Option<Signals>) -> Report {
        if ecn == Ecn::Ce {
            self.congested = self.congested.max(seq + 1);
        }
        if seq == self.next && self.ahead.is_empty() {
            self.next += 1;
        } else if seq >= self.next {
            self.ahead.add(seq, seq + 1);
            self.settle();
        }
        Report { echo: seq, lost: self.lost, congested: self.congested, signals }
    }

    /// Advances over packets that have arrived, and over a gap once enough have arrived beyond it.
    fn settle(&mut self) {
        while let Some(&(start, end)) = self.ahead.as_slice().first() {
            if start > self.next {
                if self.ahead.count() < REORDER {
                    return;
                }
                self.lost += start - self.next;
                self.congested = self.congested.max(start);
            }
            self.next = end;
            self.ahead.trim_below(end);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn report(r: &mut Receiver, seqs: &[u32]) -> Report {
        seqs.iter().map(|&seq| r.on_packet(seq, Ecn::Ect0, None)).last().unwrap()
    }

    #[test]
    fn a_gap_is_a_loss_once_three_later_packets_have_come() {
        let mut r = Receiver::default();
        assert_eq!(report(&mut r, &[0, 1, 3, 4]), Report { echo: 4, ..Report::default() });
        assert_eq!(report(&mut r, &[5]), Report { echo: 5, lost: 1, congested: 3, ..Report::default() });
        // Too late: it was counted. Another gap of two packets.
        assert_eq!(report(&mut r, &[2, 6, 9, 10]).lost, 1);
        assert_eq!(report(&mut r, &[11]), Report { echo: 11, lost: 3, congested: 9, ..Report::default() });
    }

    #[test]
    fn reordering_by_less_is_no_loss() {
        let mut r = Receiver::default();
        assert_eq!(report(&mut r, &[0, 2, 3, 1, 4, 6, 5, 7, 8, 9]), Report { echo: 9, ..Report::default() });
    }

    #[test]
    fn two_gaps_are_settled_each_in_its_turn() {
        let mut r = Receiver::default();
        // 1 and 3 are missing: three beyond 1 have come with 5, but only two beyond 3.
        assert_eq!(report(&mut r, &[0, 2, 4, 5]).lost, 1);
        assert_eq!(report(&mut r, &[6]), Report { echo: 6, lost: 2, congested: 4, ..Report::default() });
    }

    #[test]
    fn the_newest_mark_is_told() {
        let mut r = Receiver::default();
        r.on_packet(0, Ecn::Ce, None);
        r.on_packet(1, Ecn::Ect0, None);
        assert_eq!(r.on_packet(2, Ecn::Ce, None), Report { echo: 2, congested: 3, ..Report::default() });
    }
}
