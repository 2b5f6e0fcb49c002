//! Handing over to other threads: an engine that simulates one part of a network hands over the packets that arrive in
//! other parts, and accepts theirs (see [`crate::partition`]).

use super::{Engine, Entrance};
use crate::batch::{Batch, FormAndLink, Sent};
use crate::partition::Partition;
use crate::route::Stage;
use crate::slots::Report;
use marqueue_core::{Flags, Packet, Time};

/// The part of a network that an engine simulates.
#[derive(Debug)]
pub struct Part {
    /// Its number.
    me: u32,
    /// The part of each stage.
    of_stage: Vec<u32>,
    /// The links whose servers send packets on their way to other parts.
    borders: Vec<u32>,
    /// Packets that will arrive in other parts, by part.
    out: Vec<Batch>,
    /// What is remembered of all of these, by part.
    sent: Vec<Sent>,
    /// Forms and links of packets from other parts, by part.
    known: Vec<Vec<FormAndLink>>,
    /// Packets handed over so far.
    handed_over: usize,
    /// Packets accepted so far.
    accepted: usize,
}

/// Packets from the one that is accepted to the one whose flow is prefetched.
const AHEAD: usize = 6;

impl Part {
    /// Part `me` of a partition.
    pub fn new(partition: &Partition, me: usize) -> Part {
        Part {
            me: me as u32,
            of_stage: partition.of_stage.clone(),
            borders: partition.borders[me].clone(),
            out: (0..partition.parts).map(|_| Batch::default()).collect(),
            sent: (0..partition.parts).map(|_| Sent::default()).collect(),
            known: vec![Vec::new(); partition.parts],
            handed_over: 0,
            accepted: 0,
        }
    }

    /// Its number, and how many parts there are.
    pub(super) fn number_of(&self) -> (usize, usize) {
        (self.me as usize, self.out.len())
    }
}

/// Has this packet with options a slot of them? Other packets have a timestamp in its place.
fn has_slot(packet: &Packet) -> bool {
    packet.has(Flags::ACK) || packet.has(Flags::SIGNALS)
}

impl Engine {
    /// Marks the stages that other parts simulate. The sources of events have been numbered before, alike in all parts.
    pub(super) fn restrict(&mut self) {
        if let Some(part) = &self.part {
            self.routes.leave_to_others(part.me, &part.of_stage);
        }
    }

    /// Stops the arrival processes whose packets other parts send.
    pub(super) fn leave_arrivals_to_others(&mut self) {
        for i in 0..self.arrivals.len() {
            if self.arrivals[i].packet_flow().is_some_and(|f| !self.has_sender(f)) {
                self.arrivals[i].next = Time::NEVER;
            }
        }
    }

    /// Is the sender of flow `f` in this part of the network?
    #[inline]
    pub(super) fn has_sender(&self, f: u32) -> bool {
        self.sends_here(self.flows[f as usize].data_stage)
    }

    /// Are the senders of a route with this first stage in this part of the network?
    #[inline]
    pub(super) fn sends_here(&self, first: u32) -> bool {
        !matches!(self.routes.stages[first as usize], Stage::Elsewhere(_))
    }

    /// A packet will arrive at the far end of link `l` at `at`, in another part of the network.
    #[inline(always)]
    pub(super) fn hand_over(&mut self, to: u32, l: u32, packet: Packet, at: Time) {
        let (a, b, c) = packet.words();
        self.hand_over_words(to, l, a, b, c, at);
    }

    /// The same with the words of the packet, which stay in registers.
    #[cold]
    #[inline(never)]
    fn hand_over_words(&mut self, to: u32, l: u32, a: u64, b: u64, c: u64, at: Time) {
        let packet = Packet::of_words((a, b, c));
        if packet.options() != Packet::NO_OPTIONS {
            return self.hand_over_with_options(to, l, a, b, c, at);
        }
        let Some(part) = &mut self.part else { unreachable!("a part of a network") };
        part.out[to as usize].push(at, l, packet, &mut part.sent[to as usize]);
    }

