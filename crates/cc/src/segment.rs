//! What a sender exchanges with its receiver: the segments that it sends and the acknowledgements that it gets.

use marqueue_core::Flags;

/// A segment that the sender wants on the wire.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Segment {
    /// Its number; 0 is the SYN.
    pub seq: u32,
    /// SYN, ECE, CWR, RETRANSMIT.
    pub flags: Flags,
    /// Sent as ECN-capable.
    pub ect: bool,
}

/// An acknowledgement as it arrives.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Ack<'a> {
    /// The next segment that the receiver expects.
    pub ack: u32,
    /// ECN echo.
    pub ece: bool,
    /// SACK blocks; an empty one says nothing.
    pub sack: &'a [(u32, u32)],
    /// The timestamp that it returns (TSecr), if the connection has timestamps.
    pub echo: Option<u32>,
}
