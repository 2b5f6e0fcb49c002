//! A link that can send only at given instants (delivery opportunities): a trace of a cellular link in the format of
//! mahimahi (Netravali et al., "Mahimahi: accurate record-and-replay for HTTP", USENIX ATC 2015, section 4; its
//! `link_queue.cc`).
//!
//! At each instant 1504 bytes may leave. Unused bytes expire. A packet that does not fit continues at the next instants
//! and leaves with its last byte. At its end the trace starts again.

use marqueue_core::{Dur, Time};

/// Bytes that may leave at one instant.
pub const BYTES: u32 = 1504;

/// State of a delivery trace.
#[derive(Clone, Debug)]
pub struct DeliveryTrace {
    /// The instants of one lap. The lap ends with the last one.
    times: Vec<Dur>,
    /// Number of instants that have passed.
    passed: u64,
    /// Unused bytes of the current instant.
    left: u32,
}

impl DeliveryTrace {
    /// A trace of these instants, which are nondecreasing, the last above zero.
    pub fn new(times: Vec<Dur>) -> DeliveryTrace {
        DeliveryTrace { times, passed: 0, left: BYTES }
    }

    /// Mean rate of the link, bit/s.
    pub fn mean_rate(&self) -> f64 {
        self.times.len() as f64 * f64::from(BYTES) * 8.0 / Dur(self.lap()).secs()
    }

    fn lap(&self) -> u64 {
        self.times[self.times.len() - 1].0
    }

    /// The time of an instant; `Time::NEVER` if it is beyond the range of [`Time`].
    fn time(&self, number: u64) -> Time {
        let n = self.times.len() as u64;
        let lap = Time((number / n).saturating_mul(self.lap()));
        lap + self.times[(number % n) as usize]
    }

    /// The first instant from `now` on at which bytes may leave.
    pub fn first_from(&mut self, now: Time) -> Time {
        if self.time(self.passed) < now {
            // An instant at the end of a lap belongs to that lap.
            let lap = now.0.saturating_sub(1) / self.lap();
            let since = Dur(now.0 - lap * self.lap());
            let index = self.times.partition_point(|t| *t < since) as u64;
            (self.passed, self.left) = (lap * self.times.len() as u64 + index, BYTES);
        }
        self.time(self.passed)
    }

    /// A packet of `bytes` begins to leave at the current instant. Returns the time when it has left, and the time when
    /// the next one may begin.
    pub fn send(&mut self, mut bytes: u32) -> (Time, Time) {
        while bytes > self.left {
            bytes -= self.left;
            self.next();
        }
        self.left -= bytes;
        let done = self.time(self.passed);
        if self.left == 0 {
            self.next();
        }
        (done, self.time(self.passed))
    }

    fn next(&mut self) {
        self.passed += 1;
        self.left = BYTES;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: u64 = 1_000_000;

    /// A lap of 5 ms: two instants at 2 ms, one at 5 ms.
    fn trace() -> DeliveryTrace {
        DeliveryTrace::new([2, 2, 5].map(|t| Dur(t * MS)).to_vec())
    }

    #[test]
    fn instants_repeat_in_laps() {
        let mut t = trace();
        for (now, first) in [(0, 2), (2, 2), (3, 5), (5, 5), (6, 7), (7, 7), (8, 10), (10, 10), (1011, 1012)] {
            assert_eq!(t.first_from(Time(now * MS)), Time(first * MS), "{now}");
        }
        assert_eq!(t.mean_rate(), 3.0 * 1504.0 * 8.0 / 0.005);
    }

    #[test]
    fn instants_beyond_the_range_of_time_are_never() {
        let mut t = DeliveryTrace::new(vec![Dur(u64::MAX / 2)]);
        assert_eq!(t.first_from(Time::ZERO), Time(u64::MAX / 2));
        assert_eq!(t.send(1504), (Time(u64::MAX / 2), Time(u64::MAX - 1)));
        assert_eq!(t.send(1504 + 1504), (Time::NEVER, Time::NEVER));
        assert_eq!(t.first_from(Time(u64::MAX - 1)), Time::NEVER);
    }

    #[test]
    fn packets_that_do_not_fit_continue_at_the_next_instants() {
        let mut t = trace();
        t.first_from(Time::ZERO);
        assert_eq!(t.send(1500), (Time(2 * MS), Time(2 * MS)));
        // 4 bytes of the first instant, 1496 of the second.
        assert_eq!(t.send(1500), (Time(2 * MS), Time(2 * MS)));
        assert_eq!(t.send(1512), (Time(5 * MS), Time(7 * MS)));
        assert_eq!(t.send(1504), (Time(7 * MS), Time(7 * MS)));
        // Unused bytes expire.
        assert_eq!(t.first_from(Time(7 * MS + 1)), Time(10 * MS));
        assert_eq!(t.send(1504), (Time(10 * MS), Time(12 * MS)));
    }
}
