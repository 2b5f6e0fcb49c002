//! Forwarding: a packet enters a link, leaves it and arrives at its next stage.
//!
//! While a packet moves, its next stage is an argument beside it, not a field of it: a value that changes at every hop
//! stays in a register.

use super::{resource, Engine, Entrance};
use crate::external::Fate;
use crate::flow_links::FlowLinks;
use crate::packet_options::PacketOptions;
use crate::resource::Resource;
use crate::route::Stage;
use marqueue_aqm::Qdisc;
use marqueue_core::{ring, Flags, Packet, Price, Time};
use std::collections::VecDeque;

/// With more classes of links of flows, most of them are not those of the next packet.
const MOST_FETCHED: usize = 4;

impl Engine {
    /// The event of `source`: the first packet of its line arrives at its next stage.
    #[inline(always)]
    pub(super) fn arrival(&mut self, source: u32) {
        let line = &mut self.lines[source as usize];
        let Some((packet, next, next_flow)) = line.pop_front(&self.forms) else {
            unreachable!("an event without a packet")
        };
        self.events.set(source, next);
        if self.coming_flows.is_on() {
            self.fetch_coming(source, packet.stage(), next_flow);
        }
        // The next arrival on this link is most likely at a sender too.
        self.arrive(packet, |engine| engine.flows[next_flow as usize].fetch_sender());
    }

    /// The first packet on the links of single flows at `l` arrives at its next stage.
    #[inline(never)]
    pub(super) fn flow_link_arrival(&mut self, l: u32) {
        let links = flow_links(&mut self.links, l);
        let new_day = links.ends_day();
        // Read in place: a returned value would be written in parts and read as a whole.
        let Some(&(_, packet)) = links.first() else { unreachable!("an event without a packet") };
        links.remove_first();
        let next = links.first().map_or(Time::NEVER, |e| e.0);
        let source = self.links[l as usize].arrival_source;
        self.events.set(source, next);
        self.arrive(packet, |engine| engine.fetch_near(l, new_day));
    }

    /// Prefetches the senders that packets on the links of single flows at `l` will soon reach, and the links that their
    /// answers will enter.
    #[inline(always)]
    fn fetch_near(&self, l: u32, new_day: bool) {
        let Entrance::FlowLinks(links) = &self.links[l as usize].entrance else { return };
        for (_, packet) in links.come_near(new_day) {
            self.flows[packet.flow() as usize].fetch_sender();
            for &other in self.routes.flow_links.iter().take(MOST_FETCHED) {
                if let Entrance::FlowLinks(links) = &self.links[other as usize].entrance {
                    links.fetch(packet.flow());
                }
            }
        }
    }

    /// A packet arrives at its next stage; if that is a sender, `fetch` prefetches what the next ones need.
    #[inline(always)]
    fn arrive(&mut self, packet: Packet, fetch: impl FnOnce(&Engine)) {
        let now = self.now;
        let stage = self.routes.stages[packet.stage() as usize];
        // Half of all arrivals are at senders. The branch cannot be predicted, so a single comparison decides it.
        if stage == Stage::Sender {
            fetch(self);
            return self.on_ack(packet);
        }
        match stage {
            Stage::Link(to) | Stage::Chained(to) | Stage::Merged(to) => self.enter(to, packet, packet.stage() + 1, now),
            Stage::FlowLink(to) => self.enter_flow_link(to, packet, packet.stage() + 1, now),
            Stage::Receive | Stage::ReceiveChained => {
                if let Some((ack, stage)) = self.receive(packet, now) {
                    self.send_from_host(ack, stage, now);
                }
            }
            Stage::ReceiveOrHandOut => self.receive_or_hand_out(packet),
            Stage::Sender | Stage::Pipe(_) | Stage::ReorderingPipe(_) | Stage::Cores(_) | Stage::Elsewhere(_) => {
                unreachable!("a packet that arrives here has passed the pipe")
            }
        }
    }

