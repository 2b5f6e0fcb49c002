//! Clauses of RFC 5681, RFC 6298, RFC 6675 and RFC 9293 that no other test shows. docs/standards has the tables.

mod common;

use common::{at, config, config_of, rfc, Lead};
use marqueue_cc::receiver::ReceiveContext;
use marqueue_cc::{Config, Options, Receiver};
use marqueue_core::params::{ParamValues, Value};
use marqueue_core::{Dur, Ecn, Flags, Rng, Time};

mod rfc_5681 {
    use super::*;

    #[test]
    fn the_handshake_leaves_the_initial_window_that_is_set() {
        // Section 3.1: the acknowledgement of the SYN does not increase it.
        let open = |numbers: &[(&str, f64)]| Lead::open(config_of("rfc", &[], numbers, &[]), None);
        let l = open(&[]);
        assert_eq!((l.cwnd(), l.sent.len()), (10.0, 10), "RFC 6928");
        let l = open(&[("initial_window", 3.0)]);
        assert_eq!((l.cwnd(), l.sent.len()), (3.0, 3), "the upper bound for 1460 bytes");
    }

    #[test]
    fn ssthresh_begins_at_the_largest_window_that_the_receiver_has() {
        assert_eq!(Lead::open(config_of("rfc", &[], &[], &[]), None).ssthresh(), 1e6);
        assert_eq!(Lead::open(config_of("rfc", &[], &[("max_window", 64.0)], &[]), None).ssthresh(), 64.0);
    }

    #[test]
    fn in_slow_start_the_limit_of_byte_counting_bounds_an_acknowledgement() {
        for (limit, cwnd) in [(1.0, 11.0), (2.0, 12.0), (8.0, 14.0)] {
            let mut l = Lead::open(config_of("rfc", &[], &[("abc_limit", limit)], &[]), None);
            l.ack(5);
            assert_eq!(l.cwnd(), cwnd, "four segments, L = {limit}");
        }
    }

    #[test]
    fn no_acknowledgement_waits_longer_than_half_a_second() {
        // Section 4.2.
        let delayed =
            |s: f64| Config::with_preset("rfc", &ParamValues::from([("delayed_ack".into(), Value::Number(s))]));
        assert!(delayed(0.5).is_ok());
        assert!(delayed(0.501).is_err());
    }

    #[test]
    fn there_are_no_more_acknowledgements_than_segments() {
        // Section 4.2. Segments arrive in any order, some twice, and the timer is called when it is due.
        let c = config_of("rfc", &[], &[("delayed_ack", 0.04)], &[("dsack", true)]);
        let mut options = Options::NONE;
        for seed in 0..200 {
            let (mut rng, mut r) = (Rng::named(seed, "arrivals"), Receiver::default());
            let (mut now, mut acks) = (Time::ZERO, 0);
            for arrived in 1..=100 {
                now += Dur::from_secs(0.03 * rng.uniform());
                if r.deadline() <= now {
                    let due = r.deadline();
                    r.on_timer(&mut ReceiveContext { now: due, config: &c, options: &mut options });
                    acks += 1;
                }
                let seq = (arrived / 2 + rng.below(4)).saturating_sub(1);
                let mut rx = ReceiveContext { now, config: &c, options: &mut options };
                acks += u32::from(r.on_segment(&mut rx, seq, Flags::NONE, Ecn::NotEct, 0).ack.is_some());
                assert!(acks <= arrived, "seed {seed}");
            }
            assert!(acks >= 50, "seed {seed}: at least every second segment is acknowledged, {acks}");
        }
    }

    #[test]
    fn each_of_two_windows_with_a_loss_halves_the_window() {
        // Section 4.3, under each way of repair.
        for recovery in ["reno", "newreno", "sack"] {
            let mut l = Lead::open(rfc(recovery, 16), None);
            for _ in 0..2 {
                let (first, end, flight) = (l.sender.core().una, l.sender.core().max, l.sender.core().flight());
                for next in first + 2..=end {
                    l.sack(first, &[(first + 1, next)]);
                }
                assert_eq!(l.ssthresh(), f64::from(flight) / 2.0, "{recovery}");
                let end = l.sender.core().max;
                l.ack(end);
                assert!(l.cwnd() <= l.ssthresh(), "{recovery}: {} > {}", l.cwnd(), l.ssthresh());
                // The next loss is in a window that was sent afterwards.
                while l.cwnd() < 8.0 {
                    let next = l.sender.core().una + 1;
                    l.ack(next);
                }
            }
        }
    }
}

