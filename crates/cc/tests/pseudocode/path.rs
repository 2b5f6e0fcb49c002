//! A sender and a receiver over a path that loses, delays and reorders packets, with a transcription of pseudocode told
//! of everything that the sender is told.

use marqueue_cc::core::Core;
use marqueue_cc::receiver::ReceiveContext;
use marqueue_cc::{Ack, Config, Options, Receiver, Segment, Sender};
use marqueue_core::{Dur, Ecn, Flags, Rng, Time};
use std::collections::BTreeMap;

/// A call of the sender that has returned.
pub struct Call<'a> {
    pub now: Time,
    pub config: &'a Config,
    /// The sender's state before it.
    pub before: Core,
    /// After it. Transcriptions take from here what is not theirs to say: the congestion window, the smoothed
    /// round-trip time, the retransmission timer.
    pub after: Core,
    /// The segments that it has sent.
    pub sent: Vec<u32>,
}

/// A transcription. Each function returns the segments that the text sends.
pub trait Pseudocode {
    fn on_ack(&mut self, call: &Call<'_>, ack: &Ack<'_>) -> Vec<u32>;
    fn on_timer(&mut self, call: &Call<'_>) -> Vec<u32>;
    /// Compares what beside the segments is to be the same after a call.
    fn check(&self, _call: &Call<'_>) {}
}

enum Packet {
    Data(u32, u32),
    Ack(u32, Options),
}

/// The path's properties.
#[derive(Clone, Copy, Debug)]
pub struct Weather {
    pub loss: f64,
    pub ack_loss: f64,
    /// Probability with which the SYN is lost; 0 unless a comparison is about it.
    pub syn_loss: f64,
    /// Each packet takes up to this much longer than 50 ms.
    pub jitter: Dur,
}

impl Weather {
    /// Any: in most sequences something is lost, and in most it arrives in another order or long after a probe.
    pub fn draw(rng: &mut Rng) -> Weather {
        Weather {
            loss: 0.4 * rng.uniform().powi(2),
            syn_loss: 0.0,
            ack_loss: 0.3 * rng.uniform().powi(3),
            jitter: Dur([0, 4_000_000, 40_000_000, 400_000_000][rng.below(4) as usize]),
        }
    }
}

/// Runs `events` events of a connection of `size` segments. The transcription is to be in the state in which nothing but
/// the SYN has been sent.
pub fn compare(
    config: &Config,
    size: Option<u32>,
    weather: Weather,
    rng: &mut Rng,
    events: u32,
    text: &mut impl Pseudocode,
) {
    let mut sender = Sender::new(config, size, 0.0);
    let mut receiver = Receiver::default();
    let mut on_way: BTreeMap<(Time, u64), Packet> = BTreeMap::new();
    let mut number = 0;
    let mut put = |on_way: &mut BTreeMap<_, _>, rng: &mut Rng, loss: f64, now: Time, packet: Packet| {
        if rng.uniform() >= loss {
            number += 1;
            let delay = Dur(50_000_000 + (weather.jitter.0 as f64 * rng.uniform()) as u64);
            on_way.insert((now + delay, number), packet);
        }
    };
    let mut out: Vec<Segment> = Vec::new();
    let mut now = Time::ZERO;
    sender.start(config, now, &mut out);
    put(&mut on_way, rng, weather.syn_loss, now, Packet::Data(0, config.timestamp(now)));
    for _ in 0..events {
        let arrival = on_way.first_key_value().map_or(Time::NEVER, |(key, _)| key.0);
        now = arrival.min(sender.deadline());
        if now == Time::NEVER {
            return;
        }
        out.clear();
        let before = sender.core().clone();
        let heard = match on_way.first_entry().filter(|first| first.key().0 == now) {
            None => None,
            Some(first) => match first.remove() {
                Packet::Data(seq, timestamp) => {
                    let mut options = Options::NONE;
                    let mut rx = ReceiveContext { now, config, options: &mut options };
                    if let Some(ack) = receiver.on_segment(&mut rx, seq, Flags::NONE, Ecn::NotEct, timestamp).ack {
                        let loss = if seq == 0 { 0.0 } else { weather.ack_loss };
                        put(&mut on_way, rng, loss, now, Packet::Ack(ack.ack, options));
                    }
                    continue;
                }
                Packet::Ack(ack, _) if ack < before.una => continue,
                Packet::Ack(ack, options) => Some((ack, options)),
            },
        };
        let call = |before: Core, sender: &Sender, out: &[Segment]| {
            let sent = out.iter().map(|segment| segment.seq).collect();
            Call { now, config, before, after: sender.core().clone(), sent }
        };
        let (call, said) = match &heard {
            None => {
                sender.on_timer(config, now, &mut out);
                let call = call(before, &sender, &out);
                let said = text.on_timer(&call);
                (call, said)
            }
            Some((ack, options)) => {
                let ack = Ack { ack: *ack, ece: false, sack: &options.sack, echo: options.echo, ..Ack::default() };
                sender.on_ack(config, now, &ack, &mut out);
                let call = call(before, &sender, &out);
                let said = text.on_ack(&call, &ack);
                (call, said)
            }
        };
        assert_eq!(call.sent, said, "sent at {now:?}, and sent by the text");
        text.check(&call);
        for segment in &out {
            put(&mut on_way, rng, weather.loss, now, Packet::Data(segment.seq, config.timestamp(now)));
        }
    }
}
