//! RFC 6675 worked by hand: acknowledgements in; segments, cwnd and ssthresh out. Unless a test says otherwise ten
//! segments (1 to 10) are out after the handshake.

mod common;

use common::{at, config, rfc, Lead};

/// Segment 1 has arrived and 2 has not: the acknowledgement opens the window to 11, and 11 and 12 go out.
fn lose_segment_2() -> Lead {
    let mut l = Lead::open(rfc("sack", 10), None);
    assert_eq!(l.ack(2), [11, 12]);
    l
}

#[test]
fn the_loss_of_the_first_data_segment_is_repaired_without_the_timer() {
    let mut l = Lead::open(rfc("sack", 10), None);
    assert_eq!(l.sack(1, &[(2, 3)]), [11]);
    assert_eq!(l.sack(1, &[(2, 4)]), [12]);
    assert_eq!(l.sack(1, &[(2, 5)]), [1]);
}

#[test]
fn pipe_and_next_seg_by_hand() {
    // Segments 2, 3 and 8 of 1 to 14 are lost.
    let mut l = lose_segment_2();
    assert_eq!(l.sack(2, &[(4, 5)]), [13]);
    assert_eq!(l.sack(2, &[(4, 6)]), [14]);
    // 6: (4.2) half of 11; (4.3) 2 is sent. pipe: 3 is lost (three sacked above it) and does not
    // count, 7 to 14 are 8, the retransmission of 2 is 1: 9 > 5.5.
    assert_eq!(l.sack(2, &[(4, 7)]), [2]);
    assert_eq!((l.ssthresh(), l.cwnd()), (5.5, 5.5));
    // 7, 9, 10: pipe 8, 7, 6. 11: pipe 5 - 8 is lost now, too: 12, 13, 14 and 2 are 4, so that one
    // fits; NextSeg (1): 3.
    assert_eq!(l.sack(2, &[(4, 8)]), []);
    assert_eq!(l.sack(2, &[(9, 10), (4, 8)]), []);
    assert_eq!(l.sack(2, &[(9, 11), (4, 8)]), []);
    assert_eq!(l.sack(2, &[(9, 12), (4, 8)]), [3]);
    // 12: pipe is 13, 14, 2, 3; NextSeg (1) again: 8.
    assert_eq!(l.sack(2, &[(9, 13), (4, 8)]), [8]);
    // 13: 14, 2, 3, 8; no hole is left, NextSeg (2): new data.
    assert_eq!(l.sack(2, &[(9, 14), (4, 8)]), [15]);
    assert_eq!(l.sack(2, &[(9, 15), (4, 8)]), [16]);
    // The retransmission of 2 arrives: a partial acknowledgement; pipe 3, 8, 15, 16 less none.
    assert_eq!(l.sack(3, &[(9, 15), (4, 8)]), [17]);
    // 3 arrives, then 8: RecoveryPoint, 14, is reached; 15, 16, 17 and 18 are out.
    assert_eq!(l.sack(8, &[(9, 15)]), [18]);
    assert_eq!(l.ack(15), [19]);
    assert_eq!(l.cwnd(), 5.5);
}

/// Of twelve segments 2 and the tail, 11 and 12, are lost; there is no new data. What goes out until the
/// retransmission of 2 is acknowledged.
fn tail_lost(rescue: bool) -> Lead {
    let numbers = [("initial_window", 12.0), ("delayed_ack", 0.0)];
    let mut l = Lead::open(config("rfc", "sack", &numbers, &[("rescue", rescue)]), Some(12));
    l.ack(2);
    l.sack(2, &[(3, 4)]);
    l.sack(2, &[(3, 5)]);
    assert_eq!(l.sack(2, &[(3, 6)]), [2]);
    for end in 7..=11 {
        assert_eq!(l.sack(2, &[(3, end)]), [], "(4.3): HighACK, 1, is not greater than RescueRxt, 2");
    }
    l
}

#[test]
fn the_last_resort_is_a_rescue_of_the_end() {
    let mut l = tail_lost(true);
    assert_eq!(l.ack(11), [12], "NextSeg (4): HighACK is 10");
    assert_eq!(l.sack(11, &[(12, 13)]), [11], "the rescue tells of the hole: NextSeg (3)");
    assert_eq!(l.ack(13), []);
    assert!(l.sender.is_done());
}

#[test]
fn a_rescue_happens_once_a_recovery_if_it_is_wanted() {
    let mut l = tail_lost(true);
    assert_eq!(l.ack(11), [12]);
    for _ in 0..3 {
        assert_eq!(l.ack(11), [], "RescueRxt is RecoveryPoint");
    }
    assert_eq!(l.time_out(), [11]);
    assert_eq!(tail_lost(false).ack(11), []);
}

#[test]
fn a_rescue_sends_the_highest_segment_that_is_not_sacked() {
    // Segments 1, 9 and 10 of twelve are lost: 12 is sacked, so that the end to rescue is 10.
    let mut l = Lead::open(rfc("sack", 12), Some(12));
    l.sack(1, &[(2, 3)]);
    l.sack(1, &[(2, 4)]);
    assert_eq!(l.sack(1, &[(2, 5)]), [1]);
    l.sack(1, &[(2, 9)]);
    // ssthresh is 6. 9 and 10 are not lost: two are sacked above. The pipe has 9, 10 and 1: NextSeg (3), twice,
    // counts both twice.
    assert_eq!(l.sack(1, &[(11, 13), (2, 9)]), [9, 10]);
    assert_eq!(l.ack(9), [10], "NextSeg (4) counts neither HighRxt nor what is in the network");
}