    /// A host sends a packet into the link at `stage`.
    #[inline(always)]
    pub(super) fn send_from_host(&mut self, packet: Packet, stage: u32, now: Time) {
        match self.routes.stages[stage as usize] {
            Stage::Link(to) | Stage::Chained(to) | Stage::Merged(to) => self.enter(to, packet, stage + 1, now),
            Stage::FlowLink(to) => self.enter_flow_link(to, packet, stage + 1, now),
            Stage::Pipe(_)
            | Stage::ReorderingPipe(_)
            | Stage::Cores(_)
            | Stage::Receive
            | Stage::ReceiveOrHandOut
            | Stage::ReceiveChained
            | Stage::Elsewhere(_)
            | Stage::Sender => unreachable!("a host sends into a link"),
        }
    }

    /// A packet enters link `l` at `now`. Its next stage after the link is `stage`.
    #[inline(always)]
    fn enter(&mut self, l: u32, packet: Packet, stage: u32, now: Time) {
        match &mut self.links[l as usize].entrance {
            Entrance::Wire(wire) => {
                let exit = wire.transit(now, packet.bytes());
                self.leave(l, packet, stage, exit);
            }
            Entrance::Resource(_) => self.offer(l, packet.with_stage(stage), now),
            Entrance::Merged(_) => unreachable!("a merged wire is entered from its root"),
            Entrance::FlowLinks(_) => unreachable!("links of flows have a stage of their own"),
        }
    }

    /// A packet enters the link of its flow at `l` at time `at`, which may lie ahead. Its next stage after the link is
    /// `stage`.
    #[inline(never)]
    fn enter_flow_link(&mut self, l: u32, packet: Packet, stage: u32, at: Time) {
        let links = flow_links(&mut self.links, l);
        let exit = links.transit(at, &packet);
        // The order of one flow is known at once, and all that the next such link needs.
        match self.routes.stages[stage as usize] {
            Stage::FlowLink(to) => return self.enter_flow_link(to, packet, stage + 1, exit),
            Stage::Elsewhere(part) => return self.hand_over(part, l, packet.with_stage(stage), exit),
            _ => {}
        }
        if links.push(exit, packet.with_stage(stage)) {
            let source = self.links[l as usize].arrival_source;
            self.events.set(source, exit);
        }
    }

    /// A packet will arrive at the far end of link `root` at `exit`. Forwards it over all stages that need no event.
    #[inline(always)]
    pub(super) fn leave(&mut self, root: u32, mut packet: Packet, mut stage: u32, exit: Time) {
        let (mut l, mut at) = (root, exit);
        loop {
            match self.routes.stages[stage as usize] {
                Stage::Chained(to) => {
                    let Entrance::Wire(wire) = &mut self.links[to as usize].entrance else {
                        unreachable!("only wires are chained")
                    };
                    at = wire.transit(at, packet.bytes());
                    stage += 1;
                    l = to;
                }
                Stage::ReceiveChained => match self.receive(packet.with_stage(stage), at) {
                    Some(ack_and_stage) => (packet, stage) = ack_and_stage,
                    None => return,
                },
                Stage::FlowLink(to) => return self.enter_flow_link(to, packet, stage + 1, at),
                Stage::Merged(to) => return self.merge(to, l, packet.with_stage(stage + 1), at, exit),
                Stage::Pipe(_) => match self.pass(l, packet, at) {
                    Some(arrival) => (at, stage) = (arrival, stage + 1),
                    None => return,
                },
                Stage::ReorderingPipe(_) => return self.pass_reordering(l, packet.with_stage(stage + 1), at),
                Stage::Cores(_) => {
                    self.insert_in_order(l, packet.with_stage(stage + 1), at);
                    return;
                }
                Stage::Elsewhere(part) => return self.hand_over(part, l, packet.with_stage(stage), at),
                Stage::Link(_) | Stage::Receive | Stage::ReceiveOrHandOut | Stage::Sender => break,
            }
        }
        let source = self.links[l as usize].arrival_source;
        if self.lines[source as usize].push_back(at, packet.with_stage(stage), &mut self.forms) {
            self.events.set(source, at);
        }
    }

