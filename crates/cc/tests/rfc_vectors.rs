//! The RFCs' procedures worked by hand: acknowledgements in; segments, cwnd and ssthresh out.
//!
//! Unless a test says otherwise ten segments (1 to 10) are out after the handshake, and windows are
//! in segments.

mod common;

use common::{at, config, config_of, rfc, Lead};
use marqueue_core::{Dur, Flags, Time};

/// Four acknowledgements for segment 2 after 1 has arrived and 2 has not: the first of them opens
/// the window to 11 (11 and 12 go out), limited transmit adds 13 and 14.
fn lose_segment_2(recovery: &str) -> Lead {
    let mut l = Lead::open(rfc(recovery, 10), None);
    assert_eq!(l.ack(2), [11, 12]);
    l
}

mod rfc_3042 {
    use super::*;

    #[test]
    fn one_new_segment_on_each_of_the_first_two_duplicates() {
        let mut l = lose_segment_2("newreno");
        assert_eq!(l.ack(2), [13]);
        assert_eq!(l.ack(2), [14]);
        assert_eq!(l.cwnd(), 11.0, "the window is not changed");
        assert_eq!(l.ack(2), [2], "the third repairs the loss");
    }

    #[test]
    fn none_if_it_is_off() {
        let c = config("rfc", "newreno", &[("delayed_ack", 0.0)], &[("limited_transmit", false)]);
        let mut l = Lead::open(c, None);
        l.ack(2);
        assert_eq!([l.ack(2), l.ack(2), l.ack(2)], [vec![], vec![], vec![2]]);
    }

    #[test]
    fn not_beyond_the_receivers_window() {
        let c = config("rfc", "newreno", &[("delayed_ack", 0.0), ("max_window", 10.0)], &[]);
        let mut l = Lead::open(c, None);
        assert_eq!(l.ack(2), [11], "11 is the last that the receiver takes");
        assert_eq!([l.ack(2), l.ack(2)], [vec![], vec![]]);
    }
}

mod rfc_5681 {
    use super::*;

    #[test]
    fn reno_leaves_recovery_at_the_first_new_acknowledgement() {
        let mut l = lose_segment_2("reno");
        l.ack(2);
        l.ack(2);
        assert_eq!(l.ack(2), [2]);
        // 13 are out, 2 of them by limited transmit, which equation (4) leaves out.
        assert_eq!((l.ssthresh(), l.cwnd()), (5.5, 5.5));
        // 3.2, step 4: three duplicates inflate to 5.5 + 3, each further one by one; the window reaches
        // from 2 and 15 is next: 5 + 9 = 14 segments fit first at the ninth.
        for _ in 0..5 {
            assert_eq!(l.ack(2), []);
        }
        assert_eq!(l.ack(2), [15]);
        // Step 6: deflation. 15 is out, 4 more fit into 5.
        assert_eq!(l.ack(15), [16, 17, 18, 19]);
        assert_eq!(l.cwnd(), 5.5);
    }

    #[test]
    fn an_acknowledgement_of_more_than_a_window_opens_it_by_one_segment() {
        // 3.1: by SMSS at most. A timeout leaves 2 segments, from which congestion avoidance begins.
        let mut l = Lead::open(rfc("newreno", 4), None);
        l.now = at(0.2);
        l.time_out();
        l.ack(2);
        assert_eq!((l.cwnd(), l.ssthresh()), (2.0, 2.0));
        l.ack(5);
        assert_eq!(l.cwnd(), 3.0);
    }

    #[test]
    fn congestion_avoidance_opens_by_one_segment_a_window() {
        let c = config("rfc", "reno", &[("initial_window", 10.0), ("delayed_ack", 0.0)], &[]);
        let mut l = Lead::open(c, None);
        l.time_out(); // ssthresh = 10 / 2
        assert_eq!((l.ssthresh(), l.cwnd()), (5.0, 1.0));
        for next in 2..=5 {
            l.ack(next);
        }
        assert_eq!(l.cwnd(), 5.0, "slow start up to ssthresh");
        l.ack(6);
        assert_eq!(l.cwnd(), 5.0 + 1.0 / 5.0);
    }

    #[test]
    fn after_a_lost_syn_the_initial_window_is_one_segment() {
        let mut l = Lead::new(rfc("newreno", 10), None);
        assert_eq!(l.timeout(), 1.0);
        assert_eq!(l.time_out(), [0]);
        assert_eq!(l.timeout(), 2.0);
        l.now = at(1.1);
        assert_eq!(l.ack(1), [1]);
        assert_eq!(l.cwnd(), 1.0);
    }

