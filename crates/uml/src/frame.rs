//! Ethernet frames with IPv4 and TCP: what the simulator needs to know of them, and the CE mark.

use marqueue_core::{Ecn, Flags, Packet};

/// Length of the Ethernet header.
pub const ETHERNET: usize = 14;
const IPV4: [u8; 2] = [0x08, 0x00];
/// The frames of telemetry: an EtherType for local experiments (IEEE Std 802-2014, section 9.2.4).
const TELEMETRY: [u8; 2] = [0x88, 0xb5];
const TCP: u8 = 6;
const UDP: u8 = 17;
const CE: u8 = 3;
/// Where the source address of a frame is, and how one begins that has a number: locally administered (IEEE Std 802).
const SOURCE: usize = 6;
const NUMBERED: [u8; 2] = [0x02, 0x51];
/// Length of the IP header that [`write_packet`] writes.
const IP: usize = 20;
/// Flows that share the addresses of [`write_packet`]; their ports differ.
const FLOWS_AN_ADDRESS: u32 = 50_000;
const FIRST_PORT: u32 = 10_000;
const SERVER_PORT: u16 = 5000;

/// A TCP segment in a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TcpFrame {
    /// Length of the IP packet, bytes.
    pub bytes: u32,
    /// ECN field.
    pub ecn: Ecn,
    /// Source and destination addresses.
    pub addresses: [[u8; 4]; 2],
    /// Source and destination ports.
    pub ports: [u16; 2],
    /// Sequence number.
    pub seq: u32,
    /// Acknowledgement number.
    pub ack: u32,
    /// Payload, bytes.
    pub payload: u32,
    /// SYN, ECE and CWR.
    pub flags: Flags,
    /// FIN.
    pub fin: bool,
    /// Is the acknowledgement number valid?
    pub acknowledges: bool,
}

/// The records in a frame, if it is one of telemetry.
pub fn telemetry(frame: &[u8]) -> Option<&[u8]> {
    (frame.get(12..14)? == TELEMETRY).then(|| &frame[ETHERNET..])
}

fn u16_at(bytes: &[u8], at: usize) -> Option<u16> {
    Some(u16::from_be_bytes(bytes.get(at..at + 2)?.try_into().ok()?))
}

fn u32_at(bytes: &[u8], at: usize) -> Option<u32> {
    Some(u32::from_be_bytes(bytes.get(at..at + 4)?.try_into().ok()?))
}

/// The segment in a frame; `None` for other frames, such as those of ARP.
pub fn parse(frame: &[u8]) -> Option<TcpFrame> {
    if frame.get(12..14)? != IPV4 {
        return None;
    }
    let ip = &frame[ETHERNET..];
    let header = usize::from(ip.first()? & 15) * 4;
    let length = u16_at(ip, 2)?;
    let is_whole = ip[0] >> 4 == 4 && header >= 20 && u16_at(ip, 6)? & 0x3fff == 0;
    if !is_whole || *ip.get(9)? != TCP || usize::from(length) > ip.len() {
        return None;
    }
    let tcp = ip.get(header..usize::from(length))?;
    let (offset, bits) = (usize::from(tcp.get(12)? >> 4) * 4, *tcp.get(13)?);
    let payload = tcp.len().checked_sub(offset).filter(|_| offset >= 20)?;
    let mut flags = Flags::NONE;
    for (bit, flag) in [(0x02, Flags::SYN), (0x40, Flags::ECE), (0x80, Flags::CWR)] {
        if bits & bit != 0 {
            flags |= flag;
        }
    }
    Some(TcpFrame {
        bytes: u32::from(length),
        ecn: match ip[1] & CE {
            0 => Ecn::NotEct,
            1 => Ecn::Ect1,
            2 => Ecn::Ect0,
            _ => Ecn::Ce,
        },
        addresses: [ip[12..16].try_into().ok()?, ip[16..20].try_into().ok()?],
        ports: [u16_at(tcp, 0)?, u16_at(tcp, 2)?],
        seq: u32_at(tcp, 4)?,
        ack: u32_at(tcp, 8)?,
        payload: payload as u32,
        flags,
        fin: bits & 1 != 0,
        acknowledges: bits & 0x10 != 0,
    })
}

