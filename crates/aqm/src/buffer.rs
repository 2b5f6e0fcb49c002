//! The packets of a queue: first in, first out, with a uniform random draw and removal from the middle, both in
//! constant time.
//!
//! It is a ring with holes. Removing a packet from the middle leaves a hole. A draw picks places until it hits a
//! packet, so that every packet is equally likely. There are never more holes than packets, so a draw needs at most two
//! picks on average. Holes are closed once they are the majority, at an amortised cost of two moves a removal.
//!
//! Of very many packets none of which is ever drawn, all but the oldest are packed ([`marqueue_core::packed`]).

use alloc::boxed::Box;
use alloc::collections::VecDeque;
use marqueue_core::{math, ring, Dur, Forms, PackedPackets, Packet, Rng, Time};

/// A place: a packet with the time at which it arrived, or a hole (`Time::NEVER`).
type Place = (Time, Packet);

/// Counting is faster than this many draws and one more for every so many places (benches/draws).
const FEW_DRAWS: usize = 20;
const PLACES_PER_DRAW: usize = 16;

/// A packet that was drawn, with its place in the buffer at the time of the draw.
#[derive(Clone, Copy, Debug)]
pub struct Drawn {
    place: usize,
    /// The packet.
    pub packet: Packet,
}

/// The packets of a queue in the order of arrival.
#[derive(Clone, Debug, Default)]
pub struct Buffer {
    /// The first is never a hole.
    places: VecDeque<Place>,
    /// The number of packets less that of places: that of packed ones, or less that of holes.
    excess: isize,
    bytes: u64,
    /// Packets behind those of the places, of which there is one at least, while there are packed ones.
    packed: Option<Box<Packed>>,
    /// Packets are drawn: they are not packed any more.
    needs_places: bool,
}

/// Packed packets.
#[derive(Clone, Debug, Default)]
struct Packed {
    packets: PackedPackets,
    forms: Forms,
}

impl Buffer {
    /// So many packets take 128 MiB as they are. Fewer are not worth the time that packed ones cost
    /// (docs/performance/profile.md).
    pub const MOST_PLAIN: usize = if cfg!(test) { 1 << 10 } else { 1 << 22 };
    /// Packed packets that become places at a time.
    const UNPACKED: usize = 64;

    /// Number of packets.
    #[inline]
    pub fn len(&self) -> u32 {
        self.places.len().wrapping_add_signed(self.excess) as u32
    }

    /// Is it empty?
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Number of bytes.
    #[inline]
    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Adds a packet that arrives at `now`.
    #[inline]
    pub fn push(&mut self, now: Time, packet: Packet) {
        self.bytes += u64::from(packet.bytes());
        if self.excess > 0 || self.places.len() >= Buffer::MOST_PLAIN {
            let (a, b, c) = packet.words();
            return self.push_packed(now, a, b, c);
        }
        ring::push_back(&mut self.places, (now, packet));
    }

    /// Adds a packet where packed ones are, or will be; by its words.
    #[inline(never)]
    fn push_packed(&mut self, now: Time, a: u64, b: u64, c: u64) {
        let packet = Packet::of_words((a, b, c));
        if self.needs_places {
            return ring::push_back(&mut self.places, (now, packet));
        }
        let packed = self.packed.get_or_insert_with(Box::default);
        if self.excess == 0 {
            // There are no holes, because nothing was drawn.
            let behind = self.places.split_off(Buffer::UNPACKED);
            self.excess = behind.len() as isize;
            for (arrived, packet) in behind {
                packed.packets.push_back(arrived, packet, &mut packed.forms);
            }
            self.places.shrink_to_fit();
        }
        packed.packets.push_back(now, packet, &mut packed.forms);
        self.excess += 1;
    }

    /// Removes the oldest packet.
    #[inline]
    pub fn pop(&mut self) -> Option<(Time, Packet)> {
        let (arrived, packet) = self.places.pop_front()?;
        self.bytes -= u64::from(packet.bytes());
        if self.excess != 0 {
            self.look_at_first();
        }
        Some((arrived, packet))
    }

