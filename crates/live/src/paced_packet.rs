//! The packets of rate-based flows: UDP, whose payload begins with these fields, in network byte order.
//!
//! | bytes | data | report |
//! | --- | --- | --- |
//! | 4 | "MQD" and 0 or 1 | "MQR" and 0 or 1 |
//! | 4 | number of the packet | number of the packet that is answered |
//! | 4 | | packets lost so far |
//! | 4 | | one past the newest packet known to be lost or marked |
//! | 20 | header for routers, if the first word ends with 1 | the one received, likewise |
//!
//! The header for routers is that of [`Signals`]: router, number of the price, price and interval (IEEE 754, single
//! precision), and the sender's own field (Zhang, Kang and Loguinov, SIGCOMM 2004, Figure 9). A link writes its price
//! there and corrects the checksum of UDP by the difference (RFC 1624, equation 3), so that a wrong one stays wrong.

use crate::header::updated_checksum;
use marqueue_cc::rate_based::Report;
use marqueue_core::{Price, Signals};

/// Bytes of data before the header for routers.
const DATA: usize = 8;
/// Bytes of a report before the header for routers.
const REPORT: usize = 16;
/// Bytes of a header for routers.
const SIGNALS: usize = Signals::BYTES as usize;
/// Bytes of the header of UDP, and where its checksum is.
const UDP: usize = 8;
const UDP_CHECKSUM: usize = 6;
/// The protocol of UDP.
const PROTOCOL: u8 = 17;

/// The payload that data must have room for, bytes.
pub fn least_payload(signals: bool) -> usize {
    DATA + if signals { SIGNALS } else { 0 }
}

/// Writes data packet `seq` into `payload`, which has room for it ([`least_payload`]).
pub fn write_data(payload: &mut [u8], seq: u32, signals: Option<Signals>) {
    payload[..3].copy_from_slice(b"MQD");
    payload[3] = u8::from(signals.is_some());
    payload[4..8].copy_from_slice(&seq.to_be_bytes());
    if let Some(signals) = signals {
        payload[DATA..DATA + SIGNALS].copy_from_slice(&bytes_of(&signals));
    }
}

/// The number and the header for routers of a data packet; `None` if it is none.
pub fn read_data(payload: &[u8]) -> Option<(u32, Option<Signals>)> {
    let signals = has_signals(payload, b"MQD", DATA)?;
    Some((word(payload, 4), signals.then(|| read_signals(&payload[DATA..]))))
}

/// The payload of a report.
pub fn report_payload(report: &Report) -> Vec<u8> {
    let mut payload = b"MQR".to_vec();
    payload.push(u8::from(report.signals.is_some()));
    for number in [report.echo, report.lost, report.congested] {
        payload.extend(number.to_be_bytes());
    }
    payload.extend(report.signals.iter().flat_map(bytes_of));
    payload
}

/// The report in a packet; `None` if it is none.
pub fn read_report(payload: &[u8]) -> Option<Report> {
    let signals = has_signals(payload, b"MQR", REPORT)?;
    Some(Report {
        echo: word(payload, 4),
        lost: word(payload, 8),
        congested: word(payload, 12),
        signals: signals.then(|| read_signals(&payload[REPORT..])),
    })
}

/// Where the header for routers begins in an IP packet; `None` if it has none.
pub fn price_header(packet: &[u8]) -> Option<usize> {
    let (length, protocol) = match packet.first()? >> 4 {
        // Only a whole packet has its UDP header.
        4 if packet.len() >= 20 && u16::from_be_bytes([packet[6], packet[7]]) & 0x3fff == 0 => {
            (usize::from(packet[0] & 0xf) * 4, packet[9])
        }
        6 => (40, *packet.get(6)?),
        _ => return None,
    };
    let payload = packet.get(length + UDP..)?;
    let signals = protocol == PROTOCOL && length >= 20 && has_signals(payload, b"MQD", DATA)?;
    signals.then_some(length + UDP + DATA)
}

/// The header for routers at the start of `bytes`.
pub fn read_signals(bytes: &[u8]) -> Signals {
    let price = Price {
        router: word(bytes, 0),
        seq: word(bytes, 4),
        p: f32::from_bits(word(bytes, 8)),
        delta: f32::from_bits(word(bytes, 12)),
    };
    Signals { price, usr: word(bytes, 16) }
}

/// Writes the header for routers of an IP packet, which begins at `at` ([`price_header`]).
pub fn write_signals(packet: &mut [u8], at: usize, signals: &Signals) {
    let checksum = at - DATA - UDP + UDP_CHECKSUM;
    let mut sum = u16::from_be_bytes([packet[checksum], packet[checksum + 1]]);
    // Zero: there is none (RFC 768).
    let has_checksum = sum != 0;
    for (pair, new) in packet[at..at + SIGNALS].chunks_exact_mut(2).zip(bytes_of(signals).chunks_exact(2)) {
        sum = updated_checksum(sum, u16::from_be_bytes([pair[0], pair[1]]), u16::from_be_bytes([new[0], new[1]]));
        pair.copy_from_slice(new);
    }
    if has_checksum {
        let sum = if sum == 0 { u16::MAX } else { sum };
        packet[checksum..checksum + 2].copy_from_slice(&sum.to_be_bytes());
    }
}

