//! DCTCP (RFC 8257): alpha worked by hand, the receiver's echoes. Windows are in segments.

mod common;

use common::bare_window::{law, near, Bare};
use common::{at, config_of, Lead};
use marqueue_cc::accecn::Marks;
use marqueue_cc::preset::PRESETS;
use marqueue_cc::receiver::ReceiveContext;
use marqueue_cc::window_law::{EcnFeedback, Signal};
use marqueue_cc::{Config, Options, Receiver};
use marqueue_core::params::{ParamValues, Value};
use marqueue_core::{Dur, Ecn, Flags, Time};

#[test]
fn alpha_by_hand() {
    let mut b = Bare::new(law("dctcp", &[]), 10.0, 0.01);
    let mut una = 1;
    let mut hear = |b: &mut Bare, ack: u32, ece: bool| {
        let arrived = ack - una;
        let marks = Marks { arrived, marked: if ece { arrived } else { 0 } };
        b.law.on_echo(&b.config, EcnFeedback { now: Time::ZERO, marks, ack, max: una + 10 });
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
fn in_linux_a_window_of_alpha_ends_one_acknowledgement_earlier() {
    // Of ten segments in flight the first acknowledgement ends the first window; of the last of them Linux ends a second.
    for (preset, expected) in [("rfc", 0.9375), ("linux", 0.9375 * 0.9375)] {
        let config = config_of(preset, &[("control", "dctcp")], &[("delayed_ack", 0.0)], &[("ecn", true)]);
        let mut b = Bare::new(config, 10.0, 0.01);
        let marks = Marks { arrived: 1, marked: 0 };
        for ack in 2..=11 {
            b.law.on_echo(&b.config, EcnFeedback { now: Time::ZERO, marks, ack, max: 11 });
        }
        let alpha = 2.0 * (1.0 - b.law.decrease(&b.config, 10.0, Signal::Ecn));
        assert_eq!(alpha, expected, "{preset}");
    }
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
    let mut hear = |seq, ecn| r.on_segment(&mut rx, seq, Flags::CWR, ecn, 0).ack.map(|a| (a.ack, a.ece()));
    assert_eq!(hear(0, Ecn::NotEct), Some((1, false)));
    assert_eq!(hear(1, Ecn::Ect0), None);
    assert_eq!(hear(2, Ecn::Ce), Some((3, true)), "1 and 2 at once, with the new echo");
    assert_eq!(hear(3, Ecn::Ce), None);
    assert_eq!(hear(4, Ecn::Ce), Some((5, true)), "3 and 4; CWR changes nothing");
    assert_eq!(hear(5, Ecn::Ce), None);
    assert_eq!(hear(7, Ecn::Ect0), Some((6, false)), "out of order, and a change");
    assert_eq!(hear(6, Ecn::Ce), Some((8, true)));
    assert_eq!(hear(7, Ecn::Ect0), Some((8, true)), "RFC 3168, 6.1.5: below the window the field does not count");
    assert_eq!(hear(8, Ecn::Ect0), Some((9, false)), "a change is told at once");
    assert_eq!(hear(9, Ecn::Ect0), None);
    assert_eq!(r.deadline(), at(1.1));
    let last = r.on_timer(&mut rx);
    assert_eq!((last.ack, last.ece()), (10, false));
}

#[test]
fn a_change_may_be_told_by_two_acknowledgements() {
    let c = Config { delayed_ack: Dur::from_secs(0.1), dctcp_two_acks: true, ..law("dctcp", &[]) };
    let mut r = Receiver::default();
    let mut options = Options::NONE;
    let mut rx = ReceiveContext { now: at(1.0), config: &c, options: &mut options };
    let mut hear = |seq, ecn| r.on_segment(&mut rx, seq, Flags::NONE, ecn, 0).ack.map(|a| (a.ack, a.ece()));
    hear(0, Ecn::NotEct);
    assert_eq!(hear(1, Ecn::Ect0), None);
    assert_eq!(hear(2, Ecn::Ce), Some((2, false)), "1 by itself");
    assert_eq!(r.deadline(), at(1.0), "2 at once");
    let second = r.on_timer(&mut rx);
    assert_eq!((second.ack, second.ece()), (3, true));
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
    let ack = r.on_segment(&mut rx, 1, Flags::NONE, Ecn::Ect0, 0).ack.expect("acknowledged at once").ect;
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

#[test]
fn the_window_grows_as_renos() {
    for (cwnd, grown) in [(10.0, 10.1), (100.0, 100.01)] {
        assert_eq!(Bare::new(law("dctcp", &[]), cwnd, 0.01).ack(1.0, 1.0), grown, "3.3: as RFC 5681 until a mark");
    }
}
