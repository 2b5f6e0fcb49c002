//! Loss recovery as ns-2.35 has it, a step at a time: Agent/TCP/Reno, Newreno and Sack1 with their default settings.
//! Windows are in segments. Every connection starts with segments 1 to 10 outstanding.

mod common;

use common::{config, Lead};
use marqueue_cc::core::LastCut;

/// Segments 1 to 10 are out, every one is acknowledged at once.
fn open(recovery: &str) -> Lead {
    let mut l = Lead::open(config("ns2", recovery, &[("initial_window", 10.0)], &[]), None);
    assert_eq!((l.sender.core().una, l.sender.core().max), (1, 11));
    l.now += marqueue_core::Dur::from_secs(0.1);
    l
}

/// The same with ECN, the window halved by an echo with the acknowledgement of 1 and 2.
fn cut_by_echo(recovery: &str) -> Lead {
    let mut l = Lead::open(config("ns2", recovery, &[("initial_window", 10.0)], &[("ecn", true)]), None);
    l.echo(3);
    assert_eq!((l.cwnd(), l.ssthresh(), l.sender.core().recover), (5.0, 5.0, 11));
    l
}

/// `n` duplicate acknowledgements; what each of them sends.
fn duplicates(l: &mut Lead, n: u32) -> Vec<Vec<u32>> {
    let una = l.sender.core().una;
    (0..n).map(|_| l.ack(una)).collect()
}

/// What both do until the first new acknowledgement: segment 1 is lost, and 2 to 12 arrive.
fn fast_retransmit_and_inflation(recovery: &str) -> Lead {
    let mut l = open(recovery);
    assert_eq!(duplicates(&mut l, 2), [[11], [12]], "{recovery}: limited transmit");
    assert_eq!(l.ack(1), [1], "{recovery}: the third starts a fast retransmit");
    assert_eq!((l.cwnd(), l.ssthresh()), (5.0, 5.0), "{recovery}: half of cwnd, not of the 12 outstanding");
    // Twelve are outstanding: the window of 5 must be inflated by 8 before it lets a new one out.
    assert_eq!(duplicates(&mut l, 4), [[0; 0]; 4], "{recovery}");
    assert_eq!(duplicates(&mut l, 4), [[13], [14], [15], [16]], "{recovery}: one for each further duplicate");
    l
}

mod reno {
    use super::*;

    #[test]
    fn the_first_new_acknowledgement_ends_recovery_and_opens_the_window() {
        let mut l = fast_retransmit_and_inflation("reno");
        assert_eq!(l.ack(13), [17], "the inflation is gone");
        assert_eq!(l.cwnd(), 5.0 + 1.0 / 5.0, "congestion avoidance");
        assert_eq!(l.sender.core().last_cut, LastCut::Repaired);
    }

    #[test]
    fn a_second_loss_of_the_same_window_waits_for_the_timer() {
        let mut l = fast_retransmit_and_inflation("reno");
        assert_eq!(l.ack(5), [0; 0]);
        // bugFix_: 5 was sent before the cut.
        assert_eq!(duplicates(&mut l, 8), [[0; 0]; 8]);
        assert_eq!(l.cwnd(), 5.2, "nothing is cut and nothing inflated");
        assert_eq!(l.time_out(), [5]);
    }

    #[test]
    fn the_window_cut_is_cwnd_up_to_the_receivers() {
        // cwnd grows beyond the receiver's window, of which half is left.
        let mut l = Lead::open(config("ns2", "reno", &[("initial_window", 10.0), ("max_window", 8.0)], &[]), None);
        assert_eq!(l.sender.core().max, 9);
        for next in 2..=5 {
            l.ack(next);
        }
        assert!(l.cwnd() > 10.0);
        duplicates(&mut l, 3);
        assert_eq!((l.cwnd(), l.ssthresh()), (4.0, 4.0));
    }

    #[test]
    fn ssthresh_is_a_whole_number_of_two_at_least_and_the_window_is_not() {
        for (window, left, ssthresh) in [(9.0, 4.5, 4.0), (3.0, 1.5, 2.0)] {
            let mut l = Lead::open(config("ns2", "reno", &[("initial_window", window)], &[]), None);
            duplicates(&mut l, 3);
            assert_eq!((l.cwnd(), l.ssthresh()), (left, ssthresh), "of {window}");
        }
    }

