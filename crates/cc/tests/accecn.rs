//! AccECN (RFC 9768): negotiation, counters, thinned acknowledgements, from receiver to sender.

#![allow(clippy::disallowed_methods, reason = "tests may use the platform's functions")]

mod common;

use common::{config_of, Lead};
use marqueue_cc::accecn::{ace_bits, ace_flags, SenderCounters};
use marqueue_cc::receiver::{OutgoingAck, ReceiveContext};
use marqueue_cc::segment::ByteCounters;
use marqueue_cc::{Ack, Config, Options, Receiver};
use marqueue_core::{Ecn, Flags, Rng, Time};
use proptest::prelude::*;

const ALL: Flags = Flags::SYN;

fn config(choices: &[(&str, &str)], numbers: &[(&str, f64)], option: bool) -> Config {
    let mut choices = choices.to_vec();
    choices.push(("ecn_feedback", "accecn"));
    config_of("rfc", &choices, numbers, &[("ecn", true), ("accecn_option", option)])
}

fn arrive(r: &mut Receiver, c: &Config, seq: u32, flags: Flags, ecn: Ecn) -> Option<(OutgoingAck, Options)> {
    let mut options = Options::NONE;
    let mut rx = ReceiveContext { now: Time::ZERO, config: c, options: &mut options };
    r.on_segment(&mut rx, seq, flags, ecn, 0).ack.map(|ack| (ack, options))
}

/// RFC 9768, Table 2, without the rows of broken servers and of the nonce.
#[test]
fn the_handshake_negotiates() {
    let asks = Flags::AE | Flags::CWR | Flags::ECE;
    let syn_ack = |c: &Config, syn: Ecn| {
        let flags = Lead::new(c.clone(), None).sent[0].flags;
        arrive(&mut Receiver::new(c), c, 0, flags, syn).unwrap().0.echo
    };
    let c = config(&[], &[], false);
    assert_eq!(Lead::new(c.clone(), None).sent[0].flags, ALL | asks);
    for (ecn, bits) in [(Ecn::NotEct, 0b010), (Ecn::Ect1, 0b011), (Ecn::Ect0, 0b100), (Ecn::Ce, 0b110)] {
        assert_eq!(ace_bits(syn_ack(&c, ecn)), bits, "{ecn:?}");
    }
    assert_eq!(ace_bits(syn_ack(&config(&[("ecn_peer", "classic")], &[], false), Ecn::NotEct)), 0b001);
    assert_eq!(ace_bits(syn_ack(&config(&[("ecn_peer", "none")], &[], false), Ecn::NotEct)), 0b000);
    let classic = config_of("rfc", &[], &[], &[("ecn", true)]);
    let sent = Lead::new(classic.clone(), None).sent[0].flags;
    assert_eq!(sent, ALL | Flags::ECE);
    let answer = arrive(&mut Receiver::new(&c), &c, 0, sent, Ecn::NotEct).unwrap().0.echo;
    assert_eq!(ace_bits(answer), 0b001, "the third block of the table");
    for (bits, negotiated) in
        [(0b000, false), (0b001, true), (0b010, true), (0b100, true), (0b110, true), (0b111, false)]
    {
        let mut l = Lead::new(c.clone(), None);
        l.hear(Ack { ack: 1, flags: ace_flags(bits), ..Ack::default() });
        assert_eq!(l.sender.core().ecn_negotiated, negotiated, "{bits:03b}");
    }
}

#[test]
fn the_third_syn_does_not_ask_rfc_9768_section_3_1_4_1() {
    let mut l = Lead::new(config(&[], &[], false), None);
    l.time_out();
    assert!(l.sent[0].flags.has(Flags::AE | Flags::CWR | Flags::ECE));
    l.time_out();
    assert!(!l.sent[0].flags.has(Flags::ECE) && !l.sent[0].flags.has(Flags::AE));
}

#[test]
fn a_change_and_every_second_mark_are_acknowledged_at_once() {
    let c = config(&[], &[("delayed_ack", 0.1), ("ack_every", 8.0)], false);
    let mut r = Receiver::new(&c);
    arrive(&mut r, &c, 0, Flags::SYN, Ecn::NotEct);
    let mut hear = |seq, ecn| arrive(&mut r, &c, seq, Flags::NONE, ecn).map(|(ack, _)| (ack.ack, ace_bits(ack.echo)));
    assert_eq!(hear(1, Ecn::Ect1), None);
    assert_eq!(hear(2, Ecn::Ect1), None);
    assert_eq!(hear(3, Ecn::Ce), Some((4, 6)), "CE after a packet without");
    assert_eq!(hear(4, Ecn::Ce), None);
    assert_eq!(hear(5, Ecn::Ce), Some((6, 0)), "two marks");
    assert_eq!(hear(6, Ecn::Ect1), None, "no CE");
    for seq in 7..13 {
        assert_eq!(hear(seq, Ecn::Ect1), None);
    }
    assert_eq!(hear(13, Ecn::Ect1), Some((14, 0)), "eight in order");
}

