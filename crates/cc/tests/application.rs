//! Applications that write in pieces: RFC 5681, 4.1; RFC 2861; RFC 9438, 5.8. Windows are in segments.

mod common;

use common::{config_of, Lead};
use marqueue_cc::Config;
use marqueue_core::{Dur, Time};

fn set(after_idle: &str) -> Config {
    let numbers = [("initial_window", 10.0), ("delayed_ack", 0.0)];
    config_of("rfc", &[("recovery", "newreno"), ("after_idle", after_idle)], &numbers, &[])
}

/// Every segment that is out is acknowledged a round trip of 100 ms later.
fn answer(l: &mut Lead) {
    l.now += Dur::from_secs(0.1);
    let core = l.sender.core();
    for next in core.una + 1..=core.max {
        l.ack(next);
    }
}

#[test]
fn nothing_is_sent_that_is_not_written() {
    let mut l = Lead::unwritten(set("keep"), Some(25));
    assert!(l.sent.is_empty() && l.sender.deadline() == Time::NEVER);
    assert_eq!(l.write(2), [1, 2]);
    answer(&mut l);
    assert_eq!(l.sender.deadline(), Time::NEVER, "nothing is out");
    assert!(!l.sender.is_done(), "more will come");
    assert_eq!(l.write(20).len(), 10, "what the window holds");
    answer(&mut l);
    answer(&mut l);
    assert_eq!(l.write(20), [23, 24, 25], "no more than the flow has");
    answer(&mut l);
    assert!(l.sender.is_done());
}

#[test]
fn a_window_that_is_not_used_does_not_grow() {
    let mut l = Lead::unwritten(set("keep"), None);
    for _ in 0..20 {
        l.write(2);
        answer(&mut l);
    }
    assert_eq!(l.cwnd(), 10.0);
    l.write(10);
    answer(&mut l);
    assert_eq!(l.cwnd(), 20.0, "slow start, and all of it was used");
}

#[test]
fn a_sender_that_waits_for_acknowledgements_is_not_idle() {
    // Two acknowledgements, each less than a timeout after the one before; nothing was sent for longer than that.
    let mut l = Lead::unwritten(set("restart"), None);
    l.write(10);
    answer(&mut l);
    assert_eq!(l.cwnd(), 20.0);
    l.write(3);
    let timeout = l.timeout();
    for next in [12, 13] {
        l.now += Dur::from_secs(0.9 * timeout);
        l.ack(next);
    }
    l.write(30);
    assert_eq!(l.cwnd(), 20.0);
}

#[test]
fn ns2_opens_any_window() {
    let config = config_of("ns2", &[], &[], &[]);
    let mut l = Lead::unwritten(config, None);
    for _ in 0..5 {
        l.write(1);
        answer(&mut l);
    }
    assert_eq!(l.cwnd(), 2.0 + 5.0);
}

/// A window of 40, then `idle` seconds of silence and a long write: the window and ssthresh after it.
fn after(after_idle: &str, idle: f64) -> (f64, f64) {
    let mut l = Lead::unwritten(set(after_idle), None);
    for window in [10, 20] {
        l.write(window);
        answer(&mut l);
    }
    assert_eq!(l.cwnd(), 40.0);
    l.now += Dur::from_secs(idle - 0.1); // after the last segment was sent
    l.write(100);
    (l.cwnd(), l.ssthresh())
}

#[test]
fn an_idle_sender_restarts() {
    // RTO is its minimum, 1 s.
    assert_eq!(after("restart", 0.9).0, 40.0, "not idle for a timeout");
    assert_eq!(after("restart", 1.1), (10.0, 1e6), "RFC 5681, 4.1: min(IW, cwnd)");
    assert_eq!(after("keep", 100.0), (40.0, 1e6));
}

#[test]
fn an_idle_sender_decays() {
    assert_eq!(after("decay", 1.1), (20.0, 1e6), "RFC 2861: half a timeout");
    assert_eq!(after("decay", 2.1), (10.0, 1e6));
    assert_eq!(after("decay", 1e6), (10.0, 1e6), "not below the restart window");
}
