//! The headers of one packet: IPv4 (RFC 791, RFC 3168), TCP (RFC 9293, RFC 7323, RFC 2018), UDP
//! (RFC 768).

use etherparse::{IpEcn, IpNumber, Ipv4Header, TcpHeader, TcpOptionElement, UdpHeader};

const IP_HEADER: u32 = 20;
const TCP_HEADER: u32 = 20;
const LONGEST: u32 = 65_535;

/// Port of servers: the discard service (RFC 863), because receivers discard what they get.
const DISCARD: u16 = 9;
/// Ports of clients (RFC 6335, section 6).
const EPHEMERAL: u16 = 49_152;
const EPHEMERALS: u32 = 16_384;

/// The ECN field (RFC 3168, section 5).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ecn {
    /// Not ECN-capable transport.
    NotEct,
    /// ECN-capable transport: ECT(0).
    Ect0,
    /// ECN-capable transport: ECT(1).
    Ect1,
    /// Congestion experienced.
    Ce,
}

/// The flags of a simulated packet.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TcpFlags {
    /// True for an acknowledgement, false for data.
    pub ack: bool,
    /// True for a SYN and its acknowledgement.
    pub syn: bool,
    /// ECN echo; on a SYN, the request to use ECN.
    pub ece: bool,
    /// Congestion window reduced.
    pub cwr: bool,
}

/// A simulated packet.
#[derive(Clone, Copy, Debug)]
pub struct Packet<'a> {
    /// Data: the sequence number, 0 for the SYN. Acknowledgement: the next sequence number expected.
    pub seq: u32,
    /// Size on the wire.
    pub bytes: u32,
    /// Flags; only `ack` applies to UDP.
    pub flags: TcpFlags,
    /// ECN field.
    pub ecn: Ecn,
    /// The timestamp of data, or the one that an acknowledgement echoes.
    pub timestamp: Option<u32>,
    /// SACK blocks in packets, one past the last: start, end, start, end, at most four blocks.
    pub sack: &'a [u32],
}

/// The settings of a TCP connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TcpSettings {
    /// Payload of a full data packet, bytes.
    pub segment: u32,
    /// Size of a full data packet on the wire, bytes.
    pub wire: u32,
    /// The receiver's window, packets.
    pub window: u32,
    /// The receiver sends selective acknowledgements.
    pub sack: bool,
    /// Segments carry timestamps (RFC 7323, 3).
    pub timestamps: bool,
}

/// The transport protocol of a flow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Protocol {
    /// TCP.
    Tcp(TcpSettings),
    /// UDP.
    Udp,
}

/// A flow: a client in 10.0.0.0/8 that sends to the server of its class in 172.16.0.0/12.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Flow {
    /// The number of the flow. Each flow has its own client address, because there are more flows than ports.
    pub number: u32,
    /// The traffic class. Each class has its own server.
    pub class: u32,
    /// The protocol.
    pub protocol: Protocol,
}

impl TcpSettings {
    /// Bytes of sequence space for each packet: the payload, or less if size on the wire minus headers is less. (The
    /// sizes of ns-2's packets do not include headers.)
    fn packet_payload(&self) -> u32 {
        let room = self.wire.min(LONGEST).saturating_sub(IP_HEADER + TCP_HEADER + self.timestamps_bytes());
        self.segment.min(room).max(1)
    }

    /// Bytes of the timestamps option with its padding.
    fn timestamps_bytes(&self) -> u32 {
        12 * u32::from(self.timestamps)
    }

    /// The sequence number in bytes of packet `seq`, modulo 2^32. The SYN has number 0.
    fn sequence_number(&self, seq: u32) -> u32 {
        match seq {
            0 => 0,
            n => (n - 1).wrapping_mul(self.packet_payload()).wrapping_add(1),
        }
    }

    /// The shift of the window scale option (RFC 7323, 2.3), and the window field of the header.
    fn window(&self) -> (u8, u16) {
        let bytes = u64::from(self.window) * u64::from(self.packet_payload());
        let shift = (0..14).find(|&s| bytes >> s <= u64::from(u16::MAX)).unwrap_or(14);
        (shift, u16::try_from(bytes >> shift).unwrap_or(u16::MAX))
    }

    fn header(&self, packet: &Packet<'_>) -> TcpHeader {
        let TcpFlags { ack, syn, ece, cwr } = packet.flags;
        let (shift, window) = self.window();
        let mut tcp = TcpHeader {
            sequence_number: if ack { u32::from(!syn) } else { self.sequence_number(packet.seq) },
            acknowledgment_number: match (ack, syn) {
                (true, _) => self.sequence_number(packet.seq),
                (false, true) => 0,
                (false, false) => 1,
            },
            syn,
            ack: ack || !syn,
            ece,
            // RFC 3168, 6.1.1: an ECN-setup SYN has ECE and CWR, the SYN-ACK only ECE.
            cwr: cwr || syn && ece && !ack,
            // RFC 7323, 2.2: the window of a SYN is not scaled.
            window_size: if syn { (u64::from(window) << shift).min(u64::from(u16::MAX)) as u16 } else { window },
            ..TcpHeader::default()
        };
        tcp.set_options(&self.options(packet, shift))
            .expect("12 bytes of timestamps and at most three blocks: 40 bytes");
        tcp
    }

