//! Packets that one part of a network hands over to another: 16 bytes each, where time, link and packet take 40. Their memory
//! goes from one processor to another, a cache line at a time, so the less of it the better.

use crate::mailboxes::Handover;
use crate::packet_options::PacketOptions;
use marqueue_core::{Form, Forms, Packet, Time};
use std::vec::Drain;

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
    flow: u32,
    seq: u32,
    /// When it arrives: so much later than the batch's first packet, ns. Up to 2.1 s, also earlier.
    later: i32,
    /// The number of its form and link.
    form: u16,
    field: Field,
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
}

impl Handover for Batch {
    fn is_empty(&self) -> bool {
        self.places.is_empty()
    }
}

impl Batch {
    /// Adds a packet that arrives at the far end of `link` at `at`, with the contents of its slot, if it has one.
    #[inline(always)]
    pub fn push(&mut self, at: Time, link: u32, packet: Packet, contents: Option<&PacketOptions>, sent: &mut Sent) {
        if self.places.is_empty() {
            self.first = at;
        }
        let later = at.0.wrapping_sub(self.first.0).cast_signed();
        let number = sent.forms.number(Form::of(&packet));
        // Numbers are given in order, so a new one is told whether this packet fits a place or not.
        if number == sent.known && number != Forms::NONE {
            self.new.push((Form::of(&packet), link));
            sent.known += 1;
        }
        let is_wide = number == Forms::NONE || i32::try_from(later).is_err();
        let field = match contents {
            Some(contents) => {
                self.contents.push(*contents);
                Field::Slot
            }
            None if packet.options() == Packet::NO_OPTIONS => Field::Empty,
            None => {
                self.timestamps.push(packet.options());
                Field::Timestamp
            }
        };
        if is_wide {
            self.wide.push((at, link, packet));
        }
        let form = if is_wide { Forms::NONE } else { number };
        self.places.push(Place { flow: packet.flow(), seq: packet.seq(), later: later as i32, form, field });
    }

    /// The largest number of a flow.
    pub fn newest_flow(&self) -> Option<u32> {
        self.places.iter().map(|place| place.flow).max()
    }

    /// Takes all packets out. `known` has the forms and links of earlier batches from the same part, and gets those of
    /// this one.
    pub fn take<'a>(&'a mut self, known: &'a mut Vec<FormAndLink>) -> Packets<'a> {
        known.append(&mut self.new);
        Packets {
            known,
            first: self.first,
            places: self.places.drain(..),
            timestamps: self.timestamps.drain(..),
            contents: self.contents.drain(..),
            wide: self.wide.drain(..),
        }
    }
}

/// The packets of a batch, as they are taken out.
#[derive(Debug)]
pub struct Packets<'a> {
    known: &'a [FormAndLink],
    first: Time,
    places: Drain<'a, Place>,
    timestamps: Drain<'a, u32>,
    contents: Drain<'a, PacketOptions>,
    wide: Drain<'a, (Time, u32, Packet)>,
}

impl Packets<'_> {
    /// The contents of the next slot.
    pub fn contents(&mut self) -> Option<PacketOptions> {
        self.contents.next()
    }

    /// The flow of a packet that comes `ahead` after the next one.
    #[inline(always)]
    pub fn flow(&self, ahead: usize) -> Option<u32> {
        self.places.as_slice().get(ahead).map(|place| place.flow)
    }
}

impl Iterator for Packets<'_> {
    /// When it arrives, by which link, the packet, and whether it had a slot, whose contents come next.
    type Item = (Time, u32, Packet, bool);

    #[inline(always)]
    fn next(&mut self) -> Option<Self::Item> {
        let place = self.places.next()?;
        let has_slot = matches!(place.field, Field::Slot);
        let options = if let Field::Timestamp = place.field { self.timestamps.next()? } else { Packet::NO_OPTIONS };
        if place.form == Forms::NONE {
            let (at, link, packet) = self.wide.next()?;
            return Some((at, link, packet, has_slot));
        }
        let (form, link) = self.known[place.form as usize];
        let at = Time(self.first.0.wrapping_add_signed(i64::from(place.later)));
        Some((at, link, form.packet(place.flow, place.seq, options), has_slot))
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
                    batch.push(at, link, packet, contents.as_ref(), &mut sent);
                    expected.push(shown(at, link, packet, contents));
                }
                let newest = batch.newest_flow();
                let (mut packets, mut found, mut flows) = (batch.take(&mut known), Vec::new(), Vec::new());
                while let Some((at, link, packet, has_slot)) = packets.next() {
                    let contents = if has_slot { packets.contents() } else { None };
                    found.push(shown(at, link, packet, contents));
                    flows.push(packet.flow());
                    prop_assert!(packets.flow(0).is_none_or(|next| newest >= Some(next)));
                }
                drop(packets);
                prop_assert_eq!(found, expected);
                prop_assert_eq!(newest, flows.into_iter().max());
                prop_assert!(batch.is_empty());
            }
        }
    }

    #[test]
    fn more_forms_than_have_numbers_arrive_too() {
        let (mut batch, mut sent, mut known) = (Batch::default(), Sent::default(), Vec::new());
        for round in 0..2 {
            for bytes in 0..3 * u32::from(Forms::NONE) {
                batch.push(Time::ZERO, 7, Packet::data(round, 0, bytes), None, &mut sent);
            }
            let packets = batch.take(&mut known);
            for (bytes, (_, link, packet, _)) in packets.enumerate() {
                assert_eq!((link, packet.flow(), packet.bytes()), (7, round, bytes as u32));
            }
        }
    }

    #[test]
    fn a_place_has_16_bytes() {
        assert_eq!(size_of::<Place>(), 16);
    }
}
