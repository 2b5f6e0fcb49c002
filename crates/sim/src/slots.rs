//! The slots of flows that have ended, which flows that arrive get again.
//!
//! The slot of a flow decides results: by it flow queueing hashes, and of timers that are due at the same instant that of
//! the lower slot fires first. So all parts of a network ([`crate::partition`]) must give a flow the same slot, and none of them
//! knows alone whether a flow has ended and has no packet left. They tell each other: at the end of each *period* of
//! simulated time each part makes a [`Report`], and at the end of the next period all have the reports of all and draw
//! the same conclusion. Alone on one thread an engine does the same with its own reports.
//!
//! - At the end of the period in which its sender ends, a flow is reported as ended.
//! - At the end of the next period, and of each further one while it is needed, each part reports what is left of the flow
//!   in it.
//! - One period later it is known whether nothing was left in any part. Then the slot is free from the end of that period on.
//!
//! Why slots are free a period after this is known: a part that is behind creates a flow, of which it gets a packet, before
//! the flow arrives ([`crate::engine`]'s handover). It is less than a period behind, so it knows the slots that are free then.

use marqueue_core::{Dur, Time};
use std::collections::VecDeque;

/// The length of a period, ns, is 2 to this power: 67 ms.
const PERIOD_BITS: u32 = 26;
/// A period. No part may be further ahead of another, or it would not have its report.
pub const PERIOD: Dur = Dur(1 << PERIOD_BITS);

/// What is left of a flow in one part of the network.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Left {
    /// Packets that entered the network here less those that left it here, modulo 2^32: the sum over all parts is the number in the
    /// network.
    pub in_flight: u32,
    /// Does its receiver here owe an acknowledgement?
    pub owes_ack: bool,
}

/// What a part tells all others at the end of a period.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Report {
    /// The slots of flows whose senders were in this part and ended in this period.
    ended: Vec<u32>,
    /// What is left here of each flow that all parts know to have ended, in the order of slots.
    left: Vec<Left>,
}

/// Free slots, and those of flows that have ended.
#[derive(Debug)]
pub struct Slots {
    /// The number of the part.
    me: usize,
    /// Slots that the next flows get, the next one last.
    free: Vec<u32>,
    /// Slots that are free from the next period on.
    free_soon: Vec<u32>,
    /// The period to which `free` belongs.
    period: u64,
    /// The slots of flows whose senders have ended here in this period.
    ended: Vec<u32>,
    /// The slots of flows that all parts know to have ended, in order.
    known: Vec<u32>,
    /// Reports of each part that have not been read, the oldest first.
    reports: Vec<VecDeque<Report>>,
    /// Times at which packets are lost that lay ahead of the clock when it was known, and the slots of their flows.
    lost_ahead: Vec<(Time, u32)>,
}

impl Slots {
    /// Those of part `me` of so many parts.
    pub fn new(me: usize, parts: usize) -> Slots {
        Slots {
            me,
            free: Vec::new(),
            free_soon: Vec::new(),
            period: 0,
            ended: Vec::new(),
            known: Vec::new(),
            // At the end of the first period none has been made.
            reports: vec![VecDeque::from([Report::default()]); parts],
            lost_ahead: Vec::new(),
        }
    }

    /// From now on slots are those that are free at `at`, which may be ahead of the clock. Flows come to this in the order of
    /// their arrivals.
    pub fn come_to(&mut self, at: Time) {
        let period = at.0 >> PERIOD_BITS;
        if period > self.period {
            self.period = period;
            self.free.append(&mut self.free_soon);
        }
    }

    /// The slot of the next flow, if one is free.
    pub fn take(&mut self) -> Option<u32> {
        self.free.pop()
    }

    /// The sender of the flow in `slot` has ended in this part.
    pub fn end(&mut self, slot: u32) {
        self.ended.push(slot);
    }

    /// A packet of the flow in `slot` is lost at `at`, which is not before the clock.
    #[cold]
    pub fn lose_ahead(&mut self, at: Time, slot: u32) {
        self.lost_ahead.push((at, slot));
    }

    /// Part `from` made this report.
    pub fn accept(&mut self, from: usize, report: Report) {
        self.reports[from].push_back(report);
    }

    /// A period ends at `now`: reads the reports of the end of the last one, which all parts have made. Returns the slots that
    /// become free, in order; nothing is left of their flows in any part.
    pub fn read_reports(&mut self, now: Time) -> Vec<u32> {
        self.come_to(now);
        let next = |of_part: &mut VecDeque<Report>| of_part.pop_front().expect("no part is a period ahead of another");
        let reports: Vec<Report> = self.reports.iter_mut().map(next).collect();
        let is_left = |i: usize| {
            let of_parts = || reports.iter().map(|report| report.left[i]);
            of_parts().any(|left| left.owes_ack)
                || of_parts().fold(0u32, |sum, left| sum.wrapping_add(left.in_flight)) != 0
        };
        let (mut freed, mut stay) = (Vec::new(), Vec::new());
        for (i, &slot) in self.known.iter().enumerate() {
            if is_left(i) { &mut stay } else { &mut freed }.push(slot);
        }
        stay.extend(reports.iter().flat_map(|report| &report.ended));
        stay.sort_unstable();
        self.known = stay;
        debug_assert!(self.free_soon.is_empty(), "those of the last period are free");
        self.free_soon.clone_from(&freed);
        freed
    }