    #[test]
    fn a_timeout_in_recovery_halves_the_window_without_inflation() {
        let mut l = fast_retransmit_and_inflation("reno");
        assert_eq!(l.time_out(), [1]);
        assert_eq!(l.cwnd(), 1.0);
        assert_eq!(l.ssthresh(), 2.0, "half of 5, rounded down");
    }
}

mod newreno {
    use super::*;

    #[test]
    fn a_partial_acknowledgement_sends_the_next_hole_and_deflates() {
        // 5 is lost too.
        let mut l = fast_retransmit_and_inflation("newreno");
        assert_eq!(l.sender.core().inflation, 11);
        // Four segments are acknowledged: 11 - 3 = 8 of inflation stay, and 5 + 5 + 8 = 18 lets 17 out.
        assert_eq!(l.ack(5), [5, 17]);
        assert_eq!((l.cwnd(), l.sender.core().inflation), (5.0, 8));
        assert_eq!(l.ack(5), [18], "a duplicate inflates further");
    }

    #[test]
    fn recovery_lasts_to_the_end_of_what_was_outstanding() {
        for (ack, ends) in [(12, false), (13, true)] {
            let mut l = fast_retransmit_and_inflation("newreno");
            l.ack(ack);
            let core = l.sender.core();
            assert_eq!(core.last_cut == LastCut::Repaired, ends, "{ack}");
            assert_eq!(core.inflation == 0, ends, "{ack}");
        }
    }

    #[test]
    fn the_window_after_recovery_is_the_halved_one() {
        let mut l = fast_retransmit_and_inflation("newreno");
        l.ack(12);
        // Little is outstanding: 17 to 21 go out at once, where RFC 6582 allows no such burst.
        l.ack(17);
        assert_eq!(l.cwnd(), 5.2);
        assert_eq!(l.sender.core().flight(), 5);
    }

    #[test]
    fn a_partial_acknowledgement_beyond_the_inflation_shrinks_the_window() {
        // The three duplicates inflate by 3; (acknowledged, window, inflation) after it.
        for (ack, cwnd, inflation) in [(3, 5.0, 2), (4, 5.0, 1), (6, 3.0, 1), (8, 1.0, 1), (11, 1.0, 1)] {
            let mut l = open("newreno");
            duplicates(&mut l, 3);
            l.ack(ack);
            assert_eq!((l.cwnd(), l.sender.core().inflation), (cwnd, inflation), "up to {ack}");
        }
    }

    #[test]
    fn a_duplicate_in_recovery_sends_two_segments_at_most() {
        let mut l = open("newreno");
        duplicates(&mut l, 3);
        // The receiver's window was the limit, and opens: the inflated window has room for more.
        l.config.max_window = 8;
        assert_eq!(duplicates(&mut l, 12).concat(), [0; 0]);
        l.config.max_window = 10_000;
        assert_eq!(l.ack(1).len(), 2);
        assert_eq!(l.ack(1).len(), 2);
    }

    #[test]
    fn the_first_partial_acknowledgement_alone_restarts_the_timer() {
        let mut l = fast_retransmit_and_inflation("newreno");
        let mut deadlines = vec![l.sender.deadline()];
        for ack in [3, 5, 7, 13] {
            l.now += marqueue_core::Dur::from_secs(0.01);
            l.ack(ack);
            deadlines.push(l.sender.deadline());
        }
        let [before, first, second, third, after] = deadlines[..] else { unreachable!() };
        assert!(before < first && first == second && second == third && third < after);
        // And the first of the next recovery again.
        l.ack(14);
        duplicates(&mut l, 3);
        assert_eq!(l.sender.core().last_cut, LastCut::Loss);
        let before = l.sender.deadline();
        l.now += marqueue_core::Dur::from_secs(0.01);
        l.ack(15);
        assert!(l.sender.deadline() > before);
    }
}

mod both {
    use super::*;