    #[inline(never)]
    fn hand_over_with_options(&mut self, to: u32, l: u32, a: u64, b: u64, c: u64, at: Time) {
        let packet = Packet::of_words((a, b, c));
        let Some(part) = &mut self.part else { unreachable!("a part of a network") };
        let (batch, sent) = (&mut part.out[to as usize], &mut part.sent[to as usize]);
        if has_slot(&packet) {
            batch.push_with_slot(at, l, packet, self.option_slots[packet.options() as usize], sent);
            self.free_option_slots.push(packet.options());
        } else {
            batch.push_with_timestamp(at, l, packet, sent);
        }
    }

    /// What is handed over to each part, by who asks for it.
    pub fn out(&mut self) -> &mut [Batch] {
        let Some(part) = &mut self.part else { return &mut [] };
        part.handed_over += part.out.iter().map(Batch::len).sum::<usize>();
        // Not those that have arrived here: a packet of a part that is ahead may only pass through.
        part.out.iter_mut().for_each(|batch| batch.created = self.created);
        &mut part.out
    }

    /// Tells all other parts what is left here of flows that have ended.
    pub(super) fn tell(&mut self, report: &Report) {
        let Some(part) = &mut self.part else { return };
        for (_, batch) in part.out.iter_mut().enumerate().filter(|(to, _)| *to != part.me as usize) {
            batch.reports.push(report.clone());
        }
    }

    /// Accepts packets from part `from`, and empties the batch. None of them arrives before the time to which this part has
    /// come.
    pub fn accept(&mut self, from: usize, batch: &mut Batch) {
        let Some(part) = &mut self.part else { return };
        let mut known = std::mem::take(&mut part.known[from]);
        if let Some(slots) = &mut self.slots {
            batch.reports.drain(..).for_each(|report| slots.accept(from, report));
        }
        self.create_arrivals(batch.created);
        let mut packets = batch.packets(&mut known);
        while let Some((at, l, mut packet, has_slot)) = packets.next() {
            if let Some(soon) = packets.flow(AHEAD) {
                self.flows[soon as usize].fetch_receiver();
            }
            debug_assert!(at >= self.now, "a packet from the past");
            if has_slot {
                let contents = packets.contents().expect("the contents of each slot come along");
                packet = packet.with_options(self.store_options(contents));
            }
            self.accept_packet(at, l, packet);
        }
        if let Some(part) = &mut self.part {
            part.accepted += batch.len();
            part.known[from] = known;
        }
        batch.clear();
    }

    /// Accepts a packet that arrives at the far end of link `l` at `at`.
    #[inline(always)]
    fn accept_packet(&mut self, at: Time, l: u32, packet: Packet) {
        let source = self.links[l as usize].arrival_source;
        let stage = packet.stage();
        let is_first = match &mut self.links[l as usize].entrance {
            Entrance::FlowLinks(links) => links.push(at, packet),
            // What follows is chained to the link.
            _ if !self.routes.stages[stage as usize].is_by_event() => return self.leave(l, packet, stage, at),
            Entrance::Wire(_) | Entrance::Merged(_) | Entrance::Resource(_) => {
                self.lines[source as usize].push_back(at, packet, &mut self.forms)
            }
        };
        if is_first {
            self.events.set(source, at);
        }
    }

    /// Processes everything at the queues on the borders that is due by `until`: after it, what they send arrives no
    /// earlier than a propagation delay later.
    pub fn settle_borders(&mut self, until: Time) {
        let Some(part) = &self.part else { return };
        for i in 0..part.borders.len() {
            let Some(l) = self.part.as_ref().map(|part| part.borders[i]) else { return };
            if matches!(&self.links[l as usize].entrance, Entrance::Resource(r) if r.is_due(until)) {
                self.catch_up(l, until);
                self.release_dropped(l);
            }
        }
    }

    /// Packets that are on links of other parts: those handed over, less those accepted.
    pub(super) fn packets_elsewhere(&self) -> i64 {
        self.part.as_ref().map_or(0, |part| {
            let waiting = part.out.iter().map(Batch::len).sum::<usize>();
            (part.handed_over + waiting) as i64 - part.accepted as i64
        })
    }
}