/// Does a payload of this kind, with `before` bytes in front of it, have a header for routers? `None` if it is of
/// another kind or too short.
fn has_signals(payload: &[u8], kind: &[u8; 3], before: usize) -> Option<bool> {
    let signals = match *payload.strip_prefix(kind)?.first()? {
        0 => false,
        1 => true,
        _ => return None,
    };
    (payload.len() >= before + if signals { SIGNALS } else { 0 }).then_some(signals)
}

fn bytes_of(signals: &Signals) -> [u8; SIGNALS] {
    let Price { router, seq, p, delta } = signals.price;
    let mut bytes = [0; SIGNALS];
    for (place, word) in bytes.chunks_exact_mut(4).zip([router, seq, p.to_bits(), delta.to_bits(), signals.usr]) {
        place.copy_from_slice(&word.to_be_bytes());
    }
    bytes
}

fn word(bytes: &[u8], at: usize) -> u32 {
    u32::from_be_bytes([bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]])
}

#[cfg(test)]
mod tests {
    use super::*;

    const SENT: Signals = Signals { price: Price { router: 7, seq: 3, p: -0.25, delta: 0.05 }, usr: 99 };

    /// The checksum of RFC 768 over a UDP datagram and its pseudo-header, with the field as it is: zero if it is right.
    fn checksum(addresses: &[u8], datagram: &[u8]) -> u16 {
        let pseudo = [addresses, &[0, PROTOCOL], &(datagram.len() as u16).to_be_bytes(), datagram].concat();
        let mut sum: u32 = pseudo.chunks(2).map(|w| u32::from(w[0]) << 8 | u32::from(*w.get(1).unwrap_or(&0))).sum();
        while sum > 0xffff {
            sum = (sum & 0xffff) + (sum >> 16);
        }
        !(sum as u16)
    }

    /// An IPv4 packet with data, of odd length, and a right checksum.
    fn packet(options: usize) -> Vec<u8> {
        let mut payload = [0x5a; 61];
        write_data(&mut payload, 12, Some(SENT));
        let mut datagram = vec![0x4e, 0x20, 0x4e, 0x1f, 0, 69, 0, 0];
        datagram.extend(payload);
        let addresses = [198, 18, 1, 0, 198, 19, 1, 0];
        let sum = checksum(&addresses, &datagram);
        datagram[6..8].copy_from_slice(&sum.to_be_bytes());
        let mut ip = vec![0; 20 + options];
        (ip[0], ip[9]) = (0x45 + (options / 4) as u8, PROTOCOL);
        ip[12..20].copy_from_slice(&addresses);
        [ip, datagram].concat()
    }

    #[test]
    fn a_price_is_written_where_the_sender_left_room_and_the_checksum_stays_right() {
        for options in [0, 8] {
            let mut ip = packet(options);
            let at = price_header(&ip).expect("data with a header for routers");
            assert_eq!((at, read_signals(&ip[at..])), (36 + options, SENT));
            let written = Signals { price: Price { router: 1, seq: 40, p: 0.125, delta: 0.1 }, ..SENT };
            write_signals(&mut ip, at, &written);
            assert_eq!(read_data(&ip[28 + options..]), Some((12, Some(written))));
            assert_eq!(checksum(&ip[12..20], &ip[20 + options..]), 0);
            ip[40 + options] ^= 1;
            write_signals(&mut ip, at, &SENT);
            assert_ne!(checksum(&ip[12..20], &ip[20 + options..]), 0, "a wrong checksum stays wrong");
        }
    }

    #[test]
    fn a_packet_without_a_checksum_keeps_none() {
        let mut ip = packet(0);
        ip[26..28].fill(0);
        write_signals(&mut ip, 36, &Signals { usr: 1, ..SENT });
        assert_eq!(ip[26..28], [0, 0]);
    }

    #[test]
    fn what_was_written_is_read() {
        for signals in [None, Some(SENT)] {
            let mut payload = vec![0; least_payload(signals.is_some())];
            write_data(&mut payload, u32::MAX, signals);
            assert_eq!(read_data(&payload), Some((u32::MAX, signals)));
            assert_eq!(read_report(&payload), None);
            let report = Report { echo: 1, lost: 2, congested: 3, signals };
            assert_eq!(read_report(&report_payload(&report)), Some(report));
            assert_eq!(read_data(&report_payload(&report)), None);
        }
    }

    #[test]
    fn no_packet_is_read_beyond_its_end() {
        let ip = packet(0);
        for n in 0..56 {
            assert_eq!(price_header(&ip[..n]), None, "{n}");
        }
        let mut fragment = ip.clone();
        fragment[6] = 0x20;
        assert_eq!(price_header(&fragment), None);
        let mut tcp = ip;
        tcp[9] = 6;
        assert_eq!(price_header(&tcp), None);
    }
}
