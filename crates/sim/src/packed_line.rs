//! Packets on a link in order of arrival, in 16 bytes each: half of what times and packets as they are take. With many
//! flows this is a fifth of a run's memory (docs/performance.md, "From a hundred flows to a million").
//!
//! A place has the flow, the sequence number, the stage, the time since the arrival before it, and the number of a
//! *form*: size and head, of which a run has few. What does not fit is in a queue of its own beside the places.

use marqueue_core::{ring, Dur, Packet, Time};
use std::collections::VecDeque;

/// Sizes and heads of packets.
#[derive(Debug)]
pub struct Forms {
    /// By number: the size above the head.
    forms: Vec<u64>,
    /// Numbers by hash, with linear probing.
    by_hash: Box<[u16; Forms::SLOTS]>,
}

impl Forms {
    /// Bits of a form's number.
    const BITS: u32 = 11;
    /// Instead of a number: the packet does not fit a place.
    const NONE: u16 = (1 << Forms::BITS) - 1;
    /// So many that at most half of them are taken.
    const SLOTS: usize = 2 << Forms::BITS;
    /// 2^64 over the golden ratio (D. E. Knuth, The Art of Computer Programming, vol. 3, section 6.4).
    const MULTIPLIER: u64 = 0x9e37_79b9_7f4a_7c15;

    /// The number of a form, which it gets when it is seen first; [`Forms::NONE`] if there are no numbers left.
    #[inline(always)]
    fn number(&mut self, form: u64) -> u16 {
        let mut slot = (form.wrapping_mul(Forms::MULTIPLIER) >> (63 - Forms::BITS)) as usize;
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
    fn add(&mut self, form: u64, slot: usize) -> u16 {
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
        Packet::of_form(place.flow_and_seq, self.forms[place.form() as usize], options, place.stage())
    }
}

impl Default for Forms {
    fn default() -> Forms {
        Forms { forms: Vec::new(), by_hash: Box::new([Forms::NONE; Forms::SLOTS]) }
    }
}

/// A packet on a line.
#[derive(Clone, Copy, Debug)]
struct Place {
    flow_and_seq: u64,
    /// From above: time since the place before (28 bits, ns), stage (24), whether it has options, form (11).
    rest: u64,
}

/// The bits of a stage, of the time since the place before, and of what is below the stage.
const STAGE: u32 = 24;
const GAP: u32 = 28;
const BELOW: u32 = Forms::BITS + 1;
const HAS_OPTIONS: u64 = 1 << Forms::BITS;

impl Place {
    /// Of a packet that is in the queue of wide ones: that it is there, and its flow.
    fn wide(packet: &Packet) -> Place {
        Place { flow_and_seq: packet.flow_and_seq(), rest: u64::from(Forms::NONE) }
    }

    #[inline(always)]
    fn new(packet: &Packet, gap: u64, form: u16) -> Place {
        let options = if packet.options() == Packet::NO_OPTIONS { 0 } else { HAS_OPTIONS };
        let rest = gap << (BELOW + STAGE) | u64::from(packet.stage()) << BELOW | options | u64::from(form);
        Place { flow_and_seq: packet.flow_and_seq(), rest }
    }

    #[inline(always)]
    fn form(self) -> u16 {
        (self.rest & (HAS_OPTIONS - 1)) as u16
    }

    #[inline(always)]
    fn has_options(self) -> bool {
        self.rest & HAS_OPTIONS != 0
    }

    #[inline(always)]
    fn stage(self) -> u32 {
        (self.rest >> BELOW) as u32 & ((1 << STAGE) - 1)
    }

    #[inline(always)]
    fn gap(self) -> u64 {
        self.rest >> (BELOW + STAGE)
    }