/// Writes a CE mark into the IP header of a frame that [`parse`] accepts, and corrects its checksum (RFC 1624).
pub fn mark(frame: &mut [u8]) {
    let old = u16::from_be_bytes([frame[ETHERNET], frame[ETHERNET + 1]]);
    let new = old | u16::from(CE);
    let at = ETHERNET + 10;
    let checksum = u16::from_be_bytes([frame[at], frame[at + 1]]);
    let mut sum = u32::from(!checksum) + u32::from(!old) + u32::from(new);
    sum = (sum & 0xffff) + (sum >> 16);
    sum = (sum & 0xffff) + (sum >> 16);
    frame[ETHERNET + 1] = new as u8;
    frame[at..at + 2].copy_from_slice(&(!(sum as u16)).to_be_bytes());
}

/// Writes a number into the source address of a frame.
pub fn set_number(frame: &mut [u8], number: u32) {
    frame[SOURCE..SOURCE + 2].copy_from_slice(&NUMBERED);
    frame[SOURCE + 2..SOURCE + 6].copy_from_slice(&number.to_be_bytes());
}

/// The number in a source address that [`set_number`] wrote.
pub fn number_in(address: &[u8]) -> Option<u32> {
    (address.get(..2)? == NUMBERED).then_some(u32_at(address, 2)?)
}

/// The number in the source address of a frame, and whether its packet is marked CE.
pub fn number_and_mark(frame: &[u8]) -> Option<(u32, bool)> {
    Some((number_in(frame.get(SOURCE..)?)?, frame.get(ETHERNET + 1)? & CE == CE))
}

/// Appends the frame of a packet of a model: headers of IP and TCP or UDP, then zeros. Flows differ in their ports, and
/// beyond 50,000 of them in addresses, which acknowledgements have the other way round.
pub fn write_packet(packet: &Packet, is_tcp: bool, to: &mut Vec<u8>) {
    let (flow, bytes) = (packet.flow(), packet.bytes());
    let begin = to.len();
    to.resize(begin + ETHERNET + bytes as usize, 0);
    let frame = &mut to[begin..];
    frame[12..14].copy_from_slice(&IPV4);
    let host = (flow / FLOWS_AN_ADDRESS).to_be_bytes();
    let client = ([10, 128, host[2], host[3]], (FIRST_PORT + flow % FLOWS_AN_ADDRESS) as u16);
    let server = ([10, 192, host[2], host[3]], SERVER_PORT);
    let ends = if packet.has(Flags::ACK) { [server, client] } else { [client, server] };
    let ip = &mut frame[ETHERNET..];
    ip[0] = 0x45;
    ip[1] = packet.dscp().value() << 2 | packet.ecn() as u8;
    ip[2..4].copy_from_slice(&(bytes as u16).to_be_bytes());
    // Do not fragment.
    ip[6] = 0x40;
    (ip[8], ip[9]) = (64, if is_tcp { TCP } else { UDP });
    ip[12..16].copy_from_slice(&ends[0].0);
    ip[16..20].copy_from_slice(&ends[1].0);
    let mut sum: u32 = ip[..IP].chunks(2).map(|b| u32::from(b[0]) << 8 | u32::from(b[1])).sum();
    sum = (sum & 0xffff) + (sum >> 16);
    sum = (sum & 0xffff) + (sum >> 16);
    ip[10..12].copy_from_slice(&(!(sum as u16)).to_be_bytes());
    let transport = &mut ip[IP..];
    transport[..2].copy_from_slice(&ends[0].1.to_be_bytes());
    transport[2..4].copy_from_slice(&ends[1].1.to_be_bytes());
    if is_tcp {
        transport[4..8].copy_from_slice(&packet.seq().to_be_bytes());
        // Five words of header, and ACK.
        (transport[12], transport[13]) = (0x50, 0x10);
    } else {
        transport[4..6].copy_from_slice(&((bytes as usize - IP) as u16).to_be_bytes());
    }
}

