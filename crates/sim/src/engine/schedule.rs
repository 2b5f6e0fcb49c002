//! Scheduled events beside packets and flow timers: measuring windows, samples, arrival processes, stops of traffic.

use super::{resource, Engine, Entrance, Link, Source};
use crate::events::EventQueue;
use crate::flow::FlowKind;
use crate::line::Line;
use crate::plan::Plan;
use crate::route::Stage;
use crate::slots::PERIOD;
use crate::traffic::{draw_size, ArrivalKind};
use crate::watcher::{LinkSoFar, SoFar};
use crate::window_meter::WindowMeter;
use marqueue_aqm::Qdisc;
use marqueue_core::{Packet, Time};

impl Engine {
    /// Assigns an event source to everything that has events.
    pub(super) fn number_sources(&mut self, plan: &Plan) {
        let mut has_arrivals = vec![false; self.links.len()];
        for pair in self.routes.stages.windows(2) {
            if let (
                Stage::Link(l)
                | Stage::Chained(l)
                | Stage::Merged(l)
                | Stage::Pipe(l)
                | Stage::ReorderingPipe(l)
                | Stage::Cores(l),
                Stage::Link(_) | Stage::Receive | Stage::ReceiveOrHandOut | Stage::Sender,
            ) = (pair[0], pair[1])
            {
                has_arrivals[l as usize] = true;
            }
        }
        // Of packets that arrive at the same instant, that of the shorter link comes first. This rule depends neither
        // on the order of a scenario file nor on added links, and it affects results (docs/validation.md, "Ties").
        let mut by_delay: Vec<usize> = (0..self.links.len()).collect();
        by_delay.sort_by_key(|&l| plan.links[l].delay);
        for (rank, &l) in by_delay.iter().enumerate() {
            self.links[l].rank = rank as u32;
            if has_arrivals[l] {
                self.links[l].arrival_source = self.lines.len() as u32;
                self.lines.push(Line::default());
            }
        }
        for (l, link) in self.links.iter_mut().enumerate() {
            if matches!(link.entrance, Entrance::FlowLinks(_)) {
                link.arrival_source = (self.lines.len() + self.sources.len()) as u32;
                self.sources.push(Source::FlowLinks(l as u32));
            }
        }
        for (l, link) in self.links.iter_mut().enumerate() {
            if !matches!(link.entrance, Entrance::Wire(_) | Entrance::FlowLinks(_)) {
                link.catch_up_source = (self.lines.len() + self.sources.len()) as u32;
                let is_outside = self.outside.contains(&(l as u32));
                self.sources.push(if is_outside { Source::Outside(l as u32) } else { Source::CatchUp(l as u32) });
            }
        }
        self.timers_source = (self.lines.len() + self.sources.len()) as u32 + 1;
        self.sources.extend([Source::Stop, Source::Timers]);
    }

    /// Schedules the first event of every source that is not a link's.
    pub(super) fn schedule_all(&mut self) {
        self.sources.extend((0..self.arrivals.len()).map(|i| Source::Process(i as u32)));
        self.sources.extend(self.slots.is_some().then_some(Source::EndOfPeriod));
        self.sources.extend([Source::Sample, Source::Edge]);
        self.events = EventQueue::new(self.lines.len() + self.sources.len());
        self.schedule(Source::Edge, self.edges[0]);
        self.schedule_timers();
        self.schedule_stop();
        self.schedule(Source::Sample, self.next_sample);
        self.schedule(Source::EndOfPeriod, Time::ZERO + PERIOD);
        for i in 0..self.arrivals.len() {
            self.schedule(Source::Process(i as u32), self.arrivals[i].next);
        }
    }

    /// Sets the event of a source that is not a link's, if there is one. These sources are the last, so the search starts at the end.
    pub(super) fn schedule(&mut self, source: Source, time: Time) {
        if let Some(i) = self.sources.iter().rposition(|&s| s == source) {
            self.events.set((self.lines.len() + i) as u32, time);
        }
    }

    fn schedule_stop(&mut self) {
        self.schedule(Source::Stop, self.stops.last().map_or(Time::NEVER, |s| s.0));
    }

    /// A measuring window ends.
    pub(super) fn end_window(&mut self) -> bool {
        self.close_windows();
        self.next_edge += 1;
        if self.next_edge == self.edges.len() {
            return false;
        }
        self.schedule(Source::Edge, self.edges[self.next_edge]);
        true
    }

    /// Ends the run here, and with it the current measuring window.
    pub fn cut_off(&mut self) {
        let begun = self.next_edge.checked_sub(1).map_or(Time::ZERO, |last| self.edges[last]);
        if self.now > begun {
            self.close_windows();
        }
    }

