//! Packets that one part of a network hands over to another: 16 bytes each, where time, link and packet take 40. Their memory
//! goes from one processor to another, a cache line at a time, so the less of it the better.

use crate::mailboxes::Handover;
use crate::packet_options::PacketOptions;
use crate::slots::Report;
use marqueue_core::{Form, Forms, Packet, Time};
use std::slice::Iter;

/// What stands in a packet's options field.
#[derive(Clone, Copy, Debug)]
enum Field {
    /// Nothing.
    Empty,
    /// A timestamp.
    Timestamp,
    /// A slot, whose contents come along.
    Slot,
}

/// A packet, or that it is among the wide ones.
#[derive(Clone, Copy, Debug)]
struct Place {
    /// The flow above the sequence number.
    flow_and_seq: u64,
    /// When it arrives: so much later than the batch's first packet, ns. Up to 2.1 s, also earlier.
    later: i32,
    /// The number of its form and link.
    form: u16,
    field: Field,
}

impl Place {
    fn flow(&self) -> u32 {
        (self.flow_and_seq >> 32) as u32
    }
}

/// A packet's form, and the link by which it comes. Packets of one form come by one link, because the form has the number of
/// the next stage, which lies behind that link alone.
pub type FormAndLink = (Form, u32);

/// What a part that sends batches to another remembers of them.
#[derive(Debug, Default)]
pub struct Sent {
    forms: Forms,
    /// Number of forms that the other part knows, or will by the batch that is being filled.
    known: u16,
}

/// Packets on their way from one part to another, in the order in which they were sent.
#[derive(Debug, Default)]
pub struct Batch {
    places: Vec<Place>,
    /// When the first packet arrives.
    first: Time,
    /// What the receiving part does not know yet, in order of numbers.
    new: Vec<FormAndLink>,
    timestamps: Vec<u32>,
    /// The contents of slots.
    contents: Vec<PacketOptions>,
    /// Packets that do not fit a place: with their times and links.
    wide: Vec<(Time, u32, Packet)>,
    /// What is left of flows that have ended in the part that sends this, the oldest report first.
    pub reports: Vec<Report>,
    /// How many flows that arrive have been created there.
    pub created: u64,
}

impl Handover for Batch {
    fn is_empty(&self) -> bool {
        self.places.is_empty() && self.reports.is_empty()
    }
}

impl Batch {
    /// Adds a packet without options that arrives at the far end of `link` at `at`.
    #[inline(always)]
    pub fn push(&mut self, at: Time, link: u32, packet: Packet, sent: &mut Sent) {
        if self.places.is_empty() {
            self.first = at;
        }
        let later = at.0.wrapping_sub(self.first.0).cast_signed();
        let form = sent.forms.number(Form::of(&packet));
        match i32::try_from(later) {
            // The other part knows the form: it has a number.
            Ok(later) if form < sent.known => {
                self.places.push(Place { flow_and_seq: packet.flow_and_seq(), later, form, field: Field::Empty });
            }
            _ => self.push_rare(at, link, form, packet, sent),
        }
    }

    /// Adds a packet whose form is new or has no number, or which comes much later than the first.
    #[cold]
    #[inline(never)]
    fn push_rare(&mut self, at: Time, link: u32, number: u16, packet: Packet, sent: &mut Sent) {
        self.push_any(at, link, number, packet, Field::Empty, sent);
    }

    /// Adds a packet with a timestamp.
    pub fn push_with_timestamp(&mut self, at: Time, link: u32, packet: Packet, sent: &mut Sent) {
        self.timestamps.push(packet.options());
        self.push_with_field(at, link, packet, Field::Timestamp, sent);
    }

    /// Adds a packet with the contents of its slot.
    pub fn push_with_slot(&mut self, at: Time, link: u32, packet: Packet, contents: PacketOptions, sent: &mut Sent) {
        self.contents.push(contents);
        self.push_with_field(at, link, packet, Field::Slot, sent);
    }

    fn push_with_field(&mut self, at: Time, link: u32, packet: Packet, field: Field, sent: &mut Sent) {
        if self.places.is_empty() {
            self.first = at;
        }
        let number = sent.forms.number(Form::of(&packet));
        self.push_any(at, link, number, packet, field, sent);
    }

    #[inline(always)]
    fn push_any(&mut self, at: Time, link: u32, number: u16, packet: Packet, field: Field, sent: &mut Sent) {
        // Numbers are given in order, so a new one is told whether this packet fits a place or not.
        if number == sent.known && number != Forms::NONE {
            self.new.push((Form::of(&packet), link));
            sent.known += 1;
        }
        let later = i32::try_from(at.0.wrapping_sub(self.first.0).cast_signed());
        let (form, later) = match later {
            Ok(later) if number != Forms::NONE => (number, later),
            _ => {
                self.wide.push((at, link, packet));
                (Forms::NONE, 0)
            }
        };
        self.places.push(Place { flow_and_seq: packet.flow_and_seq(), later, form, field });
    }

    /// Number of packets.
    pub fn len(&self) -> usize {
        self.places.len()
    }

