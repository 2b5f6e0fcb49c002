//! Timers of flows, in order of time. All together are one source of events.

use marqueue_core::Time;
use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::iter::once;

/// The flows whose timers are entered.
pub trait TimerOwners {
    /// When the timer of `flow` that is entered at `entry` is due by now, not before that. From now on this is the time of
    /// its entry. `None` if the flow has another entry or no timer any more.
    fn due(&mut self, entry: Time, flow: u32) -> Option<Time>;

    /// Prefetches what [`TimerOwners::due`] reads.
    fn prefetch(&self, flow: u32);
}

/// Flow timers. A timer that is moved to a later time keeps its entry until that is checked; one that is
/// moved to an earlier time gets a new entry, and the old one is ignored.
///
/// A calendar (R. Brown, CACM 31(10), 1988): the entries of later days are unsorted, and those of a day are sorted when it
/// begins. In a heap of all entries, each level would be a cache miss with a million flows.
///
/// Most retransmission timers are moved by each acknowledgement and never fire. So the start of a *page*, which is some days,
/// is an event: all entries of the page are checked, and most leave it before they are sorted and become events one by one.
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
    /// A bit for each of `days`, whether it has entries; a word for each page.
    pages: [u64; PAGES],
    /// Entries of days beyond those.
    beyond: Vec<(Time, u32)>,
    /// The first page that has not begun.
    page: u64,
    /// The earliest event, if it is known.
    earliest: Option<TimerEvent>,
    /// Buffer for the entries of a day that are checked.
    checked: Vec<u64>,
}

/// What is due next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TimerEvent {
    /// The first page with entries begins.
    Page(Time),
    /// The entry of a flow.
    Entry(Time, u32),
}

impl TimerEvent {
    /// Its time.
    pub fn time(self) -> Time {
        match self {
            TimerEvent::Page(time) | TimerEvent::Entry(time, _) => time,
        }
    }
}

/// Bits of a time of day: a day has about a millisecond.
const DAY_BITS: u32 = 20;

/// Days in a page, as many as a word has bits: a third of the shortest retransmission timeout of most transports (200 ms).
/// Of 8 to 128 days, 32 and 64 were the fastest with a thousand flows, 64 with a million.
const PAGE: u64 = u64::BITS as u64;

/// Pages in the calendar, which are about a second, longer than most retransmission timeouts.
const PAGES: usize = 16;

/// Days in the calendar.
const DAYS: u64 = PAGE * PAGES as u64;

/// Entries from the one that is checked to the one whose flow is prefetched.
const AHEAD: usize = 8;

impl Default for Timers {
    fn default() -> Timers {
        Timers {
            today: Vec::new(),
            soon: BinaryHeap::new(),
            day: 0,
            days: (0..DAYS).map(|_| Vec::new()).collect(),
            pages: [0; PAGES],
            beyond: Vec::new(),
            page: 0,
            earliest: None,
            checked: Vec::new(),
        }
    }
}

impl Timers {
    /// What is due next, at `now` or later.
    #[inline]
    pub fn first(&mut self, now: Time) -> Option<TimerEvent> {
        if self.earliest.is_none() {
            self.find_earliest(now);
        }
        self.earliest
    }

    /// Enters a timer of `flow`.
    pub fn push(&mut self, time: Time, flow: u32) {
        self.enter(time, flow);
        // Not found here if there is none: timers that come before the first one is wanted would begin days too early.
        match self.earliest {
            Some(TimerEvent::Entry(at, of)) if (time, flow) < (at, of) => {
                self.earliest = Some(TimerEvent::Entry(time, flow));
            }
            Some(TimerEvent::Page(at)) if time < at => self.earliest = None,
            _ => {}
        }
    }