    #[test]
    fn the_timer_halves_ssthresh_once_however_often_it_expires() {
        let mut l = Lead::open(rfc("newreno", 10), None);
        assert_eq!(l.time_out(), [1]);
        assert_eq!((l.ssthresh(), l.cwnd()), (5.0, 1.0));
        assert_eq!(l.time_out(), [1]);
        assert_eq!((l.ssthresh(), l.cwnd()), (5.0, 1.0));
    }
}

mod rfc_6582 {
    use super::*;

    /// Segments 2 and 5 of 1 to 14 are lost.
    fn in_recovery() -> Lead {
        let mut l = lose_segment_2("newreno");
        assert_eq!([l.ack(2), l.ack(2)], [[13], [14]]); // 3 and 4 have arrived
        assert_eq!(l.ack(2), [2]); // 6: step 2
        assert_eq!((l.ssthresh(), l.cwnd()), (5.5, 5.5));
        // 7 to 11 inflate to 5 + 8 = 13 segments, 2 to 14; 12, 13 and 14 admit one each.
        for _ in 7..=11 {
            assert_eq!(l.ack(2), []);
        }
        assert_eq!([l.ack(2), l.ack(2), l.ack(2)], [[15], [16], [17]]);
        l
    }

    #[test]
    fn a_partial_acknowledgement_repairs_the_next_hole() {
        let mut l = in_recovery();
        // Step 3: 2 has arrived, 3 segments are acknowledged. The window 5.5 + 11 shrinks by 3 and
        // grows by 1: 5 up to 5 + 14 - 1 = 18 may be out.
        assert_eq!(l.ack(5), [5, 18]);
        assert_eq!(l.cwnd(), 5.5);
        // 15, 16, 17 arrive, then 18.
        assert_eq!([l.ack(5), l.ack(5), l.ack(5), l.ack(5)], [[19], [20], [21], [22]]);
    }

    #[test]
    fn a_full_acknowledgement_ends_recovery_without_a_burst() {
        let mut l = in_recovery();
        l.ack(5);
        for _ in 15..=17 {
            l.ack(5);
        }
        // Option (1): min(ssthresh, max(FlightSize, 1) + 1) with 19, 20, 21 out.
        assert_eq!(l.ack(19), [22]);
        assert_eq!(l.cwnd(), 4.0);
    }

    #[test]
    fn the_first_partial_acknowledgement_resets_the_timer_and_no_other() {
        let mut l = in_recovery();
        l.now = at(0.3);
        let set = |l: &Lead| l.sender.deadline();
        l.ack(5);
        let first = set(&l);
        assert_eq!(l.timeout(), 1.0);
        l.now = at(0.4);
        assert_eq!(l.ack(7)[0], 7, "another partial acknowledgement");
        assert_eq!(set(&l), first);
    }

    #[test]
    fn duplicates_of_what_a_timeout_sent_again_start_nothing() {
        // Step 4 and section 4: recover is the highest segment sent when the timer expired.
        let mut l = Lead::open(rfc("newreno", 10), None);
        assert_eq!(l.time_out(), [1]);
        assert_eq!(l.ack(2), [2, 3]);
        for _ in 0..3 {
            assert!(!l.ack(2).contains(&2));
        }
        assert_eq!(l.ssthresh(), 5.0, "no second cut");
    }

    #[test]
    fn the_loss_of_the_first_data_segment_is_repaired_without_the_timer() {
        // Section 3.2, step 1: recover begins at the initial sequence number, the SYN's.
        for recovery in ["reno", "newreno"] {
            let mut l = Lead::open(rfc(recovery, 10), None);
            assert_eq!([l.ack(1), l.ack(1), l.ack(1)], [[11], [12], [1]], "{recovery}");
        }
    }
}

mod rfc_6675 {
    use super::*;

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
        let mut l = lose_segment_2("sack");
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

