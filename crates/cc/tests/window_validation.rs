//! Windows that are not used: RFC 9438, sections 4.2, 4.6 and 5.8; RFC 7661. Windows are in segments.

mod common;

use common::{config_of, echo_laws, Lead};
use marqueue_cc::{Ack, Config};
use marqueue_core::Dur;

const RTT: f64 = 0.1;

fn set(control: &str, validation: &str, max_window: f64) -> Config {
    config_of(
        "rfc",
        &[("control", control), ("recovery", "newreno"), ("window_validation", validation)],
        &[("initial_window", 10.0), ("delayed_ack", 0.0), ("max_window", max_window)],
        &[("ecn", true), ("timestamps", true)],
    )
}

/// All that is out is acknowledged, segment by segment, a round trip later.
fn answer(l: &mut Lead) {
    l.now += Dur::from_secs(RTT);
    let core = l.sender.core();
    let echo = Some(l.config.timestamp(l.now) - (RTT * 1e6) as u32);
    for ack in core.una + 1..=core.max {
        l.hear(Ack { ack, echo, ..Ack::default() });
    }
}

#[test]
fn no_law_grows_a_window_beyond_the_receivers() {
    for control in echo_laws() {
        let mut l = Lead::open(set(control, "cwnd_limited", 20.0), None);
        for _ in 0..50 {
            answer(&mut l);
        }
        assert!(l.cwnd() >= 20.0 && l.cwnd() < 21.0, "{control}: {}", l.cwnd());
        assert_eq!(l.sender.core().flight(), 20);
        let next = l.sender.core().una + 1;
        l.echo(next);
        assert!(l.cwnd() < 20.0, "{control}: an echo reduces what is used: {}", l.cwnd());
    }
}

#[test]
fn without_validation_the_window_outgrows_the_receivers() {
    let mut l = Lead::open(set("reno", "none", 20.0), None);
    for _ in 0..50 {
        answer(&mut l);
    }
    assert!(l.cwnd() > 40.0, "congestion avoidance from 20 on: {}", l.cwnd());
}

#[test]
fn the_last_segments_of_a_flow_do_not_grow_its_window() {
    for control in echo_laws() {
        let mut l = Lead::open(set(control, "cwnd_limited", 1e6), Some(13));
        l.ack(2);
        l.ack(3);
        assert_eq!((l.cwnd(), l.sender.core().flight()), (12.0, 11), "{control}: 13 is the last");
        l.ack(4);
        assert_eq!(l.cwnd(), 12.0, "{control}");
    }
}

#[test]
fn a_window_that_is_filled_always_grows() {
    // Of senders with endless data no acknowledgement is refused, or growth would depend on the reading of "used".
    for control in echo_laws() {
        let [mut validated, mut free] = ["cwnd_limited", "none"].map(|v| Lead::open(set(control, v, 1e6), None));
        for round in 0..40 {
            for l in [&mut validated, &mut free] {
                if round % 7 == 6 {
                    let next = l.sender.core().una + 1;
                    l.echo(next);
                }
                if round == 20 {
                    l.time_out();
                }
                answer(l);
            }
            assert_eq!(validated.cwnd(), free.cwnd(), "{control}, round trip {round}");
        }
    }
}

#[test]
fn what_was_used_two_round_trips_ago_does_not_count() {
    let mut l = Lead::unwritten(set("reno", "cwnd_limited", 1e6), None);
    l.write(10);
    answer(&mut l);
    for _ in 0..3 {
        l.write(4);
        answer(&mut l);
    }
    l.write(4);
    let next = l.sender.core().una + 1;
    l.echo(next);
    let cwnd = l.cwnd();
    assert!(cwnd > 4.0 && cwnd > l.ssthresh(), "congestion avoidance, and four do not fill it: {cwnd}");
    answer(&mut l);
    l.write(4);
    answer(&mut l);
    assert_eq!(l.cwnd(), cwnd, "RFC 9438, 5.8");
}

mod rfc_7661 {
    use super::*;

    /// A window of 42 in slow start, of which 40 segments were used, and then two seconds of silence: not validated.
    fn forty_two(nonvalidated_period: f64) -> Lead {
        let c = Config { nonvalidated_period: Dur::from_secs(nonvalidated_period), ..set("reno", "rfc7661", 1e6) };
        let mut l = Lead::unwritten(c, None);
        l.write(70);
        for _ in 0..3 {
            answer(&mut l);
        }
        assert_eq!((l.cwnd(), l.sender.core().una), (42.0, 71));
        l.now += Dur::from_secs(2.0);
        l
    }

