//! The reaction to losses: fast retransmit, the retransmission timeout, and the window reductions that go with them.
//! ECN shares [`Core::cut`].

use super::{Core, LastCut, SendContext};
use crate::config::{Config, Dialect, FlightSize};
use crate::window_law::Signal;
use marqueue_core::Time;

impl Core {
    /// A loss was detected: fast recovery begins. `cut`: reduce the window.
    pub fn begin_repair(&mut self, tx: &mut SendContext<'_>, cut: bool) {
        if tx.config.by_model {
            self.recover = self.max;
            self.is_decided_by_model(false);
        } else if cut {
            let (window, flight) = (self.window, self.flight());
            self.recover = self.max;
            self.cut(tx.config, Signal::Loss);
            self.cut_nonvalidated(tx, window, flight, true);
        }
        self.last_cut = LastCut::Loss;
        self.timed_since = Time::NEVER;
        self.set_timer(tx);
    }

    /// Retransmits the oldest segment after duplicate acknowledgements. `cut`: reduce the window.
    pub fn fast_retransmit(&mut self, tx: &mut SendContext<'_>, cut: bool) {
        self.begin_repair(tx, cut);
        self.send(tx, self.una);
    }

    /// The retransmission timer has expired: RFC 5681, 3.1 and 3.2; RFC 6298, 5.4 to 5.6.
    pub fn on_timeout(&mut self, tx: &mut SendContext<'_>) {
        let outstanding = self.una < self.max;
        self.inflation = 0;
        self.dupacks = 0;
        self.limited = 0;
        let repeated = self.timed_out == Some(self.una);
        if outstanding {
            self.counts.timeouts += 1;
            self.timed_out = Some(self.una);
            self.syn_lost |= self.una == 0;
            self.shrink_after_timeout(tx.config, repeated);
            self.control.on_timeout();
            if let Some(monitor) = self.extras.slow_start_monitor() {
                monitor.on_timeout();
            }
            self.rto.back_off(tx.config);
        }
        self.recover = self.max;
        self.cwr_pending = true;
        self.ecn_wait = false;
        self.window.cwnd = 1.0;
        self.last_cut = LastCut::Timeout;
        self.nxt = self.una;
        self.timed_since = Time::NEVER;
        self.set_timer(tx);
    }

    /// Sets ssthresh after a timeout. RFC 5681, 3.1: not again for a segment that a timeout has already retransmitted;
    /// ns-2: not if ECN has just reduced it.
    fn shrink_after_timeout(&mut self, config: &Config, repeated: bool) {
        if self.is_decided_by_model(true) {
            return;
        }
        let keep = match config.dialect {
            Dialect::Rfc => repeated || self.is_reducing() && !config.timeout_cuts_again,
            Dialect::Ns2 => self.last_cut == LastCut::Ecn,
        };
        if keep {
            self.window.ssthresh = self.window.ssthresh.max(2.0);
        } else {
            let repairing = self.last_cut == LastCut::Loss && config.dialect == Dialect::Rfc;
            // Proportional rate reduction lets cwnd follow what is in flight; the window that it aims at is ssthresh.
            let least = if repairing { self.window.ssthresh } else { 1.0 };
            self.window.cwnd = self.window.cwnd.max(least);
            self.cut(config, Signal::Loss);
        }
    }

    /// Is a loss being repaired, or has ECN reduced the window that is outstanding?
    fn is_reducing(&self) -> bool {
        matches!(self.last_cut, LastCut::Loss | LastCut::Ecn) && self.una < self.recover
    }

    /// Reduces ssthresh and cwnd by the window law. Returns the share that is left.
    pub(super) fn cut(&mut self, config: &Config, signal: Signal) -> f64 {
        self.end_first_slow_start();
        let cwnd = match config.dialect {
            Dialect::Rfc => self.window.cwnd,
            // ns-2's window grows beyond the receiver's, which is not in the network.
            Dialect::Ns2 => self.window.cwnd.min(f64::from(config.max_window)),
        };
        let left = self.control.decrease(config, config.counted(cwnd), signal);
        match config.dialect {
            // RFC 5681, equation (4).
            Dialect::Rfc => {
                self.window.ssthresh = config.counted(self.flight_size(config) * left).max(2.0);
                self.window.cwnd = self.window.ssthresh;
            }
            // ns-2 halves the window itself, inflation included, and rounds only ssthresh.
            Dialect::Ns2 => {
                let half = (self.window.cwnd + f64::from(self.inflation)).min(f64::from(config.max_window)) * left;
                self.window.ssthresh = half.floor().max(2.0);
                self.window.cwnd = half;
            }
        }
        self.cwr_pending = true;
        left
    }

    /// A retransmission was lost too: a second signal (RFC 5681, 4.3). The outstanding data says nothing about the
    /// network during recovery, so ssthresh is reduced.
    pub fn cut_again(&mut self, config: &Config) {
        if config.by_model {
            return;
        }
        let left = self.control.decrease(config, self.window.cwnd, Signal::Loss);
        self.window.ssthresh = (self.window.ssthresh * left).max(2.0);
        self.window.cwnd = self.window.cwnd.min(self.window.ssthresh);
        self.cwr_pending = true;
    }

    /// FlightSize of RFC 5681, equation (4), without what limited transmit has sent (section 3.2, step 2).
    ///
    /// The text defines it as all that is not cumulatively acknowledged (section 2), and where it is used, as what is
    /// outstanding in the network. In loss recovery the first includes what was received above a hole, which may be
    /// several windows: a timeout would leave a larger ssthresh than the loss before it, where section 4.3 wants it
    /// lowered twice.
    fn flight_size(&self, config: &Config) -> f64 {
        let outstanding = f64::from(self.flight() - self.limited);
        match config.flight_size {
            FlightSize::Outstanding => outstanding,
            FlightSize::Window => outstanding.min(self.window.cwnd),
            FlightSize::Cwnd => self.window.cwnd,
        }
    }
}
