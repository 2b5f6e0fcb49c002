//! The unit in which a policy measures queues: packets or bytes (ns-2's `bytes_`, Linux's byte mode).

use marqueue_core::{Bytes, Packet};

marqueue_core::choice! {
    /// The unit in which a policy measures.
    pub enum CountingUnit {
        /// Packets: each counts as one of the mean size, whatever its own.
        Packets = "packets",
        /// Bytes: each packet counts by its size.
        Bytes = "bytes",
    }
}

impl CountingUnit {
    /// The size of `packet` in this unit, converted to bytes.
    #[inline]
    pub fn size(self, packet: &Packet, mean: Bytes) -> f64 {
        match self {
            CountingUnit::Packets => mean.0 as f64,
            CountingUnit::Bytes => f64::from(packet.bytes()),
        }
    }

    /// The length of a queue in this unit, converted to packets of the mean size.
    #[inline]
    pub fn queue_length(self, len: u32, bytes: u64, mean: Bytes) -> f64 {
        match self {
            CountingUnit::Packets => f64::from(len),
            CountingUnit::Bytes => bytes as f64 / mean.0 as f64,
        }
    }

    /// The probability for `packet` if a packet of the mean size has probability `p`.
    #[inline]
    pub fn scale_probability(self, p: f64, packet: &Packet, mean: Bytes) -> f64 {
        match self {
            CountingUnit::Packets => p,
            CountingUnit::Bytes => p * f64::from(packet.bytes()) / mean.0 as f64,
        }
    }
}
