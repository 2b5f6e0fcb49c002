//! What a link reads in a packet, and the one thing that it writes: the ECN field.
//!
//! IPv4 (RFC 791), IPv6 (RFC 8200), ECN (RFC 3168, section 5), DSCP (RFC 2474). The checksum of IPv4 is
//! changed by the difference (RFC 1624, equation 3), so that a packet that came in broken goes out broken.
//!
//! A flow is a 5-tuple. Fragments, of which only the first has ports, and protocols without ports are
//! flows by addresses and protocol; whatever is no IP packet, or ends before its header does, is one
//! flow of its own and is never marked.

use marqueue_core::dscp::Dscp;
use marqueue_core::Ecn;

/// Protocols whose first four bytes are two ports: TCP, UDP, DCCP, SCTP, UDP-Lite.
const WITH_PORTS: [u8; 5] = [6, 17, 33, 132, 136];
/// Most extension headers that are looked through.
const MOST_EXTENSIONS: usize = 8;
// Extension headers of IPv6 (RFC 8200, section 4).
const HOP_BY_HOP: u8 = 0;
const ROUTING: u8 = 43;
const FRAGMENT: u8 = 44;
const AUTHENTICATION: u8 = 51;
const DESTINATION: u8 = 60;

/// What kind of packet it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// IPv4.
    V4,
    /// IPv6.
    V6,
    /// Neither, or cut off within the header.
    Other,
}

/// What a link knows of a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Header {
    /// What kind of packet it is.
    pub kind: Kind,
    /// Hash of the flow that it belongs to.
    pub flow: u32,
    /// Its ECN field.
    pub ecn: Ecn,
    /// Its code point.
    pub dscp: Dscp,
    /// The last 16 bits of the source's address, and of the destination's: which hosts, where a plan has many.
    pub hosts: (u16, u16),
}

impl Header {
    /// Reads `packet`, whatever it is; `salt` makes it chance which flows share a hash.
    pub fn read(packet: &[u8], salt: u64) -> Header {
        let read = match packet.first().map(|byte| byte >> 4) {
            Some(4) => v4(packet, salt),
            Some(6) => v6(packet, salt),
            _ => None,
        };
        read.unwrap_or(Header {
            kind: Kind::Other,
            flow: mix(salt, &[]),
            ecn: Ecn::NotEct,
            dscp: Dscp::default(),
            hosts: (0, 0),
        })
    }
}

fn v4(packet: &[u8], salt: u64) -> Option<Header> {
    let header = usize::from(packet[0] & 0xf) * 4;
    let total = usize::from(u16::from_be_bytes([*packet.get(2)?, *packet.get(3)?]));
    if header < 20 || packet.len() < header || total < header || packet.len() < total {
        return None;
    }
    // More fragments, or not the first.
    let fragment = u16::from_be_bytes([packet[6], packet[7]]) & 0x3fff != 0;
    let protocol = packet[9];
    let ports = if fragment { None } else { ports(protocol, &packet[header..total]) };
    Some(Header {
        kind: Kind::V4,
        flow: hash(salt, &packet[12..20], protocol, ports),
        ecn: ecn(packet[1]),
        dscp: Dscp::from_bits(packet[1] >> 2),
        hosts: (last_two(&packet[12..16]), last_two(&packet[16..20])),
    })
}

fn v6(packet: &[u8], salt: u64) -> Option<Header> {
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
        hosts: (last_two(&packet[8..24]), last_two(&packet[24..40])),
    })
}

