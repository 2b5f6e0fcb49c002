//! Reads the fields of a packet that a link needs, and writes the ECN field.
//!
//! IPv4 (RFC 791), IPv6 (RFC 8200), ECN (RFC 3168, section 5), DSCP (RFC 2474). The IPv4 checksum is updated
//! incrementally (RFC 1624, equation 3), so a wrong checksum stays wrong.
//!
//! A flow is a 5-tuple. Fragments and protocols without ports are classified by addresses and protocol alone. Packets
//! that are not IP or end within their header form one flow, and are never marked.

use marqueue_core::dscp::Dscp;
use marqueue_core::Ecn;

/// Protocols whose header begins with two ports: TCP, UDP, DCCP, SCTP, UDP-Lite.
const WITH_PORTS: [u8; 5] = [6, 17, 33, 132, 136];
/// Most extension headers that are parsed.
const MOST_EXTENSIONS: usize = 8;
// Extension headers of IPv6 (RFC 8200, section 4).
const HOP_BY_HOP: u8 = 0;
const ROUTING: u8 = 43;
const FRAGMENT: u8 = 44;
const AUTHENTICATION: u8 = 51;
const DESTINATION: u8 = 60;

/// The IP version of a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// IPv4.
    V4,
    /// IPv6.
    V6,
    /// Neither, or the packet ends within the header.
    Other,
}

/// The fields that a link reads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Header {
    /// The IP version.
    pub kind: Kind,
    /// Hash of the flow.
    pub flow: u32,
    /// The ECN field.
    pub ecn: Ecn,
    /// The code point.
    pub dscp: Dscp,
    /// The last 16 bits of the addresses of source and destination, which number the hosts of a plan.
    pub host_numbers: (u16, u16),
}

impl Header {
    /// Reads `packet`, which may be malformed. `salt` changes which flows collide in the flow
    /// hash.
    pub fn read(packet: &[u8], salt: u64) -> Header {
        let read = match packet.first().map(|byte| byte >> 4) {
            Some(4) => read_ipv4(packet, salt),
            Some(6) => read_ipv6(packet, salt),
            _ => None,
        };
        read.unwrap_or(Header {
            kind: Kind::Other,
            flow: mix(salt, &[]),
            ecn: Ecn::NotEct,
            dscp: Dscp::default(),
            host_numbers: (0, 0),
        })
    }
}

fn read_ipv4(packet: &[u8], salt: u64) -> Option<Header> {
    let header = usize::from(packet[0] & 0xf) * 4;
    let total = usize::from(u16::from_be_bytes([*packet.get(2)?, *packet.get(3)?]));
    if header < 20 || packet.len() < header || total < header || packet.len() < total {
        return None;
    }
    // "More fragments" is set, or the offset is not zero.
    let fragment = u16::from_be_bytes([packet[6], packet[7]]) & 0x3fff != 0;
    let protocol = packet[9];
    let ports = if fragment { None } else { ports(protocol, &packet[header..total]) };
    Some(Header {
        kind: Kind::V4,
        flow: hash(salt, &packet[12..20], protocol, ports),
        ecn: ecn(packet[1]),
        dscp: Dscp::from_bits(packet[1] >> 2),
        host_numbers: (low_16_bits(&packet[12..16]), low_16_bits(&packet[16..20])),
    })
}

fn read_ipv6(packet: &[u8], salt: u64) -> Option<Header> {
    if packet.len() < 40 || packet.len() - 40 < usize::from(u16::from_be_bytes([packet[4], packet[5]])) {
        return None;
    }
    let class = packet[0] << 4 | packet[1] >> 4;
    let (protocol, ports) = upper_layer(packet[6], &packet[40..]);
    Some(Header {
        kind: Kind::V6,
        flow: hash(salt, &packet[8..40], protocol, ports),
        ecn: ecn(class),
        dscp: Dscp::from_bits(class >> 2),
        host_numbers: (low_16_bits(&packet[8..24]), low_16_bits(&packet[24..40])),
    })
}

