//! What an AQM at the hook is told of a packet, and what it answers.

/// A packet as it arrives.
#[derive(Clone, Copy, Debug)]
pub struct Arrival {
    /// Time, ns.
    pub now: u64,
    /// Its size on the wire with the headers of all its segments, at most 2^20.
    pub bytes: u64,
    /// Number of segments; 1 for a plain packet.
    pub segments: u64,
    /// True if a mark drops the packet.
    pub loses: bool,
    /// Bytes in the queue of the root qdisc, without this packet. AVQ does not ask for it.
    pub queue: u64,
    /// A uniform random number. AVQ does not ask for it.
    pub random: u32,
}

/// What becomes of a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fate {
    /// It passes.
    Pass,
    /// It is marked, or dropped where marks are drops.
    Signal,
    /// It is dropped, also if it could be marked. Packets without IP pass.
    Loss,
}
