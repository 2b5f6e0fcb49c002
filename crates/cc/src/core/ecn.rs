//! The reaction to ECN: an echo reduces the window once per window of data, and a loss that is detected in a window that
//! an echo has reduced does not reduce it again (RFC 3168, section 6.1.2).

use super::{Core, LastCut, SendContext};
use crate::config::{Config, Dialect, EcnReductionBase, Reduction};
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

    /// RFC 3168, section 6.1.2: an ECN echo reduces the window, once per window of data.
    fn on_ece(&mut self, tx: &SendContext<'_>, ack: u32) {
        let ns2 = tx.config.dialect == Dialect::Ns2;
        if !(ack > self.recover || ns2 && self.last_cut == LastCut::Timeout) {
            return;
        }
        self.recover = self.max;
        self.last_cut = LastCut::Ecn;
        self.counts.ecn_cuts += 1;
        let at_floor = self.window.cwnd <= 1.0;
        if at_floor && self.ecn_floor {
            // RFC 9438, section 4.6: while echoes persist at one segment, the rate falls further.
            self.rto.back_off(tx.config);
        }
        self.ecn_floor = at_floor;
        if at_floor && !ns2 {
            self.ecn_wait = true;
            self.cwr_pending = true;
            self.set_timer(tx);
            return;
        }
        let (window, flight) = (self.window, self.flight());
        self.reduce_for_ece(tx.config);
        self.cut_nonvalidated(tx, window, flight, false);
    }

    /// Reduces the window for an ECN echo by the law or by ABE (RFC 8511, section 3.1).
    fn reduce_for_ece(&mut self, config: &Config) {
        let before = self.window;
        let flight = f64::from(self.flight() - self.limited);
        let left = self.cut(config, Signal::Ecn);
        if config.dialect == Dialect::Ns2 {
            return;
        }
        // RFC 8511, section 4: in congestion avoidance only.
        let left = config.abe_beta.filter(|_| before.cwnd > before.ssthresh).unwrap_or(left);
        let cwnd = config.counted(before.cwnd);
        let on_flight_size = config.ecn_reduction_base == EcnReductionBase::FlightSize;
        let reduced = config.counted(if on_flight_size { flight.min(cwnd) } else { cwnd } * left);
        self.window = match config.ecn_reduction {
            Reduction::Cut => {
                let ssthresh = if on_flight_size { reduced } else { config.counted(flight * left) };
                Window { cwnd: reduced.max(1.0), ssthresh: ssthresh.max(2.0) }
            }
            Reduction::Prr => Window { cwnd, ssthresh: reduced.max(2.0) },
        };
    }

    /// Is an echo on an acknowledgement up to `ack` one from before the latest timeout? Retransmissions are not
    /// ECN-capable, and CWR, which would end the echo, is on new segments only: while what was outstanding at the timeout
    /// is sent again, every acknowledgement carries the echo of an old mark.
    pub(super) fn echo_is_old(&self, config: &Config, ack: u32) -> bool {
        let until_cwr = config.dialect == Dialect::Rfc && config.echo == EchoMode::UntilCwr;
        until_cwr && self.last_cut == LastCut::Timeout && ack <= self.recover
    }

    /// Must a proportional reduction begin for the echo that has just arrived?
    pub fn echo_begins_reduction(&self, config: &Config) -> bool {
        config.ecn_reduction == Reduction::Prr
            && self.last_cut == LastCut::Ecn
            && self.recover == self.max
            && !self.ecn_floor
    }

    /// Has an ECN echo already reduced the window in which a loss is detected, so that the loss does not reduce it
    /// again (RFC 3168, section 6.1.2)? Never if an echo is a weaker signal than a loss (RFC 8257, section 3.5).
    pub fn ecn_has_cut(&self, config: &Config) -> bool {
        let in_reduced_window = match config.dialect {
            // The first segment after the reduction carries CWR; its loss reduces the window again.
            Dialect::Rfc => self.una < self.recover,
            Dialect::Ns2 => self.una <= self.recover,
        };
        self.last_cut == LastCut::Ecn && in_reduced_window && config.echo == EchoMode::UntilCwr
    }
}
