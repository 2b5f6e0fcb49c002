//! A cell of 5G NR as one terminal sees it: slots, grants after a scheduling delay, HARQ.
//!
//! Time is divided into slots. Of every `period_slots` the last `usable_slots` are of the direction of the link: TDD; FDD
//! has 1 of 1. In such a slot the base station grants the terminal a part of the resource blocks, uniform from
//! `share` (1 - `spread`) to `share` (1 + `spread`); all of them carry `rate`. What is granted is sent as one transport
//! block: a string of bytes, in which packets may be divided.
//!
//! A block is lost with probability `bler`, each time it is sent. `harq_delay` after its end or later it is sent again, in a
//! usable slot and before new data, until it arrives; what does not fit into its slot is taken from the next. Packets are
//! handed on in order, so that later blocks wait for it.
//!
//! **Scheduling.** The base station grants what it knows of. A report of waiting bytes goes with each block, and is known
//! `grant_delay` later. A terminal that has nothing granted or reported sends a scheduling request at the next multiple
//! of `request_period`; `grant_delay` later it brings a grant of `request_bytes`. The downlink, whose queue is in the
//! base station, is `grant_delay` 0 and `request_period` 0, the defaults: all that waits is known at once. With `request_period` 0 and a
//! `grant_delay` the terminal can report in every usable slot.
//!
//! A lone packet of the downlink waits half a slot on average, is sent in one, and takes as much more as repetitions
//! do: `bler` / (1 - `bler`) times a slot and `harq_delay` up to the next slot. This is the sum by which 3GPP evaluates
//! user plane latency (TR 37.910, 5.7), without processing at both ends, which belongs to the delay of the link. With
//! a busy sender packets of L bytes cross at
//!
//! ```text
//! rate usable_slots / period_slots share (1 - bler) L / (L + overhead)
//! ```
//!
//! Sources: 3GPP TS 38.211 (slots), TS 38.321 (scheduling request, buffer status report, HARQ), TS 38.322 (segmentation).
//!
//! Left out: adaptation of the rate to the channel (see `schedule` and `delivery_trace` of a link), soft combining (a
//! repetition fails as often as the first), a limit of repetitions, losses above RLC, handover, carrier aggregation,
//! the granularity of resource blocks.

use super::segments::Segments;
use super::{Backlog, MediumModel};
use marqueue_core::params::{whole, ParamError};
use marqueue_core::{Bytes, Dur, Packet, Rate, Rng, Time};
use std::collections::VecDeque;

marqueue_core::params! {
    /// Parameters of a cell of 5G NR.
    pub struct Params {
        /// Length of a slot: 1 ms at 15 kHz between carriers, 0.5 ms at 30 kHz.
        slot: f64 { unit: Seconds, range: 1e-5 => 0.01, default: 0.0005, source: "3GPP TS 38.211, 4.3.2: 30 kHz" },
        /// Slots after which the pattern of directions repeats.
        period_slots: f64 { unit: One, range: 1.0 => 1000.0, default: 1.0, source: "marqueue; FDD" },
        /// Slots of a period that the link may use, the last ones.
        usable_slots: f64 { unit: One, range: 1.0 => 1000.0, default: 1.0, source: "marqueue; FDD" },
        /// Mean part of the resource blocks of a slot that the terminal is granted.
        share: f64 { unit: Fraction, range: 0.001 => 1.0, default: 1.0, source: "marqueue; no other terminal" },
        /// Largest deviation of this part, as a share of its mean; the deviation is uniform.
        spread: f64 { unit: Fraction, range: 0.0 => 1.0, default: 0.0, source: "marqueue; no other terminal" },
        /// Probability that a transport block is lost.
        bler: f64 { unit: Fraction, range: 0.0 => 0.9, default: 0.1, source: "usual target of link adaptation" },
        /// Shortest time from the end of a lost block to its repetition.
        harq_delay: f64 { unit: Seconds, range: 0.0 => 1.0, default: 0.004, source: "marqueue; eight slots of 0.5 ms" },
        /// Time from a report or a request to the first slot that it brings.
        grant_delay: f64 { unit: Seconds, range: 0.0 => 1.0, default: 0.0, source: "marqueue; the downlink" },
        /// Time between opportunities for a scheduling request; 0 if none is needed.
        request_period: f64 { unit: Seconds, range: 0.0 => 1.0, default: 0.0, source: "marqueue; the downlink" },
        /// Bytes that a scheduling request brings.
        request_bytes: f64 { unit: Bytes, range: 1.0 => 1e6, default: 500.0, source: "marqueue; schedulers differ" },
        /// Bytes beside each packet.
        overhead: f64 { unit: Bytes, range: 0.0 => 1000.0, default: 9.0, source: "3GPP TS 38.321, 38.322, 38.323: headers of MAC, RLC and PDCP, 3 each" },
    }
}

