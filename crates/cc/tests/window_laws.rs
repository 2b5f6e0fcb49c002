//! The window laws against their formulas, worked by hand. Windows are in segments.

#![allow(clippy::disallowed_methods, reason = "tests may use the platform's functions")]

mod common;

use common::bare_window::{law, near, Bare};
use common::{at, config_of, echo_laws, Lead};
use marqueue_cc::core::Core;
use marqueue_cc::window_law::Signal;

/// What is left of a window of 20, of which `flight` segments are outstanding, by an ECN echo in congestion avoidance.
fn after_an_echo(control: &str, base: &str, abe: bool, flight: u32) -> (f64, f64) {
    let choices = [("control", control), ("recovery", "newreno"), ("ecn_reduction_base", base)];
    let numbers = [("delayed_ack", 0.0), ("initial_window", 20.0)];
    let c = config_of("rfc", &choices, &numbers, &[("ecn", true), ("abe", abe)]);
    let mut l = Lead::unwritten(c, None);
    l.sender = Lead::open(l.config.clone(), Some(flight)).sender;
    l.echo(2);
    (l.cwnd(), l.ssthresh())
}

#[test]
fn an_echo_reduces_flight_size_or_cwnd() {
    assert_eq!(after_an_echo("cubic", "law", false, 10), (7.0, 7.0), "RFC 9438, 4.6");
    assert_eq!(
        after_an_echo("cubic", "cwnd", false, 10),
        (14.0, 7.0),
        "4.6 permits it if an unused window does not grow"
    );
    assert_eq!(after_an_echo("cubic", "law", false, 2), (1.4, 2.0), "4.6: at least 1 and 2 segments");
    assert_eq!(after_an_echo("reno", "law", false, 10), (10.0, 5.0), "RFC 3168, 6.1.2");
    assert_eq!(after_an_echo("reno", "flight_size", false, 10), (5.0, 5.0));
    assert_eq!(after_an_echo("dctcp", "law", false, 10), (10.0, 5.0), "RFC 8257, 3.3, with alpha 1");
}

/// RFC 8511.
#[test]
fn alternative_backoff_with_ecn_leaves_four_fifths_in_congestion_avoidance() {
    assert_eq!(after_an_echo("reno", "law", true, 10), (5.0, 5.0), "4: not in slow start; 3.1: of FlightSize");
    for (control, loss) in [("reno", 0.5), ("cubic", 0.7)] {
        let mut l = Lead::open(
            config_of(
                "rfc",
                &[("control", control), ("recovery", "newreno")],
                &[("delayed_ack", 0.0), ("initial_window", 10.0)],
                &[("ecn", true), ("abe", true)],
            ),
            None,
        );
        l.echo(2);
        for next in 3..=40 {
            l.ack(next);
        }
        let flight = f64::from(l.sender.core().flight());
        assert!(l.cwnd() > l.ssthresh(), "congestion avoidance");
        let exact = l.sender.clone();
        l.echo(41);
        near(l.ssthresh(), 0.8 * flight, 1e-12);
        assert_eq!(l.cwnd(), l.ssthresh());
        l.sender = exact;
        for _ in 0..3 {
            l.ack(40);
        }
        let outstanding = f64::from(l.sender.core().flight() - l.sender.core().limited);
        near(l.ssthresh(), loss * outstanding, 1e-12);
    }
}

#[test]
fn scalable_tcp_grows_by_the_acknowledgement_and_loses_an_eighth() {
    for cwnd in [4.0, 1000.0] {
        let mut b = Bare::new(law("scalable", &[]), cwnd, 0.1);
        near(b.ack(1.0, 1.0), cwnd + 0.01, 1e-9);
        near(b.ack(1.0, 2.0), cwnd + 0.03, 1e-9);
        near(b.cut(Signal::Loss), (cwnd + 0.03) * 0.875, 1e-9);
    }
    let mut b = Bare::new(law("scalable", &[("scalable_a", 0.02), ("scalable_b", 0.25)]), 100.0, 0.1);
    near(b.ack(1.0, 1.0), 100.02, 1e-9);
    near(b.cut(Signal::Ecn), 75.015, 1e-9);
}