    /// Its packets. `known` has the forms and links of earlier batches from the same part, and gets those of this one.
    pub fn packets<'a>(&'a mut self, known: &'a mut Vec<FormAndLink>) -> Packets<'a> {
        known.append(&mut self.new);
        Packets {
            known,
            first: self.first,
            places: self.places.iter(),
            timestamps: self.timestamps.iter(),
            contents: self.contents.iter(),
            wide: self.wide.iter(),
        }
    }

    /// Removes all packets.
    pub fn clear(&mut self) {
        self.places.clear();
        self.timestamps.clear();
        self.contents.clear();
        self.wide.clear();
    }
}

/// The packets of a batch, in order.
#[derive(Debug)]
pub struct Packets<'a> {
    known: &'a [FormAndLink],
    first: Time,
    places: Iter<'a, Place>,
    timestamps: Iter<'a, u32>,
    contents: Iter<'a, PacketOptions>,
    wide: Iter<'a, (Time, u32, Packet)>,
}

impl Packets<'_> {
    /// The contents of the next slot.
    pub fn contents(&mut self) -> Option<PacketOptions> {
        self.contents.next().copied()
    }

    /// The flow of a packet that comes `ahead` after the next one.
    #[inline(always)]
    pub fn flow(&self, ahead: usize) -> Option<u32> {
        self.places.as_slice().get(ahead).map(Place::flow)
    }
}

impl Iterator for Packets<'_> {
    /// When it arrives, by which link, the packet, and whether it had a slot, whose contents come next.
    type Item = (Time, u32, Packet, bool);

    #[inline(always)]
    fn next(&mut self) -> Option<Self::Item> {
        let place = *self.places.next()?;
        let has_slot = matches!(place.field, Field::Slot);
        let options = if let Field::Timestamp = place.field { *self.timestamps.next()? } else { Packet::NO_OPTIONS };
        if place.form == Forms::NONE {
            let (at, link, packet) = *self.wide.next()?;
            return Some((at, link, packet, has_slot));
        }
        let (form, link) = self.known[place.form as usize];
        let at = Time(self.first.0.wrapping_add_signed(i64::from(place.later)));
        Some((at, link, form.packet(place.flow_and_seq, options), has_slot))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use marqueue_core::{Flags, Head, Signals};
    use proptest::prelude::*;

    /// The packet of a draw: data with and without a timestamp, acknowledgements with and without a slot, few and many
    /// sizes.
    fn packet(draw: u32) -> (Packet, Option<PacketOptions>) {
        let bytes = if draw.is_multiple_of(5) { draw } else { 500 };
        let data = Packet::data(draw >> 3, draw, bytes).with_stage(draw % 3);
        let ack = data.with_head(Head::default().with(Flags::ACK));
        match draw % 4 {
            0 => (data, None),
            1 => (data.with_options(draw), None),
            2 => (ack, None),
            _ => (ack.with_options(draw), Some(PacketOptions::Signals(Signals::for_max_price(draw)))),
        }
    }

    /// All that is told of a packet but the number of its slot, which is that of another part.
    fn shown(at: Time, link: u32, packet: Packet, contents: Option<PacketOptions>) -> String {
        let packet = if contents.is_some() { packet.with_options(Packet::NO_OPTIONS) } else { packet };
        format!("{at:?} {link} {packet:?} {contents:?}")
    }

    proptest! {
        #[test]
        fn packets_come_out_as_they_went_in(
            batches in prop::collection::vec(prop::collection::vec((any::<u32>(), 0u64..1 << 34, 0usize..3), 0..40), 1..5)
        ) {
            let (mut batch, mut sent, mut known) = (Batch::default(), Sent::default(), Vec::new());
            for draws in batches {
                let mut expected = Vec::new();
                for (draw, at, scale) in draws {
                    let ((packet, contents), at) = (packet(draw), Time(at >> [0, 4, 20][scale]));
                    let link = 10 + packet.stage();
                    match contents {
                        Some(contents) => batch.push_with_slot(at, link, packet, contents, &mut sent),
                        None if packet.options() == Packet::NO_OPTIONS => batch.push(at, link, packet, &mut sent),
                        None => batch.push_with_timestamp(at, link, packet, &mut sent),
                    }
                    expected.push(shown(at, link, packet, contents));
                }
                let (mut packets, mut found, mut flows) = (batch.packets(&mut known), Vec::new(), Vec::new());
                while let Some((at, link, packet, has_slot)) = packets.next() {
                    let contents = if has_slot { packets.contents() } else { None };
                    found.push(shown(at, link, packet, contents));
                    flows.push(packet.flow());
                }
                batch.clear();
                prop_assert_eq!(found, expected);
                prop_assert!(batch.is_empty());
            }
        }
    }

    #[test]
    fn more_forms_than_have_numbers_arrive_too() {
        let (mut batch, mut sent, mut known) = (Batch::default(), Sent::default(), Vec::new());
        for round in 0..2 {
            for bytes in 0..3 * u32::from(Forms::NONE) {
                batch.push(Time::ZERO, 7, Packet::data(round, 0, bytes), &mut sent);
            }
            for (bytes, (_, link, packet, _)) in batch.packets(&mut known).enumerate() {
                assert_eq!((link, packet.flow(), packet.bytes()), (7, round, bytes as u32));
            }
            batch.clear();
        }
    }

    #[test]
    fn a_place_has_16_bytes() {
        assert_eq!(size_of::<Place>(), 16);
    }
}
