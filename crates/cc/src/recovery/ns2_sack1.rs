//! ns-2.35's Agent/TCP/Sack1 with its default settings and its reassembly-queue scoreboard.
//!
//! Differs from RFC 6675: `pipe` is counted down by acknowledgements (twice by a partial one) and up
//! by transmissions instead of being recomputed; a hole is retransmitted as soon as anything above it
//! is sacked, once; acknowledgements after a timeout are not read for SACK blocks until new data is
//! acknowledged.

use super::loss_recovery::LossRecovery;
use super::ns2_reno::may_retransmit;
use crate::core::{Core, SendContext};
use crate::segment::Ack;
use crate::sequence_ranges::SequenceRanges;

/// Scoreboard and state of recovery.
#[derive(Clone, Debug, Default)]
pub struct Ns2Sack1 {
    sacked: SequenceRanges,
    in_recovery: bool,
    /// Segments thought to be in the network.
    pipe: i64,
    /// No new acknowledgement since the last timeout.
    after_timeout: bool,
    /// Where the search for the next hole begins.
    next_hole: u32,
}

impl Ns2Sack1 {
    /// Processes the SACK blocks. Returns whether they contained anything new.
    fn update(&mut self, core: &Core, ack: &Ack<'_>) -> bool {
        self.sacked.trim_below(core.una);
        let mut news = false;
        for &(start, end) in ack.sack.iter().filter(|b| b.1 > core.una) {
            news |= self.sacked.add(start.max(core.una), end.min(core.max));
        }
        news
    }

    fn clear(&mut self) {
        self.sacked.clear();
        self.next_hole = 0;
    }

    /// The next hole below something sacked that has not been retransmitted.
    fn hole(&mut self, core: &Core) -> Option<u32> {
        let from = self.next_hole.max(core.una);
        let hole = self.sacked.find(from).map_or(from, |(_, end)| end);
        let below_sacked = self.sacked.end().is_some_and(|end| hole < end);
        below_sacked.then_some(hole)
    }

    fn retransmitted(&mut self, seq: u32) {
        self.next_hole = self.next_hole.max(seq + 1);
    }

    fn enter(&mut self, core: &mut Core, tx: &mut SendContext<'_>, cut: bool) {
        self.pipe = i64::from(core.flight()) - i64::from(tx.config.dupthresh);
        self.in_recovery = true;
        self.retransmitted(core.una);
        core.fast_retransmit(tx, cut);
    }

    fn fill(&mut self, core: &mut Core, tx: &mut SendContext<'_>) {
        let max_window = tx.config.max_window;
        loop {
            let win = core.usable_window(tx.config);
            let open = match self.in_recovery {
                true => self.pipe < core.window.cwnd as i64,
                false => core.nxt < core.una.saturating_add(win),
            };
            if !open {
                break;
            }
            let seq = match self.hole(core) {
                Some(hole) if core.recover > 1 && hole < core.una.saturating_add(max_window) => {
                    self.retransmitted(hole);
                    hole
                }
                Some(_) => break,
                None => {
                    let end = core.una.saturating_add(if self.in_recovery { max_window } else { win });
                    if core.nxt >= end || core.nxt >= core.limit {
                        break;
                    }
                    core.nxt
                }
            };
            core.send(tx, seq);
            core.nxt = core.nxt.max(seq + 1);
            self.pipe += 1;
        }
    }

    fn on_ack_in_recovery(&mut self, core: &mut Core, tx: &mut SendContext<'_>, ack: &Ack<'_>) {
        self.pipe -= 1;
        if ack.ack >= core.recover {
            core.recover = 1;
            self.in_recovery = false;
            self.after_timeout = false;
            core.acknowledge(tx, ack);
            self.clear();
        } else if ack.ack > core.una {
            core.acknowledge_part(tx, ack);
            self.update(core, ack);
            self.pipe -= 1;
            core.set_timer(tx);
            core.rto.end_back_off();
        } else if !self.after_timeout && self.update(core, ack) && core.dupacks > 0 {
            core.dupacks += 1;
        }
        self.fill(core, tx);
    }
}

impl LossRecovery for Ns2Sack1 {
    fn on_ack(&mut self, core: &mut Core, tx: &mut SendContext<'_>, ack: &Ack<'_>) {
        if self.in_recovery {
            return self.on_ack_in_recovery(core, tx, ack);
        }
        if ack.ack > core.una {
            core.acknowledge_and_open(tx, ack);
            self.after_timeout = false;
            self.clear();
        } else if ack.ack == core.una && !self.after_timeout && self.update(core, ack) {
            core.dupacks += 1;
            let dupthresh = tx.config.dupthresh;
            if core.dupacks == dupthresh {
                if let Some(cut) = may_retransmit(core, tx) {
                    self.enter(core, tx, cut);
                }
            } else if core.dupacks < dupthresh {
                core.limited_transmit(tx);
            }
        }
        if core.dupacks == 0 {
            self.fill(core, tx);
        }
    }

    fn on_data(&mut self, core: &mut Core, tx: &mut SendContext<'_>) {
        self.fill(core, tx);
    }

    fn on_timeout(&mut self, core: &mut Core, tx: &mut SendContext<'_>) {
        self.clear();
        self.in_recovery = false;
        self.after_timeout = true;
        self.fill(core, tx);
    }
}
