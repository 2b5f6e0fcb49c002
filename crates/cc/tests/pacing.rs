//! Pacing of TCP: when segments leave, worked by hand.

#![allow(clippy::disallowed_methods, reason = "tests may use the platform's functions")]

mod common;

use common::{at, config_of, Lead};
use marqueue_core::{Dur, Time};

/// A sender after a handshake of 100 ms with a window of 10 segments, of which the first `quantum` are not paced.
fn paced(recovery: &str, quantum: f64) -> Lead {
    let numbers = [("delayed_ack", 0.0), ("initial_window", 10.0), ("pacing_quantum", quantum)];
    let choices = [("recovery", recovery), ("pacing", "window")];
    Lead::open(config_of("rfc", &choices, &numbers, &[]), None)
}

/// The times from now on, in ms, at which the sender's timer lets one segment after the other leave.
fn leaves(l: &mut Lead, n: usize) -> Vec<f64> {
    let now = l.now;
    (0..n)
        .map(|_| {
            assert_eq!(l.time_out().len(), 1);
            (l.now - now).secs() * 1e3
        })
        .collect()
}

#[test]
fn segments_of_a_window_leave_over_half_a_round_trip_in_slow_start() {
    for recovery in ["reno", "newreno", "sack"] {
        let mut l = paced(recovery, 0.0);
        assert_eq!(l.sender.core().flight(), 1, "{recovery}: the first leaves at once");
        // 2 x 10 segments in 100 ms: one in 5 ms. The first was late by longer than that, which makes up for half.
        assert_eq!(leaves(&mut l, 9), [2.5, 7.5, 12.5, 17.5, 22.5, 27.5, 32.5, 37.5, 42.5], "{recovery}");
        assert_ne!(l.sender.deadline(), Time::NEVER, "the retransmission timer");
        assert!(l.timeout() > 0.9);
    }
}

#[test]
fn the_initial_quantum_leaves_at_once() {
    let l = paced("sack", 10.0);
    assert_eq!(l.sender.core().flight(), 10);
    let mut l = paced("sack", 4.0);
    assert_eq!(l.sender.core().flight(), 5, "the fifth need not wait");
    assert_eq!(leaves(&mut l, 2), [5.0, 10.0]);
}

#[test]
fn the_rate_is_lower_in_congestion_avoidance() {
    let mut l = paced("sack", 10.0);
    // The acknowledgements release a segment, the others wait: half of the flight of 6 is left when 6 is lost.
    l.now = at(0.2);
    l.ack(6);
    for block in [(7, 8), (7, 9), (7, 10)] {
        l.sack(6, &[block]);
    }
    assert_eq!((l.cwnd(), l.ssthresh()), (3.0, 3.0));
    let rate = l.sender.core().pacing_rate(&l.config).unwrap();
    let window = f64::from(l.sender.core().flight()).max(3.0);
    assert!((rate - 1.2 * window / 0.1).abs() < 1e-9, "{rate}");
}

#[test]
fn nothing_is_held_back_without_a_round_trip_time_or_pacing() {
    let choices = [("recovery", "sack"), ("pacing", "window")];
    let flags = [("handshake", false)];
    let c = config_of("rfc", &choices, &[("initial_window", 10.0), ("pacing_quantum", 0.0)], &flags);
    assert_eq!(Lead::new(c, None).sent.len(), 10);
    let c = config_of("linux", &[], &[], &[]);
    let l = Lead::open(c, None);
    assert_eq!(l.sender.core().flight(), 10);
    assert_eq!(l.sender.core().pacing_rate(&l.config), None);
}

#[test]
fn a_waiting_segment_does_not_outlive_the_flow() {
    let choices = [("recovery", "sack"), ("pacing", "window")];
    let c = config_of("rfc", &choices, &[("delayed_ack", 0.0), ("pacing_quantum", 0.0)], &[]);
    let mut l = Lead::open(c, Some(3));
    leaves(&mut l, 2);
    l.now += Dur::from_secs(0.1);
    l.ack(4);
    assert!(l.sender.is_done());
    assert_eq!(l.sender.deadline(), Time::NEVER);
}
