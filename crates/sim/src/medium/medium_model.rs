//! The interface of models of medium access.

use marqueue_core::params::{ParamError, ParamSet};
use marqueue_core::{Bytes, Packet, Rate, Rng, Time};
use std::collections::VecDeque;

/// The queue of a sender, at an opportunity to send.
pub trait Backlog {
    /// Takes the next packet; `None` if the queue is empty or its shaper holds all packets.
    fn take(&mut self) -> Option<Packet>;
    /// Number of bytes in the queue.
    fn bytes(&self) -> u64;
    /// Number of packets in the queue.
    fn packets(&self) -> u64;
}

/// A model of medium access. It decides when packets leave the queue, and when each has crossed the medium. It loses
/// none and keeps their order.
pub trait MediumModel: Sized {
    /// Its name in scenarios.
    const NAME: &'static str;
    /// One line on what it does.
    const SUMMARY: &'static str;
    /// Its source.
    const SOURCE: &'static str;
    /// Its parameters.
    type Params: ParamSet;

    /// The model at the start of a run, at a link of `rate`. It draws from `rng` only.
    ///
    /// # Errors
    /// Names a missing or inconsistent parameter.
    fn new(params: &Self::Params, rate: Rate, rng: Rng) -> Result<Self, ParamError>;

    /// A sender without packets has one from `now` on. Returns its first opportunity, at `now` or later.
    fn first_from(&mut self, now: Time) -> Time;

    /// An opportunity at `now`. Takes packets from `queue`, and appends to `left` those that cross the medium, in order
    /// and with the time when they have, at `now` or later. Returns the next opportunity. If there is nothing to send,
    /// the state of the model stays as it is.
    fn send(&mut self, now: Time, queue: &mut impl Backlog, left: &mut VecDeque<(Packet, Time)>) -> Time;

    /// Number of packets that were taken and have not been appended to `left`.
    fn held(&self) -> usize;

    /// Mean rate at which packets of one size cross the medium if the queue is never empty, bit/s.
    fn capacity(&self, packet: Bytes) -> f64;
}
