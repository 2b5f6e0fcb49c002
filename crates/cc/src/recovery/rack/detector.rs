//! Loss detection of RACK: RFC 8985, sections 6.2 and 6.3.

use super::scoreboard::{Scoreboard, Transmission};
use crate::config::RackRtt;
use marqueue_core::{Dur, Time};

/// Number of recoveries for which a reordering window that D-SACK has widened stays wide.
const PERSIST: u32 = 16;

/// The inputs of the width of the reordering window.
#[derive(Clone, Copy, Debug)]
pub struct ReorderingInputs {
    /// SND.UNA.
    pub una: u32,
    /// SND.NXT.
    pub nxt: u32,
    /// The acknowledgement carries a D-SACK.
    pub dsack: bool,
    /// Recovery is in progress.
    pub repairing: bool,
    /// The acknowledgement has ended a recovery.
    pub recovered: bool,
    /// The smoothed round-trip time.
    pub srtt: Dur,
    /// At least DupThresh segments are sacked.
    pub many_sacked: bool,
}

/// The result of [`Detector::detect`].
#[derive(Clone, Copy, Debug, Default)]
pub struct Detection {
    /// There are new losses.
    pub lost: bool,
    /// When the last lost retransmission was sent.
    pub retransmission: Option<Time>,
    /// Until when to wait for segments that may be reordered.
    pub wait: Option<Time>,
}

/// State of the detector: the most recently sent segment that has arrived, and the extent of reordering.
#[derive(Clone, Debug)]
pub struct Detector {
    /// RACK.xmit_ts and RACK.end_seq.
    latest: (Time, u32),
    /// RACK.rtt.
    rtt: Dur,
    /// RACK.min_RTT, over the whole connection.
    min_rtt: Dur,
    /// RACK.fack.
    fack: u32,
    /// RACK.reordering_seen.
    reordering_seen: bool,
    /// RACK.dsack_round.
    dsack_round: Option<u32>,
    /// RACK.reo_wnd_mult.
    multiple: u32,
    /// RACK.reo_wnd_persist.
    persist: u32,
    /// RACK.reo_wnd.
    window: Dur,
    /// Of the segments that the acknowledgement being processed reports: the one sent last of those sent once, and those
    /// that were retransmitted, as RACK.xmit_ts and RACK.end_seq.
    newest: Option<(Time, u32)>,
    /// Of the same the last in sequence: is it acknowledged, its end, and when it was sent.
    last: Option<(bool, u32, Time)>,
    retransmitted: Vec<(Time, u32)>,
}

/// What the detector must know of an acknowledgement beside the segments that it reports.
#[derive(Clone, Copy, Debug)]
pub struct Report {
    /// When it arrives.
    pub now: Time,
    /// The next segment that the receiver expects.
    pub ack: u32,
    /// Which of the segments tells the round-trip time.
    pub rtt: RackRtt,
}

impl Default for Detector {
    fn default() -> Detector {
        Detector {
            latest: (Time::ZERO, 0),
            rtt: Dur::ZERO,
            min_rtt: Dur(u64::MAX),
            fack: 0,
            reordering_seen: false,
            dsack_round: None,
            multiple: 1,
            persist: PERSIST,
            window: Dur::ZERO,
            newest: None,
            last: None,
            retransmitted: Vec::new(),
        }
    }
}

impl Detector {
    /// Steps 1 and 3 for a segment that an acknowledgement newly reports as delivered; in ascending order of their numbers.
    /// [`Detector::finish_update`] follows.
    #[inline]
    pub fn arrived(&mut self, seq: u32, sent: Transmission, report: Report) {
        let end = seq + 1;
        if sent.again {
            self.retransmitted.push((sent.at, end));
        } else {
            self.min_rtt = self.min_rtt.min(report.now - sent.at);
            self.reordering_seen |= end < self.fack;
            self.take(sent.at, end, report);
        }
        self.fack = self.fack.max(end);
    }

    /// A segment has arrived late that had been sent again, so that step 3 says nothing about it.
    pub fn note_reordering(&mut self) {
        self.reordering_seen = true;
    }

