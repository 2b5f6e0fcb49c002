//! NewReno: RFC 6582. Fast recovery lasts until everything is acknowledged that was outstanding when it began; each
//! partial acknowledgement retransmits the next hole.
//!
//! Departure: a loss in a window that ECN has just reduced is repaired without a second reduction (RFC 3168, section
//! 6.1.2).

use super::loss_recovery::LossRecovery;
use super::prr::{Progress, WindowReduction};
use super::reno;
use crate::core::{Core, LastCut, SendContext};
use crate::segment::Ack;

/// State of NewReno.
#[derive(Clone, Debug, Default)]
pub struct NewReno {
    in_recovery: bool,
    reducing: WindowReduction,
    /// The timer has been reset by the first partial acknowledgement (RFC 6582, section 3.2, step 3).
    timer_reset: bool,
}

impl NewReno {
    /// RFC 6582, section 3.2, step 3: a partial acknowledgement of `acked` segments, after the retransmission of the next
    /// hole. The window shrinks by the segments acknowledged and grows by one. RFC 9937: the segments for which there were
    /// duplicates had been delivered before.
    fn deflate(&mut self, core: &mut Core, acked: u32) {
        let take = acked - 1;
        let from_inflation = take.min(core.inflation);
        let delivered = self.reducing.credible(acked.saturating_sub(core.inflation));
        core.inflation -= from_inflation;
        core.window.cwnd = (core.window.cwnd - f64::from(take - from_inflation)).max(1.0);
        let in_flight = core.flight().saturating_sub(core.inflation + 1);
        self.reducing.on_ack(core, Progress { delivered, in_flight, safe: false });
        self.reducing.sent(1);
    }

    /// RFC 6582, section 3.2, step 3: a full acknowledgement, with `flight` segments still outstanding. Option (1): no
    /// burst even if little is outstanding.
    fn leave(&mut self, core: &mut Core, flight: u32) {
        self.in_recovery = false;
        core.inflation = 0;
        core.window.cwnd = core.window.ssthresh.min(f64::from(flight.max(1)) + 1.0);
        self.reducing.end(core);
        core.last_cut = LastCut::Repaired;
    }

    fn on_new_ack(&mut self, core: &mut Core, tx: &mut SendContext<'_>, ack: &Ack<'_>) {
        if !self.in_recovery {
            core.acknowledge_and_open(tx, ack);
        } else if ack.ack >= core.recover {
            core.acknowledge(tx, ack);
            self.leave(core, core.flight());
        } else {
            let acked = ack.ack - core.una;
            core.acknowledge_part(tx, ack);
            core.send(tx, core.una);
            self.deflate(core, acked);
            if !self.timer_reset {
                self.timer_reset = true;
                core.restart_timer(tx);
            }
        }
    }
}

impl LossRecovery for NewReno {
    fn on_ack(&mut self, core: &mut Core, tx: &mut SendContext<'_>, ack: &Ack<'_>) {
        if ack.ack > core.una {
            self.on_new_ack(core, tx, ack);
        } else if ack.ack == core.una && core.flight() > 0 {
            core.dupacks += 1;
            if self.in_recovery {
                return reno::on_duplicate(core, tx, &mut self.reducing);
            } else if core.dupacks < tx.config.dupthresh {
                return core.limited_transmit(tx);
            } else if core.dupacks == tx.config.dupthresh && (core.una > core.recover || core.last_cut == LastCut::Ecn)
            {
                self.in_recovery = true;
                self.timer_reset = false;
                self.reducing = reno::enter(core, tx);
                core.recover = core.max;
            }
        } else {
            return;
        }
        reno::fill(core, tx, &mut self.reducing);
    }

    fn before_echo(&mut self, core: &mut Core, ack: u32) {
        if self.in_recovery && ack >= core.recover {
            self.leave(core, core.max - ack);
        }
    }

    fn on_data(&mut self, core: &mut Core, tx: &mut SendContext<'_>) {
        reno::fill(core, tx, &mut self.reducing);
    }

    fn on_timeout(&mut self, core: &mut Core, tx: &mut SendContext<'_>) {
        *self = NewReno::default();
        core.fill_window(tx, u32::MAX);
    }
}
