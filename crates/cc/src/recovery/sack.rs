//! Loss recovery by selective acknowledgements: RFC 6675, with its rescue retransmission.
//!
//! Departures: after a timeout the scoreboard is cleared (RFC 2018, section 8) rather than kept
//! (RFC 6675, 5.1, leaves the choice); a loss in a window that ECN has just cut is repaired without a
//! second cut (RFC 3168, 6.1.2); an acknowledgement that advances is no duplicate even if it brings news of
//! segments above (section 2 counts it), so that recovery begins with the next one, as without SACK.

use super::loss_recovery::LossRecovery;
use super::prr::{Progress, WindowReduction};
use crate::config::Reduction;
use crate::core::{Core, LastCut, SendContext};
use crate::segment::Ack;
use crate::sequence_ranges::SequenceRanges;

/// The scoreboard before an acknowledgement was processed.
#[derive(Clone, Copy, Debug, Default)]
struct Snapshot {
    una: u32,
    /// One past the segments that have arrived, were they all in order.
    arrived: u32,
    lost_below: u32,
}

/// Scoreboard and state of recovery.
#[derive(Clone, Debug, Default)]
pub struct Sack {
    sacked: SequenceRanges,
    in_recovery: bool,
    reducing: WindowReduction,
    /// One past the highest segment retransmitted in this recovery (HighRxt + 1).
    high_rxt: u32,
    /// The rescue retransmission of this recovery has been sent.
    rescued: bool,
}

impl Sack {
    /// IsLost() for all segments at once: every segment below this that has not been sacked is lost.
    fn lost_below(&self, dupthresh: u32) -> u32 {
        let ranges = self.sacked.as_slice();
        let mut above = 0;
        for (n, &(start, end)) in ranges.iter().rev().enumerate() {
            above += end - start;
            if n as u32 + 1 >= dupthresh || above >= dupthresh {
                return start;
            }
        }
        0
    }

    /// Segments in `[from, to)` that have not been sacked.
    fn unsacked(&self, from: u32, to: u32) -> u32 {
        let sacked: u32 = self.sacked.as_slice().iter().map(|&(s, e)| e.min(to).saturating_sub(s.max(from))).sum();
        to.saturating_sub(from) - sacked
    }

    /// SetPipe(): what is neither sacked nor lost, plus what has been retransmitted.
    fn pipe(&self, core: &Core, dupthresh: u32) -> u32 {
        let lost = self.lost_below(dupthresh).max(core.una);
        self.unsacked(lost, core.max) + self.unsacked(core.una, self.high_rxt.max(core.una))
    }

    /// The first segment from `seq` on that has not been sacked.
    fn next_hole(&self, seq: u32) -> u32 {
        self.sacked.find(seq).map_or(seq, |(_, end)| end)
    }

    /// NextSeg(): rules 1 to 4. The rescue of rule 4 does not move HighRxt.
    fn next_segment(&mut self, core: &Core, dupthresh: u32, max_window: u32) -> Option<u32> {
        let hole = self.next_hole(self.high_rxt.max(core.una));
        if hole < self.lost_below(dupthresh) {
            self.high_rxt = hole + 1;
            return Some(hole);
        }
        if core.nxt < core.limit && core.nxt < core.una.saturating_add(max_window) {
            return Some(core.nxt);
        }
        if self.sacked.end().is_some_and(|end| hole < end) {
            self.high_rxt = hole + 1;
            return Some(hole);
        }
        let last = core.max - 1;
        if !self.rescued && self.high_rxt <= last && self.sacked.find(last).is_none() {
            self.rescued = true;
            return Some(last);
        }
        None
    }

    fn fill_pipe(&mut self, core: &mut Core, tx: &mut SendContext<'_>) {
        let dupthresh = tx.config.dupthresh;
        let mut pipe = self.pipe(core, dupthresh);
        let before = tx.out.len();
        while f64::from(pipe) + 1.0 <= core.window.cwnd {
            let Some(seq) = self.next_segment(core, dupthresh, tx.config.max_window) else { break };
            core.send(tx, seq);
            if seq == core.nxt {
                core.nxt += 1;
            }
            pipe += 1;
        }
        self.reducing.sent((tx.out.len() - before) as u32);
    }