    /// After a packet has left that may have been the first: lets a packet be the first, if there is any.
    #[inline(never)]
    fn look_at_first(&mut self) {
        if self.excess < 0 {
            self.remove_leading_holes();
        } else if self.places.is_empty() {
            self.unpack(Buffer::UNPACKED);
        }
    }

    /// Makes places of up to so many packed packets.
    fn unpack(&mut self, most: usize) {
        let Some(packed) = &mut self.packed else { return };
        for _ in 0..most {
            let Some(arrived) = packed.packets.first_time() else { break };
            let Some((packet, ..)) = packed.packets.pop_front(&packed.forms) else { break };
            self.places.push_back((arrived, packet));
            self.excess -= 1;
        }
        self.packed.take_if(|packed| packed.packets.is_empty());
    }

    /// Removes the newest packet.
    pub fn pop_last(&mut self) -> Option<(Time, Packet)> {
        if let Some(packed) = &mut self.packed {
            let (arrived, packet) = packed.packets.pop_back(&packed.forms)?;
            self.bytes -= u64::from(packet.bytes());
            self.excess -= 1;
            self.packed.take_if(|packed| packed.packets.is_empty());
            return Some((arrived, packet));
        }
        loop {
            let (arrived, packet) = self.places.pop_back()?;
            if arrived == Time::NEVER {
                self.excess += 1;
                continue;
            }
            self.bytes -= u64::from(packet.bytes());
            self.close_holes();
            return Some((arrived, packet));
        }
    }

    /// The oldest packet, with the time at which it arrived.
    #[inline]
    pub fn first(&self) -> Option<&(Time, Packet)> {
        self.places.front()
    }

    /// The oldest packets in the order of arrival, each with the time at which it arrived. At least one, if there is one.
    /// Packets that were removed from the middle may be among them.
    #[inline]
    pub fn oldest(&self) -> &[(Time, Packet)] {
        self.places.as_slices().0
    }

    /// Prefetches the oldest packet and the place of the next one to arrive.
    #[inline]
    pub fn prefetch_ends(&self) {
        ring::prefetch_ends(&self.places);
    }

    /// How long the oldest packet has waited at `now`; zero if there is none.
    #[inline]
    pub fn age(&self, now: Time) -> Dur {
        self.places.front().map_or(Dur::ZERO, |(arrived, _)| now.since(*arrived))
    }

