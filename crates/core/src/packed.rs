//! Many packets in order of time, in 12 bytes each: three eighths of what times and packets as they are take. For links and
//! queues of runs with very many flows, whose memory is packets for the most part.
//!
//! A place has the flow, the sequence number, the time since the place before it, and the number of a *form*: size,
//! head and stage, of which a run has few. What does not fit is in a queue of its own beside the places.

use crate::{ring, Dur, Packet, Time};
use alloc::boxed::Box;
use alloc::collections::VecDeque;
use alloc::vec::Vec;

/// What packets have in common: size, head and stage.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Form {
    /// The size above the head.
    size_and_head: u64,
    stage: u32,
}

impl Form {
    /// The form of a packet.
    #[inline(always)]
    pub fn of(packet: &Packet) -> Form {
        Form { size_and_head: packet.form(), stage: packet.stage() }
    }

    /// A packet of this form.
    #[inline(always)]
    pub fn packet(self, flow_and_seq: u64, options: u32) -> Packet {
        Packet::of_form(flow_and_seq, self.size_and_head, options, self.stage)
    }
}

/// The forms of packets, by number. Several [`PackedPackets`] may share them.
#[derive(Clone, Debug)]
pub struct Forms {
    forms: Vec<Form>,
    /// Numbers by hash, with linear probing.
    by_hash: Box<[u16; Forms::SLOTS]>,
}

impl Forms {
    /// Bits of a form's number.
    const BITS: u32 = 14;
    /// Instead of a number: there are none left.
    pub const NONE: u16 = (1 << Forms::BITS) - 1;
    /// So many that at most half of them are taken.
    const SLOTS: usize = 2 << Forms::BITS;
    /// 2^64 over the golden ratio (D. E. Knuth, The Art of Computer Programming, vol. 3, section 6.4).
    const MULTIPLIER: u64 = 0x9e37_79b9_7f4a_7c15;

    /// The number of a form, which it gets when it is seen first: from 0 on, in this order. [`Forms::NONE`] if there are no
    /// numbers left.
    #[inline(always)]
    pub fn number(&mut self, form: Form) -> u16 {
        let key = form.size_and_head ^ u64::from(form.stage).rotate_left(32);
        let mut slot = (key.wrapping_mul(Forms::MULTIPLIER) >> (63 - Forms::BITS)) as usize;
        loop {
            let number = self.by_hash[slot];
            if number == Forms::NONE {
                return self.add(form, slot);
            }
            if self.forms[number as usize] == form {
                return number;
            }
            slot = (slot + 1) % Forms::SLOTS;
        }
    }

    #[cold]
    #[inline(never)]
    fn add(&mut self, form: Form, slot: usize) -> u16 {
        let number = self.forms.len() as u16;
        if number < Forms::NONE {
            self.forms.push(form);
            self.by_hash[slot] = number;
        }
        number
    }

    /// The packet of a place.
    #[inline(always)]
    fn packet(&self, place: Place, options: u32) -> Packet {
        self.forms[place.form() as usize].packet(u64::from(place.flow()) << 32 | u64::from(place.seq), options)
    }
}

impl Default for Forms {
    fn default() -> Forms {
        Forms { forms: Vec::new(), by_hash: Box::new([Forms::NONE; Forms::SLOTS]) }
    }
}

/// A packet, or that it is in the queue of wide ones.
#[derive(Clone, Copy, Debug)]
struct Place {
    /// From above: flow (27 bits), the lower bits of the form's number (5).
    flow_and_form: u32,
    seq: u32,
    /// From above: time since the place before (22 bits, ns: up to 4 ms), whether it has options, the upper bits of the
    /// form's number (9).
    rest: u32,
}

/// The bits of a flow and of the time since the place before, and those of the form's number below each.
const FLOW: u32 = 27;
const GAP: u32 = 22;
const LOWER: u32 = 32 - FLOW;
const UPPER: u32 = Forms::BITS - LOWER;
const HAS_OPTIONS: u32 = 1 << UPPER;

impl Place {
    /// The place of a packet in the queue of wide ones.
    const WIDE: Place = Place::new(0, 0, 0, false, Forms::NONE);

    #[inline(always)]
    const fn new(flow: u32, seq: u32, gap: u32, has_options: bool, form: u16) -> Place {
        let (lower, upper) = (form as u32 & ((1 << LOWER) - 1), form as u32 >> LOWER);
        let options = if has_options { HAS_OPTIONS } else { 0 };
        Place { flow_and_form: flow << LOWER | lower, seq, rest: gap << (UPPER + 1) | options | upper }
    }

    #[inline(always)]
    fn form(self) -> u16 {
        ((self.rest & (HAS_OPTIONS - 1)) << LOWER | self.flow_and_form & ((1 << LOWER) - 1)) as u16
    }

    #[inline(always)]
    fn has_options(self) -> bool {
        self.rest & HAS_OPTIONS != 0
    }

    #[inline(always)]
    fn gap(self) -> u64 {
        u64::from(self.rest >> (UPPER + 1))
    }

