//! RACK-TLP (RFC 8985), acknowledgement by acknowledgement.
//! Windows are in segments; the handshake takes 100 ms and ends at 0.1 s.

mod common;

use common::{at, rfc_with, Lead};
use marqueue_cc::{Ack, Config};
use marqueue_core::{Dur, Time};

fn rack(window: u32, flags: &[(&str, bool)], size: Option<u32>) -> Lead {
    Lead::open(rfc_with(&[("recovery", "sack"), ("loss_detection", "rack")], window, flags), size)
}

/// Segments 1 to 10 are out since 0.1 s; it is 0.2 s.
fn ten() -> Lead {
    let mut l = rack(10, &[], None);
    l.now = at(0.2);
    l
}

#[test]
fn a_segment_is_lost_a_quarter_of_the_round_trip_after_a_later_one_arrived() {
    let mut l = ten();
    assert_eq!(l.sack(1, &[(2, 3)]), [11], "new data while it is waited for");
    assert_eq!(l.sender.deadline(), at(0.225), "xmit + rtt + min_RTT/4");
    assert_eq!(l.time_out()[0], 1);
    assert_eq!(l.sender.core().counts.timeouts, 0);
    assert_eq!(l.ssthresh(), 5.0, "half of ten: what went out while waiting is not counted");
}

#[test]
fn dupthresh_segments_suffice_as_long_as_nothing_was_reordered() {
    let mut l = ten();
    l.sack(1, &[(2, 3)]);
    l.sack(1, &[(2, 4)]);
    assert_eq!(l.sack(1, &[(2, 5)]), [1], "6.2, step 4: no reordering window");
}

#[test]
fn a_late_segment_is_not_lost_and_teaches_to_wait() {
    let mut l = ten();
    l.sack(1, &[(2, 3)]);
    l.now = at(0.21);
    l.ack(3);
    assert_eq!(l.sender.core().counts.retransmits, 0);
    // From now on three sacked segments are no proof.
    for end in [5, 6, 7, 8] {
        l.sack(3, &[(4, end)]);
    }
    assert_eq!(l.sender.core().counts.retransmits, 0);
    assert!(l.sender.deadline() < at(0.24));
    assert_eq!(l.time_out()[0], 3);
}

/// The retransmission of segment 1 is lost; returns what is left of ssthresh.
fn retransmission_lost(reduction: &str) -> f64 {
    let choices = [("recovery", "sack"), ("loss_detection", "rack"), ("reduction", reduction)];
    let mut l = Lead::open(rfc_with(&choices, 10, &[]), None);
    l.now = at(0.2);
    assert_eq!([l.sack(1, &[(2, 3)]), l.sack(1, &[(2, 4)])], [[11], [12]]);
    l.now = at(0.201);
    assert_eq!(l.sack(1, &[(2, 5)]), [1]);
    l.now = at(0.202);
    let mut new = Vec::new();
    for end in 6..=11 {
        new.extend(l.sack(1, &[(2, end)]));
    }
    assert_eq!(new.first(), Some(&13));
    l.now = at(0.31);
    l.sack(1, &[(2, 13)]); // 11 and 12 were sent before the retransmission
    assert_eq!(l.sender.core().counts.retransmits, 1);
    assert_eq!(l.sack(1, &[(2, 14)])[0], 1, "13 was sent after it");
    assert_eq!(l.sender.core().counts.timeouts, 0);
    l.ssthresh()
}

#[test]
fn a_lost_retransmission_is_found_by_what_was_sent_after_it() {
    assert_eq!(retransmission_lost("cut"), 2.5, "9.3: and is a second signal");
    assert_eq!(retransmission_lost("prr"), 5.0, "9.3: but not with proportional rate reduction");
}

#[test]
fn blocks_of_which_the_first_was_lost_are_no_reordering() {
    let mut l = ten();
    // The acknowledgement that told of segments 3 and 4 was lost, that of 8 tells of both.
    assert_eq!(l.sack(1, &[(8, 9), (3, 5)])[..2], [1, 2], "three are sacked, and none came late");
}

#[test]
fn a_segment_that_came_twice_widens_the_reordering_window() {
    let mut l = rack(10, &[("dsack", true)], None);
    l.now = at(0.2);
    for end in 3..=5 {
        l.sack(1, &[(2, end)]);
    }
    assert_eq!(l.sender.core().counts.retransmits, 1);
    l.now = at(0.21);
    l.ack(5); // It had only been late.
    l.now = at(0.3);
    l.ack(13); // All that was out: recovery is over.
    l.hear(Ack { ack: 13, sack: &[(1, 2)], ..Ack::default() });
    let sent = l.now;
    let next = l.sender.core().una;
    l.now = at(0.4);
    l.sack(next, &[(next + 1, next + 2)]);
    let wait = l.sender.deadline() - (sent + Dur::from_secs(0.1));
    assert!(wait > Dur::from_secs(0.045), "two quarters of a round trip, {wait:?}");
}

#[test]
fn after_a_timeout_only_what_is_overdue_is_lost() {
    let mut l = ten();
    assert_eq!(l.sack(1, &[(2, 3)]), [11]); // 11 went out at 0.2
    l.now = at(0.2001);
    let deadline = l.sender.core().deadline;
    while l.sender.core().counts.timeouts == 0 {
        l.time_out();
    }
    assert!(l.now >= deadline);
    assert_eq!(l.cwnd(), 1.0);
}

