//! Fast retransmit and fast recovery: RFC 5681, section 3.2, with limited transmit (RFC 3042).
//!
//! Departures: duplicate acknowledgements for data sent before a timeout do not start a fast
//! retransmit (the bug of RFC 6582, section 4); a loss in a window that ECN has just cut is repaired
//! without a second cut (RFC 3168, 6.1.2).

use super::Repair;
use crate::core::{Core, LastCut, Tx};
use crate::sender::Ack;

/// State of Reno.
#[derive(Clone, Debug, Default)]
pub struct Reno {
    in_recovery: bool,
}

impl Repair for Reno {
    fn on_ack(&mut self, core: &mut Core, tx: &mut Tx<'_>, ack: &Ack<'_>) {
        if ack.ack > core.una {
            if self.in_recovery {
                self.in_recovery = false;
                core.acknowledge(tx, ack.ack, ack.ece);
                core.inflation = 0;
                core.window.cwnd = core.window.ssthresh;
                core.last_cut = LastCut::Repaired;
            } else {
                core.acknowledge_and_open(tx, ack.ack, ack.ece);
            }
        } else if ack.ack == core.una && core.flight() > 0 {
            core.dupacks += 1;
            if self.in_recovery {
                core.inflation += 1;
            } else if core.dupacks < tx.config.dupthresh {
                return core.limited_transmit(tx);
            } else if core.dupacks == tx.config.dupthresh && may_enter(core) {
                self.in_recovery = true;
                enter(core, tx);
            }
        } else {
            return;
        }
        core.fill_window(tx, u32::MAX);
    }

    fn on_timeout(&mut self, core: &mut Core, tx: &mut Tx<'_>) {
        self.in_recovery = false;
        core.fill_window(tx, u32::MAX);
    }
}

/// May a fast retransmit start? Not for duplicates of what a timeout has sent again.
fn may_enter(core: &Core) -> bool {
    core.last_cut != LastCut::Timeout || core.una > core.recover
}

/// RFC 5681, 3.2, steps 2 and 3: cut, retransmit, inflate by the duplicates seen.
pub(super) fn enter(core: &mut Core, tx: &mut Tx<'_>) {
    let cut = !core.ecn_has_cut(tx.config);
    core.fast_retransmit(tx, cut);
    core.inflation = core.dupacks;
}
