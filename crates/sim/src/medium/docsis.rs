//! The upstream of a cable network (DOCSIS 3.1): a modem asks for bytes, and sends when and what it is granted.
//!
//! Time is divided into MAP intervals of `map_interval`. For each the CMTS grants the modem a number of bytes, at most
//! what `rate` carries in it. The grant lies at a uniform random place of its interval, and the modem sends in it at
//! `channel_rate`, as a string of bytes: packets are divided where a grant ends.
//!
//! ```text
//! arrival | request ... request_delay ... | start of an interval | ... grant: transmission
//! ```
//!
//! A request tells how many bytes wait that are neither granted nor requested. It goes with the first bytes of a grant
//! (piggyback), or, in an interval without grant, at a uniform random time of that interval (contention); there it is
//! lost with probability `collision`, and repeated in the next interval. The first interval that can grant it begins
//! `request_delay` later or more; what does not fit there is granted in the next ones. In every interval at least
//! `proactive_rate` is granted without a request (proactive grant service).
//!
//! A packet that finds an idle modem waits, with S its transmission and T an interval, on average about
//!
//! ```text
//! 7 T / 12 (request, in this interval or the next) + request_delay + T / 2 (start of an interval) + (T - S) / 2 (grant)
//! ```
//!
//! Mean rate of a busy modem with packets of L bytes: `rate` L / (L + `overhead`).
//!
//! Sources: CableLabs, MAC and Upper Layer Protocols Interface Specification (DOCSIS 3.1); its model for ns-3
//! (cablelabs/docsis-ns3, version for ns-3.41), whose defaults these are. With frames of 135 us its shortest time
//! from a request to an interval that grants it is 12 frames, and an interval has 15.
//!
//! Left out: other modems (their load is what `rate` lacks), backoff windows of contention, the shaper's burst above
//! `rate`, OFDMA frames and their processing time, which belong to the delay of the link; two service flows
//! with an aggregate rate, as low-latency DOCSIS has them: take the AQM `docsis_dual`, one queue here.

use super::segments::Segments;
use super::{Backlog, MediumModel};
use marqueue_core::params::{whole, ParamError};
use marqueue_core::units::Transmitter;
use marqueue_core::{Bytes, Dur, Packet, Rate, Rng, Time};
use std::collections::VecDeque;

marqueue_core::params! {
    /// Parameters of the upstream of a cable network.
    pub struct Params {
        /// Time that a MAP divides into grants.
        map_interval: f64 { unit: Seconds, range: 1e-4 => 1.0, default: 0.002, source: "docsis-ns3: MapInterval" },
        /// Shortest time from a request to the start of an interval that grants it.
        request_delay: f64 { unit: Seconds, range: 0.0 => 1.0, default: 0.00162, source: "docsis-ns3: MinReqGntDelay, 12 frames of 135 us" },
        /// Rate at which the modem sends in a grant.
        channel_rate: Option<f64> { unit: BitsPerSecond, range: 1.0 => 1e13, default: None, auto: "that of the link", source: "marqueue; a grant may fill its interval" },
        /// Bytes beside each packet that count: Ethernet header and CRC.
        overhead: f64 { unit: Bytes, range: 0.0 => 1000.0, default: 18.0, source: "DOCSIS 3.1: traffic rates count Ethernet frames" },
        /// Rate that is granted without a request.
        proactive_rate: f64 { unit: BitsPerSecond, range: 0.0 => 1e13, default: 0.0, source: "DOCSIS 3.1: Guaranteed Grant Rate" },
        /// Probability that a request in contention is lost.
        collision: f64 { unit: Fraction, range: 0.0 => 0.95, default: 0.0, source: "docsis-ns3: no collisions" },
    }
}

/// Bytes granted in an interval after a request.
#[derive(Debug)]
struct Granted {
    interval: u64,
    bytes: u64,
}

/// What the modem may do in the current interval.
#[derive(Clone, Copy, Debug)]
enum Opportunity {
    /// Send so many bytes, of which the next goes at this time or later.
    Grant { next: Time, bytes: u64, has_requested: bool },
    /// Request in contention, at this time. The request is lost or not.
    Contention { at: Time, collides: bool },
    /// Nothing more.
    None,
}

/// The upstream of a cable network.
#[derive(Debug)]
pub struct Docsis {
    interval: Dur,
    request_delay: Dur,
    rate: Rate,
    proactive: u64,
    channel: Transmitter,
    collision: f64,
    rng: Rng,
    segments: Segments,
    /// Number of the current interval.
    current: u64,
    opportunity: Opportunity,
    /// Grants of later intervals, in order.
    granted: VecDeque<Granted>,
}

