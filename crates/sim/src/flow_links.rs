//! A link for each flow: the access links of hosts that send one flow each.
//!
//! Each link has its own transmitter and propagation delay, an unlimited queue, and no measurements. The state of all of
//! them together is one table with a row for each flow and one order of packets, because a million separate links
//! would each need an event.

use crate::in_flight::InFlight;
use marqueue_core::{Dur, Packet, Rate, Time};
use prefetch_index::prefetch_index;

/// The links of all flows at one place of a route, in one direction.
#[derive(Debug)]
pub struct FlowLinks {
    rate: Rate,
    /// Size and transmission time of the two sizes seen last: most traffic has two.
    sizes: [(u32, Dur); 2],
    /// The link of each flow, by its slot.
    links: Vec<FlowLink>,
    /// Packets that have not arrived at the far ends.
    pending: InFlight,
}

/// The link of one flow.
#[derive(Clone, Copy, Debug, Default)]
struct FlowLink {
    delay: Dur,
    /// When the transmission of the last packet ends.
    free: Time,
}

impl FlowLinks {
    /// No links yet; each will have this rate.
    pub fn new(rate: Rate) -> FlowLinks {
        FlowLinks { rate, sizes: [(0, Dur::ZERO); 2], links: Vec::new(), pending: InFlight::default() }
    }

    /// Makes an idle link for the flow in `slot`.
    pub fn add(&mut self, slot: u32, delay: Dur) {
        let slot = slot as usize;
        if slot >= self.links.len() {
            self.links.resize(slot + 1, FlowLink::default());
        }
        self.links[slot] = FlowLink { delay, free: Time::ZERO };
    }

    /// A packet enters the link of its flow at `now`; calls for one flow must be in order of time. Returns its arrival
    /// time at the far end. The transmission time is rounded to nanoseconds.
    #[inline]
    pub fn transit(&mut self, now: Time, packet: &Packet) -> Time {
        let transmission = self.transmission(packet.bytes());
        let link = &mut self.links[packet.flow() as usize];
        link.free = link.free.max(now) + transmission;
        link.free + link.delay
    }
}

impl FlowLinks {
    /// The transmission time of `bytes`.
    #[inline]
    fn transmission(&mut self, bytes: u32) -> Dur {
        if let Some(known) = self.sizes.iter().find(|size| size.0 == bytes) {
            return known.1;
        }
        let bits = u64::from(bytes) * 8;
        let time = Dur((bits * 1_000_000_000 + self.rate.0 / 2) / self.rate.0);
        self.sizes = [(bytes, time), self.sizes[0]];
        time
    }

    /// A packet will arrive at `at`. Returns whether it is the first of all.
    #[inline]
    pub fn push(&mut self, at: Time, packet: Packet) -> bool {
        let links = &self.links;
        self.pending.push(at, packet, |flow| links[flow as usize].delay)
    }

    /// Removes the packet that arrives first.
    #[inline]
    pub fn remove_first(&mut self) {
        let links = &self.links;
        self.pending.remove_first(|flow| links[flow as usize].delay)
    }

    /// The packet that arrives first.
    #[inline]
    pub fn first(&self) -> Option<&(Time, Packet)> {
        self.pending.first()
    }

    /// See [`InFlight::ends_day`].
    #[inline]
    pub fn ends_day(&self) -> bool {
        self.pending.ends_day()
    }

    /// See [`InFlight::come_near`].
    #[inline]
    pub fn come_near(&self, new_day: bool) -> &[(Time, Packet)] {
        self.pending.come_near(new_day)
    }

    /// Prefetches the link of a flow: a packet will soon enter it.
    #[inline]
    pub fn fetch(&self, flow: u32) {
        prefetch_index(&self.links, flow as usize);
    }

    /// Number of packets.
    pub fn in_flight(&self) -> usize {
        self.pending.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn packets_of_one_flow_follow_each_other_at_the_rate_and_do_not_delay_other_flows() {
        let mut links = FlowLinks::new(Rate(10_000_000));
        links.add(0, Dur(5_000_000));
        links.add(1, Dur(7_000_000));
        let packet = |flow| Packet::data(flow, 0, 1000);
        assert_eq!(links.transit(Time(0), &packet(0)), Time(800_000 + 5_000_000));
        assert_eq!(links.transit(Time(100), &packet(0)), Time(1_600_000 + 5_000_000));
        assert_eq!(links.transit(Time(100), &packet(1)), Time(800_100 + 7_000_000));
        assert_eq!(links.transit(Time(9_000_000), &packet(0)), Time(9_800_000 + 5_000_000));
    }
}
