//! A queue, its transmitter and a propagation delay: an emulated link for tests of transport protocols.

use super::clock::Clock;
use super::held::{Departure, Dropped, Header, Held};
use super::rate::check_rate;
use crate::accounting::Counters;
use crate::qdisc::{EnqueueOutcome, Qdisc};
use alloc::collections::VecDeque;
use alloc::vec::Vec;
use marqueue_core::params::ParamError;
use marqueue_core::units::Transmitter;
use marqueue_core::{Dur, Rate, Time};

/// A packet at the far end of a [`Bottleneck`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Delivery<T> {
    /// When it arrived there, exactly, however late it is asked for.
    pub at: Time,
    /// The packet, and how long it waited in the queue.
    pub packet: Departure<T>,
}

/// A link with a queue under an AQM. Packets go in by [`Bottleneck::send`] and come out by [`Bottleneck::receive`].
///
/// It is driven by calls alone, and knows no clock: [`Bottleneck::next_event`] says when to call next. Times are as for
/// [`PacketQueue`](super::PacketQueue). Everything between two calls is made up for at its own time, to the nanosecond.
#[derive(Debug)]
pub struct Bottleneck<T> {
    held: Held<T>,
    clock: Clock,
    transmitter: Transmitter,
    delay: Dur,
    /// When the transmitter becomes or became free.
    free: Time,
    /// True once the transmitter has found no packet to send.
    idle: bool,
    /// Packets in transmission and propagation, with their times of arrival.
    in_flight: VecDeque<(Time, Departure<T>)>,
}

impl<T> Bottleneck<T> {
    pub(super) fn new(held: Held<T>, rate: Rate, delay: Dur) -> Bottleneck<T> {
        let (free, in_flight) = (Time::ZERO, VecDeque::new());
        Bottleneck {
            held,
            clock: Clock::default(),
            transmitter: Transmitter::new(rate),
            delay,
            free,
            idle: true,
            in_flight,
        }
    }

    /// A packet arrives at the near end at `now`.
    ///
    /// # Panics
    /// If the packet has no bytes, or more than [`Header::MAX_BYTES`].
    pub fn send(&mut self, now: Time, header: Header, payload: T) -> EnqueueOutcome {
        let now = self.clock.read(now);
        // An arrival comes before a departure or a timer at the same instant, as in the simulator.
        if now > Time::ZERO {
            self.advance(Time(now.0 - 1));
        }
        let outcome = self.held.enqueue(now, header, payload);
        if self.idle && self.held.discipline.len() > 0 {
            self.free = self.free.max(now);
            self.serve(now);
        }
        outcome
    }

    /// Takes the next packet that has arrived at the far end by `now`.
    pub fn receive(&mut self, now: Time) -> Option<Delivery<T>> {
        let now = self.clock.read(now);
        self.advance(now);
        if self.in_flight.front()?.0 > now {
            return None;
        }
        let (at, packet) = self.in_flight.pop_front()?;
        Some(Delivery { at: self.clock.given(at)?, packet })
    }

    /// When to call [`Bottleneck::receive`] next; `None` while the link is empty.
    pub fn next_event(&self) -> Option<Time> {
        let arrival = self.in_flight.front().map(|(at, _)| *at);
        let waits = (self.held.discipline.len() > 0).then_some(self.free);
        self.clock.given(arrival.or(waits)?)
    }

    /// The rate changes at `now`. The packet in transmission keeps the rate that it started with.
    ///
    /// # Errors
    /// If it is zero, or above 10^15 bit/s.
    pub fn set_rate(&mut self, now: Time, rate: Rate) -> Result<(), ParamError> {
        check_rate(rate)?;
        let now = self.clock.read(now);
        self.advance(now);
        self.transmitter.set_rate(rate);
        self.held.discipline.env_mut().rate = rate;
        Ok(())
    }

    /// Takes the packets dropped since the last call, if [`Config::keep_dropped`](super::Config::keep_dropped) asked for them.
    pub fn take_dropped(&mut self) -> Vec<Dropped<T>> {
        self.held.take_dropped()
    }

    /// Number of packets in the queue, without those in transmission and propagation.
    pub fn queue_len(&self) -> u32 {
        self.held.discipline.len()
    }

    /// Number of bytes in the queue, counted the same way.
    pub fn queue_bytes(&self) -> u64 {
        self.held.discipline.bytes()
    }

    /// Counts of the queue since the start, drops and marks by reason.
    pub fn counters(&self) -> &Counters {
        self.held.discipline.counters()
    }

    /// The algorithm's internal variables, as they were at the last call: name, unit, value.
    pub fn variables(&self) -> Vec<(&'static str, &'static str, f64)> {
        self.held.variables(self.clock.last())
    }

    /// Runs everything that is due by `until`. At equal times a timer comes before a departure.
    fn advance(&mut self, until: Time) {
        loop {
            let timer = self.held.discipline.next_timer();
            let rests = self.idle && self.held.discipline.is_empty();
            let departure = if rests { Time::NEVER } else { self.free };
            if timer.min(departure) > until {
                return;
            }
            if timer <= departure {
                self.held.on_timer(timer);
            } else {
                self.serve(departure);
            }
        }
    }

    /// The transmitter takes the next packet.
    fn serve(&mut self, now: Time) {
        match self.held.dequeue(now) {
            Some(packet) => {
                self.idle = false;
                self.free = now + self.transmitter.transmit(packet.header.bytes);
                self.in_flight.push_back((self.free + self.delay, packet));
            }
            None => {
                self.idle = true;
                self.transmitter.restart();
                if self.held.discipline.len() > 0 {
                    // A shaper holds them until its timer.
                    self.free = self.held.discipline.next_timer();
                }
            }
        }
    }
}
