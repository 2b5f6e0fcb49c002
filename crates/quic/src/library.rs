//! The libraries by their names in a plan.

use crate::clock::Clock;
use crate::connection::Connection;
use crate::{noq, quinn};
use marqueue_core::{Rng, Time};
use marqueue_sim::plan::{QuicLibrary, QuicPlan};

/// The connection of a flow of `size` bytes, with random numbers of `rng`. The client begins at `now`.
pub fn open(plan: &QuicPlan, size: Option<u32>, rng: &mut Rng, clock: Clock, now: Time) -> Box<dyn Connection> {
    match plan.library {
        QuicLibrary::Quinn => Box::new(quinn::ends::Ends::new(plan, size, rng, clock, now)),
        QuicLibrary::Noq => Box::new(noq::ends::Ends::new(plan, size, rng, clock, now)),
    }
}
