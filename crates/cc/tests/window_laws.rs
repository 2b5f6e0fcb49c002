//! The window laws against their formulas, worked by hand. Windows are in segments.

mod common;

use common::{at, config_of, Lead};
use marqueue_cc::algo::AnyWindowLaw;
use marqueue_cc::config::Config;
use marqueue_cc::core::Core;
use marqueue_cc::preset::PRESETS;
use marqueue_cc::rto::Rto;
use marqueue_cc::window_law::{AckedSegments, EcnFeedback, Signal, Window};
use marqueue_core::params::{ParamValues, Value};
use marqueue_core::{Dur, Time};

fn law(name: &str, numbers: &[(&str, f64)]) -> Config {
    let numbers = [&[("delayed_ack", 0.0), ("initial_window", 10.0)], numbers].concat();
    config_of("rfc", &[("control", name), ("recovery", "newreno")], &numbers, &[("ecn", true)])
}

/// A window under a law, without a sender around it.
struct Bare {
    config: Config,
    rto: Rto,
    law: AnyWindowLaw,
    window: Window,
    now: Time,
}

impl Bare {
    /// `cwnd` segments in congestion avoidance at time 0, with a round-trip time of `rtt` seconds.
    fn new(config: Config, cwnd: f64, rtt: f64) -> Bare {
        let mut rto = Rto::new(&config, 0.0);
        rto.sample(&config, at(0.0), at(rtt));
        let law = AnyWindowLaw::new(&config);
        Bare { config, rto, law, window: Window { cwnd, ssthresh: 2.0 }, now: at(0.0) }
    }

    /// One acknowledgement of `segments` at `t` seconds; returns the window.
    fn ack(&mut self, t: f64, segments: f64) -> f64 {
        self.now = at(t);
        let acked = AckedSegments { now: self.now, config: &self.config, rto: &self.rto, segments };
        self.law.on_ack(&mut self.window, &acked);
        self.window.cwnd
    }

    /// A congestion signal; returns the window.
    fn cut(&mut self, signal: Signal) -> f64 {
        self.window.cwnd *= self.law.decrease(&self.config, self.window.cwnd, signal);
        self.window.cwnd
    }
}

#[track_caller]
fn near(got: f64, expected: f64, within: f64) {
    assert!((got - expected).abs() <= within, "got {got}, expected {expected}");
}

mod rfc_9438 {
    use super::*;

    /// 100 segments, cut to 70 at time 0; the stage begins with an acknowledgement at 1 s.
    /// K = cbrt(30 / 0.4) = cbrt(75).
    fn after_a_loss() -> Bare {
        let mut b = Bare::new(law("cubic", &[]), 100.0, 0.1);
        near(b.cut(Signal::Loss), 70.0, 1e-12);
        b.ack(1.0, 1.0);
        b
    }

    const K: f64 = 4.217_163_326_508_746;

    #[test]
    fn the_window_moves_to_the_curve_a_round_trip_ahead() {
        // W_cubic(t) = 0.4 (t - K)^3 + 100: 86.68076 at 1 s, 97.18137 at 2.3 s, 100 at K, 102.26670 at 6 s.
        for (t, w_cubic) in [(1.0, 86.68076), (2.3, 97.18137), (K, 100.0), (6.0, 102.2667)] {
            let mut b = after_a_loss();
            let cwnd = b.window.cwnd;
            near(b.ack(1.0 + t - 0.1, 1.0), cwnd + (w_cubic - cwnd) / cwnd, 1e-6);
        }
    }

    #[test]
    fn the_window_follows_the_curve() {
        // A round trip of 0.2 s keeps W_est below: 70 + 9/17 * 40 after 8 s.
        let mut b = Bare::new(law("cubic", &[]), 100.0, 0.2);
        b.cut(Signal::Loss);
        b.ack(1.0, 1.0);
        for round in 1..=40 {
            let t = f64::from(round) * 0.2;
            for _ in 0..b.window.cwnd as u32 {
                b.ack(1.0 + t, 1.0);
            }
            // A round trip takes the window 1 - 1/e of the way to a target that after 1 s moves by
            // 1.2 (t - K)^2 * 0.2 < 3.5: it stays behind by less than 3.5/(e - 1).
            let target = 0.4 * (t + 0.2 - K).powi(3) + 100.0;
            if round >= 10 {
                near(b.window.cwnd, target, 3.5 / (1.0_f64.exp() - 1.0) + 0.1);
            }
        }
        assert!(b.window.cwnd > 120.0, "beyond the plateau it probes: {}", b.window.cwnd);
    }

