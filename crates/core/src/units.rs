//! Units as types. Time is an integer number of nanoseconds since the start of the run, so that sums are exact.

use core::ops::{Add, AddAssign, Sub};
use serde::{Deserialize, Serialize};

/// Nanoseconds in a second.
const NS: f64 = 1e9;

/// An instant: nanoseconds since the start of the run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Time(pub u64);

/// A duration in nanoseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Dur(pub u64);

/// A count of bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Bytes(pub u64);

/// A rate in bits per second; never zero.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Rate(pub u64);

/// Clock of a CPU core in cycles per second; never zero.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Hz(pub u64);

/// Millionths of a CPU cycle, so that a density such as 0.25 cycles a bit is a whole number.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub struct MicroCycles(pub u64);

impl Time {
    /// The start of the run.
    pub const ZERO: Time = Time(0);
    /// Later than any event.
    pub const NEVER: Time = Time(u64::MAX);

    /// Seconds since the start of the run.
    #[inline]
    pub fn secs(self) -> f64 {
        Dur(self.0).secs()
    }

    /// The duration since `earlier`; zero if `earlier` is not earlier.
    pub fn since(self, earlier: Time) -> Dur {
        Dur(self.0.saturating_sub(earlier.0))
    }
}

impl Dur {
    /// Zero.
    pub const ZERO: Dur = Dur(0);

    /// From seconds, rounded to the nearest nanosecond; negative values give zero.
    pub fn from_secs(s: f64) -> Dur {
        // Not `round()`: on the baseline target that is a call into libm.
        Dur(((s * NS + 0.5) as i64).max(0) as u64)
    }

    /// In seconds.
    #[inline]
    pub fn secs(self) -> f64 {
        // Signed, because that is one instruction on every processor; 2^63 ns are 292 years.
        self.0 as i64 as f64 / NS
    }
}

impl Rate {
    /// In bytes per second.
    pub fn bytes_per_sec(self) -> f64 {
        self.0 as f64 / 8.0
    }

    /// Packets of `size` per second.
    pub fn packets_per_sec(self, size: Bytes) -> f64 {
        self.bytes_per_sec() / size.0 as f64
    }
}

impl Add<Dur> for Time {
    type Output = Time;
    fn add(self, d: Dur) -> Time {
        Time(self.0.saturating_add(d.0))
    }
}

impl AddAssign<Dur> for Time {
    fn add_assign(&mut self, d: Dur) {
        *self = *self + d;
    }
}

impl Sub<Time> for Time {
    type Output = Dur;
    /// # Panics
    /// In debug builds, if `earlier` is later than `self`.
    fn sub(self, earlier: Time) -> Dur {
        debug_assert!(self >= earlier, "time runs backwards: {self:?} - {earlier:?}");
        Dur(self.0.wrapping_sub(earlier.0))
    }
}

impl Add for Dur {
    type Output = Dur;
    fn add(self, d: Dur) -> Dur {
        Dur(self.0.saturating_add(d.0))
    }
}

/// Computes transmission times at a given rate. The sub-nanosecond remainder of each is carried to the next, so that a
/// busy period has exactly the length that the rate gives.
#[derive(Clone, Debug)]
pub struct Transmitter {
    rate: Rate,
    /// Remainder carried so far, in units of 1/rate nanoseconds.
    carried: u64,
    /// Size, quotient and remainder of the two sizes seen last: most traffic has two.
    sizes: [(u32, u64, u64); 2],
}

impl Transmitter {
    /// A transmitter at `rate`.
    pub fn new(rate: Rate) -> Self {
        Self { rate, carried: 0, sizes: [(0, 0, 0); 2] }
    }

    /// The present rate.
    pub fn rate(&self) -> Rate {
        self.rate
    }

    /// Changes the rate. The carried remainder belongs to the old rate and is discarded.
    pub fn set_rate(&mut self, rate: Rate) {
        *self = Self::new(rate);
    }

    /// Discards the carried remainder: a new busy period starts.
    pub fn restart(&mut self) {
        self.carried = 0;
    }

    /// The transmission time of `bytes`.
    #[inline]
    pub fn transmit(&mut self, bytes: u32) -> Dur {
        let (_, quotient, remainder) = if self.sizes[0].0 == bytes {
            self.sizes[0]
        } else if self.sizes[1].0 == bytes {
            self.sizes[1]
        } else {
            let scaled = u64::from(bytes) * 8 * 1_000_000_000;
            self.sizes = [(bytes, scaled / self.rate.0, scaled % self.rate.0), self.sizes[0]];
            self.sizes[0]
        };
        self.carried += remainder;
        if self.carried >= self.rate.0 {
            self.carried -= self.rate.0;
            return Dur(quotient + 1);
        }
        Dur(quotient)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_busy_period_has_the_length_given_by_the_rate() {
        // 3 Mbit/s: one 1000-byte packet takes 2 666 666.67 ns; 3000 of them take 8 s exactly.
        let mut tx = Transmitter::new(Rate(3_000_000));
        let total: u64 = (0..3000).map(|_| tx.transmit(1000).0).sum();
        assert_eq!(total, 8_000_000_000);
    }

    #[test]
    fn seconds_round_to_the_nearest_nanosecond() {
        assert_eq!(Dur::from_secs(0.1 + 0.2), Dur(300_000_000));
        assert_eq!(Dur::from_secs(-1.0), Dur::ZERO);
    }
}