    #[test]
    fn the_last_resort_is_a_rescue() {
        // Of twelve segments 2 and the tail, 11 and 12, are lost; there are no new data.
        let mut l = Lead::open(rfc("sack", 12), Some(12));
        l.ack(2);
        l.sack(2, &[(3, 4)]);
        l.sack(2, &[(3, 5)]);
        assert_eq!(l.sack(2, &[(3, 6)]), [2]);
        // cwnd is 5.5. 6, 7, 8: pipe is 5 with 9 to 12 and 2. 9: it is 4, and only NextSeg (4) is left.
        for end in 7..=9 {
            assert_eq!(l.sack(2, &[(3, end)]), []);
        }
        assert_eq!(l.sack(2, &[(3, 10)]), [12]);
        assert_eq!(l.sack(2, &[(3, 11)]), [], "once per recovery");
        assert_eq!(l.ack(11), []);
        assert_eq!(l.sack(11, &[(12, 13)]), [11], "the rescue tells of the hole: NextSeg (3)");
    }

    #[test]
    fn duplicates_without_new_blocks_do_not_count() {
        let mut l = lose_segment_2("sack");
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
        let mut l = lose_segment_2("sack");
        assert_eq!(l.sack(2, &[(7, 8), (5, 6), (3, 4)]), [2]);
    }
}

mod rfc_6298 {
    use super::*;

    #[test]
    fn the_timeout_doubles_and_retransmissions_are_not_measured() {
        let mut l = Lead::open(rfc("newreno", 10), None); // R = 0.1: RTO is the minimum of 1 s
        assert_eq!(l.timeout(), 1.0);
        for doubled in [2.0, 4.0, 8.0] {
            assert_eq!(l.time_out(), [1]);
            assert_eq!(l.timeout(), doubled, "5.5");
        }
        // Karn: the answer to a retransmission does not measure anything and leaves the back-off.
        l.now += Dur::from_secs(0.1);
        assert_eq!(l.ack(11), [11, 12]);
        assert_eq!(l.timeout(), 8.0);
        // Segment 11 is new: its round trip of 0.1 s ends the back-off.
        l.now += Dur::from_secs(0.1);
        l.ack(12);
        assert_eq!(l.timeout(), 1.0);
    }

    #[test]
    fn the_timeout_grows_up_to_its_maximum_and_stays_there() {
        let mut l = Lead::open(rfc("newreno", 10), None);
        let mut waits = Vec::new();
        for _ in 0..9 {
            waits.push(l.timeout());
            assert_eq!(l.time_out(), [1], "5.4: the earliest segment");
        }
        assert_eq!(waits, [1.0, 2.0, 4.0, 8.0, 16.0, 32.0, 60.0, 60.0, 60.0], "5.5 and 2.5");
        assert_eq!(l.sender.core().counts.timeouts, 9);
        assert_eq!(l.cwnd(), 1.0);
    }

    #[test]
    fn a_segment_sent_again_is_not_measured_though_its_first_copy_is_answered() {
        let mut l = Lead::open(rfc("newreno", 1), None); // 1 is out and timed
        l.time_out();
        l.now += Dur::from_secs(0.01);
        let srtt = |l: &Lead| l.sender.core().rto.srtt(&l.config);
        l.ack(2);
        assert_eq!(srtt(&l), 0.1, "3: Karn");
        l.now += Dur::from_secs(0.2);
        l.ack(3);
        assert_eq!(srtt(&l), 0.875 * 0.1 + 0.125 * 0.2, "2.3: the first segment that was sent once");
    }

    #[test]
    fn the_timer_stops_when_everything_is_acknowledged() {
        let mut l = Lead::open(rfc("newreno", 10), Some(3));
        assert_ne!(l.sender.deadline(), Time::NEVER);
        assert_eq!(l.ack(4), []);
        assert_eq!(l.sender.deadline(), Time::NEVER, "5.2");
        assert!(l.sender.is_done());
    }
}

mod rfc_3168 {
    use super::*;

    fn open(recovery: &str, window: u32) -> Lead {
        let c =
            config("rfc", recovery, &[("initial_window", f64::from(window)), ("delayed_ack", 0.0)], &[("ecn", true)]);
        Lead::open(c, None)
    }

    #[test]
    fn negotiation() {
        let l = open("newreno", 10);
        assert!(l.sent.iter().all(|s| s.ect));
        let mut syn = Lead::new(l.config.clone(), None);
        assert!(syn.sent[0].flags.has(Flags::SYN | Flags::ECE) && !syn.sent[0].ect, "6.1.1");
        syn.ack(1); // A peer that does not speak ECN.
        assert!(syn.sent.iter().all(|s| !s.ect));
    }