/// The protocol behind extension headers, and its ports; none of a fragment, or of a chain that is too
/// long or cut off.
fn upper_layer(mut next: u8, mut rest: &[u8]) -> (u8, Option<u32>) {
    for _ in 0..MOST_EXTENSIONS {
        let length = match next {
            HOP_BY_HOP | ROUTING | DESTINATION => rest.get(1).map(|&n| (usize::from(n) + 1) * 8),
            AUTHENTICATION => rest.get(1).map(|&n| (usize::from(n) + 2) * 4),
            // What comes behind belongs to a packet that nobody has in one piece.
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

fn last_two(address: &[u8]) -> u16 {
    u16::from_be_bytes([address[address.len() - 2], address[address.len() - 1]])
}

fn hash(salt: u64, addresses: &[u8], protocol: u8, ports: Option<u32>) -> u32 {
    let tail = u64::from(ports.unwrap_or(0)) << 16 | u64::from(ports.is_some()) << 8 | u64::from(protocol);
    mix(salt ^ tail.wrapping_mul(0x9e37_79b9_7f4a_7c15), addresses)
}

/// The finalizer of SplitMix64 (Steele, Lea and Flood 2014) over words of eight bytes.
fn mix(salt: u64, bytes: &[u8]) -> u32 {
    let mut x = salt;
    let mut stir = |word: u64| {
        x = x.wrapping_add(word).wrapping_add(0x9e37_79b9_7f4a_7c15);
        x = (x ^ (x >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        x = (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        x ^= x >> 31;
    };
    stir(bytes.len() as u64);
    for chunk in bytes.chunks(8) {
        let mut word = [0; 8];
        word[..chunk.len()].copy_from_slice(chunk);
        stir(u64::from_be_bytes(word));
    }
    (x >> 32) as u32
}

fn ecn(class: u8) -> Ecn {
    match class & 3 {
        0 => Ecn::NotEct,
        3 => Ecn::Ce,
        // ECT(0) and ECT(1) are one and the same to a router (RFC 3168, section 5).
        _ => Ecn::Ect,
    }
}

/// The two bits of `ecn`; that of ECT is ECT(0).
fn bits(ecn: Ecn) -> u8 {
    match ecn {
        Ecn::NotEct => 0,
        Ecn::Ect => 2,
        Ecn::Ce => 3,
    }
}

/// Writes the ECN field of a packet that [`Header::read`] has found to be of `kind`.
pub fn write_ecn(packet: &mut [u8], kind: Kind, ecn: Ecn) {
    match kind {
        Kind::V4 => {
            let old = u16::from_be_bytes([packet[0], packet[1]]);
            packet[1] = packet[1] & !3 | bits(ecn);
            let new = u16::from_be_bytes([packet[0], packet[1]]);
            let sum = u16::from_be_bytes([packet[10], packet[11]]);
            packet[10..12].copy_from_slice(&changed(sum, old, new).to_be_bytes());
        }
        // The field is the end of the traffic class, in the middle of the second byte; no checksum.
        Kind::V6 => packet[1] = packet[1] & !0x30 | bits(ecn) << 4,
        Kind::Other => {}
    }
}

/// RFC 1624, equation 3: HC' = ~(~HC + ~m + m').
fn changed(sum: u16, old: u16, new: u16) -> u16 {
    let mut x = u32::from(!sum) + u32::from(!old) + u32::from(new);
    x = (x & 0xffff) + (x >> 16);
    x = (x & 0xffff) + (x >> 16);
    !(x as u16)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The checksum of RFC 791 over a header, from scratch; zero if it is right.
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
    fn the_checksum_stays_right_for_every_traffic_class_and_mark() {
        for class in 0..=255u8 {
            for ecn in [Ecn::NotEct, Ecn::Ect, Ecn::Ce] {
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
        assert_eq!(changed(0xdd2f, 0x5555, 0x3285), 0x0000);
    }

    #[test]
    fn a_wrong_checksum_stays_wrong() {
        let mut p = segment(2, 0, 80);
        p[10] ^= 0x40;
        write_ecn(&mut p, Kind::V4, Ecn::Ce);
        assert_ne!(checksum(&p[..20]), 0);
    }

    #[test]
    fn ports_tell_flows_apart_and_fragments_stay_together() {
        let flow = |p: Vec<u8>| Header::read(&p, 9).flow;
        assert_ne!(flow(segment(0, 0, 80)), flow(segment(0, 0, 81)));
        // The first fragment (more to come), and one at an offset with payload where ports would be.
        assert_eq!(flow(segment(0, 0x2000, 80)), flow(segment(0, 0x00b9, 81)));
        // "Do not fragment" is not a fragment.
        assert_eq!(flow(segment(0, 0x4000, 80)), flow(segment(0, 0, 80)));
        let mut icmp = (segment(0, 0, 80), segment(0, 0, 81));
        (icmp.0[9], icmp.1[9]) = (1, 1);
        assert_eq!(flow(icmp.0), flow(icmp.1));
    }

    #[test]
    fn fields_of_ipv4_and_ipv6_are_found() {
        let p = segment(46 << 2 | 1, 0, 80);
        let h = Header::read(&p, 1);
        assert_eq!((h.kind, h.ecn, h.dscp.value(), h.hosts), (Kind::V4, Ecn::Ect, 46, (1, 0x102)));
        let mut p = vec![0u8; 48];
        (p[0], p[1], p[5], p[6], p[23], p[39]) = (0x6b, 0xa0, 8, 17, 5, 6);
        let h = Header::read(&p, 1);
        assert_eq!((h.kind, h.ecn, h.dscp.value(), h.hosts), (Kind::V6, Ecn::Ect, 46, (5, 6)));
        write_ecn(&mut p, Kind::V6, Ecn::Ce);
        assert_eq!((p[0], p[1]), (0x6b, 0xb0));
    }

    #[test]
    fn ports_are_found_behind_extension_headers() {
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
    fn what_is_cut_off_is_no_ip_packet() {
        let p = segment(2, 0, 80);
        for n in 0..p.len() {
            assert_eq!(Header::read(&p[..n], 1).kind, Kind::Other, "{n}");
        }
        assert_eq!(Header::read(&[0x45], 1), Header::read(&[0x00, 1, 2], 1));
    }
}
