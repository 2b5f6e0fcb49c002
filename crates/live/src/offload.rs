//! Checksum and segmentation offload between Linux and a TUN device.
//!
//! Before each packet on a device with `IFF_VNET_HDR` is the header of virtio (Virtual I/O Device 1.2, section 5.1.6;
//! linux/virtio_net.h). By it Linux hands over up to 64 KB of TCP or UDP payload as one packet, to be cut into segments,
//! and leaves checksums to whoever cuts. So it reads and writes many packets with one system call. Queues need packets
//! as they are on the wire: [`Segments`] cuts, and fills in checksums. Packets that leave at the same moment are put
//! together again ([`crate::coalescing`]).

/// Bytes of the header.
pub const HEADER_BYTES: usize = 10;
/// `VIRTIO_NET_HDR_F_NEEDS_CSUM`: the checksum field holds the sum of the pseudo-header only.
const NEEDS_CHECKSUM: u8 = 1;
// Kinds of segmentation: `VIRTIO_NET_HDR_GSO_*`.
const NONE: u8 = 0;
const TCP4: u8 = 1;
const TCP6: u8 = 4;
const UDP: u8 = 5;
/// Set beside a kind: the TCP segment has CWR.
const WITH_CWR: u8 = 0x80;

const IP_PROTOCOL_TCP: u8 = 6;
const IP_PROTOCOL_UDP: u8 = 17;
const IPV4_HEADER: usize = 20;
const IPV6_HEADER: usize = 40;
const UDP_HEADER: usize = 8;
/// Where TCP has its checksum.
const TCP_CHECKSUM: usize = 16;
/// Where UDP has its checksum.
const UDP_CHECKSUM: usize = 6;
/// Where TCP has its flags.
pub(crate) const TCP_FLAGS: usize = 13;
pub(crate) const FIN: u8 = 0x01;
pub(crate) const PSH: u8 = 0x08;
const CWR: u8 = 0x80;

/// The transport of a packet that can be cut.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Transport {
    /// TCP.
    Tcp,
    /// UDP.
    Udp,
}

impl Transport {
    /// Where the checksum is in the transport's header.
    pub fn checksum_offset(self) -> usize {
        match self {
            Transport::Tcp => TCP_CHECKSUM,
            Transport::Udp => UDP_CHECKSUM,
        }
    }

    fn protocol(self) -> u8 {
        match self {
            Transport::Tcp => IP_PROTOCOL_TCP,
            Transport::Udp => IP_PROTOCOL_UDP,
        }
    }
}

/// Where the headers of a TCP or UDP packet end: without options of IPv4, without extension headers of IPv6, and not a
/// fragment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Layout {
    /// Is it IPv6?
    pub ipv6: bool,
    /// The transport.
    pub transport: Transport,
    /// Bytes of IP's header.
    pub network: usize,
    /// Bytes of all headers.
    pub headers: usize,
}

impl Layout {
    /// Reads the headers of `packet`, which may be malformed; `None` if it has none of these forms.
    pub fn read(packet: &[u8]) -> Option<Layout> {
        let (ipv6, network, protocol) = match packet.first()? {
            0x45 if packet.len() >= IPV4_HEADER && u16_at(packet, 6) & 0x3fff == 0 => (false, IPV4_HEADER, packet[9]),
            byte if byte >> 4 == 6 && packet.len() >= IPV6_HEADER => (true, IPV6_HEADER, packet[6]),
            _ => return None,
        };
        let (transport, length) = match protocol {
            IP_PROTOCOL_TCP => (Transport::Tcp, usize::from(packet.get(network + 12)? >> 4) * 4),
            IP_PROTOCOL_UDP => (Transport::Udp, UDP_HEADER),
            _ => return None,
        };
        let headers = network + length;
        let least = if transport == Transport::Tcp { 20 } else { UDP_HEADER };
        (length >= least && packet.len() >= headers).then_some(Layout { ipv6, transport, network, headers })
    }

