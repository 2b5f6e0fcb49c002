//! Window validation: a window that is not used does not grow, because its use says nothing about a larger one.
//!
//! `cwnd_limited` (RFC 9438, section 5.8; RFC 5681 has no rule). The window grows
//! - while it is below the receiver's: what the receiver does not let out is not used;
//! - if it was filled: before the acknowledgement, FlightSize was cwnd in whole segments. For an application that writes
//!   in pieces, and for a sender that paces, it suffices that this was so at some time in this round trip or the one before, and in slow start, whose
//!   window doubles in a round trip, that half of cwnd was outstanding (Linux, tcp_is_cwnd_limited).
//!
//! `linux` is the same for all senders, and does not look at the receiver's window.
//!
//! `rfc7661`, new CWV (RFC 7661, section 4). pipeACK is the most that was acknowledged in a round trip within the sampling
//! period, max(3 RTT, 1 s). While it is at least half of cwnd the window grows as usual. Otherwise the window is not
//! validated: it grows only when it is filled, it is kept, and after each non-validated period (NVP) it is halved, down
//! to the initial window. Congestion then leaves half of what was used, less half of what was retransmitted when recovery
//! ends. There is no pacing here, so that a kept window may go out in one burst, which 4.4.2 says should be avoided.

use super::{Core, LastCut, SendContext};
use crate::config::{Config, WindowValidation};
use crate::window_law::Window;
use marqueue_core::Dur;

impl Core {
    /// May the acknowledgement of everything below `ack` open the window? Called before it is processed, when the most
    /// data is outstanding.
    #[inline(always)]
    pub(super) fn may_open(&mut self, tx: &SendContext<'_>, ack: u32) -> bool {
        tx.config.window_validation == WindowValidation::None || self.may_open_by_use(tx, ack)
    }

    #[inline(never)]
    fn may_open_by_use(&mut self, tx: &SendContext<'_>, ack: u32) -> bool {
        let config = tx.config;
        match config.window_validation {
            WindowValidation::None => true,
            WindowValidation::CwndLimited => {
                let below = self.window.cwnd < f64::from(config.max_window);
                self.fills_window(false) && below
            }
            WindowValidation::Linux => self.fills_window(true),
            WindowValidation::Rfc7661 => {
                self.is_validated_by(tx, ack) && self.window.cwnd < f64::from(config.max_window)
            }
        }
    }

    /// Does, or did, the sender fill its window? `half_in_slow_start`: half of it suffices there.
    #[inline]
    fn fills_window(&mut self, half_in_slow_start: bool) -> bool {
        let (una, max, flight, cwnd) = (self.una, self.max, self.flight(), self.window.cwnd);
        let paced = self.pacing.is_some();
        match self.extras.window_use().filter(|used| used.written_in_pieces || paced) {
            None => {
                flight >= cwnd as u32
                    || half_in_slow_start && self.window.in_slow_start() && cwnd < f64::from(flight.saturating_mul(2))
            }
            Some(used) => {
                let peak = used.peak(una, max, flight);
                if self.window.in_slow_start() {
                    cwnd < f64::from(peak.saturating_mul(2))
                } else {
                    peak >= cwnd as u32
                }
            }
        }
    }

    /// RFC 7661, section 4.4: validated, or filled.
    fn is_validated_by(&mut self, tx: &SendContext<'_>, ack: u32) -> bool {
        let (una, max, flight, cwnd) = (self.una, self.max, self.flight(), self.window.cwnd);
        let period = self.sampling_period(tx.config);
        self.end_nonvalidated_periods(tx);
        let Some(used) = self.extras.window_use() else { return true };
        used.validation.sample(tx.now, ack, una, max, period);
        used.validation.is_validated(tx.now, cwnd, period) || flight >= cwnd as u32
    }

    /// The pipeACK sampling period (RFC 7661, section 4.2).
    fn sampling_period(&self, config: &Config) -> Dur {
        Dur::from_secs((3.0 * self.rto.srtt(config)).max(1.0))
    }

    /// RFC 7661, sections 4.4.3 and 4.5.2: halves the window for each non-validated period that has passed.
    pub(super) fn end_nonvalidated_periods(&mut self, tx: &SendContext<'_>) {
        let (period, nvp) = (self.sampling_period(tx.config), tx.config.nonvalidated_period);
        let Some(used) = self.extras.window_use() else { return };
        used.validation.is_validated(tx.now, self.window.cwnd, period);
        let Some(since) = &mut used.validation.nonvalidated_since else { return };
        while tx.now - *since > nvp && self.window.cwnd > tx.config.initial_window {
            let Window { cwnd, ssthresh } = self.window;
            self.window =
                Window { cwnd: (0.5 * cwnd).max(tx.config.initial_window), ssthresh: ssthresh.max(0.75 * cwnd) };
            *since += nvp;
        }
    }

    /// RFC 7661, section 4.4.1: congestion in the non-validated phase leaves half of what was used. `window` and `flight`
    /// are those at the signal. Called after the window was cut; `loss`: recovery follows.
    pub(super) fn cut_nonvalidated(&mut self, tx: &SendContext<'_>, window: Window, flight: u32, loss: bool) {
        let period = self.sampling_period(tx.config);
        let retransmits = self.counts.retransmits;
        let Some(used) = self.extras.window_use() else { return };
        let pipe_ack = used.validation.pipe_ack(tx.now, period);
        let validated = used.validation.is_validated(tx.now, window.cwnd, period);
        used.validation.reset();
        if let Some(pipe_ack) = pipe_ack.filter(|_| !validated) {
            let base = pipe_ack.max(flight);
            let left = (0.5 * f64::from(base)).min(window.cwnd);
            self.window = Window { cwnd: left.max(1.0), ssthresh: left.max(2.0) };
            used.validation.repair = loss.then_some((base, retransmits));
        }
    }

    /// RFC 7661, section 4.4.1: recovery from a loss in the non-validated phase is over. Reduces the window by half of
    /// what was retransmitted, before anything is sent.
    #[inline]
    pub(super) fn end_nonvalidated_repair(&mut self) {
        let Some(used) = self.extras.window_use() else { return };
        if self.last_cut == LastCut::Loss {
            return;
        }
        if let Some((base, before)) = used.validation.repair.take().filter(|_| self.last_cut == LastCut::Repaired) {
            let retransmitted = (self.counts.retransmits - before).min(base);
            let left = 0.5 * f64::from(base - retransmitted);
            self.window = Window { cwnd: left.max(1.0), ssthresh: left.max(2.0) };
        }
    }
}
