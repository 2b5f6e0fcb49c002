//! PIE's estimate of the dequeue rate: the average time in which DQ_THRESHOLD bytes depart.
//!
//! RFC 8033, appendix B, deque(). Section 5.2 describes the same estimator, but its pseudocode would end each
//! measurement at the first packet.

use marqueue_core::Time;

/// DQ_THRESHOLD, bytes.
const THRESHOLD: u64 = 1 << 14;
/// Weight of a new measurement.
const WEIGHT: f64 = THRESHOLD as f64 / 65_536.0;

/// The estimator.
#[derive(Clone, Debug, Default)]
pub struct DequeueRate {
    /// The start of the present measurement and the bytes that have departed since.
    measurement: Option<(Time, u64)>,
    /// avg_dq_time_, seconds; 0 before the first measurement.
    average: f64,
}

impl DequeueRate {
    /// Forgets the average and starts a measurement.
    pub fn restart(&mut self, now: Time) {
        *self = DequeueRate { measurement: Some((now, 0)), average: 0.0 };
    }

    /// Ends the present measurement without a result.
    pub fn stop(&mut self) {
        self.measurement = None;
    }

    /// A packet of `bytes` departs and leaves a queue of `queue` bytes.
    pub fn on_departure(&mut self, now: Time, bytes: u32, queue: u64) {
        if let Some((start, count)) = &mut self.measurement {
            *count += u64::from(bytes);
            if *count >= THRESHOLD {
                let time = now.since(*start).secs();
                self.average = if self.average == 0.0 { time } else { time * WEIGHT + self.average * (1.0 - WEIGHT) };
                self.measurement = None;
            }
        }
        if self.measurement.is_none() && queue >= THRESHOLD {
            self.measurement = Some((now, 0));
        }
    }

    /// The delay of a queue of `queue` bytes, seconds; 0 before the first measurement.
    pub fn delay(&self, queue: u64) -> f64 {
        queue as f64 * self.average / THRESHOLD as f64
    }
}
