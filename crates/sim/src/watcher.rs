//! A watcher: it sees what a run has done so far, from time to time, and may cut the run off.

use marqueue_core::Time;
use std::fmt::Debug;

/// Looks at a run, which waits meanwhile.
pub trait Watcher: Debug + Send + Sync {
    /// The run has come so far. Returns the number of processed events at which to look again; none cuts the run off.
    fn look(&self, so_far: &SoFar) -> Option<u64>;
}

/// What a run has done so far.
#[derive(Clone, Debug, PartialEq)]
pub struct SoFar {
    /// Number of processed events.
    pub events: u64,
    /// The time of the last of them.
    pub now: Time,
    /// Flows that have been created.
    pub flows: u32,
    /// Bytes of the samples of links.
    pub samples: usize,
    /// Links with a queue.
    pub links: Vec<LinkSoFar>,
}

/// What a link has done so far.
#[derive(Clone, Debug, PartialEq)]
pub struct LinkSoFar {
    /// Its index in the plan.
    pub link: usize,
    /// Packets that have come to its queue.
    pub arrivals: u64,
    /// Packets that have left it, sent or dropped.
    pub left: u64,
    /// Bits sent, or cycles used.
    pub used: f64,
    /// Bits that could have been sent, or cycles that there were.
    pub capacity: f64,
}
