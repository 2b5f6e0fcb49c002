//! A sender and a receiver over a channel that loses, repeats, reorders and marks: everything arrives
//! exactly once and in order, and the flow ends.

mod common;

use common::{config_of, needs_ecn, way_of, WAYS};
use marqueue_cc::config::{Config, DctcpEct, Dialect};
use marqueue_cc::core::Counts;
use marqueue_cc::law_list::Law;
use marqueue_cc::receiver::{OutgoingAck, ReceiveContext};
use marqueue_cc::{Ack, Options, Receiver, Segment, Sender};
use marqueue_core::{Dur, Ecn, Flags, Rng, Time};
use proptest::prelude::*;
use std::collections::BTreeMap;

/// What goes over the channel.
#[derive(Clone, Copy, Debug)]
enum Packet {
    Data(Segment, Ecn, u32),
    Ack(OutgoingAck, Options),
}

/// How the channel treats what goes over it, there and back.
#[derive(Clone, Debug)]
struct Channel {
    loss: f64,
    repeat: f64,
    /// Delays are uniform between 50 ms and this much more.
    jitter: f64,
    mark: f64,
}

struct World<'a> {
    config: &'a Config,
    channel: Channel,
    rng: Rng,
    now: Time,
    sender: Sender,
    receiver: Receiver,
    /// By time of arrival and order of sending.
    on_way: BTreeMap<(Time, u64), Packet>,
    entered: u64,
    delivered: u32,
}

impl World<'_> {
    fn send(&mut self, packet: Packet) {
        if self.rng.uniform() < self.channel.loss {
            return;
        }
        loop {
            let delay = Dur::from_secs(0.05 + self.channel.jitter * self.rng.uniform());
            self.on_way.insert((self.now + delay, self.entered), packet);
            self.entered += 1;
            if self.rng.uniform() >= self.channel.repeat {
                return;
            }
        }
    }

    /// Puts on the way what the sender has said, after checking that it may say so.
    fn send_all(&mut self, segments: &[Segment], max_before: u32) {
        let core = self.sender.core();
        let mut max = max_before;
        for segment in segments {
            assert!(segment.seq < core.limit, "beyond the end of the data");
            assert!(segment.seq < core.una + self.config.max_window, "beyond the receiver's window");
            let new = segment.seq >= max;
            assert_eq!(segment.flags.has(Flags::RETRANSMIT), !new, "{segment:?}");
            assert!(segment.seq <= max, "new data are sent in order");
            max = max.max(segment.seq + 1);
            if self.config.dialect == Dialect::Rfc && segment.ect {
                // RFC 3168, 6.1.1 and 6.1.5; under DCTCP RFC 8257, 3.6 and 4.1.
                assert!(segment.seq > 0 || self.config.ect != DctcpEct::Data, "{segment:?}");
                assert!(new || segment.seq == 0 || self.config.ect == DctcpEct::All, "{segment:?}");
            }
            assert!(!segment.ect || self.config.ecn);
        }
        let window = core.window;
        assert!(window.cwnd.is_finite() && window.cwnd > 0.0 && window.ssthresh >= 1.0, "{window:?}");
        for &segment in segments {
            let marked = segment.ect && self.rng.uniform() < self.channel.mark;
            let ecn = match (segment.ect, marked) {
                (false, _) => Ecn::NotEct,
                (true, false) => Ecn::Ect0,
                (true, true) => Ecn::Ce,
            };
            self.send(Packet::Data(segment, ecn, self.config.timestamp(self.now)));
        }
    }

    fn receive(&mut self, segment: Segment, ecn: Ecn, timestamp: u32) {
        let mut options = Options::NONE;
        let mut rx = ReceiveContext { now: self.now, config: self.config, options: &mut options };
        let got = self.receiver.on_segment(&mut rx, segment.seq, segment.flags, ecn, timestamp);
        self.delivered += got.delivered;
        if let Some(ack) = got.ack {
            self.acknowledge(ack, options);
        }
    }

    /// One more than the SYN and everything delivered is what is expected next, unless the last
    /// segment has an acknowledgement of its own, due at once.
    fn acknowledge(&mut self, ack: OutgoingAck, options: Options) {
        let expected = self.delivered + u32::from(ack.ack > 0);
        let second_follows = self.config.dctcp_two_acks && self.receiver.deadline() == self.now;
        assert!(ack.ack == expected || second_follows && ack.ack + 1 == expected, "{ack:?}");
        assert!(ack.has_options || options == Options::NONE);
        let Options { sack, echo, .. } = options;
        for (i, &(start, end)) in sack.iter().enumerate().filter(|(_, b)| b.1 > 0) {
            let twice = self.config.dsack && i == 0 && end == start + 1;
            assert!(start < end && (ack.ack < start || twice), "{ack:?}");
        }
        assert_eq!(echo.is_some(), self.config.timestamps);
        self.send(Packet::Ack(ack, options));
    }

    fn step(&mut self, out: &mut Vec<Segment>) {
        let arrival = self.on_way.first_key_value().map_or(Time::NEVER, |(k, _)| k.0);
        let (sender, receiver) = (self.sender.deadline(), self.receiver.deadline());
        let next = arrival.min(sender).min(receiver);
        assert_ne!(next, Time::NEVER, "nothing will ever happen again");
        assert!(next >= self.now, "a timer in the past");
        self.now = next;
        let max = self.sender.core().max;
        out.clear();
        if arrival == next {
            match self.on_way.pop_first().expect("it has just been seen").1 {
                Packet::Data(segment, ecn, timestamp) => self.receive(segment, ecn, timestamp),
                Packet::Ack(outgoing, Options { sack, echo, stamp, counters }) => {
                    let (ack, ece, flags) = (outgoing.ack, outgoing.ece(), outgoing.echo);
                    self.sender.on_ack(
                        self.config,
                        next,
                        &Ack { ack, ece, flags, counters: &counters, sack: &sack, echo, stamp },
                        out,
                    );
                }
            }
        } else if receiver == next {
            let mut options = Options::NONE;
            let ack =
                self.receiver.on_timer(&mut ReceiveContext { now: next, config: self.config, options: &mut options });
            self.acknowledge(ack, options);
        } else {
            self.sender.on_timer(self.config, next, out);
        }
        self.send_all(out, max);
    }
}

