//! Applications that write in pieces, and what a pause of theirs does to the window.

use super::window_use::WindowUse;
use super::{Core, SendContext};
use crate::config::{AfterIdle, WindowValidation};
use crate::window_law::Window;
use marqueue_core::math;

impl Core {
    /// The application has no data yet and writes it later.
    pub(crate) fn write_in_pieces(&mut self) {
        self.limit = 1;
        self.extras.remember_window_use().written_in_pieces = true;
    }

    /// The application writes `n` segments, at most up to the end of its data.
    pub(crate) fn write(&mut self, tx: &SendContext<'_>, n: u32) {
        self.limit = self.limit.saturating_add(n).min(self.end);
        if tx.config.window_validation == WindowValidation::Rfc7661 {
            self.end_nonvalidated_periods(tx);
        } else if self.una == self.max && self.una > 0 {
            self.after_idle(tx);
        }
    }

    /// Data is written after nothing was outstanding: reduces the window if nothing was sent for longer than a
    /// retransmission timeout.
    fn after_idle(&mut self, tx: &SendContext<'_>) {
        let Some(&mut WindowUse { last_sent, .. }) = self.extras.window_use() else { return };
        let (idle, rto) = (tx.now - last_sent, self.rto.timeout(tx.config));
        if idle <= rto {
            return;
        }
        let (Window { cwnd, ssthresh }, restart) = (self.window, self.window.cwnd.min(tx.config.initial_window));
        self.window = match tx.config.after_idle {
            AfterIdle::Keep => self.window,
            AfterIdle::Restart => Window { cwnd: restart, ssthresh },
            // RFC 2861: ssthresh keeps three quarters of the window.
            AfterIdle::Decay => Window {
                cwnd: (cwnd * math::powi(0.5, (idle.0 / rto.0).min(64) as i32)).max(restart),
                ssthresh: ssthresh.max(0.75 * cwnd),
            },
        };
    }
}
