//! The answer to ECN: an echo cuts the window, and a loss that is found in a window that an echo has cut does
//! not cut it again (RFC 3168, 6.1.2).

use super::{Core, LastCut, Tx};
use crate::config::{Config, Dialect};
use crate::control::{Echo, Echoed, Signal};

impl Core {
    /// An acknowledgement on a connection that speaks ECN; it has not been taken in yet.
    pub fn on_echo(&mut self, tx: &Tx<'_>, ack: u32, ece: bool) {
        self.control.on_echo(tx.config, Echoed { ece, ack, una: self.una, max: self.max });
        if ece {
            self.on_ece(tx, ack);
        }
    }

    /// RFC 3168, 6.1.2: an ECN echo cuts the window, once per window of data.
    fn on_ece(&mut self, tx: &Tx<'_>, ack: u32) {
        let ns2 = tx.config.dialect == Dialect::Ns2;
        if !(ack > self.recover || ns2 && self.last_cut == LastCut::Timeout) {
            return;
        }
        self.recover = self.max;
        self.last_cut = LastCut::Ecn;
        self.counts.ecn_cuts += 1;
        let at_floor = self.window.cwnd <= 1.0;
        if at_floor && self.ecn_floor && ns2 {
            self.rto.back_off(tx.config);
        }
        self.ecn_floor = at_floor;
        if at_floor && !ns2 {
            self.cwr_pending = true;
            self.set_timer(tx);
            return;
        }
        let cwnd = self.window.cwnd;
        let left = self.cut(tx.config, Signal::Ecn);
        if !ns2 {
            self.window.cwnd = (cwnd * left).max(1.0);
        }
    }

    /// Has an ECN echo already cut the window in which a loss is found now, so that the loss does not
    /// cut it again (RFC 3168, 6.1.2)? Not if echoes say less than losses (RFC 8257, 3.5).
    pub fn ecn_has_cut(&self, config: &Config) -> bool {
        self.last_cut == LastCut::Ecn && self.una <= self.recover && config.echo == Echo::UntilCwr
    }
}
