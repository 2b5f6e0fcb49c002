//! Which events come next, in groups, so that what they need can be prefetched (`engine/prefetching.rs`).

use crate::events::EventQueue;
use crate::flow::Flow;
use marqueue_core::{Dur, Time};

/// Events of a group: enough for waits to overlap, and few enough for all that they need to fit the cache.
const GROUP: usize = 32;
/// A group never spans more simulated time.
const LONGEST: Dur = Dur(1_000_000_000);
/// Groups pay where there are so many queues, and where they and the flows take so many bytes that caches do not hold them
/// (docs/performance/profile.md). Debug builds always have them, so that tests see whether they change anything.
const LEAST_QUEUES: usize = if cfg!(debug_assertions) { 1 } else { 1024 };
const LEAST_BYTES: usize = if cfg!(debug_assertions) { 1 } else { 64 << 20 };
/// What a packet may need of a queue: its state, and the bins in which it is measured.
const PER_QUEUE: usize = 2560;
/// The same of the queues of a hundred flows.
const PER_QUEUE_OF_FLOWS: usize = 40_000;

/// A group of the next events, and what they lead to.
#[derive(Debug)]
pub struct NextEvents {
    /// Number of processed events at which the next group is looked at.
    pub at: u64,
    /// In such a simulated time a group happens, as far as is known.
    pub span: Dur,
    /// The sources of the events.
    pub sources: Vec<u32>,
    /// Flows to whose senders they lead.
    pub flows: Vec<u32>,
    /// Links to which they lead.
    pub links: Vec<u32>,
    /// Next stages and flows of packets that probably leave their queues.
    pub departing: Vec<(u32, u32)>,
    /// Links that packets enter, and the flows of these packets.
    pub entering: Vec<(u32, u32)>,
    /// Links of these whose queues are queues of flows, and the flow, or none for the next departure.
    pub of_flows: Vec<(u32, Option<u32>)>,
}

impl Default for NextEvents {
    /// Nothing is ever looked at.
    fn default() -> NextEvents {
        NextEvents {
            at: u64::MAX,
            span: Dur(1),
            sources: Vec::new(),
            flows: Vec::new(),
            links: Vec::new(),
            departing: Vec::new(),
            entering: Vec::new(),
            of_flows: Vec::new(),
        }
    }
}

impl NextEvents {
    /// More packets that leave their queues than this are not looked for.
    pub const MOST_DEPARTING: usize = 2 * GROUP;

    /// For a network with so many queues, of which so many consist of queues of flows, and so many flows.
    pub fn new(queues: usize, of_flows: usize, flows: usize) -> NextEvents {
        let never = NextEvents::default();
        let bytes = queues * PER_QUEUE + of_flows * PER_QUEUE_OF_FLOWS + flows * size_of::<Flow>();
        let pays = queues >= LEAST_QUEUES && bytes >= LEAST_BYTES;
        NextEvents { at: if pays { 1 } else { never.at }, ..never }
    }

    /// Is there ever a group?
    #[inline(always)]
    pub fn is_on(&self) -> bool {
        self.at != u64::MAX
    }

    /// Chooses the next group: the events after `now`, of which `processed` have been.
    pub fn choose(&mut self, events: &EventQueue, now: Time, processed: u64) {
        self.at = processed + GROUP as u64;
        self.sources.clear();
        self.flows.clear();
        self.links.clear();
        self.departing.clear();
        self.entering.clear();
        self.of_flows.clear();
        events.find_until(now + self.span, 2 * GROUP, &mut self.sources);
        // An eighth more than a group, because others come up in between.
        if self.sources.len() > GROUP + GROUP / 8 {
            self.span = Dur(self.span.0 - self.span.0 / 8);
        } else {
            self.span = Dur((self.span.0 + self.span.0 / 8 + 1).min(LONGEST.0));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn groups_pay_in_large_networks_only() {
        let is_on = |queues, flows| NextEvents::new(queues, 0, flows).is_on();
        assert!(is_on(LEAST_QUEUES, LEAST_BYTES / size_of::<Flow>() + 1));
        assert!(is_on(LEAST_QUEUES + LEAST_BYTES / PER_QUEUE, 1));
        assert!(!is_on(LEAST_QUEUES - 1, 1_000_000));
        assert!(NextEvents::new(LEAST_QUEUES, LEAST_BYTES / PER_QUEUE_OF_FLOWS + 1, 1).is_on());
    }
}
