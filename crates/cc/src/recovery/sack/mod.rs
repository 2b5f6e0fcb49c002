//! Loss recovery by selective acknowledgements: RFC 6675. `scoreboard` has the functions of section 4, this file the
//! procedure of section 5.
//!
//! Departures:
//! - After a timeout the scoreboard is cleared (RFC 2018, section 8). RFC 6675, section 5.1 leaves the choice.
//! - After a timeout no new data goes out on duplicate acknowledgements while retransmissions remain to be sent.
//!   Section 5, step (3) permits it ("may").
//! - A loss in a window that ECN has just reduced is repaired without a second reduction (RFC 3168, section 6.1.2).
//! - The retransmission timer restarts when loss recovery begins. RFC 6675, section 6 permits it, and RFC 6298,
//!   section 5 forbids to retransmit a segment less than one RTO after its previous transmission.

pub mod scoreboard;

use super::loss_recovery::LossRecovery;
use super::prr::{Progress, WindowReduction};
use crate::config::Reduction;
use crate::core::{Core, LastCut, SendContext};
use crate::segment::Ack;
use scoreboard::{Outstanding, Scoreboard, Sendable};

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
    scoreboard: Scoreboard,
    in_recovery: bool,
    reducing: WindowReduction,
}

fn outstanding(core: &Core, tx: &SendContext<'_>) -> Outstanding {
    Outstanding { una: core.una, max: core.max, dupthresh: tx.config.dupthresh }
}

/// May a new recovery begin? After a timeout not before everything is acknowledged that had been sent by then
/// (RFC 6675, section 5.1).
fn may_begin(core: &Core) -> bool {
    core.last_cut != LastCut::Timeout || core.una >= core.recover
}

impl Sack {
    /// Steps (C.1) to (C.5).
    fn fill_pipe(&mut self, core: &mut Core, tx: &mut SendContext<'_>) {
        let mut pipe = self.scoreboard.pipe(outstanding(core, tx));
        let before = tx.out.len();
        while f64::from(pipe) + 1.0 <= core.window.cwnd && !core.waits_for_pacing(tx.now) {
            let may = Sendable { new: core.can_send_new(tx), rescue: tx.config.rescue, recovery_point: core.recover };
            let Some(seq) = self.scoreboard.next_segment(outstanding(core, tx), may) else { break };
            core.send(tx, seq);
            core.nxt = core.nxt.max(seq + 1);
            pipe += 1;
        }
        self.reducing.sent((tx.out.len() - before) as u32);
    }

    /// Steps (3.1) to (3.4): sends new data while less than the window is in the network.
    fn limited_transmit(&mut self, core: &mut Core, tx: &mut SendContext<'_>) {
        if !tx.config.limited_transmit || core.nxt < core.max {
            return;
        }
        self.scoreboard.forget_retransmissions(core.una);
        let mut pipe = self.scoreboard.pipe(outstanding(core, tx));
        while f64::from(pipe) + 1.0 <= core.window.cwnd && core.can_send_new(tx) {
            core.send(tx, core.nxt);
            core.nxt += 1;
            core.limited += 1;
            pipe += 1;
        }
    }

    /// The state that proportional rate reduction compares with after an acknowledgement.
    fn snapshot(&self, core: &Core, tx: &SendContext<'_>) -> Snapshot {
        match tx.config.reduction {
            Reduction::Cut => Snapshot::default(),
            Reduction::Prr => Snapshot {
                una: core.una,
                arrived: core.una + self.scoreboard.count_sacked(),
                lost_below: self.scoreboard.lost_below(tx.config.dupthresh),
            },
        }
    }

    /// An acknowledgement in recovery has been processed: reduces the window in proportion.
    fn reduce(&mut self, core: &mut Core, tx: &SendContext<'_>, before: &Snapshot) {
        if tx.config.reduction == Reduction::Prr {
            let after = self.snapshot(core, tx);
            let delivered = after.arrived - before.arrived;
            let safe = after.una > before.una && after.lost_below <= before.lost_below.max(after.una);
            let in_flight = self.scoreboard.pipe(outstanding(core, tx));
            self.reducing.on_ack(core, Progress { delivered, in_flight, safe });
        }
    }

    /// Sends what the window allows. After a timeout that is first what was outstanding then, without what has been
    /// sacked since (RFC 6675, section 5.1).
    fn fill_window(&self, core: &mut Core, tx: &mut SendContext<'_>) {
        while core.nxt < core.max && !self.scoreboard.is_empty() {
            core.nxt = self.scoreboard.next_hole(core.nxt);
            let seq = core.nxt;
            core.fill_window(tx, 1);
            if core.nxt == seq {
                return;
            }
        }
        core.fill_window(tx, u32::MAX);
    }

    /// Steps (4.1) to (4.4).
    fn enter(&mut self, core: &mut Core, tx: &mut SendContext<'_>, before: &Snapshot) {
        let cut = !core.ecn_has_cut(tx.config);
        self.in_recovery = true;
        self.reducing = WindowReduction::begin(tx.config.reduction, core.max.saturating_sub(before.arrived));
        core.fast_retransmit(tx, cut);
        core.recover = core.max;
        self.reduce(core, tx, before);
        self.reducing.sent(1);
        self.scoreboard.begin(core.una);
    }

    /// Step (A): RecoveryPoint is acknowledged.
    fn leave(&mut self, core: &mut Core) {
        self.in_recovery = false;
        self.reducing.end(core);
        core.last_cut = LastCut::Repaired;
    }

    /// An acknowledgement in loss recovery, steps (A) to (C).
    fn repair(&mut self, core: &mut Core, tx: &mut SendContext<'_>, ack: &Ack<'_>, before: &Snapshot) {
        if ack.ack > core.una {
            core.acknowledge(tx, ack);
            self.scoreboard.acknowledge(core.una);
            if core.una >= core.recover {
                self.leave(core);
                return self.fill_window(core, tx);
            }
        }
        self.reduce(core, tx, before);
        self.fill_pipe(core, tx);
    }
}

impl LossRecovery for Sack {
    fn on_ack(&mut self, core: &mut Core, tx: &mut SendContext<'_>, ack: &Ack<'_>) {
        let before = self.snapshot(core, tx);
        let news = self.scoreboard.update(ack.ack, ack.sack, core.max);
        if self.in_recovery {
            return self.repair(core, tx, ack, &before);
        }
        let advances = ack.ack > core.una;
        if advances {
            core.acknowledge_and_open(tx, ack);
            self.scoreboard.acknowledge(core.una);
        }
        // Steps (1) and (2) of section 5. An acknowledgement that advances is a duplicate, too, if it brings news.
        core.dupacks += u32::from(news);
        let dupthresh = tx.config.dupthresh;
        let lost = news && (core.dupacks >= dupthresh || core.una < self.scoreboard.lost_below(dupthresh));
        if lost && may_begin(core) {
            self.enter(core, tx, &before);
            return self.fill_pipe(core, tx);
        }
        if advances {
            self.fill_window(core, tx);
        }
        if news && !lost {
            self.limited_transmit(core, tx);
        }
    }

    fn before_echo(&mut self, core: &mut Core, ack: u32) {
        if self.in_recovery && ack >= core.recover {
            self.leave(core);
        }
    }

    fn on_data(&mut self, core: &mut Core, tx: &mut SendContext<'_>) {
        if self.in_recovery {
            self.fill_pipe(core, tx);
        } else {
            self.fill_window(core, tx);
        }
    }

    fn on_timeout(&mut self, core: &mut Core, tx: &mut SendContext<'_>) {
        *self = Sack::default();
        core.fill_window(tx, u32::MAX);
    }
}
