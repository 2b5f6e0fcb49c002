//! Pending events. Each link has at most one (the first arrival at its far end), each busy queue one (the latest time
//! by which its departures must be computed), and all flow timers together one.

use marqueue_core::Time;
use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::hint::select_unpredictable;

/// At most one pending event for each of a fixed number of sources, as a tournament tree: each source is a leaf, each
/// inner node holds the earlier of its two children. Of events at the same instant that of the lower source comes
/// first, so that the order never depends on when an event was scheduled, and measurements cannot change a run.
///
/// A change walks from the leaf to the root, a minimum a level, without a branch to mispredict:
/// measured faster than a binary heap from 10 to 10^5 sources.
#[derive(Debug)]
pub struct EventQueue {
    /// Node 1 is the root, the children of `i` are `2 i` and `2 i + 1`, the leaves begin in the
    /// middle. Each is a time above a source.
    nodes: Vec<u64>,
    /// Number of bits of a source.
    bits: u32,
}

/// No event.
const ABSENT: u64 = u64::MAX;

impl EventQueue {
    /// A queue for sources `0..n`.
    pub fn new(n: usize) -> Self {
        let leaves = n.max(2).next_power_of_two();
        Self { nodes: vec![ABSENT; 2 * leaves], bits: leaves.trailing_zeros() }
    }

    /// The latest time that can be represented with `n` sources: 4.8 hours for a million.
    pub fn horizon_for(n: usize) -> Time {
        Time((ABSENT >> n.max(2).next_power_of_two().trailing_zeros()) - 1)
    }

    /// The earliest event.
    #[inline]
    pub fn first(&self) -> Option<(Time, u32)> {
        let key = self.nodes[1];
        (key != ABSENT).then_some((Time(key >> self.bits), key as u32 & ((1 << self.bits) - 1)))
    }

    /// Appends the sources of up to `most` events until `until` to `found`, in no particular order.
    pub fn find_until(&self, until: Time, most: usize, found: &mut Vec<u32>) {
        let leaves = self.nodes.len() / 2;
        // All keys of an instant, and no others, are at most that of the last source.
        let last = until.0.min((ABSENT >> self.bits) - 1) << self.bits | (leaves as u64 - 1);
        // Right children whose subtrees have such events, too. There is at most one a level.
        let (mut others, mut waiting) = ([0; usize::BITS as usize], 0);
        let mut node = 1;
        if self.nodes[node] > last {
            return;
        }
        loop {
            while node < leaves {
                node *= 2;
                if self.nodes[node] > last {
                    node += 1;
                } else if self.nodes[node + 1] <= last {
                    others[waiting] = node + 1;
                    waiting += 1;
                }
            }
            found.push((node - leaves) as u32);
            if waiting == 0 || found.len() >= most {
                return;
            }
            waiting -= 1;
            node = others[waiting];
        }
    }

    /// Has this source a pending event?
    #[inline]
    pub fn is_set(&self, source: u32) -> bool {
        self.nodes[self.nodes.len() / 2 + source as usize] != ABSENT
    }

    /// Sets the time of a source's event; `Time::NEVER`, like any time past the horizon, removes it.
    #[inline]
    pub fn set(&mut self, source: u32, time: Time) {
        let key = time.0 << self.bits | u64::from(source);
        let mut winner = if time.0 >= ABSENT >> self.bits { ABSENT } else { key };
        let nodes = self.nodes.as_mut_slice();
        // The length is a power of two: the mask changes no index, but saves its check.
        let mask = nodes.len() - 1;
        let mut i = nodes.len() / 2 + source as usize;
        nodes[i] = winner;
        while i > 1 {
            let sibling = nodes[(i ^ 1) & mask];
            winner = select_unpredictable(sibling < winner, sibling, winner);
            i /= 2;
            nodes[i & mask] = winner;
        }
    }
}

/// Flow timers. A timer that is moved to a later time keeps its entry, which is checked when it is due; one that is
/// moved to an earlier time gets a new entry, and the old one is ignored.
///
/// A calendar (R. Brown, CACM 31(10), 1988): the entries of later days are unsorted, and those of a day are sorted when it
/// begins. In a heap of all entries, each level would be a cache miss with a million flows.
#[derive(Debug)]
pub struct Timers {
    /// Entries of the day before `day`, time of day above flow, the earliest last.
    today: Vec<u64>,
    /// Entries before the start of `day` that came after it had begun.
    soon: BinaryHeap<Reverse<(Time, u32)>>,
    /// The first day whose entries are still in `days`.
    day: u64,
    /// Entries of day `d` at `d % DAYS`, for the `DAYS` days from `day` on: time of day above flow.
    days: Vec<Vec<u64>>,
    /// Number of entries in `days`.
    in_calendar: usize,
    /// Entries of days beyond those.
    beyond: Vec<(Time, u32)>,
    /// The earliest entry, if it is known.
    earliest: Option<(Time, u32)>,
}

/// Bits of a time of day: a day has about a millisecond.
const DAY_BITS: u32 = 20;

/// Days in the calendar: about a second, longer than most retransmission timeouts.
const DAYS: u64 = 1 << 10;

impl Default for Timers {
    fn default() -> Timers {
        Timers {
            today: Vec::new(),
            soon: BinaryHeap::new(),
            day: 0,
            days: (0..DAYS).map(|_| Vec::new()).collect(),
            in_calendar: 0,
            beyond: Vec::new(),
            earliest: None,
        }
    }
}

impl Timers {
    /// The earliest entry: its time and its flow.
    #[inline]
    pub fn first(&mut self) -> Option<(Time, u32)> {
        if self.earliest.is_none() {
            self.find_earliest();
        }
        self.earliest
    }

