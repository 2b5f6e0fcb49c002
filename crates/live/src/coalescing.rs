//! Packets that leave at the same moment, put together for one write, as a network card's driver does (generic receive
//! offload). Packets of one flow are joined where cutting gives exactly the same packets again; nobody sees a
//! difference on the wire. If each packet leaves when it is due, there is never a second one.

use crate::offload::{folded, u16_at, u32_at, Layout, Transport, FIN, HEADER_BYTES, PSH, TCP_FLAGS};

/// Most bytes of a packet of IPv4.
const MOST_BYTES: usize = 65_535;
/// Most bytes of headers: IPv6 and TCP with all options.
const MOST_HEADERS: usize = 40 + 60;
/// TCP's flags of a segment that can be joined: ACK, and PSH or FIN at the end.
const ACK: u8 = 0x10;

/// A packet that can be joined with others.
#[derive(Clone, Copy, Debug)]
struct Segment {
    layout: Layout,
    payload: usize,
    /// TCP's sequence number.
    sequence: u32,
    /// PSH and FIN, if it has them: nothing can follow then.
    end: u8,
}

impl Segment {
    /// Reads a packet whose checksum is right.
    fn read(packet: &[u8]) -> Option<Segment> {
        let layout = Layout::read(packet)?;
        let payload = packet.len() - layout.headers;
        let (sequence, end) = match layout.transport {
            Transport::Udp => (0, 0),
            Transport::Tcp => {
                let flags = packet[layout.network + TCP_FLAGS];
                if flags & !(PSH | FIN) != ACK {
                    return None;
                }
                (u32_at(packet, layout.network + 4), flags & (PSH | FIN))
            }
        };
        (payload > 0).then_some(Segment { layout, payload, sequence, end })
    }

    /// The headers without what differs between the segments of a packet.
    fn common_headers(&self, packet: &[u8]) -> [u8; MOST_HEADERS] {
        let Layout { ipv6, transport, network, headers } = self.layout;
        let mut common = [0; MOST_HEADERS];
        common[..headers].copy_from_slice(&packet[..headers]);
        if ipv6 {
            common[4..6].fill(0);
        } else {
            common[2..6].fill(0);
            common[10..12].fill(0);
        }
        match transport {
            Transport::Tcp => {
                common[network + 4..network + 8].fill(0);
                common[network + TCP_FLAGS] &= !(PSH | FIN);
                common[network + 16..network + 18].fill(0);
            }
            Transport::Udp => common[network + 4..network + 8].fill(0),
        }
        common
    }
}

/// Packets that are written together: one, or several of a flow.
#[derive(Debug)]
pub struct Group {
    first: Option<Segment>,
    /// Number of packets.
    packets: u16,
    /// Bytes of payload of all.
    payload: usize,
    /// PSH and FIN of the last packet.
    end: u8,
    /// Can nothing be added?
    complete: bool,
}

impl Group {
    /// A group of `packet` alone. `joinable` says that its checksum is right, so that it need not be kept.
    pub fn new(packet: &[u8], joinable: bool) -> Group {
        let first = if joinable { Segment::read(packet) } else { None };
        let (payload, end) = first.map_or((0, 0), |segment| (segment.payload, segment.end));
        Group { first, packets: 1, payload, end, complete: end != 0 }
    }

    /// Adds `next`, whose checksum is right, to the group that begins with `first`. Returns false if it does not follow.
    pub fn add(&mut self, first: &[u8], next: &[u8]) -> bool {
        let (Some(head), Some(segment)) = (self.first, Segment::read(next)) else { return false };
        let Layout { ipv6, transport, headers, .. } = head.layout;
        let follows = !self.complete
            && segment.layout == head.layout
            && segment.payload <= head.payload
            && headers + self.payload + segment.payload <= MOST_BYTES
            && (transport == Transport::Udp || segment.sequence == head.sequence.wrapping_add(self.payload as u32))
            && (ipv6 || u16_at(next, 4) == u16_at(first, 4).wrapping_add(self.packets))
            && segment.common_headers(next) == head.common_headers(first);
        if follows {
            self.packets += 1;
            self.payload += segment.payload;
            self.end = segment.end;
            self.complete = segment.end != 0 || segment.payload < head.payload;
        }
        follows
    }

