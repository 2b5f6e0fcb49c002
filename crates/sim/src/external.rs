//! External endpoints: TCP flows whose sender and receiver are outside the simulator, which carries their packets.
//!
//! The caller owns the frames. It injects a packet for each, and learns what became of it by the number of its frame:
//! a packet is delivered at either end, or lost. [`crate::run::Run::advance_to_fate`] stops at each such event, so that
//! the caller can advance the endpoints to the same time.
//!
//! The size of a packet is the length of its IP packet, as that of a model's packet is: payload and the headers of TCP
//! and IP, without those of the link layer.

use crate::plan::WritePlan;
use marqueue_core::{Ecn, Flags, Time};

/// A flow whose ends are outside.
#[derive(Clone, Copy, Debug)]
pub struct ExternalFlow {
    /// Its number in the simulator.
    pub slot: u32,
    /// Its row in the flow table.
    pub row: u32,
    /// Index into the plan's traffic.
    pub group: u32,
    /// Index into the plan's transports.
    pub transport: u32,
    /// When it starts.
    pub start: Time,
    /// When it stops sending new data.
    pub stop: Option<Time>,
    /// Segments that it has to send; unlimited if absent.
    pub size: Option<u32>,
    /// How its application writes.
    pub write: Option<WritePlan>,
    /// Whether its sender is traced.
    pub trace: bool,
    /// Whether its window is sampled.
    pub sample_cwnd: bool,
}

/// The direction of a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Direction {
    /// From the sender of data to its receiver.
    Data,
    /// Back to the sender.
    Acknowledgement,
}

/// A packet that an external endpoint sends.
#[derive(Clone, Copy, Debug)]
pub struct ExternalPacket {
    /// The number of its flow.
    pub flow: u32,
    /// Its direction.
    pub direction: Direction,
    /// Length of the IP packet.
    pub bytes: u32,
    /// ECN field.
    pub ecn: Ecn,
    /// TCP's flags, as far as the simulator knows them.
    pub flags: Flags,
    /// Sequence number or acknowledgement in packets, as [`marqueue_core::Packet::seq`].
    pub seq: u32,
}

/// What became of a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fate {
    /// It has arrived at the receiver of data.
    AtReceiver,
    /// It has arrived at the sender of data.
    AtSender,
    /// It has been dropped.
    Lost,
}

/// What became of one packet of an external endpoint.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PacketFate {
    /// When.
    pub at: Time,
    /// The number of its flow.
    pub flow: u32,
    /// The number that the injection returned. It is given to no other packet before this is taken.
    pub frame: u32,
    /// Has it a CE mark?
    pub marked: bool,
    /// What happened.
    pub fate: Fate,
}

/// How far [`crate::run::Run::advance_to_fate`] came.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reached {
    /// The fate of at least one packet is known.
    Fate,
    /// No fate is decided up to the given time.
    Time,
    /// The given number of events is spent.
    Spent,
    /// The run has ended.
    End,
}
