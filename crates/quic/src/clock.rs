//! Simulated time as quinn-proto counts it.
#![allow(
    clippy::disallowed_types,
    clippy::disallowed_methods,
    reason = "quinn-proto's times are instants of std; it sees differences of them alone, and those are simulated"
)]

use marqueue_core::Time;
use std::time::{Duration, Instant};

/// The instants of a run.
#[derive(Clone, Copy, Debug)]
pub struct Clock {
    /// The beginning of the simulation. Which instant it is does not matter.
    origin: Instant,
}

impl Clock {
    /// A clock for one run.
    pub fn new() -> Clock {
        Clock { origin: Instant::now() }
    }

    /// The instant of a time.
    pub fn instant(&self, time: Time) -> Instant {
        self.origin + Duration::from_nanos(time.0)
    }

    /// The time of an instant.
    pub fn time(&self, instant: Instant) -> Time {
        Time(u64::try_from(instant.saturating_duration_since(self.origin).as_nanos()).unwrap_or(u64::MAX))
    }
}
