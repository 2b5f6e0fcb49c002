//! An application that writes in pieces: the window that it does not use does not grow, and what a
//! pause leaves of it.
//!
//! A window that is not used says nothing about the network, so it must not grow (RFC 9438, 5.8; RFC
//! 7661, 1). Used is one of which as many segments were outstanding in the round trip before; in slow
//! start, half as many, as Linux has it (tcp_is_cwnd_limited). Senders with data at hand until their
//! flow ends are not asked: they use all that they may.

use super::{Core, Tx};
use crate::config::{AfterIdle, Config, Dialect};
use crate::control::Window;

/// The most segments that were outstanding, by round trips.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Usage {
    /// In this round trip and the one before.
    peaks: (u32, u32),
    /// The acknowledgement beyond this one ends the round trip.
    round_end: u32,
}

impl Usage {
    /// `flight` segments are outstanding, from `una` up to `max`.
    fn note(&mut self, una: u32, max: u32, flight: u32) {
        if una >= self.round_end {
            self.round_end = max;
            self.peaks = (0, self.peaks.0);
        }
        self.peaks.0 = self.peaks.0.max(flight);
    }
}

impl Core {
    /// Was the window used that an acknowledgement now may open? Asked before it is taken in, when as
    /// much is outstanding as there will be.
    #[inline]
    pub(super) fn uses_window(&mut self, config: &Config) -> bool {
        // ns-2 opens the window of any sender.
        self.limit == self.end || config.dialect == Dialect::Ns2 || self.has_filled_window(config)
    }

    fn has_filled_window(&mut self, config: &Config) -> bool {
        let flight = self.flight();
        self.usage.note(self.una, self.max, flight);
        let used = self.usage.peaks.0.max(self.usage.peaks.1);
        if self.window.in_slow_start() {
            self.window.cwnd < f64::from(used.saturating_mul(2))
        } else {
            used >= (self.window.cwnd as u32).min(config.max_window)
        }
    }

    /// The application writes `n` segments, of which the last may be cut short by the end of its data.
    pub(crate) fn write(&mut self, tx: &Tx<'_>, n: u32) {
        self.limit = self.limit.saturating_add(n).min(self.end);
        if self.una == self.max && self.una > 0 {
            self.after_idle(tx);
        }
    }

    /// Nothing was outstanding: what is left of the window if nothing was sent for longer than a
    /// retransmission timeout.
    fn after_idle(&mut self, tx: &Tx<'_>) {
        let (idle, rto) = (tx.now - self.last_sent, self.rto.timeout(tx.config));
        if idle <= rto {
            return;
        }
        let (Window { cwnd, ssthresh }, restart) = (self.window, self.window.cwnd.min(tx.config.initial_window));
        self.window = match tx.config.after_idle {
            AfterIdle::Keep => self.window,
            AfterIdle::Restart => Window { cwnd: restart, ssthresh },
            // RFC 2861, 3.2: ssthresh keeps three quarters of the window.
            AfterIdle::Decay => Window {
                cwnd: (cwnd * 0.5f64.powi((idle.0 / rto.0).min(64) as i32)).max(restart),
                ssthresh: ssthresh.max(0.75 * cwnd),
            },
        };
    }
}
