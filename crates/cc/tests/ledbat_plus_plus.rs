//! LEDBAT++ beside the formulas of draft-irtf-iccrg-ledbat-plus-plus, worked by hand.

#![allow(clippy::disallowed_methods, reason = "tests may use the platform's functions")]

mod common;

use common::at;
use common::bare_window::{law, near, Bare};
use common::Lead;
use marqueue_cc::window_law::Signal;
use marqueue_core::Rng;

/// A window of `cwnd` segments after the first slow start, at time 0, over a path of `rtt` seconds.
fn steady(cwnd: f64, rtt: f64) -> Bare {
    Bare::new(law("ledbat++", &[]), cwnd, rtt)
}

/// The same in the first slow start.
fn begin(rtt: f64) -> Bare {
    let mut b = steady(2.0, rtt);
    b.window.ssthresh = 1e6;
    b
}

/// An acknowledgement of `segments` at `t` whose round-trip time is `rtt`.
fn timed(b: &mut Bare, t: f64, rtt: f64, segments: f64) -> f64 {
    b.rto.sample(&b.config, at(t - rtt), at(t));
    b.ack(t, segments)
}

/// The same, once the delay is in all four samples of the filter, at a window of 20 segments.
fn settled(b: &mut Bare, t: f64, rtt: f64) -> f64 {
    for _ in 0..4 {
        b.window.cwnd = 20.0;
        timed(b, t, rtt, 1.0);
    }
    b.window.cwnd
}

#[test]
fn the_gain_is_one_over_twice_the_target_in_base_delays() {
    // 120 ms / b, rounded up, at most 16.
    for (rtt, divisor) in [(0.2, 1.0), (0.12, 1.0), (0.119, 2.0), (0.1, 2.0), (0.04, 3.0), (0.008, 15.0), (0.001, 16.0)]
    {
        near(steady(20.0, rtt).ack(1.0, 1.0), 20.0 + 1.0 / divisor / 20.0, 1e-9);
        near(begin(rtt).ack(1.0, 1.0), 2.0 + 1.0 / divisor, 1e-9);
    }
}

#[test]
fn the_window_falls_by_its_excess_over_the_target_and_at_most_by_half() {
    let mut b = steady(20.0, 0.1);
    near(b.ack(1.0, 1.0), 20.025, 1e-9);
    near(settled(&mut b, 1.01, 0.16), 20.025, 1e-9); // q = target: growth
    near(settled(&mut b, 1.02, 0.166), 20.0 + (0.5 - 2.0) / 20.0, 1e-6); // 1.1 targets
    near(settled(&mut b, 1.03, 0.19), 20.0 + (0.5 - 10.0) / 20.0, 1e-6); // 1.5 targets
    near(settled(&mut b, 1.04, 0.3), 20.0 - 10.0 / 20.0, 1e-9); // 3.3 targets: half of the window a round trip
                                                                // A round trip of 20 segments at three targets halves it; two segments are left at least.
    b.window.cwnd = 20.0;
    for _ in 0..20 {
        timed(&mut b, 1.05, 0.3, 1.0);
    }
    near(b.window.cwnd, 10.0, 1e-9);
    for _ in 0..100 {
        timed(&mut b, 1.06, 0.3, 1.0);
    }
    assert_eq!(b.window.cwnd, 2.0);
}

#[test]
fn the_first_slow_start_ends_above_three_quarters_of_the_target() {
    let mut b = begin(0.12);
    b.ack(0.9, 0.0);
    for t in [1.0, 1.01, 1.02, 1.03, 1.04] {
        timed(&mut b, t, 0.165, 2.0); // 45 ms: not above
    }
    assert_eq!((b.window.cwnd, b.window.in_slow_start()), (12.0, true));
    for t in [1.05, 1.06, 1.07, 1.08] {
        timed(&mut b, t, 0.166, 2.0);
    }
    assert!(!b.window.in_slow_start());
    near(b.window.cwnd, 18.0 + 2.0 / 18.0, 1e-9);
}

#[test]
fn a_slowdown_keeps_two_segments_for_two_round_trips_and_the_next_comes_nine_times_as_long_after_it() {
    let mut b = steady(10.0, 0.12);
    b.ack(1.0, 1.0); // the first slow start is over; gain 1
    near(b.ack(1.23, 1.0), 10.2, 0.01);
    assert!(!b.window.in_slow_start());
    let left = b.ack(1.24, 1.0);
    assert_eq!((left, b.window.in_slow_start()), (2.0, true));
    let ssthresh = b.window.ssthresh;
    assert_eq!(b.ack(1.47, 2.0), 2.0);
    assert_eq!(b.ack(1.48, 2.0), 4.0);
    assert_eq!(b.ack(1.6, 4.0), 8.0);
    assert_eq!(b.ack(1.72, 8.0), ssthresh);
    assert!(!b.window.in_slow_start());
    // It took 0.48 s; the next one comes 4.32 s after its end.
    assert!(b.ack(6.03, 1.0) > ssthresh);
    assert_eq!(b.ack(6.04, 1.0), 2.0);
}

#[test]
fn slowdowns_are_nine_times_as_far_apart_as_they_are_long_under_any_delays() {
    for seed in 0..20 {
        let mut rng = Rng::named(seed, "slowdowns");
        let base = 0.02 + 0.2 * rng.uniform();
        let mut b = begin(base);
        let (mut t, mut since) = (1.0, None);
        let mut slowdowns: Vec<(f64, f64)> = Vec::new();
        while t < 200.0 {
            let rtt = base + 0.08 * rng.uniform();
            t += rtt / 4.0;
            let (before, quarter) = (b.window.in_slow_start(), (b.window.cwnd / 4.0).max(1.0));
            timed(&mut b, t, rtt, quarter);
            match (before, b.window.in_slow_start()) {
                (false, true) => since = Some(t),
                (true, false) => slowdowns.extend(since.map(|since| (since, t))),
                _ => {}
            }
        }
        assert!(slowdowns.len() >= 3, "seed {seed}: {slowdowns:?}");
        for pair in slowdowns.windows(2) {
            let ((since, end), (next, _)) = (pair[0], pair[1]);
            let late = next - end - 9.0 * (end - since);
            // It begins with the first acknowledgement from then on.
            assert!((-1e-6..(base + 0.08) / 4.0).contains(&late), "seed {seed}: {late} s late");
        }
    }
}

#[test]
fn a_loss_halves_the_window_and_ends_slow_start() {
    let mut b = begin(0.12);
    b.window.cwnd = 16.0;
    near(b.cut(Signal::Loss), 8.0, 1e-9);
    b.window.ssthresh = b.window.cwnd;
    near(b.ack(1.0, 1.0), 8.125, 1e-9);
    assert_eq!(b.ack(1.24, 1.0), 2.0, "two round trips later the slowdown");
}

#[test]
fn a_flow_begins_with_two_segments_in_slow_start() {
    let mut l = Lead::open(law("ledbat++", &[]), None);
    assert_eq!(l.cwnd(), 2.0);
    assert!(l.ssthresh() > 1e5);
    l.ack(2);
    assert!(l.cwnd() > 2.0 && l.cwnd() < 3.0, "by the gain: {}", l.cwnd());
}
