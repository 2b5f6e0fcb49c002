//! CUBIC (RFC 9438) against its formulas, worked by hand. Windows are in segments.

mod common;

use common::bare_window::{law, near, Bare};
use common::{at, Lead};
use marqueue_cc::window_law::Signal;
use marqueue_cc::Config;
use marqueue_core::math::{cbrt, exp, powi};

/// 100 segments, cut to 70 at time 0; the stage begins with an acknowledgement at 1 s.
/// K = cbrt(30 / 0.4) = cbrt(75).
fn after_a_loss() -> Bare {
    let mut b = Bare::new(law("cubic", &[]), 100.0, 0.1);
    near(b.cut(Signal::Loss), 70.0, 1e-12);
    b.ack(1.0, 1.0);
    b
}

const K: f64 = 4.217_163_326_508_746;

#[test]
fn the_window_moves_to_the_curve_a_round_trip_ahead() {
    // W_cubic(t) = 0.4 (t - K)^3 + 100: 86.68076 at 1 s, 97.18137 at 2.3 s, 100 at K, 102.26670 at 6 s.
    for (t, w_cubic) in [(1.0, 86.68076), (2.3, 97.18137), (K, 100.0), (6.0, 102.2667)] {
        let mut b = after_a_loss();
        let cwnd = b.window.cwnd;
        near(b.ack(1.0 + t - 0.1, 1.0), cwnd + (w_cubic - cwnd) / cwnd, 1e-6);
    }
}

#[test]
fn the_window_follows_the_curve() {
    // A round trip of 0.2 s keeps W_est below: 70 + 9/17 * 40 after 8 s.
    let mut b = Bare::new(law("cubic", &[]), 100.0, 0.2);
    b.cut(Signal::Loss);
    b.ack(1.0, 1.0);
    for round in 1..=40 {
        let t = f64::from(round) * 0.2;
        for _ in 0..b.window.cwnd as u32 {
            b.ack(1.0 + t, 1.0);
        }
        // A round trip takes the window 1 - 1/e of the way to a target that after 1 s moves by
        // 1.2 (t - K)^2 * 0.2 < 3.5: it stays behind by less than 3.5/(e - 1).
        let target = 0.4 * powi(t + 0.2 - K, 3) + 100.0;
        if round >= 10 {
            near(b.window.cwnd, target, 3.5 / (exp(1.0) - 1.0) + 0.1);
        }
    }
    assert!(b.window.cwnd > 120.0, "beyond the plateau it probes: {}", b.window.cwnd);
}

#[test]
fn by_half_a_window_a_round_trip_at_most() {
    let mut b = after_a_loss();
    let cwnd = b.window.cwnd;
    near(b.ack(100.0, 1.0), cwnd + 0.5, 1e-12);
}

#[test]
fn in_the_reno_friendly_region_the_window_is_w_est() {
    // Cut from 10 to 7 with a round trip of 10 ms. Equation (4): 3 * 0.3 / 1.7 = 9/17 a round trip up
    // to the 10 of the last cut, then 1.
    let mut b = Bare::new(law("cubic", &[]), 10.0, 0.01);
    b.cut(Signal::Ecn);
    near(b.ack(0.01, 1.0), 7.0 + 9.0 / 17.0 / 7.0, 1e-12);
    let mut w_est = b.window.cwnd;
    for n in 1..=100 {
        w_est += if w_est < 10.0 { 9.0 / 17.0 } else { 1.0 } / w_est;
        near(b.ack(0.01 + f64::from(n) * 0.001, 1.0), w_est, 1e-9);
    }
    assert!(w_est > 13.0, "both slopes have been seen");
}

#[test]
fn an_acknowledgement_of_two_moves_the_window_once_or_twice() {
    // 4.4 and 4.5: once for each acknowledgement. Linux: once for each segment.
    for (count_segments, times) in [(false, 1.0), (true, 2.0)] {
        let mut b = after_a_loss();
        b.config.cubic_count_segments = count_segments;
        let (cwnd, w_cubic) = (b.window.cwnd, 97.18137);
        near(b.ack(1.0 + 2.3 - 0.1, 2.0), cwnd + times * (w_cubic - cwnd) / cwnd, 1e-6);
    }
}

#[test]
fn fast_convergence_may_be_switched_off() {
    // 4.7: cut at 80, below the plateau of 100, W_max is 80 itself; cwnd_epoch = 56, K = cbrt(24 / 0.4).
    let mut b = after_a_loss();
    b.config.cubic_fast_convergence = false;
    b.window.cwnd = 80.0;
    near(b.cut(Signal::Loss), 56.0, 1e-12);
    let cwnd = b.ack(10.0, 1.0);
    near(b.ack(10.0 + cbrt(60.0) - 0.1, 1.0), cwnd + (80.0 - cwnd) / cwnd, 1e-6);
}

