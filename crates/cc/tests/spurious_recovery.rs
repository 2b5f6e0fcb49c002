//! Loss recoveries that were spurious, and are taken back as Linux does (net/ipv4/tcp_input.c: tcp_packet_delayed,
//! tcp_try_undo_dsack, tcp_undo_cwnd_reduction). Ten segments leave at 0.1 s, when the handshake ends.

mod common;

use common::{at, config_of, Lead};
use marqueue_cc::Ack;

/// Segment 1 is overtaken by three others, and sent again at 0.2 s.
fn overtaken(undo: bool) -> Lead {
    let mut lead = Lead::open(config_of("linux", &[("control", "reno")], &[], &[("undo_spurious", undo)]), None);
    lead.now = at(0.2);
    assert_eq!(lead.sack(1, &[(2, 5)])[0], 1);
    assert_eq!(lead.ssthresh(), 5.0);
    lead.now = at(0.21);
    lead
}

/// An acknowledgement of what was sent at `sent`.
fn echo(lead: &mut Lead, ack: u32, sent: f64, sack: &[(u32, u32)]) {
    let echo = Some(lead.config.timestamp(at(sent)));
    lead.hear(Ack { ack, echo, sack, ..Ack::default() });
}

/// Is the window in slow start, as before?
fn is_whole(lead: &Lead) -> bool {
    lead.cwnd() >= 10.0 && lead.ssthresh() > 1e5
}

#[test]
fn an_original_that_comes_late_brings_the_window_back() {
    let mut lead = overtaken(true);
    echo(&mut lead, 5, 0.1, &[]);
    assert!(is_whole(&lead));
    assert_eq!(lead.sender.core().counts.retransmits, 1);
}

#[test]
fn a_retransmission_that_fills_the_hole_does_not() {
    for (undo, sent) in [(true, 0.2), (false, 0.1)] {
        let mut lead = overtaken(undo);
        lead.now = at(0.3);
        echo(&mut lead, 11, sent, &[]);
        assert_eq!((lead.cwnd(), lead.ssthresh()), (5.0, 5.0), "{undo}");
    }
}

#[test]
fn a_duplicate_of_all_that_was_sent_again_brings_the_window_back_after_the_end() {
    let mut lead = overtaken(true);
    // The acknowledgement of the original was lost, so that this one has the timestamp of the retransmission.
    echo(&mut lead, 11, 0.2, &[]);
    assert!(!is_whole(&lead));
    echo(&mut lead, 11, 0.2, &[(1, 2)]);
    assert!(is_whole(&lead));
}

#[test]
fn after_a_mark_nothing_comes_back() {
    for (ecn, whole) in [(false, true), (true, false)] {
        let mut lead = Lead::open(config_of("linux", &[("control", "reno")], &[], &[("ecn", ecn)]), None);
        lead.now = at(0.2);
        lead.sack(1, &[(2, 5)]);
        lead.now = at(0.21);
        echo(&mut lead, 11, 0.2, &[]);
        lead.now = at(0.3);
        let stamp = Some(lead.config.timestamp(at(0.21)));
        lead.hear(Ack { ack: 12, ece: true, echo: stamp, ..Ack::default() });
        echo(&mut lead, 12, 0.21, &[(1, 2)]);
        assert_eq!(is_whole(&lead), whole, "{ecn}");
    }
}

#[test]
fn a_timeout_that_was_too_early_is_taken_back() {
    let mut lead = Lead::open(config_of("linux", &[("control", "reno")], &[], &[]), None);
    assert!(!lead.time_out().is_empty(), "a probe");
    assert!(!lead.time_out().is_empty(), "a timeout");
    let (cwnd, timeouts) = (lead.cwnd(), lead.sender.core().counts.timeouts);
    assert_eq!((cwnd, timeouts), (1.0, 1));
    lead.now += marqueue_core::Dur::from_secs(0.01);
    echo(&mut lead, 3, 0.1, &[]);
    assert!(is_whole(&lead));
}
