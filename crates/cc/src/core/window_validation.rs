//! Window validation: a window that is not used does not grow, because its use says nothing about a larger one.
//!
//! `cwnd_limited` (RFC 9438, section 5.8; RFC 5681 has no rule). The window grows
//! - while it is below the receiver's: what the receiver does not let out is not used;
//! - if it was filled: before the acknowledgement, FlightSize was cwnd in whole segments. For an application that writes
//!   in pieces it suffices that this was so at some time in this round trip or the one before, and in slow start, whose
//!   window doubles in a round trip, that half of cwnd was outstanding (Linux, tcp_is_cwnd_limited).
//!
//! `rfc7661`, new CWV (RFC 7661, section 4). pipeACK is the most that was acknowledged in a round trip within the sampling
//! period, max(3 RTT, 1 s). While it is at least half of cwnd the window grows as usual. Otherwise the window is not
//! validated: it grows only when it is filled, it is kept, and after each non-validated period (NVP) it is halved, down
//! to the initial window. Congestion then leaves half of what was used, less half of what was retransmitted when recovery
//! ends. There is no pacing here, so that a kept window may go out in one burst, which 4.4.2 says should be avoided.

use super::{Core, LastCut, SendContext};
use crate::config::{Config, WindowValidation};
use crate::window_law::Window;
use marqueue_core::{Dur, Time};

/// What a sender remembers about the use of its window. Senders that have all data from the start do without, except
/// under new CWV.
#[derive(Clone, Debug, Default)]
pub(super) struct WindowUse {
    /// The application writes in pieces.
    pub(super) written_in_pieces: bool,
    /// When a segment was last sent.
    pub(super) last_sent: Time,
    /// The most segments that were outstanding in this round trip and in the one before.
    peaks: (u32, u32),
    /// The acknowledgement beyond this one ends the round trip.
    round_end: u32,
    /// pipeACK and the phase, under new CWV.
    validation: Validation,
}

/// New CWV's state.
#[derive(Clone, Debug, Default)]
struct Validation {
    /// pipeACK samples of the sampling period, of which a later one is always smaller: (time, segments).
    samples: Vec<(Time, u32)>,
    /// The latest sample; `None` while pipeACK is undefined.
    latest: Option<Time>,
    /// The round trip that is being sampled: SND.UNA and SND.NXT at its beginning.
    round: Option<(u32, u32)>,
    /// When the non-validated phase, or its present period, began.
    nonvalidated_since: Option<Time>,
    /// In recovery from a loss in the non-validated phase: max(pipeACK, LossFlightSize), and the retransmissions counted
    /// before.
    repair: Option<(u32, u32)>,
}

impl WindowUse {
    /// Notes an acknowledgement that finds `flight` segments outstanding, `una` (SND.UNA) to `max` (SND.NXT). Returns
    /// the most segments that were outstanding in this round trip and the one before.
    #[inline]
    fn peak(&mut self, una: u32, max: u32, flight: u32) -> u32 {
        if una >= self.round_end {
            self.round_end = max;
            self.peaks = (0, self.peaks.0);
        }
        self.peaks.0 = self.peaks.0.max(flight);
        self.peaks.0.max(self.peaks.1)
    }
}

impl Validation {
    /// RFC 7661, section 4.2: samples pipeACK. Called for each acknowledgement up to `ack` outside loss recovery, before
    /// it is processed.
    fn sample(&mut self, now: Time, ack: u32, una: u32, max: u32, period: Dur) {
        let (start, end) = *self.round.get_or_insert((una, max));
        if ack >= end {
            self.samples.retain(|&(at, n)| now - at <= period && n > ack - start);
            self.samples.push((now, ack - start));
            self.latest = Some(now);
            self.round = None;
        }
    }

    /// The pipeACK variable; `None` if undefined.
    fn pipe_ack(&self, now: Time, period: Dur) -> Option<u32> {
        self.latest?;
        Some(self.samples.iter().filter(|&&(at, _)| now - at <= period).map(|&(_, n)| n).max().unwrap_or(0))
    }

    /// Section 4.3: enters or leaves the non-validated phase. Returns true if the window is validated.
    fn is_validated(&mut self, now: Time, cwnd: f64, period: Dur) -> bool {
        let validated = self.pipe_ack(now, period).is_none_or(|n| f64::from(n) >= 0.5 * cwnd);
        if validated {
            self.nonvalidated_since = None;
        } else if self.nonvalidated_since.is_none() {
            // At the latest when the last sample became too old.
            let expiry = self.latest.map_or(now, |latest| latest + period);
            self.nonvalidated_since = Some(now.min(expiry));
        }
        validated
    }

    /// Recovery is over, or congestion was answered: pipeACK is undefined.
    fn reset(&mut self) {
        *self = Validation::default();
    }
}

impl Core {
    /// May the acknowledgement of everything below `ack` open the window? Called before it is processed, when the most
    /// data is outstanding.
    #[inline]
    pub(super) fn may_open(&mut self, tx: &SendContext<'_>, ack: u32) -> bool {
        let config = tx.config;
        match config.window_validation {
            WindowValidation::None => true,
            WindowValidation::CwndLimited => {
                let below = self.window.cwnd < f64::from(config.max_window);
                self.fills_window() && below
            }
            WindowValidation::Rfc7661 => {
                self.is_validated_by(tx, ack) && self.window.cwnd < f64::from(config.max_window)
            }
        }
    }

    /// Does, or did, the sender fill its window?
    #[inline]
    fn fills_window(&mut self) -> bool {
        let (una, max, flight, cwnd) = (self.una, self.max, self.flight(), self.window.cwnd);
        match self.window_use.as_deref_mut().filter(|used| used.written_in_pieces) {
            None => flight >= cwnd as u32,
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
        let Some(used) = self.window_use.as_deref_mut() else { return true };
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
        let Some(used) = self.window_use.as_deref_mut() else { return };
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
        let Some(used) = self.window_use.as_deref_mut() else { return };
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
        let Some(used) = self.window_use.as_deref_mut() else { return };
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