    #[test]
    fn the_first_segment_is_always_repaired() {
        // After a timeout nothing beyond the cut has been acknowledged.
        for recovery in ["reno", "newreno"] {
            let mut l = open(recovery);
            assert_eq!(l.time_out(), [1]);
            l.ack(1);
            l.ack(1);
            assert_eq!(l.ack(1), [1], "{recovery}");
            let mut l = open(recovery);
            l.ack(2);
            assert_eq!(l.time_out(), [2]);
            l.ack(2);
            l.ack(2);
            assert!(!l.ack(2).contains(&2), "{recovery}: the second is not");
        }
    }

    #[test]
    fn a_loss_behind_an_echo_is_repaired_without_another_cut() {
        for recovery in ["reno", "newreno"] {
            // Up to and with 11, the first segment after the cut.
            for (una, cuts) in [(3, false), (11, false), (12, true)] {
                let mut l = cut_by_echo(recovery);
                for next in 4..=una {
                    l.ack(next);
                }
                let window = l.cwnd();
                l.ack(una);
                l.ack(una);
                assert_eq!(l.ack(una)[..1], [una], "{recovery}, {una} is lost");
                assert_eq!(l.cwnd() < window, cuts, "{recovery}, {una} is lost");
                assert_eq!(l.sender.core().inflation, 3);
            }
        }
    }

    #[test]
    fn an_echo_is_a_signal_once_a_window() {
        for recovery in ["reno", "newreno", "sack"] {
            let mut l = cut_by_echo(recovery);
            l.echo(4);
            l.echo(11);
            assert_eq!(l.cwnd(), 5.0, "{recovery}");
            l.echo(12);
            assert_eq!(l.cwnd(), 2.5, "{recovery}");
        }
    }

    #[test]
    fn an_echo_after_a_timeout_is_a_signal_again() {
        let mut l = Lead::open(config("ns2", "reno", &[("initial_window", 10.0)], &[("ecn", true)]), None);
        l.time_out();
        l.ack(3);
        assert_eq!(l.cwnd(), 2.0, "slow start");
        l.echo(4);
        assert_eq!(l.cwnd(), 1.0, "though 4 was sent before the timeout");
    }

    #[test]
    fn a_timeout_behind_an_echo_keeps_ssthresh() {
        let mut l = cut_by_echo("reno");
        l.time_out();
        assert_eq!((l.cwnd(), l.ssthresh()), (1.0, 5.0));
        let mut l = open("reno");
        l.time_out();
        assert_eq!((l.cwnd(), l.ssthresh()), (1.0, 5.0));
        l.ack(2);
        l.ack(3);
        l.ack(4);
        assert_eq!(l.cwnd(), 4.0);
        l.time_out();
        assert_eq!((l.cwnd(), l.ssthresh()), (1.0, 2.0), "a timeout behind a timeout does not");
    }
}

mod sack1 {
    use super::*;

    /// 1 and 4 are lost; the others report each themselves.
    fn recovery() -> Lead {
        let mut l = open("sack");
        assert_eq!(l.sack(1, &[(2, 3)]), [11], "limited transmit");
        assert_eq!(l.sack(1, &[(2, 4)]), [12]);
        assert_eq!(l.sack(1, &[(5, 6), (2, 4)]), [1]);
        assert_eq!((l.cwnd(), l.ssthresh()), (5.0, 5.0));
        l
    }

    #[test]
    fn pipe_is_counted_down_by_acknowledgements_and_up_by_segments() {
        let mut l = recovery();
        // 12 - 3 = 9 in the network, down to 5.
        for end in 7..=10 {
            assert_eq!(l.sack(1, &[(5, end), (2, 4)]), [0; 0], "{end}");
        }
        assert_eq!(l.sack(1, &[(5, 11), (2, 4)]), [4], "holes first");
        assert_eq!(l.sack(1, &[(5, 12), (2, 4)]), [13], "then new segments");
        assert_eq!(l.sack(1, &[(5, 13), (2, 4)]), [14]);
        // A partial acknowledgement counts twice.
        assert_eq!(l.sack(4, &[(5, 13)]), [15, 16]);
        assert_eq!(l.sack(4, &[(5, 14)]), [17]);
        // The full one ends it: the window of 5 after 14 lets 18 out. It does not grow.
        assert_eq!(l.ack(14), [18]);
        assert_eq!(l.cwnd(), 5.0);
    }

