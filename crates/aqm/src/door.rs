//! The one door by which a queue loses packets, and its counts.

use marqueue_core::Packet;

/// Why a packet was marked or dropped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Reason {
    /// The buffer was full.
    Overflow,
    /// A random draw came out against it.
    Early,
    /// A control variable was past its hard limit.
    Forced,
    /// A virtual queue overflowed.
    Virtual,
    /// It had stood in the queue for too long.
    Sojourn,
    /// A packet drawn from the queue was of the same flow.
    Matched,
}

impl Reason {
    /// All reasons, in the order of their discriminants.
    pub const ALL: [Reason; 6] =
        [Reason::Overflow, Reason::Early, Reason::Forced, Reason::Virtual, Reason::Sojourn, Reason::Matched];

    /// The name in results.
    pub fn name(self) -> &'static str {
        match self {
            Reason::Overflow => "overflow",
            Reason::Early => "early",
            Reason::Forced => "forced",
            Reason::Virtual => "virtual",
            Reason::Sojourn => "sojourn",
            Reason::Matched => "matched",
        }
    }
}

/// Cumulative counts of one queue.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Counters {
    /// Packets that arrived.
    pub arrivals: u64,
    /// Bytes that arrived.
    pub arrived_bytes: u64,
    /// Packets that left for transmission.
    pub departures: u64,
    /// Bytes that left for transmission.
    pub departed_bytes: u64,
    /// Lost packets by [`Reason`].
    pub drops: [u64; Reason::ALL.len()],
    /// Lost bytes.
    pub dropped_bytes: u64,
    /// Packets that got a CE mark here, by [`Reason`].
    pub marks: [u64; Reason::ALL.len()],
}

impl Counters {
    /// All lost packets.
    pub fn dropped(&self) -> u64 {
        self.drops.iter().sum()
    }

    /// All packets marked.
    pub fn marked(&self) -> u64 {
        self.marks.iter().sum()
    }
}

/// Counts every packet that comes, goes or is lost, and hands the lost ones to whoever must know.
#[derive(Debug, Default)]
pub struct Door {
    /// The counts.
    pub counters: Counters,
    /// Packets lost since the last look, with reasons.
    pub lost: Vec<(Packet, Reason)>,
}

impl Door {
    /// A packet arrives.
    #[inline]
    pub fn arrives(&mut self, packet: &Packet) {
        self.counters.arrivals += 1;
        self.counters.arrived_bytes += u64::from(packet.bytes());
    }

    /// A packet leaves for transmission.
    #[inline]
    pub fn departs(&mut self, packet: &Packet) {
        self.counters.departures += 1;
        self.counters.departed_bytes += u64::from(packet.bytes());
    }

    /// A packet is lost.
    pub fn lose(&mut self, packet: Packet, reason: Reason) {
        self.counters.drops[reason as usize] += 1;
        self.counters.dropped_bytes += u64::from(packet.bytes());
        self.lost.push((packet, reason));
    }
}
