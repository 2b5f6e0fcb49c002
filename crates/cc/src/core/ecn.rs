//! The reaction to ECN: an echo reduces the window, and a loss that is detected in a window that an echo has reduced
//! does not reduce it again (RFC 3168, 6.1.2).

use super::{Core, LastCut, SendContext};
use crate::config::{Config, Dialect, Reduction};
use crate::law_list::EchoMode;
use crate::window_law::{EcnFeedback, Signal, Window};

impl Core {
    /// An acknowledgement on an ECN connection, before it is processed.
    pub fn on_echo(&mut self, tx: &SendContext<'_>, ack: u32, ece: bool) {
        self.control.on_echo(tx.config, EcnFeedback { ece, ack, una: self.una, max: self.max });
        if ece {
            self.on_ece(tx, ack);
        }
    }

    /// RFC 3168, 6.1.2: an ECN echo reduces the window, once per window of data.
    fn on_ece(&mut self, tx: &SendContext<'_>, ack: u32) {
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
        let cwnd = tx.config.counted(self.window.cwnd);
        let left = self.cut(tx.config, Signal::Ecn);
        let left = tx.config.counted(cwnd * left);
        match tx.config.ecn_reduction {
            _ if ns2 => {}
            Reduction::Cut => self.window.cwnd = left.max(1.0),
            Reduction::Prr => self.window = Window { cwnd, ssthresh: left.max(2.0) },
        }
    }

    /// Must a proportional reduction begin for the echo that has just arrived?
    pub fn echo_begins_reduction(&self, config: &Config) -> bool {
        config.ecn_reduction == Reduction::Prr
            && self.last_cut == LastCut::Ecn
            && self.recover == self.max
            && !self.ecn_floor
    }

    /// Has an ECN echo already reduced the window in which a loss is detected, so that the loss does not reduce it
    /// again (RFC 3168, 6.1.2)? Never if an echo is a weaker signal than a loss (RFC 8257, 3.5).
    pub fn ecn_has_cut(&self, config: &Config) -> bool {
        self.last_cut == LastCut::Ecn && self.una <= self.recover && config.echo == EchoMode::UntilCwr
    }
}