    #[inline(always)]
    fn flow(self) -> u32 {
        self.flow_and_form >> LOWER
    }
}

/// Packets, each with a time, in order of time. Methods that read or write packets are given the same forms each time.
#[derive(Clone, Debug, Default)]
pub struct PackedPackets {
    places: VecDeque<Place>,
    /// The time of the first, if there is one.
    first: Time,
    /// The time of the last, if there is one.
    last: Time,
    /// Options of the packets that have some.
    options: VecDeque<u32>,
    /// Packets that do not fit a place, with the time since the place before.
    wide: VecDeque<(Dur, Packet)>,
    /// The words of the packet that was removed last.
    taken: (u64, u64, u64),
}

impl PackedPackets {
    /// Number of packets.
    pub fn len(&self) -> usize {
        self.places.len()
    }

    /// Is there none?
    pub fn is_empty(&self) -> bool {
        self.places.is_empty()
    }

    /// The time of the first packet.
    pub fn first_time(&self) -> Option<Time> {
        (!self.is_empty()).then_some(self.first)
    }

    /// The next stage and the flow of the first packet; `None` too if it does not fit a place.
    #[inline]
    pub fn first(&self, forms: &Forms) -> Option<(u32, u32)> {
        let first = self.places.front().filter(|place| place.form() != Forms::NONE)?;
        Some((forms.forms[first.form() as usize].stage, first.flow()))
    }

    /// The options of the first packet; none too if it does not fit a place.
    #[inline]
    pub fn first_options(&self) -> u32 {
        let has_options = self.places.front().is_some_and(|place| place.has_options());
        let first = self.options.front().filter(|_| has_options);
        first.copied().unwrap_or(Packet::NO_OPTIONS)
    }

    /// Prefetches the first place and the one behind the last.
    #[inline]
    pub fn prefetch_ends(&self) {
        ring::prefetch_ends(&self.places);
    }

    /// The packets in order, each with its time.
    pub fn iter<'a>(&'a self, forms: &'a Forms) -> impl Iterator<Item = (Time, Packet)> + 'a {
        let (mut options, mut wide) = (self.options.iter(), self.wide.iter());
        // The first is at its time whatever came before it.
        let mut at = None;
        self.places.iter().map_while(move |&place| {
            let (gap, packet) = if place.form() == Forms::NONE {
                *wide.next()?
            } else {
                let options = if place.has_options() { *options.next()? } else { Packet::NO_OPTIONS };
                (Dur(place.gap()), forms.packet(place, options))
            };
            let time = at.map_or(self.first, |before: Time| before + gap);
            at = Some(time);
            Some((time, packet))
        })
    }

    /// Adds a packet whose time is `at`, not before the last one. Returns whether it is the first.
    #[inline(always)]
    pub fn push_back(&mut self, at: Time, packet: Packet, forms: &mut Forms) -> bool {
        let (a, b, c) = packet.words();
        self.push_words(at, a, b, c, forms)
    }

    /// Adds the packet of such words.
    #[inline(never)]
    fn push_words(&mut self, at: Time, a: u64, b: u64, c: u64, forms: &mut Forms) -> bool {
        let packet = Packet::of_words((a, b, c));
        let is_first = self.places.is_empty();
        if is_first {
            (self.first, self.last) = (at, at);
        }
        debug_assert!(self.last <= at, "packets are in order of time");
        let gap = at.0 - self.last.0;
        self.last = at;
        let form = forms.number(Form::of(&packet));
        if form == Forms::NONE || gap >> GAP != 0 || packet.flow() >> FLOW != 0 {
            self.push_wide(Dur(gap), packet);
            return is_first;
        }
        let has_options = packet.options() != Packet::NO_OPTIONS;
        let place = Place::new(packet.flow(), packet.seq(), gap as u32, has_options, form);
        ring::push_back(&mut self.places, place);
        if has_options {
            ring::push_back(&mut self.options, packet.options());
        }
        is_first
    }

    #[cold]
    #[inline(never)]
    fn push_wide(&mut self, gap: Dur, packet: Packet) {
        ring::push_back(&mut self.places, Place::WIDE);
        self.wide.push_back((gap, packet));
    }

    /// Removes the first packet. Returns it with the time and the flow of the next one, which for none are never and its
    /// own.
    #[inline(always)]
    pub fn pop_front(&mut self, forms: &Forms) -> Option<(Packet, Time, u32)> {
        if !self.take_front(forms) {
            return None;
        }
        let packet = Packet::of_words(self.taken);
        let Some(next) = self.places.front() else { return Some((packet, Time::NEVER, packet.flow())) };
        ring::prefetch_after(next, ring::per_cache_line::<Place>());
        let (gap, flow) = if next.form() == Forms::NONE {
            self.wide.front().map(|(gap, packet)| (gap.0, packet.flow()))?
        } else {
            (next.gap(), next.flow())
        };
        self.first.0 += gap;
        Some((packet, self.first, flow))
    }

