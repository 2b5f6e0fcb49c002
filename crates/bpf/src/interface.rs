//! What the program of AVQ is told and what it tells, and the error of every function that loads it.

use crate::fixed::{Avq, Law};
use marqueue_aqm::Signal;
use std::fmt;

/// What the program is told: its map `setup` (`c/avq.bpf.c`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Setup {
    /// What is given.
    pub law: Law,
    /// How a mark reaches the sender.
    pub signal: Signal,
    /// Was the hook made for it?
    pub clsact: bool,
}

/// What the program counts, in packets on the wire: its map `counters`, summed over CPUs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counters {
    /// Packets that arrived.
    pub packets: u64,
    /// Their bytes.
    pub bytes: u64,
    /// Those that got CE.
    pub marked: u64,
    /// Those that were dropped.
    pub dropped: u64,
    /// Those that were signalled and had CE when they came.
    pub already_ce: u64,
    /// Those that were signalled and passed as they were: no IP, or not ECN-capable under `ecn-only`.
    pub unmarked: u64,
    /// Socket buffers of several segments: of each of them all packets are marked or none.
    pub segmented: u64,
}

/// What `device::stats` tells.
#[derive(Clone, Copy, Debug)]
pub struct Stats {
    /// What was given.
    pub setup: Setup,
    /// State as of the last packet.
    pub state: Avq,
    /// What was counted since it was attached.
    pub counters: Counters,
}

/// What could not be done, and why.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Error(pub String);

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for Error {}
