//! The retransmission timer (RFC 6298), worked by hand. Ten segments (1 to 10) are out after the handshake.

mod common;

use common::{config_of, rfc, Lead};
use marqueue_cc::Ack;
use marqueue_core::{Dur, Time};

#[test]
fn the_timeout_doubles_and_retransmissions_are_not_measured() {
    let mut l = Lead::open(rfc("newreno", 10), None); // R = 0.1: RTO is the minimum of 1 s
    assert_eq!(l.timeout(), 1.0);
    for doubled in [2.0, 4.0, 8.0] {
        assert_eq!(l.time_out(), [1]);
        assert_eq!(l.timeout(), doubled, "5.5");
    }
    // Karn: the answer to a retransmission does not measure anything and leaves the back-off.
    l.now += Dur::from_secs(0.1);
    assert_eq!(l.ack(11), [11, 12]);
    assert_eq!(l.timeout(), 8.0);
    // Segment 11 is new: its round trip of 0.1 s ends the back-off.
    l.now += Dur::from_secs(0.1);
    l.ack(12);
    assert_eq!(l.timeout(), 1.0);
}

#[test]
fn the_timeout_grows_up_to_its_maximum_and_stays_there() {
    let mut l = Lead::open(rfc("newreno", 10), None);
    let mut waits = Vec::new();
    for _ in 0..9 {
        waits.push(l.timeout());
        assert_eq!(l.time_out(), [1], "5.4: the earliest segment");
    }
    assert_eq!(waits, [1.0, 2.0, 4.0, 8.0, 16.0, 32.0, 60.0, 60.0, 60.0], "5.5 and 2.5");
    assert_eq!(l.sender.core().counts.timeouts, 9);
    assert_eq!(l.cwnd(), 1.0);
}

#[test]
fn a_segment_sent_again_is_not_measured_though_its_first_copy_is_answered() {
    let mut l = Lead::open(rfc("newreno", 1), None); // 1 is out and timed
    l.time_out();
    l.now += Dur::from_secs(0.01);
    let srtt = |l: &Lead| l.sender.core().rto.srtt(&l.config);
    l.ack(2);
    assert_eq!(srtt(&l), 0.1, "3: Karn");
    l.now += Dur::from_secs(0.2);
    l.ack(3);
    assert_eq!(srtt(&l), 0.875 * 0.1 + 0.125 * 0.2, "2.3: the first segment that was sent once");
}

/// Opens a connection whose SYN was lost once and answered 0.1 s after it was sent again.
fn lost_syn(choices: &[(&str, &str)], numbers: &[(&str, f64)], timestamps: bool) -> Lead {
    let mut l = Lead::new(config_of("rfc", choices, numbers, &[("timestamps", timestamps)]), None);
    l.time_out();
    let sent = l.now;
    l.now += Dur::from_secs(0.1);
    let echo = timestamps.then(|| l.config.timestamp(sent));
    l.hear(Ack { ack: 1, echo, ..Ack::default() });
    l
}

#[test]
fn after_a_lost_syn_the_timeout_is_three_seconds_until_a_round_trip_is_measured() {
    let mut l = lost_syn(&[], &[], false);
    assert_eq!(l.timeout(), 3.0, "5.7");
    l.time_out();
    assert_eq!(l.timeout(), 6.0, "5.5");
    l.now += Dur::from_secs(0.1);
    assert_eq!(l.ack(2), [2, 3]);
    assert_eq!(l.timeout(), 6.0, "3: Karn");
    l.now += Dur::from_secs(0.1);
    l.ack(3);
    assert_eq!(l.timeout(), 1.0, "2.2 and 2.4");
}

#[test]
fn a_handshake_that_was_measured_needs_no_three_seconds_in_linux() {
    assert_eq!(lost_syn(&[], &[], true).timeout(), 3.0, "5.7 knows no exception");
    let unmeasured = [("lost_syn_rto", "unmeasured")];
    assert_eq!(lost_syn(&unmeasured, &[], true).timeout(), 1.0);
    assert_eq!(lost_syn(&unmeasured, &[], false).timeout(), 3.0);
    assert_eq!(lost_syn(&[], &[("initial_rto", 4.0)], false).timeout(), 8.0, "not below 3 s");
}

#[test]
fn the_timer_stops_when_everything_is_acknowledged() {
    let mut l = Lead::open(rfc("newreno", 10), Some(3));
    assert_ne!(l.sender.deadline(), Time::NEVER);
    assert_eq!(l.ack(4), []);
    assert_eq!(l.sender.deadline(), Time::NEVER, "5.2");
    assert!(l.sender.is_done());
}
