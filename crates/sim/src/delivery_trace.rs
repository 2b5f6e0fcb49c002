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
    /// The instants of one lap, which ends with the last of them.
    times: Vec<Dur>,
    /// Number of instants that are over.
    over: u64,
    /// Unused bytes of the present instant.
    left: u32,
}

impl DeliveryTrace {
    /// A trace of these instants, not decreasing, the last above zero.
    pub fn new(times: Vec<Dur>) -> DeliveryTrace {
        DeliveryTrace { times, over: 0, left: BYTES }
    }

    /// Mean rate of the link, bit/s.
    pub fn mean_rate(&self) -> f64 {
        self.times.len() as f64 * f64::from(BYTES) * 8.0 / Dur(self.lap()).secs()
    }

    fn lap(&self) -> u64 {
        self.times[self.times.len() - 1].0
    }

    /// The time of an instant; never, if it lies beyond the range of [`Time`].
    fn time(&self, number: u64) -> Time {
        let n = self.times.len() as u64;
        let lap = Time((number / n).saturating_mul(self.lap()));
        lap + self.times[(number % n) as usize]
    }

    /// The first instant from `now` on at which something may leave.
    pub fn first_from(&mut self, now: Time) -> Time {
        if self.time(self.over) < now {
            // Its lap is the one that ends then or later.
            let lap = now.0.saturating_sub(1) / self.lap();
            let since = Dur(now.0 - lap * self.lap());
            let place = self.times.partition_point(|t| *t < since) as u64;
            (self.over, self.left) = (lap * self.times.len() as u64 + place, BYTES);
        }
        self.time(self.over)
    }

    /// A packet of `bytes` begins to leave at the present instant. Returns when it has left, and when the
    /// next one may begin.
    pub fn send(&mut self, mut bytes: u32) -> (Time, Time) {
        while bytes > self.left {
            bytes -= self.left;
            self.next();
        }
        self.left -= bytes;
        let done = self.time(self.over);
        if self.left == 0 {
            self.next();
        }
        (done, self.time(self.over))
    }

    fn next(&mut self) {
        self.over += 1;
        self.left = BYTES;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: u64 = 1_000_000;

    /// Two at 2 ms, one at 5 ms, and again.
    fn trace() -> DeliveryTrace {
        DeliveryTrace::new([2, 2, 5].map(|t| Dur(t * MS)).to_vec())
    }

    #[test]
    fn instants_come_in_laps() {
        let mut t = trace();
        for (now, first) in [(0, 2), (2, 2), (3, 5), (5, 5), (6, 7), (7, 7), (8, 10), (10, 10), (1011, 1012)] {
            assert_eq!(t.first_from(Time(now * MS)), Time(first * MS), "{now}");
        }
        assert_eq!(t.mean_rate(), 3.0 * 1504.0 * 8.0 / 0.005);
    }

    #[test]
    fn an_instant_past_the_end_of_time_never_comes() {
        let mut t = DeliveryTrace::new(vec![Dur(u64::MAX / 2)]);
        assert_eq!(t.first_from(Time::ZERO), Time(u64::MAX / 2));
        assert_eq!(t.send(1504), (Time(u64::MAX / 2), Time(u64::MAX - 1)));
        assert_eq!(t.send(1504 + 1504), (Time::NEVER, Time::NEVER));
        assert_eq!(t.first_from(Time(u64::MAX - 1)), Time::NEVER);
    }

    #[test]
    fn what_does_not_fit_takes_the_next_instants() {
        let mut t = trace();
        t.first_from(Time::ZERO);
        assert_eq!(t.send(1500), (Time(2 * MS), Time(2 * MS)));
        // 4 bytes of the first instant, 1496 of the second.
        assert_eq!(t.send(1500), (Time(2 * MS), Time(2 * MS)));
        assert_eq!(t.send(1512), (Time(5 * MS), Time(7 * MS)));
        assert_eq!(t.send(1504), (Time(7 * MS), Time(7 * MS)));
        // What is not used is lost.
        assert_eq!(t.first_from(Time(7 * MS + 1)), Time(10 * MS));
        assert_eq!(t.send(1504), (Time(10 * MS), Time(12 * MS)));
    }
}
