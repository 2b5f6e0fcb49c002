//! Measures how much of its window a sender uses whose application writes in pieces (RFC 7661, 1).

use marqueue_core::{Dur, Time};

/// State of a sender that is limited by its application.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct ApplicationLimited {
    /// When a segment was last sent.
    pub(super) last_sent: Time,
    /// When data was last acknowledged.
    last_ack: Time,
    /// The most segments that were outstanding in this round trip and in the one before.
    peaks: (u32, u32),
    /// The acknowledgement beyond this one ends the round trip.
    round_end: u32,
}

impl ApplicationLimited {
    /// Notes an acknowledgement that finds `flight` segments outstanding, `una` (SND.UNA) to `max` (SND.NXT). Returns
    /// the most segments that were outstanding in this round trip and the one before, and the time since the
    /// acknowledgement before.
    #[inline]
    pub(super) fn on_ack(&mut self, now: Time, una: u32, max: u32, flight: u32) -> (u32, Dur) {
        if una >= self.round_end {
            self.round_end = max;
            self.peaks = (0, self.peaks.0);
        }
        self.peaks.0 = self.peaks.0.max(flight);
        (self.peaks.0.max(self.peaks.1), now - std::mem::replace(&mut self.last_ack, now))
    }
}
