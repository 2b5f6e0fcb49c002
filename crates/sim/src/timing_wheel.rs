//! Few packets on links of their own flows, in order of arrival.

use crate::calendar::{order, Entry};
use marqueue_core::{Dur, Packet, Time};
use prefetch_index::prefetch_index;

/// Bits of a time within a slot: a slot has about sixteen microseconds, in which few packets arrive.
const SLOT_BITS: u32 = 14;

/// Slots in the wheel: about a quarter of a second, longer than most propagation delays.
const SLOTS: usize = 1 << 14;

/// Slots whose state is one word.
const WORD: usize = u64::BITS as usize;

/// No packet.
const NONE: u16 = u16::MAX;

/// Packets by arrival time, in the order of [`Calendar`](crate::calendar::Calendar).
///
/// A timing wheel (G. Varghese and A. Lauck, SOSP 1987): a list of packets for each slot of time. Slots are so short that
/// most have one packet or none. So packets are neither sorted nor moved, as in a calendar, but the next one may be
/// anywhere in memory: worth it only while all of them stay in the cache.
#[derive(Debug)]
pub struct TimingWheel {
    /// The first packet of slot `s` at `s % SLOTS` if there is any, for the `SLOTS` slots from `base` on.
    heads: Vec<u16>,
    /// One bit for each of them: has it a packet?
    occupied: Vec<u64>,
    /// Places of packets.
    entries: Vec<Entry>,
    /// For each place, the next packet of the slot; the next free place if it is free.
    next: Vec<u16>,
    /// The first free place.
    free: u16,
    /// The slot of the last packet removed. Packets that arrive before it are in it.
    base: u64,
    /// The first packet and its slot; none only if there is no packet at all.
    first: u16,
    first_slot: u64,
    /// Number of packets in slots.
    in_slots: usize,
    /// Packets of later slots. They belong to a later lap than `base`.
    beyond: Vec<Entry>,
}

impl Default for TimingWheel {
    fn default() -> TimingWheel {
        TimingWheel {
            heads: vec![NONE; SLOTS],
            occupied: vec![0; SLOTS / WORD],
            entries: Vec::new(),
            next: Vec::new(),
            free: NONE,
            base: 0,
            first: NONE,
            first_slot: u64::MAX,
            in_slots: 0,
            beyond: Vec::new(),
        }
    }
}

impl TimingWheel {
    /// Most packets that it can hold. They and their lists take a quarter of a megabyte.
    pub const MOST: usize = 8192;

    /// Number of packets.
    #[inline]
    pub fn len(&self) -> usize {
        self.in_slots + self.beyond.len()
    }

    /// The first packet, with its arrival time.
    #[inline]
    pub fn first(&self) -> Option<&Entry> {
        self.entries.get(usize::from(self.first))
    }

    /// Adds a packet that arrives at `at`, not before the last one that was removed. Returns whether it is the first.
    #[inline]
    pub fn push(&mut self, at: Time, packet: Packet, delay: impl Fn(u32) -> Dur) -> bool {
        let slot = slot_of(at).max(self.base);
        if slot - self.base >= SLOTS as u64 {
            return self.push_beyond((at, packet), delay);
        }
        let leads = self.enter(slot, (at, packet), delay);
        let is_first = leads && slot <= self.first_slot;
        if is_first {
            self.set_first(slot);
        }
        is_first
    }

    /// Removes the first packet.
    #[inline]
    pub fn remove_first(&mut self, delay: impl Fn(u32) -> Dur) {
        let (place, slot) = (usize::from(self.first), self.first_slot);
        let next = std::mem::replace(&mut self.next[place], self.free);
        self.free = self.first;
        self.in_slots -= 1;
        let i = index(slot);
        match next {
            NONE => self.occupied[i / WORD] &= !(1 << (i % WORD)),
            _ => self.heads[i] = next,
        }
        let begins_lap = lap(slot) != lap(self.base);
        self.base = slot;
        if begins_lap && !self.beyond.is_empty() {
            self.refill(&delay);
        }
        match next {
            NONE => self.find_first(delay),
            _ => self.first = next,
        }
    }