    /// The packets in the order of arrival, each with its place.
    pub fn iter(&self) -> impl Iterator<Item = Drawn> + '_ {
        let packed = self.packed.iter().flat_map(|packed| packed.packets.iter(&packed.forms));
        let all = self.places.iter().copied().chain(packed).enumerate();
        all.filter(|(_, (arrived, _))| *arrived != Time::NEVER).map(|(place, (_, packet))| Drawn { place, packet })
    }

    /// From now on each packet has a place.
    #[inline]
    fn need_places(&mut self) {
        self.needs_places = true;
        if self.excess > 0 {
            self.unpack(usize::MAX);
        }
    }

    /// Draws a packet, each with the same probability; `None` if the buffer is empty.
    #[inline]
    pub fn draw(&mut self, rng: &mut Rng) -> Option<Drawn> {
        self.need_places();
        self.draw_place(rng).map(|place| self.drawn(place))
    }

    /// The place of a packet drawn.
    #[inline(always)]
    fn draw_place(&self, rng: &mut Rng) -> Option<usize> {
        if self.places.is_empty() {
            return None;
        }
        loop {
            let place = rng.below(self.places.len() as u32) as usize;
            if self.places[place].0 != Time::NEVER {
                return Some(place);
            }
        }
    }

    #[inline]
    fn drawn(&self, place: usize) -> Drawn {
        Drawn { place, packet: self.places[place].1 }
    }

    /// Draws up to `draws` packets with replacement, each with the same probability. Returns the first of `flow`. If
    /// counting the packets of the flow is faster, they are counted instead: the work is at most one visit of each
    /// place.
    #[inline]
    pub fn draw_match(&mut self, rng: &mut Rng, flow: u32, draws: u32) -> Option<Drawn> {
        self.need_places();
        if draws as usize > FEW_DRAWS + self.places.len() / PLACES_PER_DRAW {
            return self.count_match(rng, flow, draws);
        }
        // A copy of the stream stays in registers from one draw to the next.
        let mut stream = rng.clone();
        let mut places = (0..draws).map_while(|_| self.draw_place(&mut stream));
        let found = places.find(|&place| self.places[place].1.flow() == flow);
        *rng = stream;
        found.map(|place| self.drawn(place))
    }

    /// The outcome of that many draws in one step: if k of n packets are of the flow, m draws hit one of them with
    /// probability 1 - (1 - k/n)^m, each of them with the same probability.
    #[inline(never)]
    fn count_match(&self, rng: &mut Rng, flow: u32, draws: u32) -> Option<Drawn> {
        let of_flow = |place: &Place| place.0 != Time::NEVER && place.1.flow() == flow;
        let k = self.places.iter().map(|place| u32::from(of_flow(place))).sum::<u32>();
        if k == 0 || rng.uniform() < math::powf(1.0 - f64::from(k) / f64::from(self.len()), f64::from(draws)) {
            return None;
        }
        let which = rng.below(k) as usize;
        let found = self.places.iter().enumerate().filter(|(_, place)| of_flow(place)).nth(which);
        found.map(|(place, &(_, packet))| Drawn { place, packet })
    }

    /// [`Buffer::draw_match`] with probabilities in proportion to size. No packet is larger than `largest` bytes.
    pub fn draw_match_by_size(&mut self, rng: &mut Rng, largest: u32, flow: u32, draws: u32) -> Option<Drawn> {
        self.need_places();
        // Small packets reject many picks; at most as many picks as visits of each place.
        let mut picks = FEW_DRAWS + self.places.len();
        let mut left = draws;
        while left > 0 {
            if picks == 0 {
                return self.count_match_by_size(rng, flow, left);
            }
            picks -= 1;
            let drawn = self.draw(rng)?;
            if rng.below(largest) < drawn.packet.bytes() {
                if drawn.packet.flow() == flow {
                    return Some(drawn);
                }
                left -= 1;
            }
        }
        None
    }

    /// The same with one visit of each place, as [`Buffer::count_match`].
    fn count_match_by_size(&self, rng: &mut Rng, flow: u32, draws: u32) -> Option<Drawn> {
        let own =
            || self.places.iter().enumerate().filter(|(_, place)| place.0 != Time::NEVER && place.1.flow() == flow);
        let bytes: u64 = own().map(|(_, place)| u64::from(place.1.bytes())).sum();
        if bytes == 0 || rng.uniform() < math::powf(1.0 - bytes as f64 / self.bytes as f64, f64::from(draws)) {
            return None;
        }
        let mut left = rng.uniform() * bytes as f64;
        let found = own().find(|(_, place)| {
            left -= f64::from(place.1.bytes());
            left < 0.0
        });
        // Rounding may leave a trace at the end.
        found.or_else(|| own().next_back()).map(|(place, &(_, packet))| Drawn { place, packet })
    }

    /// Removes a packet that was drawn. The buffer must not have changed since.
    #[inline(never)]
    pub fn take(&mut self, drawn: Drawn) -> Packet {
        self.need_places();
        let place = &mut self.places[drawn.place];
        assert!(place.0 != Time::NEVER, "a packet is taken once");
        place.0 = Time::NEVER;
        self.bytes -= u64::from(drawn.packet.bytes());
        self.excess -= 1;
        self.remove_leading_holes();
        drawn.packet
    }

    /// Removes leading holes and closes the others if there are too many. Not inlined: most queues have none.
    #[inline(never)]
    fn remove_leading_holes(&mut self) {
        while self.places.front().is_some_and(|place| place.0 == Time::NEVER) {
            self.places.pop_front();
            self.excess += 1;
        }
        self.close_holes();
    }

    /// Number of holes.
    #[inline]
    fn holes(&self) -> usize {
        (-self.excess).max(0) as usize
    }

    fn close_holes(&mut self) {
        if 2 * self.holes() > self.places.len() {
            self.places.retain(|place| place.0 != Time::NEVER);
            self.excess = 0;
        }
    }
}

#[cfg(test)]
mod tests;