    #[test]
    fn at_half_of_the_window_it_grows_and_below_it_does_not() {
        // 4.3: pipeACK is what was written.
        for (written, grows) in [(21, true), (20, false)] {
            let mut l = forty_two(300.0);
            l.write(written);
            answer(&mut l);
            // The last acknowledgement completes the sample.
            assert_eq!(l.cwnd() > 42.0, grows, "{written}");
        }
    }

    #[test]
    fn the_largest_sample_of_a_second_counts() {
        // 4.2: the sampling period is max(3 RTT, 1 s). Two rounds of four segments follow one of 30.
        let mut l = forty_two(300.0);
        l.write(30);
        answer(&mut l);
        l.write(4);
        answer(&mut l);
        let cwnd = l.cwnd();
        assert!(cwnd <= 60.0, "30 are half of it");
        l.write(4);
        answer(&mut l);
        assert_eq!(l.cwnd(), cwnd + 4.0);
        l.now += Dur::from_secs(1.0);
        l.write(4);
        answer(&mut l);
        assert_eq!(l.cwnd(), cwnd + 4.0, "too long ago");
    }

    #[test]
    fn a_window_that_is_filled_grows() {
        let mut l = forty_two(300.0);
        l.write(50);
        let (next, cwnd) = (l.sender.core().una + 1, l.cwnd());
        l.ack(next);
        assert_eq!(l.cwnd(), cwnd + 1.0, "4.4: it was filled");
    }

    #[test]
    fn a_pause_keeps_the_window() {
        let mut l = forty_two(300.0);
        l.now += Dur::from_secs(200.0);
        assert_eq!(l.write(100).len(), 42, "4.4, where RFC 5681 restarts");
    }

    #[test]
    fn each_nonvalidated_period_halves_the_window_down_to_the_initial_one() {
        // 4.4.3. The last sample counts for a second.
        for (pause, cwnd) in [(58.0, 42.0), (59.0, 42.0), (60.0, 21.0), (120.0, 10.5), (180.0, 10.0), (600.0, 10.0)] {
            let mut l = forty_two(60.0);
            l.now += Dur::from_secs(pause);
            l.write(1);
            assert_eq!(l.cwnd(), cwnd, "{pause} s");
        }
    }

    #[test]
    fn a_window_that_is_halved_keeps_three_quarters_in_ssthresh() {
        // 4.4.3: max(ssthresh, 3/4 cwnd), for each period.
        for (rounds, pause) in [(2, 62.0), (12, 62.0), (12, 122.0)] {
            let mut l = forty_two(60.0);
            l.write(42);
            let next = l.sender.core().una + 1;
            l.echo(next);
            assert_eq!((l.cwnd(), l.ssthresh()), (21.0, 21.0));
            answer(&mut l);
            for _ in 0..rounds {
                l.write(l.cwnd() as u32);
                answer(&mut l);
            }
            let cwnd = l.cwnd();
            l.now += Dur::from_secs(pause);
            l.write(1);
            assert!(l.cwnd() < cwnd, "{pause} s");
            assert_eq!(l.ssthresh(), f64::max(21.0, 0.75 * cwnd), "{rounds} rounds, {pause} s");
        }
    }

    /// The window is 42, pipeACK 4; 30 segments go out and some of them are lost.
    fn burst() -> Lead {
        let mut l = forty_two(300.0);
        l.write(4);
        answer(&mut l);
        assert_eq!(l.cwnd(), 42.0);
        l.write(30);
        l
    }

    #[test]
    fn a_loss_leaves_half_of_what_was_used_less_half_of_what_was_sent_again() {
        // 4.4.1.
        let mut l = burst();
        let (una, max) = (l.sender.core().una, l.sender.core().max);
        for _ in 0..3 {
            l.ack(una);
        }
        assert_eq!(l.ssthresh(), 15.0, "max(pipeACK, LossFlightSize)/2");
        l.ack(una + 5); // a second hole
        l.ack(max);
        assert_eq!(l.sender.core().counts.retransmits, 2);
        l.write(100);
        assert_eq!((l.cwnd(), l.ssthresh()), (14.0, 14.0), "(30 - 2)/2");
        assert_eq!(l.sender.core().flight(), 14);
    }

    #[test]
    fn an_echo_leaves_half_of_what_was_used() {
        let mut l = burst();
        let next = l.sender.core().una + 1;
        l.echo(next);
        assert_eq!((l.cwnd(), l.ssthresh()), (15.0, 15.0));
    }

    #[test]
    fn a_timeout_is_answered_as_usual() {
        let mut l = burst();
        l.time_out();
        assert_eq!((l.cwnd(), l.ssthresh()), (1.0, 15.0), "RFC 5681: FlightSize/2");
    }
}