    fn options(&self, packet: &Packet<'_>, shift: u8) -> Vec<TcpOptionElement> {
        use TcpOptionElement::{MaximumSegmentSize, Noop, SelectiveAcknowledgementPermitted, Timestamp, WindowScale};
        let mut options = Vec::new();
        if packet.flags.syn {
            options.push(MaximumSegmentSize(self.packet_payload() as u16));
            if self.sack {
                options.extend([Noop, Noop, SelectiveAcknowledgementPermitted]);
            }
            options.extend([Noop, WindowScale(shift)]);
        }
        if let Some(timestamp) = packet.timestamp {
            // The timestamps of receivers are not simulated. An acknowledgement has the echoed one as its own too.
            let (value, echo) = if packet.flags.ack { (timestamp, timestamp) } else { (timestamp, 0) };
            options.extend([Noop, Noop, Timestamp(value, echo)]);
        }
        let mut blocks = packet.sack.chunks_exact(2).map(|b| (self.sequence_number(b[0]), self.sequence_number(b[1])));
        if let Some(first) = blocks.next() {
            let others = std::array::from_fn(|_| blocks.next());
            options.extend([Noop, Noop, TcpOptionElement::SelectiveAcknowledgement(first, others)]);
        }
        options
    }

    /// Payload of a packet, bytes; zero for a SYN and an acknowledgement.
    fn payload(&self, packet: &Packet<'_>) -> u32 {
        if packet.flags.ack || packet.flags.syn {
            0
        } else {
            self.packet_payload()
        }
    }
}

impl Flow {
    fn client(&self) -> [u8; 4] {
        let [_, a, b, c] = (self.number.wrapping_add(1)).to_be_bytes();
        [10, a, b, c]
    }

    fn server(&self) -> [u8; 4] {
        let [_, a, b, c] = (self.class.wrapping_add(1)).to_be_bytes();
        [172, 16 | a & 15, b, c]
    }

    /// The headers of one packet, with correct checksums.
    pub fn headers(&self, packet: &Packet<'_>) -> Vec<u8> {
        let client = EPHEMERAL + (self.number % EPHEMERALS) as u16;
        let mut out = Vec::with_capacity(80);
        match &self.protocol {
            Protocol::Tcp(settings) => {
                let mut tcp = settings.header(packet);
                let payload = settings.payload(packet);
                (tcp.source_port, tcp.destination_port) =
                    if packet.flags.ack { (DISCARD, client) } else { (client, DISCARD) };
                let ip = self.ip(packet, IpNumber::TCP, tcp.header_len() as u32 + payload);
                tcp.checksum = tcp.calc_checksum_ipv4(&ip, zeros(payload)).expect("it fits an IP packet");
                out.extend(ip.to_bytes());
                out.extend(tcp.to_bytes());
            }
            Protocol::Udp => {
                let room = packet.bytes.min(LONGEST).saturating_sub(IP_HEADER);
                let payload = room.saturating_sub(UdpHeader::LEN as u32);
                let ip = self.ip(packet, IpNumber::UDP, UdpHeader::LEN as u32 + payload);
                let udp = UdpHeader::with_ipv4_checksum(client, DISCARD, &ip, zeros(payload));
                out.extend(ip.to_bytes());
                out.extend(udp.expect("it fits an IP packet").to_bytes());
            }
        }
        out
    }

    fn ip(&self, packet: &Packet<'_>, protocol: IpNumber, payload: u32) -> Ipv4Header {
        let (client, server) = (self.client(), self.server());
        let (source, destination) = if packet.flags.ack { (server, client) } else { (client, server) };
        let mut ip = Ipv4Header {
            ecn: match packet.ecn {
                Ecn::NotEct => IpEcn::NotEct,
                Ecn::Ect0 => IpEcn::Ect0,
                Ecn::Ect1 => IpEcn::Ect1,
                Ecn::Ce => IpEcn::CongestionExperienced,
            },
            total_len: (IP_HEADER + payload) as u16,
            // RFC 6864, 4.1: with "don't fragment" the identification has no meaning.
            dont_fragment: true,
            time_to_live: 64,
            protocol,
            source,
            destination,
            ..Ipv4Header::default()
        };
        ip.header_checksum = ip.calc_header_checksum();
        ip
    }
}

