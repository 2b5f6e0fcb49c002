//! Packets on links of their own flows, in order of arrival.

use marqueue_core::{Dur, Packet, Time};
use std::cmp::Ordering;

/// Bits of a time of day: a day has about a quarter of a millisecond.
const DAY_BITS: u32 = 18;

/// Days in the calendar: about a quarter of a second, longer than most propagation delays.
const DAYS: u64 = 1 << 10;

/// Packets from the first to the one whose flow is prefetched.
const AHEAD: usize = 8;

/// Packets in a block of memory. Days grow and shrink by blocks, which they exchange: how many packets arrive in a day
/// varies by a large factor while flows start, so that a buffer for each day would take several times the memory.
const BLOCK: usize = 16;

/// A packet with its arrival time.
pub type Entry = (Time, Packet);

/// Packets by arrival time. Of those that arrive at the same instant, that of the flow with the shorter delay comes
/// first, as with links of all flows; then that of the lower flow slot. Methods that may compare packets are given the
/// delay of each flow slot.
///
/// A calendar (R. Brown, CACM 31(10), 1988): only the packets of the current day are in order, those of later days are
/// unsorted. A heap would move half of its levels for each packet, since most packets arrive later than all others.
#[derive(Debug)]
pub struct Calendar {
    /// Packets that arrive before the start of `day`, the first one last; empty only if there is no packet at all.
    today: Vec<Entry>,
    /// The first day whose packets are still in `days`.
    day: u64,
    /// Packets of day `d` at `d % DAYS`, for the `DAYS` days from `day` on.
    days: Vec<Vec<Vec<Entry>>>,
    /// Empty blocks.
    free: Vec<Vec<Entry>>,
    /// Number of packets in `days`.
    in_calendar: usize,
    /// Packets of days beyond those.
    beyond: Vec<Entry>,
}

impl Default for Calendar {
    fn default() -> Calendar {
        let days = (0..DAYS).map(|_| Vec::new()).collect();
        Calendar { today: Vec::new(), day: 0, days, free: Vec::new(), in_calendar: 0, beyond: Vec::new() }
    }
}

impl Calendar {
    /// Number of packets.
    pub fn len(&self) -> usize {
        self.today.len() + self.in_calendar + self.beyond.len()
    }

    /// The first packet, with its arrival time.
    #[inline]
    pub fn first(&self) -> Option<&Entry> {
        self.today.last()
    }

    /// Is there no other packet of today behind the first? When it is removed, a new day begins.
    #[inline]
    pub fn ends_day(&self) -> bool {
        self.today.len() == 1
    }

    /// The packets that have come near since the last removal, so that what they need can be prefetched: one, or
    /// several if a new day has begun.
    #[inline]
    pub fn come_near(&self, new_day: bool) -> &[Entry] {
        let near = self.today.len().saturating_sub(AHEAD);
        match new_day {
            true => &self.today[near..],
            false if self.today.len() >= AHEAD => &self.today[near..=near],
            false => &[],
        }
    }

    /// Adds a packet that arrives at `at`, not before the last one that was removed. Returns whether it is the first.
    #[inline]
    pub fn push(&mut self, at: Time, packet: Packet, delay: impl Fn(u32) -> Dur) -> bool {
        if at.0 >> DAY_BITS < self.day {
            let entry = (at, packet);
            let later = self.today.partition_point(|e| order(e, &entry, &delay).is_gt());
            self.today.insert(later, entry);
            return later + 1 == self.today.len();
        }
        let was_empty = self.today.is_empty();
        self.enter((at, packet));
        self.open_days(delay);
        was_empty
    }

    /// Removes the first packet.
    #[inline]
    pub fn remove_first(&mut self, delay: impl Fn(u32) -> Dur) {
        self.today.pop();
        if self.today.is_empty() {
            self.open_days(delay);
        }
    }

    /// Adds a packet that does not arrive today.
    #[inline]
    fn enter(&mut self, entry: Entry) {
        let day = entry.0 .0 >> DAY_BITS;
        if day - self.day < DAYS {
            let blocks = &mut self.days[(day % DAYS) as usize];
            match blocks.last_mut() {
                Some(block) if block.len() < BLOCK => block.push(entry),
                _ => {
                    let mut block = self.free.pop().unwrap_or_else(|| Vec::with_capacity(BLOCK));
                    block.push(entry);
                    blocks.push(block);
                }
            }
            self.in_calendar += 1;
        } else {
            self.beyond.push(entry);
        }
    }

    /// Starts new days until `today` has a packet, if there is any.
    fn open_days(&mut self, delay: impl Fn(u32) -> Dur) {
        while self.today.is_empty() && self.in_calendar + self.beyond.len() > 0 {
            if self.in_calendar == 0 {
                // Nothing arrives for a whole lap: continue with the day of the earliest packet beyond it.
                self.day = self.beyond.iter().map(|e| e.0 .0 >> DAY_BITS).min().unwrap_or(self.day);
                self.refill();
            }
            for mut block in self.days[(self.day % DAYS) as usize].drain(..) {
                self.today.append(&mut block);
                self.free.push(block);
            }
            self.in_calendar -= self.today.len();
            self.today.sort_unstable_by(|a, b| order(b, a, &delay));
            self.day += 1;
            if self.day.is_multiple_of(DAYS) {
                self.refill();
            }
        }
    }

    /// Moves packets from `beyond` into the calendar if they fit now. Once in each lap is enough, because they belong
    /// to a later lap.
    fn refill(&mut self) {
        for entry in std::mem::take(&mut self.beyond) {
            self.enter(entry);
        }
    }
}

/// Which of two packets comes first.
#[inline]
pub fn order(a: &Entry, b: &Entry, delay: impl Fn(u32) -> Dur) -> Ordering {
    let key = |e: &Entry| (delay(e.1.flow()), e.1.flow());
    a.0.cmp(&b.0).then_with(|| key(a).cmp(&key(b)))
}
