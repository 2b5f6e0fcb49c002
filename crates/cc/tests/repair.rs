//! Repair of losses: duplicates that begin it, and proportional rate reduction (RFC 9937), acknowledgement by
//! acknowledgement.
//! Windows are in segments; the handshake takes 100 ms and ends at 0.1 s.

mod common;

use common::{at, config_of, rfc_with, Lead};
use marqueue_cc::Config;
use marqueue_core::params::{ParamValues, Value};

mod dupthresh {
    use super::*;

    /// Segment 1 is overtaken by four others. Returns what is retransmitted, and the window.
    fn overtaken(recovery: &str, dupthresh: f64) -> (u32, f64) {
        let numbers = [("initial_window", 10.0), ("delayed_ack", 0.0), ("dupthresh", dupthresh)];
        let mut l = Lead::open(config_of("rfc", &[("recovery", recovery)], &numbers, &[]), None);
        for end in 3..=6 {
            l.sack(1, &[(2, end)]);
        }
        l.ack(6);
        (l.sender.core().counts.retransmits, l.cwnd())
    }

    #[test]
    fn so_many_may_overtake() {
        for recovery in ["reno", "newreno", "sack"] {
            assert!(overtaken(recovery, 3.0).0 > 0, "{recovery}: taken for lost");
            assert_eq!(overtaken(recovery, 5.0), (0, 11.0), "{recovery}: taken for late, not lost");
        }
    }
}

mod rfc_9937 {
    use super::*;

    /// Of twenty segments the first is lost; what goes out at the acknowledgements of the others.
    fn answers(recovery: &str, reduction: &str) -> (Lead, Vec<usize>) {
        let mut l = Lead::open(rfc_with(&[("recovery", recovery), ("reduction", reduction)], 20, &[]), None);
        let counts = (3..=21).map(|end| l.sack(1, &[(2, end)]).len()).collect();
        (l, counts)
    }

    #[test]
    fn the_window_comes_down_in_step_with_what_arrives() {
        for recovery in ["reno", "newreno", "sack"] {
            let (l, sent) = answers(recovery, "prr");
            // Two by limited transmit, the fast retransmit, then one for every second acknowledgement,
            // until no more than ssthresh is out.
            let expected = [1, 1, 1, 0, 1, 0, 1, 0, 1, 0, 1, 0, 1, 0, 1, 0, 1, 0, 0];
            assert_eq!(sent, expected, "{recovery}");
            assert_eq!((l.ssthresh(), l.cwnd()), (10.0, 10.0), "{recovery}");
        }
    }

    #[test]
    fn a_cut_at_once_is_silent_for_half_a_round_trip() {
        for recovery in ["reno", "newreno", "sack"] {
            let (_, sent) = answers(recovery, "cut");
            assert_eq!(sent[..3], [1, 1, 1], "{recovery}");
            assert_eq!(sent[3..11], [0; 8], "{recovery}");
        }
    }

    #[test]
    fn recovery_ends_at_ssthresh() {
        for recovery in ["reno", "newreno", "sack"] {
            let (mut l, _) = answers(recovery, "prr");
            l.ack(23); // The repair has arrived, and what limited transmit sent.
            assert_eq!((l.cwnd(), l.ssthresh()), (10.0, 10.0), "{recovery}");
        }
    }

    #[test]
    fn duplicates_that_a_receiver_makes_up_let_out_no_more_than_was_in_flight() {
        for recovery in ["reno", "newreno"] {
            let (mut l, _) = answers(recovery, "prr");
            for _ in 0..200 {
                l.ack(1);
            }
            // The 20 segments of the window and two by limited transmit; then 6.2: as much as the 18 that were
            // in flight when recovery began.
            assert!(l.sender.core().counts.sent <= 1 + 22 + 18, "{recovery}: {}", l.sender.core().counts.sent);
        }
    }

    #[test]
    fn a_burst_of_losses_is_repaired_one_for_one() {
        // 1 to 15 of 20 are lost: 16 to 20 arrive. RFC 6675 by itself bursts at the third duplicate.
        let sent = |reduction| {
            let mut l = Lead::open(rfc_with(&[("recovery", "sack"), ("reduction", reduction)], 20, &[]), None);
            (17..=21).map(|end| l.sack(1, &[(16, end)]).len()).collect::<Vec<_>>()
        };
        assert_eq!(sent("prr"), [1, 1, 1, 1, 1]);
        assert!(sent("cut")[2] > 3, "{:?}", sent("cut"));
    }
}

/// Twenty segments are out, the first is lost and repaired; what was sent meanwhile is out too, up to the returned
/// number.
fn repaired(choices: &[(&str, &str)]) -> (Lead, u32) {
    let mut l = Lead::open(rfc_with(choices, 20, &[("ecn", true)]), None);
    for end in 3..=21 {
        l.sack(1, &[(2, end)]);
    }
    let max = l.sender.core().max;
    assert!(max > 25, "{choices:?}");
    (l, max)
}

#[test]
fn an_echo_with_the_acknowledgement_that_ends_recovery_is_a_signal_of_its_own() {
    for recovery in ["reno", "newreno", "sack"] {
        let choices = [("recovery", recovery)];
        let (mut plain, _) = repaired(&choices);
        let (mut l, max) = repaired(&choices);
        let recover = l.sender.core().recover;
        l.echo(recover);
        plain.ack(recover);
        assert_eq!(l.cwnd(), plain.cwnd(), "{recovery}: the echo is of the window that the loss has reduced");
        assert!(l.cwnd() > 2.0, "{recovery}");
        let (mut l, _) = repaired(&choices);
        l.echo(recover + 1);
        let cwnd = l.cwnd();
        assert!(cwnd < plain.cwnd(), "{recovery}: of data sent after the loss");
        for end in 3..=5 {
            l.sack(recover + 1, &[(recover + 2, recover + end)]);
        }
        assert!(max > recover + 5 && l.sender.core().counts.retransmits > 1, "{recovery}: another loss");
        assert!(l.ssthresh() >= cwnd.floor(), "{recovery}: RFC 3168, 6.1.2: the echo has reduced this window");
    }
}

