//! The interface of algorithms that end slow start: their input at each acknowledgement, and their decision.

use marqueue_core::{Dur, Time};

/// Fewest round-trip time samples of a round before they count (RFC 9406, N_RTT_SAMPLE; Linux, HYSTART_MIN_SAMPLES).
pub const SAMPLES: u32 = 8;

/// By how much the round-trip time must rise: an eighth of what it was, 4 ms at least, 16 ms at most
/// (RFC 9406, 4.3; Linux, HYSTART_DELAY_THRESH).
pub fn rise(rtt: Dur) -> Dur {
    Dur(rtt.0 / 8).clamp(Dur(4_000_000), Dur(16_000_000))
}

/// An acknowledgement of new data in slow start, after it was processed.
#[derive(Clone, Copy, Debug)]
pub struct AckSample {
    /// Now.
    pub now: Time,
    /// The latest round-trip time.
    pub rtt: Dur,
    /// True if every acknowledgement measures it.
    pub timed: bool,
    /// The oldest segment not acknowledged (SND.UNA).
    pub una: u32,
    /// One past the highest segment ever sent (SND.NXT).
    pub max: u32,
    /// The window before it grows, in segments.
    pub cwnd: f64,
    /// Does the sender pace?
    pub paced: bool,
}

/// The decision about slow start.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum SlowStartDecision {
    /// Slow start continues: the window grows by this share of the normal growth.
    Grow(f64),
    /// Slow start ends after a last growth by this share: ssthresh becomes the window.
    End(f64),
}
