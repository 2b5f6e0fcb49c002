//! Fast retransmit and fast recovery: RFC 5681, section 3.2, with limited transmit (RFC 3042).
//!
//! Departures:
//! - Duplicate acknowledgements for data sent before a timeout do not start a fast retransmit (RFC 6582, section 4
//!   describes the fault).
//! - A loss in a window that ECN has just reduced is repaired without a second reduction (RFC 3168, section 6.1.2).

use super::loss_recovery::LossRecovery;
use super::prr::{Progress, WindowReduction};
use crate::core::{Core, LastCut, SendContext};
use crate::segment::Ack;

/// State of Reno.
#[derive(Clone, Debug, Default)]
pub struct Reno {
    in_recovery: bool,
    reducing: WindowReduction,
}

impl Reno {
    /// RFC 5681, section 3.2, step 6.
    fn leave(&mut self, core: &mut Core) {
        self.in_recovery = false;
        core.inflation = 0;
        self.reducing = WindowReduction::AtOnce;
        core.window.cwnd = core.window.ssthresh;
        core.last_cut = LastCut::Repaired;
    }
}

impl LossRecovery for Reno {
    fn on_ack(&mut self, core: &mut Core, tx: &mut SendContext<'_>, ack: &Ack<'_>) {
        if ack.ack > core.una {
            if self.in_recovery {
                core.acknowledge(tx, ack);
                self.leave(core);
            } else {
                core.acknowledge_and_open(tx, ack);
            }
        } else if ack.ack == core.una && core.flight() > 0 {
            core.dupacks += 1;
            if self.in_recovery {
                return on_duplicate(core, tx, &mut self.reducing);
            } else if core.dupacks < tx.config.dupthresh {
                return core.limited_transmit(tx);
            } else if core.dupacks == tx.config.dupthresh && may_enter(core) {
                self.in_recovery = true;
                self.reducing = enter(core, tx);
            }
        } else {
            return;
        }
        fill(core, tx, &mut self.reducing);
    }

    fn before_echo(&mut self, core: &mut Core, ack: u32) {
        if self.in_recovery && ack > core.una {
            self.leave(core);
        }
    }

    fn on_data(&mut self, core: &mut Core, tx: &mut SendContext<'_>) {
        fill(core, tx, &mut self.reducing);
    }

    fn on_timeout(&mut self, core: &mut Core, tx: &mut SendContext<'_>) {
        *self = Reno::default();
        core.fill_window(tx, u32::MAX);
    }
}

/// May a fast retransmit start? Not for duplicates of segments that a timeout has retransmitted.
fn may_enter(core: &Core) -> bool {
    core.last_cut != LastCut::Timeout || core.una > core.recover
}

/// RFC 5681, section 3.2, steps 2 and 3: reduces the window, retransmits, inflates by the duplicates so far. RFC 9937: each
/// duplicate counts as a segment that is no longer in flight.
pub(super) fn enter(core: &mut Core, tx: &mut SendContext<'_>) -> WindowReduction {
    let cut = !core.ecn_has_cut(tx.config);
    let in_flight = core.flight().saturating_sub(core.dupacks);
    let mut reducing = WindowReduction::begin(tx.config.reduction, in_flight + 1);
    core.fast_retransmit(tx, cut);
    core.inflation = core.dupacks;
    reducing.on_ack(core, Progress { delivered: 1, in_flight: in_flight.saturating_sub(1), safe: false });
    reducing.sent(1);
    reducing
}

/// Another duplicate in recovery: one more segment has arrived.
pub(super) fn on_duplicate(core: &mut Core, tx: &mut SendContext<'_>, reducing: &mut WindowReduction) {
    let delivered = reducing.credible(1);
    core.inflation += delivered;
    let in_flight = core.flight().saturating_sub(core.inflation);
    reducing.on_ack(core, Progress { delivered, in_flight, safe: false });
    fill(core, tx, reducing);
}

/// Sends as much as the window allows in recovery.
pub(super) fn fill(core: &mut Core, tx: &mut SendContext<'_>, reducing: &mut WindowReduction) {
    let before = tx.out.len();
    core.fill_window(tx, u32::MAX);
    reducing.sent((tx.out.len() - before) as u32);
}