    fn close_windows(&mut self) {
        for l in 0..self.links.len() as u32 {
            if matches!(self.links[l as usize].entrance, Entrance::Resource(_)) {
                self.catch_up(l, self.now);
                self.release_dropped(l);
                let r = resource(&mut self.links, l);
                assert!(r.qdisc.conserves(), "packets appear or vanish at link {l}");
                let (speed, ahead) = (r.speed(), r.ahead(self.now));
                r.meter.close(self.now, r.qdisc.len(), r.qdisc.counters(), speed, ahead);
            }
        }
        self.cwnds.iter_mut().for_each(WindowMeter::close);
        self.assert_conserved();
    }

    /// Checks conservation: every packet that was sent has been received, has been lost, or is on a link.
    /// Of a part of a network: or is on a link of another part.
    fn assert_conserved(&self) {
        let waiting = |link: &Link| match &link.entrance {
            Entrance::Resource(r) => r.qdisc.len() as usize + r.held(),
            Entrance::Merged(merged) => merged.pending.len(),
            Entrance::FlowLinks(links) => links.in_flight(),
            Entrance::Wire(_) => 0,
        };
        // A flow that leaves more packets here than it sends here has a negative count.
        let in_flight: i64 = self.flows.iter().map(|f| i64::from(f.in_flight as i32)).sum();
        let on_links: usize = self.lines.iter().map(Line::len).sum();
        let found = (on_links + self.links.iter().map(waiting).sum::<usize>()) as i64;
        assert_eq!(
            in_flight + self.retired,
            found + self.packets_elsewhere(),
            "packets appear or vanish between links"
        );
    }

    pub(super) fn take_sample(&mut self) {
        for l in 0..self.links.len() as u32 {
            if matches!(self.links[l as usize].entrance, Entrance::Resource(_)) {
                self.catch_up(l, self.now);
                self.release_dropped(l);
                let r = resource(&mut self.links, l);
                let (speed, ahead) = (r.speed(), r.ahead(self.now));
                r.meter.sample(self.now, &r.qdisc, speed, ahead);
            }
        }
        for cwnds in &mut self.cwnds {
            cwnds.sample(self.now, &self.flows);
        }
        self.next_sample += self.sample;
        self.schedule(Source::Sample, self.next_sample);
    }

    /// What the run has done so far, by link with a queue.
    pub fn so_far(&mut self) -> SoFar {
        // Queues are brought up to the last event, but not to the departures at its instant: an arrival at the same
        // instant would come before them. What is outside waits for each packet.
        let is_alone = self.external_flows.is_empty() && self.outside.is_empty();
        let until = self.now.0.checked_sub(1).map(Time).filter(|_| is_alone);
        let (mut links, mut samples) = (Vec::new(), 0);
        for l in 0..self.links.len() as u32 {
            if !matches!(self.links[l as usize].entrance, Entrance::Resource(_)) {
                continue;
            }
            if let Some(until) = until {
                self.catch_up(l, until);
                self.release_dropped(l);
            }
            let r = resource(&mut self.links, l);
            let (used, capacity) = r.meter.work(self.now, r.speed(), r.ahead(self.now));
            let counters = r.qdisc.counters();
            links.push(LinkSoFar {
                link: l as usize,
                arrivals: counters.arrivals,
                left: counters.departures + counters.dropped(),
                used,
                capacity,
            });
            samples += r.meter.sampled_bytes();
        }
        SoFar { events: self.processed, now: self.now, flows: self.rows.len(), samples, links }
    }

    /// Stops the flows of a group: they send no new data.
    pub(super) fn stop_group(&mut self) {
        let Some((_, group)) = self.stops.pop() else { return };
        for f in 0..self.flows.len() {
            if self.rows.group(self.flows[f].row) != Some(group) || !self.has_sender(f as u32) {
                continue;
            }
            if let FlowKind::Tcp(tcp) = &mut self.flows[f].kind {
                tcp.writer = None;
                tcp.sender.stop();
                self.after_sender(f as u32);
            }
        }
        self.schedule_stop();
    }

    /// The arrival process `i` creates a flow or a packet.
    pub(super) fn random_arrival(&mut self, i: usize) {
        let arrivals = &mut self.arrivals[i];
        match &mut arrivals.kind {
            ArrivalKind::Flows { .. } => {
                let created = arrivals.ahead.pop_front();
                let f = created.map_or_else(|| self.create_arrival(i), |(_, f)| f);
                self.flow_timer(f);
            }
            ArrivalKind::Packets { flow, bytes, law, sent } => {
                let f = *flow;
                let packet = Packet::data(f, *sent, draw_size(*law, *bytes, &mut arrivals.rng));
                // Sequence numbers only distinguish packets.
                *sent = sent.wrapping_add(1);
                let flow = &mut self.flows[f as usize];
                let packet = packet.with_head(flow.head);
                let stage = flow.data_stage;
                flow.count_sent(1);
                self.rows.count_sent(flow.row);
                self.send_from_host(packet, stage, self.now);
                self.arrivals[i].advance();
            }
        }
        self.schedule(Source::Process(i as u32), self.arrivals[i].due());
    }
}
