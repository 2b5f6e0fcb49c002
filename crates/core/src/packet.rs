//! The packet: a `Copy` value of 24 bytes.

use crate::dscp::Dscp;
use core::fmt;

/// The two-bit ECN field of the IP header, with its bits there (RFC 3168, section 5).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ecn {
    /// Not ECN-capable transport.
    NotEct = 0,
    /// ECT(1): ECN-capable transport that asks for the L4S service (RFC 9331, section 4.1).
    Ect1 = 1,
    /// ECT(0): ECN-capable transport.
    Ect0 = 2,
    /// Congestion experienced.
    Ce = 3,
}

impl Ecn {
    /// Is it ECT(0) or ECT(1), so that a queue may mark it?
    #[inline]
    pub fn is_ect(self) -> bool {
        matches!(self, Ecn::Ect0 | Ecn::Ect1)
    }
}

/// The kind of a packet and the flags of TCP, one bit each.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Flags(u16);

impl Flags {
    /// No flag.
    pub const NONE: Flags = Flags(0);
    /// An acknowledgement (otherwise data).
    pub const ACK: Flags = Flags(1);
    /// SYN: opens a connection, or acknowledges the opening.
    pub const SYN: Flags = Flags(2);
    /// ECN echo (RFC 3168, section 6.1); on a SYN, the request to use ECN.
    pub const ECE: Flags = Flags(4);
    /// Congestion window reduced (RFC 3168, section 6.1.2).
    pub const CWR: Flags = Flags(8);
    /// A retransmission: carries no new data.
    pub const RETRANSMIT: Flags = Flags(16);
    /// The sender reacts to CE, whatever the ECN field. A queue under DRQ needs this flag, because there the ECN field
    /// has another meaning.
    pub const ANSWERS_CE: Flags = Flags(32);
    /// Data that carries [`Signals`](crate::Signals).
    pub const SIGNALS: Flags = Flags(64);
    /// Accurate ECN: the highest bit of the ACE field, before CWR and ECE (RFC 9768, section 3.2.2).
    pub const AE: Flags = Flags(128);
    /// Its sender and its receiver are outside the simulator, where its frame is stored.
    pub const EXTERNAL: Flags = Flags(256);
    /// PSH: the end of what the application has written so far, or of a burst.
    pub const PSH: Flags = Flags(512);

    /// Are all bits of `other` set?
    pub fn has(self, other: Flags) -> bool {
        self.0 & other.0 == other.0
    }
}

impl core::ops::BitAnd for Flags {
    type Output = Flags;
    fn bitand(self, other: Flags) -> Flags {
        Flags(self.0 & other.0)
    }
}

impl core::ops::BitOr for Flags {
    type Output = Flags;
    fn bitor(self, other: Flags) -> Flags {
        Flags(self.0 | other.0)
    }
}

impl core::ops::BitOrAssign for Flags {
    fn bitor_assign(&mut self, other: Flags) {
        self.0 |= other.0;
    }
}

/// Flags, ECN field, code point and processing class of a packet, in one word. Separate bytes would be copied one by
/// one each time a packet moves.
#[derive(Clone, Copy, PartialEq, Eq, Default)]
pub struct Head(u32);

impl Head {
    /// The bits of flags.
    const FLAGS: u16 = (1 << Head::ECN) - 1;
    const ECN: u32 = 14;
    const DSCP: u32 = 16;
    const CLASS: u32 = 24;

    /// The head of a packet without flags that is not ECN-capable.
    #[inline]
    pub fn new(dscp: Dscp, class: u8) -> Head {
        Head(u32::from(dscp.value()) << Head::DSCP | u32::from(class) << Head::CLASS)
    }

    /// Kind and TCP flags.
    #[inline]
    pub fn flags(self) -> Flags {
        Flags(self.0 as u16 & Head::FLAGS)
    }

    /// ECN field.
    #[inline]
    pub fn ecn(self) -> Ecn {
        match self.0 >> Head::ECN & 3 {
            0 => Ecn::NotEct,
            1 => Ecn::Ect1,
            2 => Ecn::Ect0,
            _ => Ecn::Ce,
        }
    }

    /// Differentiated services code point.
    #[inline]
    pub fn dscp(self) -> Dscp {
        Dscp::from_bits((self.0 >> Head::DSCP) as u8)
    }

    /// Processing class: selects the work of a CPU.
    #[inline]
    pub fn class(self) -> u8 {
        (self.0 >> Head::CLASS) as u8
    }

    /// The same with these flags added.
    #[inline]
    pub fn with(self, flags: Flags) -> Head {
        Head(self.0 | u32::from(flags.0))
    }

    /// With another ECN field.
    #[inline]
    pub fn with_ecn(self, ecn: Ecn) -> Head {
        Head(self.0 & !(3 << Head::ECN) | (ecn as u32) << Head::ECN)
    }
}

impl fmt::Debug for Head {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (flags, ecn, dscp, class) = (self.flags(), self.ecn(), self.dscp(), self.class());
        write!(f, "{flags:?} {ecn:?} {dscp:?} {class}")
    }
}

/// A packet of three words. Copying a word is faster than copying two halves, and reading a word just after its halves
/// were written stalls. Sequence numbers count packets, not bytes.
#[derive(Clone, Copy, Debug)]
pub struct Packet {
    /// [`Packet::flow`] above [`Packet::seq`].
    flow_and_seq: u64,
    /// [`Packet::options`] above [`Packet::bytes`].
    options_and_bytes: u64,
    /// [`Packet::head`] above [`Packet::stage`].
    head_and_stage: u64,
}

