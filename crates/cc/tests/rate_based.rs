//! The sender of rate-based flows: pacing, round-trip times, when the rate is cut, and what silence does. The laws' own
//! steps are tested beside them. Rates are in packets a second.

mod common;

use common::at;
use marqueue_cc::rate_based::{AnyRateLaw, Receiver, Report, Sender};
use marqueue_core::params::{ParamValues, PolicySpec, Value};
use marqueue_core::{Bytes, Dur, Ecn, Price, Time};

/// Packets of 1000 bits.
fn law(name: &str, params: &[(&str, f64)]) -> AnyRateLaw {
    let params: ParamValues = params.iter().map(|&(k, x)| (k.into(), Value::Number(x))).collect();
    AnyRateLaw::build(&PolicySpec { name: name.into(), params }, Bytes(125)).expect("valid parameters")
}

/// A sender under AIMD from time 1 s on.
fn aimd(rate: f64) -> Sender {
    Sender::new(law("aimd", &[]), rate, at(1.0), at(100.0))
}

/// Runs its timer up to `until`. Returns when which packets left.
fn run(sender: &mut Sender, until: Time) -> Vec<(Time, u32)> {
    let mut sent = Vec::new();
    while sender.deadline() <= until {
        let now = sender.deadline();
        sent.extend(sender.on_timer(now).map(|seq| (now, seq)));
    }
    sent
}

fn echo(echo: u32) -> Report {
    Report { echo, ..Report::default() }
}

/// A sender at 100 packets a second whose packet 0 has been answered after 200 ms, at 1.2 s.
fn answered() -> Sender {
    let mut sender = aimd(100.0);
    run(&mut sender, at(1.2));
    sender.on_report(at(1.2), &echo(0));
    sender
}

fn close(got: f64, expected: f64, what: &str) {
    assert!((got - expected).abs() < 1e-9 * expected, "{what}: {got}, expected {expected}");
}

#[test]
fn packets_leave_at_the_rate_from_the_start_to_the_stop() {
    let mut sender = Sender::new(law("aimd", &[]), 8.0, at(1.0), at(2.0));
    assert_eq!(sender.on_timer(at(0.5)), None, "too early");
    let sent = run(&mut sender, at(50.0));
    let expected: Vec<_> = (0..8).map(|n| (at(1.0 + 0.125 * f64::from(n)), n)).collect();
    assert_eq!(sent, expected);
    assert_eq!(sender.deadline(), Time::NEVER, "the ninth would leave at the stop");
    assert_eq!(sender.counts.sent, 8);
}

#[test]
fn a_rate_has_bounds() {
    // A packet in 64 s (RFC 5348, t_mbi), and one a nanosecond.
    let mut sender = Sender::new(law("aimd", &[]), 1e-6, at(0.0), at(1e4));
    assert_eq!(sender.rate(), 1.0 / 64.0);
    sender.on_report(at(0.0), &Report { congested: 1, ..echo(0) });
    assert_eq!(sender.rate(), 1.0 / 64.0);
    let mut sender = Sender::new(law("aimd", &[("alpha", 1e6), ("interval", 0.2)]), 0.9999999e9, at(0.0), at(1e4));
    sender.on_timer(at(0.0));
    sender.on_report(at(0.1), &echo(0));
    sender.on_timer(at(0.3));
    assert_eq!(sender.rate(), 1e9);
}

#[test]
fn the_rate_grows_by_one_packet_an_interval_of_a_round_trip() {
    // Equation of RAP: r + 1/T each interval T, here 0.2 s.
    let mut sender = answered();
    run(&mut sender, at(1.39));
    sender.on_report(at(1.39), &echo(18));
    close(sender.rate(), 100.0, "the interval is not over");
    run(&mut sender, at(1.4));
    close(sender.rate(), 105.0, "0.2 s after the first report");
    // The next packet that was timed is the first after the answer.
    run(&mut sender, at(1.61));
    close(sender.rate(), 105.0, "no report in it");
}

#[test]
fn the_round_trip_time_is_smoothed() {
    // RFC 5348, section 4.3: 0.9 of the past. Packet 21 is the first to leave after the answer; 20 left with it.
    let mut sender = answered();
    let sent = run(&mut sender, at(1.22));
    let (left, seq) = sent[0];
    assert_eq!(seq, 21);
    sender.on_report(left + Dur::from_secs(0.1), &echo(seq - 1));
    sender.on_report(left + Dur::from_secs(0.1), &echo(seq));
    // The interval that follows is 0.9 x 0.2 + 0.1 x 0.1 long: 1/0.19 more.
    sender.on_timer(at(1.4));
    let before = sender.rate();
    sender.on_report(at(1.45), &echo(seq + 1));
    sender.on_timer(at(1.4 + 0.189));
    assert_eq!(sender.rate(), before);
    sender.on_timer(at(1.4 + 0.19));
    close(sender.rate(), before + 1.0 / 0.19, "srtt 0.19 s");
}