/// Linux's CWR state: an ECN echo brings the window down as a loss would.
mod cwr {
    use super::*;

    /// Twenty segments are out, and the second acknowledgement has an echo.
    fn told() -> (Lead, Vec<usize>) {
        let choices = [("recovery", "sack"), ("loss_detection", "rack"), ("ecn_reduction", "prr")];
        let mut l = Lead::open(rfc_with(&choices, 20, &[("ecn", true)]), None);
        l.echo(2);
        let first = l.sent.len();
        let others = (3..=21).map(|next| l.echo(next).len()).collect::<Vec<_>>();
        (l, [vec![first], others].concat())
    }

    #[test]
    fn every_second_acknowledgement_sends_under_reno() {
        let (l, sent) = told();
        // With the nineteenth what is out has come down to ssthresh, and the next waits until there is room.
        assert_eq!(sent, [[1, 0].repeat(9), vec![0, 1]].concat());
        assert_eq!(l.ssthresh(), 10.0);
        assert_eq!(l.sender.core().counts.ecn_cuts, 1);
        assert_eq!(l.cwnd(), 10.0, "it has not grown");
    }

    #[test]
    fn an_acknowledgement_of_more_than_the_window_ends_it_too() {
        let choices = [("recovery", "sack"), ("loss_detection", "rack"), ("ecn_reduction", "prr")];
        let mut l = Lead::open(rfc_with(&choices, 20, &[("ecn", true)]), None);
        for next in 2..=15 {
            l.echo(next);
        }
        let max = l.sender.core().max;
        assert!(max > l.sender.core().recover);
        l.ack(max);
        let cwnd = l.cwnd();
        for next in max + 1..=max + 10 {
            l.ack(next);
        }
        assert!(l.cwnd() > cwnd);
    }

    #[test]
    fn the_window_grows_again_once_what_was_sent_after_the_echo_is_acknowledged() {
        let (mut l, _) = told();
        l.ack(21);
        assert_eq!(l.cwnd(), 10.0, "21 was not known to be beyond the echo");
        l.ack(22);
        assert_eq!(l.cwnd(), 10.0 + 1.0 / 10.0);
    }

    #[test]
    fn the_next_echo_cuts_again() {
        let (mut l, _) = told();
        l.echo(22);
        assert_eq!((l.ssthresh(), l.sender.core().counts.ecn_cuts), (5.0, 2));
    }

    #[test]
    fn an_echo_that_ends_a_reduction_cuts_the_window_that_this_leaves() {
        let (mut l, _) = told();
        // While the window came down, PRR's transient one was about what was in flight.
        let out = l.sender.core().flight();
        assert!(out >= 9, "{out}");
        let end = l.sender.core().max;
        l.echo(end);
        assert_eq!(l.ssthresh(), 5.0, "half of ten, the target of the first reduction");
        // Nothing was in flight: the new reduction counts from here.
        assert_eq!(l.cwnd(), 5.0);
    }

    #[test]
    fn an_echo_that_ends_a_recovery_does_not_prolong_it() {
        for recovery in ["reno", "newreno", "sack"] {
            let mut l = Lead::open(rfc_with(&[("recovery", recovery)], 10, &[("ecn", true)]), None);
            for end in 3..=12 {
                l.sack(1, &[(2, end)]);
            }
            let end = l.sender.core().max;
            assert_eq!(l.sender.core().counts.retransmits, 1);
            // Everything is acknowledged, data sent in recovery too, with an echo.
            l.echo(end);
            assert_eq!(l.sender.core().counts.retransmits, 1, "{recovery}: nothing is missing");
            assert_eq!(l.sender.core().counts.ecn_cuts, 1, "{recovery}");
            let (una, cwnd) = (l.sender.core().una, l.cwnd());
            l.ack(una + 1);
            assert!(l.cwnd() > cwnd, "{recovery}: recovery is over");
        }
    }

    #[test]
    fn a_loss_is_repaired_without_a_second_cut() {
        let choices =
            [("recovery", "sack"), ("loss_detection", "rack"), ("ecn_reduction", "prr"), ("reduction", "prr")];
        let mut l = Lead::open(rfc_with(&choices, 20, &[("ecn", true)]), None);
        l.now = at(0.2);
        l.echo(2);
        let mut sent = Vec::new();
        for end in 4..=21 {
            sent.extend(l.sack(2, &[(3, end)]));
        }
        assert_eq!(sent.iter().filter(|&&seq| seq == 2).count(), 1, "{sent:?}");
        let end = l.sender.core().max;
        l.ack(end);
        assert_eq!((l.ssthresh(), l.cwnd()), (10.0, 10.0));
    }

    #[test]
    fn it_is_found_by_rack_alone() {
        for recovery in ["newreno", "sack"] {
            let values = [("recovery", recovery), ("ecn_reduction", "prr")]
                .map(|(key, value)| (key.to_string(), Value::Choice(value.into())));
            let refused = |ecn| {
                let mut values: ParamValues = values.clone().into();
                values.insert("ecn".into(), Value::Flag(ecn));
                Config::with_preset("rfc", &values).is_err()
            };
            assert_eq!((refused(true), refused(false)), (true, false), "{recovery}");
        }
    }
}