impl Packet {
    /// `options` of an acknowledgement without any.
    pub const NO_OPTIONS: u32 = u32::MAX;

    /// A data packet that has not been queued anywhere yet.
    pub fn data(flow: u32, seq: u32, bytes: u32) -> Packet {
        Packet {
            flow_and_seq: join_words(flow, seq),
            options_and_bytes: join_words(Packet::NO_OPTIONS, bytes),
            head_and_stage: 0,
        }
    }

    /// A packet of its parts, each as the method of its name returns it.
    #[inline]
    pub fn of_form(flow_and_seq: u64, form: u64, options: u32, stage: u32) -> Packet {
        Packet {
            flow_and_seq,
            options_and_bytes: join_words(options, (form >> 32) as u32),
            head_and_stage: join_words(form as u32, stage),
        }
    }

    /// The size on the wire above the head: what many packets have in common.
    #[inline]
    pub fn form(&self) -> u64 {
        join_words(self.bytes(), self.head().0)
    }

    /// Its words, for a function that is not inlined: a packet that is handed over whole must be in memory, and reading it
    /// from there just after its words were written stalls.
    #[inline(always)]
    pub fn words(self) -> (u64, u64, u64) {
        (self.flow_and_seq, self.options_and_bytes, self.head_and_stage)
    }

    /// The packet of such words.
    #[inline(always)]
    pub fn of_words((flow_and_seq, options_and_bytes, head_and_stage): (u64, u64, u64)) -> Packet {
        Packet { flow_and_seq, options_and_bytes, head_and_stage }
    }

    /// The flow above the sequence number.
    #[inline]
    pub fn flow_and_seq(&self) -> u64 {
        self.flow_and_seq
    }

    /// The flow that it belongs to.
    #[inline]
    pub fn flow(&self) -> u32 {
        (self.flow_and_seq >> 32) as u32
    }

    /// Data: its sequence number. Acknowledgement: the next sequence number expected.
    #[inline]
    pub fn seq(&self) -> u32 {
        self.flow_and_seq as u32
    }

    /// Size on the wire.
    #[inline]
    pub fn bytes(&self) -> u32 {
        self.options_and_bytes as u32
    }

    /// TCP options. Data: its timestamp, if the connection has timestamps. Acknowledgement, and data with
    /// [`Flags::SIGNALS`] or [`Flags::EXTERNAL`]: the slot of its options in the simulator's pool, or
    /// `Packet::NO_OPTIONS`.
    #[inline]
    pub fn options(&self) -> u32 {
        (self.options_and_bytes >> 32) as u32
    }

    /// Its next stage in the simulator's route table. Only valid while the packet is stored; while it is forwarded, the
    /// stage is passed beside it.
    #[inline]
    pub fn stage(&self) -> u32 {
        self.head_and_stage as u32
    }

    /// Kind, ECN field, code point and class.
    #[inline]
    pub fn head(&self) -> Head {
        Head((self.head_and_stage >> 32) as u32)
    }

    /// Is it of this kind, or has it this flag?
    #[inline]
    pub fn has(&self, flags: Flags) -> bool {
        self.head().flags().has(flags)
    }

    /// Its ECN field.
    #[inline]
    pub fn ecn(&self) -> Ecn {
        self.head().ecn()
    }

    /// Its code point.
    #[inline]
    pub fn dscp(&self) -> Dscp {
        self.head().dscp()
    }

    /// Its processing class.
    #[inline]
    pub fn class(&self) -> u8 {
        self.head().class()
    }

    /// The same of another flow.
    pub fn with_flow(self, flow: u32) -> Packet {
        Packet { flow_and_seq: join_words(flow, self.seq()), ..self }
    }

    /// The same of another size.
    pub fn with_bytes(self, bytes: u32) -> Packet {
        Packet { options_and_bytes: join_words(self.options(), bytes), ..self }
    }

    /// The same with other options.
    #[inline]
    pub fn with_options(self, options: u32) -> Packet {
        Packet { options_and_bytes: join_words(options, self.bytes()), ..self }
    }

    /// The same at another stage.
    #[inline]
    pub fn with_stage(self, stage: u32) -> Packet {
        Packet { head_and_stage: join_words(self.head().0, stage), ..self }
    }

    /// The same with another head.
    #[inline]
    pub fn with_head(self, head: Head) -> Packet {
        Packet { head_and_stage: join_words(head.0, self.stage()), ..self }
    }

    /// The same with another ECN field.
    #[inline]
    pub fn with_ecn(self, ecn: Ecn) -> Packet {
        self.with_head(self.head().with_ecn(ecn))
    }
}

#[inline]
fn join_words(above: u32, below: u32) -> u64 {
    u64::from(above) << 32 | u64::from(below)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_packet_has_24_bytes() {
        assert!(core::mem::size_of::<Packet>() <= 24);
    }

    #[test]
    fn the_parts_of_a_head_do_not_overlap() {
        let dscp = Dscp::parse("63").unwrap();
        let head = Head::new(dscp, 255).with(Flags::ACK | Flags::SIGNALS);
        for ecn in [Ecn::Ect0, Ecn::Ect1, Ecn::Ce, Ecn::NotEct] {
            let head = head.with_ecn(Ecn::Ce).with_ecn(ecn);
            let parts = (head.flags(), head.ecn(), head.dscp(), head.class());
            assert_eq!(parts, (Flags::ACK | Flags::SIGNALS, ecn, dscp, 255));
        }
    }
}
