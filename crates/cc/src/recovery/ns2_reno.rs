//! ns-2.35's Agent/TCP/Reno with its default settings (bugFix_, singledup_, exitFastRetrans_).
//!
//! Differs from RFC 5681: the window that is halved is cwnd plus inflation, not what is outstanding;
//! a fast retransmit needs an acknowledgement beyond the last cut; duplicates that start none inflate
//! nothing.

use super::loss_recovery::LossRecovery;
use crate::core::{Core, LastCut, SendContext};
use crate::segment::Ack;

/// No state beside the core's.
#[derive(Clone, Debug, Default)]
pub struct Ns2Reno;

impl LossRecovery for Ns2Reno {
    fn on_ack(&mut self, core: &mut Core, tx: &mut SendContext<'_>, ack: &Ack<'_>) {
        if ack.ack > core.una {
            if core.last_cut == LastCut::Loss {
                core.last_cut = LastCut::Repaired;
            }
            core.inflation = 0;
            core.acknowledge_and_open(tx, ack);
        } else if ack.ack == core.una {
            on_duplicate(core, tx);
        }
        if core.dupacks == 0 || core.dupacks >= tx.config.dupthresh {
            core.fill_window(tx, u32::MAX);
        }
    }

    fn on_timeout(&mut self, core: &mut Core, tx: &mut SendContext<'_>) {
        core.fill_window(tx, u32::MAX);
    }
}

/// A duplicate acknowledgement under Reno and NewReno.
pub(super) fn on_duplicate(core: &mut Core, tx: &mut SendContext<'_>) {
    let dupthresh = tx.config.dupthresh;
    core.dupacks += 1;
    if core.dupacks < dupthresh {
        core.limited_transmit(tx);
    } else if core.dupacks == dupthresh {
        if let Some(cut) = may_retransmit(core, tx) {
            core.fast_retransmit(tx, cut);
            core.inflation = dupthresh;
        }
    } else if core.last_cut == LastCut::Loss {
        core.inflation += 1;
    }
}

/// Does a fast retransmit start, and does it cut the window? A loss behind an ECN cut is repaired
/// without another cut; the first data segment is always repaired.
pub(super) fn may_retransmit(core: &Core, tx: &SendContext<'_>) -> Option<bool> {
    if core.una > core.recover || core.una == 1 {
        Some(true)
    } else {
        (tx.config.ecn && core.last_cut == LastCut::Ecn).then_some(!core.ecn_has_cut(tx.config))
    }
}