    /// The header of virtio before a packet with these headers that is to be cut into segments of `payload` bytes.
    pub fn to_be_cut(&self, payload: usize) -> [u8; HEADER_BYTES] {
        let kind = match (self.transport, self.ipv6) {
            (Transport::Tcp, false) => TCP4,
            (Transport::Tcp, true) => TCP6,
            (Transport::Udp, _) => UDP,
        };
        let words = [self.headers, payload, self.network, self.transport.checksum_offset()];
        let mut header = [0; HEADER_BYTES];
        (header[0], header[1]) = (NEEDS_CHECKSUM, kind);
        for (bytes, word) in header[2..].chunks_exact_mut(2).zip(words) {
            bytes.copy_from_slice(&(word as u16).to_ne_bytes());
        }
        header
    }

    /// Writes the lengths of a packet of `bytes`, and IPv4's checksum.
    pub fn write_lengths(&self, packet: &mut [u8], bytes: usize) {
        if self.ipv6 {
            packet[4..6].copy_from_slice(&((bytes - IPV6_HEADER) as u16).to_be_bytes());
        } else {
            packet[2..4].copy_from_slice(&(bytes as u16).to_be_bytes());
            packet[10..12].fill(0);
            let sum = !folded(sum_of(&packet[..IPV4_HEADER]));
            packet[10..12].copy_from_slice(&sum.to_be_bytes());
        }
        if self.transport == Transport::Udp {
            let length = (bytes - self.network) as u16;
            packet[self.network + 4..self.network + 6].copy_from_slice(&length.to_be_bytes());
        }
    }

    /// The sum over the pseudo-header of a packet of `bytes` (RFC 9293, section 3.1; RFC 8200, section 8.1).
    pub fn pseudo_header_sum(&self, packet: &[u8], bytes: usize) -> u64 {
        let addresses = if self.ipv6 { &packet[8..40] } else { &packet[12..20] };
        sum_of(addresses) + u64::from(self.transport.protocol()) + (bytes - self.network) as u64
    }

    /// Writes the transport's checksum of a whole packet.
    fn write_checksum(&self, packet: &mut [u8]) {
        let at = self.network + self.transport.checksum_offset();
        packet[at..at + 2].fill(0);
        let sum = self.pseudo_header_sum(packet, packet.len()) + sum_of(&packet[self.network..]);
        let checksum = match (!folded(sum), self.transport) {
            // Zero means that there is none (RFC 768).
            (0, Transport::Udp) => 0xffff,
            (checksum, _) => checksum,
        };
        packet[at..at + 2].copy_from_slice(&checksum.to_be_bytes());
    }
}

/// What Linux has left to do for a packet that was read from a device.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pending {
    /// Nothing.
    Nothing,
    /// Its checksum, of the bytes from `start`, belongs `offset` bytes after it.
    Checksum {
        /// First byte that counts.
        start: usize,
        /// Where the checksum is, from there.
        offset: usize,
    },
    /// It is to be cut into segments of so many bytes of payload.
    Segments(Layout, usize),
}

impl Pending {
    /// Reads the header of virtio before `packet`. What does not fit the packet is left undone: the receiver refuses it.
    pub fn read(header: &[u8; HEADER_BYTES], packet: &[u8]) -> Pending {
        let word = |at: usize| usize::from(u16::from_ne_bytes([header[at], header[at + 1]]));
        let (payload, start, offset) = (word(4), word(6), word(8));
        match header[1] & !WITH_CWR {
            NONE if header[0] & NEEDS_CHECKSUM == 0 || start + offset + 2 > packet.len() => Pending::Nothing,
            NONE => Pending::Checksum { start, offset },
            kind @ (TCP4 | TCP6 | UDP) => match Layout::read(packet) {
                Some(layout) if payload > 0 && (kind == UDP) == (layout.transport == Transport::Udp) => {
                    Pending::Segments(layout, payload)
                }
                _ => Pending::Nothing,
            },
            _ => Pending::Nothing,
        }
    }
}

