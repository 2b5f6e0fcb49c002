//! ECN at both ends: RFC 3168, section 6.1, beside what rfc_vectors.rs shows.

mod common;

use common::{at, config, Lead};
use marqueue_cc::receiver::ReceiveContext;
use marqueue_cc::{Options, Receiver};
use marqueue_core::{Ecn, Flags};

fn open(recovery: &str) -> Lead {
    let numbers = [("initial_window", 10.0), ("delayed_ack", 0.0)];
    Lead::open(config("rfc", recovery, &numbers, &[("ecn", true)]), None)
}

/// The segments just sent that have CWR.
fn with_cwr(lead: &Lead) -> Vec<u32> {
    lead.sent.iter().filter(|segment| segment.flags.has(Flags::CWR)).map(|segment| segment.seq).collect()
}

#[test]
fn cwr_is_on_the_first_new_segment_after_a_loss_and_on_no_retransmission() {
    let mut l = open("newreno");
    let mut told = Vec::new();
    for _ in 0..9 {
        l.ack(1);
        told.extend(with_cwr(&l));
    }
    assert!(l.sender.core().counts.retransmits == 1 && told.len() == 1, "{told:?}");
    assert!(told[0] > 10, "a new segment");
}

#[test]
fn cwr_is_on_the_first_new_segment_after_a_timeout() {
    let mut l = open("newreno");
    assert_eq!(l.time_out(), [1]);
    assert_eq!(with_cwr(&l), []);
    let mut told = Vec::new();
    for next in 2..=14 {
        l.ack(next);
        told.extend(with_cwr(&l));
    }
    assert_eq!(told, [11]);
}

#[test]
fn an_echo_from_a_window_that_a_loss_has_reduced_reduces_nothing() {
    for recovery in ["reno", "newreno"] {
        let mut l = open(recovery);
        for _ in 0..3 {
            l.ack(1);
        }
        let ssthresh = l.ssthresh();
        l.echo(11);
        assert_eq!((l.ssthresh(), l.sender.core().counts.ecn_cuts), (ssthresh, 0), "{recovery}");
    }
}

#[test]
fn an_echo_does_not_open_the_window() {
    let mut l = open("newreno");
    l.echo(2);
    let reduced = l.cwnd();
    for next in 3..=11 {
        l.echo(next);
        assert_eq!(l.cwnd(), reduced);
    }
}

#[test]
fn the_echo_of_an_old_mark_does_not_keep_the_window_shut_after_a_timeout() {
    for recovery in ["reno", "newreno", "sack"] {
        let mut l = open(recovery);
        assert_eq!(l.time_out(), [1]);
        // Ten segments are sent again, none of which may carry CWR: their acknowledgements echo what was marked before.
        assert_eq!(l.echo(2), [2, 3], "{recovery}");
        l.echo(4);
        assert_eq!(l.sender.core().counts.ecn_cuts, 0, "{recovery}");
        assert!(l.cwnd() > 2.0, "{recovery}");
        l.ack(11);
        // The echo of a mark on what is new is a signal again.
        let window = l.cwnd();
        l.echo(12);
        assert!(l.cwnd() < window && l.sender.core().counts.ecn_cuts == 1, "{recovery}");
    }
}

#[test]
fn a_delayed_acknowledgement_echoes_a_mark_on_either_segment() {
    for (first, second) in [(Ecn::Ce, Ecn::Ect0), (Ecn::Ect0, Ecn::Ce)] {
        let c = config("rfc", "newreno", &[("delayed_ack", 0.1)], &[("ecn", true)]);
        let (mut r, mut options) = (Receiver::default(), Options::NONE);
        let mut rx = ReceiveContext { now: at(1.0), config: &c, options: &mut options };
        r.on_segment(&mut rx, 0, Flags::SYN | Flags::ECE, Ecn::NotEct, 0);
        assert_eq!(r.on_segment(&mut rx, 1, Flags::NONE, first, 0).ack, None);
        let ack = r.on_segment(&mut rx, 2, Flags::NONE, second, 0).ack.expect("every second one");
        assert!(ack.ack == 3 && ack.ece());
    }
}

#[test]
fn without_ecn_nothing_asks_for_it_or_grants_it() {
    let mut l = Lead::new(config("rfc", "newreno", &[], &[("ecn", false)]), None);
    assert!(!l.sent[0].flags.has(Flags::ECE) && !l.sent[0].ect, "the SYN");
    l.echo(1);
    assert!(l.sent.iter().all(|segment| !segment.ect), "not even if the other end does");

    let c = config("rfc", "newreno", &[], &[("ecn", true)]);
    let (mut r, mut options) = (Receiver::default(), Options::NONE);
    let mut rx = ReceiveContext { now: at(1.0), config: &c, options: &mut options };
    let ack = r.on_segment(&mut rx, 0, Flags::SYN, Ecn::NotEct, 0).ack.expect("a SYN at once");
    assert!(!ack.ece(), "a SYN that does not ask");
}

#[test]
fn the_loss_of_the_segment_with_cwr_reduces_the_window_again() {
    let mut l = open("newreno");
    l.echo(2);
    assert_eq!(l.ssthresh(), 5.0);
    let mut told = Vec::new();
    for next in (3..=11).chain([11; 9]) {
        l.ack(next);
        told.extend(with_cwr(&l));
    }
    assert!(l.ssthresh() < 5.0, "{}", l.ssthresh());
    assert!(told.len() == 2 && told[0] == 11 && told[1] > 11, "{told:?}: once more, on a new segment");
}

#[test]
fn a_timeout_within_a_reduced_window_may_keep_ssthresh_and_one_after_it_never_does() {
    // Linux, tcp_enter_loss. 10 was the last segment sent before the echo.
    let flags = [("ecn", true), ("timeout_cuts_again", false)];
    for (una, keeps) in [(9, true), (10, true), (11, false)] {
        let mut l =
            Lead::open(config("rfc", "newreno", &[("initial_window", 10.0), ("delayed_ack", 0.0)], &flags), None);
        l.echo(2);
        let ssthresh = l.ssthresh();
        for next in 3..=una {
            l.ack(next);
        }
        assert!(l.sender.core().flight() > 0);
        l.time_out();
        assert_eq!(l.ssthresh() == ssthresh, keeps, "up to {una}: {}", l.ssthresh());
    }
}

#[test]
fn a_recovery_that_an_echo_ends_leaves_no_more_than_one_that_ends_without() {
    // RFC 6582, section 3.2, step 3, option (1): with nothing outstanding the recovery leaves two segments.
    let mut l =
        Lead::open(config("rfc", "newreno", &[("initial_window", 10.0), ("delayed_ack", 0.0)], &[("ecn", true)]), None);
    for _ in 0..3 {
        l.ack(1);
    }
    assert_eq!(l.ssthresh(), 5.0);
    let all = l.sender.core().max;
    l.echo(all);
    assert_eq!(l.cwnd(), 2.0, "and the echo is of the window that the loss has reduced");
}