    /// Makes the report of the period that ends at `now`. `left` tells what is left of a flow here by what has been computed, and
    /// all that happens before `now` has been.
    pub fn report(&mut self, now: Time, left: impl Fn(u32) -> Left) -> Report {
        let mut report = Report {
            ended: std::mem::take(&mut self.ended),
            left: self.known.iter().map(|&slot| left(slot)).collect(),
        };
        self.lost_ahead.retain(|&(at, _)| at >= now);
        for (_, slot) in &self.lost_ahead {
            if let Ok(i) = self.known.binary_search(slot) {
                report.left[i].in_flight = report.left[i].in_flight.wrapping_add(1);
            }
        }
        self.reports[self.me].push_back(report.clone());
        report
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const NO_SLOTS: [u32; 0] = [];
    const NOTHING: Left = Left { in_flight: 0, owes_ack: false };

    fn end_of(period: u64) -> Time {
        Time(period << PERIOD_BITS)
    }

    /// The slots of so many parts.
    fn parts(count: usize) -> Vec<Slots> {
        (0..count).map(|me| Slots::new(me, count)).collect()
    }

    /// A period ends in all parts. `left` tells what is left of a flow in a part. Returns the slots that become free.
    fn end_period(parts: &mut [Slots], period: u64, left: impl Fn(usize, u32) -> Left) -> Vec<u32> {
        let now = end_of(period);
        let freed: Vec<_> = parts.iter_mut().map(|slots| slots.read_reports(now)).collect();
        assert!(freed.iter().all(|of_part| *of_part == freed[0]), "parts disagree: {freed:?}");
        for me in 0..parts.len() {
            let report = parts[me].report(now, |slot| left(me, slot));
            for to in (0..parts.len()).filter(|&to| to != me) {
                parts[to].accept(me, report.clone());
            }
        }
        freed[0].clone()
    }

    #[test]
    fn a_slot_is_free_when_nothing_is_left_in_any_part() {
        let mut parts = parts(2);
        parts[0].end(7);
        // More packets of it entered the network in the one part, and more left it in the other.
        let left = |me, _| Left { in_flight: if me == 0 { 3 } else { 3u32.wrapping_neg() }, owes_ack: false };
        assert_eq!(end_period(&mut parts, 1, left), NO_SLOTS, "it is reported as ended");
        assert_eq!(end_period(&mut parts, 2, left), NO_SLOTS, "what is left of it is reported");
        assert_eq!(end_period(&mut parts, 3, left), [7], "all know that it is nothing");
        for slots in &mut parts {
            slots.come_to(Time(end_of(4).0 - 1));
            assert_eq!(slots.take(), None);
            slots.come_to(end_of(4));
            assert_eq!((slots.take(), slots.take()), (Some(7), None));
        }
    }

    #[test]
    fn a_packet_or_an_acknowledgement_that_is_owed_keeps_a_slot() {
        for kept in [Left { in_flight: 1, ..NOTHING }, Left { owes_ack: true, ..NOTHING }] {
            let mut parts = parts(3);
            parts[1].end(4);
            for period in 1..10 {
                assert_eq!(end_period(&mut parts, period, |me, _| if me == 2 { kept } else { NOTHING }), NO_SLOTS);
            }
            assert_eq!(end_period(&mut parts, 10, |_, _| NOTHING), NO_SLOTS);
            assert_eq!(end_period(&mut parts, 11, |_, _| NOTHING), [4]);
        }
    }

    #[test]
    fn a_packet_that_will_be_lost_is_in_the_network_until_then() {
        let mut parts = parts(1);
        parts[0].end(4);
        parts[0].lose_ahead(end_of(3), 4);
        let freed: Vec<_> = (1..=5).map(|period| end_period(&mut parts, period, |_, _| NOTHING)).collect();
        assert_eq!(freed, [vec![], vec![], vec![], vec![], vec![4]], "it is lost when the third period has ended");
    }

    #[test]
    fn a_part_that_is_behind_knows_the_slots_of_flows_that_arrive_in_the_next_period() {
        let mut parts = parts(2);
        parts[0].end(1);
        parts[1].end(2);
        let freed: Vec<_> = (1..=3).map(|period| end_period(&mut parts, period, |_, _| NOTHING)).collect();
        assert_eq!(freed.concat(), [1, 2]);
        parts[1].come_to(Time(end_of(5).0 - 1));
        assert_eq!(parts[1].take(), Some(2));
        // The one comes to that time only later.
        assert_eq!(end_period(&mut parts, 4, |_, _| NOTHING), NO_SLOTS);
        parts[0].come_to(Time(end_of(5).0 - 1));
        assert_eq!(parts[0].take(), Some(2));
    }

    proptest! {
        /// Of each flow: the part and period in which it ends, and for how many periods something is left of it.
        #[test]
        fn each_slot_becomes_free_once_and_two_periods_after_nothing_was_left(
            count in 1usize..4, flows in prop::collection::vec((0usize..4, 1u64..6, 0u64..6, any::<bool>()), 1..40)
        ) {
            let mut parts = parts(count);
            let mut freed_in = vec![None; flows.len()];
            for period in 1..20 {
                for (slot, &(part, ends, ..)) in flows.iter().enumerate() {
                    if ends == period {
                        parts[part % count].end(slot as u32);
                    }
                }
                let left = |me: usize, slot: u32| {
                    let (part, ends, lasts, acks) = flows[slot as usize];
                    let is_left = me == part % count && period < ends + lasts;
                    Left { in_flight: u32::from(is_left && !acks), owes_ack: is_left && acks }
                };
                for slot in end_period(&mut parts, period, left) {
                    prop_assert_eq!(freed_in[slot as usize].replace(period), None);
                }
            }
            for (slot, &(_, ends, lasts, _)) in flows.iter().enumerate() {
                prop_assert_eq!(freed_in[slot], Some((ends + lasts.max(1)) + 1));
            }
        }
    }
}