#[test]
fn a_premature_rescue_repeats_nothing() {
    // Only the first of ten segments is lost.
    let mut l = Lead::open(rfc("sack", 10), Some(10));
    for end in 3..=11 {
        l.sack(1, &[(2, end)]);
    }
    assert_eq!(l.sender.core().counts.retransmits, 1);
}

#[test]
fn the_first_segment_beyond_the_recovery_point_is_repaired_without_the_timer() {
    // Segments 1 and 11 are lost; RecoveryPoint is 10 if nothing is sent before the third duplicate.
    let numbers = [("initial_window", 10.0), ("delayed_ack", 0.0)];
    let mut l = Lead::open(config("rfc", "sack", &numbers, &[("limited_transmit", false)]), None);
    let mut sent = Vec::new();
    for end in 3..=11 {
        sent.extend(l.sack(1, &[(2, end)]));
    }
    assert_eq!(sent, [1, 11, 12, 13, 14]);
    assert_eq!(l.ack(11), [15], "recovery has ended");
    l.sack(11, &[(12, 13)]);
    l.sack(11, &[(12, 14)]);
    assert_eq!(l.sack(11, &[(12, 15)]), [11], "HighACK is RecoveryPoint: a new recovery");
    assert_eq!(l.ssthresh(), 2.5);
}

#[test]
fn after_a_timeout_recovery_waits_until_all_is_acknowledged_that_was_sent() {
    // Section 5.1: RecoveryPoint is 10.
    let mut l = Lead::open(rfc("sack", 10), None);
    assert_eq!(l.time_out(), [1]);
    assert_eq!(l.ack(2), [2, 3]);
    assert_eq!(l.sack(2, &[(4, 8)]), [], "IsLost(2), but HighACK is 1");
    assert_eq!((l.ssthresh(), l.cwnd()), (5.0, 2.0));
    assert_eq!(l.ack(11), [11, 12, 13], "HighACK is 10");
    assert_eq!(l.sack(11, &[(12, 14)]), [14, 15]);
    assert_eq!(l.sack(11, &[(12, 15)]), [11], "a new recovery");
    assert_eq!(l.ssthresh(), 2.0);
}

#[test]
fn a_duplicate_that_tells_of_two_segments_releases_two() {
    // Step (3.3): the pipe falls by two, and limited transmit goes on until it is full.
    let mut l = Lead::open(rfc("sack", 10), None);
    assert_eq!(l.sack(1, &[(3, 5)]), [11, 12]);
    assert_eq!(l.cwnd(), 10.0, "RFC 3042: the window is not changed");
    assert_eq!(l.sack(1, &[(3, 6)]), [1], "three are sacked above segment 1");
    assert_eq!(l.ssthresh(), 5.0, "what limited transmit sent is not counted");
}

#[test]
fn an_acknowledgement_that_advances_with_news_is_a_duplicate() {
    // Section 2. Segment 2 is lost; the acknowledgement of 1 tells of 3, 4 and 5.
    let mut l = Lead::open(rfc("sack", 10), None);
    assert_eq!(l.sack(2, &[(3, 6)]), [2], "(2): IsLost(HighACK + 1)");
    assert_eq!(l.ssthresh(), 4.5);
}

#[test]
fn the_timer_starts_again_when_recovery_begins() {
    // RFC 6298, section 5: no segment is sent again less than one RTO after it was sent.
    let mut l = Lead::open(rfc("sack", 10), None);
    l.now = at(0.9);
    l.sack(1, &[(2, 5)]);
    assert_eq!(l.timeout(), 1.0);
}

#[test]
fn duplicates_without_new_blocks_do_not_count() {
    let mut l = lose_segment_2();
    l.sack(2, &[(4, 5)]);
    for _ in 0..5 {
        assert_eq!(l.sack(2, &[(4, 5)]), []);
    }
    assert_eq!(l.cwnd(), 11.0);
}

#[test]
fn after_a_timeout_nothing_is_sent_again_that_has_been_sacked_since() {
    let mut l = Lead::open(rfc("sack", 10), None);
    assert_eq!(l.time_out(), [1]);
    assert_eq!(l.sack(1, &[(3, 5)]), [], "limited transmit is for new data (RFC 3042)");
    assert_eq!(l.ack(2), [2]);
    assert_eq!(l.sack(5, &[(6, 8)]), [5], "the window of three ends with the segments sacked");
    assert_eq!(l.ack(8), [8, 9, 10, 11]);
}

#[test]
fn three_separate_blocks_tell_of_a_loss_by_themselves() {
    // Step 2 of section 5: IsLost(HighACK + 1) before the third duplicate.
    let mut l = lose_segment_2();
    assert_eq!(l.sack(2, &[(7, 8), (5, 6), (3, 4)]), [2]);
}
