//! What ends slow start: RFC 9406 and Linux's HyStart, worked by hand. Windows are in segments.

mod common;

use common::{at, config_of, Lead};
use marqueue_cc::{Ack, Config};
use marqueue_core::params::{ParamValues, Value};
use marqueue_core::Dur;

fn set(slow_start: &str, initial_window: f64) -> Config {
    config_of(
        "rfc",
        &[("slow_start", slow_start), ("control", "cubic")],
        &[("initial_window", initial_window), ("delayed_ack", 0.0)],
        &[("timestamps", true)],
    )
}

/// A sender that is acknowledged a round at a time.
struct Rounds {
    lead: Lead,
    /// The acknowledgement that ends the next round.
    end: u32,
}

/// The handshake took 100 ms, and the initial window is out.
fn open(config: Config) -> Rounds {
    let mut lead = Lead::new(config, None);
    lead.now = at(0.1);
    lead.hear(Ack { ack: 1, ece: lead.config.ecn, echo: Some(0), ..Ack::default() });
    let end = lead.sender.core().max;
    Rounds { lead, end }
}

impl Rounds {
    /// Acknowledges a round segment by segment and all at once, each with a round-trip time of `ms`. What the last
    /// acknowledgement sends is not in the next round. Returns how many segments there were.
    fn round(&mut self, ms: u32) -> f64 {
        let l = &mut self.lead;
        l.now += Dur::from_secs(1.0);
        let echo = l.config.timestamps.then(|| l.config.timestamp(l.now) - 1000 * ms);
        let (first, last) = (l.sender.core().una + 1, self.end);
        for ack in first..=last {
            self.end = l.sender.core().max;
            l.hear(Ack { ack, echo, ..Ack::default() });
        }
        f64::from(last + 1 - first)
    }

    fn cwnd(&self) -> f64 {
        self.lead.cwnd()
    }

    fn ssthresh(&self) -> f64 {
        self.lead.ssthresh()
    }

    fn in_slow_start(&self) -> bool {
        self.lead.sender.core().window.in_slow_start()
    }
}

mod rfc_9406 {
    use super::*;

    #[test]
    fn conservative_slow_start_is_a_quarter_as_fast_for_five_rounds() {
        let mut l = open(set("hystart++", 16.0));
        assert_eq!(l.round(100), 16.0);
        assert_eq!(l.cwnd(), 32.0, "standard");
        // The rise is 12.5 ms, and found with the eighth acknowledgement; the others grow by a quarter.
        let n = l.round(113);
        assert_eq!(l.cwnd(), 32.0 + 8.0 + (n - 8.0) / 4.0);
        // The round it began in is the first of the five.
        for _ in 2..=4 {
            let window = l.cwnd();
            let n = l.round(113);
            assert_eq!(l.cwnd(), window + n / 4.0);
        }
        assert!(l.in_slow_start());
        let window = l.cwnd();
        let n = l.round(113);
        assert_eq!(l.ssthresh(), window + n / 4.0, "the last acknowledgement opens the window, then ends it");
        assert_eq!(l.cwnd(), l.ssthresh());
    }

    #[test]
    fn an_acknowledgement_opens_the_window_by_eight_segments_at_most() {
        let mut l = open(set("hystart++", 64.0)).lead;
        l.now = at(0.2);
        let echo = Some(l.config.timestamp(at(0.1)));
        l.hear(Ack { ack: 21, echo, ..Ack::default() });
        assert_eq!(l.cwnd(), 64.0 + 8.0, "4.3: L is 8 for a sender that is not paced");
        l.hear(Ack { ack: 24, echo, ..Ack::default() });
        assert_eq!(l.cwnd(), 72.0 + 3.0);
    }

    #[test]
    fn a_rise_below_the_threshold_is_none() {
        // An eighth of 100 ms; at least 4 ms, at most 16 ms.
        for (before, rise, found) in
            [(100, 12, false), (100, 13, true), (16, 3, false), (16, 4, true), (400, 15, false), (400, 16, true)]
        {
            let mut l = open(set("hystart++", 16.0));
            l.round(before);
            let n = l.round(before + rise);
            assert_eq!(l.cwnd() < 32.0 + n, found, "{before} ms and then {rise} ms more");
        }
    }

    #[test]
    fn a_round_of_fewer_than_eight_says_nothing() {
        let mut l = open(set("hystart++", 3.0));
        let n = l.round(100) + l.round(150);
        assert_eq!((n, l.cwnd()), (7.0, 10.0), "three and four");
        // More than eight, but 150 ms is what the round before had.
        let n = l.round(150);
        assert_eq!(l.cwnd(), 10.0 + n);
    }

    #[test]
    fn a_spurious_rise_is_forgotten() {
        let mut l = open(set("hystart++", 16.0));
        l.round(100);
        l.round(120);
        let window = l.cwnd();
        // Below the 120 ms of the baseline: found with the eighth.
        let n = l.round(119);
        assert_eq!(l.cwnd(), window + 8.0 / 4.0 + (n - 8.0));
    }

    #[test]
    fn only_the_first_slow_start_is_watched() {
        let mut l = open(set("hystart++", 64.0));
        l.round(100);
        l.lead.time_out();
        let ssthresh = l.ssthresh();
        assert!(ssthresh > 40.0);
        for ms in [100, 200, 300, 400] {
            l.end = l.lead.sender.core().nxt;
            l.round(ms);
        }
        assert_eq!(l.ssthresh(), ssthresh);
    }
}

