//! What an acknowledgement carries besides its number, or data for routers. It does not fit into a packet, which
//! holds the slot of it in the engine's pool.

use marqueue_cc::rate_based::Report;
use marqueue_cc::Options;
use marqueue_core::Signals;

/// What is attached.
#[derive(Clone, Copy, Debug)]
pub enum PacketOptions {
    /// TCP's options.
    Tcp(Options),
    /// What the receiver of a paced flow tells.
    Report(Report),
    /// What the data of a flow that listens to routers carries.
    Signals(Signals),
}

impl PacketOptions {
    /// TCP's options, or none.
    #[inline]
    pub fn options(&self) -> &Options {
        match self {
            PacketOptions::Tcp(options) => options,
            PacketOptions::Report(_) | PacketOptions::Signals(_) => &Options::NONE,
        }
    }
}
