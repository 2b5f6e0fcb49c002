//! One connection with both its ends, whichever library plays them.

use crate::clock::Clock;
use marqueue_cc::SenderInfo;
use marqueue_core::{Ecn, Time};
use std::fmt::Debug;

/// One of the two ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    /// It receives the data.
    Client,
    /// It sends the data.
    Server,
}

/// A datagram of UDP.
#[derive(Debug)]
pub struct Datagram {
    /// The end that sends it.
    pub from: End,
    /// Its payload.
    pub payload: Vec<u8>,
    /// ECN field.
    pub ecn: Ecn,
}

/// What has happened at the ends in a call.
#[derive(Debug, Default)]
pub struct Progress {
    /// Datagrams that they send, in their order.
    pub sent: Vec<Datagram>,
    /// Bytes that the client has read, in order.
    pub delivered: u64,
    /// Whether all data has been acknowledged.
    pub completed: bool,
}

/// The two ends of one connection: the server sends the data, the client asks for it.
pub trait Connection: Debug {
    /// A datagram arrives at the end that did not send it.
    fn receive(&mut self, datagram: Datagram, clock: Clock, now: Time, progress: &mut Progress);

    /// Timers that are due fire, and the ends send what they may.
    fn wake(&mut self, clock: Clock, now: Time, progress: &mut Progress);

    /// The server writes no more.
    fn stop(&mut self);

    /// When a timer is due.
    fn deadline(&mut self, clock: Clock) -> Time;

    /// The state of the sender of data; `None` before there is one.
    fn sender(&self) -> Option<SenderInfo>;

    /// Packets that the sender of data has declared lost.
    fn lost(&mut self) -> u64;

    /// Windows that it has cut because of marks.
    fn ecn_cuts(&self) -> u32;
}
