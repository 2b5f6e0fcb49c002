//! The queueing delay of a flow, from its round-trip times or one-way delays: what laws for background traffic and for media
//! answer to (RFC 6817, 2.4.2).
//!
//! Base delays are the least of each of the latest minutes, the current delay is the least of a few latest samples, and the
//! queueing delay is their difference.

use marqueue_core::{Dur, Time};
use std::collections::VecDeque;

/// Nanoseconds of a minute.
const MINUTE: u64 = 60_000_000_000;

/// How much is remembered.
#[derive(Clone, Copy, Debug)]
pub struct Memory {
    /// Minutes of base delays.
    pub minutes: u32,
    /// Samples of the current delay.
    pub samples: u32,
}

/// The delays of a flow.
#[derive(Clone, Debug, Default)]
pub struct QueueingDelay {
    /// current_delays, the latest last.
    current: VecDeque<Dur>,
    /// base_delays: minute and minimum, the latest last. A minute without a sample is absent.
    base: VecDeque<(u64, Dur)>,
}

impl QueueingDelay {
    /// update_base_delay() and update_current_delay().
    pub fn note(&mut self, memory: Memory, now: Time, delay: Dur) {
        let minute = now.0 / MINUTE;
        match self.base.back_mut() {
            Some((latest, least)) if *latest == minute => *least = (*least).min(delay),
            _ => self.base.push_back((minute, delay)),
        }
        self.base.retain(|&(then, _)| minute - then < u64::from(memory.minutes));
        self.current.push_back(delay);
        if self.current.len() > memory.samples as usize {
            self.current.pop_front();
        }
    }

    /// The delay without queues, as far as it has been seen; `None` while nothing is measured.
    pub fn base(&self) -> Option<Dur> {
        self.base.iter().map(|&(_, delay)| delay).min()
    }

    /// The queueing delay; zero while nothing is measured.
    pub fn queueing(&self) -> Dur {
        let current = self.current.iter().min();
        current.zip(self.base()).map_or(Dur::ZERO, |(&current, base)| Dur(current.0.saturating_sub(base.0)))
    }
}
