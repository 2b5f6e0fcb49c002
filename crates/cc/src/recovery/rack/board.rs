//! The scoreboard: each outstanding segment with the time at which it was last sent.

use crate::ranges::Ranges;
use marqueue_core::Time;
use std::collections::VecDeque;

/// What is known of an outstanding segment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Fate {
    InFlight,
    Sacked,
    Lost,
}

/// An outstanding segment as it was last sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sent {
    /// When.
    pub at: Time,
    /// Not for the first time.
    pub again: bool,
    fate: Fate,
}

/// The outstanding segments.
#[derive(Clone, Debug, Default)]
pub struct Board {
    /// The number of the first.
    first: u32,
    segments: VecDeque<Sent>,
    /// Which of them are sacked.
    sacked: Ranges,
    /// How many are sacked, and how many lost.
    counts: (u32, u32),
    /// No segment below this one is lost.
    lost_from: u32,
    /// All transmissions in order, but for the first ones that say nothing any more. One says something
    /// as long as its segment is in flight and has not been sent again since.
    order: VecDeque<(u32, Time)>,
}

impl Board {
    /// Segment `seq` was sent.
    pub fn sent(&mut self, seq: u32, now: Time) {
        if self.segments.is_empty() {
            self.first = seq;
        }
        let i = (seq - self.first) as usize;
        if i == self.segments.len() {
            self.segments.push_back(Sent { at: now, again: false, fate: Fate::InFlight });
        } else {
            self.set_fate(seq, Fate::InFlight);
            self.segments[i].at = now;
            self.segments[i].again = true;
        }
        self.order.push_back((seq, now));
    }

    /// Takes out the oldest segment if it is below `ack`: its number, how it was sent, and whether that
    /// it has arrived is news.
    pub fn take_acknowledged(&mut self, ack: u32) -> Option<(u32, Sent, bool)> {
        if self.first >= ack || self.segments.is_empty() {
            return None;
        }
        let seq = self.first;
        let news = self.segments[0].fate != Fate::Sacked;
        self.set_fate(seq, Fate::InFlight);
        self.first += 1;
        Some((seq, self.segments.pop_front()?, news))
    }

    /// The ranges below `ack` are no longer asked about.
    pub fn trim(&mut self, ack: u32) {
        self.sacked.trim_below(ack);
    }

    /// Notes that the segments of a SACK block have arrived, and tells `each` of those that are new.
    pub fn sack(&mut self, start: u32, end: u32, mut each: impl FnMut(u32, Sent)) {
        let end = end.min(self.first + self.segments.len() as u32);
        let mut seq = start.max(self.first);
        while seq < end {
            if let Some((_, next)) = self.sacked.find(seq) {
                seq = next;
                continue;
            }
            self.set_fate(seq, Fate::Sacked);
            each(seq, self.segments[(seq - self.first) as usize]);
            seq += 1;
        }
        self.sacked.add(start.max(self.first), end);
    }

    /// The segment is lost, as it was last sent.
    pub fn lose(&mut self, seq: u32) -> Sent {
        self.set_fate(seq, Fate::Lost);
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
        while self.segments[(seq - self.first) as usize].fate != Fate::Lost {
            seq += 1;
        }
        self.lost_from = seq;
        Some(seq)
    }

    /// The transmissions in order of which nothing has been heard, beginning with number `i` of a list
    /// that forgets its head when that says nothing: the next one, and where it stands.
    pub fn unheard(&mut self, mut i: usize) -> Option<(usize, u32, Time)> {
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
            .is_some_and(|s| s.fate == Fate::InFlight && s.at == at)
    }

    /// How many segments are thought to be in the network.
    pub fn in_flight(&self) -> u32 {
        self.segments.len() as u32 - self.counts.0 - self.counts.1
    }

    /// How many segments are sacked.
    pub fn count_sacked(&self) -> u32 {
        self.counts.0
    }

    fn set_fate(&mut self, seq: u32, fate: Fate) {
        let segment = &mut self.segments[(seq - self.first) as usize];
        for (which, change) in [(segment.fate, u32::MAX), (fate, 1)] {
            match which {
                Fate::InFlight => {}
                Fate::Sacked => self.counts.0 = self.counts.0.wrapping_add(change),
                Fate::Lost => self.counts.1 = self.counts.1.wrapping_add(change),
            }
        }
        segment.fate = fate;
    }
}
