//! Pending events. Only what must be an event is one: each link has at most one (the first arrival
//! at its far end), each busy queue one (the latest time by which its departures must be known), and
//! all flow timers together one.

use marqueue_core::Time;
use std::cmp::Reverse;
use std::collections::binary_heap::PeekMut;
use std::collections::BinaryHeap;

/// At most one pending event for each of a fixed number of sources, as a tournament: each source is
/// a leaf, each inner node holds the earlier of its two children. Ties go to the lower source, so
/// that the order never depends on when an event was scheduled.
///
/// A change walks from the leaf towards the root without unpredictable branches: measured faster
/// than a 4-ary heap from 10 to 10^5 sources.
#[derive(Debug)]
pub struct EventQueue {
    /// Node 1 is the root, the children of `i` are `2 i` and `2 i + 1`, the leaves begin at `leaves`.
    nodes: Vec<(Time, u32)>,
    leaves: usize,
}

impl EventQueue {
    /// A queue for sources `0..n`.
    pub fn new(n: usize) -> Self {
        let leaves = n.max(1).next_power_of_two();
        let mut nodes = vec![(Time::NEVER, 0); 2 * leaves];
        for source in 0..leaves {
            nodes[leaves + source].1 = source as u32;
        }
        for i in (1..leaves).rev() {
            nodes[i] = nodes[2 * i];
        }
        Self { nodes, leaves }
    }

    /// The earliest event.
    #[inline]
    pub fn first(&self) -> Option<(Time, u32)> {
        let root = self.nodes[1];
        (root.0 != Time::NEVER).then_some(root)
    }

    /// Has this source an event?
    #[inline]
    pub fn is_set(&self, source: u32) -> bool {
        self.nodes[self.leaves + source as usize].0 != Time::NEVER
    }

    /// Sets the time of a source's event; `Time::NEVER` removes it.
    #[inline]
    pub fn set(&mut self, source: u32, time: Time) {
        let mut i = self.leaves + source as usize;
        self.nodes[i].0 = time;
        while i > 1 {
            i /= 2;
            let (left, right) = (self.nodes[2 * i], self.nodes[2 * i + 1]);
            let winner = if left.0 <= right.0 { left } else { right };
            if self.nodes[i] == winner {
                break;
            }
            self.nodes[i] = winner;
        }
    }
}

/// Flow timers. A timer that is moved to a later time is left where it is and looked at again when
/// it fires; one that is moved to an earlier time is entered again and its old entry ignored.
#[derive(Debug, Default)]
pub struct Timers {
    heap: BinaryHeap<Reverse<(Time, u32)>>,
}

impl Timers {
    /// The time of the earliest entry.
    #[inline]
    pub fn first(&self) -> Time {
        self.heap.peek().map_or(Time::NEVER, |e| e.0 .0)
    }

    /// Enters a timer of `flow`.
    pub fn push(&mut self, time: Time, flow: u32) {
        self.heap.push(Reverse((time, flow)));
    }

    /// Asks `judge` about each entry that is due by `now`, earliest first, until there is none:
    /// it returns the time to which the entry moves, or `Time::NEVER` to take it out and return the
    /// flow as one whose timer fires.
    pub fn fire(&mut self, now: Time, mut judge: impl FnMut(Time, u32) -> Judgement) -> Option<u32> {
        while let Some(mut top) = self.heap.peek_mut() {
            let Reverse((time, flow)) = *top;
            if time > now {
                return None;
            }
            match judge(time, flow) {
                Judgement::Stale => drop(PeekMut::pop(top)),
                Judgement::Later(at) => *top = Reverse((at, flow)),
                Judgement::Fires => {
                    PeekMut::pop(top);
                    return Some(flow);
                }
            }
        }
        None
    }
}

/// What to do with an entry whose time has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Judgement {
    /// Its flow has another entry: forget this one.
    Stale,
    /// The timer has been moved to this later time.
    Later(Time),
    /// It fires.
    Fires,
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeMap;

    proptest! {
        #[test]
        fn the_first_event_is_the_earliest_of_the_lowest_source(
            ops in prop::collection::vec((0u32..40, prop::option::of(0u64..50)), 1..300)
        ) {
            let (mut queue, mut model) = (EventQueue::new(40), BTreeMap::new());
            for (source, time) in ops {
                match time {
                    Some(t) => { queue.set(source, Time(t)); model.insert(source, Time(t)); }
                    None => { queue.set(source, Time::NEVER); model.remove(&source); }
                }
                let expected = model.iter().map(|(&s, &t)| (t, s)).min();
                prop_assert_eq!(queue.first(), expected);
            }
            while let Some((t, s)) = queue.first() {
                prop_assert_eq!(model.remove(&s), Some(t));
                queue.set(s, Time::NEVER);
            }
            prop_assert!(model.is_empty());
        }
    }
}
