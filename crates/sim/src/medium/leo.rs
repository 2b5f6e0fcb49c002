//! A link over a constellation of satellites in low Earth orbit, whose terminal gets another satellite at fixed times.
//!
//! Time is divided into slots: slot 0 until `first`, then slots of `period`. Slot k has
//! - an extra delay, uniform from 0 to `delay_spread`: the way over the satellite is longer at lower elevation;
//! - a rate `rate` (1 + `rate_spread` u), u uniform from -1 to 1;
//! - from slot 1 on an outage at its start, in which nothing begins to be sent. Packets wait in the queue.
//!
//! Mean rate of a busy link: `rate` (1 - `outage`/`period`). Mean extra delay: `delay_spread`/2.
//!
//! Source: G. Huston, "Measuring Starlink protocol performance" (APNIC, slides after NANOG 92): slots of 15 s, and the delay up
//! to a satellite at 550 km and down again: 3.7 ms at the zenith, 7.5 ms at the least elevation of 25 degrees. The same
//! follows from the slant range sqrt((R sin e)^2 + 2 R h + h^2) - R sin e with R = 6371 km.
//!
//! Left out: the drift of the delay inside a slot, uplink scheduling, losses at a handover (see `loss` of a link), ways
//! over several satellites. Packets keep their order where the delay falls. Draws of slots are independent, and those
//! of two links too: both directions of a path do not step together.

use super::{Backlog, MediumModel};
use marqueue_core::params::ParamError;
use marqueue_core::units::Transmitter;
use marqueue_core::{Bytes, Dur, Packet, Rate, Rng, Time};
use std::collections::VecDeque;

marqueue_core::params! {
    /// Parameters of a link over satellites.
    pub struct Params {
        /// Time between two changes of the satellite.
        period: f64 { unit: Seconds, range: 0.001 => 3600.0, default: 15.0, source: "Huston (APNIC)" },
        /// Time of the first change.
        first: f64 { unit: Seconds, range: 0.0 => 3600.0, default: 15.0, source: "marqueue; one period" },
        /// Time at the start of a slot in which nothing is sent, shorter than the period.
        outage: f64 { unit: Seconds, range: 0.0 => 3600.0, default: 0.0, source: "marqueue; published figures differ, none is assumed" },
        /// Range of the extra delay of a slot, which is uniform from 0 to this.
        delay_spread: f64 { unit: Seconds, range: 0.0 => 10.0, default: 0.0038, source: "Huston (APNIC): 7.5 ms - 3.7 ms" },
        /// Largest deviation of the rate of a slot, as a share of the rate of the link; the deviation is uniform.
        rate_spread: f64 { unit: Fraction, range: 0.0 => 0.95, default: 0.0, source: "marqueue; published figures differ, none is assumed" },
    }
}

/// A link over satellites.
#[derive(Debug)]
pub struct Leo {
    rate: Rate,
    period: Dur,
    outage: Dur,
    delay_spread: f64,
    rate_spread: f64,
    rng: Rng,
    /// End of the current slot.
    slot_end: Time,
    /// End of its outage.
    outage_end: Time,
    extra_delay: Dur,
    transmitter: Transmitter,
    /// When the last packet has crossed the link.
    last: Time,
}

impl Leo {
    /// Draws rate and delay of the next slot.
    fn draw_slot(&mut self) {
        self.extra_delay = Dur::from_secs(self.delay_spread * self.rng.uniform());
        let factor = 1.0 + self.rate_spread * (2.0 * self.rng.uniform() - 1.0);
        self.transmitter = Transmitter::new(Rate(((self.rate.0 as f64 * factor).round() as u64).max(1)));
    }
}

impl MediumModel for Leo {
    const NAME: &'static str = "leo";
    const SUMMARY: &'static str =
        "Satellites in low Earth orbit: delay, rate and a short outage change at every handover";
    const SOURCE: &'static str = "Huston, Measuring Starlink protocol performance (APNIC, slides after NANOG 92)";
    type Params = Params;

    fn new(params: &Params, rate: Rate, rng: Rng) -> Result<Self, ParamError> {
        if params.outage >= params.period {
            let message = format!("got {} s, expected less than the period, {} s", params.outage, params.period);
            return Err(ParamError::new("outage", message));
        }
        let mut leo = Leo {
            rate,
            period: Dur::from_secs(params.period),
            outage: Dur::from_secs(params.outage),
            delay_spread: params.delay_spread,
            rate_spread: params.rate_spread,
            rng,
            slot_end: Time::ZERO + Dur::from_secs(params.first),
            outage_end: Time::ZERO,
            extra_delay: Dur::ZERO,
            transmitter: Transmitter::new(rate),
            last: Time::ZERO,
        };
        leo.draw_slot();
        Ok(leo)
    }

    /// Draws happen slot by slot, whatever the traffic.
    fn first_from(&mut self, now: Time) -> Time {
        while now >= self.slot_end {
            self.draw_slot();
            self.outage_end = self.slot_end + self.outage;
            self.slot_end += self.period;
        }
        now.max(self.outage_end)
    }

    fn send(&mut self, now: Time, queue: &mut impl Backlog, left: &mut VecDeque<(Packet, Time)>) -> Time {
        let usable = self.first_from(now);
        if usable > now {
            return usable;
        }
        let Some(packet) = queue.take() else { return now };
        let sent = now + self.transmitter.transmit(packet.bytes());
        self.last = self.last.max(sent + self.extra_delay);
        left.push_back((packet, self.last));
        sent
    }

    fn held(&self) -> usize {
        0
    }

    fn capacity(&self, _: Bytes) -> f64 {
        self.rate.0 as f64 * (1.0 - self.outage.secs() / self.period.secs())
    }
}