    #[test]
    fn by_half_a_window_a_round_trip_at_most() {
        let mut b = after_a_loss();
        let cwnd = b.window.cwnd;
        near(b.ack(100.0, 1.0), cwnd + 0.5, 1e-12);
    }

    #[test]
    fn in_the_reno_friendly_region_the_window_is_w_est() {
        // Cut from 10 to 7 with a round trip of 10 ms. Equation (4): 3 * 0.3 / 1.7 = 9/17 a round trip up
        // to the 10 of the last cut, then 1.
        let mut b = Bare::new(law("cubic", &[]), 10.0, 0.01);
        b.cut(Signal::Ecn);
        near(b.ack(0.01, 1.0), 7.0 + 9.0 / 17.0 / 7.0, 1e-12);
        let mut w_est = b.window.cwnd;
        for n in 1..=100 {
            w_est += if w_est < 10.0 { 9.0 / 17.0 } else { 1.0 } / w_est;
            near(b.ack(0.01 + f64::from(n) * 0.001, 1.0), w_est, 1e-9);
        }
        assert!(w_est > 13.0, "both slopes have been seen");
    }

    #[test]
    fn an_acknowledgement_of_two_moves_the_window_once_or_twice() {
        // 4.4 and 4.5: once for each acknowledgement. Linux: once for each segment.
        for (count_segments, times) in [(false, 1.0), (true, 2.0)] {
            let mut b = after_a_loss();
            b.config.cubic_count_segments = count_segments;
            let (cwnd, w_cubic) = (b.window.cwnd, 97.18137);
            near(b.ack(1.0 + 2.3 - 0.1, 2.0), cwnd + times * (w_cubic - cwnd) / cwnd, 1e-6);
        }
    }

    #[test]
    fn fast_convergence_may_be_switched_off() {
        // 4.7: cut at 80, below the plateau of 100, W_max is 80 itself; cwnd_epoch = 56, K = cbrt(24 / 0.4).
        let mut b = after_a_loss();
        b.config.cubic_fast_convergence = false;
        b.window.cwnd = 80.0;
        near(b.cut(Signal::Loss), 56.0, 1e-12);
        let cwnd = b.ack(10.0, 1.0);
        near(b.ack(10.0 + 60.0_f64.cbrt() - 0.1, 1.0), cwnd + (80.0 - cwnd) / cwnd, 1e-6);
    }

    #[test]
    fn w_est_may_stay_as_slow_as_it_began() {
        // Linux: 9/17 a round trip beyond the 10 of the last cut, too.
        let slow = Config { cubic_reno_rate: false, ..law("cubic", &[]) };
        let mut b = Bare::new(slow, 10.0, 0.01);
        b.cut(Signal::Ecn);
        let mut w_est = 7.0;
        for n in 1..=100 {
            w_est += 9.0 / 17.0 / w_est;
            near(b.ack(f64::from(n) * 0.001, 1.0), w_est, 1e-9);
        }
        assert!(w_est > 11.0, "beyond the last cut: {w_est}");
    }

    #[test]
    fn before_the_first_signal_it_may_grow_by_a_share_of_itself() {
        // Linux: a twentieth of what is acknowledged, where the curve has hardly left its plateau.
        let mut b = Bare::new(law("cubic", &[("cubic_first_growth", 0.05)]), 40.0, 0.1);
        near(b.ack(0.0, 2.0), 40.1, 1e-12);
        near(b.ack(0.1, 1.0), 40.15, 1e-12);
        b.cut(Signal::Ecn);
        let cwnd = b.window.cwnd;
        assert!(b.ack(0.2, 1.0) < cwnd + 0.05, "and after it by the law");
    }