    /// A packet is due at the far end of the impaired link `l` at `due`. Returns its arrival time, or `None` if it is
    /// lost.
    #[inline(never)]
    fn pass(&mut self, l: u32, packet: Packet, due: Time) -> Option<Time> {
        let pipe = self.pipes[l as usize].as_mut()?;
        let arrival = pipe.pass(due, &self.edges);
        if arrival.is_none() {
            self.on_leaving_network(&packet);
            if let Some(slots) = self.slots.as_mut().filter(|_| due >= self.now) {
                slots.lose_ahead(due, packet.flow());
            }
        }
        arrival
    }

    /// A packet is due at the far end of link `l` at `due`, whose pipe may reorder packets: inserts it among the
    /// packets that will arrive.
    #[inline(never)]
    fn pass_reordering(&mut self, l: u32, packet: Packet, due: Time) {
        let Some(at) = self.pass(l, packet, due) else { return };
        let (later, waiting) = self.insert_in_order(l, packet, at);
        if let Some(pipe) = &mut self.pipes[l as usize] {
            pipe.record_overtaking(later, waiting);
        }
    }

    /// Inserts a packet that will arrive at the far end of link `l` at `at` by time. Returns how many other packets
    /// arrive later, and how many there are.
    #[inline(never)]
    fn insert_in_order(&mut self, l: u32, packet: Packet, at: Time) -> (usize, usize) {
        let source = self.links[l as usize].arrival_source;
        let line = &mut self.lines[source as usize];
        let waiting = line.len();
        let later = line.insert(at, packet, &mut self.forms);
        if later == waiting {
            self.events.set(source, at);
        }
        (later, waiting)
    }

    /// A packet that left the root of the merged wire `l` at `exit` will enter that wire at `at`, coming from link
    /// `from`.
    #[inline(always)]
    fn merge(&mut self, l: u32, from: u32, packet: Packet, at: Time, exit: Time) {
        let rank = self.links[from as usize].rank;
        let Entrance::Merged(merged) = &mut self.links[l as usize].entrance else { unreachable!("a merged wire") };
        let overtakes_all = insert_by_time(&mut merged.pending, at, rank, packet);
        let settled = exit + merged.lead;
        let source = self.links[l as usize].catch_up_source;
        if overtakes_all || !self.events.is_set(source) {
            self.events.set(source, at);
        }
        self.release_merged(l, settled);
    }

    /// Lets all packets enter the merged wire `l` that are due before `until`.
    fn release_merged(&mut self, l: u32, until: Time) {
        loop {
            let Entrance::Merged(merged) = &mut self.links[l as usize].entrance else { unreachable!("a merged wire") };
            let Some(&(at, _, packet)) = merged.pending.front().filter(|p| p.0 < until) else { return };
            merged.pending.pop_front();
            let exit = merged.wire.transit(at, packet.bytes());
            self.leave(l, packet, packet.stage(), exit);
        }
    }

    /// A packet arrives at the queue of link `l`. It finds the queue as it was just before `now`: an arrival precedes a
    /// departure at the same instant, as in most cases in ns-2, where the arrival was scheduled a propagation delay
    /// earlier.
    #[inline]
    fn offer(&mut self, l: u32, packet: Packet, now: Time) {
        if now > Time::ZERO && resource(&mut self.links, l).is_due(Time(now.0 - 1)) {
            self.catch_up(l, Time(now.0 - 1));
        }
        let link = &mut self.links[l as usize];
        let source = link.catch_up_source;
        let Entrance::Resource(resource) = &mut link.entrance else { unreachable!("a wire has no queue") };
        resource.enqueue(now, packet);
        if packet.has(Flags::SIGNALS) {
            write_price(resource, &mut self.option_slots, l, &{ packet });
        }
        let departure = resource.start(now);
        let (needs_release, deadline) = (resource.needs_release(), resource.deadline());
        if let Some((packet, at)) = departure {
            self.leave(l, packet, packet.stage(), at);
        }
        if needs_release {
            self.release_dropped(l);
        }
        if !self.events.is_set(source) {
            self.events.set(source, deadline);
        }
    }

