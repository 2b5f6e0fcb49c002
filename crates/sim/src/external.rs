//! What is outside the simulator: external endpoints, and queues.
//!
//! External endpoints are the senders and receivers of TCP or QUIC flows whose packets the simulator carries.
//!
//! The caller owns the frames. It injects a packet for each, and learns what became of it by the number of its frame:
//! a packet is delivered at either end, or lost. [`crate::run::Run::advance_to_fate`] stops at each such event, so that
//! the caller can advance the endpoints to the same time.
//!
//! The size of a packet is the length of its IP packet, as that of a model's packet is: payload and the headers of TCP
//! and IP, without those of the link layer.
//!
//! A queue outside (`QueuePlan::router`) holds the packets of a link until it drops them or makes them ready to be sent.
//! The transmitter of the link sends them in this order. The caller learns which packets have arrived and which
//! transmissions have ended ([`QueueNews`]).

use crate::plan::WritePlan;
use marqueue_core::{Ecn, Flags, Packet, Time};

/// A flow whose ends are outside.
#[derive(Clone, Copy, Debug)]
pub struct ExternalFlow {
    /// Its number in the simulator.
    pub slot: u32,
    /// Its row in the flow table.
    pub row: u32,
    /// Index into the plan's traffic.
    pub group: u32,
    /// Index into the plan's transports; 0 for QUIC, which has none.
    pub transport: u32,
    /// When it starts.
    pub start: Time,
    /// When it stops sending new data.
    pub stop: Option<Time>,
    /// What it has to send, segments of TCP or bytes of QUIC; unlimited if absent.
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

/// What has happened at a queue outside.
#[derive(Clone, Copy, Debug)]
pub enum QueueNews {
    /// A packet has arrived at the queue.
    Entered {
        /// Index of the link.
        link: u32,
        /// The number by which the queue calls the packet. No other packet in this queue has it.
        number: u32,
        /// The packet.
        packet: Packet,
    },
    /// The transmission of a packet has ended.
    Sent {
        /// Index of the link.
        link: u32,
    },
}

/// How far [`crate::run::Run::advance_to_fate`] came.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reached {
    /// The fate of at least one packet is known, or something has happened at a queue outside.
    Fate,
    /// No fate is decided up to the given time.
    Time,
    /// The given number of events is spent.
    Spent,
    /// The run has ended.
    End,
}
