//! A queue whose server is the program.

use super::clock::Clock;
use super::held::{Departure, Dropped, Header, Held};
use super::rate::check_rate;
use crate::accounting::Counters;
use crate::qdisc::{EnqueueOutcome, Qdisc};
use alloc::vec::Vec;
use marqueue_core::params::ParamError;
use marqueue_core::{Rate, Time};

/// A queue under an AQM that holds packets `T`. The program calls [`PacketQueue::dequeue`] when it can send a packet.
///
/// Times are nanoseconds of any clock that does not go backwards: an earlier time counts as the last one, and a silence of
/// more than an hour as an hour. The algorithm's own timers need no call: those that were due are run, at their times, by the
/// next one.
#[derive(Debug)]
pub struct PacketQueue<T> {
    held: Held<T>,
    clock: Clock,
    /// When a shaper that held all packets at the last `dequeue` releases one.
    release: Time,
}

impl<T> PacketQueue<T> {
    pub(super) fn new(held: Held<T>) -> PacketQueue<T> {
        PacketQueue { held, clock: Clock::default(), release: Time::NEVER }
    }

    /// A packet arrives at `now`. [`EnqueueOutcome::Dropped`] is about this packet; a queue may also drop others to make room.
    ///
    /// # Panics
    /// If the packet has no bytes, or more than [`Header::MAX_BYTES`].
    pub fn enqueue(&mut self, now: Time, header: Header, payload: T) -> EnqueueOutcome {
        let now = self.clock.read(now);
        // An arrival comes before a timer at the same instant, as in the simulator.
        if now > Time::ZERO {
            self.run_timers(Time(now.0 - 1));
        }
        self.held.enqueue(now, header, payload)
    }

    /// Takes the packet to send at `now`. `None` if there is none, or if a shaper holds all until [`PacketQueue::next_event`].
    pub fn dequeue(&mut self, now: Time) -> Option<Departure<T>> {
        let now = self.clock.read(now);
        self.run_timers(now);
        let departure = self.held.dequeue(now);
        let holds = departure.is_none() && !self.is_empty();
        self.release = if holds { self.held.discipline.next_timer() } else { Time::NEVER };
        departure
    }

    /// When to call [`PacketQueue::dequeue`] again, if it has just returned `None` and packets wait. Otherwise `None`: call it
    /// when a packet can be sent and the queue is not empty.
    pub fn next_event(&self) -> Option<Time> {
        self.clock.given(self.release)
    }

    /// The rate at which the program sends has changed; some algorithms use it.
    ///
    /// # Errors
    /// If it is zero, or above 10^15 bit/s.
    pub fn set_rate(&mut self, now: Time, rate: Rate) -> Result<(), ParamError> {
        check_rate(rate)?;
        let now = self.clock.read(now);
        self.run_timers(now);
        self.held.discipline.env_mut().rate = rate;
        Ok(())
    }

    /// Takes the packets dropped since the last call, if [`Config::keep_dropped`](super::Config::keep_dropped) asked for them.
    pub fn take_dropped(&mut self) -> Vec<Dropped<T>> {
        self.held.take_dropped()
    }

    /// Number of packets in the queue.
    pub fn len(&self) -> u32 {
        self.held.discipline.len()
    }

    /// Is the queue empty?
    pub fn is_empty(&self) -> bool {
        self.held.discipline.is_empty()
    }

    /// Number of bytes in the queue.
    pub fn bytes(&self) -> u64 {
        self.held.discipline.bytes()
    }

    /// Counts since the start, drops and marks by reason.
    pub fn counters(&self) -> &Counters {
        self.held.discipline.counters()
    }

    /// The algorithm's internal variables, as they were at the last call: name, unit, value.
    pub fn variables(&self) -> Vec<(&'static str, &'static str, f64)> {
        self.held.variables(self.clock.last())
    }

    fn run_timers(&mut self, until: Time) {
        while self.held.discipline.next_timer() <= until {
            self.held.on_timer(self.held.discipline.next_timer());
        }
    }
}