/// A transport block that has been sent and is not handed on.
#[derive(Debug)]
struct Block {
    /// The packets that end in it.
    packets: Vec<Packet>,
    bytes: u64,
    state: State,
}

/// What became of the last transmission of a block.
#[derive(Clone, Copy, Debug, PartialEq)]
enum State {
    Received,
    /// To be sent again, at this time or later.
    Lost(Time),
}

/// A cell of 5G NR.
#[derive(Debug)]
pub struct Nr {
    params: Params,
    rate: Rate,
    rng: Rng,
    slot: Dur,
    period: u64,
    usable: u64,
    grant_delay: Dur,
    request_period: Dur,
    segments: Segments,
    /// Blocks in order. The first has not arrived.
    blocks: VecDeque<Block>,
    /// Bytes of repetitions that were more than their slot had room for. They are taken from the next slots.
    owed: u64,
    /// Bytes that the base station knows of and has not granted.
    known: u64,
    /// Reports and requests on their way: when they are known, and the bytes.
    reported: VecDeque<(Time, u64)>,
}

impl Nr {
    /// The first usable slot that begins at `now` or later.
    fn usable_from(&self, now: Time) -> Time {
        let slot = now.0.div_ceil(self.slot.0);
        let (place, first) = (slot % self.period, self.period - self.usable);
        Time((slot + first.saturating_sub(place)) * self.slot.0)
    }

    fn is_usable(&self, now: Time) -> bool {
        self.usable_from(now) == now
    }

    /// The first opportunity for a scheduling request at `now` or later.
    fn request_from(&self, now: Time) -> Time {
        match self.request_period {
            Dur::ZERO => self.usable_from(now),
            period => Time(now.0.next_multiple_of(period.0)),
        }
    }

    /// Bytes that the base station knows of or will.
    fn announced(&self) -> u64 {
        self.known + self.reported.iter().map(|(_, bytes)| bytes).sum::<u64>()
    }

    /// Reports `bytes` at `now`.
    fn report(&mut self, now: Time, bytes: u64) {
        if bytes > 0 {
            self.reported.push_back((now + self.grant_delay, bytes));
        }
        while let Some((_, bytes)) = self.reported.pop_front_if(|(at, _)| *at <= now) {
            self.known += bytes;
        }
    }

    /// Bytes that the terminal may send in a slot.
    fn granted(&mut self) -> u64 {
        let deviation = match self.params.spread {
            0.0 => 0.0,
            spread => spread * (2.0 * self.rng.uniform() - 1.0),
        };
        let part = (self.params.share * (1.0 + deviation)).min(1.0);
        (self.rate.0 as f64 * self.slot.secs() / 8.0 * part) as u64
    }

    /// Was a block that ends at `end` received?
    fn transmit(&mut self, end: Time) -> State {
        if self.rng.uniform() < self.params.bler {
            State::Lost(end + Dur::from_secs(self.params.harq_delay))
        } else {
            State::Received
        }
    }

