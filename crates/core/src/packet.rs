//! The packet: a small `Copy` value that moves from ring to ring.

use crate::dscp::Dscp;

/// The two-bit ECN field of the IP header (RFC 3168, section 5).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ecn {
    /// Not ECN-capable transport.
    NotEct,
    /// ECN-capable transport.
    Ect,
    /// Congestion experienced.
    Ce,
}

/// One bit each: what kind of packet this is, and TCP's flags.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Flags(u8);

impl Flags {
    /// No flag.
    pub const NONE: Flags = Flags(0);
    /// An acknowledgement on its way back (otherwise: data on its way out).
    pub const ACK: Flags = Flags(1);
    /// Opens a connection, or answers what does.
    pub const SYN: Flags = Flags(2);
    /// ECN echo (RFC 3168, section 6.1); on a SYN, the request to use ECN.
    pub const ECE: Flags = Flags(4);
    /// Congestion window reduced (RFC 3168, section 6.1.2).
    pub const CWR: Flags = Flags(8);
    /// Sent before: carries no new data.
    pub const RETRANSMIT: Flags = Flags(16);
    /// Data that carries [`Signals`](crate::Signals).
    pub const SIGNALS: Flags = Flags(64);

    /// Are all bits of `other` set?
    pub fn has(self, other: Flags) -> bool {
        self.0 & other.0 == other.0
    }
}

impl std::ops::BitAnd for Flags {
    type Output = Flags;
    fn bitand(self, other: Flags) -> Flags {
        Flags(self.0 & other.0)
    }
}

impl std::ops::BitOr for Flags {
    type Output = Flags;
    fn bitor(self, other: Flags) -> Flags {
        Flags(self.0 | other.0)
    }
}

impl std::ops::BitOrAssign for Flags {
    fn bitor_assign(&mut self, other: Flags) {
        self.0 |= other.0;
    }
}

/// A packet on its way. Sequence numbers count packets, not bytes.
#[derive(Clone, Copy, Debug)]
pub struct Packet {
    /// Which flow it belongs to.
    pub flow: u32,
    /// Data: its number. Acknowledgement: the next number expected, and `has ACK`.
    pub seq: u32,
    /// Size on the wire.
    pub bytes: u32,
    /// Where it goes next: a stage of the simulator's route table. Only up to date while the packet
    /// stands somewhere; on its way the stage travels beside it.
    pub stage: u32,
    /// TCP options. Data: its timestamp, if the connection has timestamps. Acknowledgement, and data that has
    /// [`Flags::SIGNALS`]: slot of what it carries in the simulator's pool, or `Packet::NO_OPTIONS`.
    pub options: u32,
    /// Kind and TCP flags.
    pub flags: Flags,
    /// ECN field.
    pub ecn: Ecn,
    /// Differentiated services code point.
    pub dscp: Dscp,
}

impl Packet {
    /// `options` of an acknowledgement without any.
    pub const NO_OPTIONS: u32 = u32::MAX;

    /// A data packet that has not been queued anywhere yet.
    pub fn data(flow: u32, seq: u32, bytes: u32) -> Packet {
        Packet {
            flow,
            seq,
            bytes,
            stage: 0,
            options: Packet::NO_OPTIONS,
            flags: Flags::NONE,
            ecn: Ecn::NotEct,
            dscp: Dscp::default(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_packet_stays_small() {
        assert!(std::mem::size_of::<Packet>() <= 24);
    }
}