#[test]
fn aimd_grows_by_a_a_round_trip_and_loses_the_share_b() {
    let mut b = Bare::new(law("aimd", &[("aimd_a", 0.2), ("aimd_b", 0.125)]), 20.0, 0.1);
    assert_eq!(b.ack(1.0, 1.0), 20.0 + 0.2 / 20.0);
    for _ in 1..20 {
        b.ack(1.0, 1.0);
    }
    near(b.window.cwnd, 20.2, 0.002); // a window that grows while it is acknowledged
    b.window.cwnd = 16.0;
    assert_eq!(b.cut(Signal::Loss), 14.0);
    let mut reno = Lead::open(law("reno", &[]), None);
    let mut aimd = Lead::open(law("aimd", &[]), None);
    for l in [&mut reno, &mut aimd] {
        l.echo(2);
        for next in 3..=10 {
            l.ack(next);
        }
    }
    assert_eq!((reno.cwnd(), reno.ssthresh()), (aimd.cwnd(), aimd.ssthresh()), "AIMD(1, 1/2) is Reno");
}

/// RFC 6817, 2.4.2: target 100 ms, gain 1, the least of four delays.
#[test]
fn ledbat_grows_and_shrinks_with_the_distance_from_its_target() {
    let mut b = Bare::new(law("ledbat", &[]), 20.0, 0.1);
    near(b.ack(1.0, 1.0), 20.05, 1e-9); // no queue: 1/20
    let delay = |b: &mut Bare, t: f64, delay: f64| {
        b.rto.sample(&b.config, at(t - delay), at(t));
        b.window.cwnd = 20.0;
        b.ack(t, 1.0)
    };
    for t in [2.0, 2.1, 2.2] {
        near(delay(&mut b, t, 0.15), 20.05, 1e-9); // 100 ms is still among the latest four
    }
    near(delay(&mut b, 2.3, 0.15), 20.025, 1e-9); // q = 50 ms: (1 - 0.5)/20
    for t in [3.0, 3.1, 3.2] {
        near(delay(&mut b, t, 0.3), 20.025, 1e-9);
    }
    near(delay(&mut b, 3.3, 0.3), 19.95, 1e-9); // q = 200 ms: (1 - 2)/20
    near(b.cut(Signal::Loss), 9.975, 1e-9);
    // The first minute counts until ten have passed.
    near(delay(&mut b, 599.9, 0.3), 19.95, 1e-9);
    near(delay(&mut b, 600.1, 0.3), 20.05, 1e-9);
    // At least two segments, and at most one more than was outstanding.
    b.window.cwnd = 2.0;
    near(b.ack(600.2, 20.0), 3.0, 1e-9);
    for t in [601.0, 601.1, 601.2, 601.3] {
        delay(&mut b, t, 0.9);
    }
    b.window.cwnd = 2.0;
    assert_eq!(b.ack(601.4, 2.0), 2.0);
}

#[test]
fn ledbat_begins_with_two_segments_and_without_slow_start() {
    let mut l = Lead::open(law("ledbat", &[]), None);
    assert_eq!((l.cwnd(), l.ssthresh()), (2.0, 2.0));
    l.ack(2);
    near(l.cwnd(), 2.5, 1e-9);
}

#[test]
fn slow_start_is_the_same_under_all() {
    for name in echo_laws() {
        let mut l = Lead::open(law(name, &[]), None);
        assert_eq!(l.ack(3), [11, 12, 13], "{name}");
        assert_eq!(l.cwnd(), 11.0, "{name}");
    }
}

#[test]
fn a_flow_stays_small() {
    // Four cache lines, and what few senders have is behind a pointer.
    assert!(std::mem::size_of::<Core>() <= 256, "{}", std::mem::size_of::<Core>());
}
