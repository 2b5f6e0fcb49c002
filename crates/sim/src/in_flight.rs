//! Packets on links of their own flows, in order of arrival: in a timing wheel while they are few, then in a calendar.

use crate::calendar::{Calendar, Entry};
use crate::timing_wheel::TimingWheel;
use marqueue_core::{Dur, Packet, Time};

/// Packets by arrival time. Both kinds have the same order, so that a run does not depend on when it changes.
#[derive(Debug)]
pub enum InFlight {
    /// So few that they stay in the cache.
    Few(Box<TimingWheel>),
    /// More than [`TimingWheel::MOST`] at some time of the run.
    Many(Box<Calendar>),
}

impl Default for InFlight {
    fn default() -> InFlight {
        InFlight::Few(Box::default())
    }
}

impl InFlight {
    /// Number of packets.
    pub fn len(&self) -> usize {
        match self {
            InFlight::Few(wheel) => wheel.len(),
            InFlight::Many(calendar) => calendar.len(),
        }
    }

    /// The first packet, with its arrival time.
    #[inline]
    pub fn first(&self) -> Option<&Entry> {
        match self {
            InFlight::Few(wheel) => wheel.first(),
            InFlight::Many(calendar) => calendar.first(),
        }
    }

    /// See [`Calendar::ends_day`].
    #[inline]
    pub fn ends_day(&self) -> bool {
        match self {
            InFlight::Few(_) => false,
            InFlight::Many(calendar) => calendar.ends_day(),
        }
    }

    /// The packets that have come near since the last removal, so that what they need can be prefetched.
    #[inline]
    pub fn come_near(&self, new_day: bool) -> &[Entry] {
        match self {
            InFlight::Few(wheel) => wheel.first().map_or(&[], std::slice::from_ref),
            InFlight::Many(calendar) => calendar.come_near(new_day),
        }
    }

    /// Adds a packet that arrives at `at`, not before the last one that was removed. Returns whether it is the first.
    #[inline]
    pub fn push(&mut self, at: Time, packet: Packet, delay: impl Fn(u32) -> Dur) -> bool {
        match self {
            InFlight::Few(wheel) if wheel.len() < TimingWheel::MOST => wheel.push(at, packet, delay),
            InFlight::Few(wheel) => {
                let mut calendar = into_calendar(wheel, &delay);
                let is_first = calendar.push(at, packet, delay);
                *self = InFlight::Many(calendar);
                is_first
            }
            InFlight::Many(calendar) => calendar.push(at, packet, delay),
        }
    }

    /// Removes the first packet.
    #[inline]
    pub fn remove_first(&mut self, delay: impl Fn(u32) -> Dur) {
        match self {
            InFlight::Few(wheel) => wheel.remove_first(delay),
            InFlight::Many(calendar) => calendar.remove_first(delay),
        }
    }
}

/// Moves all packets of a wheel to a calendar.
#[cold]
fn into_calendar(wheel: &mut TimingWheel, delay: impl Fn(u32) -> Dur) -> Box<Calendar> {
    let mut calendar = Box::<Calendar>::default();
    while let Some(&(at, packet)) = wheel.first() {
        calendar.push(at, packet, &delay);
        wheel.remove_first(&delay);
    }
    calendar
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeMap;

    /// Higher slots have shorter delays, two slots each the same.
    fn delay(flow: u32) -> Dur {
        Dur(u64::from(4 - flow / 2))
    }

    /// The packets of a model, by their order: time, delay, flow.
    type Model = BTreeMap<(Time, Dur, u32), ()>;

    fn key(&(at, packet): &Entry) -> (Time, Dur, u32) {
        (at, delay(packet.flow()), packet.flow())
    }

    /// Adds a packet to both. A flow never has two packets at the same instant, because each takes time to send.
    fn push(in_flight: &mut InFlight, model: &mut Model, at: Time, flow: u32) {
        let key = (at, delay(flow), flow);
        let is_first = model.keys().next().is_none_or(|first| key < *first);
        if model.insert(key, ()).is_none() {
            assert_eq!(in_flight.push(at, Packet::data(flow, 0, 500), delay), is_first);
        }
        assert_eq!(in_flight.len(), model.len());
    }

    /// Removes the first packet of both. Returns its time.
    fn remove_first(in_flight: &mut InFlight, model: &mut Model) -> Option<Time> {
        assert_eq!(in_flight.first().map(key), model.keys().next().copied());
        let at = model.pop_first()?.0 .0;
        in_flight.remove_first(delay);
        Some(at)
    }

    proptest! {
        #[test]
        fn packets_leave_in_the_order_of_time_delay_and_flow(
            ops in prop::collection::vec((0u64..2_000_000_000, 0u32..8, 0u32..3), 1..300)
        ) {
            for mut in_flight in [InFlight::default(), InFlight::Many(Box::default())] {
                let (mut model, mut now) = (Model::new(), Time::ZERO);
                for (i, &(after, flow, removed)) in ops.iter().enumerate() {
                    // Beyond a lap, within one, and within a slot or a day.
                    let most = [u64::MAX, 3_000_000, 20_000, 3][i % 4];
                    push(&mut in_flight, &mut model, Time(now.0 + after % most), flow);
                    for _ in 0..removed {
                        now = remove_first(&mut in_flight, &mut model).unwrap_or(now);
                    }
                }
                while remove_first(&mut in_flight, &mut model).is_some() {}
                prop_assert!(in_flight.first().is_none());
            }
        }
    }

    #[test]
    fn the_order_stays_when_few_become_many() {
        let (mut in_flight, mut model) = (InFlight::default(), Model::new());
        let mut rng = marqueue_core::Rng::named(1, "in flight");
        let mut now = Time::ZERO;
        for i in 0..4 * TimingWheel::MOST {
            push(&mut in_flight, &mut model, Time(now.0 + u64::from(rng.below(400_000_000))), i as u32 % 8);
            if i % 3 == 0 {
                now = remove_first(&mut in_flight, &mut model).unwrap_or(now);
            }
            let few = matches!(in_flight, InFlight::Few(_));
            assert!(!few || in_flight.len() <= TimingWheel::MOST);
        }
        assert!(matches!(in_flight, InFlight::Many(_)));
        while remove_first(&mut in_flight, &mut model).is_some() {}
        assert_eq!(in_flight.len(), 0);
    }
}