#[test]
fn w_est_may_stay_as_slow_as_it_began() {
    // Linux: 9/17 a round trip beyond the 10 of the last cut, too.
    let slow = Config { cubic_reno_rate: false, ..law("cubic", &[]) };
    let mut b = Bare::new(slow, 10.0, 0.01);
    b.cut(Signal::Ecn);
    let mut w_est = 7.0;
    for n in 1..=100 {
        w_est += 9.0 / 17.0 / w_est;
        near(b.ack(f64::from(n) * 0.001, 1.0), w_est, 1e-9);
    }
    assert!(w_est > 11.0, "beyond the last cut: {w_est}");
}

#[test]
fn before_the_first_signal_it_may_grow_by_a_share_of_itself() {
    // Linux: a twentieth of what is acknowledged, where the curve has hardly left its plateau.
    let mut b = Bare::new(law("cubic", &[("cubic_first_growth", 0.05)]), 40.0, 0.1);
    near(b.ack(0.0, 2.0), 40.1, 1e-12);
    near(b.ack(0.1, 1.0), 40.15, 1e-12);
    b.cut(Signal::Ecn);
    let cwnd = b.window.cwnd;
    assert!(b.ack(0.2, 1.0) < cwnd + 0.05, "and after it by the law");
}

#[test]
fn fast_convergence_gives_way_to_new_flows() {
    // 4.7: cut at 80, below the plateau of 100, W_max = 80 (1 + 0.7)/2 = 68; cwnd_epoch = 56,
    // K = cbrt(12 / 0.4).
    let mut b = after_a_loss();
    b.window.cwnd = 80.0;
    near(b.cut(Signal::Loss), 56.0, 1e-12);
    let cwnd = b.ack(10.0, 1.0);
    let k = cbrt(30.0);
    near(b.ack(10.0 + k - 0.1, 1.0), cwnd + (68.0 - cwnd) / cwnd, 1e-6);
    // Cut above the plateau, W_max is the window: 90, 63, K = cbrt(27 / 0.4).
    b.window.cwnd = 90.0;
    b.cut(Signal::Loss);
    let cwnd = b.ack(20.0, 1.0);
    let k = cbrt(67.5);
    near(b.ack(20.0 + k - 0.1, 1.0), cwnd + (90.0 - cwnd) / cwnd, 1e-6);
}

#[test]
fn after_a_timeout_the_curve_begins_on_its_plateau() {
    // 4.8: K = 0 and W_max = cwnd_epoch = 50; 2 s later 50 + 0.4 * 8.
    let mut b = Bare::new(law("cubic", &[]), 100.0, 0.1);
    b.cut(Signal::Loss);
    b.law.on_timeout();
    b.window.cwnd = 50.0;
    let cwnd = b.ack(3.0, 1.0);
    near(b.ack(3.0 + 2.0 - 0.1, 1.0), cwnd + (53.2 - cwnd) / cwnd, 1e-9);
}

#[test]
fn a_sender_keeps_seven_tenths() {
    let mut l = Lead::open(law("cubic", &[]), None);
    l.echo(2);
    assert_eq!((l.cwnd(), l.ssthresh()), (7.0, 7.0), "ECN");
    let mut l = Lead::open(law("cubic", &[]), None);
    l.ack(2);
    for _ in 0..3 {
        l.ack(2);
    }
    near(l.cwnd(), 7.7, 1e-12);
    let mut l = Lead::open(law("cubic", &[]), None);
    l.time_out();
    assert_eq!((l.cwnd(), l.ssthresh()), (1.0, 7.0), "4.8");
}

#[test]
fn whole_segments_count_where_the_window_is_cut() {
    // 10 segments and 9 of them acknowledged in slow start, 19: 13.3. Then growth, and 13.9 is 13: 9.1.
    let mut l = Lead::open(law("cubic", &[]), None);
    for next in 2..=10 {
        l.ack(next);
    }
    let exact = l.sender.clone();
    for (whole, expected) in [(false, 19.0 * 0.7), (true, 13.0)] {
        l.sender = exact.clone();
        l.config.whole_segments = whole;
        l.echo(11);
        near(l.cwnd(), expected, 1e-9);
    }
    while l.cwnd() < 13.5 {
        let next = l.sender.core().una + 1;
        l.ack(next);
    }
    let next = l.sender.core().max;
    l.echo(next);
    assert_eq!(l.cwnd(), 9.0);
}

/// RFC 9438, 5.8.
#[test]
fn cubic_does_not_count_time_in_which_its_window_is_not_used() {
    let stage = |pause: f64| {
        let mut cubic = Bare::new(law("cubic", &[]), 100.0, 0.1);
        cubic.cut(Signal::Loss);
        cubic.ack(1.0, 1.0);
        cubic.law.on_unused_window(at(1.0 + pause));
        cubic.ack(3.0 + pause, 1.0)
    };
    near(stage(60.0), stage(0.0), 1e-9);
}