    #[test]
    fn fast_convergence_gives_way_to_new_flows() {
        // 4.7: cut at 80, below the plateau of 100, W_max = 80 (1 + 0.7)/2 = 68; cwnd_epoch = 56,
        // K = cbrt(12 / 0.4).
        let mut b = after_a_loss();
        b.window.cwnd = 80.0;
        near(b.cut(Signal::Loss), 56.0, 1e-12);
        let cwnd = b.ack(10.0, 1.0);
        let k = 30.0_f64.cbrt();
        near(b.ack(10.0 + k - 0.1, 1.0), cwnd + (68.0 - cwnd) / cwnd, 1e-6);
        // Cut above the plateau, W_max is the window: 90, 63, K = cbrt(27 / 0.4).
        b.window.cwnd = 90.0;
        b.cut(Signal::Loss);
        let cwnd = b.ack(20.0, 1.0);
        let k = 67.5_f64.cbrt();
        near(b.ack(20.0 + k - 0.1, 1.0), cwnd + (90.0 - cwnd) / cwnd, 1e-6);
    }

    #[test]
    fn after_a_timeout_the_curve_begins_on_its_plateau() {
        // 4.8: K = 0 and W_max = cwnd_epoch = 50; 2 s later 50 + 0.4 * 8.
        let mut b = Bare::new(law("cubic", &[]), 100.0, 0.1);
        b.cut(Signal::Loss);
        b.law.on_timeout();
        b.window.cwnd = 50.0;
        let cwnd = b.ack(3.0, 1.0);
        near(b.ack(3.0 + 2.0 - 0.1, 1.0), cwnd + (53.2 - cwnd) / cwnd, 1e-9);
    }

    #[test]
    fn a_sender_keeps_seven_tenths() {
        let mut l = Lead::open(law("cubic", &[]), None);
        l.echo(2);
        assert_eq!((l.cwnd(), l.ssthresh()), (7.0, 7.0), "ECN");
        let mut l = Lead::open(law("cubic", &[]), None);
        l.ack(2);
        for _ in 0..3 {
            l.ack(2);
        }
        near(l.cwnd(), 7.7, 1e-12);
        let mut l = Lead::open(law("cubic", &[]), None);
        l.time_out();
        assert_eq!((l.cwnd(), l.ssthresh()), (1.0, 7.0), "4.8");
    }
}

#[test]
fn whole_segments_count_where_the_window_is_cut() {
    // 10 segments and 9 of them acknowledged in slow start, 19: 13.3. Then growth, and 13.9 is 13: 9.1.
    let mut l = Lead::open(law("cubic", &[]), None);
    for next in 2..=10 {
        l.ack(next);
    }
    let exact = l.sender.clone();
    for (whole, expected) in [(false, 19.0 * 0.7), (true, 13.0)] {
        l.sender = exact.clone();
        l.config.whole_segments = whole;
        l.echo(11);
        near(l.cwnd(), expected, 1e-9);
    }
    while l.cwnd() < 13.5 {
        let next = l.sender.core().una + 1;
        l.ack(next);
    }
    let next = l.sender.core().max;
    l.echo(next);
    assert_eq!(l.cwnd(), 9.0);
}

/// What is left of a window of 20, of which `flight` segments are outstanding, by an ECN echo in congestion avoidance.
fn after_an_echo(control: &str, base: &str, abe: bool, flight: u32) -> (f64, f64) {
    let choices = [("control", control), ("recovery", "newreno"), ("ecn_reduction_base", base)];
    let numbers = [("delayed_ack", 0.0), ("initial_window", 20.0)];
    let c = config_of("rfc", &choices, &numbers, &[("ecn", true), ("abe", abe)]);
    let mut l = Lead::unwritten(c, None);
    l.sender = Lead::open(l.config.clone(), Some(flight)).sender;
    l.echo(2);
    (l.cwnd(), l.ssthresh())
}

