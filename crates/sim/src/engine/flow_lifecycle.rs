//! The start and end of flows: creates them from the plan, and gives their slots to others when they have ended.

use super::{Engine, Entrance, Source};
use crate::flow::{Flow, FlowKind, RateBased, Tcp, Udp, UdpSource};
use crate::flow_rows::FlowSink;
use crate::plan::{Plan, TrafficKind, TrafficPlan};
use crate::result::{RateTrace, SenderTrace};
use crate::slots::{Left, PERIOD};
use crate::traffic::{draw_packets, ArrivalKind, Arrivals, Writer};
use crate::window_meter::WindowMeter;
use marqueue_cc::{rate_based, Receiver, Sender};
use marqueue_core::units::Transmitter;
use marqueue_core::{Dur, Ecn, Rng, Time};
use std::num::NonZeroU32;
use std::sync::Arc;

impl Engine {
    /// From now on rows of flows that arrived long ago leave to `sink`.
    pub fn let_rows_leave(&mut self, sink: Arc<dyn FlowSink>) {
        self.rows.leave_to(sink);
    }

    /// Creates the flows and arrival processes of all traffic groups.
    pub(super) fn add_traffic(&mut self, plan: &Plan, seed: u64) {
        for (group, traffic) in plan.traffic.iter().enumerate() {
            let group = group as u32;
            match &traffic.kind {
                TrafficKind::Tcp { .. } => self.add_tcp_group(traffic, group, seed),
                TrafficKind::Cbr { .. } => self.add_cbr_group(traffic, group, seed),
                TrafficKind::Recorded { .. } => self.add_recorded_group(traffic, group, seed),
                TrafficKind::Paced { .. } => self.add_rate_based_group(traffic, group, seed),
                TrafficKind::Quic(quic) => self.add_quic_group(traffic, quic, group, seed),
                TrafficKind::Media(media) => self.add_media_group(traffic, media, group, seed),
                TrafficKind::Packets { route, start, .. } => {
                    let f = self.add_flow(FlowKind::Packets, group, *route as u32, *start, 0);
                    self.arrivals.extend(Arrivals::new(traffic, group, seed, f));
                }
                TrafficKind::Poisson { transport, .. } if self.is_external(*transport) => {
                    self.add_external_arrivals(traffic, group, seed);
                }
                TrafficKind::Poisson { .. } => self.arrivals.extend(Arrivals::new(traffic, group, seed, 0)),
            }
        }
        self.stops.sort_by(|a, b| b.cmp(a));
    }

    fn add_tcp_group(&mut self, traffic: &TrafficPlan, group: u32, seed: u64) {
        let TrafficKind::Tcp { transport, route, count, start, jitter, stop, size, trace, write, sample_cwnd } =
            &traffic.kind
        else {
            return;
        };
        if self.is_external(*transport) {
            return self.add_external_group(traffic, group, seed);
        }
        if *sample_cwnd {
            let (slot, row) = (self.flows.len(), self.rows.len());
            self.cwnds.push(WindowMeter::new(group as usize, slot, row, *count));
        }
        for i in 0..*count {
            let (mut rng, at) = draw_start(traffic, i, seed, *start, *jitter);
            let phase = rng.uniform();
            let f = self.add_tcp(group, *route as u32, *transport as u32, *size, at, phase);
            if let Some(write) = write {
                self.write_in_pieces(f, Writer::new(*write, rng, at, *size));
            }
            if *trace {
                self.trace_sender(f);
            }
            self.enter_timer(f, at);
        }
        self.stops.extend(stop.map(|t| (t, group)));
    }

    fn add_cbr_group(&mut self, traffic: &TrafficPlan, group: u32, seed: u64) {
        let TrafficKind::Cbr { route, count, rate, packet, start, jitter, stop, .. } = &traffic.kind else { return };
        for i in 0..*count {
            let (_, at) = draw_start(traffic, i, seed, *start, *jitter);
            let source = UdpSource::Constant { spacing: Transmitter::new(*rate), bytes: packet.0 as u32 };
            self.add_udp(source, *stop, group, *route, at, at);
        }
    }