/// The protocol after the extension headers, and its ports; no ports for fragments and for header chains that are too
/// long or truncated.
fn upper_layer(mut next: u8, mut rest: &[u8]) -> (u8, Option<u32>) {
    for _ in 0..MOST_EXTENSIONS {
        let length = match next {
            HOP_BY_HOP | ROUTING | DESTINATION => rest.get(1).map(|&n| (usize::from(n) + 1) * 8),
            AUTHENTICATION => rest.get(1).map(|&n| (usize::from(n) + 2) * 4),
            // Only the first fragment has ports, so they are not used.
            FRAGMENT => return (rest.first().copied().unwrap_or(next), None),
            _ => return (next, ports(next, rest)),
        };
        match length.and_then(|n| rest.get(n..)) {
            Some(further) => (next, rest) = (rest[0], further),
            None => return (next, None),
        }
    }
    (next, None)
}

fn ports(protocol: u8, segment: &[u8]) -> Option<u32> {
    let first: [u8; 4] = segment.get(..4)?.try_into().ok()?;
    WITH_PORTS.contains(&protocol).then(|| u32::from_be_bytes(first))
}

fn low_16_bits(address: &[u8]) -> u16 {
    u16::from_be_bytes([address[address.len() - 2], address[address.len() - 1]])
}

fn hash(salt: u64, addresses: &[u8], protocol: u8, ports: Option<u32>) -> u32 {
    let tail = u64::from(ports.unwrap_or(0)) << 16 | u64::from(ports.is_some()) << 8 | u64::from(protocol);
    mix(salt ^ tail.wrapping_mul(0x9e37_79b9_7f4a_7c15), addresses)
}