#[test]
fn an_echo_reduces_flight_size_or_cwnd() {
    assert_eq!(after_an_echo("cubic", "law", false, 10), (7.0, 7.0), "RFC 9438, 4.6");
    assert_eq!(
        after_an_echo("cubic", "cwnd", false, 10),
        (14.0, 7.0),
        "4.6 permits it if an unused window does not grow"
    );
    assert_eq!(after_an_echo("cubic", "law", false, 2), (1.4, 2.0), "4.6: at least 1 and 2 segments");
    assert_eq!(after_an_echo("reno", "law", false, 10), (10.0, 5.0), "RFC 3168, 6.1.2");
    assert_eq!(after_an_echo("reno", "flight_size", false, 10), (5.0, 5.0));
    assert_eq!(after_an_echo("dctcp", "law", false, 10), (10.0, 5.0), "RFC 8257, 3.3, with alpha 1");
}

/// RFC 8511.
#[test]
fn alternative_backoff_with_ecn_leaves_four_fifths_in_congestion_avoidance() {
    assert_eq!(after_an_echo("reno", "law", true, 10), (5.0, 5.0), "4: not in slow start; 3.1: of FlightSize");
    for (control, loss) in [("reno", 0.5), ("cubic", 0.7)] {
        let mut l = Lead::open(
            config_of(
                "rfc",
                &[("control", control), ("recovery", "newreno")],
                &[("delayed_ack", 0.0), ("initial_window", 10.0)],
                &[("ecn", true), ("abe", true)],
            ),
            None,
        );
        l.echo(2);
        for next in 3..=40 {
            l.ack(next);
        }
        let flight = f64::from(l.sender.core().flight());
        assert!(l.cwnd() > l.ssthresh(), "congestion avoidance");
        let exact = l.sender.clone();
        l.echo(41);
        near(l.ssthresh(), 0.8 * flight, 1e-12);
        assert_eq!(l.cwnd(), l.ssthresh());
        l.sender = exact;
        for _ in 0..3 {
            l.ack(40);
        }
        let outstanding = f64::from(l.sender.core().flight() - l.sender.core().limited);
        near(l.ssthresh(), loss * outstanding, 1e-12);
    }
}

/// RFC 9438, 5.8.
#[test]
fn cubic_does_not_count_time_in_which_its_window_is_not_used() {
    let stage = |pause: f64| {
        let mut cubic = Bare::new(law("cubic", &[]), 100.0, 0.1);
        cubic.cut(Signal::Loss);
        cubic.ack(1.0, 1.0);
        cubic.law.on_unused_window(at(1.0 + pause));
        cubic.ack(3.0 + pause, 1.0)
    };
    near(stage(60.0), stage(0.0), 1e-9);
}

mod rfc_8257 {
    use super::*;
    use marqueue_cc::receiver::ReceiveContext;
    use marqueue_cc::{Options, Receiver};
    use marqueue_core::{Ecn, Flags};

    #[test]
    fn alpha_by_hand() {
        let mut b = Bare::new(law("dctcp", &[]), 10.0, 0.01);
        let mut una = 1;
        let mut hear = |b: &mut Bare, ack: u32, ece: bool| {
            b.law.on_echo(&b.config, EcnFeedback { ece, ack, una, max: una + 10 });
            una = ack;
            2.0 * (1.0 - b.law.decrease(&b.config, 10.0, Signal::Ecn))
        };
        // The first window ends with the first acknowledgement: M = 0, alpha = 15/16.
        assert_eq!(hear(&mut b, 2, false), 0.9375);
        // The next reaches to 11: of 3 to 12, in five acknowledgements, four segments are marked.
        for (ack, ece) in [(4, false), (6, true), (8, true), (10, false)] {
            assert_eq!(hear(&mut b, ack, ece), 0.9375, "3.3, step 4: the window has not ended");
        }
        near(hear(&mut b, 12, false), 0.9375 * 0.9375 + 0.0625 * 0.4, 1e-12);
    }

    #[test]
    fn an_echo_takes_half_of_alpha_once_a_window() {
        let mut l = Lead::open(law("dctcp", &[]), None);
        l.ack(2);
        l.echo(3);
        assert_eq!(l.cwnd(), 11.0 * (1.0 - 0.9375 / 2.0));
        for next in 4..=13 {
            l.echo(next);
            assert_eq!(l.cwnd(), 11.0 * (1.0 - 0.9375 / 2.0), "{next} was asked for before the cut was seen");
        }
        // Segments 2 to 11 were all marked: M = 1.
        let alpha = 0.9375 * 0.9375 + 0.0625;
        l.echo(14);
        assert_eq!(l.cwnd(), 11.0 * (1.0 - 0.9375 / 2.0) * (1.0 - alpha / 2.0));
    }

