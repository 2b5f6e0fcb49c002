//! struct tcp_info as kernels give it, and as they never would.

use marqueue_uml::tcp_info::{ConnectionInfo, Recovery, State};
use marqueue_uml::telemetry::TcpInfo;
use proptest::prelude::*;

/// A cubic flow of Linux 7.3 in congestion avoidance, after 222 KB over 10 Mbit/s: getsockopt(TCP_INFO), 280 bytes.
const LINUX_7_3: &str =
    "01000000000f7700b08f060000000000a8050000180200002600000000000000000000000000000000000000280000000000\
     0000ec04000028000000dc05000058fa0000e2610300f20e00001c00000026000000a8050000030000000000000090380000\
     00000000928b040000000000ffffffffffffffff61dc0400000000000000000000000000040100008b000000f87a01007e9c\
     00000000000002010000dc87030000000000e03913000000000000000000000000000000000000000000dd00000000000000\
     50b30500000000000000000000000000000000000000000000000000804f020000fb00000000000000000000000000000000\
     000000000000000000000000000000000000000000000000000001000000";

fn bytes() -> Vec<u8> {
    let digits = LINUX_7_3.as_bytes();
    let byte = |pair| u8::from_str_radix(std::str::from_utf8(pair).expect("ASCII"), 16).expect("hexadecimal");
    digits.chunks(2).map(byte).collect()
}

#[test]
fn a_struct_of_linux_7_3_has_all_fields() {
    let info = ConnectionInfo::read(&bytes()).unwrap();
    assert_eq!((info.state, info.recovery), (State::Established, Recovery::Open));
    assert_eq!((info.snd_cwnd, info.snd_ssthresh), (38, Some(28)));
    assert_eq!((info.rtt, info.rttvar, info.rto, info.min_rtt), (221_666, 3_826, 430_000, Some(40_062)));
    assert_eq!((info.unacked, info.sacked, info.lost, info.retrans), (38, 0, 0, 0));
    assert_eq!((info.total_retrans, info.total_rto), (0, Some(0)));
    assert_eq!((info.bytes_acked, info.bytes_sent, info.bytes_retrans), (318_561, Some(373_584), Some(0)));
    assert_eq!((info.delivered, info.delivered_ce, info.delivery_rate), (221, 0, 231_388));
    assert_eq!((info.pacing_rate, info.snd_mss, info.snd_wnd), (Some(297_874), 1448, Some(151_424)));
    // Delivered but for the SYN: 220 segments of 1448 bytes, and the SYN's one of the sequence.
    assert_eq!(u64::from(info.delivered - 1) * u64::from(info.snd_mss) + 1, info.bytes_acked);
}

#[test]
fn a_shorter_struct_lacks_what_is_younger() {
    let bytes = bytes();
    // Linux 6.1 has 240 bytes, which end before the count of timeouts.
    let older = ConnectionInfo::read(&bytes[..232]).unwrap();
    assert_eq!((older.snd_wnd, older.total_rto), (Some(151_424), None));
    let oldest = ConnectionInfo::read(&bytes[..200]).unwrap();
    assert_eq!((oldest.delivered, oldest.bytes_sent, oldest.reord_seen, oldest.snd_wnd), (221, None, None, None));
    for length in 0..200 {
        assert_eq!(ConnectionInfo::read(&bytes[..length]), None, "{length} bytes");
    }
}

#[test]
fn values_that_mean_nothing_are_none() {
    let mut bytes = bytes();
    bytes[76..80].copy_from_slice(&0x7fff_ffff_u32.to_le_bytes());
    bytes[104..112].fill(0xff);
    bytes[148..152].fill(0xff);
    let info = ConnectionInfo::read(&bytes).unwrap();
    assert_eq!((info.snd_ssthresh, info.pacing_rate, info.min_rtt), (None, None, None));
    assert_eq!(TcpInfo::parse(&bytes).unwrap().sender.ssthresh, f64::INFINITY);
    for (at, value) in [(0, 0), (0, 13), (0, 255), (1, 5), (1, 255)] {
        let mut wrong = bytes.clone();
        wrong[at] = value;
        assert_eq!(ConnectionInfo::read(&wrong), None, "byte {at} is {value}");
    }
}

proptest! {
    /// Whatever a guest sends is read or refused, and what follows the struct changes nothing.
    #[test]
    fn any_bytes_are_read_or_refused(mut bytes in prop::collection::vec(any::<u8>(), 0..600), more in any::<[u8; 8]>()) {
        if bytes.len() >= 2 {
            bytes[0] %= 14;
            bytes[1] %= 6;
        }
        let read = ConnectionInfo::read(&bytes);
        prop_assert_eq!(read.is_some(), bytes.len() >= 200 && (1..=12).contains(&bytes[0]) && bytes[1] < 5);
        if bytes.len() >= 242 {
            bytes.extend(more);
            prop_assert_eq!(ConnectionInfo::read(&bytes), read);
        }
    }
}