    /// Prepares the group, which begins with `first`, for one write: makes its headers those of the whole. Returns
    /// virtio's header, and the bytes of headers that the others have and that are not written.
    pub fn join(&self, first: &mut [u8]) -> ([u8; HEADER_BYTES], usize) {
        let Some(Segment { layout, payload, .. }) = self.first.filter(|_| self.packets > 1) else {
            return ([0; HEADER_BYTES], 0);
        };
        let bytes = layout.headers + self.payload;
        if layout.transport == Transport::Tcp {
            first[layout.network + TCP_FLAGS] |= self.end;
        }
        layout.write_lengths(first, bytes);
        // Only the sum over the pseudo-header: Linux adds the rest where it needs it.
        let at = layout.network + layout.transport.checksum_offset();
        let sum = folded(layout.pseudo_header_sum(first, bytes));
        first[at..at + 2].copy_from_slice(&sum.to_be_bytes());
        (layout.to_be_cut(payload), layout.headers)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::offload::{Pending, Segments};
    use proptest::prelude::*;

    /// A packet of TCP or UDP as Linux hands it over to be cut.
    fn whole(ipv6: bool, transport: Transport, payload: &[u8], flags: u8, number: u32) -> Vec<u8> {
        let mut p = if ipv6 {
            let mut p = vec![0x60, 0x20, 0, 1, 0, 0, 0, 64];
            p.extend((0..32).map(|n| n * 7));
            p
        } else {
            let mut p = vec![0x45, 2, 0, 0, 0xff, number as u8, 0x40, 0, 64, 0, 0, 0];
            p.extend([10, 0, 0, 1, 10, 0, 1, 2]);
            p
        };
        let at = if ipv6 { 6 } else { 9 };
        p[at] = if transport == Transport::Tcp { 6 } else { 17 };
        match transport {
            Transport::Tcp => {
                p.extend([0, 80, 1, 2]);
                p.extend(number.wrapping_mul(0x7654_3211).to_be_bytes());
                p.extend([0, 0, 0, 9, 8 << 4, flags, 1, 1, 0, 0, 0, 0]);
                p.extend([1, 1, 8, 10, 0, 0, 0, number as u8, 0, 0, 0, 2]);
            }
            Transport::Udp => p.extend([0, 53, 1, 2, 0, 0, 0, 0]),
        }
        p.extend(payload);
        p
    }

    fn cut(packet: &[u8], payload: usize) -> Vec<Vec<u8>> {
        let layout = Layout::read(packet).expect("it has headers");
        let mut segments = Segments::new(packet, layout, payload);
        let mut out = Vec::new();
        while segments.remain() {
            let mut segment = vec![0; segments.next_bytes()];
            segments.write_next(&mut segment);
            out.push(segment);
        }
        out
    }

    /// Zero if a checksum over the bytes and a pseudo-header is right.
    fn checksum(packet: &[u8]) -> u16 {
        let layout = Layout::read(packet).expect("it has headers");
        let words = |bytes: &[u8]| -> u64 {
            bytes.chunks(2).map(|w| u64::from(w[0]) << 8 | u64::from(*w.get(1).unwrap_or(&0))).sum()
        };
        !folded(layout.pseudo_header_sum(packet, packet.len()) + words(&packet[layout.network..]))
    }

    fn joined(packets: &[Vec<u8>]) -> (Group, Vec<u8>, [u8; HEADER_BYTES]) {
        let mut group = Group::new(&packets[0], true);
        for next in &packets[1..] {
            assert!(group.add(&packets[0], next), "a segment follows its predecessor");
        }
        let mut first = packets[0].clone();
        let (header, skipped) = group.join(&mut first);
        for next in &packets[1..] {
            first.extend(&next[skipped..]);
        }
        (group, first, header)
    }

    fn transports() -> impl Strategy<Value = (bool, Transport)> {
        (any::<bool>(), prop_oneof![Just(Transport::Tcp), Just(Transport::Udp)])
    }

    proptest! {
        #[test]
        fn segments_have_the_payload_and_right_checksums_and_joined_are_the_packet_again(
            (ipv6, transport) in transports(),
            payload in prop::collection::vec(any::<u8>(), 1..5000),
            size in 1usize..1500,
            flags in prop_oneof![Just(ACK), Just(ACK | PSH), Just(ACK | FIN), Just(ACK | PSH | FIN)],
            number: u32,
        ) {
            let packet = whole(ipv6, transport, &payload, flags, number);
            let headers = packet.len() - payload.len();
            let segments = cut(&packet, size);
            prop_assert_eq!(segments.len(), payload.len().div_ceil(size));
            let mut seen: Vec<u8> = Vec::new();
            for segment in &segments {
                prop_assert_eq!(checksum(segment), 0);
                let length = if ipv6 { u16_at(segment, 4) as usize + 40 } else { u16_at(segment, 2) as usize };
                prop_assert_eq!(length, segment.len());
                seen.extend(&segment[headers..]);
            }
            prop_assert_eq!(&seen, &payload);
            let (_, again, header) = joined(&segments);
            if segments.len() > 1 {
                let pending = Pending::read(&header, &again);
                prop_assert_eq!(pending, Pending::Segments(Layout::read(&packet).unwrap(), size));
                prop_assert_eq!(cut(&again, size), segments);
            } else {
                prop_assert_eq!((again, header), (segments[0].clone(), [0; HEADER_BYTES]));
            }
        }

        /// One bit of the headers differs, or a segment is missing: it is written by itself.
        #[test]
        fn what_does_not_follow_is_not_joined(
            (ipv6, transport) in transports(),
            bit in 0usize..400,
            number: u32,
        ) {
            let segments = cut(&whole(ipv6, transport, &[7; 300], ACK, number), 100);
            let layout = Layout::read(&segments[0]).unwrap();
            let mut group = Group::new(&segments[0], true);
            if transport == Transport::Tcp || !ipv6 {
                prop_assert!(!group.add(&segments[0], &segments[2]), "one is missing");
            }
            let mut other = segments[1].clone();
            let bit = bit % (layout.headers * 8);
            other[bit / 8] ^= 1 << (bit % 8);
            // Lengths and checksums follow from the rest; PSH and FIN may be in the last one.
            let at = bit / 8;
            let derived = match (ipv6, transport) {
                _ if at >= layout.network => match (transport, at - layout.network) {
                    (Transport::Tcp, 16..18) | (Transport::Udp, 4..8) => true,
                    (Transport::Tcp, TCP_FLAGS) => (PSH | FIN) & (1 << (bit % 8)) != 0,
                    _ => false,
                },
                (true, _) => (4..6).contains(&at),
                (false, _) => (2..4).contains(&at) || (10..12).contains(&at),
            };
            prop_assert_eq!(group.add(&segments[0], &other), derived);
        }

        #[test]
        fn any_bytes_can_be_read(header: [u8; HEADER_BYTES], packet in prop::collection::vec(any::<u8>(), 1..200)) {
            match Pending::read(&header, &packet) {
                Pending::Nothing => {}
                Pending::Checksum { start, offset } => {
                    crate::offload::complete_checksum(&mut packet.clone(), start, offset);
                }
                Pending::Segments(_, payload) => {
                    prop_assert!(cut(&packet, payload).len() <= packet.len());
                }
            }
            let mut group = Group::new(&packet, true);
            group.add(&packet, &packet);
        }
    }

    #[test]
    fn no_segment_follows_a_short_one_or_an_unknown_checksum() {
        let segments = cut(&whole(false, Transport::Udp, &[7; 250], 0, 3), 100);
        let (mut group, ..) = joined(&segments);
        let mut next = segments[1].clone();
        next[5] = next[5].wrapping_add(2);
        assert!(!group.add(&segments[0], &next), "the last one was short");
        assert!(!Group::new(&segments[0], false).add(&segments[0], &segments[1]));
    }

    #[test]
    fn the_answer_to_a_mark_is_in_the_first_segment_and_the_end_in_the_last() {
        let all = ACK | PSH | FIN | 0x80;
        let segments = cut(&whole(false, Transport::Tcp, &[1; 300], all, 3), 100);
        let flags: Vec<u8> = segments.iter().map(|s| s[20 + TCP_FLAGS]).collect();
        assert_eq!(flags, [ACK | 0x80, ACK, ACK | PSH | FIN]);
    }
}