    #[test]
    fn a_loss_takes_half_whatever_echoes_took() {
        for recovery in ["reno", "newreno", "sack"] {
            let c = config_of(
                "rfc",
                &[("control", "dctcp"), ("recovery", recovery)],
                &[("delayed_ack", 0.0), ("initial_window", 10.0), ("dctcp_g", 1.0)],
                &[("ecn", true)],
            );
            let mut l = Lead::open(c, None);
            l.ack(2);
            l.echo(3); // g is 1 and no window has had a mark: alpha is 0
            assert_eq!(l.cwnd(), 11.0);
            for end in 5..=7 {
                l.sack(3, &[(4, end)]);
            }
            // 3 to 13 are out, but for what limited transmit has sent.
            let flight = f64::from(l.sender.core().max - 3 - l.sender.core().limited);
            assert_eq!(l.ssthresh(), flight / 2.0, "{recovery}: 3.5");
            assert!(l.sent.iter().any(|s| s.seq == 3), "{recovery}");
        }
    }

    #[test]
    fn each_acknowledgement_echoes_what_it_acknowledges() {
        let c = Config { delayed_ack: Dur::from_secs(0.1), ..law("dctcp", &[]) };
        let mut r = Receiver::default();
        let mut options = Options::NONE;
        let mut rx = ReceiveContext { now: at(1.0), config: &c, options: &mut options };
        let mut hear = |seq, ecn| r.on_segment(&mut rx, seq, Flags::CWR, ecn, 0).ack.map(|a| (a.ack, a.ece));
        assert_eq!(hear(0, Ecn::NotEct), Some((1, false)));
        assert_eq!(hear(1, Ecn::Ect), None);
        assert_eq!(hear(2, Ecn::Ce), Some((3, true)), "1 and 2 at once, with the new echo");
        assert_eq!(hear(3, Ecn::Ce), None);
        assert_eq!(hear(4, Ecn::Ce), Some((5, true)), "3 and 4; CWR changes nothing");
        assert_eq!(hear(5, Ecn::Ce), None);
        assert_eq!(hear(7, Ecn::Ect), Some((6, false)), "out of order, and a change");
        assert_eq!(hear(6, Ecn::Ce), Some((8, true)));
        assert_eq!(hear(7, Ecn::Ect), Some((8, true)), "RFC 3168, 6.1.5: below the window the field does not count");
        assert_eq!(hear(8, Ecn::Ect), Some((9, false)), "a change is told at once");
        assert_eq!(hear(9, Ecn::Ect), None);
        assert_eq!(r.deadline(), at(1.1));
        let last = r.on_timer(&mut rx);
        assert_eq!((last.ack, last.ece), (10, false));
    }

    #[test]
    fn a_change_may_be_told_by_two_acknowledgements() {
        let c = Config { delayed_ack: Dur::from_secs(0.1), dctcp_two_acks: true, ..law("dctcp", &[]) };
        let mut r = Receiver::default();
        let mut options = Options::NONE;
        let mut rx = ReceiveContext { now: at(1.0), config: &c, options: &mut options };
        let mut hear = |seq, ecn| r.on_segment(&mut rx, seq, Flags::NONE, ecn, 0).ack.map(|a| (a.ack, a.ece));
        hear(0, Ecn::NotEct);
        assert_eq!(hear(1, Ecn::Ect), None);
        assert_eq!(hear(2, Ecn::Ce), Some((2, false)), "1 by itself");
        assert_eq!(r.deadline(), at(1.0), "2 at once");
        let second = r.on_timer(&mut rx);
        assert_eq!((second.ack, second.ece), (3, true));
        assert_eq!(r.deadline(), Time::NEVER);
    }