#[test]
fn the_retransmission_timer_rests_while_the_reordering_timer_is_armed() {
    // Section 8. The round-trip time has grown to 0.95 s; RTO is 1 s from the handshake, at 1.1 s.
    let mut l = rack(10, &[], None);
    while l.now < at(0.3) {
        l.time_out(); // the probe
    }
    l.now = at(1.05);
    l.sack(1, &[(2, 3)]);
    let (reordering, retransmission) = (l.sender.deadline(), l.sender.core().deadline);
    assert!(reordering < retransmission, "{reordering:?} {retransmission:?}");
    assert_eq!(l.time_out()[0], 1);
    assert_eq!((l.now, l.sender.core().counts.timeouts), (reordering, 0));
    assert_eq!(l.sender.core().deadline, l.now + Dur::from_secs(1.0), "6298, 5.1: it starts again");
}

mod tail_loss_probe {
    use super::*;

    #[test]
    fn two_round_trips_after_the_last_sending_new_data_probes() {
        let mut l = rack(10, &[], None);
        assert_eq!(l.timeout(), 0.2, "7.2: 2 SRTT");
        assert_eq!(l.time_out(), [11], "7.3: beyond the window");
        assert_eq!((l.sender.core().counts.timeouts, l.cwnd()), (0, 10.0));
        assert_eq!(l.timeout(), 1.0, "then the retransmission timer runs");
    }

    #[test]
    fn without_new_data_the_last_segment_probes_and_rack_repairs_the_rest() {
        let mut l = rack(10, &[], Some(5));
        assert_eq!(l.time_out(), [5]);
        l.now = at(0.4);
        assert_eq!(l.sack(1, &[(5, 6)]), [1, 2], "all of 1 to 4 are lost, and ssthresh is two");
        assert_eq!(l.sender.core().counts.timeouts, 0);
    }

    #[test]
    fn a_single_segment_waits_for_a_delayed_acknowledgement() {
        let config = Config { probe_ack_delay: Dur::from_secs(0.04), ..rack(10, &[], None).config };
        let l = Lead::open(config, Some(1));
        assert!((l.timeout() - 0.24).abs() < 1e-9, "{}", l.timeout());
    }

    /// The last of five segments is lost, or only its acknowledgement; the probe arrives, and then
    /// more data is written and acknowledged.
    fn probed(dsack: Option<(u32, u32)>) -> Lead {
        let config = rfc_with(&[("recovery", "sack"), ("loss_detection", "rack")], 10, &[("dsack", true)]);
        let mut l = Lead::unwritten(config, None);
        l.write(5);
        l.now = at(0.2);
        l.ack(5);
        assert_eq!(l.time_out(), [5]);
        l.now += Dur::from_secs(0.1);
        let blocks: Vec<(u32, u32)> = dsack.into_iter().collect();
        l.sack(6, &blocks);
        assert_eq!(l.write(2), [6, 7]);
        l.now += Dur::from_secs(0.1);
        l.ack(8);
        l
    }

    #[test]
    fn a_probe_that_repairs_a_loss_is_answered_by_a_cut() {
        let l = probed(None);
        assert!(l.cwnd() < 10.0, "7.4: {}", l.cwnd());
        assert_eq!(l.sender.core().counts.timeouts, 0);
    }

    #[test]
    fn a_probe_that_came_twice_repaired_nothing() {
        assert_eq!(probed(Some((5, 6))).cwnd(), 10.0);
    }

    #[test]
    fn time_runs_from_the_last_data_sent_or_acknowledged() {
        let mut l = rack(10, &[], None);
        l.now = at(0.25);
        l.ack(1);
        assert_eq!(l.sender.deadline(), at(0.3), "7.2: a duplicate does not put it off");
    }

    #[test]
    fn there_is_no_second_probe_before_a_round_trip_was_measured() {
        let config = rfc_with(&[("recovery", "sack"), ("loss_detection", "rack")], 10, &[("dsack", true)]);
        let mut l = Lead::unwritten(config, None);
        assert_eq!(l.write(1), [1]);
        assert_eq!(l.time_out(), [1]);
        l.now += Dur::from_secs(0.05);
        // What is acknowledged was sent twice (Karn): no measurement.
        l.sack(2, &[(1, 2)]);
        assert_eq!(l.write(1), [2]);
        assert_eq!(l.time_out(), [], "7.3: no probe");
        assert_eq!(l.time_out(), [2], "but the retransmission timer");
        assert_eq!(l.sender.core().counts.timeouts, 1);
    }

    #[test]
    fn only_one_probe_is_out() {
        let mut l = rack(10, &[], Some(5));
        l.time_out();
        assert_eq!(l.time_out(), [1], "the retransmission timer");
        assert_eq!(l.sender.core().counts.timeouts, 1);
        assert_ne!(l.sender.deadline(), Time::NEVER);
    }
}

/// RFC 9937, section 6: RecoverFS is what was outstanding, with what the acknowledgement that begins recovery delivers.
#[test]
fn several_segments_that_arrive_at_once_do_not_slow_the_reduction() {
    let choices = [("recovery", "sack"), ("loss_detection", "rack"), ("reduction", "prr")];
    let mut l = Lead::open(rfc_with(&choices, 20, &[]), None);
    l.now = at(0.2);
    let mut sent = l.sack(1, &[(2, 5)]).len();
    for end in 6..=12 {
        sent += l.sack(1, &[(2, end)]).len();
    }
    assert_eq!((l.ssthresh(), sent), (10.0, 5), "one for two of the ten that arrived");
}

#[test]
fn an_acknowledgement_that_was_overtaken_still_reports_what_has_arrived() {
    let mut l = ten();
    l.ack(3);
    assert!(l.hear(Ack { ack: 2, ece: true, ..Ack::default() }).is_empty(), "no news");
    assert_eq!(l.sack(2, &[(5, 8)])[0], 3, "three later ones have arrived");
    assert!(l.sack(2, &[(5, 8)]).is_empty(), "told twice");
    assert_eq!(l.sender.core().una, 3);
}