#[test]
fn a_later_answer_ends_the_timing_without_a_measurement() {
    // The timed packet 0 was lost: the answer to 1 says nothing about it, and the next packet is timed.
    let mut sender = aimd(100.0);
    run(&mut sender, at(1.2));
    sender.on_report(at(1.2), &echo(1));
    assert!(!matches!(sender.deadline(), Time::NEVER));
    let sent = run(&mut sender, at(1.25));
    let (left, seq) = sent[0];
    sender.on_report(left + Dur::from_secs(0.1), &echo(seq));
    let begun = left + Dur::from_secs(0.1);
    sender.on_report(begun + Dur::from_secs(0.05), &echo(seq + 1));
    run(&mut sender, begun + Dur::from_secs(0.099));
    close(sender.rate(), 100.0, "before the interval ends");
    run(&mut sender, begun + Dur::from_secs(0.1));
    close(sender.rate(), 110.0, "an interval of the 0.1 s that were measured");
}

#[test]
fn congestion_cuts_the_rate_once_for_all_that_was_sent_before() {
    let mut sender = answered();
    run(&mut sender, at(1.25));
    let sent = sender.counts.sent;
    sender.on_report(at(1.25), &Report { lost: 1, congested: 3, ..echo(6) });
    close(sender.rate(), 50.0, "beta = 1/2");
    // Losses of packets sent before the cut are of the same event; the first sent after it is not.
    sender.on_report(at(1.26), &Report { lost: 2, congested: sent, ..echo(9) });
    close(sender.rate(), 50.0, "the last sent before the cut");
    run(&mut sender, at(1.35));
    sender.on_report(at(1.35), &Report { lost: 3, congested: sent + 1, ..echo(10) });
    close(sender.rate(), 25.0, "the first sent after it");
    // An interval with a cut does not raise the rate.
    run(&mut sender, at(1.45));
    close(sender.rate(), 25.0, "at the end of the interval");
}

#[test]
fn a_cut_without_a_new_loss_is_for_a_mark() {
    let mut sender = answered();
    sender.on_report(at(1.21), &Report { lost: 2, congested: 2, ..echo(2) });
    assert_eq!(sender.counts.ecn_cuts, 0, "a loss");
    run(&mut sender, at(1.3));
    let newest = sender.counts.sent;
    // Reports are cumulative: an old one may come late and says nothing new.
    sender.on_report(at(1.3), &Report { lost: 1, congested: 1, ..echo(1) });
    sender.on_report(at(1.31), &Report { lost: 2, congested: newest, ..echo(21) });
    assert_eq!(sender.counts.ecn_cuts, 1, "a mark: no more were lost than before");
    run(&mut sender, at(1.5));
    let newest = sender.counts.sent;
    sender.on_report(at(1.5), &Report { lost: 3, congested: newest, ..echo(22) });
    assert_eq!(sender.counts.ecn_cuts, 1, "a loss");
}

#[test]
fn silence_cuts_the_rate() {
    // RFC 5348: two seconds before the first report, then four round trips, or two packets if that is longer.
    let mut sender = aimd(100.0);
    run(&mut sender, at(2.99));
    assert_eq!((sender.rate(), sender.counts.timeouts), (100.0, 0));
    run(&mut sender, at(3.0));
    assert_eq!((sender.rate(), sender.counts.timeouts), (50.0, 1));
    run(&mut sender, at(4.99));
    assert_eq!((sender.rate(), sender.counts.timeouts), (50.0, 1));
    run(&mut sender, at(5.0));
    assert_eq!((sender.rate(), sender.counts.timeouts), (25.0, 2));

    let mut sender = answered();
    run(&mut sender, at(1.999));
    assert_eq!(sender.counts.timeouts, 0);
    run(&mut sender, at(2.0));
    assert_eq!(sender.counts.timeouts, 1, "0.8 s after the report");

    let mut slow = Sender::new(law("aimd", &[]), 0.5, at(0.0), at(100.0));
    slow.on_timer(at(0.0));
    slow.on_report(at(0.1), &echo(0));
    assert!(slow.rate() < 1.0);
    let silent = at(0.1 + 2.0 / 0.5);
    run(&mut slow, Time(silent.0 - 1));
    assert_eq!(slow.counts.timeouts, 0);
    run(&mut slow, silent);
    assert_eq!(slow.counts.timeouts, 1, "two packets take longer than four round trips");
}

#[test]
fn a_cut_for_silence_counts_for_what_was_sent_before_it() {
    let mut sender = aimd(100.0);
    run(&mut sender, at(2.995));
    let sent = sender.counts.sent;
    run(&mut sender, at(3.0));
    assert_eq!(sender.rate(), 50.0);
    sender.on_report(at(3.1), &Report { lost: 1, congested: sent, ..echo(9) });
    assert_eq!(sender.rate(), 50.0, "the same event");
    sender.on_report(at(3.1), &Report { lost: 2, congested: sent + 1, ..echo(9) });
    assert_eq!(sender.rate(), 25.0, "another");
}