    /// Which of a SYN, its acknowledgement, data, an acknowledgement and a retransmission are ECN-capable.
    fn ect(control: &str, packets: &str) -> [bool; 5] {
        let choices = [("control", control), ("recovery", "newreno"), ("dctcp_ect", packets)];
        let c = config_of("rfc", &choices, &[("delayed_ack", 0.0)], &[("ecn", true)]);
        let mut r = Receiver::default();
        let mut options = Options::NONE;
        let mut rx = ReceiveContext { now: at(1.0), config: &c, options: &mut options };
        let syn_ack =
            r.on_segment(&mut rx, 0, Flags::SYN | Flags::ECE, Ecn::NotEct, 0).ack.expect("acknowledged at once").ect;
        let ack = r.on_segment(&mut rx, 1, Flags::NONE, Ecn::Ect, 0).ack.expect("acknowledged at once").ect;
        let mut l = Lead::new(c, None);
        let syn = l.sent[0].ect;
        l.echo(1);
        let data = l.sent[0].ect;
        l.time_out();
        [syn, syn_ack, data, ack, l.sent[0].ect]
    }

    #[test]
    fn control_packets_may_be_ecn_capable() {
        assert_eq!(ect("dctcp", "data"), [false, false, true, false, false], "RFC 3168");
        assert_eq!(ect("dctcp", "handshake"), [true, true, true, false, false], "3.6");
        assert_eq!(ect("dctcp", "all"), [true; 5], "4.1");
        assert_eq!(ect("cubic", "all"), [false, false, true, false, false], "RFC 3168, 6.1.1, 6.1.4, 6.1.5");
    }

    #[test]
    fn it_needs_ecn() {
        for preset in PRESETS {
            let values = ParamValues::from([("control".into(), Value::Choice("dctcp".into()))]);
            let error = Config::with_preset(preset, &values).expect_err("ECN is off by default");
            assert_eq!(error.to_string(), "ecn: got false, expected true: the chosen control lives on ECN marks");
        }
    }
}

#[test]
fn scalable_tcp_grows_by_the_acknowledgement_and_loses_an_eighth() {
    for cwnd in [4.0, 1000.0] {
        let mut b = Bare::new(law("scalable", &[]), cwnd, 0.1);
        near(b.ack(1.0, 1.0), cwnd + 0.01, 1e-9);
        near(b.ack(1.0, 2.0), cwnd + 0.03, 1e-9);
        near(b.cut(Signal::Loss), (cwnd + 0.03) * 0.875, 1e-9);
    }
    let mut b = Bare::new(law("scalable", &[("scalable_a", 0.02), ("scalable_b", 0.25)]), 100.0, 0.1);
    near(b.ack(1.0, 1.0), 100.02, 1e-9);
    near(b.cut(Signal::Ecn), 75.015, 1e-9);
}

#[test]
fn aimd_grows_by_a_a_round_trip_and_loses_the_share_b() {
    let mut b = Bare::new(law("aimd", &[("aimd_a", 0.2), ("aimd_b", 0.125)]), 20.0, 0.1);
    assert_eq!(b.ack(1.0, 1.0), 20.0 + 0.2 / 20.0);
    for _ in 1..20 {
        b.ack(1.0, 1.0);
    }
    near(b.window.cwnd, 20.2, 0.002); // a window that grows while it is acknowledged
    b.window.cwnd = 16.0;
    assert_eq!(b.cut(Signal::Loss), 14.0);
    let mut reno = Lead::open(law("reno", &[]), None);
    let mut aimd = Lead::open(law("aimd", &[]), None);
    for l in [&mut reno, &mut aimd] {
        l.echo(2);
        for next in 3..=10 {
            l.ack(next);
        }
    }
    assert_eq!((reno.cwnd(), reno.ssthresh()), (aimd.cwnd(), aimd.ssthresh()), "AIMD(1, 1/2) is Reno");
}

#[test]
fn slow_start_is_the_same_under_all() {
    for name in marqueue_cc::law_list::Law::NAMES {
        let mut l = Lead::open(law(name, &[]), None);
        assert_eq!(l.ack(3), [11, 12, 13], "{name}");
        assert_eq!(l.cwnd(), 11.0, "{name}");
    }
}

#[test]
fn a_flow_stays_small() {
    // Four cache lines, and what few senders have is behind a pointer.
    assert!(std::mem::size_of::<Core>() <= 256, "{}", std::mem::size_of::<Core>());
}
