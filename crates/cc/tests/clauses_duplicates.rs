//! What duplicate acknowledgements say, and what they do not: RFC 5681, section 2; RFC 6582, section 4; RFC 9937.

mod common;

use common::{config_of, rfc, Lead};

#[test]
fn an_acknowledgement_is_a_duplicate_only_with_data_outstanding() {
    // RFC 5681, section 2, (a).
    for recovery in ["reno", "newreno", "sack"] {
        let mut l = Lead::unwritten(rfc(recovery, 10), None);
        l.write(2);
        l.ack(3);
        for _ in 0..5 {
            assert_eq!(l.ack(3), [0; 0], "{recovery}");
        }
        assert_eq!(l.write(4), [3, 4, 5, 6]);
        // Two of them are no signal.
        for block in [(4, 5), (4, 6)] {
            assert_eq!(l.sack(3, &[block]), [0; 0], "{recovery}");
        }
        assert_eq!(l.sack(3, &[(4, 7)]), [3], "{recovery}: the third is");
    }
}

#[test]
fn after_a_timeout_duplicates_signal_the_loss_of_what_was_sent_since() {
    // RFC 6582, section 4. 10 was the last segment sent before the timeout.
    for recovery in ["reno", "newreno"] {
        for (una, signal) in [(9, false), (10, false), (11, false), (12, true), (13, true)] {
            let mut l = Lead::open(rfc(recovery, 10), None);
            l.time_out();
            for next in 2..=una {
                l.ack(next);
            }
            assert!(l.sender.core().max > una + 3, "{recovery}: something is outstanding");
            l.ack(una);
            l.ack(una);
            let third = l.ack(una);
            assert_eq!(third.contains(&una), signal, "{recovery}, up to {una}: {third:?}");
        }
    }
}

#[test]
fn in_proportional_rate_reduction_a_safe_acknowledgement_sends_one_more() {
    // RFC 9937, section 6.2. 1 to 10 of all twenty are lost, more than the cut takes: one segment goes out for each that
    // arrives, and two if the acknowledgement advances and tells of no further loss.
    for detection in ["dupack", "rack"] {
        let choices = [("recovery", "sack"), ("loss_detection", detection), ("reduction", "prr")];
        let numbers = [("initial_window", 20.0), ("delayed_ack", 0.0)];
        let mut l = Lead::open(config_of("rfc", &choices, &numbers, &[("limited_transmit", false)]), Some(20));
        l.now += marqueue_core::Dur::from_secs(0.1);
        for end in [12, 13] {
            assert_eq!(l.sack(1, &[(11, end)]), [0; 0], "{detection}");
        }
        for (end, sent) in (14..=21).zip(1..) {
            assert_eq!(l.sack(1, &[(11, end)]), [sent], "{detection}: one for one");
        }
        l.now += marqueue_core::Dur::from_secs(0.1);
        assert_eq!(l.sack(2, &[(11, 21)]), [9, 10], "{detection}");
    }
}