/// Writes the checksum of a packet in which it holds the sum of the pseudo-header.
pub fn complete_checksum(packet: &mut [u8], start: usize, offset: usize) {
    let checksum = match !folded(sum_of(&packet[start..])) {
        0 => 0xffff,
        checksum => checksum,
    };
    packet[start + offset..start + offset + 2].copy_from_slice(&checksum.to_be_bytes());
}

/// Cuts a packet into the segments that would be on the wire.
#[derive(Debug)]
pub struct Segments<'a> {
    packet: &'a [u8],
    layout: Layout,
    /// Most bytes of payload of a segment.
    payload: usize,
    /// Bytes of payload before the next segment.
    done: usize,
    /// Number of the next segment.
    number: u16,
}

impl<'a> Segments<'a> {
    /// The segments of `packet`, of `payload` bytes of payload each but for the last.
    pub fn new(packet: &'a [u8], layout: Layout, payload: usize) -> Segments<'a> {
        Segments { packet, layout, payload, done: 0, number: 0 }
    }

    /// Are there more segments?
    pub fn remain(&self) -> bool {
        self.number == 0 || self.layout.headers + self.done < self.packet.len()
    }

    /// Bytes of the next segment.
    pub fn next_bytes(&self) -> usize {
        self.layout.headers + self.payload.min(self.packet.len() - self.layout.headers - self.done)
    }

    /// Leaves out the next segment.
    pub fn skip_next(&mut self) {
        self.done += self.next_bytes() - self.layout.headers;
        self.number = self.number.wrapping_add(1);
    }

    /// Writes the next segment into `segment`, which has [`Segments::next_bytes`].
    pub fn write_next(&mut self, segment: &mut [u8]) {
        let Layout { ipv6, transport, network, headers } = self.layout;
        let payload = segment.len() - headers;
        let from = headers + self.done;
        segment[..headers].copy_from_slice(&self.packet[..headers]);
        segment[headers..].copy_from_slice(&self.packet[from..from + payload]);
        if !ipv6 {
            let identification = u16_at(self.packet, 4).wrapping_add(self.number);
            segment[4..6].copy_from_slice(&identification.to_be_bytes());
        }
        if transport == Transport::Tcp {
            let sequence = u32_at(self.packet, network + 4).wrapping_add(self.done as u32);
            segment[network + 4..network + 8].copy_from_slice(&sequence.to_be_bytes());
            // The end of what is sent is in the last segment, and the answer to a mark in the first (RFC 3168, 6.1.2).
            let last = from + payload == self.packet.len();
            let absent = if last { 0 } else { FIN | PSH } | if self.number == 0 { 0 } else { CWR };
            segment[network + TCP_FLAGS] &= !absent;
        }
        self.layout.write_lengths(segment, segment.len());
        self.layout.write_checksum(segment);
        self.skip_next();
    }
}

pub(crate) fn u16_at(bytes: &[u8], at: usize) -> u16 {
    u16::from_be_bytes([bytes[at], bytes[at + 1]])
}

pub(crate) fn u32_at(bytes: &[u8], at: usize) -> u32 {
    u32::from_be_bytes([bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]])
}

/// The sum of the words of `bytes`, not folded; an odd byte is the upper half of a word (RFC 9293, section 3.1).
pub(crate) fn sum_of(bytes: &[u8]) -> u64 {
    let mut fours = bytes.chunks_exact(4);
    // Words of four bytes: folding makes the same of them, with half the additions.
    let sum: u64 = fours.by_ref().map(|b| u64::from(u32::from_be_bytes([b[0], b[1], b[2], b[3]]))).sum();
    let rest = match *fours.remainder() {
        [] => 0,
        [a] => u64::from(a) << 8,
        [a, b] => u64::from(u16::from_be_bytes([a, b])),
        [a, b, c, ..] => u64::from(u16::from_be_bytes([a, b])) + (u64::from(c) << 8),
    };
    sum + rest
}

/// A sum with its carries added until it has 16 bits.
pub(crate) fn folded(mut sum: u64) -> u16 {
    while sum > 0xffff {
        sum = (sum & 0xffff) + (sum >> 16);
    }
    sum as u16
}
