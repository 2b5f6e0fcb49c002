//! Clauses of RFC 8985 that no other test shows. docs/standards/rfc8985.md has the table.

mod common;

use common::{at, config_of, Lead};
use marqueue_cc::{Ack, Config};
use marqueue_core::params::{ParamValues, Value};
use marqueue_core::{Dur, Time};

#[test]
fn it_needs_selective_acknowledgements() {
    // Section 4.
    for (preset, recovery) in [("rfc", "reno"), ("rfc", "newreno"), ("ns2", "sack")] {
        let values = [("recovery", recovery), ("loss_detection", "rack")];
        let values: ParamValues = values.map(|(k, x)| (k.to_string(), Value::Choice(x.into()))).into();
        let error = Config::with_preset(preset, &values).expect_err("it cannot work").to_string();
        assert!(error.starts_with("loss_detection: got rack"), "{preset}, {recovery}: {error}");
    }
}

fn rack(numbers: &[(&str, f64)], dsack: bool) -> Lead {
    Lead::open(settings(numbers, dsack), None)
}

fn settings(numbers: &[(&str, f64)], dsack: bool) -> Config {
    let numbers = [&[("initial_window", 10.0), ("delayed_ack", 0.0)], numbers].concat();
    config_of("rfc", &[("loss_detection", "rack")], &numbers, &[("dsack", dsack)])
}

#[test]
fn a_retransmission_that_is_answered_too_soon_measures_nothing() {
    // 6.2, step 2: 10 ms after it was sent the answer is to the original; RACK.min_RTT is 100 ms.
    let mut l = rack(&[], false);
    l.now = at(0.2);
    l.sack(1, &[(2, 3)]);
    l.sack(1, &[(2, 4)]);
    assert_eq!(l.sack(1, &[(2, 5)]), [1]);
    l.now = at(0.21);
    let sent = l.ack(5);
    assert!(sent.iter().all(|&seq| seq > 10), "5 to 10 were not sent before something that has arrived: {sent:?}");
    assert_eq!(l.sender.core().counts.retransmits, 1);
}

/// Acknowledges all that is out, after a round trip of 100 ms.
fn finish(l: &mut Lead) {
    l.now += Dur::from_secs(0.1);
    let end = l.sender.core().max;
    l.ack(end);
}

/// Reports as received twice what had been acknowledged before.
fn report_duplicate(l: &mut Lead) {
    let una = l.sender.core().una;
    l.sack(una, &[(una - 1, una)]);
}

/// How long the sender waits for the first segment that is out, once the second has arrived a round trip after it was
/// sent: in quarters of a round trip of 100 ms. Everything is acknowledged in the end.
fn patience(l: &mut Lead) -> f64 {
    finish(l);
    let sent: Time = l.now;
    let first = l.sender.core().una;
    l.now += Dur::from_secs(0.1);
    l.sack(first, &[(first + 1, first + 2)]);
    let quarters = ((l.sender.deadline() - sent).secs() - 0.1) / 0.025;
    finish(l);
    quarters
}

#[test]
fn the_window_for_reordering_stays_wide_for_sixteen_recoveries() {
    let mut l = rack(&[], true);
    finish(&mut l);
    report_duplicate(&mut l);
    for recovery in 0..16 {
        let quarters = patience(&mut l);
        assert!((quarters - 2.0).abs() < 1e-6, "before recovery {recovery}: {quarters}");
        finish(&mut l);
        l.now += Dur::from_secs(0.1);
        let first = l.sender.core().una;
        let before = l.sender.core().counts.retransmits;
        // Two quarters of a round trip after it was due the segment is lost.
        l.sack(first, &[(first + 1, first + 2)]);
        l.time_out();
        assert!(l.sender.core().counts.retransmits > before, "recovery {recovery}");
        finish(&mut l);
    }
    let quarters = patience(&mut l);
    assert!((quarters - 1.0).abs() < 1e-6, "{quarters}");
}

#[test]
fn the_window_for_reordering_is_no_wider_than_a_round_trip() {
    let mut l = rack(&[], true);
    for _ in 0..10 {
        finish(&mut l);
        report_duplicate(&mut l);
    }
    assert!((patience(&mut l) - 4.0).abs() < 1e-3, "SRTT, not eleven quarters");
}

#[test]
fn a_probe_is_due_no_later_than_the_retransmission_timer() {
    // 7.2. After some round trips of 100 ms RTO is less than two of them.
    let mut l = rack(&[("min_rto", 0.0)], false);
    for _ in 0..8 {
        finish(&mut l);
    }
    let rto = l.sender.core().rto.timeout(&l.config);
    assert!(rto < Dur::from_secs(0.2), "{rto:?}");
    assert_eq!(l.sender.deadline(), l.now + rto);
}

#[test]
fn without_a_round_trip_time_a_probe_is_due_after_a_second() {
    // 7.2: the SYN was sent twice, which measures nothing.
    let mut l = Lead::new(settings(&[], false), None);
    l.time_out();
    l.now = at(1.1);
    assert_eq!(l.ack(1), [1]);
    assert_eq!(l.timeout(), 1.0);
}

#[test]
fn the_handshake_measures_a_round_trip_where_segments_do() {
    // RFC 6298, section 2.2; RFC 7323, section 4.1: the SYN is no segment of the scoreboard, though its answer has a timestamp.
    let config = config_of("linux", &[], &[], &[]);
    let mut l = Lead::new(config, None);
    l.now = at(0.1);
    let echo = Some(l.config.timestamp(Time::ZERO));
    l.hear(Ack { ack: 1, echo, ..Ack::default() });
    let info = l.sender.core().info(&l.config);
    assert_eq!((info.rtt, info.srtt), (Some(Dur(100_000_000)), 0.1));
}

#[test]
fn a_model_of_the_path_learns_of_a_spurious_recovery() {
    // Three segments are sacked beyond 2, which RACK takes for lost as no reordering was seen. Its original comes late, and
    // then the D-SACK of the retransmission.
    let mut l = Lead::open(config_of("linux", &[("control", "bbr3")], &[], &[]), None);
    l.now = at(0.2);
    l.ack(2);
    l.sack(2, &[(3, 4)]);
    l.sack(2, &[(3, 5)]);
    assert!(l.sack(2, &[(3, 6)]).contains(&2), "sent again");
    let spurious = |l: &mut Lead| {
        let config = l.config.clone();
        l.sender.model(&config).map(|model| model.spurious)
    };
    l.now = at(0.21);
    l.ack(6);
    assert_eq!(spurious(&mut l), Some(0));
    l.now = at(0.3);
    l.sack(6, &[(2, 3)]);
    assert_eq!(spurious(&mut l), Some(1));
}
