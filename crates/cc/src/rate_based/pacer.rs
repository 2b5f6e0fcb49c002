//! Pacing at a variable rate: the next packet is sent when the integral of the rate since the last one reaches one
//! packet. Rounding to nanoseconds is carried over, so that the number of packets never differs from the integral by
//! more than one.

use marqueue_core::{Dur, Time};

/// Computes when the next packet may be sent.
#[derive(Clone, Debug)]
pub struct Pacer {
    /// Packets a second.
    rate: f64,
    /// Time up to which the rate has been integrated.
    at: Time,
    /// The share of a packet that is missing at that time.
    missing: f64,
}

impl Pacer {
    /// The first packet may leave at `start`.
    pub fn new(rate: f64, start: Time) -> Pacer {
        Pacer { rate, at: start, missing: 0.0 }
    }

    /// The rate in force, packets a second.
    pub fn rate(&self) -> f64 {
        self.rate
    }

    /// Changes the rate at `now`; the missing share follows at the new rate.
    pub fn set_rate(&mut self, now: Time, rate: f64) {
        self.integrate(now);
        self.rate = rate;
    }

    /// When the next packet may leave: the first nanosecond at which nothing is missing.
    pub fn next(&self) -> Time {
        let wait = (self.missing / self.rate * 1e9).ceil();
        self.at + Dur(wait.max(0.0) as u64)
    }

    /// A packet leaves at `now`.
    pub fn sent(&mut self, now: Time) {
        self.integrate(now);
        self.missing += 1.0;
    }

    fn integrate(&mut self, now: Time) {
        // Not before the start.
        if now > self.at {
            self.missing -= self.rate * (now - self.at).secs();
            self.at = now;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_constant_rate_is_kept_to_the_nanosecond() {
        // A rate whose period is no whole number of nanoseconds.
        let rate = 7_777.7;
        let mut pacer = Pacer::new(rate, Time(123));
        for n in 0..1_000_000u32 {
            let at = pacer.next();
            let exact = 123.0 + f64::from(n) / rate * 1e9;
            let late = at.0 as f64 - exact;
            assert!((-0.1..1.1).contains(&late), "packet {n} is {late} ns late");
            pacer.sent(at);
        }
    }

    #[test]
    fn a_change_of_rate_counts_from_when_it_is_made() {
        let mut pacer = Pacer::new(10.0, Time::ZERO);
        pacer.sent(Time::ZERO);
        assert_eq!(pacer.next(), Time(100_000_000));
        // After half of the distance half a packet is missing, which takes 10 ms at 50 a second.
        pacer.set_rate(Time(50_000_000), 50.0);
        assert_eq!(pacer.next(), Time(60_000_000));
        pacer.set_rate(Time(55_000_000), 1.0);
        assert_eq!(pacer.next(), Time(305_000_000));
    }
}