    /// Processes everything at the queue of link `l` that is due by `until`.
    #[inline]
    pub(super) fn catch_up(&mut self, l: u32, until: Time) {
        loop {
            let resource = resource(&mut self.links, l);
            let Some((packet, at)) = resource.next_departure(until) else { return };
            if let Some(next) = resource.next_flow().filter(|_| !self.next_events.is_on()) {
                self.flows[next as usize].fetch_receiver();
            }
            self.leave(l, packet, packet.stage(), at);
        }
    }

    /// The event of a queue or of a merged wire.
    pub(super) fn catch_up_due(&mut self, l: u32) {
        let now = self.now;
        let link = &self.links[l as usize];
        match &link.entrance {
            Entrance::Merged(merged) => {
                // Packets that the root has not released yet leave it now or later.
                let until = now + merged.lead.max(marqueue_core::Dur(1));
                self.release_merged(l, until);
                let link = &self.links[l as usize];
                let Entrance::Merged(merged) = &link.entrance else { unreachable!("a merged wire") };
                let next = merged.pending.front().map_or(Time::NEVER, |p| p.0);
                self.events.set(link.catch_up_source, next);
            }
            Entrance::Resource(_) | Entrance::Wire(_) | Entrance::FlowLinks(_) => {
                self.catch_up(l, now);
                self.release_dropped(l);
                let deadline = resource(&mut self.links, l).deadline();
                self.events.set(self.links[l as usize].catch_up_source, deadline);
            }
        }
    }

    /// Releases packets that the queue of link `l` has dropped. Before their slots are reused, a trace copies them.
    pub(super) fn release_dropped(&mut self, l: u32) {
        if let Some(trace) = &mut resource(&mut self.links, l).trace {
            trace.settle(|flow| self.flows[flow as usize].row, &self.option_slots);
        }
        while let Some(packet) = resource(&mut self.links, l).lost.pop() {
            self.on_leaving_network(&packet);
        }
    }

    /// A packet has left the network.
    #[cold]
    fn on_leaving_network(&mut self, packet: &Packet) {
        if packet.has(Flags::EXTERNAL) {
            self.record_fate(*packet, self.now, Fate::Lost);
        } else if packet.has(Flags::ACK) || packet.has(Flags::SIGNALS) {
            self.release_options(packet);
        }
        self.flows[packet.flow() as usize].count_left();
    }

    /// An acknowledgement, or data with signals, has arrived or is lost: frees its slot.
    pub(super) fn release_options(&mut self, packet: &Packet) {
        if packet.options() != Packet::NO_OPTIONS {
            self.free_option_slots.push(packet.options());
        }
    }
}

/// The links of single flows at `l`.
#[inline]
fn flow_links(links: &mut [super::Link], l: u32) -> &mut FlowLinks {
    match &mut links[l as usize].entrance {
        Entrance::FlowLinks(links) => links,
        Entrance::Wire(_) | Entrance::Merged(_) | Entrance::Resource(_) => unreachable!("a link of all flows"),
    }
}

/// Writes the price of link `l`, if it has one, into a packet with signals that has arrived at its queue.
#[inline(never)]
fn write_price(resource: &Resource, option_slots: &mut [PacketOptions], l: u32, packet: &Packet) {
    let price = resource.qdisc.price(packet);
    if let (Some(price), PacketOptions::Signals(signals)) = (price, &mut option_slots[packet.options() as usize]) {
        signals.add_price(Price { router: l, ..price });
    }
}

/// Inserts a packet among those that will enter a merged wire, by time and rank. Returns whether it overtakes all
/// others, if there are any.
#[inline(always)]
fn insert_by_time(pending: &mut VecDeque<(Time, u32, Packet)>, at: Time, rank: u32, packet: Packet) -> bool {
    let is_later = |other: &(Time, u32, Packet)| other.0 > at || other.0 == at && other.1 > rank;
    if !pending.back().is_some_and(is_later) {
        ring::push_back(pending, (at, rank, packet));
        return false;
    }
    let after = pending.iter().rev().take_while(|other| is_later(other)).count();
    pending.insert(pending.len() - after, (at, rank, packet));
    after + 1 == pending.len()
}
