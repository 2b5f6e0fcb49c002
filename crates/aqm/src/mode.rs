//! In what a policy counts: the one choice that most queue managements share.

use marqueue_core::{Bytes, Packet};

marqueue_core::choice! {
    /// In what a policy counts.
    pub enum Mode {
        /// Packets: each counts as one of the usual size, whatever its own.
        Packets = "packets",
        /// Bytes: a packet counts by its size.
        Bytes = "bytes",
    }
}

impl Mode {
    /// What `packet` counts, in bytes.
    #[inline]
    pub fn size(self, packet: &Packet, mean: Bytes) -> f64 {
        match self {
            Mode::Packets => mean.0 as f64,
            Mode::Bytes => f64::from(packet.bytes()),
        }
    }

    /// What a queue counts, in packets of the usual size.
    #[inline]
    pub fn queue(self, len: u32, bytes: u64, mean: Bytes) -> f64 {
        match self {
            Mode::Packets => f64::from(len),
            Mode::Bytes => bytes as f64 / mean.0 as f64,
        }
    }

    /// The chance that falls to `packet` where a packet of the usual size has chance `p`.
    #[inline]
    pub fn chance(self, p: f64, packet: &Packet, mean: Bytes) -> f64 {
        match self {
            Mode::Packets => p,
            Mode::Bytes => p * f64::from(packet.bytes()) / mean.0 as f64,
        }
    }
}
