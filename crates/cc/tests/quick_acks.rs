//! Segments that a receiver under preset `linux` acknowledges at once. Numbers are worked out by hand from Linux 7.3,
//! net/ipv4/tcp_input.c, for segments of 1448 bytes and tcp_rmem = "4096 131072 6291456".

mod common;

use common::{config_of, Lead};
use marqueue_cc::receiver::ReceiveContext;
use marqueue_cc::{Config, Options, Receiver};
use marqueue_core::{Ecn, Flags, Time};

/// A connection whose handshake took 40 ms: its first segment arrives at 40 ms.
struct Host {
    config: Config,
    receiver: Receiver,
    next: u32,
    /// How long segments are on their way, us.
    way: u64,
}

impl Host {
    fn new(flags: &[(&str, bool)]) -> Host {
        let config = config_of("linux", &[], &[], flags);
        let receiver = Receiver::new(&config);
        let mut host = Host { config, receiver, next: 0, way: 20_000 };
        assert!(host.hear(0, 0, Flags::SYN, Ecn::NotEct), "a SYN is answered");
        host.next = 1;
        host
    }

    /// Is this segment acknowledged when it arrives?
    fn hear(&mut self, us: u64, seq: u32, flags: Flags, ecn: Ecn) -> bool {
        let mut rx = ReceiveContext { now: Time(us * 1000), config: &self.config, options: &mut Options::default() };
        let sent = us.saturating_sub(self.way) as u32;
        self.receiver.on_segment(&mut rx, seq, flags, ecn, sent).ack.is_some()
    }

    /// The next segment in order.
    fn more(&mut self, us: u64) -> bool {
        self.flagged(us, Flags::NONE, Ecn::Ect0)
    }

    fn flagged(&mut self, us: u64, flags: Flags, ecn: Ecn) -> bool {
        self.next += 1;
        self.hear(us, self.next - 1, flags, ecn)
    }

    /// How many segments in order, which come at one time, are acknowledged one by one before one waits.
    fn at_once(&mut self, us: u64) -> u32 {
        (0..).find(|_| !self.more(us)).expect("one waits")
    }
}

#[test]
fn the_first_segments_are_acknowledged_one_by_one() {
    // 64,088 bytes are offered, and 81,920 - 1448 when the first has shown how large segments are: 6 segments of growth by
    // 2896, which use nothing up, and 16.
    let mut host = Host::new(&[]);
    assert_eq!(host.at_once(40_000), 22);
    // From then on every second one, and the odd one by the timer.
    assert!(host.more(40_000));
    assert!(!host.more(40_000));
    assert_eq!(host.receiver.deadline(), Time(80_000_000));
    assert!(Receiver::new(&config_of("linux", &[], &[], &[("quick_acks", false)])).deadline() == Time::NEVER);
}

#[test]
fn the_window_that_grows_by_right_sizing_asks_for_more() {
    let mut host = Host::new(&[]);
    assert!((0..20).all(|_| host.more(40_000)));
    // A round trip later 21 segments have come, where 10 were expected: W = 2 c + 4 c (c - c') / c' = 194,611 bytes,
    // (194,611 - 1448 - 80,472) / 2896 = 38.9 segments of growth. This one and the next have been asked for before.
    assert_eq!(host.at_once(80_000), 1 + 39);
    // With as many in the next round trip nothing grows: half of them are acknowledged.
    let acks = (0..40).filter(|_| host.more(119_000)).count();
    assert_eq!(acks, 20);
}

#[test]
fn a_longer_way_makes_the_round_trip_longer() {
    let mut host = Host::new(&[]);
    assert!((0..20).all(|_| host.more(40_000)));
    // The next one is on its way for 60 ms more: 40 + 60 / 8 = 47.5 ms are not over, and nothing grows.
    host.way += 60_000;
    assert_eq!(host.at_once(87_000), 2);
}

#[test]
fn a_pause_and_a_segment_that_comes_twice_ask_for_sixteen() {
    // Without timestamps the round-trip time is unknown: the window does not grow further, and a timeout is 1 s.
    let mut host = Host::new(&[("timestamps", false)]);
    host.at_once(40_000);
    assert!(host.more(1_040_000), "the second of two");
    assert!(!host.more(1_040_000));
    assert!(host.more(1_040_000));
    assert_eq!(host.at_once(2_040_001), 16);
    assert!(host.hear(2_040_001, 3, Flags::RETRANSMIT, Ecn::NotEct));
    // The answer was the first of them, and took along what waited.
    assert_eq!(host.at_once(2_040_001), 15);
}

#[test]
fn marks_and_the_end_of_a_write_ask_for_an_answer() {
    let mut host = Host::new(&[("ecn", true)]);
    host.at_once(40_000);
    assert!(host.more(40_000));
    assert!(host.flagged(40_000, Flags::NONE, Ecn::Ce) && host.more(40_000), "two after a first mark");
    assert!(!host.flagged(40_000, Flags::NONE, Ecn::Ce), "none after the next");
    assert!(host.flagged(40_000, Flags::CWR, Ecn::Ect0) && host.flagged(40_000, Flags::CWR, Ecn::Ect0));
    assert!(host.flagged(40_000, Flags::PSH, Ecn::Ect0) && host.flagged(40_000, Flags::PSH, Ecn::Ect0));
    assert!(!host.more(40_000));
}

#[test]
fn a_sender_marks_the_end_of_a_burst_and_of_what_was_written() {
    let pushed = |lead: &Lead| {
        let with = |s: &&marqueue_cc::Segment| s.flags.has(Flags::PSH);
        lead.sent.iter().filter(with).map(|s| s.seq).collect::<Vec<_>>()
    };
    let mut lead = Lead::open(config_of("linux", &[], &[], &[]), Some(5));
    assert_eq!(pushed(&lead), [2, 4, 5]);
    lead = Lead::unwritten(config_of("linux", &[], &[], &[]), Some(5));
    lead.write(2);
    assert_eq!(pushed(&lead), [2]);
    lead.write(9);
    assert_eq!(pushed(&lead), [4, 5]);
    lead = Lead::open(config_of("rfc", &[], &[], &[]), Some(5));
    assert!(pushed(&lead).is_empty());
}
