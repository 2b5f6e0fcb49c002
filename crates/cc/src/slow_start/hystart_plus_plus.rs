//! HyStart++: RFC 9406, section 4.2.
//!
//! If the smallest round-trip time of a round is above that of the round before by an eighth (4 ms at least, 16 ms at
//! most), conservative slow start (CSS) begins: a quarter of the growth, for five rounds, of which the one that it
//! begins in is the first. Then ssthresh is cwnd, and congestion avoidance begins. If the round-trip time falls below the
//! baseline before, the rise was spurious, and slow start goes on. An acknowledgement first opens the window as the phase
//! demands, by at most L segments (`hystart_limit`), and then counts as a sample.
//!
//! A round ends when everything below windowEnd has been acknowledged. Departure: an acknowledgement that may not open
//! the window (it carries ECE, or the window was not used) gives no sample.

use super::rtt_sample::{rise, AckSample, SlowStartDecision, SAMPLES};
use marqueue_core::Dur;

/// CSS_GROWTH_DIVISOR = 4.
const CONSERVATIVE: f64 = 0.25;
/// CSS_ROUNDS.
const ROUNDS: u32 = 5;
const UNKNOWN: Dur = Dur(u64::MAX);

/// State of a sender in its first slow start.
#[derive(Clone, Debug)]
pub struct HyStartPlusPlus {
    /// windowEnd; 0 before the first round.
    round_end: u32,
    /// rttSampleCount.
    samples: u32,
    /// currentRoundMinRTT.
    current: Dur,
    /// lastRoundMinRTT.
    last: Dur,
    /// In conservative slow start: cssBaselineMinRtt, and rounds that are over.
    conservative: Option<(Dur, u32)>,
}

impl Default for HyStartPlusPlus {
    fn default() -> HyStartPlusPlus {
        HyStartPlusPlus { round_end: 0, samples: 0, current: UNKNOWN, last: UNKNOWN, conservative: None }
    }
}

impl HyStartPlusPlus {
    pub(super) fn on_ack(&mut self, seen: &AckSample) -> SlowStartDecision {
        if self.round_end == 0 {
            self.round_end = seen.max;
        }
        let growth = if self.conservative.is_some() { CONSERVATIVE } else { 1.0 };
        self.current = self.current.min(seen.rtt);
        self.samples += 1;
        if self.samples >= SAMPLES {
            match self.conservative {
                Some((baseline, _)) if self.current < baseline => self.conservative = None,
                None if self.last != UNKNOWN && self.current >= self.last + rise(self.last) => {
                    self.conservative = Some((self.current, 0));
                }
                _ => {}
            }
        }
        if seen.una >= self.round_end && self.end_round(seen.max) {
            return SlowStartDecision::End(growth);
        }
        SlowStartDecision::Grow(growth)
    }

    /// Tells whether slow start is over with it.
    fn end_round(&mut self, next_end: u32) -> bool {
        (self.last, self.current) = (self.current, UNKNOWN);
        (self.round_end, self.samples) = (next_end, 0);
        self.conservative.as_mut().is_some_and(|(_, rounds)| {
            *rounds += 1;
            *rounds >= ROUNDS
        })
    }
}
