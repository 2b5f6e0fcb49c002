//! The scoreboard of RACK: each outstanding segment with its state and the time at which it was last sent.

use crate::sequence_ranges::SequenceRanges;
use marqueue_core::ring::prefetch_ends;
use marqueue_core::Time;
use std::collections::VecDeque;

/// The state of an outstanding segment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum SegmentState {
    InFlight,
    Sacked,
    Lost,
}

/// The last transmission of an outstanding segment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Transmission {
    /// When.
    pub at: Time,
    /// True for a retransmission.
    pub again: bool,
    state: SegmentState,
}

/// The outstanding segments.
#[derive(Clone, Debug, Default)]
pub struct Scoreboard {
    /// Sequence number of the first.
    first: u32,
    segments: VecDeque<Transmission>,
    /// Which of them are sacked.
    sacked: SequenceRanges,
    /// Number of sacked and of lost segments.
    counts: (u32, u32),
    /// No segment below this one is lost.
    lost_from: u32,
    /// Transmissions in order of time, without obsolete ones at the head. A transmission is obsolete once its segment
    /// is not in flight or has been sent again.
    order: VecDeque<(u32, Time)>,
}

impl Scoreboard {
    /// Prefetches the ends of what it knows of segments.
    pub fn prefetch_segments(&self) {
        prefetch_ends(&self.segments);
        prefetch_ends(&self.order);
    }

    /// Segment `seq` was sent.
    pub fn sent(&mut self, seq: u32, now: Time) {
        if self.segments.is_empty() {
            self.first = seq;
        }
        let i = (seq - self.first) as usize;
        if i == self.segments.len() {
            self.segments.push_back(Transmission { at: now, again: false, state: SegmentState::InFlight });
        } else {
            self.set_state(seq, SegmentState::InFlight);
            self.segments[i].at = now;
            self.segments[i].again = true;
        }
        self.order.push_back((seq, now));
    }

    /// Removes the oldest segment if it is below `ack`. Returns its number, its last transmission, and whether it was
    /// not known to have arrived.
    pub fn pop_acknowledged(&mut self, ack: u32) -> Option<(u32, Transmission, bool)> {
        if self.first >= ack || self.segments.is_empty() {
            return None;
        }
        let seq = self.first;
        let news = self.segments[0].state != SegmentState::Sacked;
        self.set_state(seq, SegmentState::InFlight);
        self.first += 1;
        Some((seq, self.segments.pop_front()?, news))
    }

    /// Removes SACK ranges below `ack`.
    pub fn trim(&mut self, ack: u32) {
        self.sacked.trim_below(ack);
    }

    /// Marks the segments of a SACK block as arrived, and calls `each` for those that are new.
    pub fn sack(&mut self, start: u32, end: u32, mut each: impl FnMut(u32, Transmission)) {
        let end = end.min(self.first + self.segments.len() as u32);
        let start = start.max(self.first);
        let (mut seq, mut is_news) = (start, false);
        while seq < end {
            if let Some((_, next)) = self.sacked.find(seq) {
                seq = next;
                continue;
            }
            self.set_state(seq, SegmentState::Sacked);
            each(seq, self.segments[(seq - self.first) as usize]);
            (seq, is_news) = (seq + 1, true);
        }
        // Most blocks of an acknowledgement have been reported before.
        if is_news {
            self.sacked.add(start, end);
        }
    }

    /// Marks a segment as lost. Returns its last transmission.
    pub fn mark_lost(&mut self, seq: u32) -> Transmission {
        self.set_state(seq, SegmentState::Lost);
        self.lost_from = self.lost_from.min(seq);
        self.segments[(seq - self.first) as usize]
    }

    /// The first segment that is lost and has not been sent again since.
    pub fn first_lost(&mut self) -> Option<u32> {
        if self.counts.1 == 0 {
            self.lost_from = u32::MAX;
            return None;
        }
        let mut seq = self.lost_from.max(self.first);
        while self.segments[(seq - self.first) as usize].state != SegmentState::Lost {
            seq += 1;
        }
        self.lost_from = seq;
        Some(seq)
    }

    /// What is lost and not sent again counts as in flight again.
    pub fn unmark_lost(&mut self) {
        while let Some(seq) = self.first_lost() {
            self.set_state(seq, SegmentState::InFlight);
            let at = self.segments[(seq - self.first) as usize].at;
            // An obsolete transmission may have left the list.
            let from = self.order.partition_point(|&(_, time)| time < at);
            let there = self.order.range(from..).take_while(|each| each.1 == at).any(|each| each.0 == seq);
            if !there {
                self.order.insert(from, (seq, at));
            }
        }
    }

    /// The next transmission, from index `i` on, that has not been answered: its index, segment and time. Removes
    /// obsolete transmissions at the head of the list.
    pub fn next_unanswered(&mut self, mut i: usize) -> Option<(usize, u32, Time)> {
        while let Some(&(seq, at)) = self.order.get(i) {
            if self.is_last_of(seq, at) {
                return Some((i, seq, at));
            }
            if i == 0 {
                self.order.pop_front();
            } else {
                i += 1;
            }
        }
        None
    }

    fn is_last_of(&self, seq: u32, at: Time) -> bool {
        seq.checked_sub(self.first)
            .and_then(|i| self.segments.get(i as usize))
            .is_some_and(|s| s.state == SegmentState::InFlight && s.at == at)
    }

    /// Number of segments estimated to be in the network.
    pub fn in_flight(&self) -> u32 {
        self.segments.len() as u32 - self.counts.0 - self.counts.1
    }

    /// Number of sacked segments.
    pub fn count_sacked(&self) -> u32 {
        self.counts.0
    }

    /// Number of lost segments that have not been sent again since.
    pub fn count_lost(&self) -> u32 {
        self.counts.1
    }

    /// When each segment was last sent that is in the network a second time.
    pub fn retransmitted(&self) -> impl Iterator<Item = Time> + use<'_> {
        self.segments.iter().filter(|s| s.again && s.state == SegmentState::InFlight).map(|s| s.at)
    }

    fn set_state(&mut self, seq: u32, state: SegmentState) {
        let segment = &mut self.segments[(seq - self.first) as usize];
        for (which, change) in [(segment.state, u32::MAX), (state, 1)] {
            match which {
                SegmentState::InFlight => {}
                SegmentState::Sacked => self.counts.0 = self.counts.0.wrapping_add(change),
                SegmentState::Lost => self.counts.1 = self.counts.1.wrapping_add(change),
            }
        }
        segment.state = state;
    }
}
