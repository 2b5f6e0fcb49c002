//! The scoreboard of RFC 6675, section 4: what is known about each outstanding segment, and the functions that answer
//! from it how much is in the network and what to send next.
//!
//! Sequence numbers count segments of one SMSS. HighACK is `una - 1`, HighData is `max - 1`. HighRxt and RescueRxt are
//! kept as the number after them, like all ends of ranges here.

use crate::sequence_ranges::SequenceRanges;

/// The sender's variables that the scoreboard is read with.
#[derive(Clone, Copy, Debug)]
pub struct Outstanding {
    /// HighACK + 1: the oldest segment not acknowledged.
    pub una: u32,
    /// HighData + 1: one past the highest segment sent.
    pub max: u32,
    /// DupThresh.
    pub dupthresh: u32,
}

/// What [`Scoreboard::next_segment`] may return beside retransmissions.
#[derive(Clone, Copy, Debug)]
pub struct Sendable {
    /// There is unsent data, and the receiver's window allows it (rule 2).
    pub new: bool,
    /// Rescue retransmissions are sent (rule 4).
    pub rescue: bool,
    /// RecoveryPoint + 1.
    pub recovery_point: u32,
}

/// The scoreboard of a connection.
#[derive(Clone, Debug, Default)]
pub struct Scoreboard {
    sacked: SequenceRanges,
    /// HighRxt + 1.
    high_rxt: u32,
    /// RescueRxt + 1.
    rescue_rxt: u32,
}

impl Scoreboard {
    /// Update(): the SACK blocks of an acknowledgement up to `ack`. Returns true if it carries news, which makes it a
    /// duplicate acknowledgement (RFC 6675, section 2). Blocks of what was never sent are ignored.
    pub fn update(&mut self, ack: u32, blocks: &[(u32, u32)], max: u32) -> bool {
        let mut news = false;
        for &(start, end) in blocks.iter().filter(|b| b.1 > ack) {
            news |= self.sacked.add(start.max(ack), end.min(max));
        }
        news
    }

    /// Everything below `una` has been acknowledged.
    pub fn acknowledge(&mut self, una: u32) {
        self.sacked.trim_below(una);
    }

    /// Is no segment known to have been received above a hole?
    pub fn is_empty(&self) -> bool {
        self.sacked.is_empty()
    }

    /// Number of segments that are sacked.
    pub fn count_sacked(&self) -> u32 {
        self.sacked.count()
    }

    /// The first segment from `seq` on that is not sacked.
    pub fn next_hole(&self, seq: u32) -> u32 {
        self.sacked.find(seq).map_or(seq, |(_, end)| end)
    }

    /// IsLost() for all segments at once: those below the returned number that are not sacked are lost, and no others.
    /// At least DupThresh segments are sacked above each of them; the same is true of DupThresh separate ranges.
    pub fn lost_below(&self, dupthresh: u32) -> u32 {
        let mut above = 0;
        for &(start, end) in self.sacked.as_slice().iter().rev() {
            above += end - start;
            if above >= dupthresh {
                return start;
            }
        }
        0
    }

    /// Segments in `[from, to)` that are not sacked.
    fn count_unsacked(&self, from: u32, to: u32) -> u32 {
        let sacked: u32 = self.sacked.as_slice().iter().map(|&(s, e)| e.min(to).saturating_sub(s.max(from))).sum();
        to.saturating_sub(from) - sacked
    }

    /// SetPipe(): what is neither sacked nor lost, step (a), and what has been retransmitted, step (b).
    pub fn pipe(&self, at: Outstanding) -> u32 {
        let lost = self.lost_below(at.dupthresh).max(at.una);
        self.count_unsacked(lost, at.max) + self.count_unsacked(at.una, self.high_rxt.max(at.una))
    }

    /// Step (3.1) of section 5: nothing has been retransmitted.
    pub fn forget_retransmissions(&mut self, una: u32) {
        self.high_rxt = una;
    }

    /// Step (4.3) of section 5: loss recovery begins with the retransmission of segment `una`.
    pub fn begin(&mut self, una: u32) {
        self.high_rxt = una + 1;
        self.rescue_rxt = una + 1;
    }

    /// NextSeg(), and step (C.2) for the segment that it returns; `None` is failure, rule 5. The returned number is
    /// `at.max` for new data.
    pub fn next_segment(&mut self, at: Outstanding, may: Sendable) -> Option<u32> {
        let hole = self.next_hole(self.high_rxt.max(at.una));
        if hole < self.lost_below(at.dupthresh) {
            self.high_rxt = hole + 1;
            return Some(hole);
        }
        if may.new {
            return Some(at.max);
        }
        if self.sacked.end().is_some_and(|end| hole < end) {
            self.high_rxt = hole + 1;
            return Some(hole);
        }
        // Rule 4 leaves HighRxt as it is.
        let rescue = self.highest_unsacked(at).filter(|_| may.rescue && at.una > self.rescue_rxt)?;
        self.rescue_rxt = may.recovery_point;
        Some(rescue)
    }

    /// The highest outstanding segment that is not sacked.
    fn highest_unsacked(&self, at: Outstanding) -> Option<u32> {
        let end = match self.sacked.as_slice().last() {
            Some(&(start, end)) if end == at.max => start,
            _ => at.max,
        };
        (end > at.una).then(|| end - 1)
    }
}