/// A segment without contents.
#[cfg(test)]
pub(crate) fn empty_segment() -> TcpFrame {
    TcpFrame {
        bytes: 52,
        ecn: Ecn::NotEct,
        addresses: [[10, 0, 0, 1], [10, 1, 0, 1]],
        ports: [10_000, 5000],
        seq: 0,
        ack: 0,
        payload: 0,
        flags: Flags::NONE,
        fin: false,
        acknowledges: true,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A frame whose IP header has a right checksum, with 10 bytes of payload.
    fn frame(tos: u8) -> Vec<u8> {
        let mut ip = [0x45, tos, 0, 50, 1, 2, 0x40, 0, 64, 6, 0, 0, 10, 0, 0, 1, 10, 1, 0, 1];
        let sum = sum(&ip);
        ip[10..12].copy_from_slice(&(!sum).to_be_bytes());
        let mut tcp = [0; 30];
        tcp[..4].copy_from_slice(&[0x27, 0x10, 0x13, 0x88]);
        tcp[4..12].copy_from_slice(&[0, 0, 0, 7, 0, 0, 0, 9]);
        (tcp[12], tcp[13]) = (0x50, 0x10 | 0x80);
        [&[0; 12][..], &IPV4, &ip, &tcp, &[0; 6]].concat()
    }

    fn sum(bytes: &[u8]) -> u16 {
        let mut sum: u32 = bytes.chunks(2).map(|b| u32::from(b[0]) << 8 | u32::from(b[1])).sum();
        while sum > 0xffff {
            sum = (sum & 0xffff) + (sum >> 16);
        }
        sum as u16
    }

    #[test]
    fn a_segment_is_found_behind_its_headers_and_without_padding() {
        let found = parse(&frame(2)).expect("TCP");
        assert_eq!((found.bytes, found.payload, found.ecn), (50, 10, Ecn::Ect0));
        assert_eq!((found.ports, found.seq, found.ack), ([10_000, 5000], 7, 9));
        assert_eq!(found.addresses, [[10, 0, 0, 1], [10, 1, 0, 1]]);
        assert!(found.acknowledges && !found.fin && found.flags == Flags::CWR);
    }

    #[test]
    fn a_mark_keeps_the_checksum_right_for_every_traffic_class() {
        for tos in 0..=255 {
            let mut marked = frame(tos);
            mark(&mut marked);
            assert_eq!(parse(&marked).expect("TCP").ecn, Ecn::Ce);
            assert_eq!(sum(&marked[ETHERNET..ETHERNET + 20]), 0xffff, "class {tos}");
        }
    }

    #[test]
    fn the_frame_of_a_packet_has_its_flow_size_and_fields() {
        for (flow, ports) in [(7, [10_007, 5000]), (50_007, [10_007, 5000])] {
            let packet = Packet::data(flow, 3, 1500).with_ecn(Ecn::Ect1);
            let mut frame = Vec::new();
            write_packet(&packet, true, &mut frame);
            let found = parse(&frame).expect("TCP");
            assert_eq!((found.bytes, found.ecn, found.ports, found.seq), (1500, Ecn::Ect1, ports, 3));
            assert_eq!(found.addresses[0], [10, 128, 0, (flow / 50_000) as u8]);
            assert_eq!(sum(&frame[ETHERNET..ETHERNET + IP]), 0xffff);
            set_number(&mut frame, 1 << 31);
            assert_eq!(number_and_mark(&frame), Some((1 << 31, false)));
            mark(&mut frame);
            assert_eq!(number_and_mark(&frame), Some((1 << 31, true)));
        }
    }

    #[test]
    fn a_datagram_is_no_segment_and_a_source_of_a_kernel_has_no_number() {
        let mut frame = Vec::new();
        write_packet(&Packet::data(0, 0, 40), false, &mut frame);
        assert_eq!((parse(&frame), frame.len()), (None, ETHERNET + 40));
        assert_eq!(number_in(&[2, 0, 0, 0, 0, 1]), None);
    }

    #[test]
    fn any_cut_of_a_frame_is_refused_or_parsed_without_a_panic() {
        let whole = frame(0);
        for n in 0..whole.len() - 6 {
            assert_eq!(parse(&whole[..n]), None, "{n} bytes");
        }
    }
}
