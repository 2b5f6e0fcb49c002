//! The counts of a queue. Every packet that arrives, departs or is dropped is counted here, each drop with its reason.

use alloc::vec::Vec;
use marqueue_core::Packet;

/// Why a packet was marked or dropped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Reason {
    /// The buffer was full.
    Overflow,
    /// A random draw decided so.
    Early,
    /// A control variable exceeded its hard limit.
    Forced,
    /// A virtual queue overflowed.
    Virtual,
    /// Its sojourn time was too long.
    Sojourn,
    /// A packet drawn from the queue was of the same flow.
    Matched,
    /// A kernel decided so, and does not say why.
    Kernel,
}

impl Reason {
    /// All reasons, in the order of their discriminants.
    pub const ALL: [Reason; 7] = [
        Reason::Overflow,
        Reason::Early,
        Reason::Forced,
        Reason::Virtual,
        Reason::Sojourn,
        Reason::Matched,
        Reason::Kernel,
    ];

    /// The name in results.
    pub fn name(self) -> &'static str {
        match self {
            Reason::Overflow => "overflow",
            Reason::Early => "early",
            Reason::Forced => "forced",
            Reason::Virtual => "virtual",
            Reason::Sojourn => "sojourn",
            Reason::Matched => "matched",
            Reason::Kernel => "kernel",
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
    /// Dropped packets by [`Reason`].
    pub drops: [u64; Reason::ALL.len()],
    /// Dropped bytes.
    pub dropped_bytes: u64,
    /// Packets that were marked CE here, by [`Reason`].
    pub marks: [u64; Reason::ALL.len()],
}

impl Counters {
    /// Dropped packets, for all reasons.
    pub fn dropped(&self) -> u64 {
        self.drops.iter().sum()
    }

    /// Marked packets, for all reasons.
    pub fn marked(&self) -> u64 {
        self.marks.iter().sum()
    }
}

/// Counts packets and collects the dropped ones until the caller takes them ([`crate::Qdisc::drain_dropped`]).
#[derive(Debug, Default)]
pub struct Accounting {
    /// The counts.
    pub counters: Counters,
    /// Packets dropped since the last call of [`crate::Qdisc::drain_dropped`], with reasons.
    pub dropped: Vec<(Packet, Reason)>,
}

impl Accounting {
    /// A packet arrives.
    #[inline]
    pub fn on_arrival(&mut self, packet: &Packet) {
        self.counters.arrivals += 1;
        self.counters.arrived_bytes += u64::from(packet.bytes());
    }

    /// A packet leaves for transmission.
    #[inline]
    pub fn on_departure(&mut self, packet: &Packet) {
        self.counters.departures += 1;
        self.counters.departed_bytes += u64::from(packet.bytes());
    }

    /// A packet is dropped.
    pub fn drop(&mut self, packet: Packet, reason: Reason) {
        self.counters.drops[reason as usize] += 1;
        self.counters.dropped_bytes += u64::from(packet.bytes());
        self.dropped.push((packet, reason));
    }
}
