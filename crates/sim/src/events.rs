//! Pending events. Only what must be an event is one: each link has at most one (the first arrival
//! at its far end), each busy queue one (the latest time by which its departures must be known), and
//! all flow timers together one.

use marqueue_core::Time;
use std::cmp::Reverse;
use std::collections::binary_heap::PeekMut;
use std::collections::BinaryHeap;
use std::hint::select_unpredictable;

/// At most one pending event for each of a fixed number of sources, as a tournament: each source is
/// a leaf, each inner node holds the earlier of its two children. Of events at the same instant that
/// of the lower source comes first, so that the order never depends on when an event was scheduled,
/// and whoever only looks cannot change what happens.
///
/// A change walks from the leaf to the root, a minimum a level, without a branch to mispredict:
/// measured faster than a 4-ary heap from 10 to 10^5 sources.
#[derive(Debug)]
pub struct EventQueue {
    /// Node 1 is the root, the children of `i` are `2 i` and `2 i + 1`, the leaves begin in the
    /// middle. Each is a time and a source.
    nodes: Vec<(u64, u32)>,
}

/// The time of a source without an event; one less than the largest, so that it can be added to.
const ABSENT: u64 = u64::MAX - 1;

impl EventQueue {
    /// A queue for sources `0..n`.
    pub fn new(n: usize) -> Self {
        let leaves = n.max(1).next_power_of_two();
        let mut nodes = vec![(ABSENT, 0); 2 * leaves];
        for source in 0..leaves {
            nodes[leaves + source].1 = source as u32;
        }
        for i in (1..leaves).rev() {
            nodes[i] = nodes[2 * i];
        }
        Self { nodes }
    }

    /// The earliest event.
    #[inline]
    pub fn first(&self) -> Option<(Time, u32)> {
        let (time, source) = self.nodes[1];
        (time != ABSENT).then_some((Time(time), source))
    }

    /// Has this source an event?
    #[inline]
    pub fn is_set(&self, source: u32) -> bool {
        self.nodes[self.nodes.len() / 2 + source as usize].0 != ABSENT
    }

    /// Sets the time of a source's event; `Time::NEVER` removes it.
    #[inline]
    pub fn set(&mut self, source: u32, time: Time) {
        let nodes = self.nodes.as_mut_slice();
        let mut i = nodes.len() / 2 + source as usize;
        let mut winner = (time.0.min(ABSENT), source);
        nodes[i] = winner;
        while i > 1 {
            let sibling = nodes[i ^ 1];
            // A left sibling (of an odd node) has the lower sources: it also wins a tie.
            let lost = sibling.0 < winner.0 + (i as u64 & 1);
            winner.0 = select_unpredictable(lost, sibling.0, winner.0);
            winner.1 = select_unpredictable(lost, sibling.1, winner.1);
            i /= 2;
            nodes[i] = winner;
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