    #[inline]
    fn take(&mut self, at: Time, end: u32, report: Report) {
        let (newest, last) = ((at, end), (end <= report.ack, end, at));
        // Not `max` of options: it writes both to memory in parts and reads them as a whole, which stalls.
        if self.newest.is_none_or(|other| newest > other) {
            self.newest = Some(newest);
        }
        if self.last.is_none_or(|other| last > other) {
            self.last = Some(last);
        }
    }

    /// Step 2 for all of them. The text takes them in ascending order of xmit_ts, so that RACK.rtt is that of the segment
    /// sent last; Linux in the order of its queue, the sacked ones first. Retransmissions are left out that the
    /// acknowledgement may not be for: by the time passed, or, as `earlier` tells of the time of a transmission, by the
    /// timestamp.
    pub fn finish_update(&mut self, report: Report, earlier: impl Fn(Time) -> bool) {
        let now = report.now;
        let mut retransmitted = std::mem::take(&mut self.retransmitted);
        for (at, end) in retransmitted.drain(..) {
            if !earlier(at) && now - at >= self.min_rtt {
                self.take(at, end, report);
            }
        }
        self.retransmitted = retransmitted;
        if let (Some(newest), Some(last)) = (self.newest.take(), self.last.take()) {
            self.rtt = now - if report.rtt == RackRtt::LastSent { newest.0 } else { last.2 };
            self.latest = self.latest.max(newest);
        }
    }

    /// Step 4: updates the reordering window.
    pub fn widen(&mut self, c: ReorderingInputs) {
        if self.dsack_round.is_some_and(|round| c.una >= round) {
            self.dsack_round = None;
        }
        if c.dsack && self.dsack_round.is_none() {
            self.dsack_round = Some(c.nxt);
            self.multiple += 1;
            self.persist = PERSIST;
        } else if c.recovered {
            self.persist = self.persist.saturating_sub(1);
            if self.persist == 0 {
                self.multiple = 1;
            }
        }
        let none = !self.reordering_seen && (c.repairing || c.many_sacked);
        let wide = Dur(self.min_rtt.0.saturating_mul(self.multiple.into()) / 4);
        self.window = if none { Dur::ZERO } else { wide.min(c.srtt) };
    }

    /// Step 5: detects lost segments, and calls `each` for them.
    pub fn detect(&self, scoreboard: &mut Scoreboard, now: Time, mut each: impl FnMut(u32)) -> Detection {
        let (mut found, mut i) = (Detection::default(), 0);
        while let Some((here, seq, at)) = scoreboard.next_unanswered(i) {
            if at > self.latest.0 {
                break;
            }
            i = here + 1;
            if (at, seq + 1) >= self.latest {
                continue;
            }
            let due = at + self.rtt + self.window;
            if due <= now {
                let sent = scoreboard.mark_lost(seq);
                each(seq);
                found.lost = true;
                found.retransmission = found.retransmission.max(sent.again.then_some(sent.at));
                i = here;
            } else {
                found.wait = found.wait.max(Some(due));
            }
        }
        found
    }

    /// Section 6.3: the retransmission timer has expired. Marks the first segment as lost, and all that have been in
    /// flight for longer than RACK.rtt + RACK.reo_wnd, and calls `each` for them.
    pub fn mark_lost_on_timeout(&self, scoreboard: &mut Scoreboard, una: u32, now: Time, mut each: impl FnMut(u32)) {
        scoreboard.mark_lost(una);
        each(una);
        let mut i = 0;
        while let Some((here, seq, at)) = scoreboard.next_unanswered(i) {
            let late = at + self.rtt + self.window <= now;
            if late {
                scoreboard.mark_lost(seq);
                each(seq);
            }
            i = here + usize::from(!late);
        }
    }

    /// The round-trip time of the handshake; zero if the SYN was lost and nothing could be measured.
    pub fn connected(&mut self, rtt: Dur) {
        if rtt > Dur::ZERO {
            self.min_rtt = rtt;
        }
    }
}
