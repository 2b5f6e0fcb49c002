//! TCP's options: timestamps and window scale (RFC 7323), D-SACK (RFC 2883).

mod common;

use common::{at, config_of, Lead};
use marqueue_cc::receiver::{OutgoingAck, ReceiveContext};
use marqueue_cc::{Ack, Config, Options, Receiver};
use marqueue_core::params::{ParamValues, Value};
use marqueue_core::{Ecn, Flags, Time};

/// The RFCs' rules with ten segments after the handshake.
fn set(numbers: &[(&str, f64)], flags: &[(&str, bool)]) -> Config {
    config_of("rfc", &[], &[&[("initial_window", 10.0), ("delayed_ack", 0.0)], numbers].concat(), flags)
}

mod rfc_7323 {
    use super::*;

    fn data(r: &mut Receiver, config: &Config, seq: u32, timestamp: u32) -> Option<(OutgoingAck, Options)> {
        let mut options = Options::NONE;
        let mut rx = ReceiveContext { now: Time::ZERO, config, options: &mut options };
        let ack = r.on_segment(&mut rx, seq, Flags::NONE, Ecn::NotEct, timestamp).ack;
        ack.map(|ack| (ack, options))
    }

    fn echo(answer: Option<(OutgoingAck, Options)>) -> u32 {
        let timestamp = answer.filter(|(ack, _)| ack.has_options).and_then(|(_, options)| options.echo);
        timestamp.expect("an acknowledgement with a timestamp")
    }

    #[test]
    fn the_timestamp_returned_is_that_of_what_the_acknowledgement_waited_for() {
        let (c, mut r) = (set(&[("delayed_ack", 0.1)], &[("timestamps", true)]), Receiver::default());
        assert_eq!(echo(data(&mut r, &c, 0, 7)), 7, "the SYN's");
        assert_eq!(data(&mut r, &c, 1, 100), None);
        assert_eq!(echo(data(&mut r, &c, 2, 110)), 100, "4.3, case A: the earliest of two");
        // 3 is late. Case B: nothing beyond a hole counts.
        assert_eq!(echo(data(&mut r, &c, 4, 120)), 100);
        assert_eq!(echo(data(&mut r, &c, 5, 121)), 100);
        // Case C: what fills it does.
        assert_eq!(echo(data(&mut r, &c, 3, 130)), 130);
        assert_eq!(data(&mut r, &c, 6, 140), None);
        let mut options = Options::NONE;
        let ack = r.on_timer(&mut ReceiveContext { now: r.deadline(), config: &c, options: &mut options });
        assert_eq!(echo(Some((ack, options))), 140);
    }

    #[test]
    fn an_old_timestamp_does_not_replace_a_newer_one_even_when_the_clock_wraps() {
        let (c, mut r) = (set(&[], &[("timestamps", true)]), Receiver::default());
        data(&mut r, &c, 0, u32::MAX - 1);
        assert_eq!(echo(data(&mut r, &c, 1, 3)), 3, "past the end of 32 bits is later");
        assert_eq!(echo(data(&mut r, &c, 1, u32::MAX)), 3, "a late copy");
    }

    #[test]
    fn twelve_bytes_on_every_packet() {
        let (with, without) = (set(&[], &[("timestamps", true)]), set(&[], &[]));
        assert_eq!((with.wire, with.header), (without.wire + 12, without.header + 12));
        let mut r = Receiver::default();
        data(&mut r, &with, 0, 0);
        assert_eq!(data(&mut r, &with, 1, 0).expect("at once").0.bytes, 52);
        // Three blocks beside it are all that 40 bytes of options hold: 12 + 4 + 3 x 8.
        for seq in [3, 5, 7] {
            data(&mut r, &with, seq, 0);
        }
        assert_eq!(data(&mut r, &with, 9, 0).expect("at once").0.bytes, 40 + 40);
    }