fn zeros(n: u32) -> &'static [u8] {
    static ZEROS: [u8; LONGEST as usize] = [0; LONGEST as usize];
    &ZEROS[..n as usize]
}

#[cfg(test)]
mod tests {
    use super::*;

    const TCP: TcpSettings =
        TcpSettings { segment: 1460, wire: 1500, window: 1_000_000, sack: true, timestamps: false };

    fn packet(seq: u32, flags: TcpFlags) -> Packet<'static> {
        Packet { seq, bytes: 1500, flags, ecn: Ecn::NotEct, timestamp: None, sack: &[] }
    }

    fn headers(settings: TcpSettings, packet: &Packet<'_>) -> (Ipv4Header, TcpHeader) {
        let bytes = Flow { number: 300, class: 1, protocol: Protocol::Tcp(settings) }.headers(packet);
        let (ip, rest) = Ipv4Header::from_slice(&bytes).expect("IPv4");
        let (tcp, rest) = TcpHeader::from_slice(rest).expect("TCP");
        assert!(rest.is_empty());
        (ip, tcp)
    }

    #[test]
    fn sequence_numbers_start_at_the_syn_and_wrap_around() {
        let at = |seq| headers(TCP, &packet(seq, TcpFlags::default())).1.sequence_number;
        assert_eq!((at(1), at(2), at(101)), (1, 1461, 146_001));
        // 2^32 / 1460 = 2941758.4: packet 2941760 begins past the end of the sequence space.
        assert_eq!(at(2_941_760), (2_941_759u64 * 1460 + 1 - (1 << 32)) as u32);
    }

    #[test]
    fn packets_whose_size_excludes_headers_have_less_payload() {
        let ns2 = TcpSettings { segment: 1000, wire: 1000, ..TCP };
        let (ip, tcp) = headers(ns2, &packet(3, TcpFlags::default()));
        assert_eq!((ip.total_len, tcp.sequence_number), (1000, 1921));
    }

    #[test]
    fn the_handshake_negotiates_ecn_as_in_rfc_3168() {
        let syn = TcpFlags { syn: true, ece: true, ..TcpFlags::default() };
        let (ip, tcp) = headers(TCP, &packet(0, syn));
        assert_eq!((ip.source, ip.destination), ([10, 0, 1, 45], [172, 16, 0, 2]));
        assert_eq!((tcp.syn, tcp.ack, tcp.ece, tcp.cwr), (true, false, true, true));
        let (ip, tcp) = headers(TCP, &packet(1, TcpFlags { ack: true, ..syn }));
        assert_eq!((ip.source, ip.destination), ([172, 16, 0, 2], [10, 0, 1, 45]));
        assert_eq!((tcp.syn, tcp.ack, tcp.ece, tcp.cwr), (true, true, true, false));
        assert_eq!((tcp.sequence_number, tcp.acknowledgment_number), (0, 1));
    }

    #[test]
    fn sack_blocks_are_in_bytes() {
        let ack = TcpFlags { ack: true, ..TcpFlags::default() };
        let (_, tcp) = headers(TCP, &Packet { sack: &[5, 7, 9, 10], ..packet(3, ack) });
        let options: Vec<_> = tcp.options_iterator().map(|o| o.expect("an option")).collect();
        let blocks = TcpOptionElement::SelectiveAcknowledgement((5841, 8761), [Some((11681, 13141)), None, None]);
        assert_eq!(options, [TcpOptionElement::Noop, TcpOptionElement::Noop, blocks]);
        assert_eq!((tcp.sequence_number, tcp.acknowledgment_number), (1, 2921));
    }

    #[test]
    fn timestamps_take_twelve_bytes_of_each_segment() {
        let stamped = TcpSettings { segment: 1448, timestamps: true, ..TCP };
        let (ip, tcp) = headers(stamped, &Packet { timestamp: Some(77), ..packet(2, TcpFlags::default()) });
        assert_eq!((ip.total_len, tcp.sequence_number), (1500, 1449));
        let ack = TcpFlags { ack: true, ..TcpFlags::default() };
        let three = Packet { timestamp: Some(77), sack: &[5, 7, 9, 10, 12, 13], ..packet(3, ack) };
        let (_, tcp) = headers(stamped, &three);
        assert_eq!(tcp.header_len(), 60, "as much as fits");
        let options: Vec<_> = tcp.options_iterator().map(|o| o.expect("an option")).collect();
        assert!(options.contains(&TcpOptionElement::Timestamp(77, 77)));
    }

    #[test]
    fn the_window_is_scaled_up_to_the_largest_shift() {
        assert_eq!(TcpSettings { window: 44, ..TCP }.window(), (0, 44 * 1460));
        assert_eq!(TcpSettings { window: 45, ..TCP }.window(), (1, 45 * 730));
        assert_eq!(TCP.window(), (14, u16::MAX), "1.46 GB is more than 1 GiB");
    }
}