    #[test]
    fn once_per_window_of_data() {
        for recovery in ["reno", "newreno", "sack"] {
            let mut l = open(recovery, 10);
            assert_eq!(l.echo(2), []);
            assert_eq!((l.cwnd(), l.ssthresh()), (5.0, 5.0), "6.1.2");
            for next in 3..=6 {
                assert_eq!(l.echo(next), []);
            }
            assert_eq!(l.echo(7), [11], "the first new segment since the cut");
            assert!(l.sent[0].flags.has(Flags::CWR));
            for next in 8..=11 {
                l.echo(next);
                assert_eq!(l.cwnd(), 5.0, "segments sent before the cut");
            }
            l.echo(12);
            assert_eq!(l.cwnd(), 2.5, "11 was sent after it");
        }
    }

    #[test]
    fn at_a_window_of_one_segment_it_waits_for_the_timer() {
        let mut l = open("newreno", 1);
        l.now = at(0.2);
        assert_eq!(l.echo(2), []);
        assert_eq!(l.cwnd(), 1.0);
        assert_eq!(l.sender.core().counts.timeouts, 0);
        assert_eq!(l.timeout(), 1.0, "one RTO later");
        assert_eq!(l.time_out(), [2]);
        assert!(l.sent[0].ect && l.sent[0].flags.has(Flags::CWR));
        assert_eq!(l.sender.core().counts.timeouts, 0, "nothing was lost");
    }

    #[test]
    fn while_echoes_persist_at_one_segment_the_timeout_doubles() {
        // RFC 9438, 4.6.
        for control in ["reno", "cubic", "dctcp"] {
            let numbers = [("initial_window", 1.0), ("delayed_ack", 0.0)];
            let c = config_of("rfc", &[("control", control)], &numbers, &[("ecn", true)]);
            let mut l = Lead::open(c, None);
            for (next, timeout) in [(2, 1.0), (3, 2.0), (4, 4.0), (5, 8.0)] {
                l.now += Dur::from_secs(0.1);
                assert_eq!(l.echo(next), [], "{control}");
                assert_eq!(l.timeout(), timeout, "{control}: after segment {next}");
                assert_eq!(l.time_out(), [next]);
            }
            l.now += Dur::from_secs(0.1);
            assert_eq!(l.ack(6).len(), 2, "{control}: without an echo it goes on");
            l.now += Dur::from_secs(0.1);
            l.ack(8);
            assert_eq!(l.timeout(), 1.0, "{control}: and the back-off has ended");
        }
    }

    #[test]
    fn a_loss_in_the_same_window_does_not_cut_again() {
        let mut l = open("newreno", 10);
        l.echo(2);
        assert_eq!(l.cwnd(), 5.0);
        l.ack(2);
        l.ack(2);
        assert_eq!(l.ack(2), [2]);
        assert!(!l.sent[0].ect, "6.1.5: a retransmission");
        assert_eq!((l.cwnd(), l.ssthresh()), (5.0, 5.0));
    }
}

mod rfc_9293 {
    use super::*;

    #[test]
    fn what_does_not_acknowledge_the_syn_brings_out_no_data() {
        for recovery in ["reno", "newreno", "sack"] {
            let mut l = Lead::new(rfc(recovery, 10), None);
            for _ in 0..4 {
                assert_eq!(l.ack(0), []);
            }
            assert_eq!(l.time_out(), [0]);
        }
    }

    #[test]
    fn what_was_never_sent_is_not_acknowledged() {
        let mut l = Lead::open(rfc("sack", 10), None);
        assert_eq!(l.ack(12), []);
        assert_eq!(l.sack(1, &[(11, u32::MAX)]), [], "nor sacked");
        assert_eq!(l.ack(2), [11, 12]);
    }
}

mod the_end {
    use super::*;

    #[test]
    fn no_segment_beyond_the_data() {
        let mut l = Lead::open(rfc("newreno", 10), Some(12));
        assert_eq!(l.ack(4), [11, 12]);
        assert_eq!(l.ack(12), []);
        assert!(!l.sender.is_done());
        l.ack(13);
        assert!(l.sender.is_done());
    }

    #[test]
    fn stop_ends_the_flow_with_what_has_been_sent() {
        let mut l = Lead::open(rfc("newreno", 10), None);
        l.sender.stop();
        assert_eq!(l.ack(10), []);
        assert!(!l.sender.is_done());
        assert_eq!(l.ack(11), []);
        assert!(l.sender.is_done());
        assert_eq!(l.sender.deadline(), Time::NEVER);
    }
}