    /// The state that proportional rate reduction compares with after an acknowledgement.
    fn snapshot(&self, core: &Core, tx: &SendContext<'_>) -> Snapshot {
        match tx.config.reduction {
            Reduction::Cut => Snapshot::default(),
            Reduction::Prr => Snapshot {
                una: core.una,
                arrived: core.una + self.sacked.count(),
                lost_below: self.lost_below(tx.config.dupthresh),
            },
        }
    }

    /// An acknowledgement in recovery has been taken in: how far the window comes down.
    fn reduce(&mut self, core: &mut Core, tx: &SendContext<'_>, before: &Snapshot) {
        if tx.config.reduction == Reduction::Prr {
            let after = self.snapshot(core, tx);
            let delivered = after.arrived - before.arrived;
            let safe = after.una > before.una && after.lost_below <= before.lost_below.max(after.una);
            let in_flight = self.pipe(core, tx.config.dupthresh);
            self.reducing.on_ack(core, Progress { delivered, in_flight, safe });
        }
    }

    /// Sends what the window allows. After a timeout that is first what was outstanding then, but for
    /// what has been sacked since (RFC 6675, 5.1).
    fn fill_window(&self, core: &mut Core, tx: &mut SendContext<'_>) {
        while core.nxt < core.max && !self.sacked.is_empty() {
            core.nxt = self.next_hole(core.nxt);
            let seq = core.nxt;
            core.fill_window(tx, 1);
            if core.nxt == seq {
                return;
            }
        }
        core.fill_window(tx, u32::MAX);
    }

    fn enter(&mut self, core: &mut Core, tx: &mut SendContext<'_>, before: &Snapshot) {
        let cut = !core.ecn_has_cut(tx.config);
        self.in_recovery = true;
        self.rescued = false;
        self.reducing = WindowReduction::begin(tx.config.reduction, core.max.saturating_sub(before.arrived));
        core.fast_retransmit(tx, cut);
        core.recover = core.max;
        self.reduce(core, tx, before);
        self.reducing.sent(1);
        self.high_rxt = core.una + 1;
    }
}

impl LossRecovery for Sack {
    fn on_ack(&mut self, core: &mut Core, tx: &mut SendContext<'_>, ack: &Ack<'_>) {
        let dupthresh = tx.config.dupthresh;
        let before = self.snapshot(core, tx);
        let mut news = false;
        for &(start, end) in ack.sack.iter().filter(|b| b.1 > core.una) {
            news |= self.sacked.add(start.max(ack.ack), end.min(core.max));
        }
        if ack.ack > core.una {
            if !self.in_recovery {
                core.acknowledge_and_open(tx, ack);
            } else {
                core.acknowledge(tx, ack);
                if core.una >= core.recover {
                    self.in_recovery = false;
                    self.reducing.end(core);
                    core.last_cut = LastCut::Repaired;
                }
            }
            self.sacked.trim_below(core.una);
        } else if ack.ack == core.una && news {
            core.dupacks += 1;
            let lost = core.dupacks >= dupthresh || core.una < self.lost_below(dupthresh);
            let fresh = core.una > core.recover || matches!(core.last_cut, LastCut::Ecn);
            if !self.in_recovery && lost && fresh {
                self.enter(core, tx, &before);
                return self.fill_pipe(core, tx);
            } else if !self.in_recovery && core.dupacks < dupthresh {
                return core.limited_transmit(tx);
            }
        }
        if self.in_recovery {
            self.reduce(core, tx, &before);
            self.fill_pipe(core, tx);
        } else if core.dupacks == 0 {
            self.fill_window(core, tx);
        }
    }

    fn on_data(&mut self, core: &mut Core, tx: &mut SendContext<'_>) {
        if self.in_recovery {
            self.fill_pipe(core, tx);
        } else {
            core.fill_window(tx, u32::MAX);
        }
    }

    fn on_timeout(&mut self, core: &mut Core, tx: &mut SendContext<'_>) {
        *self = Sack::default();
        core.fill_window(tx, u32::MAX);
    }
}