/// Hashes bytes in words of eight with the finalizer of SplitMix64 (Steele, Lea and Flood 2014).
fn mix(salt: u64, bytes: &[u8]) -> u32 {
    let mut x = salt;
    let mut absorb = |word: u64| {
        x = x.wrapping_add(word).wrapping_add(0x9e37_79b9_7f4a_7c15);
        x = (x ^ (x >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        x = (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        x ^= x >> 31;
    };
    absorb(bytes.len() as u64);
    for chunk in bytes.chunks(8) {
        let mut word = [0; 8];
        word[..chunk.len()].copy_from_slice(chunk);
        absorb(u64::from_be_bytes(word));
    }
    (x >> 32) as u32
}

fn ecn(class: u8) -> Ecn {
    match class & 3 {
        0 => Ecn::NotEct,
        1 => Ecn::Ect1,
        2 => Ecn::Ect0,
        _ => Ecn::Ce,
    }
}

/// Writes the ECN field of a packet whose kind is that of [`Header::read`].
pub fn write_ecn(packet: &mut [u8], kind: Kind, ecn: Ecn) {
    match kind {
        Kind::V4 => {
            let old = u16::from_be_bytes([packet[0], packet[1]]);
            packet[1] = packet[1] & !3 | ecn as u8;
            let new = u16::from_be_bytes([packet[0], packet[1]]);
            let sum = u16::from_be_bytes([packet[10], packet[11]]);
            packet[10..12].copy_from_slice(&updated_checksum(sum, old, new).to_be_bytes());
        }
        // The last two bits of the traffic class. IPv6 has no header checksum.
        Kind::V6 => packet[1] = packet[1] & !0x30 | (ecn as u8) << 4,
        Kind::Other => {}
    }
}

/// The checksum after a word changed from `old` to `new` (RFC 1624, equation 3): HC' = ~(~HC + ~m + m').
pub(crate) fn updated_checksum(sum: u16, old: u16, new: u16) -> u16 {
    let mut x = u32::from(!sum) + u32::from(!old) + u32::from(new);
    x = (x & 0xffff) + (x >> 16);
    x = (x & 0xffff) + (x >> 16);
    !(x as u16)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The checksum of RFC 791 computed over a whole header; zero if its checksum field is right.
    fn checksum(header: &[u8]) -> u16 {
        let words = header.chunks(2).map(|w| u32::from(u16::from_be_bytes([w[0], w[1]])));
        let mut x: u32 = words.sum();
        while x > 0xffff {
            x = (x & 0xffff) + (x >> 16);
        }
        !(x as u16)
    }

    /// A TCP segment of `ports` between 10.0.0.1 and 10.0.1.2.
    fn segment(class: u8, fragment: u16, ports: u32) -> Vec<u8> {
        let mut p = vec![0x45, class, 0, 40, 0, 7, 0, 0, 64, 6, 0, 0, 10, 0, 0, 1, 10, 0, 1, 2];
        p[6..8].copy_from_slice(&fragment.to_be_bytes());
        let sum = checksum(&p);
        p[10..12].copy_from_slice(&sum.to_be_bytes());
        p.extend(ports.to_be_bytes());
        p.resize(40, 0);
        p
    }

    #[test]
    fn checksums_stay_right_for_every_traffic_class_and_mark() {
        for class in 0..=255u8 {
            for ecn in [Ecn::NotEct, Ecn::Ect0, Ecn::Ect1, Ecn::Ce] {
                let mut p = segment(class, 0, 80);
                write_ecn(&mut p, Kind::V4, ecn);
                assert_eq!(checksum(&p[..20]), 0, "{class} {ecn:?}");
                assert_eq!((p[1] & !3, Header::read(&p, 1).ecn), (class & !3, ecn));
            }
        }
    }

    #[test]
    fn the_example_of_rfc_1624() {
        // Section 4: HC = 0xDD2F, m = 0x5555, m' = 0x3285 gives 0x0000.
        assert_eq!(updated_checksum(0xdd2f, 0x5555, 0x3285), 0x0000);
    }

    #[test]
    fn a_wrong_checksum_stays_wrong() {
        let mut p = segment(2, 0, 80);
        p[10] ^= 0x40;
        write_ecn(&mut p, Kind::V4, Ecn::Ce);
        assert_ne!(checksum(&p[..20]), 0);
    }

    #[test]
    fn flows_differ_by_ports_except_for_fragments_and_icmp() {
        let flow = |p: Vec<u8>| Header::read(&p, 9).flow;
        assert_ne!(flow(segment(0, 0, 80)), flow(segment(0, 0, 81)));
        // The first fragment, and a later one that has payload in place of ports.
        assert_eq!(flow(segment(0, 0x2000, 80)), flow(segment(0, 0x00b9, 81)));
        // "Do not fragment" is not a fragment.
        assert_eq!(flow(segment(0, 0x4000, 80)), flow(segment(0, 0, 80)));
        let mut icmp = (segment(0, 0, 80), segment(0, 0, 81));
        (icmp.0[9], icmp.1[9]) = (1, 1);
        assert_eq!(flow(icmp.0), flow(icmp.1));
    }

    #[test]
    fn fields_of_ipv4_and_ipv6_are_read() {
        let p = segment(46 << 2 | 1, 0, 80);
        let h = Header::read(&p, 1);
        assert_eq!((h.kind, h.ecn, h.dscp.value(), h.host_numbers), (Kind::V4, Ecn::Ect1, 46, (1, 0x102)));
        let mut p = vec![0u8; 48];
        (p[0], p[1], p[5], p[6], p[23], p[39]) = (0x6b, 0xa0, 8, 17, 5, 6);
        let h = Header::read(&p, 1);
        assert_eq!((h.kind, h.ecn, h.dscp.value(), h.host_numbers), (Kind::V6, Ecn::Ect0, 46, (5, 6)));
        write_ecn(&mut p, Kind::V6, Ecn::Ce);
        assert_eq!((p[0], p[1]), (0x6b, 0xb0));
    }

    #[test]
    fn ports_are_read_after_extension_headers() {
        let mut p = vec![0u8; 40];
        (p[0], p[5], p[6]) = (0x60, 24, HOP_BY_HOP);
        p.extend([DESTINATION, 0, 0, 0, 0, 0, 0, 0]);
        p.extend([17, 0, 0, 0, 0, 0, 0, 0]);
        p.extend([0, 53, 0, 99, 0, 8, 0, 0]);
        let other = [&p[..57], &[54], &p[58..]].concat();
        assert_ne!(Header::read(&p, 1).flow, Header::read(&other, 1).flow);
        p[40] = FRAGMENT;
        let other = [&p[..57], &[54], &p[58..]].concat();
        assert_eq!(Header::read(&p, 1).flow, Header::read(&other, 1).flow);
    }

    #[test]
    fn truncated_packets_are_not_ip() {
        let p = segment(2, 0, 80);
        for n in 0..p.len() {
            assert_eq!(Header::read(&p[..n], 1).kind, Kind::Other, "{n}");
        }
        assert_eq!(Header::read(&[0x45], 1), Header::read(&[0x00, 1, 2], 1));
    }
}
