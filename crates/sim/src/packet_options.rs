//! The part of a packet that does not fit into [`marqueue_core::Packet`]: options of acknowledgements, reports, and
//! headers for routers. It is stored in a pool of the engine; the packet holds its slot.

use marqueue_cc::rate_based::Report;
use marqueue_cc::Options;
use marqueue_core::Signals;

/// The contents of a slot.
#[derive(Clone, Copy, Debug)]
pub enum PacketOptions {
    /// TCP's options.
    Tcp(Options),
    /// The report of the receiver of a rate-based flow.
    Report(Report),
    /// The header for routers of a data packet.
    Signals(Signals),
    /// The frame of an external endpoint, which is stored outside under the number of this slot.
    Frame,
}

impl PacketOptions {
    /// TCP's options; empty for other contents.
    #[inline]
    pub fn options(&self) -> &Options {
        match self {
            PacketOptions::Tcp(options) => options,
            PacketOptions::Report(_) | PacketOptions::Signals(_) | PacketOptions::Frame => &Options::NONE,
        }
    }
}