mod linux {
    use super::*;

    #[test]
    fn a_late_round_ends_it_at_once() {
        let mut l = open(set("hystart", 16.0));
        l.round(100);
        // All at one instant: the train has no length. The ninth acknowledgement of a round ends it.
        l.round(113);
        assert_eq!(l.ssthresh(), 32.0 + 8.0);
    }

    #[test]
    fn a_rise_below_the_threshold_is_none() {
        for (before, rise, found) in
            [(100, 12, false), (100, 13, true), (16, 4, false), (16, 5, true), (400, 16, false), (400, 17, true)]
        {
            let mut l = open(set("hystart", 16.0));
            l.round(before);
            l.round(before + rise);
            assert_eq!(!l.in_slow_start(), found, "{before} ms and then {rise} ms more");
        }
    }

    #[test]
    fn a_window_below_sixteen_is_left_alone() {
        let mut l = open(set("hystart", 4.0));
        l.round(100);
        l.round(300);
        assert!(l.in_slow_start() && l.cwnd() < 16.0);
    }

    #[test]
    fn a_late_round_ends_the_slow_start_after_a_timeout_too() {
        for (late, ends) in [(100, false), (113, true)] {
            let mut l = open(set("hystart", 64.0));
            l.round(100);
            l.lead.time_out();
            let threshold = l.ssthresh();
            assert_eq!(threshold, 64.0 * 1.4, "seven tenths of 128");
            l.lead.ack(l.end);
            while l.cwnd() < 17.0 {
                l.end = l.lead.sender.core().max;
                l.round(100);
            }
            l.round(late);
            assert_eq!(l.ssthresh() < threshold, ends, "{late} ms");
        }
    }

    /// The first of 60 acknowledgements, so many ms apart, that ends slow start.
    fn end_of_train(config: Config, distance: f64) -> Option<u32> {
        let mut l = open(config).lead;
        (0..60).find(|n| {
            l.now = at(0.2 + f64::from(*n) * distance * 1e-3);
            let echo = Some(l.config.timestamp(l.now) - 100_000);
            l.hear(Ack { ack: n + 2, echo, ..Ack::default() });
            !l.sender.core().window.in_slow_start()
        })
    }

    #[test]
    fn a_train_half_a_round_trip_long_ends_it() {
        // (100 ms + 1 ms)/2 after the first acknowledgement of the round.
        for (distance, found) in [(2.0, Some(26)), (1.0, Some(51)), (2.1, None)] {
            assert_eq!(end_of_train(set("hystart", 60.0), distance), found, "{distance} ms apart");
        }
    }

    #[test]
    fn a_sender_that_paces_waits_for_a_whole_round_trip() {
        let paced = config_of(
            "rfc",
            &[("slow_start", "hystart"), ("control", "cubic"), ("pacing", "window")],
            &[("initial_window", 60.0), ("delayed_ack", 0.0), ("pacing_quantum", 60.0)],
            &[("timestamps", true)],
        );
        assert_eq!(end_of_train(paced.clone(), 2.0), Some(51), "100 ms + 1 ms");
        assert_eq!(end_of_train(paced, 1.0), None);
    }

    #[test]
    fn without_timestamps_only_trains_are_seen() {
        let mut l = open(Config { timestamps: false, ..set("hystart", 16.0) });
        let n = l.round(100) + l.round(300);
        assert_eq!(l.cwnd(), 16.0 + n);
    }

    #[test]
    fn it_is_a_part_of_cubic_alone() {
        for (control, expected) in [("cubic", false), ("reno", true)] {
            let l = config_of("linux", &[("control", control)], &[], &[]);
            assert_eq!(l.slow_start == marqueue_cc::config::SlowStart::Standard, expected, "{control}");
        }
    }
}

#[test]
fn settings_that_cannot_be_are_refused() {
    for (preset, slow_start, timestamps) in [
        ("rfc", "hystart++", false),
        ("linux", "hystart++", false),
        ("ns2", "hystart", true),
        ("ns2", "hystart++", true),
    ] {
        let values = ParamValues::from([
            ("control".into(), Value::Choice("cubic".into())),
            ("slow_start".into(), Value::Choice(slow_start.into())),
            ("timestamps".into(), Value::Flag(timestamps)),
        ]);
        let error = Config::with_preset(preset, &values).expect_err("it cannot work").to_string();
        assert!(error.starts_with("slow_start: got"), "{preset}, {slow_start}: {error}");
    }
}

#[test]
fn with_the_threshold_at_the_initial_window_there_is_no_slow_start() {
    for preset in ["rfc", "linux"] {
        let grown = |threshold: &[(&str, f64)]| {
            let numbers = [&[("initial_window", 10.0)], threshold].concat();
            let mut lead = Lead::open(config_of(preset, &[("control", "reno")], &numbers, &[]), None);
            for next in 2..=11 {
                lead.ack(next);
            }
            lead.cwnd()
        };
        assert_eq!(grown(&[]), 20.0, "{preset}");
        // 1/cwnd an acknowledgement, of a window that grows meanwhile.
        let after = grown(&[("initial_ssthresh", 10.0)]);
        assert!((10.9..=11.0).contains(&after), "{preset}: {after}");
    }
}
