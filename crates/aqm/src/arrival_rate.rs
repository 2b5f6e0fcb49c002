//! The arrival rate of a queue, measured over fixed intervals, for policies that compute a price from it.
//!
//! Zhang, Kang and Loguinov, SIGCOMM 2004, section 6.2: S sums the bytes that arrive during an interval,
//! dropped ones too; at its end X = S / delta and S = 0 (57).
//!
//! The first arrival after the end of an interval closes it. No timer is needed, because a price can be conveyed by an
//! arrival only. An arrival exactly at the end counts in the next interval.

use marqueue_core::{Dur, Time};

/// Sums the bytes that arrive in each interval.
#[derive(Clone, Debug)]
pub struct ArrivalRate {
    delta: Dur,
    /// When the current interval ends.
    end: Time,
    /// S: bytes that have arrived in it.
    bytes: u64,
}

/// Intervals that have ended: one with arrivals, then `idle` intervals without.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ElapsedIntervals {
    /// X in the first of them, bit/s.
    pub rate: f64,
    /// Number of later intervals without arrivals.
    pub idle: u64,
}

impl ElapsedIntervals {
    /// Number of intervals that have ended.
    pub fn count(self) -> u64 {
        self.idle + 1
    }

    /// X in the last of them, bit/s.
    pub fn last(self) -> f64 {
        if self.idle == 0 {
            self.rate
        } else {
            0.0
        }
    }
}

impl ArrivalRate {
    /// Intervals of `delta` seconds from `now` on.
    pub fn new(delta: f64, now: Time) -> ArrivalRate {
        let delta = Dur::from_secs(delta).max(Dur(1));
        ArrivalRate { delta, end: now + delta, bytes: 0 }
    }

    /// The length of an interval, s.
    pub fn delta(&self) -> f64 {
        self.delta.secs()
    }

    /// The intervals that have ended between the last arrival and `now`.
    pub fn ended(&self, now: Time) -> Option<ElapsedIntervals> {
        let late = (now >= self.end).then(|| now - self.end)?;
        Some(ElapsedIntervals { rate: self.bytes as f64 * 8.0 / self.delta(), idle: late.0 / self.delta.0 })
    }

    /// A packet arrives. Returns the intervals that ended before it.
    #[inline]
    pub fn on_arrival(&mut self, now: Time, bytes: u32) -> Option<ElapsedIntervals> {
        let ended = if now < self.end { None } else { self.ended(now) };
        if let Some(ended) = ended {
            self.end += Dur(self.delta.0.saturating_mul(ended.count()));
            self.bytes = 0;
        }
        self.bytes += u64::from(bytes);
        ended
    }
}
