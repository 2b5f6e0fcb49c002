//! NewReno: RFC 6582. Fast recovery lasts until everything is acknowledged that was outstanding when
//! it began; each partial acknowledgement retransmits the next hole.
//!
//! Departure: a loss in a window that ECN has just cut is repaired without a second cut (RFC 3168,
//! 6.1.2).

use super::{reno, Repair};
use crate::core::{Core, LastCut, Tx};
use crate::sender::Ack;

/// State of NewReno.
#[derive(Clone, Debug, Default)]
pub struct NewReno {
    in_recovery: bool,
    /// The timer has been reset by the first partial acknowledgement (section 3.2, step 3, the
    /// impatient variant).
    timer_reset: bool,
}

impl NewReno {
    fn on_new_ack(&mut self, core: &mut Core, tx: &mut Tx<'_>, ack: &Ack<'_>) {
        if !self.in_recovery {
            core.acknowledge_and_open(tx, ack.ack, ack.ece);
        } else if ack.ack >= core.recover {
            self.in_recovery = false;
            core.acknowledge(tx, ack.ack, ack.ece);
            core.inflation = 0;
            // Option (1): no burst even if little is outstanding.
            core.window.cwnd = core.window.ssthresh.min(f64::from(core.flight().max(1)) + 1.0);
            core.last_cut = LastCut::Repaired;
        } else {
            let acked = ack.ack - core.una;
            core.advance(ack.ack);
            core.send(tx, core.una);
            deflate(core, acked);
            if !self.timer_reset {
                self.timer_reset = true;
                core.restart_timer(tx);
            }
        }
    }
}

/// Step 3, partial acknowledgement: the window shrinks by what was acknowledged and grows by one.
fn deflate(core: &mut Core, acked: u32) {
    let take = acked - 1;
    let from_inflation = take.min(core.inflation);
    core.inflation -= from_inflation;
    core.window.cwnd = (core.window.cwnd - f64::from(take - from_inflation)).max(1.0);
}

impl Repair for NewReno {
    fn on_ack(&mut self, core: &mut Core, tx: &mut Tx<'_>, ack: &Ack<'_>) {
        if ack.ack > core.una {
            self.on_new_ack(core, tx, ack);
        } else if ack.ack == core.una && core.flight() > 0 {
            core.dupacks += 1;
            if self.in_recovery {
                core.inflation += 1;
            } else if core.dupacks < tx.config.dupthresh {
                return core.limited_transmit(tx);
            } else if core.dupacks == tx.config.dupthresh && (core.una > core.recover || core.last_cut == LastCut::Ecn)
            {
                self.in_recovery = true;
                self.timer_reset = false;
                reno::enter(core, tx);
                core.recover = core.max;
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
