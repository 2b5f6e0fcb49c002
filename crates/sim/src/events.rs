//! Pending events. Only what must be an event is one: each link has at most one (the first arrival
//! at its far end), each busy queue one (the latest time by which its departures must be known), and
//! all flow timers together one.

use marqueue_core::Time;
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// Children of a node of the heap. Four measured faster than two and eight at 10 to 10^5 sources.
const ARITY: usize = 4;

/// Not in the heap.
const ABSENT: u32 = u32::MAX;

/// At most one pending event for each of a fixed number of sources; ties go to the lower source,
/// so that the order never depends on when an event was scheduled.
#[derive(Debug)]
pub struct EventQueue {
    heap: Vec<(Time, u32)>,
    place: Vec<u32>,
}

impl EventQueue {
    /// A queue for sources `0..n`.
    pub fn new(n: usize) -> Self {
        Self { heap: Vec::with_capacity(n), place: vec![ABSENT; n] }
    }

    /// The earliest event.
    #[inline]
    pub fn first(&self) -> Option<(Time, u32)> {
        self.heap.first().copied()
    }

    /// Has this source an event?
    #[inline]
    pub fn is_set(&self, source: u32) -> bool {
        self.place[source as usize] != ABSENT
    }

    /// Sets the time of a source's event; `Time::NEVER` removes it.
    #[inline]
    pub fn set(&mut self, source: u32, time: Time) {
        let place = self.place[source as usize];
        if place == ABSENT {
            if time != Time::NEVER {
                self.heap.push((time, source));
                self.up(self.heap.len() - 1);
            }
            return;
        }
        let i = place as usize;
        if time == Time::NEVER {
            self.remove(i);
        } else {
            let earlier = time < self.heap[i].0;
            self.heap[i].0 = time;
            if earlier {
                self.up(i);
            } else {
                self.down(i);
            }
        }
    }

    fn remove(&mut self, i: usize) {
        self.place[self.heap[i].1 as usize] = ABSENT;
        let Some(last) = self.heap.pop() else { return };
        if i < self.heap.len() {
            self.heap[i] = last;
            self.place[last.1 as usize] = i as u32;
            self.down(i);
            self.up(self.place[last.1 as usize] as usize);
        }
    }

    fn up(&mut self, mut i: usize) {
        let entry = self.heap[i];
        while i > 0 {
            let parent = (i - 1) / ARITY;
            if self.heap[parent] <= entry {
                break;
            }
            self.put(i, self.heap[parent]);
            i = parent;
        }
        self.put(i, entry);
    }

    fn down(&mut self, mut i: usize) {
        let entry = self.heap[i];
        loop {
            let first = i * ARITY + 1;
            let end = (first + ARITY).min(self.heap.len());
            if first >= end {
                break;
            }
            let mut least = first;
            for child in first + 1..end {
                if self.heap[child] < self.heap[least] {
                    least = child;
                }
            }
            if entry <= self.heap[least] {
                break;
            }
            self.put(i, self.heap[least]);
            i = least;
        }
        self.put(i, entry);
    }

    #[inline]
    fn put(&mut self, i: usize, entry: (Time, u32)) {
        self.heap[i] = entry;
        self.place[entry.1 as usize] = i as u32;
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

    /// Takes the earliest entry out.
    pub fn pop(&mut self) -> Option<(Time, u32)> {
        self.heap.pop().map(|e| e.0)
    }
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