    #[inline(always)]
    fn flow(self) -> u32 {
        (self.flow_and_seq >> 32) as u32
    }
}

/// Packets on one link, the first to arrive in front.
#[derive(Debug, Default)]
pub struct PackedLine {
    places: VecDeque<Place>,
    /// When the first arrives, if there is one.
    first: Time,
    /// When the last arrives, if there is one.
    last: Time,
    /// Options of the packets that have some.
    options: VecDeque<u32>,
    /// Packets that do not fit a place, with the time since the place before.
    wide: VecDeque<(Dur, Packet)>,
}

impl PackedLine {
    /// Number of packets.
    pub fn len(&self) -> usize {
        self.places.len()
    }

    /// Adds a packet that arrives at `at`, not before the last one. Returns whether it is the first.
    #[inline(never)]
    pub fn push_back(&mut self, at: Time, packet: Packet, forms: &mut Forms) -> bool {
        let is_first = self.places.is_empty();
        if is_first {
            (self.first, self.last) = (at, at);
        }
        debug_assert!(self.last <= at, "a link keeps the order");
        let gap = at.0 - self.last.0;
        self.last = at;
        let form = forms.number(packet.form());
        if form == Forms::NONE || gap >> GAP != 0 || packet.stage() >> STAGE != 0 {
            self.push_wide(Dur(gap), packet);
            return is_first;
        }
        ring::push_back(&mut self.places, Place::new(&packet, gap, form));
        if packet.options() != Packet::NO_OPTIONS {
            ring::push_back(&mut self.options, packet.options());
        }
        is_first
    }

    #[cold]
    #[inline(never)]
    fn push_wide(&mut self, gap: Dur, packet: Packet) {
        ring::push_back(&mut self.places, Place::wide(&packet));
        self.wide.push_back((gap, packet));
    }

    /// Removes the first packet. Returns it with the arrival time and the flow of the next one, which for none are never
    /// and its own.
    #[inline(never)]
    pub fn pop_front(&mut self, forms: &Forms) -> Option<(Packet, Time, u32)> {
        let place = self.places.pop_front()?;
        let packet = if place.form() == Forms::NONE {
            self.wide.pop_front()?.1
        } else {
            let options = if place.has_options() { self.options.pop_front()? } else { Packet::NO_OPTIONS };
            forms.packet(place, options)
        };
        let Some(next) = self.places.front() else { return Some((packet, Time::NEVER, packet.flow())) };
        ring::prefetch_after(next, ring::per_cache_line::<Place>());
        self.first.0 += if next.form() == Forms::NONE { self.wide.front()?.0 .0 } else { next.gap() };
        Some((packet, self.first, next.flow()))
    }

    /// Inserts a packet that arrives at `at` behind those that arrive until then. Returns the number of those behind it.
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

    /// Removes the last packet, with its time of arrival.
    fn pop_back(&mut self, forms: &Forms) -> Option<(Time, Packet)> {
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
    use marqueue_core::{Ecn, Head};
    use proptest::prelude::*;

    /// The packet of a draw: few and many sizes, stages and options that fit and that do not.
    fn packet(draw: u32) -> Packet {
        let bytes = if draw.is_multiple_of(5) { draw } else { 500 };
        let stage = if draw.is_multiple_of(7) { 1 << STAGE } else { draw % (1 << STAGE) };
        let options = if draw.is_multiple_of(3) { draw } else { Packet::NO_OPTIONS };
        let head = Head::default().with_ecn([Ecn::Ect0, Ecn::Ce][draw as usize % 2]);
        Packet::data(draw / 2, draw, bytes).with_stage(stage).with_options(options).with_head(head)
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
            let (mut forms, mut line, mut model) = (Forms::default(), PackedLine::default(), VecDeque::new());
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
            }
            prop_assert!(line.wide.len() + line.options.len() <= 2 * line.len());
        }
    }

    #[test]
    fn more_forms_than_have_numbers_stay_apart() {
        let (mut forms, mut line) = (Forms::default(), PackedLine::default());
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
    fn a_place_has_16_bytes() {
        assert_eq!(size_of::<Place>(), 16);
    }
}
