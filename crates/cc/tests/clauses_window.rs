//! Clauses of RFC 2861 and RFC 7661 that no other test shows. docs/standards/rfc7661.md has the table.

mod common;

use common::{config_of, Lead};
use marqueue_core::Dur;

/// Everything that is out is acknowledged a round trip of 100 ms later, one by one.
fn answer(l: &mut Lead) {
    l.now += Dur::from_secs(0.1);
    let (una, max) = (l.sender.core().una, l.sender.core().max);
    for next in una + 1..=max {
        l.ack(next);
    }
}

/// A window in congestion avoidance that has grown to more than twice ssthresh, with nothing outstanding.
fn grown(choices: &[(&str, &str)], numbers: &[(&str, f64)]) -> Lead {
    let choices = [&[("recovery", "newreno")], choices].concat();
    let numbers = [&[("initial_window", 4.0), ("delayed_ack", 0.0)], numbers].concat();
    let mut l = Lead::unwritten(config_of("rfc", &choices, &numbers, &[]), None);
    l.write(4);
    l.time_out();
    assert_eq!(l.ssthresh(), 2.0);
    while l.cwnd() < 16.0 {
        l.write(16);
        answer(&mut l);
    }
    while l.sender.core().flight() > 0 {
        answer(&mut l);
    }
    assert_eq!(l.ssthresh(), 2.0);
    l
}

#[test]
fn a_window_that_decays_leaves_three_quarters_in_ssthresh() {
    // RFC 2861: one RTO of idle time.
    let mut l = grown(&[("after_idle", "decay")], &[]);
    let before = l.cwnd();
    l.now += Dur::from_secs(1.05);
    l.write(1);
    assert_eq!((l.cwnd(), l.ssthresh()), (before / 2.0, 0.75 * before));
}

#[test]
fn the_end_of_a_nonvalidated_period_leaves_three_quarters_in_ssthresh() {
    // RFC 7661, section 4.4.3: each period that has passed adjusts both once.
    let mut l = grown(&[("window_validation", "rfc7661")], &[("nonvalidated_period", 60.0)]);
    let before = l.cwnd();
    let idle_since = l.now;
    l.now = idle_since + Dur::from_secs(59.0);
    l.write(1);
    assert_eq!((l.cwnd(), l.ssthresh()), (before, 2.0));
    l.now = idle_since + Dur::from_secs(70.0);
    l.write(1);
    assert_eq!((l.cwnd(), l.ssthresh()), (before / 2.0, 0.75 * before));
}
