//! A link without a managed queue: an unlimited first-in, first-out buffer and a transmitter. The arrival time at the
//! far end is known when a packet enters.

use marqueue_core::units::Transmitter;
use marqueue_core::{Dur, Rate, Time};

/// State of a wire.
#[derive(Clone, Debug)]
pub struct Wire {
    transmitter: Transmitter,
    delay: Dur,
    /// When the transmission of the last packet ends.
    free: Time,
}

impl Wire {
    /// An idle wire.
    pub fn new(rate: Rate, delay: Dur) -> Wire {
        Wire { transmitter: Transmitter::new(rate), delay, free: Time::ZERO }
    }

    /// A packet of `bytes` enters at `now`; calls must be in order of time. Returns its arrival time at the far end.
    #[inline]
    pub fn transit(&mut self, now: Time, bytes: u32) -> Time {
        if self.free < now {
            self.transmitter.restart();
            self.free = now;
        }
        self.free += self.transmitter.transmit(bytes);
        self.free + self.delay
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn packets_follow_each_other_at_the_rate() {
        let mut w = Wire::new(Rate(10_000_000), Dur(5_000_000));
        assert_eq!(w.transit(Time(0), 1000), Time(800_000 + 5_000_000));
        assert_eq!(w.transit(Time(100), 1000), Time(1_600_000 + 5_000_000));
        assert_eq!(w.transit(Time(9_000_000), 40), Time(9_032_000 + 5_000_000));
    }
}
