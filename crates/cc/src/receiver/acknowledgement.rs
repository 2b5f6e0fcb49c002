//! What a receiver sends: an acknowledgement and its options.

use crate::segment::ByteCounters;
use marqueue_core::Flags;

/// Most SACK blocks in one acknowledgement (RFC 2018: three beside a timestamp).
pub(super) const MAX_BLOCKS: usize = 3;

/// The SACK blocks of one acknowledgement, most recently changed first. Unused ones are empty: (0, 0).
pub type SackBlocks = [(u32, u32); MAX_BLOCKS];

/// The options of one acknowledgement.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Options {
    /// Segments that arrived out of order, or twice.
    pub sack: SackBlocks,
    /// The echoed timestamp (TSecr), if the connection has timestamps.
    pub echo: Option<u32>,
    /// The receiver's own timestamp (TSval), if the connection has timestamps.
    pub stamp: u32,
    /// The counters of the AccECN option.
    pub counters: Option<ByteCounters>,
}

impl Options {
    /// No option.
    pub const NONE: Options = Options { sack: [(0, 0); MAX_BLOCKS], echo: None, stamp: 0, counters: None };

    /// The SACK blocks: none, or those of all places, of which the first ones are taken.
    #[inline(always)]
    pub fn blocks(&self) -> &[(u32, u32)] {
        let is_taken = self.sack[0].1 > 0;
        &self.sack[..if is_taken { MAX_BLOCKS } else { 0 }]
    }
}

/// An acknowledgement to send.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OutgoingAck {
    /// The next segment expected.
    pub ack: u32,
    /// ECE, or the flags of the ACE field.
    pub echo: Flags,
    /// True if it is sent as ECN-capable.
    pub ect: bool,
    /// True if it has options; they are in [`ReceiveContext::options`](super::ReceiveContext::options).
    pub has_options: bool,
    /// Size on the wire.
    pub bytes: u32,
}

impl OutgoingAck {
    /// Has it the ECN echo?
    pub fn ece(&self) -> bool {
        self.echo.has(Flags::ECE)
    }
}