    /// Moves the words of the first packet to [`PackedPackets::taken`]; `false` if there is none.
    #[inline(never)]
    fn take_front(&mut self, forms: &Forms) -> bool {
        let Some(place) = self.places.pop_front() else { return false };
        let packet = if place.form() == Forms::NONE {
            self.wide.pop_front().map(|(_, packet)| packet)
        } else {
            let options = if place.has_options() { self.options.pop_front() } else { Some(Packet::NO_OPTIONS) };
            options.map(|options| forms.packet(place, options))
        };
        let Some(packet) = packet else { return false };
        self.taken = packet.words();
        true
    }

    /// Inserts a packet whose time is `at` behind those until then. Returns the number of those behind it.
    pub fn insert(&mut self, at: Time, packet: Packet, forms: &mut Forms) -> usize {
        let mut behind = Vec::new();
        while !self.places.is_empty() && self.last > at {
            behind.extend(self.pop_back(forms));
        }
        self.push_back(at, packet, forms);
        for &(at, packet) in behind.iter().rev() {
            self.push_back(at, packet, forms);
        }
        behind.len()
    }

    /// Removes the last packet, with its time.
    pub fn pop_back(&mut self, forms: &Forms) -> Option<(Time, Packet)> {
        let (place, at) = (self.places.pop_back()?, self.last);
        let (gap, packet) = if place.form() == Forms::NONE {
            self.wide.pop_back()?
        } else {
            let options = if place.has_options() { self.options.pop_back()? } else { Packet::NO_OPTIONS };
            (Dur(place.gap()), forms.packet(place, options))
        };
        // Behind nothing the gap is not read: the next to come is the first again.
        self.last.0 = at.0.saturating_sub(gap.0);
        Some((at, packet))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Ecn, Head};
    use proptest::prelude::*;

    /// The packet of a draw: flows that fit and that do not, few and many sizes and stages, with options and without.
    fn packet(draw: u32) -> Packet {
        let bytes = if draw.is_multiple_of(5) { draw } else { 500 };
        let stage = if draw.is_multiple_of(7) { draw } else { draw % 4 };
        let options = if draw.is_multiple_of(3) { draw } else { Packet::NO_OPTIONS };
        let head = Head::default().with_ecn([Ecn::Ect0, Ecn::Ce][draw as usize % 2]);
        Packet::data((draw / 2) >> (draw % 8), draw, bytes).with_stage(stage).with_options(options).with_head(head)
    }

    /// What tells packets apart.
    fn parts(packet: &Packet) -> (u64, u64, u32, u32) {
        (packet.flow_and_seq(), packet.form(), packet.options(), packet.stage())
    }

    proptest! {
        #[test]
        fn packets_come_out_as_they_went_in(
            ops in prop::collection::vec((any::<u32>(), 0u64..1 << 40, 0usize..4, 0usize..3), 1..400)
        ) {
            let (mut forms, mut line, mut model) = (Forms::default(), PackedPackets::default(), VecDeque::new());
            for (draw, after, scale, removed) in ops {
                let (packet, now) = (packet(draw), model.front().map_or(Time::ZERO, |&(at, _)| at));
                let at = Time(now.0 + after % [1, 1 << 20, 1 << 29, u64::MAX][scale]);
                let behind = model.iter().rev().take_while(|&&(other, _)| other > at).count();
                prop_assert_eq!(line.insert(at, packet, &mut forms), behind);
                model.insert(model.len() - behind, (at, packet));
                for _ in 0..removed {
                    let (found, first) = (line.pop_front(&forms), model.pop_front());
                    prop_assert_eq!(found.map(|(packet, ..)| parts(&packet)), first.map(|(_, packet)| parts(&packet)));
                    if let (Some((_, at, flow)), Some((next, packet))) = (found, model.front()) {
                        prop_assert_eq!((at, flow), (*next, packet.flow()));
                    }
                    prop_assert_eq!(line.len(), model.len());
                }
                let all: Vec<_> = line.iter(&forms).map(|(at, packet)| (at, parts(&packet))).collect();
                prop_assert_eq!(all, model.iter().map(|(at, packet)| (*at, parts(packet))).collect::<Vec<_>>());
            }
            prop_assert!(line.wide.len() + line.options.len() <= 2 * line.len());
        }
    }

    #[test]
    fn more_forms_than_have_numbers_stay_apart() {
        let (mut forms, mut line) = (Forms::default(), PackedPackets::default());
        for round in 0..2 {
            for bytes in 0..3 * u32::from(Forms::NONE) {
                line.push_back(Time::ZERO, Packet::data(round, 0, bytes), &mut forms);
            }
        }
        for round in 0..2 {
            for bytes in 0..3 * u32::from(Forms::NONE) {
                let (packet, ..) = line.pop_front(&forms).unwrap();
                assert_eq!((packet.flow(), packet.bytes()), (round, bytes));
            }
        }
        assert_eq!((line.len(), line.wide.len()), (0, 0));
    }

    #[test]
    fn a_place_has_12_bytes() {
        assert_eq!(size_of::<Place>(), 12);
    }
}