mod rfc_6298 {
    use super::*;

    #[test]
    fn the_timer_restarts_at_acknowledgements_of_new_data_alone() {
        let mut l = Lead::open(rfc("newreno", 10), Some(10));
        assert_eq!(l.sender.deadline(), at(1.1), "5.1: it runs from the first segment");
        l.now = at(0.5);
        l.ack(1);
        assert_eq!(l.sender.deadline(), at(1.1), "a duplicate");
        l.ack(2);
        assert_eq!(l.timeout(), l.sender.core().rto.timeout(&l.config).secs(), "5.3");
    }

    #[test]
    fn each_round_trip_is_measured_once() {
        // Section 3. Ten round trips of 200 ms after a handshake of 100 ms: SRTT goes an eighth of the way each time.
        let mut l = Lead::open(rfc("newreno", 4), None);
        let mut srtt = 0.1;
        for _ in 0..10 {
            l.now += Dur::from_secs(0.2);
            let (una, end) = (l.sender.core().una, l.sender.core().max);
            for next in una + 1..=end {
                l.ack(next);
            }
            srtt += (0.2 - srtt) / 8.0;
            let got = l.sender.core().rto.srtt(&l.config);
            assert!((got - srtt).abs() < 1e-9, "{got} {srtt}");
        }
    }
}

mod rfc_6675 {
    use super::*;

    #[test]
    fn a_timeout_sends_again_what_had_been_sacked() {
        // Section 5.1; RFC 2018, section 8: the receiver may have discarded it.
        let mut l = Lead::open(rfc("sack", 10), None);
        l.sack(1, &[(2, 4)]);
        assert_eq!(l.time_out(), [1]);
        assert_eq!(l.ack(2), [2, 3]);
    }

    #[test]
    fn what_is_sacked_beyond_the_recovery_point_outlives_the_recovery() {
        // Step (A). Segments 1 and 14 are lost; RecoveryPoint is 12.
        let mut l = Lead::open(rfc("sack", 10), None);
        for end in 3..=14 {
            l.sack(1, &[(2, end)]);
        }
        assert!(l.sender.core().max > 17, "14 to 17 are out");
        l.sack(1, &[(15, 16), (2, 14)]);
        l.sack(1, &[(15, 17), (2, 14)]);
        assert!(!l.ack(14).contains(&14), "recovery is over; two are sacked above 14");
        assert_eq!(l.sack(14, &[(17, 18)])[..1], [14], "the third is enough");
    }
}

mod rfc_9293 {
    use super::*;

    #[test]
    fn the_receivers_window_bounds_what_is_outstanding() {
        // Section 3.8.6: data beyond SND.UNA + SND.WND is not sent, in recovery either.
        for recovery in ["reno", "newreno", "sack"] {
            let numbers = [("initial_window", 8.0), ("max_window", 8.0), ("delayed_ack", 0.0)];
            let mut l = Lead::open(config("rfc", recovery, &numbers, &[]), None);
            let mut widest = l.sender.core().flight();
            for end in [3, 4, 5, 6, 7, 8, 9] {
                l.sack(1, &[(2, end)]);
                widest = widest.max(l.sender.core().flight());
            }
            l.ack(9);
            assert_eq!(widest.max(l.sender.core().flight()), 8, "{recovery}");
        }
    }

    #[test]
    fn a_sender_never_gives_up() {
        // Section 3.8.3 would close the connection after R2; here nobody could be told.
        let mut l = Lead::open(rfc("newreno", 1), Some(1));
        for _ in 0..100 {
            assert_eq!(l.time_out(), [1]);
        }
        assert!(l.now > at(3600.0) && !l.sender.is_done());
    }
}
