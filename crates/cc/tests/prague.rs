//! Prague's rules, worked by hand. Windows are in segments.

#![allow(clippy::disallowed_methods, reason = "tests may use the platform's functions")]

mod common;

use common::bare_window::near;
use common::{at, config_of, Lead};
use marqueue_cc::accecn::ace_flags;
use marqueue_cc::config::{EcnRequest, PacingRatios};
use marqueue_cc::law_list::{EchoMode, Law};
use marqueue_cc::{Ack, Config};
use marqueue_core::{Dur, Ecn, Flags};

const CHOICES: [(&str, &str); 2] = [("control", "prague"), ("recovery", "sack")];

fn config(choices: &[(&str, &str)], numbers: &[(&str, f64)]) -> Config {
    let choices = [&CHOICES[..], choices].concat();
    let numbers = [&[("delayed_ack", 0.0), ("initial_window", 10.0), ("pacing_quantum", 1e6)], numbers].concat();
    config_of("rfc", &choices, &numbers, &[("ecn", true)])
}

/// A sender behind its handshake, and the count of marks at its receiver.
struct Marked {
    lead: Lead,
    cep: u32,
}

impl Marked {
    fn open(config: Config, rtt: f64) -> Marked {
        let mut lead = Lead::new(config, None);
        lead.now = at(rtt);
        lead.hear(Ack { ack: 1, flags: ace_flags(0b011), ..Ack::default() });
        Marked { lead, cep: 5 }
    }

    /// The next segment is acknowledged, with or without a mark.
    fn ack(&mut self, mark: bool) -> f64 {
        self.cep += u32::from(mark);
        let next = self.lead.sender.core().una + 1;
        self.lead.hear(Ack { ack: next, flags: ace_flags(self.cep % 8), ..Ack::default() });
        self.lead.cwnd()
    }

    /// All that is outstanding is acknowledged, `marks` of it with marks, a round-trip time later.
    fn round(&mut self, rtt: f64, marks: u32) {
        self.lead.now += Dur::from_secs(rtt);
        for i in 0..self.lead.sender.core().flight() {
            self.ack(i < marks);
        }
    }
}

#[test]
fn it_asks_for_the_l4s_service() {
    let c = config(&[], &[]);
    assert_eq!((c.ecn_field, c.feedback, c.ecn_request), (Ecn::Ect1, EchoMode::Counted, EcnRequest::AccEcn));
    assert_eq!(c.pacing, Some(PacingRatios { slow_start: 2.0, avoidance: 1.0 }));
    let c = config(&[("ecn_peer", "classic")], &[]);
    assert_eq!((c.control, c.ecn_field, c.ecn, c.pacing), (Law::Reno, Ecn::Ect0, true, None), "RFC 9331, 4.2");
    assert!(Lead::new(c, None).sent[0].flags.has(Flags::AE), "it has asked");
    let c = config(&[("ecn_peer", "none")], &[]);
    assert_eq!((c.control, c.ecn), (Law::Reno, false));
}

#[test]
fn the_first_mark_halves_and_later_ones_take_half_of_alpha_once_a_round_trip() {
    let mut m = Marked::open(config(&[], &[("prague_rtt", 0.0)]), 0.1);
    m.lead.now = at(0.2);
    assert_eq!(m.ack(false), 11.0, "slow start");
    // One mark: half of 11, and the segment itself adds nothing.
    assert_eq!(m.ack(true), 5.5);
    assert_eq!(m.lead.ssthresh(), 5.5);
    let before = m.lead.cwnd();
    near(m.ack(false), before + 1.0 / before, 1e-12);
    let before = m.lead.cwnd();
    assert_eq!(m.ack(true), before, "a second mark in the same round trip");
}

#[test]
fn alpha_is_a_moving_average_of_the_share_of_marks() {
    let mut m = Marked::open(config(&[], &[("prague_rtt", 0.0)]), 0.1);
    m.round(0.1, 1);
    // From here on rounds without marks: 15/16 of alpha is left after each.
    let mut rounds = 0;
    for _ in 0..30 {
        m.round(0.1, 0);
        rounds += 1;
    }
    let before = m.lead.cwnd();
    m.lead.now += Dur::from_secs(0.1);
    let left = m.ack(true) / before;
    // The round with the mark counted 1 of 10 or more, the first of those after it counts what was left of it.
    let alpha = 2.0 * (1.0 - left);
    let expected = (15.0f64 / 16.0).powi(rounds);
    assert!((alpha / expected - 1.0).abs() < 0.15, "{alpha} {expected}");
}

#[test]
fn a_loss_takes_half() {
    let mut m = Marked::open(config(&[], &[]), 0.1);
    m.round(0.1, 1);
    for _ in 0..20 {
        m.round(0.1, 0);
    }
    let (una, cwnd) = (m.lead.sender.core().una, m.lead.cwnd());
    let flags = ace_flags(m.cep % 8);
    for n in 2..5 {
        m.lead.hear(Ack { ack: una, flags, sack: &[(una + 1, una + n)], ..Ack::default() });
    }
    near(m.lead.ssthresh(), f64::from(cwnd as u32) / 2.0, 0.51);
}

#[test]
fn a_short_round_trip_grows_as_the_reference_in_rate() {
    let grown = |reference: f64, rounds: f64| {
        let mut m = Marked::open(config(&[], &[("prague_rtt", reference), ("prague_rtt_rounds", rounds)]), 0.01);
        m.round(0.01, 1);
        for _ in 0..20 {
            m.round(0.01, 0);
        }
        let before = m.lead.cwnd();
        for _ in 0..10 {
            m.round(0.01, 0);
        }
        m.lead.cwnd() - before
    };
    near(grown(0.0, 0.0), 10.0, 0.5);
    near(grown(0.02, 1e6), 10.0, 0.5);
    near(grown(0.02, 1.0), 10.0 * 0.25, 0.15);
    near(grown(0.005, 1.0), 10.0, 0.5);
}

#[test]
fn the_window_keeps_two_segments() {
    let mut m = Marked::open(config(&[], &[("prague_rtt", 0.0)]), 0.1);
    for _ in 0..30 {
        let all = m.lead.sender.core().flight();
        m.round(0.1, all);
        assert!(m.lead.cwnd() >= 2.0);
    }
    assert!(m.lead.cwnd() < 2.5);
}