    fn timed(next: u32, sent: f64, l: &Lead) -> Ack<'static> {
        Ack { ack: next, echo: Some(l.config.timestamp(at(sent))), ..Ack::default() }
    }

    fn open() -> Lead {
        let mut l = Lead::new(set(&[], &[("timestamps", true)]), None);
        l.now = at(0.1);
        l.hear(timed(1, 0.0, &l));
        l
    }

    #[test]
    fn every_acknowledgement_of_new_data_measures() {
        let mut l = open();
        let srtt = |l: &Lead| l.sender.core().rto.srtt(&l.config);
        assert_eq!(srtt(&l), 0.1);
        l.now = at(0.3);
        l.hear(timed(2, 0.1, &l));
        // Appendix G: of ten segments out, every second one draws a measurement: alpha is 1/8 / 5.
        let once = 0.1 + 0.125 / 5.0 * (0.2 - 0.1);
        assert!((srtt(&l) - once).abs() < 1e-12, "{}", srtt(&l));
        l.hear(timed(3, 0.1, &l)); // 2 to 12 are out: 11
        let twice = once + 0.125 / 6.0 * (0.2 - once);
        assert!((srtt(&l) - twice).abs() < 1e-12, "{}", srtt(&l));
        l.hear(timed(3, 0.25, &l));
        assert!((srtt(&l) - twice).abs() < 1e-12, "4.1: a duplicate measures nothing");
    }

    #[test]
    fn a_retransmission_is_measured_and_ends_the_back_off() {
        let mut l = open();
        assert_eq!([l.time_out(), l.time_out()], [[1], [1]]);
        assert_eq!(l.timeout(), 4.0);
        let sent = l.now.secs();
        l.now = at(sent + 0.1);
        l.hear(timed(2, sent, &l));
        assert_eq!(l.timeout(), 1.0, "unambiguous, other than under Karn's rule");
    }

    #[test]
    fn a_window_is_what_its_field_can_say() {
        let window = |scale: f64| set(&[("window_scale", scale)], &[]).max_window;
        assert_eq!(window(0.0), 65_535 / 1460);
        assert_eq!(window(7.0), (65_535 << 7) / 1460);
        assert_eq!(window(14.0), ((65_535u64 << 14) / 1460) as u32, "2.3: at most 2^30");
        assert_eq!(set(&[("window_scale", 14.0), ("max_window", 20.0)], &[]).max_window, 20, "the smaller of both");
        let l = Lead::open(set(&[("window_scale", 0.0), ("initial_window", 100.0)], &[]), None);
        assert_eq!(l.sent.len(), 44);
    }

    #[test]
    fn the_longest_segment_is_what_an_ipv4_packet_holds_beside_its_headers() {
        for (timestamps, longest) in [(false, 65_535 - 40), (true, 65_535 - 52)] {
            let segment = |bytes: u32| {
                let values = ParamValues::from([
                    ("segment".into(), Value::Number(f64::from(bytes))),
                    ("timestamps".into(), Value::Flag(timestamps)),
                ]);
                Config::with_preset("rfc", &values)
            };
            assert_eq!(segment(longest).expect("it fits").wire, 65_535);
            // Without timestamps the range of the parameter ends there.
            assert!(segment(longest + 1).is_err(), "{longest} and one");
        }
    }

    #[test]
    fn half_a_shift_is_refused() {
        let error = Config::with_preset("rfc", &ParamValues::from([("window_scale".into(), Value::Number(0.5))]));
        assert_eq!(
            error.expect_err("not whole").to_string(),
            "window_scale: got 0.5, expected a whole number, 0 to 14"
        );
    }
}

mod rfc_2883 {
    use super::*;

    fn blocks(r: &mut Receiver, config: &Config, seq: u32) -> Vec<(u32, u32)> {
        let mut options = Options::NONE;
        let mut rx = ReceiveContext { now: Time::ZERO, config, options: &mut options };
        let ack = r.on_segment(&mut rx, seq, Flags::NONE, Ecn::NotEct, 0).ack.expect("at once");
        assert!(ack.has_options || options == Options::NONE);
        options.sack.into_iter().filter(|b| b.1 > 0).collect()
    }

    #[test]
    fn a_segment_that_came_twice_is_in_the_first_block() {
        let (c, mut r) = (set(&[], &[("dsack", true)]), Receiver::default());
        for seq in [0, 1, 2] {
            assert_eq!(blocks(&mut r, &c, seq), []);
        }
        assert_eq!(blocks(&mut r, &c, 1), [(1, 2)], "below what is acknowledged");
        assert_eq!(blocks(&mut r, &c, 5), [(5, 6)], "once is nothing to report");
        assert_eq!(blocks(&mut r, &c, 6), [(5, 7)]);
        assert_eq!(blocks(&mut r, &c, 5), [(5, 6), (5, 7)], "out of order: the block that holds it follows");
        assert_eq!(blocks(&mut r, &c, 0), [(0, 1), (5, 7)]);
    }

    #[test]
    fn only_if_asked_for() {
        let (c, mut r) = (set(&[], &[]), Receiver::default());
        for seq in [0, 1, 1] {
            assert_eq!(blocks(&mut r, &c, seq), []);
        }
    }
}