    /// Enters a timer of `flow`.
    pub fn push(&mut self, time: Time, flow: u32) {
        self.enter(time, flow);
        // Not found here if there is none: timers that come before the first one is wanted would begin days too early.
        self.earliest = self.earliest.map(|earliest| earliest.min((time, flow)));
    }

    /// Calls `decide` for each entry that is due by `now`, earliest first, until one fires. Returns its flow.
    pub fn fire(&mut self, now: Time, mut decide: impl FnMut(Time, u32) -> TimerAction) -> Option<u32> {
        loop {
            let (time, flow) = self.first().filter(|e| e.0 <= now)?;
            if self.soon.peek() == Some(&Reverse((time, flow))) {
                self.soon.pop();
            } else {
                self.today.pop();
            }
            let action = decide(time, flow);
            if let TimerAction::Later(at) = action {
                self.enter(at, flow);
            }
            self.earliest = None;
            if action == TimerAction::Fires {
                return Some(flow);
            }
        }
    }

    #[inline]
    fn enter(&mut self, time: Time, flow: u32) {
        let day = time.0 >> DAY_BITS;
        if day < self.day {
            self.soon.push(Reverse((time, flow)));
        } else if day - self.day < DAYS {
            self.days[(day % DAYS) as usize].push((time.0 & ((1 << DAY_BITS) - 1)) << 32 | u64::from(flow));
            self.in_calendar += 1;
        } else {
            self.beyond.push((time, flow));
        }
    }

    /// Finds the earliest entry, and starts new days until there is one, if there is any entry.
    fn find_earliest(&mut self) {
        while self.today.is_empty() && self.soon.is_empty() && self.in_calendar + self.beyond.len() > 0 {
            self.begin_day();
        }
        let day_start = self.day.wrapping_sub(1) << DAY_BITS;
        let today = self.today.last().map(|&e| (Time(day_start | e >> 32), e as u32));
        let soon = self.soon.peek().map(|e| e.0);
        self.earliest = match (today, soon) {
            (Some(a), Some(b)) => Some(a.min(b)),
            (a, b) => a.or(b),
        };
    }

    /// Starts the next day, or the first one with entries if the calendar is empty.
    fn begin_day(&mut self) {
        if self.in_calendar == 0 {
            // Continue with the day of the earliest entry beyond the calendar.
            self.day = self.beyond.iter().map(|e| e.0 .0 >> DAY_BITS).min().unwrap_or(self.day);
            self.refill_calendar();
        }
        let entries = &mut self.days[(self.day % DAYS) as usize];
        self.in_calendar -= entries.len();
        self.today.append(entries);
        if self.today.len() > 1 {
            self.today.sort_unstable_by_key(|&e| Reverse(e));
        }
        self.day += 1;
        if self.day.is_multiple_of(DAYS) {
            self.refill_calendar();
        }
    }

    /// Moves entries from `beyond` into the calendar if they fit now. Once in each lap of the calendar is enough,
    /// because entries beyond it belong to a later lap.
    fn refill_calendar(&mut self) {
        for (time, flow) in std::mem::take(&mut self.beyond) {
            self.enter(time, flow);
        }
    }
}

/// What to do with a timer entry that is due.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TimerAction {
    /// Its flow has another entry: remove this one.
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
        fn events_until_a_time_are_found(
            times in prop::collection::vec(prop::option::of(0u64..50), 1..40), until in 0u64..50, most in 1usize..50
        ) {
            let mut queue = EventQueue::new(times.len());
            (0u32..).zip(&times).for_each(|(source, time)| queue.set(source, time.map_or(Time::NEVER, Time)));
            let mut found = Vec::new();
            queue.find_until(Time(until), most, &mut found);
            found.sort_unstable();
            let due = |&(_, time): &(u32, &Option<u64>)| time.is_some_and(|t| t <= until);
            let expected: Vec<u32> = (0u32..).zip(&times).filter(due).map(|(source, _)| source).collect();
            prop_assert_eq!(found.len(), most.min(expected.len()));
            prop_assert!(found.iter().all(|source| expected.contains(source)));
            found.dedup();
            prop_assert_eq!(found.len(), most.min(expected.len()));
        }

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

        #[test]
        fn timers_fire_in_the_order_of_time_and_flow(
            ops in prop::collection::vec((0u64..3_000_000_000, 0u32..8, prop::option::of(0u64..70_000_000_000)), 1..200)
        ) {
            let (mut timers, mut model) = (Timers::default(), std::collections::BTreeSet::new());
            let mut now = Time::ZERO;
            for (step, flow, moved) in ops {
                let at = Time(now.0 + step);
                // Equal entries are one entry in the model, so each is pushed once.
                if model.insert((at, flow)) {
                    timers.push(at, flow);
                }
                prop_assert_eq!(timers.first(), model.first().copied());
                now = Time(now.0 + step / 3);
                // The first due entry is moved, or all fire one after the other.
                let mut later = moved.map(|by| Time(now.0 + 1 + by));
                let fired = timers.fire(now, |time, flow| {
                    assert_eq!(model.pop_first(), Some((time, flow)));
                    match later.take().filter(|&at| model.insert((at, flow))) {
                        Some(at) => TimerAction::Later(at),
                        None => TimerAction::Fires,
                    }
                });
                if fired.is_none() {
                    prop_assert!(model.first().is_none_or(|e| e.0 > now));
                }
            }
            while let Some((time, flow)) = model.pop_first() {
                prop_assert_eq!(timers.first(), Some((time, flow)));
                prop_assert_eq!(timers.fire(time, |_, _| TimerAction::Fires), Some(flow));
            }
            prop_assert_eq!(timers.first(), None);
        }
    }
}