#[test]
fn laws_that_listen_to_routers_change_the_rate_at_their_prices() {
    // Packets of 1000 bits: EMKC adds 100 packets a second; Kelly pays 20 a second and takes half of a step.
    for (name, expected, least) in [
        ("kelly", 100.0 + 0.5 * (20.0 - 100.0 * 0.25), 10.0),
        ("emkc_naive", 100.0 + 100.0 - 0.9 * 100.0 * 0.25, 100.0),
    ] {
        let mut sender = Sender::new(law(name, &[]), 100.0, at(1.0), at(100.0));
        sender.on_timer(at(1.0));
        let mut signals = sender.header(0).expect("a header for routers");
        signals.add_price(Price { router: 1, seq: 1, p: 0.25, delta: 0.1 });
        assert_eq!(sender.rate_and_price(), (100.0, None));
        sender.on_report(at(1.1), &Report { signals: Some(signals), ..echo(0) });
        close(sender.rate(), expected, name);
        assert_eq!(sender.rate_and_price(), (sender.rate(), Some(0.25)), "{name}");
        // Neither losses nor the end of an interval moves it.
        sender.on_report(at(1.1), &Report { lost: 1, congested: 1, ..echo(0) });
        run(&mut sender, at(1.21));
        close(sender.rate(), expected, name);
        // Silence halves it, down to what a step adds.
        run(&mut sender, at(1.6));
        close(sender.rate(), f64::max(expected / 2.0, least), name);
        assert_eq!(sender.counts.timeouts, 1);
    }
    // EMKC: the first price only begins an interval; of the next, 60 packets in a tenth of a second are the reference.
    let mut sender = Sender::new(law("emkc", &[]), 100.0, at(1.0), at(100.0));
    sender.on_timer(at(1.0));
    for (seq, usr) in [(1, 0), (2, 60)] {
        let mut signals = sender.header(usr).expect("a header for routers");
        signals.add_price(Price { router: 1, seq, p: 0.25, delta: 0.1 });
        sender.on_report(at(1.1), &Report { signals: Some(signals), ..echo(0) });
    }
    let expected = 600.0 + 100.0 - 0.9 * 0.25 * 600.0;
    run(&mut sender, at(1.21));
    assert!((sender.rate() / expected - 1.0).abs() < 1e-7, "delta has the digits of a float: {}", sender.rate());
    assert_eq!(sender.rate_and_price().1, Some(0.25));
    // AIMD does not read them.
    let mut sender = answered();
    let signals = law("kelly", &[]).header(0, 1.0);
    sender.on_report(at(1.21), &Report { signals, ..echo(1) });
    assert_eq!(sender.rate(), 100.0);
    assert!(aimd(1.0).header(0).is_none());
    assert_eq!(aimd(1.0).rate_and_price(), (1.0, None));
}

#[test]
fn aimd_holds_the_mean_rate_of_its_equation() {
    // The saw-tooth: every 1/p-th packet is marked; sqrt(alpha (1 + beta)/(2 (1 - beta) p T)) with alpha = 1/T.
    let (rtt, every) = (0.1, 10_000);
    for beta in [0.5, 0.8] {
        let mut sender = Sender::new(law("aimd", &[("beta", beta)]), 100.0, at(0.0), at(1000.0));
        let mut receiver = Receiver::default();
        let mut answers = std::collections::VecDeque::new();
        let (mut skipped, mut end) = (0, at(0.0));
        loop {
            let answer = answers.front().map_or(Time::NEVER, |&(due, _)| due);
            let now = sender.deadline().min(answer);
            if now == Time::NEVER {
                break;
            }
            if now == answer {
                let (_, report) = answers.pop_front().expect("it is there");
                sender.on_report(now, &report);
            } else if let Some(seq) = sender.on_timer(now) {
                let ecn = if seq % every == every - 1 { Ecn::Ce } else { Ecn::Ect0 };
                answers.push_back((now + Dur::from_secs(rtt), receiver.on_packet(seq, ecn, None)));
                end = now;
                if now < at(100.0) {
                    skipped = seq + 1;
                }
            }
        }
        let mean = f64::from(sender.counts.sent - skipped) / (end - at(100.0)).secs();
        let expected = ((1.0 + beta) / (2.0 * (1.0 - beta)) * f64::from(every)).sqrt() / rtt;
        // An interval with a cut does not raise the rate: of 47 in a saw-tooth at beta = 0.8 one, or half of that in the mean.
        assert!((mean / expected - 1.0).abs() < 0.02, "beta = {beta}: {mean}, expected {expected}");
    }
}
