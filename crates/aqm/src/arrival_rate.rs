//! The arrival rate of a queue by intervals: what routers that price their link measure.
//!
//! Zhang, Kang and Loguinov, SIGCOMM 2004, section 6.2: S sums the bytes that arrive during an interval,
//! lost ones too; at its end X = S / delta and S = 0 (57).
//!
//! An interval's end is looked at by the first arrival after it: nobody can be told anything in between,
//! and no timer is needed. An arrival at the very end counts in the next interval.

use marqueue_core::{Dur, Time};

/// Sums what arrives.
#[derive(Clone, Debug)]
pub struct ArrivalRate {
    delta: Dur,
    /// When the current interval ends.
    end: Time,
    /// S: bytes that have arrived in it.
    bytes: u64,
}

/// Intervals that have ended: one with arrivals, and others without.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Ended {
    /// X in the first of them, bit/s.
    pub rate: f64,
    /// How many followed it in which nothing arrived.
    pub idle: u64,
}

impl Ended {
    /// How many ended.
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

    /// Which intervals have ended by `now` since the last arrival.
    pub fn ended(&self, now: Time) -> Option<Ended> {
        let late = (now >= self.end).then(|| now - self.end)?;
        Some(Ended { rate: self.bytes as f64 * 8.0 / self.delta(), idle: late.0 / self.delta.0 })
    }

    /// A packet arrives. Says which intervals ended before it.
    #[inline]
    pub fn arrives(&mut self, now: Time, bytes: u32) -> Option<Ended> {
        let ended = if now < self.end { None } else { self.ended(now) };
        if let Some(ended) = ended {
            self.end += Dur(self.delta.0.saturating_mul(ended.count()));
            self.bytes = 0;
        }
        self.bytes += u64::from(bytes);
        ended
    }
}
