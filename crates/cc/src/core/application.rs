//! Applications that write in pieces: an unused window does not grow, and a pause may reduce it.
//!
//! A window that is not used says nothing about the network, so it must not grow (RFC 9438, 5.8; RFC 7661, 1). A window
//! counts as used if as many segments were outstanding in the previous round trip; in slow start, half as many (Linux,
//! tcp_is_cwnd_limited). Senders that have all data from the start always use it.

use super::{Core, SendContext};
use crate::config::{AfterIdle, Dialect};
use crate::window_law::Window;
use marqueue_core::Dur;

impl Core {
    /// The application has no data yet and writes it later.
    pub(crate) fn write_in_pieces(&mut self) {
        self.limit = 1;
        self.application_limited = Some(Box::default());
    }

    /// For how long the window has not been used; `None` if it has been used and may grow. Called before an
    /// acknowledgement is processed, when the most data is outstanding. ns-2 grows the window of any sender.
    #[inline]
    pub(super) fn unused_for(&mut self, tx: &SendContext<'_>) -> Option<Dur> {
        let (una, max, flight) = (self.una, self.max, self.flight());
        let application_limited =
            self.application_limited.as_deref_mut().filter(|_| tx.config.dialect == Dialect::Rfc)?;
        let (used, time) = application_limited.on_ack(tx.now, una, max, flight);
        let enough = if self.window.in_slow_start() {
            self.window.cwnd < f64::from(used.saturating_mul(2))
        } else {
            used >= (self.window.cwnd as u32).min(tx.config.max_window)
        };
        (!enough).then_some(time)
    }

    /// The application writes `n` segments, at most up to the end of its data.
    pub(crate) fn write(&mut self, tx: &SendContext<'_>, n: u32) {
        self.limit = self.limit.saturating_add(n).min(self.end);
        if self.una == self.max && self.una > 0 {
            self.after_idle(tx);
        }
    }

    /// Data is written after nothing was outstanding: reduces the window if nothing was sent for longer than a
    /// retransmission timeout.
    fn after_idle(&mut self, tx: &SendContext<'_>) {
        let Some(application_limited) = &self.application_limited else { return };
        let (idle, rto) = (tx.now - application_limited.last_sent, self.rto.timeout(tx.config));
        if idle <= rto {
            return;
        }
        let (Window { cwnd, ssthresh }, restart) = (self.window, self.window.cwnd.min(tx.config.initial_window));
        self.window = match tx.config.after_idle {
            AfterIdle::Keep => self.window,
            AfterIdle::Restart => Window { cwnd: restart, ssthresh },
            // RFC 2861: ssthresh keeps three quarters of the window.
            AfterIdle::Decay => Window {
                cwnd: (cwnd * 0.5f64.powi((idle.0 / rto.0).min(64) as i32)).max(restart),
                ssthresh: ssthresh.max(0.75 * cwnd),
            },
        };
    }
}
