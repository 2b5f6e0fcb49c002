//! The messages of a sender: the segments that it sends and the acknowledgements that it receives.

use marqueue_core::Flags;

/// A segment to send.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Segment {
    /// Its number; 0 is the SYN.
    pub seq: u32,
    /// SYN, ECE, CWR, RETRANSMIT.
    pub flags: Flags,
    /// True if it is sent as ECN-capable.
    pub ect: bool,
}

/// An acknowledgement as it arrives.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Ack<'a> {
    /// The next segment that the receiver expects.
    pub ack: u32,
    /// ECN echo.
    pub ece: bool,
    /// SACK blocks; empty ones are ignored.
    pub sack: &'a [(u32, u32)],
    /// The echoed timestamp (TSecr), if the connection has timestamps.
    pub echo: Option<u32>,
}