    /// Sends in the slot that begins at `now`.
    fn send_slot(&mut self, now: Time, queue: &mut impl Backlog, left: &mut VecDeque<(Packet, Time)>) {
        let end = now + self.slot;
        let granted = self.granted();
        let mut room = granted - granted.min(self.owed);
        self.owed -= granted.min(self.owed);
        let is_due = |block: &Block| matches!(block.state, State::Lost(at) if at <= now);
        while let Some(place) = self.blocks.iter().position(is_due) {
            if room == 0 {
                break;
            }
            let state = self.transmit(end);
            let block = &mut self.blocks[place];
            block.state = state;
            self.owed += block.bytes.saturating_sub(room);
            room = room.saturating_sub(block.bytes);
        }
        self.report(now, 0);
        let mut block = Block { packets: Vec::new(), bytes: 0, state: State::Received };
        let mut allowed = room.min(self.known);
        while allowed > 0 {
            let Some(segment) = self.segments.take(allowed, queue) else { break };
            allowed -= segment.bytes;
            block.bytes += segment.bytes;
            block.packets.extend(segment.complete);
        }
        // What is granted and not used is padding.
        self.known -= room.min(self.known);
        if block.bytes > 0 {
            block.state = self.transmit(end);
            self.blocks.push_back(block);
        }
        while let Some(block) = self.blocks.pop_front_if(|block| block.state == State::Received) {
            left.extend(block.packets.into_iter().map(|packet| (packet, end)));
        }
    }
}

impl MediumModel for Nr {
    const NAME: &'static str = "nr";
    const SUMMARY: &'static str = "5G: slots, grants after a scheduling delay, lost blocks that are repeated";
    const SOURCE: &'static str = "3GPP TS 38.211, 38.321, 38.322";
    type Params = Params;

    fn new(params: &Params, rate: Rate, rng: Rng) -> Result<Self, ParamError> {
        let (period, usable) =
            (whole("period_slots", params.period_slots)?, whole("usable_slots", params.usable_slots)?);
        if usable > period {
            let message = format!("got {usable}, expected at most the period, {period} slots");
            return Err(ParamError::new("usable_slots", message));
        }
        if 0.0 < params.request_period && params.request_period < params.slot {
            let message = format!("got {} s, expected 0 or at least a slot, {} s", params.request_period, params.slot);
            return Err(ParamError::new("request_period", message));
        }
        let least = rate.0 as f64 * params.slot / 8.0 * params.share;
        if least < 1.0 {
            let message = format!("got {}, expected at least a byte a slot at {} bit/s", params.share, rate.0);
            return Err(ParamError::new("share", message));
        }
        Ok(Nr {
            params: params.clone(),
            rate,
            rng,
            slot: Dur::from_secs(params.slot),
            period: period.into(),
            usable: usable.into(),
            grant_delay: Dur::from_secs(params.grant_delay),
            request_period: Dur::from_secs(params.request_period),
            segments: Segments::new(u64::from(whole("overhead", params.overhead)?)),
            blocks: VecDeque::new(),
            owed: 0,
            known: 0,
            reported: VecDeque::new(),
        })
    }

    fn first_from(&mut self, now: Time) -> Time {
        self.usable_from(now).min(self.request_from(now))
    }

    fn send(&mut self, now: Time, queue: &mut impl Backlog, left: &mut VecDeque<(Packet, Time)>) -> Time {
        let waiting = self.segments.waiting(queue);
        if waiting == 0 && self.blocks.is_empty() {
            return now;
        }
        let is_slot = self.is_usable(now);
        // Where no request is needed the report comes first: with no delay it is of this slot.
        if self.request_period == Dur::ZERO && is_slot {
            self.report(now, waiting.saturating_sub(self.announced()));
        } else if self.announced() == 0 && waiting > 0 && self.request_from(now) == now {
            self.report(now, self.params.request_bytes as u64);
        }
        if is_slot {
            let sent_before = self.segments.waiting(queue);
            self.send_slot(now, queue, left);
            let waiting = self.segments.waiting(queue);
            if waiting < sent_before {
                // With a block goes a report of what is left.
                self.report(now, waiting.saturating_sub(self.announced()));
            }
        }
        self.first_from(now + Dur(1))
    }

