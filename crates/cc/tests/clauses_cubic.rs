//! Clauses of RFC 9438 that no other test shows. docs/standards/rfc9438.md has the table.

#![allow(clippy::disallowed_methods, reason = "tests may use the platform's functions")]

mod common;

use common::{at, config_of, Lead};
use marqueue_cc::algo::AnyWindowLaw;
use marqueue_cc::rto::Rto;
use marqueue_cc::window_law::{AckedSegments, Window};
use marqueue_cc::Config;
use marqueue_core::Dur;

fn cubic(initial_window: f64) -> Config {
    let numbers = [("initial_window", initial_window), ("delayed_ack", 0.0)];
    config_of("rfc", &[("control", "cubic"), ("recovery", "newreno")], &numbers, &[("ecn", true)])
}

#[test]
fn after_a_first_slow_start_without_a_loss_the_curve_begins_on_its_plateau() {
    // 4.10: K is 0, W_max and cwnd_prior are 50. W_est grows by one segment a round trip, because it is at cwnd_prior.
    let config = cubic(10.0);
    let mut rto = Rto::new(&config, 0.0);
    rto.sample(&config, at(0.0), at(0.1));
    let mut law = AnyWindowLaw::new(&config);
    let mut window = Window { cwnd: 50.0, ssthresh: 50.0 };
    let mut ack = |t: f64| {
        law.on_ack(
            &mut window,
            &AckedSegments { now: at(t), config: &config, rto: &rto, segments: 1.0, outstanding: 10.0 },
        );
        window.cwnd
    };
    let first = ack(10.0);
    assert!((first - (50.0 + 1.0 / 50.0)).abs() < 1e-9, "W_est: {first}");
    let target = 50.0 + 0.4 * 2.1f64.powi(3);
    let second = ack(12.0);
    assert!((second - (first + (target - first) / first)).abs() < 1e-9, "W_cubic(2 s + RTT): {second}");
}

#[test]
fn congestion_avoidance_follows_a_cut_at_once() {
    // 4.10 wants slow start while cwnd is no more than ssthresh; RFC 5681, section 3.1, leaves the choice at equality.
    let mut l = Lead::open(cubic(20.0), None);
    l.echo(2);
    assert_eq!(l.cwnd(), l.ssthresh());
    let end = l.sender.core().max;
    for next in 3..=end {
        l.ack(next);
    }
    assert!(l.cwnd() < l.ssthresh() + 1.0, "{} {}", l.cwnd(), l.ssthresh());
}

#[test]
fn echoes_reduce_the_window_down_to_one_segment() {
    // 4.6: at most beta of it is left each time, and one segment at least.
    let mut l = Lead::open(cubic(20.0), None);
    let mut before = l.cwnd();
    for _ in 0..12 {
        l.now += Dur::from_secs(0.1);
        let end = l.sender.core().max;
        l.echo(end);
        assert!(l.cwnd() <= (0.7 * before).max(1.0), "{} of {before}", l.cwnd());
        before = l.cwnd();
        if l.sender.core().flight() == 0 {
            break;
        }
    }
    assert_eq!(l.cwnd(), 1.0);
}
