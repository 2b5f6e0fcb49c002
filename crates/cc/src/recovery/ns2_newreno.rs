//! ns-2.35's Agent/TCP/Newreno with its default settings (newreno_changes1_,
//! partial_window_deflation_, at most two segments sent per duplicate acknowledgement).
//!
//! Differs from RFC 6582: the window after recovery is the halved one, however little is
//! outstanding; an acknowledgement of exactly the last segment before the cut ends recovery.

use super::loss_recovery::LossRecovery;
use super::ns2_reno::on_duplicate;
use crate::core::{Core, LastCut, SendContext};
use crate::segment::Ack;

/// Segments sent per duplicate acknowledgement in recovery.
const BURST: u32 = 2;

/// State of NewReno.
#[derive(Clone, Debug, Default)]
pub struct Ns2NewReno {
    /// A partial acknowledgement has reset the timer.
    timer_reset: bool,
}

impl Ns2NewReno {
    fn partial(&mut self, core: &mut Core, tx: &mut SendContext<'_>, ack: &Ack<'_>) {
        if !self.timer_reset {
            self.timer_reset = true;
            core.set_timer(tx);
        }
        let acked = ack.ack - core.una;
        if core.inflation > acked {
            core.inflation -= acked - 1;
        } else {
            core.window.cwnd = (core.window.cwnd - f64::from(acked - core.inflation)).max(1.0);
            core.inflation = 1;
        }
        core.acknowledge_part(tx, ack);
        core.send(tx, core.una);
    }
}

impl LossRecovery for Ns2NewReno {
    fn on_ack(&mut self, core: &mut Core, tx: &mut SendContext<'_>, ack: &Ack<'_>) {
        if ack.ack > core.una {
            if ack.ack >= core.recover || core.last_cut != LastCut::Loss {
                if core.inflation > 0 {
                    core.inflation = 0;
                    if core.last_cut == LastCut::Loss {
                        core.last_cut = LastCut::Repaired;
                    }
                }
                self.timer_reset = false;
                core.acknowledge_and_open(tx, ack);
            } else {
                self.partial(core, tx, ack);
            }
        } else if ack.ack == core.una {
            on_duplicate(core, tx);
        }
        if core.dupacks == 0 {
            core.fill_window(tx, u32::MAX);
        } else if core.dupacks >= tx.config.dupthresh {
            core.fill_window(tx, BURST);
        }
    }

    fn on_timeout(&mut self, core: &mut Core, tx: &mut SendContext<'_>) {
        core.fill_window(tx, u32::MAX);
    }
}