    #[test]
    fn everything_outstanding_at_the_cut_ends_recovery() {
        for (ack, ends) in [(12, false), (13, true)] {
            let mut l = recovery();
            l.ack(ack);
            assert_eq!(l.sender.core().recover == 1, ends, "{ack}");
        }
    }

    #[test]
    fn every_hole_is_sent_again_once_and_in_order() {
        let mut l = open("sack");
        l.sack(1, &[(3, 4)]);
        l.sack(1, &[(3, 4), (5, 6)]);
        assert_eq!(l.sack(1, &[(3, 4), (5, 6), (7, 8)]), [1]);
        let mut sent = Vec::new();
        for end in 9..=30 {
            sent.extend(l.sack(1, &[(7, end.min(13)), (5, 6), (3, 4)]));
        }
        assert_eq!(sent[..4], [2, 4, 6, 13]);
        assert!(sent.iter().skip(3).zip(13..).all(|(&seq, n)| seq == n), "{sent:?}");
    }

    #[test]
    fn duplicates_that_report_nothing_new_are_none() {
        let mut l = open("sack");
        for _ in 0..5 {
            assert_eq!(l.ack(1), [0; 0], "no blocks at all");
        }
        l.sack(1, &[(2, 3)]);
        for _ in 0..5 {
            assert_eq!(l.sack(1, &[(2, 3)]), [0; 0], "the same block again");
        }
        l.sack(1, &[(2, 4)]);
        assert_eq!(l.sack(1, &[(2, 5)]), [1]);
    }

    #[test]
    fn blocks_count_up_to_what_was_sent_and_from_what_is_not_acknowledged() {
        let mut l = open("sack");
        l.ack(5);
        let una = 5;
        for block in [(1, 5), (3, 4), (19, 25)] {
            assert_eq!(l.sack(una, &[block]), [0; 0], "{block:?}");
        }
        assert_eq!(l.sender.core().dupacks, 0);
        l.sack(una, &[(4, 7)]);
        assert_eq!(l.sender.core().dupacks, 1);
    }

    #[test]
    fn new_data_does_not_go_out_past_a_hole_nor_start_its_repair() {
        let mut l = Lead::unwritten(config("ns2", "sack", &[("initial_window", 10.0)], &[]), None);
        assert_eq!(l.write(5), [1, 2, 3, 4, 5]);
        l.sack(1, &[(2, 3)]);
        assert_eq!(l.write(3), [0; 0]);
        assert_eq!(l.ack(3), [6, 7, 8]);
    }

    #[test]
    fn after_a_timeout_blocks_are_not_read_before_new_data_is_acknowledged() {
        let mut l = recovery();
        assert_eq!(l.time_out(), [1]);
        for end in 6..=12 {
            assert_eq!(l.sack(1, &[(5, end), (2, 4)]), [0; 0], "{end}");
        }
        assert_eq!(l.sender.core().dupacks, 0);
        // What was sacked is forgotten: it is sent again.
        assert_eq!(l.sack(2, &[(5, 13)]), [2, 3]);
        l.sack(2, &[(3, 4)]);
        assert_eq!(l.sender.core().dupacks, 1);
    }

    #[test]
    fn a_partial_acknowledgement_restarts_the_timer_and_ends_the_back_off() {
        let mut l = open("sack");
        let plain = l.timeout();
        l.time_out();
        assert!(l.timeout() > plain, "backed off");
        let mut l = recovery();
        let before = l.sender.deadline();
        l.now += marqueue_core::Dur::from_secs(0.01);
        l.sack(1, &[(5, 7), (2, 4)]);
        assert_eq!(l.sender.deadline(), before);
        l.sack(4, &[(5, 7)]);
        assert!(l.sender.deadline() > before);
    }

    #[test]
    fn a_loss_behind_an_echo_is_repaired_without_another_cut() {
        for (una, cuts) in [(3, false), (11, false), (12, true)] {
            let mut l = cut_by_echo("sack");
            for next in 4..=una {
                l.ack(next);
            }
            let window = l.cwnd();
            l.sack(una, &[(una + 1, una + 2)]);
            l.sack(una, &[(una + 1, una + 3)]);
            assert_eq!(l.sack(una, &[(una + 1, una + 4)]), [una], "{una} is lost");
            assert_eq!(l.cwnd() < window, cuts, "{una} is lost");
        }
    }
}