    /// Adds a packet to a slot. Returns whether it is the first there.
    #[inline]
    fn enter(&mut self, slot: u64, entry: Entry, delay: impl Fn(u32) -> Dur) -> bool {
        let place = self.place(entry);
        self.in_slots += 1;
        let i = index(slot);
        let bit = 1 << (i % WORD);
        // Most slots are empty. Then nothing is read but the bit, which is in the cache.
        if self.occupied[i / WORD] & bit == 0 {
            self.occupied[i / WORD] |= bit;
            self.next[usize::from(place)] = NONE;
            self.heads[i] = place;
            return true;
        }
        let head = self.heads[i];
        if order(&entry, &self.entries[usize::from(head)], &delay).is_lt() {
            self.next[usize::from(place)] = head;
            self.heads[i] = place;
            return true;
        }
        let mut before = usize::from(head);
        loop {
            let next = self.next[before];
            if next == NONE || order(&entry, &self.entries[usize::from(next)], &delay).is_lt() {
                self.next[usize::from(place)] = next;
                self.next[before] = place;
                return false;
            }
            before = usize::from(next);
        }
    }

    /// Gives a packet a place.
    #[inline]
    fn place(&mut self, entry: Entry) -> u16 {
        let place = self.free;
        if place == NONE {
            self.entries.push(entry);
            self.next.push(NONE);
            return (self.entries.len() - 1) as u16;
        }
        self.entries[usize::from(place)] = entry;
        self.free = self.next[usize::from(place)];
        place
    }

    /// Adds a packet that arrives after a whole lap. Returns whether it is the first.
    #[cold]
    fn push_beyond(&mut self, entry: Entry, delay: impl Fn(u32) -> Dur) -> bool {
        self.beyond.push(entry);
        let is_first = self.first == NONE;
        if is_first {
            self.find_in_other_words(delay);
        }
        is_first
    }

    /// Finds the first packet: that of the first occupied slot from `base` on.
    #[inline]
    fn find_first(&mut self, delay: impl Fn(u32) -> Dur) {
        let i = index(self.base);
        let word = self.occupied[i / WORD] >> (i % WORD);
        match word {
            0 => self.find_in_other_words(delay),
            _ => {
                self.set_first(self.base + u64::from(word.trailing_zeros()));
                let others = word & (word - 1);
                if others != 0 {
                    let second = self.heads[index(self.base + u64::from(others.trailing_zeros()))];
                    prefetch_index(&self.entries, usize::from(second));
                }
            }
        }
    }

    /// The same if there may be none in the word of `base`.
    #[inline(never)]
    fn find_in_other_words(&mut self, delay: impl Fn(u32) -> Dur) {
        let mut found = self.occupied_slot();
        if !self.beyond.is_empty() && found.is_none_or(|slot| lap(slot) != lap(self.base)) {
            if found.is_none() {
                self.base = self.beyond.iter().map(|e| slot_of(e.0)).min().unwrap_or(self.base);
            }
            self.refill(delay);
            found = self.occupied_slot();
        }
        match found {
            Some(slot) => self.set_first(slot),
            None => (self.first, self.first_slot) = (NONE, u64::MAX),
        }
    }

    /// The first occupied slot from `base` on.
    fn occupied_slot(&self) -> Option<u64> {
        if self.in_slots == 0 {
            return None;
        }
        let i = index(self.base);
        let from_base = self.occupied[i / WORD] & (u64::MAX << (i % WORD));
        let words = self.occupied.len();
        let others = (1..=words).map(|k| (i / WORD + k) % words).map(|w| (w, self.occupied[w]));
        let (w, word) = std::iter::once((i / WORD, from_base)).chain(others).find(|&(_, word)| word != 0)?;
        let found = w * WORD + word.trailing_zeros() as usize;
        Some(self.base + (found.wrapping_sub(i) % SLOTS) as u64)
    }

    #[inline]
    fn set_first(&mut self, slot: u64) {
        self.first = self.heads[index(slot)];
        self.first_slot = slot;
    }

    /// Moves packets from `beyond` into slots if they fit now. Once in each lap is enough, because they belong to a
    /// later lap.
    #[cold]
    fn refill(&mut self, delay: impl Fn(u32) -> Dur) {
        for entry in std::mem::take(&mut self.beyond) {
            let slot = slot_of(entry.0);
            if slot - self.base < SLOTS as u64 {
                self.enter(slot, entry, &delay);
            } else {
                self.beyond.push(entry);
            }
        }
    }
}

fn slot_of(at: Time) -> u64 {
    at.0 >> SLOT_BITS
}

/// The place of a slot in the wheel.
#[inline]
fn index(slot: u64) -> usize {
    slot as usize % SLOTS
}

/// The lap of a slot.
fn lap(slot: u64) -> u64 {
    slot / SLOTS as u64
}
