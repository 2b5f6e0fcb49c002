//! What a sender remembers about the use of its window: see `window_validation`.

use marqueue_core::{Dur, Time};

/// What a sender remembers about the use of its window. Senders that have all data from the start do without, except
/// under new CWV and with pacing.
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
    pub(super) validation: Validation,
}

/// New CWV's state.
#[derive(Clone, Debug, Default)]
pub(super) struct Validation {
    /// pipeACK samples of the sampling period, of which a later one is always smaller: (time, segments).
    samples: Vec<(Time, u32)>,
    /// The latest sample; `None` while pipeACK is undefined.
    latest: Option<Time>,
    /// The round trip that is being sampled: SND.UNA and SND.NXT at its beginning.
    round: Option<(u32, u32)>,
    /// When the non-validated phase, or its present period, began.
    pub(super) nonvalidated_since: Option<Time>,
    /// In recovery from a loss in the non-validated phase: max(pipeACK, LossFlightSize), and the retransmissions counted
    /// before.
    pub(super) repair: Option<(u32, u32)>,
}

impl WindowUse {
    /// Notes an acknowledgement that finds `flight` segments outstanding, `una` (SND.UNA) to `max` (SND.NXT). Returns
    /// the most segments that were outstanding in this round trip and the one before.
    #[inline]
    pub(super) fn peak(&mut self, una: u32, max: u32, flight: u32) -> u32 {
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
    pub(super) fn sample(&mut self, now: Time, ack: u32, una: u32, max: u32, period: Dur) {
        let (start, end) = *self.round.get_or_insert((una, max));
        if ack >= end {
            self.samples.retain(|&(at, n)| now - at <= period && n > ack - start);
            self.samples.push((now, ack - start));
            self.latest = Some(now);
            self.round = None;
        }
    }

    /// The pipeACK variable; `None` if undefined.
    pub(super) fn pipe_ack(&self, now: Time, period: Dur) -> Option<u32> {
        self.latest?;
        Some(self.samples.iter().filter(|&&(at, _)| now - at <= period).map(|&(_, n)| n).max().unwrap_or(0))
    }

    /// Section 4.3: enters or leaves the non-validated phase. Returns true if the window is validated.
    pub(super) fn is_validated(&mut self, now: Time, cwnd: f64, period: Dur) -> bool {
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
    pub(super) fn reset(&mut self) {
        *self = Validation::default();
    }
}