    /// Begins what is due by `now`, until a timer fires. Returns its flow.
    pub fn fire(&mut self, now: Time, owners: &mut (impl TimerOwners + ?Sized)) -> Option<u32> {
        loop {
            let event = self.first(now).filter(|event| event.time() <= now)?;
            self.earliest = None;
            let TimerEvent::Entry(time, flow) = event else {
                self.begin_page((event.time().0 >> DAY_BITS) / PAGE, owners);
                continue;
            };
            if self.soon.peek() == Some(&Reverse((time, flow))) {
                self.soon.pop();
            } else {
                self.today.pop();
            }
            match owners.due(time, flow) {
                None => {}
                Some(at) if at > time => self.enter(at, flow),
                Some(_) => return Some(flow),
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
            self.pages[(day / PAGE) as usize % PAGES] |= 1 << (day % PAGE);
        } else {
            self.beyond.push((time, flow));
        }
    }

    /// Finds what is due next, and starts the days of pages that have begun until there is something, if there is
    /// any entry.
    fn find_earliest(&mut self, now: Time) {
        self.page = self.page.max((now.0 >> DAY_BITS) / PAGE + 1);
        while self.today.is_empty() && self.soon.is_empty() {
            match self.first_day() {
                Some(day) if day / PAGE >= self.page => {
                    self.earliest = Some(TimerEvent::Page(Time((day - day % PAGE) << DAY_BITS)));
                    return;
                }
                Some(day) => self.begin_day(day),
                None if self.is_empty() && self.beyond.is_empty() => return,
                None => self.begin_lap(),
            }
        }
        let day_start = self.day.wrapping_sub(1) << DAY_BITS;
        let today = self.today.last().map(|&e| (Time(day_start | e >> 32), e as u32));
        let soon = self.soon.peek().map(|e| e.0);
        let first = match (today, soon) {
            (Some(a), Some(b)) => Some(a.min(b)),
            (a, b) => a.or(b),
        };
        self.earliest = first.map(|(time, flow)| TimerEvent::Entry(time, flow));
    }

    /// Has the calendar no entries?
    fn is_empty(&self) -> bool {
        self.pages.iter().all(|&days| days == 0)
    }

    /// The first day with entries in what is left of the lap of `day`.
    fn first_day(&self) -> Option<u64> {
        let (today, first) = (self.day % PAGE, self.day / PAGE);
        let here = self.pages[first as usize % PAGES] >> today << today;
        let lap = first - first % PAGES as u64 + PAGES as u64;
        let pages = once(here).chain(self.pages[first as usize % PAGES..].iter().skip(1).copied());
        (first..lap)
            .zip(pages)
            .find(|(_, days)| *days != 0)
            .map(|(page, days)| page * PAGE + u64::from(days.trailing_zeros()))
    }

    /// Starts this page: entries whose timers have been moved leave it.
    fn begin_page(&mut self, page: u64, owners: &mut (impl TimerOwners + ?Sized)) {
        self.page = page + 1;
        let mut entries = std::mem::take(&mut self.checked);
        for day in page * PAGE..self.page * PAGE {
            std::mem::swap(&mut self.days[(day % DAYS) as usize], &mut entries);
            self.pages[page as usize % PAGES] &= !(1 << (day % PAGE));
            for (i, &entry) in entries.iter().enumerate() {
                if let Some(&ahead) = entries.get(i + AHEAD) {
                    owners.prefetch(ahead as u32);
                }
                let (time, flow) = (Time(day << DAY_BITS | entry >> 32), entry as u32);
                if let Some(at) = owners.due(time, flow) {
                    self.enter(at, flow);
                }
            }
            entries.clear();
        }
        self.checked = entries;
    }

    /// Starts a day, the first one with entries.
    fn begin_day(&mut self, day: u64) {
        self.today.append(&mut self.days[(day % DAYS) as usize]);
        self.pages[(day / PAGE) as usize % PAGES] &= !(1 << (day % PAGE));
        if self.today.len() > 1 {
            self.today.sort_unstable_by_key(|&e| Reverse(e));
        }
        self.day = day + 1;
        if self.day.is_multiple_of(DAYS) {
            self.refill_calendar();
        }
    }

    /// Continues with the next lap, or with the first one that has entries.
    fn begin_lap(&mut self) {
        let next = self.day - self.day % DAYS + DAYS;
        let first = self.beyond.iter().map(|e| e.0 .0 >> DAY_BITS).min().filter(|_| self.is_empty());
        self.day = first.map_or(next, |day| day - day % PAGE);
        self.refill_calendar();
    }

    /// Moves entries from `beyond` into the calendar if they fit now. Once in each lap of the calendar is enough,
    /// because entries beyond it belong to a later lap.
    fn refill_calendar(&mut self) {
        for (time, flow) in std::mem::take(&mut self.beyond) {
            self.enter(time, flow);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use marqueue_core::Dur;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn timers_fire_when_they_are_due_in_the_order_of_flows(
            ops in prop::collection::vec((0u64..3_000_000_000, 0u32..8, prop::option::of(0u64..70_000_000_000)), 1..200)
        ) {
            let (mut timers, mut flows) = (Timers::default(), Flows::default());
            let mut now = Time::ZERO;
            for (i, (step, flow, after)) in ops.into_iter().enumerate() {
                // Within a day, a page, a lap, and beyond.
                let most = [u64::MAX, 2_000_000_000, 30_000_000, 2_000_000][i % 4];
                let until = Time(now.0 + step % most);
                while let Some(event) = timers.first(now).filter(|event| event.time() <= until) {
                    prop_assert!(event.time() >= now);
                    now = event.time();
                    while let Some(flow) = timers.fire(now, &mut flows) {
                        prop_assert_eq!(flows.fire_first(), Some((now, flow)));
                    }
                    prop_assert!(flows.first().is_none_or(|(at, _)| at > now));
                }
                prop_assert!(flows.first().is_none_or(|(at, _)| at > until));
                now = until;
                flows.set(flow, after.map(|after| Time(now.0 + after % most)), &mut timers);
            }
            while let Some((at, flow)) = flows.first() {
                while timers.first(now).is_some_and(|event| event.time() < at) {
                    now = timers.first(now).map_or(now, TimerEvent::time);
                    prop_assert_eq!(timers.fire(now, &mut flows), None);
                }
                now = at;
                prop_assert_eq!(timers.fire(now, &mut flows), Some(flow));
                flows.fire_first();
            }
        }
    }

    /// Eight flows: when their timers are due, and where they are entered.
    #[derive(Default)]
    struct Flows {
        deadlines: [Option<Time>; 8],
        entries: [Option<Time>; 8],
    }

    impl Flows {
        /// The first timer that is due, with its flow.
        fn first(&self) -> Option<(Time, u32)> {
            (0..).zip(self.deadlines).filter_map(|(flow, at)| Some((at?, flow))).min()
        }

        /// Ends the first timer, which fires. Returns it.
        fn fire_first(&mut self) -> Option<(Time, u32)> {
            let (at, flow) = self.first()?;
            (self.deadlines[flow as usize], self.entries[flow as usize]) = (None, None);
            Some((at, flow))
        }

        /// Sets or stops a timer.
        fn set(&mut self, flow: u32, deadline: Option<Time>, timers: &mut Timers) {
            self.deadlines[flow as usize] = deadline;
            let entry = &mut self.entries[flow as usize];
            if let Some(at) = deadline.filter(|&at| entry.is_none_or(|entry| at < entry)) {
                *entry = Some(at);
                timers.push(at, flow);
            }
        }
    }

    impl TimerOwners for Flows {
        fn due(&mut self, at: Time, flow: u32) -> Option<Time> {
            let entry = &mut self.entries[flow as usize];
            if *entry != Some(at) {
                return None;
            }
            *entry = self.deadlines[flow as usize].map(|deadline| deadline.max(at));
            *entry
        }

        fn prefetch(&self, _: u32) {}
    }

    #[test]
    fn timers_that_are_moved_before_their_page_begins_are_no_events() {
        let (mut timers, mut flows) = (Timers::default(), Flows::default());
        let page = Dur(PAGE << DAY_BITS);
        for flow in 0..8 {
            flows.set(flow, Some(Time::ZERO + page + Dur(u64::from(flow))), &mut timers);
            flows.set(flow, Some(Time::ZERO + page + page + page + Dur(u64::from(flow))), &mut timers);
        }
        let start = Time::ZERO + page;
        assert_eq!(timers.first(Time::ZERO), Some(TimerEvent::Page(start)));
        assert_eq!(timers.fire(start, &mut flows), None);
        assert_eq!(timers.first(start), Some(TimerEvent::Page(start + page + page)));
    }
}