    fn add_recorded_group(&mut self, traffic: &TrafficPlan, group: u32, seed: u64) {
        let TrafficKind::Recorded { route, count, packets, start, jitter, stop, .. } = &traffic.kind else { return };
        // All flows of the group share one.
        let packets: Arc<[_]> = packets.as_slice().into();
        for i in 0..*count {
            let (_, began) = draw_start(traffic, i, seed, *start, *jitter);
            let first = packets.first().map_or(Time::NEVER, |(after, _)| began + *after);
            let source = UdpSource::Recorded { packets: packets.clone(), began };
            self.add_udp(source, *stop, group, *route, began, first);
        }
    }

    /// A UDP flow that exists from `began` on and sends its first packet at `first`.
    fn add_udp(&mut self, source: UdpSource, stop: Option<Time>, group: u32, route: usize, began: Time, first: Time) {
        let kind = FlowKind::Udp(Box::new(Udp { source, sent: 0, stop: stop.unwrap_or(Time::NEVER) }));
        let f = self.add_flow(kind, group, route as u32, began, 0);
        self.enter_timer(f, first);
    }

    fn add_rate_based_group(&mut self, traffic: &TrafficPlan, group: u32, seed: u64) {
        let TrafficKind::Paced { control, route, count, rate, packet, ecn, start, jitter, stop, trace } = &traffic.kind
        else {
            return;
        };
        let law = rate_based::AnyRateLaw::build(control, *packet).expect("the plan has been checked");
        let (rate, stop) = (rate.packets_per_sec(*packet), stop.unwrap_or(Time::NEVER));
        for i in 0..*count {
            let (_, at) = draw_start(traffic, i, seed, *start, *jitter);
            let kind = FlowKind::RateBased(Box::new(RateBased {
                sender: rate_based::Sender::new(law.clone(), rate, at, stop),
                receiver: rate_based::Receiver::default(),
                bytes: packet.0 as u32,
                ecn: if *ecn { Ecn::Ect0 } else { Ecn::NotEct },
                trace: trace.then_some(self.rate_traces.len() as u32),
            }));
            let f = self.add_flow(kind, group, *route as u32, at, 0);
            if *trace {
                let flow = self.flows[f as usize].row;
                self.rate_traces.push(RateTrace { flow, bytes: packet.0 as u32, rows: Vec::new() });
            }
            self.enter_timer(f, at);
        }
    }

    /// Makes the application of flow `f` write in pieces.
    fn write_in_pieces(&mut self, f: u32, writer: Writer) {
        if !self.has_sender(f) {
            return;
        }
        if let FlowKind::Tcp(tcp) = &mut self.flows[f as usize].kind {
            tcp.sender.write_in_pieces();
            tcp.writer = Some(Box::new(writer));
        }
    }

    /// Traces the sender of flow `f`.
    fn trace_sender(&mut self, f: u32) {
        let flow = &mut self.flows[f as usize];
        self.senders.push(SenderTrace { flow: flow.row, rows: Vec::new(), models: Vec::new() });
        if let FlowKind::Tcp(tcp) = &mut flow.kind {
            tcp.trace = NonZeroU32::new(self.senders.len() as u32);
        }
    }

    /// Enters the first timer of flow `f`, unless its sender is in another part of the network.
    pub(super) fn enter_timer(&mut self, f: u32, at: Time) {
        if !self.has_sender(f) {
            return;
        }
        self.flows[f as usize].timer = at;
        self.timers.push(at, f);
    }

    pub(super) fn add_tcp(
        &mut self,
        group: u32,
        route: u32,
        transport: u32,
        size: Option<u32>,
        at: Time,
        phase: f64,
    ) -> u32 {
        let config = &self.configs[transport as usize];
        let receiver = Receiver::new(config);
        let kind = if self.sends_here(self.routes.first[route as usize]) {
            let sender = Sender::new(config, size, phase);
            FlowKind::Tcp(Tcp { receiver, sender, writer: None, trace: None, started: false })
        } else {
            FlowKind::TcpReceiver(receiver)
        };
        let f = self.add_flow(kind, group, route, at, size.unwrap_or(0));
        self.flows[f as usize].transport = transport;
        f
    }

    pub(super) fn add_flow(&mut self, kind: FlowKind, group: u32, route: u32, at: Time, size: u32) -> u32 {
        let row = self.rows.add(group, route, at, size);
        let data_stage = self.routes.first[route as usize];
        let flow = Flow {
            window: 0,
            in_flight: 0,
            delivered: 0,
            transport: 0,
            head: self.heads[group as usize],
            kind,
            timer: Time::NEVER,
            row,
            data_stage,
        };
        let slot = match self.slots.as_mut().and_then(|slots| slots.take()) {
            Some(slot) => {
                self.flows[slot as usize] = flow;
                slot
            }
            None => {
                self.flows.push(flow);
                (self.flows.len() - 1) as u32
            }
        };
        self.add_flow_links(slot, group, route);
        slot
    }

