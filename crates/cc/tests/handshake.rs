//! Connections with and without the exchange of SYN and SYN-ACK (RFC 9293, 3.5; ns-2's syn_).

use marqueue_cc::receiver::ReceiveContext;
use marqueue_cc::{Ack, Config, Options, Receiver, Segment, Sender};
use marqueue_core::params::{ParamValues, Value};
use marqueue_core::{Dur, Ecn, Time};

const RTT: Dur = Dur(100_000_000);

fn config(preset: &str, recovery: &str, handshake: bool) -> Config {
    let mut values = ParamValues::new();
    values.insert("recovery".into(), Value::Choice(recovery.into()));
    values.insert("handshake".into(), Value::Flag(handshake));
    values.insert("delayed_ack".into(), Value::Number(0.0));
    values.insert("ecn".into(), Value::Flag(true));
    Config::with_preset(preset, &values).expect("a valid preset")
}

/// What happens to a flow of `size` segments over a path of one round-trip time that loses the segments numbered in
/// `lost` once. Returns the segments in the order sent, and the time of the last acknowledgement.
fn transfer(config: &Config, size: u32, lost: &[u32]) -> (Vec<u32>, Time) {
    let (mut sender, mut receiver) = (Sender::new(config, Some(size), 0.0), Receiver::new(config));
    let (mut sent, mut lost) = (Vec::new(), lost.to_vec());
    let mut out: Vec<Segment> = Vec::new();
    let mut now = Time::ZERO;
    sender.start(config, now, &mut out);
    while !sender.is_done() {
        assert!(now < Time(60_000_000_000), "the flow does not end: {sent:?}");
        let arriving: Vec<Segment> = std::mem::take(&mut out);
        sent.extend(arriving.iter().map(|s| s.seq));
        if arriving.is_empty() {
            now = sender.deadline();
            assert!(now != Time::NEVER, "nothing to wait for: {sent:?}");
            sender.on_timer(config, now, &mut out);
            continue;
        }
        now += RTT;
        let mut acks = Vec::new();
        for segment in &arriving {
            if let Some(i) = lost.iter().position(|&seq| seq == segment.seq) {
                lost.remove(i);
                continue;
            }
            let mut options = Options::NONE;
            let mut rx = ReceiveContext { now, config, options: &mut options };
            let ecn = if segment.ect { Ecn::Ect0 } else { Ecn::NotEct };
            let outcome = receiver.on_segment(&mut rx, segment.seq, segment.flags, ecn, u32::MAX);
            let ack = outcome.ack.expect("every segment is acknowledged at once");
            acks.push((ack, options));
        }
        for (ack, options) in acks {
            let echo = if ack.has_options { options.echo } else { None };
            let sack = if ack.has_options { options.sack } else { Options::NONE.sack };
            sender.on_ack(
                config,
                now,
                &Ack { ack: ack.ack, ece: ack.ece(), sack: &sack, echo, ..Ack::default() },
                &mut out,
            );
        }
    }
    (sent, now)
}

const RECOVERIES: [(&str, &str); 5] =
    [("rfc", "reno"), ("rfc", "newreno"), ("rfc", "sack"), ("ns2", "newreno"), ("ns2", "sack")];

#[test]
fn without_the_exchange_the_first_window_is_data_and_the_flow_ends_a_round_trip_earlier() {
    for (preset, recovery) in RECOVERIES {
        let (with, end_with) = transfer(&config(preset, recovery, true), 8, &[]);
        let (without, end_without) = transfer(&config(preset, recovery, false), 8, &[]);
        assert_eq!(with, (0..=8).collect::<Vec<_>>(), "{preset}, {recovery}");
        assert_eq!(without, (1..=8).collect::<Vec<_>>(), "{preset}, {recovery}");
        assert_eq!(Time(end_with.0 - RTT.0), end_without, "{preset}, {recovery}");
    }
}

#[test]
fn without_the_exchange_losses_are_repaired_all_the_same() {
    for (preset, recovery) in RECOVERIES {
        for lost in [&[1][..], &[2, 3], &[8], &[1, 2, 3, 4, 5, 6, 7, 8]] {
            let (sent, _) = transfer(&config(preset, recovery, false), 8, lost);
            let repaired = lost.iter().all(|seq| sent.iter().filter(|&s| s == seq).count() >= 2);
            assert!(repaired && !sent.contains(&0), "{preset}, {recovery}, lost {lost:?}: {sent:?}");
        }
    }
}

#[test]
fn without_the_exchange_data_is_ecn_capable_from_the_first_segment() {
    let config = config("rfc", "sack", false);
    let mut out = Vec::new();
    Sender::new(&config, None, 0.0).start(&config, Time::ZERO, &mut out);
    assert_eq!(out.len(), 10, "the initial window of RFC 6928");
    assert!(out.iter().all(|segment| segment.ect));
}

/// As ns-2 does with `syn_ false`: a trace of its first packets, each with the window of two that it has by default.
#[test]
fn in_ns2_the_first_data_negotiates_ecn_where_there_is_no_syn() {
    let config = config("ns2", "newreno", false);
    let (mut sender, mut out) = (Sender::new(&config, None, 0.0), Vec::new());
    sender.start(&config, Time::ZERO, &mut out);
    assert_eq!(out.iter().map(|s| (s.seq, s.ect)).collect::<Vec<_>>(), [(1, false), (2, true)]);
    let mut sent = |ack| {
        out.clear();
        sender.on_ack(&config, Time::ZERO + RTT, &Ack { ack, ..Ack::default() }, &mut out);
        out.iter().map(|s| s.seq).collect::<Vec<_>>()
    };
    assert_eq!(sent(2), [3], "the answer to the negotiation does not open the window");
    assert_eq!(sent(3), [4, 5]);
}