/// Bytes that `rate` bit/s carry in interval number `index`.
fn carried(rate: u64, interval: Dur, index: u64) -> u64 {
    let until = |k: u64| u128::from(rate) * u128::from(interval.0) * u128::from(k) / 8_000_000_000;
    (until(index + 1) - until(index)) as u64
}

impl Docsis {
    fn start(&self, interval: u64) -> Time {
        Time(interval * self.interval.0)
    }

    /// Time in which the channel carries `bytes`.
    fn airtime(&self, bytes: u64) -> Dur {
        Dur((u128::from(bytes) * 8_000_000_000 / u128::from(self.channel.rate().0)) as u64)
    }

    /// Goes on to the interval of `now`. Draws are the same whatever the traffic.
    fn advance(&mut self, now: Time) {
        while now >= self.start(self.current + 1) {
            self.current += 1;
            self.begin_interval();
        }
    }

    fn begin_interval(&mut self) {
        let (place, is_lost) = (self.rng.uniform(), self.rng.uniform() < self.collision);
        let mut bytes = carried(self.proactive, self.interval, self.current);
        while let Some(first) = self.granted.pop_front_if(|granted| granted.interval <= self.current) {
            if first.interval == self.current {
                bytes = bytes.max(first.bytes);
            }
        }
        let start = self.start(self.current);
        self.channel.restart();
        self.opportunity = if bytes > 0 {
            let spare = self.interval.0.saturating_sub(self.airtime(bytes).0);
            let next = start + Dur((spare as f64 * place) as u64);
            Opportunity::Grant { next, bytes, has_requested: false }
        } else {
            Opportunity::Contention { at: start + Dur((self.interval.0 as f64 * place) as u64), collides: is_lost }
        };
    }

    /// Requests what waits beyond `held` bytes of the current grant, and grants it in the first intervals with room.
    fn request(&mut self, now: Time, held: u64, queue: &impl Backlog) {
        let known = held + self.granted.iter().map(|granted| granted.bytes).sum::<u64>();
        let mut wanted = self.segments.waiting(queue).saturating_sub(known);
        let mut interval = (now + self.request_delay).0.div_ceil(self.interval.0).max(self.current + 1);
        while wanted > 0 {
            let place = self.granted.partition_point(|granted| granted.interval < interval);
            if self.granted.get(place).is_none_or(|granted| granted.interval != interval) {
                self.granted.insert(place, Granted { interval, bytes: 0 });
            }
            let granted = &mut self.granted[place];
            let more = wanted.min(carried(self.rate.0, self.interval, interval) - granted.bytes);
            granted.bytes += more;
            wanted -= more;
            interval += 1;
        }
    }
}

impl MediumModel for Docsis {
    const NAME: &'static str = "docsis";
    const SUMMARY: &'static str = "Upstream of a cable network: requests, and grants some milliseconds later";
    const SOURCE: &'static str = "CableLabs, DOCSIS 3.1 MULPI; cablelabs/docsis-ns3";
    type Params = Params;

    fn new(params: &Params, rate: Rate, rng: Rng) -> Result<Self, ParamError> {
        let at_most = |name, value: f64, bound: f64, what: &str| {
            let message = format!("got {value} bit/s, expected {what}, {bound} bit/s");
            if value > bound {
                Err(ParamError::new(name, message))
            } else {
                Ok(())
            }
        };
        let channel = params.channel_rate.unwrap_or(rate.0 as f64);
        if channel < rate.0 as f64 {
            let message = format!("got {channel} bit/s, expected at least the rate of the link, {} bit/s", rate.0);
            return Err(ParamError::new("channel_rate", message));
        }
        at_most("proactive_rate", params.proactive_rate, rate.0 as f64, "at most the rate of the link")?;
        let interval = Dur::from_secs(params.map_interval);
        if carried(rate.0, interval, 0) == 0 {
            let message = format!("got {} s, expected time for a byte at {} bit/s", params.map_interval, rate.0);
            return Err(ParamError::new("map_interval", message));
        }
        let mut docsis = Docsis {
            interval,
            request_delay: Dur::from_secs(params.request_delay),
            rate,
            proactive: params.proactive_rate as u64,
            channel: Transmitter::new(Rate(channel as u64)),
            collision: params.collision,
            rng,
            segments: Segments::new(u64::from(whole("overhead", params.overhead)?)),
            current: 0,
            opportunity: Opportunity::None,
            granted: VecDeque::new(),
        };
        docsis.begin_interval();
        Ok(docsis)
    }