    /// Makes the links of the flow in `slot`, if any flow has links of its own, and notes its propagation delay.
    fn add_flow_links(&mut self, slot: u32, group: u32, route: u32) {
        if !self.flow_delays.are_any() {
            return;
        }
        let links = &mut self.links;
        let propagation = self.flow_delays.draw(group, route, |l, delay| {
            if let Entrance::FlowLinks(links) = &mut links[l as usize].entrance {
                links.add(slot, delay);
            }
        });
        self.rows.add_propagation(propagation);
    }

    /// Creates the next flow of the arrival process `i`. Returns its slot.
    pub(super) fn create_arrival(&mut self, i: usize) -> u32 {
        let arrivals = &mut self.arrivals[i];
        let ArrivalKind::Flows { transport, routes, size, law } = &arrivals.kind else { unreachable!("flows arrive") };
        let (group, transport, at) = (arrivals.group, *transport, arrivals.next);
        let route = routes.draw(&mut arrivals.rng);
        let phase = arrivals.rng.uniform();
        let size = draw_packets(*law, *size, &mut arrivals.rng);
        arrivals.advance();
        self.created += 1;
        self.rows.make_room();
        if let Some(slots) = &mut self.slots {
            slots.come_to(at);
        }
        self.add_tcp(group, route, transport, Some(size), at, phase)
    }

    /// Creates flows that will arrive, in the order of their arrivals, until there have been `created` in all: so many as in
    /// another part of the network, which may be ahead of this one.
    pub(super) fn create_arrivals(&mut self, created: u64) {
        while self.created < created {
            let of_flows = (0..self.arrivals.len()).filter(|&i| self.arrivals[i].packet_flow().is_none());
            let Some(i) = of_flows.min_by_key(|&i| self.arrivals[i].next) else { unreachable!("flows arrive") };
            let at = self.arrivals[i].next;
            debug_assert!(at < Time::NEVER, "another part has drawn more flows");
            let created = self.create_arrival(i);
            self.arrivals[i].ahead.push_back((at, created));
        }
    }

    /// A period of [`crate::slots`] ends: slots become free, and all parts of the network are told what is left here of
    /// flows that have ended.
    pub(super) fn end_period(&mut self) {
        let now = self.now;
        // Queues compute late what they drop.
        for l in 0..self.links.len() as u32 {
            if matches!(self.links[l as usize].entrance, Entrance::Resource(_)) {
                self.catch_up(l, now);
                self.release_dropped(l);
            }
        }
        let Some(mut slots) = self.slots.take() else { return };
        for f in slots.read_reports(now) {
            self.retire(f);
        }
        let report = slots.report(now, |f| {
            let flow = &self.flows[f as usize];
            let owes_ack = match &flow.kind {
                FlowKind::Tcp(Tcp { receiver, .. }) | FlowKind::TcpReceiver(receiver) => {
                    receiver.deadline() != Time::NEVER
                }
                _ => false,
            };
            Left { in_flight: flow.in_flight, owes_ack }
        });
        self.slots = Some(slots);
        self.tell(&report);
        self.schedule(Source::EndOfPeriod, now + PERIOD);
    }

    /// Nothing is left of flow `f` in the network, and its slot will be another's. A timer entry that is left over is ignored,
    /// because its time is not that of the slot.
    fn retire(&mut self, f: u32) {
        let flow = &mut self.flows[f as usize];
        self.retired += i64::from(std::mem::take(&mut flow.in_flight).cast_signed());
        // Where its sender is its row is final.
        if !self.has_sender(f) {
            self.rows.end(&mut self.flows[f as usize], self.now);
        }
    }
}

/// The random stream of flow `i` of a group, and its start time, which is the first draw.
pub(super) fn draw_start(traffic: &TrafficPlan, i: u32, seed: u64, start: Time, jitter: Dur) -> (Rng, Time) {
    let mut rng = Rng::named(seed, &format!("traffic/{}/{i}", traffic.name));
    let at = start + Dur::from_secs(jitter.secs() * rng.uniform());
    (rng, at)
}
