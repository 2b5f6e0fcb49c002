//! Packets on links whose arrivals are events, in order of arrival: as they are while they are few, then packed.

use marqueue_core::{ring, Forms, PackedPackets, Packet, Time};
use std::collections::VecDeque;

/// Packets on one link, the first to arrive in front.
#[derive(Debug)]
pub enum Line {
    /// Few: each as it is, with its time of arrival.
    Few(VecDeque<(Time, Packet)>),
    /// More than [`Line::MOST`] at some time of the run.
    Many(Box<PackedPackets>),
}

impl Default for Line {
    fn default() -> Line {
        Line::Few(VecDeque::new())
    }
}

impl Line {
    /// So many packets take 256 KiB. Fewer are not worth the 4 % more instructions that packed ones cost a run.
    pub const MOST: usize = 1 << 13;

    /// Number of packets.
    pub fn len(&self) -> usize {
        match self {
            Line::Few(packets) => packets.len(),
            Line::Many(packets) => packets.len(),
        }
    }

    /// Adds a packet that arrives at `at`, not before the last one. Returns whether it is the first.
    #[inline(always)]
    pub fn push_back(&mut self, at: Time, packet: Packet, forms: &mut Forms) -> bool {
        match self {
            // Whether there are too many is asked only where the ring must grow.
            Line::Few(packets) if packets.len() < packets.capacity() => push_few(packets, at, packet),
            Line::Few(_) => {
                let (a, b, c) = packet.words();
                self.push_back_growing(at, a, b, c, forms)
            }
            Line::Many(packets) => packets.push_back(at, packet, forms),
        }
    }

    #[cold]
    #[inline(never)]
    fn push_back_growing(&mut self, at: Time, a: u64, b: u64, c: u64, forms: &mut Forms) -> bool {
        let packet = Packet::of_words((a, b, c));
        match self {
            Line::Few(packets) if packets.len() < Line::MOST => push_few(packets, at, packet),
            _ => self.pack(forms).push_back(at, packet, forms),
        }
    }

    /// The next stage and the flow of the first packet, if it can be told cheaply.
    #[inline]
    pub fn first(&self, forms: &Forms) -> Option<(u32, u32)> {
        match self {
            Line::Few(packets) => packets.front().map(|(_, packet)| (packet.stage(), packet.flow())),
            Line::Many(packets) => packets.first(forms),
        }
    }

    /// The options of the first packet, if they can be told cheaply.
    #[inline]
    pub fn first_options(&self) -> u32 {
        match self {
            Line::Few(packets) => packets.front().map_or(Packet::NO_OPTIONS, |(_, packet)| packet.options()),
            Line::Many(packets) => packets.first_options(),
        }
    }

    /// Prefetches the first packet and the place of the next one.
    #[inline]
    pub fn prefetch_ends(&self) {
        match self {
            Line::Few(packets) => ring::prefetch_ends(packets),
            Line::Many(packets) => packets.prefetch_ends(),
        }
    }

    /// Removes the first packet. Returns it with the arrival time and the flow of the next one, which for none are never
    /// and its own.
    #[inline(always)]
    pub fn pop_front(&mut self, forms: &Forms) -> Option<(Packet, Time, u32)> {
        let packets = match self {
            Line::Few(packets) => packets,
            Line::Many(packets) => return packets.pop_front(forms),
        };
        let (_, packet) = packets.pop_front()?;
        Some(match packets.front() {
            Some(next) => {
                ring::prefetch_after(next, ring::per_cache_line::<(Time, Packet)>());
                (packet, next.0, next.1.flow())
            }
            None => (packet, Time::NEVER, packet.flow()),
        })
    }

    /// Inserts a packet that arrives at `at` behind those that arrive until then. Returns the number of those behind it.
    pub fn insert(&mut self, at: Time, packet: Packet, forms: &mut Forms) -> usize {
        match self {
            Line::Few(packets) if packets.len() < Line::MOST => {
                let behind = packets.iter().rev().take_while(|other| other.0 > at).count();
                packets.insert(packets.len() - behind, (at, packet));
                behind
            }
            Line::Few(_) => self.pack(forms).insert(at, packet, forms),
            Line::Many(packets) => packets.insert(at, packet, forms),
        }
    }

    /// Packs the packets.
    #[cold]
    #[inline(never)]
    fn pack(&mut self, forms: &mut Forms) -> &mut PackedPackets {
        if let Line::Few(packets) = self {
            let mut packed = Box::<PackedPackets>::default();
            for &(at, packet) in &*packets {
                packed.push_back(at, packet, forms);
            }
            *self = Line::Many(packed);
        }
        match self {
            Line::Many(packets) => packets,
            Line::Few(_) => unreachable!("the packets have been packed"),
        }
    }
}

/// Adds a packet. Returns whether it is the first.
#[inline(always)]
fn push_few(packets: &mut VecDeque<(Time, Packet)>, at: Time, packet: Packet) -> bool {
    debug_assert!(packets.back().is_none_or(|last| last.0 <= at), "a link keeps the order");
    ring::push_back(packets, (at, packet));
    packets.len() == 1
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_order_stays_when_few_become_many() {
        let (mut line, mut forms) = (Line::default(), Forms::default());
        let mut expected = VecDeque::new();
        for i in 0..6 * Line::MOST as u64 {
            // In order, and now and then one that overtakes the two before it.
            let at = Time(1000 * i - if i % 10 == 9 { 2500 } else { 0 });
            let behind = expected.iter().rev().take_while(|&&(other, _)| other > at).count();
            let packet = Packet::data(i as u32, 0, 500);
            if behind == 0 {
                assert_eq!(line.push_back(at, packet, &mut forms), expected.is_empty());
            } else {
                assert_eq!(line.insert(at, packet, &mut forms), behind);
            }
            expected.insert(expected.len() - behind, (at, i as u32));
            if i % 3 == 0 {
                remove_first(&mut line, &mut expected, &forms);
            }
        }
        assert!(matches!(line, Line::Many(_)));
        while !expected.is_empty() {
            remove_first(&mut line, &mut expected, &forms);
        }
        assert!(line.pop_front(&forms).is_none());
    }

    /// Removes the first packet of both.
    fn remove_first(line: &mut Line, expected: &mut VecDeque<(Time, u32)>, forms: &Forms) {
        let flow = expected.pop_front().map(|(_, flow)| flow);
        let first = line.first(forms).map(|(stage, flow)| (Packet::data(flow, 0, 500).stage() == stage, flow));
        assert_eq!(first, flow.map(|f| (true, f)));
        let found = line.pop_front(forms).map(|(packet, next, flow)| (packet.flow(), next, flow));
        let next = expected.front().map(|&(at, next)| (at, next));
        assert_eq!(found, flow.map(|f| (f, next.map_or(Time::NEVER, |n| n.0), next.map_or(f, |n| n.1))));
        assert_eq!(line.len(), expected.len());
    }
}