    fn first_from(&mut self, now: Time) -> Time {
        self.advance(now);
        match self.opportunity {
            Opportunity::Grant { next, bytes, .. } if now < next + self.airtime(bytes) => now.max(next),
            Opportunity::Contention { at, .. } if now <= at => at,
            _ => self.start(self.current + 1),
        }
    }

    fn send(&mut self, now: Time, queue: &mut impl Backlog, left: &mut VecDeque<(Packet, Time)>) -> Time {
        if self.segments.waiting(queue) == 0 {
            return now;
        }
        self.advance(now);
        let after = self.start(self.current + 1);
        match self.opportunity {
            Opportunity::None => after,
            Opportunity::Contention { at, .. } if now < at => at,
            Opportunity::Contention { at, collides } => {
                self.opportunity = Opportunity::None;
                if now == at && !collides {
                    self.request(now, 0, queue);
                }
                after
            }
            Opportunity::Grant { next, .. } if now < next => next,
            Opportunity::Grant { next, bytes, has_requested } => {
                // Bytes of the grant that have passed unused.
                let passed = u128::from((now - next).0) * u128::from(self.channel.rate().0) / 8_000_000_000;
                let room = bytes.saturating_sub(passed as u64);
                if room == 0 {
                    self.opportunity = Opportunity::None;
                    return after;
                }
                if !has_requested {
                    self.request(now, room, queue);
                }
                let segment = self.segments.take(room, queue);
                let sent = segment.as_ref().map_or(0, |segment| segment.bytes);
                let end = now + self.channel.transmit(sent as u32);
                left.extend(segment.and_then(|segment| segment.complete).map(|packet| (packet, end)));
                self.opportunity = match room - sent {
                    0 => Opportunity::None,
                    bytes => Opportunity::Grant { next: end, bytes, has_requested: true },
                };
                // A shaper that holds all packets is asked again when it lets one go.
                if sent == 0 || room > sent {
                    end
                } else {
                    after.max(end)
                }
            }
        }
    }

    fn held(&self) -> usize {
        self.segments.held()
    }

    fn capacity(&self, packet: Bytes) -> f64 {
        self.rate.0 as f64 * self.segments.efficiency(packet.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::medium::test_queue::Waiting;
    use marqueue_core::params::{ParamSet, Value};

    fn modem(params: &[(&str, f64)], rate: u64) -> Docsis {
        let values = params.iter().map(|&(name, value)| (String::from(name), Value::from(value))).collect();
        Docsis::new(&Params::from_values(&values).unwrap(), Rate(rate), Rng::named(1, "medium")).unwrap()
    }

    #[test]
    fn a_request_brings_a_grant_in_the_interval_of_docsis_ns3() {
        // Its test of one packet: a request at 100.710 ms, and the grant in the MAP that begins at 103.275 ms, 51
        // intervals of 15 frames of 135 us from the start.
        let mut modem = modem(&[("map_interval", 0.002025)], 50_000_000);
        modem.advance(Time(100_710_000));
        modem.request(Time(100_710_000), 0, &Waiting::packets(1, 1000));
        assert_eq!(modem.granted.len(), 1);
        assert_eq!((modem.granted[0].interval, modem.granted[0].bytes), (51, 1018));
        assert_eq!(modem.start(51), Time(103_275_000));
    }

    #[test]
    fn requests_add_up_to_what_waits_and_fill_intervals_in_order() {
        // 2000 bytes an interval.
        let mut modem = modem(&[("overhead", 0.0)], 8_000_000);
        modem.request(Time(100_000), 0, &Waiting::packets(3, 1000));
        modem.request(Time(200_000), 0, &Waiting::packets(5, 1000));
        let granted: Vec<_> = modem.granted.iter().map(|granted| (granted.interval, granted.bytes)).collect();
        assert_eq!(granted, [(1, 2000), (2, 2000), (3, 1000)]);
    }

    #[test]
    fn a_packet_larger_than_a_grant_crosses_in_pieces() {
        // 250 bytes an interval: a packet of 1500 bytes takes six, and the modem holds it meanwhile.
        let mut modem = modem(&[("overhead", 0.0)], 1_000_000);
        let (mut queue, mut left, mut now) = (Waiting::packets(1, 1500), VecDeque::new(), Time::ZERO);
        while left.is_empty() {
            now = modem.send(now, &mut queue, &mut left);
            assert_eq!(queue.packets() + modem.held() as u64 + left.len() as u64, 1);
        }
        // The request goes in the first interval; the first that can grant it is the second or the third.
        assert!([7, 8].map(|n| Time(n * 2_000_000)).contains(&left[0].1), "{:?}", left[0].1);
    }
}
