//! The buffer of a queue: first in, first out, with a uniform draw and removal from the middle, both in
//! constant time.
//!
//! It is a ring with holes. A packet that is taken from the middle leaves a hole; a draw picks places until
//! it hits a packet, so every packet is equally likely. As there are never more holes than packets, a draw
//! takes two picks on average at most, and closing the holes costs a constant number of moves a removal.

use marqueue_core::{Packet, Rng, Time};
use std::collections::VecDeque;

/// A place: a packet with the time at which it arrived, or a hole (`Time::NEVER`).
type Place = (Time, Packet);

/// A packet that was drawn. It names a place of the buffer as it stood at the draw.
#[derive(Clone, Copy, Debug)]
pub struct Drawn {
    place: usize,
    /// The packet.
    pub packet: Packet,
}

/// The packets that wait, in the order of arrival.
#[derive(Clone, Debug, Default)]
pub struct Buffer {
    places: VecDeque<Place>,
    holes: usize,
    bytes: u64,
}

impl Buffer {
    /// Packets waiting.
    #[inline]
    pub fn len(&self) -> u32 {
        (self.places.len() - self.holes) as u32
    }

    /// Is nothing waiting?
    #[inline]
    pub fn is_empty(&self) -> bool {
        // The first place is never a hole.
        self.places.is_empty()
    }

    /// Bytes waiting.
    #[inline]
    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Adds a packet that arrives at `now`.
    #[inline]
    pub fn push(&mut self, now: Time, packet: Packet) {
        self.bytes += u64::from(packet.bytes);
        self.places.push_back((now, packet));
    }

    /// Takes the packet that has waited longest.
    #[inline]
    pub fn pop(&mut self) -> Option<(Time, Packet)> {
        let (arrived, packet) = self.places.pop_front()?;
        self.bytes -= u64::from(packet.bytes);
        if self.holes > 0 {
            self.drop_leading_holes();
            self.close_holes();
        }
        Some((arrived, packet))
    }

    /// Takes the packet that came last.
    pub fn pop_last(&mut self) -> Option<(Time, Packet)> {
        loop {
            let (arrived, packet) = self.places.pop_back()?;
            if arrived != Time::NEVER {
                self.bytes -= u64::from(packet.bytes);
                return Some((arrived, packet));
            }
            self.holes -= 1;
        }
    }

    /// The packet that has waited longest.
    #[inline]
    pub fn first(&self) -> Option<&Packet> {
        self.places.front().map(|(_, packet)| packet)
    }

    /// Draws a packet, each with the same chance; `None` if there is none.
    #[inline]
    pub fn draw(&self, rng: &mut Rng) -> Option<Drawn> {
        if self.places.is_empty() {
            return None;
        }
        loop {
            let place = rng.below(self.places.len() as u32) as usize;
            let (arrived, packet) = self.places[place];
            if arrived != Time::NEVER {
                return Some(Drawn { place, packet });
            }
        }
    }

    /// Draws a packet with a chance in proportion to its size, none being larger than `largest` bytes;
    /// `None` if there is none.
    pub fn draw_by_size(&self, rng: &mut Rng, largest: u32) -> Option<Drawn> {
        loop {
            let drawn = self.draw(rng)?;
            if rng.below(largest) < drawn.packet.bytes {
                return Some(drawn);
            }
        }
    }

    /// Takes out a packet that was drawn; the buffer must not have changed since.
    pub fn take(&mut self, drawn: Drawn) -> Packet {
        let place = &mut self.places[drawn.place];
        assert!(place.0 != Time::NEVER, "a packet is taken once");
        place.0 = Time::NEVER;
        self.bytes -= u64::from(drawn.packet.bytes);
        self.holes += 1;
        self.drop_leading_holes();
        self.close_holes();
        drawn.packet
    }

    fn drop_leading_holes(&mut self) {
        while self.places.front().is_some_and(|place| place.0 == Time::NEVER) {
            self.places.pop_front();
            self.holes -= 1;
        }
    }

    fn close_holes(&mut self) {
        if 2 * self.holes > self.places.len() {
            self.places.retain(|place| place.0 != Time::NEVER);
            self.holes = 0;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn buffer(n: u32) -> Buffer {
        let mut buffer = Buffer::default();
        (0..n).for_each(|seq| buffer.push(Time(u64::from(seq)), Packet::data(0, seq, 100 + seq)));
        buffer
    }

    /// Counts of `n` draws by sequence number.
    fn tally(buffer: &Buffer, rng: &mut Rng, n: u32, sequence_numbers: usize) -> Vec<u32> {
        let mut counts = vec![0; sequence_numbers];
        for _ in 0..n {
            counts[buffer.draw(rng).unwrap().packet.seq as usize] += 1;
        }
        counts
    }

    #[test]
    fn every_waiting_packet_is_drawn_equally_often() {
        let (mut buffer, mut rng) = (buffer(40), Rng::named(1, "draw"));
        // Holes everywhere, as many as there may be.
        while buffer.len() > 21 {
            let drawn = buffer.draw(&mut rng).unwrap();
            buffer.take(drawn);
        }
        assert!(buffer.holes > 10);
        let (n, waiting) = (210_000, 21);
        let counts = tally(&buffer, &mut rng, n, 40);
        let expected = f64::from(n) / f64::from(waiting);
        let drawn: Vec<f64> = counts.into_iter().filter(|&c| c > 0).map(f64::from).collect();
        assert_eq!(drawn.len(), waiting as usize, "only and all waiting packets");
        let chi: f64 = drawn.iter().map(|c| (c - expected).powi(2) / expected).sum();
        // Chi-square with 20 degrees of freedom: 0.1% point 45.31.
        assert!(chi < 45.31, "{chi}");
    }

    #[test]
    fn what_is_left_keeps_its_order_and_count() {
        let (mut buffer, mut rng) = (buffer(1000), Rng::named(2, "draw"));
        let mut bytes = buffer.bytes();
        let (mut last, mut left) = (None, 1000);
        while left > 0 {
            let drawn = buffer.draw(&mut rng).unwrap();
            bytes -= u64::from(buffer.take(drawn).bytes);
            left -= 1;
            if let Some((arrived, packet)) = buffer.pop() {
                assert_eq!(arrived, Time(u64::from(packet.seq)));
                assert!(last < Some(packet.seq), "packet {} out of order", packet.seq);
                last = Some(packet.seq);
                bytes -= u64::from(packet.bytes);
                left -= 1;
            }
            assert_eq!((buffer.len(), buffer.bytes()), (left, bytes));
            assert!(2 * buffer.holes <= buffer.places.len());
        }
        assert!(buffer.is_empty() && buffer.pop().is_none() && buffer.draw(&mut rng).is_none());
    }
}