/// Transfers `size` segments; what the sender counted.
fn transfer(config: &Config, size: u32, channel: Channel, seed: u64) -> Counts {
    let mut world = World {
        config,
        channel,
        rng: Rng::named(seed, "channel"),
        now: Time::ZERO,
        sender: Sender::new(config, Some(size), 0.5),
        receiver: Receiver::new(config),
        on_way: BTreeMap::new(),
        entered: 0,
        delivered: 0,
    };
    let mut out = Vec::new();
    world.sender.start(config, Time::ZERO, &mut out);
    world.send_all(&out, 0);
    let mut steps = 0;
    while !world.sender.is_done() {
        world.step(&mut out);
        steps += 1;
        assert!(steps < 200_000, "it does not end");
    }
    assert_eq!(world.delivered, size);
    assert_eq!(world.sender.core().una, size + 1);
    assert_eq!(world.sender.deadline(), Time::NEVER, "a finished flow has no timer");
    world.sender.core().counts
}

/// Over a channel that loses nothing but delivers up to 30 ms out of order: the share of transmissions
/// that were in vain.
fn wasted(choices: &[(&str, &str)], dupthresh: f64, dsack: bool) -> f64 {
    let numbers = [("dupthresh", dupthresh), ("max_window", 40.0), ("delayed_ack", 0.0)];
    let config = config_of("rfc", choices, &numbers, &[("dsack", dsack)]);
    let channel = Channel { loss: 0.0, repeat: 0.0, jitter: 0.03, mark: 0.0 };
    let counts = transfer(&config, 4000, channel, 1);
    f64::from(counts.retransmits) / f64::from(counts.sent)
}

#[test]
fn a_higher_dupthresh_tolerates_reordering() {
    for recovery in ["reno", "newreno", "sack"] {
        let waste = |dupthresh| wasted(&[("recovery", recovery)], dupthresh, false);
        let (three, forty) = (waste(3.0), waste(40.0));
        assert!(three > 0.01, "{recovery}: {three}");
        assert_eq!(forty, 0.0, "{recovery}: no segment is overtaken by forty");
    }
}

#[test]
fn rack_adapts_to_reordering() {
    let sack = wasted(&[("recovery", "sack")], 3.0, false);
    let rack = wasted(&[("recovery", "sack"), ("loss_detection", "rack")], 3.0, true);
    assert!(rack < sack / 10.0, "rack {rack}, sack {sack}");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(4000))]

    #[test]
    fn everything_arrives_once_and_the_flow_ends(
        seed in any::<u64>(),
        way in 0..WAYS.len(),
        law in 0..Law::NAMES.len(),
        delayed in any::<bool>(),
        ecn in any::<bool>(),
        limited_transmit in any::<bool>(),
        prr in any::<bool>(),
        counted in any::<bool>(),
        option in any::<bool>(),
        paced in any::<bool>(),
        every in 2u32..6,
        validation in prop::sample::select(&["none", "cwnd_limited", "rfc7661"][..]),
        timestamps in any::<bool>(),
        dsack in any::<bool>(),
        size in 1u32..200,
        windows in (1u32..12, 1u32..60),
        loss in prop_oneof![Just(0.0), 0.0..0.3],
        repeat in prop_oneof![Just(0.0), 0.0..0.3],
        jitter in prop_oneof![Just(0.0), 0.0..0.01, 0.0..0.5],
        mark in prop_oneof![Just(0.0), 0.0..1.0],
    ) {
        let control = Law::NAMES[law];
        let (preset, recovery) = way_of(way, control);
        let numbers = [
            ("delayed_ack", if delayed { 0.1 } else { 0.0 }),
            ("initial_window", f64::from(windows.0)),
            ("max_window", f64::from(windows.1)),
            ("ack_every", f64::from(every)),
        ];
        let flags = [
            ("ecn", (ecn && control != "bbr3") || needs_ecn(control)),
            ("limited_transmit", limited_transmit),
            ("timestamps", timestamps),
            ("accecn_option", option),
            ("dsack", dsack && recovery == "sack"),
        ];
        let reduction = if prr && preset != "ns2" { "prr" } else { "cut" };
        let choices = [
            ("recovery", recovery),
            ("control", control),
            ("reduction", reduction),
            ("window_validation", validation),
            ("ecn_feedback", if counted && preset != "ns2" { "accecn" } else { "law" }),
            ("pacing", if paced && preset != "ns2" { "window" } else { "law" }),
        ];
        let config = config_of(preset, &choices, &numbers, &flags);
        transfer(&config, size, Channel { loss, repeat, jitter, mark }, seed);
    }
}
