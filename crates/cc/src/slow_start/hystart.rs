//! HyStart as Linux's CUBIC has it (tcp_cubic.c; Ha and Rhee, "Taming the elephants: new TCP slow start", Computer
//! Networks 55(9), 2011).
//!
//! From a window of 16 segments on, slow start ends if
//! - acknowledgements have come at distances of 2 ms at most for half the smallest round-trip time (and 1 ms for
//!   segmentation offload) since the round began: so many fit into the pipe; of a sender that paces, which itself spreads
//!   them over half a round trip, for all of it, or
//! - the round-trip times of a round, after eight of them, are all above the smallest of the connection by an eighth
//!   (4 ms at least, 16 ms at most).
//!
//! It does so once, and once more after each timeout. A loss does not stop it: if the reduction is undone, slow start goes on.
//!
//! Departures: without timestamps the delay is not looked at, where Linux times every segment; the smallest round-trip time
//! is that of slow start.

use super::rtt_sample::{rise, AckSample, SlowStartDecision, SAMPLES};
use marqueue_core::{Dur, Time};

/// hystart_low_window.
const LOW_WINDOW: f64 = 16.0;
/// hystart_ack_delta_us.
const TRAIN: Dur = Dur(2_000_000);
/// What hystart_ack_delay() is below 2 Gbit/s.
const OFFLOAD: Dur = Dur(1_000_000);
const UNKNOWN: Dur = Dur(u64::MAX);

/// State of a sender.
#[derive(Clone, Debug)]
pub struct HyStart {
    /// The acknowledgement beyond this one begins a round.
    round_end: u32,
    round_began: Time,
    /// The latest acknowledgement of the train.
    train_end: Time,
    samples: u32,
    /// The smallest round-trip time of this round.
    current: Dur,
    /// And of the connection.
    smallest: Dur,
    /// It has ended a slow start.
    found: bool,
}

impl Default for HyStart {
    fn default() -> HyStart {
        HyStart {
            round_end: 0,
            round_began: Time::ZERO,
            train_end: Time::ZERO,
            samples: 0,
            current: UNKNOWN,
            smallest: UNKNOWN,
            found: false,
        }
    }
}

impl HyStart {
    /// A slow start begins after a timeout (bictcp_state).
    pub(super) fn begin(&mut self) {
        *self = HyStart { smallest: self.smallest, ..HyStart::default() };
    }

    pub(super) fn on_ack(&mut self, seen: &AckSample) -> SlowStartDecision {
        self.smallest = self.smallest.min(seen.rtt);
        if self.found {
            return SlowStartDecision::Grow(1.0);
        }
        if seen.una > self.round_end {
            (self.round_began, self.train_end) = (seen.now, seen.now);
            (self.round_end, self.samples, self.current) = (seen.max, 0, UNKNOWN);
        }
        if seen.cwnd >= LOW_WINDOW && (self.train_is_long(seen) || self.delay_has_risen(seen)) {
            self.found = true;
            return SlowStartDecision::End(0.0);
        }
        SlowStartDecision::Grow(1.0)
    }

    fn train_is_long(&mut self, seen: &AckSample) -> bool {
        if seen.now - self.train_end > TRAIN {
            return false;
        }
        self.train_end = seen.now;
        let whole = self.smallest + OFFLOAD;
        seen.now - self.round_began > if seen.paced { whole } else { Dur(whole.0 / 2) }
    }

    fn delay_has_risen(&mut self, seen: &AckSample) -> bool {
        self.current = self.current.min(seen.rtt);
        self.samples += u32::from(seen.timed);
        self.samples > SAMPLES && self.current > self.smallest + rise(self.smallest)
    }
}