#[test]
fn the_option_yields_to_two_sack_blocks_beside_timestamps() {
    let choices = [("recovery", "sack"), ("ecn_feedback", "accecn")];
    let c = config_of(
        "rfc",
        &choices,
        &[("delayed_ack", 0.0)],
        &[("ecn", true), ("accecn_option", true), ("timestamps", true)],
    );
    let mut r = Receiver::new(&c);
    arrive(&mut r, &c, 0, Flags::SYN, Ecn::NotEct);
    let mut hear = |seq| arrive(&mut r, &c, seq, Flags::NONE, Ecn::Ect1).unwrap();
    let (ack, options) = hear(1);
    assert_eq!((ack.bytes, options.counters), (52 + 12, Some(ByteCounters { ect0: 1, ce: 0, ect1: 1461 })));
    assert!(hear(3).1.counters.is_some(), "12 + 12 + 12 bytes");
    let (ack, options) = hear(5);
    assert_eq!((ack.bytes, options.counters), (52 + 20, None), "12 + 20 + 12 bytes are more than 40");
}

#[test]
fn a_classic_law_cuts_once_a_window_for_new_marks_and_needs_no_cwr() {
    let mut l = Lead::new(config(&[("recovery", "sack")], &[("initial_window", 10.0)], false), None);
    l.now = common::at(0.1);
    l.hear(Ack { ack: 1, flags: ace_flags(0b010), ..Ack::default() });
    l.hear(Ack { ack: 3, flags: ace_flags(6), ..Ack::default() });
    let cut = l.cwnd();
    assert_eq!(cut, 5.0);
    l.hear(Ack { ack: 5, flags: ace_flags(7), ..Ack::default() });
    assert_eq!(l.cwnd(), cut, "the same window");
    for next in 6..=11 {
        l.hear(Ack { ack: next, flags: ace_flags(7), ..Ack::default() });
    }
    assert!(l.cwnd() > cut, "an old mark is not heard again");
    let grown = l.cwnd();
    l.hear(Ack { ack: 12, flags: ace_flags(0), ..Ack::default() });
    assert!(l.cwnd() < grown, "the field has gone round: 7, 0");
}

proptest! {
    /// Every acknowledgement of fewer than eight packets arrives: the sender knows each mark. Those of a stretch are lost: it never counts fewer than
    /// there are (3.2.2.5.2), and with the option not more, unless acknowledgements of many packets are the rule.
    #[test]
    fn marks_are_counted(seed: u64, marking in 0.0f64..1.0, lost in 0u32..60, every in 1u32..9, option: bool) {
        let numbers = [("delayed_ack", 0.1), ("ack_every", f64::from(every))];
        let c = config(&[("recovery", "sack")], &numbers, option);
        let (mut r, mut s) = (Receiver::new(&c), SenderCounters::default());
        let mut rng = Rng::named(seed, "marks");
        arrive(&mut r, &c, 0, Flags::SYN, Ecn::NotEct);
        let (mut marks, mut reported, mut una, mut counted, mut arrived) = (0, 0, 1, 0, 0);
        for seq in 1..400 {
            let ecn = if rng.uniform() < marking { Ecn::Ce } else { Ecn::Ect1 };
            marks += u32::from(ecn == Ecn::Ce);
            let Some((ack, options)) = arrive(&mut r, &c, seq, Flags::NONE, ecn) else { continue };
            if (200..200 + lost).contains(&seq) {
                continue;
            }
            reported = marks;
            let flags = ack.echo;
            let got = s.decode(&c, &Ack { ack: ack.ack, flags, counters: &options.counters, ..Ack::default() }, una, false);
            una = ack.ack;
            counted += got.marked;
            arrived += got.arrived;
        }
        prop_assert_eq!(arrived, una - 1);
        prop_assert_eq!(counted % 8, reported % 8);
        if every <= 2 {
            prop_assert!(counted >= reported, "{counted} of {reported}");
        }
        // An acknowledgement of eight packets may hide eight marks, and is taken to.
        if lost == 0 && every < 8 || option && every <= 2 && lost < 8 {
            prop_assert_eq!(counted, reported);
        }
    }
}

#[test]
fn flags_and_bits_are_inverse() {
    assert_eq!(ace_flags(0b100), Flags::AE);
}
