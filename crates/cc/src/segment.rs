//! The messages of a sender: the segments that it sends and the acknowledgements that it receives.

use marqueue_core::Flags;

/// A segment to send.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Segment {
    /// Its number; 0 is the SYN.
    pub seq: u32,
    /// SYN, AE, ECE, CWR, PSH, RETRANSMIT.
    pub flags: Flags,
    /// True if it is sent as ECN-capable.
    pub ect: bool,
}

/// The byte counters of the option, modulo 2^24.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ByteCounters {
    /// Bytes with ECT(0): EE0B.
    pub ect0: u32,
    /// Bytes with CE: ECEB.
    pub ce: u32,
    /// Bytes with ECT(1): EE1B.
    pub ect1: u32,
}

/// An acknowledgement as it arrives.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ack<'a> {
    /// The next segment that the receiver expects.
    pub ack: u32,
    /// ECN echo.
    pub ece: bool,
    /// Its flags: AE, CWR and ECE are the ACE field, if the connection has AccECN or its SYN asked for it (RFC 9768,
    /// section 3.2.2).
    pub flags: Flags,
    /// The byte counters of the AccECN option, if there is one.
    pub counters: &'a Option<ByteCounters>,
    /// SACK blocks; empty ones are ignored.
    pub sack: &'a [(u32, u32)],
    /// The echoed timestamp (TSecr), if the connection has timestamps.
    pub echo: Option<u32>,
    /// The receiver's own timestamp (TSval), if the connection has timestamps.
    pub stamp: u32,
}

impl Default for Ack<'_> {
    fn default() -> Self {
        Ack { ack: 0, ece: false, flags: Flags::NONE, counters: &None, sack: &[], echo: None, stamp: 0 }
    }
}