    fn held(&self) -> usize {
        self.segments.held() + self.blocks.iter().map(|block| block.packets.len()).sum::<usize>()
    }

    fn capacity(&self, packet: Bytes) -> f64 {
        let Params { share, bler, .. } = self.params;
        let slots = self.usable as f64 / self.period as f64;
        self.rate.0 as f64 * slots * share * (1.0 - bler) * self.segments.efficiency(packet.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::medium::test_queue::Waiting;
    use marqueue_core::params::{ParamSet, Value};

    /// A cell of 100 Mbit/s with these parameters.
    fn cell(params: &[(&str, f64)]) -> Nr {
        let values = params.iter().map(|&(name, value)| (String::from(name), Value::from(value))).collect();
        Nr::new(&Params::from_values(&values).unwrap(), Rate(100_000_000), Rng::named(1, "medium")).unwrap()
    }

    #[test]
    fn a_lost_block_delays_what_follows_it_and_arrives_in_order() {
        let mut cell = cell(&[("bler", 0.5)]);
        let (mut queue, mut left) = (Waiting::packets(40, 1500), VecDeque::new());
        let mut now = Time::ZERO;
        while queue.packets() > 0 || cell.held() > 0 {
            now = cell.send(now, &mut queue, &mut left);
        }
        let flows: Vec<_> = left.iter().map(|(packet, _)| packet.flow()).collect();
        assert_eq!(flows, (0..40).collect::<Vec<_>>());
        assert!(left.iter().zip(left.iter().skip(1)).all(|(first, second)| first.1 <= second.1));
    }

    #[test]
    fn a_lone_packet_takes_a_slot_and_its_repetitions() {
        // By 3GPP's sum: a slot, and p / (1 - p) times a repetition, whose earliest slot begins 4 ms after the first.
        let mut cell = cell(&[("bler", 0.2)]);
        let (mut sum, packets) = (0.0, 20_000);
        for i in 0..packets {
            let start = Time(i * 1_000_000_000);
            let (mut queue, mut left) = (Waiting::packets(1, 1500), VecDeque::new());
            let mut now = cell.first_from(start);
            while left.is_empty() {
                now = cell.send(now, &mut queue, &mut left);
            }
            sum += (left[0].1 - start).secs();
        }
        let (mean, expected) = (sum / packets as f64, 0.0005 + 0.25 * 0.0045);
        // The number of repetitions has a variance of p / (1 - p)^2.
        let error = 4.0 * 0.0045 * (0.2f64 / 0.64 / packets as f64).sqrt();
        assert!((mean - expected).abs() < error, "{mean}, expected {expected}");
    }

    #[test]
    fn pings_of_an_idle_terminal_fall_with_the_phase_of_its_requests() {
        // Measured on a cell of srsRAN (its issue 501): pings each 0.1 s and a little took 35.6 ms, 34.7, 33.8 and so on down
        // to about 15, then the largest again. Requests once in 20 ms, of which pings each 101 ms see a phase 1 ms later each
        // time, do the same.
        let mut cell = cell(&[
            ("bler", 0.0),
            ("period_slots", 10.0),
            ("usable_slots", 2.0),
            ("request_period", 0.020),
            ("grant_delay", 0.0035),
        ]);
        let delays: Vec<f64> = (0..200u64)
            .map(|ping| {
                let start = Time(3_000_000 + ping * 101_000_000);
                let (mut queue, mut left) = (Waiting::packets(1, 84), VecDeque::new());
                let mut now = cell.first_from(start);
                while left.is_empty() {
                    now = cell.send(now, &mut queue, &mut left);
                }
                1e3 * (left[0].1 - start).secs()
            })
            .collect();
        let steps: Vec<f64> = delays.windows(2).map(|pair| pair[1] - pair[0]).collect();
        let jumps = steps.iter().filter(|&&step| (step - 19.0).abs() < 1e-6).count();
        assert!(steps.iter().all(|step| (step + 1.0).abs() < 1e-6 || (step - 19.0).abs() < 1e-6), "{steps:?}");
        assert_eq!(jumps, 10, "{delays:?}");
    }
}
