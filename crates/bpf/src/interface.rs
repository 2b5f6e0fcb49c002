//! The maps of a program as Rust types, and the error type of the crate.

use crate::algorithm::{Law, State};
use marqueue_aqm::Signal;
use std::fmt;

/// Settings of a program: its map `setup` (`c/tc_hook.h`).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Setup {
    /// Parameters of the AQM.
    pub law: Law,
    /// How a mark reaches the sender.
    pub signal: Signal,
    /// True if attaching created the clsact hook.
    pub clsact: bool,
}

/// Counters in packets on the wire: the map `counters`, summed over CPUs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counters {
    /// Packets that arrived.
    pub packets: u64,
    /// Their bytes.
    pub bytes: u64,
    /// Packets that were marked CE.
    pub marked: u64,
    /// Packets that were dropped.
    pub dropped: u64,
    /// Packets that were to be marked and already carried CE.
    pub already_ce: u64,
    /// Packets that were to be marked and passed unchanged: not IP, or not ECN-capable under `ecn-only`.
    pub unmarked: u64,
    /// Socket buffers that hold several segments. Either all packets of one are marked or none.
    pub segmented: u64,
}

/// The answer of `attachment::stats`.
#[derive(Clone, Debug)]
pub struct Stats {
    /// Settings.
    pub setup: Setup,
    /// State as of the last packet.
    pub state: State,
    /// Counts since the program was attached.
    pub counters: Counters,
}

/// An operation that failed, and why.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Error(pub String);

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for Error {}
