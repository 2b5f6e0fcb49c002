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

    /// Segment 1 and its retransmission are lost while data above it keeps arriving; then the timer expires. ssthresh
    /// before and after.
    fn timeout_in_recovery(choices: &[(&str, &str)], flags: &[(&str, bool)]) -> (f64, f64) {
        let numbers = [("initial_window", 10.0), ("delayed_ack", 0.0)];
        let mut l = Lead::open(config_of("rfc", choices, &numbers, flags), None);
        for end in 3..=40 {
            l.sack(1, &[(2, end)]);
        }
        let before = l.ssthresh();
        assert!(l.sender.core().flight() > 40);
        l.time_out();
        (before, l.ssthresh())
    }

    #[test]
    fn a_timeout_in_recovery_does_not_raise_ssthresh() {
        assert_eq!(timeout_in_recovery(&[], &[]), (5.0, 2.5), "4.3: lowered twice");
        let outstanding = timeout_in_recovery(&[("flight_size", "outstanding")], &[]);
        assert_eq!(outstanding.0, 5.0);
        assert!(outstanding.1 > 20.0, "section 2: all that is not cumulatively acknowledged");
        assert_eq!(timeout_in_recovery(&[], &[("timeout_cuts_again", false)]), (5.0, 5.0), "Linux");
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
