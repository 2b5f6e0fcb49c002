//! What an algorithm that ends slow start is given at each acknowledgement, and what it decides.

use marqueue_core::{Dur, Time};

/// Fewest round-trip times of a round before they count (RFC 9406, N_RTT_SAMPLE; Linux, HYSTART_MIN_SAMPLES).
pub const SAMPLES: u32 = 8;

/// By how much the round-trip time must rise: an eighth of what it was, 4 ms at least, 16 ms at most
/// (RFC 9406, 4.3; Linux, HYSTART_DELAY_THRESH).
pub fn rise(rtt: Dur) -> Dur {
    Dur(rtt.0 / 8).clamp(Dur(4_000_000), Dur(16_000_000))
}

/// New data was acknowledged in slow start, and taken in.
#[derive(Clone, Copy, Debug)]
pub struct AckSample {
    /// Now.
    pub now: Time,
    /// The latest round-trip time.
    pub rtt: Dur,
    /// Every acknowledgement measures it.
    pub timed: bool,
    /// The oldest segment not acknowledged (SND.UNA).
    pub una: u32,
    /// One past the highest segment ever sent (SND.NXT).
    pub max: u32,
    /// The window before it grows, in segments.
    pub cwnd: f64,
}

/// What becomes of slow start.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum SlowStartDecision {
    /// It goes on: the window grows by this share of what it would.
    Grow(f64),
    /// It is over: ssthresh is the window as it is.
    End,
}
