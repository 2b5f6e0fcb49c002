//! The engine: takes the earliest event and lets it happen.

use crate::events::{EventQueue, Judgement, Timers};
use crate::flow::{add_row, fill_row, Cbr, Flow, Kind, Tcp};
use crate::plan::{LinkPlan, Plan, TrafficKind};
use crate::resource::Resource;
use crate::result::{CwndTrace, FlowTable};
use crate::route::{Routes, Stage};
use crate::traffic::{draw_size, Arrivals, What};
use crate::wire::Wire;
use marqueue_aqm::Qdisc;
use marqueue_cc::receiver::AckOut;
use marqueue_cc::{Ack, Config, Receiver, SackBlocks, Segment, Sender};
use marqueue_core::units::Transmitter;
use marqueue_core::{Dur, Ecn, Flags, Packet, Rng, Time};
use std::collections::VecDeque;

/// No source.
const NONE: u32 = u32::MAX;

/// A link: what is at its near end, and its packets whose arrival at the next stage is an event.
#[derive(Debug)]
pub struct Link {
    near: Near,
    arriving: VecDeque<(Time, Packet)>,
    /// Source of the event of its first arrival.
    arrival_source: u32,
    /// Source of the event by which its departures must be known.
    catch_up_source: u32,
}

/// The near end of a link.
#[derive(Debug)]
enum Near {
    Wire(Wire),
    Resource(Box<Resource>),
}

/// The state of a run.
#[derive(Debug)]
pub struct Engine {
    now: Time,
    events: EventQueue,
    sources: Vec<Source>,
    links: Vec<Link>,
    routes: Routes,
    flows: Vec<Flow>,
    free_slots: Vec<u32>,
    timers: Timers,
    timers_source: u32,
    arrivals: Vec<Arrivals>,
    configs: Vec<Config>,
    /// Edges of the measuring windows, without zero, the duration last.
    edges: Vec<Time>,
    next_edge: usize,
    sample: Dur,
    next_sample: Time,
    /// Stops of traffic groups to come, the next one last.
    stops: Vec<(Time, u32)>,
    sack_pool: Vec<SackBlocks>,
    sack_free: Vec<u32>,
    segments: Vec<Segment>,
    table: FlowTable,
    cwnd: Vec<CwndTrace>,
    processed: u64,
}

/// What a source of events stands for. Sources are numbered in this order: of events at the same
/// time arrivals come first, and what only looks comes last.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Source {
    /// The first packet of a link arrives at its next stage.
    Arrival(u32),
    /// The departures of a queue must be known by now.
    CatchUp(u32),
    /// Traffic groups stop.
    Stop,
    /// Flow timers.
    Timers,
    /// An arrival process.
    Process(u32),
    /// The sampler.
    Sample,
    /// The edge of a measuring window.
    Edge,
}

impl Engine {
    /// An engine at time zero. `resources[l]` is the queue of link `l`, if it has one.
    pub fn new(plan: &Plan, seed: u64, configs: Vec<Config>, resources: Vec<Option<Resource>>) -> Engine {
        let links: Vec<Link> = plan
            .links
            .iter()
            .zip(resources)
            .map(|(l, resource)| Link {
                near: near_end(l, resource),
                arriving: VecDeque::new(),
                arrival_source: NONE,
                catch_up_source: NONE,
            })
            .collect();
        let mut edges = plan.boundaries.clone();
        edges.push(plan.duration);
        let routes = Routes::new(plan, &answers_at_once(plan, &configs));
        let mut engine = Engine {
            now: Time::ZERO,
            events: EventQueue::new(0),
            sources: Vec::new(),
            links,
            routes,
            flows: Vec::new(),
            free_slots: Vec::new(),
            timers: Timers::default(),
            timers_source: NONE,
            arrivals: Vec::new(),
            configs,
            edges,
            next_edge: 0,
            sample: plan.sample,
            next_sample: if plan.sample == Dur::ZERO { Time::NEVER } else { Time::ZERO + plan.sample },
            stops: Vec::new(),
            sack_pool: Vec::new(),
            sack_free: Vec::new(),
            segments: Vec::new(),
            table: FlowTable::default(),
            cwnd: Vec::new(),
            processed: 0,
        };
        engine.number_sources(plan);
        engine.add_traffic(plan, seed);
        engine.schedule_all();
        engine
    }

    /// The time of the last event.
    pub fn now(&self) -> Time {
        self.now
    }

    /// Processes up to `n` events; `false` when the run has ended.
    pub fn advance(&mut self, n: u32) -> bool {
        for _ in 0..n {
            let Some((time, source)) = self.events.first() else { return false };
            debug_assert!(time >= self.now, "time runs backwards");
            self.now = time;
            self.processed += 1;
            match self.sources[source as usize] {
                Source::Arrival(l) => self.arrival(l),
                Source::CatchUp(l) => {
                    self.catch_up(l, time);
                    self.arm(l);
                }
                Source::Stop => self.stop_group(),
                Source::Timers => self.timer(),
                Source::Process(i) => self.random_arrival(i as usize),
                Source::Sample => self.take_sample(),
                Source::Edge => {
                    if !self.edge() {
                        return false;
                    }
                }
            }
        }
        true
    }

    /// The links, flows, window traces and the number of events of a run that has ended.
    pub fn finish(mut self) -> (Vec<Option<Resource>>, FlowTable, Vec<CwndTrace>, u64) {
        for flow in &self.flows {
            fill_row(&mut self.table, flow);
        }
        let resources = self
            .links
            .into_iter()
            .map(|link| match link.near {
                Near::Resource(r) => Some(*r),
                Near::Wire(_) => None,
            })
            .collect();
        (resources, self.table, self.cwnd, self.processed)
    }

    // ---- packets on their way ----

    /// The first packet of link `l` arrives at its next stage.
    #[inline]
    fn arrival(&mut self, l: u32) {
        let link = &mut self.links[l as usize];
        let Some((_, packet)) = link.arriving.pop_front() else { unreachable!("an event without a packet") };
        let next = link.arriving.front().map_or(Time::NEVER, |a| a.0);
        let source = link.arrival_source;
        self.events.set(source, next);
        let now = self.now;
        match self.routes.stages[packet.stage as usize] {
            Stage::Link(to) | Stage::Chained(to) => self.enter(to, packet, now),
            Stage::Receive | Stage::ReceiveChained => {
                if let Some(ack) = self.receive(packet, now) {
                    self.enter_stage(ack, now);
                }
            }
            Stage::Sender => self.acknowledged(packet),
        }
    }

    /// A packet that a host sends enters the link that its stage names.
    #[inline]
    fn enter_stage(&mut self, packet: Packet, now: Time) {
        match self.routes.stages[packet.stage as usize] {
            Stage::Link(to) | Stage::Chained(to) => self.enter(to, packet, now),
            Stage::Receive | Stage::ReceiveChained | Stage::Sender => unreachable!("a host sends into a link"),
        }
    }

    /// A packet enters link `l` at `now`.
    #[inline]
    fn enter(&mut self, l: u32, mut packet: Packet, now: Time) {
        packet.stage += 1;
        match &mut self.links[l as usize].near {
            Near::Wire(wire) => {
                let exit = wire.transit(now, packet.bytes);
                self.leave(l, packet, exit);
            }
            Near::Resource(_) => self.offer(l, packet, now),
        }
    }

    /// A packet will arrive at the far end of link `l` at `at`: follow it over all stages that need
    /// no event.
    #[inline]
    fn leave(&mut self, mut l: u32, mut packet: Packet, mut at: Time) {
        loop {
            match self.routes.stages[packet.stage as usize] {
                Stage::Chained(to) => {
                    let Near::Wire(wire) = &mut self.links[to as usize].near else {
                        unreachable!("only wires are chained")
                    };
                    at = wire.transit(at, packet.bytes);
                    packet.stage += 1;
                    l = to;
                }
                Stage::ReceiveChained => match self.receive(packet, at) {
                    Some(ack) => packet = ack,
                    None => return,
                },
                Stage::Link(_) | Stage::Receive | Stage::Sender => break,
            }
        }
        let link = &mut self.links[l as usize];
        debug_assert!(link.arriving.back().is_none_or(|b| b.0 <= at), "a pipe keeps the order");
        link.arriving.push_back((at, packet));
        if link.arriving.len() == 1 {
            self.events.set(link.arrival_source, at);
        }
    }

    /// A packet arrives at the queue of link `l`. It finds what was there just before `now`: of an
    /// arrival and a departure at the same instant, the arrival comes first (as it mostly does in
    /// ns-2, where it was scheduled a propagation delay ago).
    #[inline]
    fn offer(&mut self, l: u32, packet: Packet, now: Time) {
        if now > Time::ZERO {
            self.catch_up(l, Time(now.0 - 1));
        }
        let resource = resource(&mut self.links, l);
        resource.enqueue(now, packet);
        if let Some((packet, at)) = resource.start(now) {
            self.leave(l, packet, at);
        }
        self.release_lost(l);
        if !self.events.is_set(self.links[l as usize].catch_up_source) {
            self.arm(l);
        }
    }

    /// Lets everything happen at the queue of link `l` that was due by `until`.
    #[inline]
    fn catch_up(&mut self, l: u32, until: Time) {
        while let Some((packet, at)) = resource(&mut self.links, l).next_departure(until) {
            self.leave(l, packet, at);
        }
        self.release_lost(l);
    }

    /// Schedules the next catch-up of link `l`.
    fn arm(&mut self, l: u32) {
        let deadline = resource(&mut self.links, l).deadline();
        self.events.set(self.links[l as usize].catch_up_source, deadline);
    }

    /// Lost packets are no longer in the network.
    #[inline]
    fn release_lost(&mut self, l: u32) {
        while let Some(packet) = resource(&mut self.links, l).lost.pop() {
            self.release_sack(&packet);
            self.flows[packet.flow as usize].in_flight -= 1;
            self.reuse_if_gone(packet.flow);
        }
    }

    fn release_sack(&mut self, packet: &Packet) {
        if packet.sack != Packet::NO_SACK {
            self.sack_free.push(packet.sack);
        }
    }

    // ---- the receiving end ----

    /// Data arrives at its receiver at `at`, which may lie ahead of the clock. Returns the answer.
    #[inline]
    fn receive(&mut self, packet: Packet, at: Time) -> Option<Packet> {
        let windows = self.edges.len();
        let flow = &mut self.flows[packet.flow as usize];
        while (flow.window as usize) < windows && at >= self.edges[flow.window as usize] {
            flow.window += 1;
        }
        let (bytes, ack) = match &mut flow.kind {
            Kind::Tcp(tcp) => {
                let config = &self.configs[tcp.transport as usize];
                let got = tcp.receiver.on_segment(config, at, packet.seq, packet.flags, packet.ecn);
                (u64::from(got.delivered) * config.segment as u64, got.ack)
            }
            Kind::Cbr(_) | Kind::Packets => (u64::from(packet.bytes), None),
            Kind::Gone => (0, None),
        };
        if bytes > 0 && (flow.window as usize) < windows {
            self.table.delivered[flow.row as usize * windows + flow.window as usize] += bytes;
        }
        let answered = ack.map(|ack| self.acknowledgement(packet.flow, &ack));
        if answered.is_none() {
            self.flows[packet.flow as usize].in_flight -= 1;
            self.rearm(packet.flow);
            self.reuse_if_gone(packet.flow);
        }
        answered
    }

    /// The packet that carries an acknowledgement.
    #[inline]
    fn acknowledgement(&mut self, flow: u32, ack: &AckOut) -> Packet {
        let mut packet = Packet::data(flow, ack.ack, ack.bytes);
        packet.flags = if ack.ece { Flags::ACK | Flags::ECE } else { Flags::ACK };
        packet.stage = self.flows[flow as usize].ack_stage;
        if ack.sack[0].1 > 0 {
            packet.sack = match self.sack_free.pop() {
                Some(slot) => {
                    self.sack_pool[slot as usize] = ack.sack;
                    slot
                }
                None => {
                    self.sack_pool.push(ack.sack);
                    (self.sack_pool.len() - 1) as u32
                }
            };
        }
        packet
    }

    // ---- the sending end ----

    /// An acknowledgement arrives at its sender.
    #[inline]
    fn acknowledged(&mut self, packet: Packet) {
        self.release_sack(&packet);
        let sack = match packet.sack {
            Packet::NO_SACK => SackBlocks::default(),
            slot => self.sack_pool[slot as usize],
        };
        let flow = &mut self.flows[packet.flow as usize];
        flow.in_flight -= 1;
        let Kind::Tcp(tcp) = &mut flow.kind else { return self.reuse_if_gone(packet.flow) };
        let ack = Ack { ack: packet.seq, ece: packet.flags.has(Flags::ECE), sack };
        let config = &self.configs[tcp.transport as usize];
        tcp.sender.on_ack(config, self.now, &ack, &mut self.segments);
        self.after_sender(packet.flow);
    }

    /// The sender has been called: send what it wants sent, set its timer, see whether it is done.
    #[inline]
    fn after_sender(&mut self, f: u32) {
        let flow = &mut self.flows[f as usize];
        let Kind::Tcp(tcp) = &mut flow.kind else { return };
        if let Some(trace) = tcp.trace {
            let w = tcp.sender.core().window;
            let rows = &mut self.cwnd[trace as usize].rows;
            if rows.last().is_none_or(|r| (r.1, r.2) != (w.cwnd, w.ssthresh)) {
                rows.push((self.now, w.cwnd, w.ssthresh));
            }
        }
        if tcp.sender.is_done() {
            self.table.end[flow.row as usize] = self.now;
            fill_row(&mut self.table, flow);
            flow.kind = Kind::Gone;
            self.segments.clear();
            return self.reuse_if_gone(f);
        }
        self.send_segments(f);
        self.rearm(f);
    }

    /// Sends what the sender of flow `f` has put out.
    #[inline]
    fn send_segments(&mut self, f: u32) {
        let flow = &mut self.flows[f as usize];
        let Kind::Tcp(tcp) = &flow.kind else { return };
        let config = &self.configs[tcp.transport as usize];
        let (header, wire) = (config.header as u32, config.wire_bytes());
        let stage = flow.data_stage;
        flow.in_flight += self.segments.len() as u32;
        let mut segments = std::mem::take(&mut self.segments);
        let now = self.now;
        for segment in segments.drain(..) {
            let mut packet = Packet::data(f, segment.seq, if segment.seq == 0 { header } else { wire });
            packet.flags = segment.flags;
            packet.ecn = if segment.ect { Ecn::Ect } else { Ecn::NotEct };
            packet.stage = stage;
            self.enter_stage(packet, now);
        }
        self.segments = segments;
    }

    // ---- timers ----

    /// Enters a timer of flow `f` if it must fire earlier than the one that is entered.
    #[inline]
    fn rearm(&mut self, f: u32) {
        let flow = &mut self.flows[f as usize];
        let Kind::Tcp(tcp) = &flow.kind else { return };
        let deadline = tcp.sender.deadline().min(tcp.receiver.deadline());
        if deadline < flow.timer {
            flow.timer = deadline;
            self.timers.push(deadline, f);
            self.schedule_timers();
        }
    }

    #[inline]
    fn schedule_timers(&mut self) {
        self.events.set(self.timers_source, self.timers.first());
    }

    /// The earliest timer is due: it fires, or turns out to have been moved.
    fn timer(&mut self) {
        let flows = &mut self.flows;
        let fires = self.timers.fire(self.now, |time, f| {
            let flow = &mut flows[f as usize];
            if flow.timer != time {
                return Judgement::Stale;
            }
            flow.timer = match &flow.kind {
                Kind::Tcp(tcp) if tcp.started => tcp.sender.deadline().min(tcp.receiver.deadline()),
                _ => time,
            };
            match flow.timer {
                Time::NEVER => Judgement::Stale,
                at if at > time => Judgement::Later(at),
                _ => Judgement::Fires,
            }
        });
        if let Some(f) = fires {
            self.flows[f as usize].timer = Time::NEVER;
            self.flow_timer(f);
        }
        self.schedule_timers();
    }

    fn flow_timer(&mut self, f: u32) {
        let now = self.now;
        match &mut self.flows[f as usize].kind {
            Kind::Tcp(tcp) => {
                let config = &self.configs[tcp.transport as usize];
                if tcp.receiver.deadline() <= now {
                    let ack = tcp.receiver.on_timer(config);
                    self.flows[f as usize].in_flight += 1;
                    let packet = self.acknowledgement(f, &ack);
                    self.enter_stage(packet, now);
                    return self.flow_timer(f);
                }
                if !tcp.started {
                    tcp.started = true;
                    tcp.sender.start(config, now, &mut self.segments);
                } else if tcp.sender.deadline() <= now {
                    tcp.sender.on_timer(config, now, &mut self.segments);
                }
                self.after_sender(f);
            }
            Kind::Cbr(_) => self.send_cbr(f),
            Kind::Packets | Kind::Gone => {}
        }
    }

    fn send_cbr(&mut self, f: u32) {
        let now = self.now;
        let flow = &mut self.flows[f as usize];
        let Kind::Cbr(cbr) = &mut flow.kind else { return };
        if now >= cbr.stop {
            return;
        }
        let mut packet = Packet::data(f, cbr.sent, cbr.bytes);
        cbr.sent += 1;
        let next = now + cbr.spacing.transmit(cbr.bytes);
        packet.stage = flow.data_stage;
        flow.in_flight += 1;
        flow.timer = next;
        self.timers.push(next, f);
        self.enter_stage(packet, now);
    }

    // ---- everything else that happens ----

    /// Gives a source to everything that has events.
    fn number_sources(&mut self, plan: &Plan) {
        let mut has_arrivals = vec![false; self.links.len()];
        for pair in self.routes.stages.windows(2) {
            if let (Stage::Link(l) | Stage::Chained(l), Stage::Link(_) | Stage::Receive | Stage::Sender) =
                (pair[0], pair[1])
            {
                has_arrivals[l as usize] = true;
            }
        }
        // Of packets that arrive at the same instant, that of the shorter link comes first: a rule
        // that neither the order of a scenario file nor an added link can change. It matters more
        // than one would think (docs/validation.md, "Ties").
        let mut by_delay: Vec<usize> = (0..self.links.len()).filter(|&l| has_arrivals[l]).collect();
        by_delay.sort_by_key(|&l| plan.links[l].delay);
        for l in by_delay {
            self.links[l].arrival_source = self.sources.len() as u32;
            self.sources.push(Source::Arrival(l as u32));
        }
        for (l, link) in self.links.iter_mut().enumerate() {
            if matches!(link.near, Near::Resource(_)) {
                link.catch_up_source = self.sources.len() as u32;
                self.sources.push(Source::CatchUp(l as u32));
            }
        }
        self.timers_source = self.sources.len() as u32 + 1;
        self.sources.extend([Source::Stop, Source::Timers]);
    }

    /// Enters the first event of everything that is not a link.
    fn schedule_all(&mut self) {
        self.sources.extend((0..self.arrivals.len()).map(|i| Source::Process(i as u32)));
        self.sources.extend([Source::Sample, Source::Edge]);
        self.events = EventQueue::new(self.sources.len());
        self.schedule(Source::Edge, self.edges[0]);
        self.schedule_timers();
        self.schedule_stop();
        self.schedule(Source::Sample, self.next_sample);
        for i in 0..self.arrivals.len() {
            self.schedule(Source::Process(i as u32), self.arrivals[i].next);
        }
    }

    /// Sets the event of a source that is not a link's: these are the last, so they are looked for
    /// from behind.
    fn schedule(&mut self, source: Source, time: Time) {
        if let Some(i) = self.sources.iter().rposition(|&s| s == source) {
            self.events.set(i as u32, time);
        }
    }

    fn schedule_stop(&mut self) {
        self.schedule(Source::Stop, self.stops.last().map_or(Time::NEVER, |s| s.0));
    }

    /// A measuring window ends.
    fn edge(&mut self) -> bool {
        let last = self.next_edge + 1 == self.edges.len();
        for l in 0..self.links.len() as u32 {
            if matches!(self.links[l as usize].near, Near::Resource(_)) {
                self.catch_up(l, self.now);
                let r = resource(&mut self.links, l);
                assert!(r.qdisc.conserves(), "packets appear or vanish at link {l}");
                let (rate, busy) = (r.rate(), r.busy_until());
                r.meter.close(self.now, r.qdisc.len(), r.qdisc.counters(), rate, busy);
            }
        }
        self.next_edge += 1;
        if last {
            return false;
        }
        self.schedule(Source::Edge, self.edges[self.next_edge]);
        true
    }

    fn take_sample(&mut self) {
        for l in 0..self.links.len() as u32 {
            if matches!(self.links[l as usize].near, Near::Resource(_)) {
                self.catch_up(l, self.now);
                let r = resource(&mut self.links, l);
                let (rate, busy) = (r.rate(), r.busy_until());
                r.meter.sample(self.now, &r.qdisc, rate, busy);
            }
        }
        self.next_sample += self.sample;
        self.schedule(Source::Sample, self.next_sample);
    }

    /// The flows of a group send no new data from now on.
    fn stop_group(&mut self) {
        let Some((_, group)) = self.stops.pop() else { return };
        for f in 0..self.flows.len() {
            if self.table.group[self.flows[f].row as usize] != group {
                continue;
            }
            if let Kind::Tcp(tcp) = &mut self.flows[f].kind {
                tcp.sender.stop();
                self.after_sender(f as u32);
            }
        }
        self.schedule_stop();
    }

    /// A flow or a packet of process `i` arrives.
    fn random_arrival(&mut self, i: usize) {
        let arrivals = &mut self.arrivals[i];
        let group = arrivals.group;
        match &mut arrivals.what {
            What::Flows { transport, routes, size } => {
                let (transport, size) = (*transport, *size);
                let route = routes[arrivals.rng.below(routes.len() as u32) as usize];
                let phase = arrivals.rng.uniform();
                let f = self.add_tcp(group, route, transport, Some(size), self.now, phase);
                self.flow_timer(f);
            }
            What::Packets { flow, bytes, law, sent } => {
                let f = *flow;
                let mut packet = Packet::data(f, *sent, draw_size(*law, *bytes, &mut arrivals.rng));
                *sent += 1;
                packet.stage = self.flows[f as usize].data_stage;
                self.flows[f as usize].in_flight += 1;
                self.table.sent[self.flows[f as usize].row as usize] += 1;
                self.enter_stage(packet, self.now);
            }
        }
        self.arrivals[i].advance();
        self.schedule(Source::Process(i as u32), self.arrivals[i].next);
    }

    // ---- flows come and go ----

    fn add_traffic(&mut self, plan: &Plan, seed: u64) {
        for (g, traffic) in plan.traffic.iter().enumerate() {
            let group = g as u32;
            match &traffic.kind {
                TrafficKind::Tcp { transport, route, count, start, jitter, stop, size, trace } => {
                    for i in 0..*count {
                        let mut rng = Rng::named(seed, &format!("traffic/{}/{i}", traffic.name));
                        let at = *start + Dur::from_secs(jitter.secs() * rng.uniform());
                        let phase = rng.uniform();
                        let f = self.add_tcp(group, *route as u32, *transport as u32, *size, at, phase);
                        if *trace {
                            self.trace_window(f);
                        }
                        self.enter_timer(f, at);
                    }
                    self.stops.extend(stop.map(|t| (t, group)));
                }
                TrafficKind::Cbr { route, count, rate, packet, start, jitter, stop } => {
                    for i in 0..*count {
                        let mut rng = Rng::named(seed, &format!("traffic/{}/{i}", traffic.name));
                        let at = *start + Dur::from_secs(jitter.secs() * rng.uniform());
                        let stop = stop.unwrap_or(Time::NEVER);
                        let kind =
                            Kind::Cbr(Cbr { spacing: Transmitter::new(*rate), bytes: packet.0 as u32, sent: 0, stop });
                        let f = self.add_flow(kind, group, *route as u32, at, 0);
                        self.enter_timer(f, at);
                    }
                }
                TrafficKind::Packets { route, start, .. } => {
                    let f = self.add_flow(Kind::Packets, group, *route as u32, *start, 0);
                    self.arrivals.extend(Arrivals::new(traffic, group, seed, f));
                }
                TrafficKind::Poisson { .. } => self.arrivals.extend(Arrivals::new(traffic, group, seed, 0)),
            }
        }
        self.stops.sort_by(|a, b| b.cmp(a));
    }

    fn trace_window(&mut self, f: u32) {
        let flow = &mut self.flows[f as usize];
        let (index, row) = (self.cwnd.len() as u32, flow.row);
        if let Kind::Tcp(tcp) = &mut flow.kind {
            tcp.trace = Some(index);
        }
        self.cwnd.push(CwndTrace { flow: row, rows: Vec::new() });
    }

    fn enter_timer(&mut self, f: u32, at: Time) {
        self.flows[f as usize].timer = at;
        self.timers.push(at, f);
    }

    fn add_tcp(&mut self, group: u32, route: u32, transport: u32, size: Option<u32>, at: Time, phase: f64) -> u32 {
        let sender = Sender::new(&self.configs[transport as usize], size, phase);
        let tcp = Tcp { sender, receiver: Receiver::default(), transport, started: false, trace: None };
        self.add_flow(Kind::Tcp(Box::new(tcp)), group, route, at, size.unwrap_or(0))
    }

    fn add_flow(&mut self, kind: Kind, group: u32, route: u32, at: Time, size: u32) -> u32 {
        let row = add_row(&mut self.table, self.edges.len(), group, route, at, size);
        let data_stage = self.routes.first[route as usize];
        let stages = &self.routes.stages[data_stage as usize..];
        let receive =
            stages.iter().position(|s| matches!(s, Stage::Receive | Stage::ReceiveChained)).unwrap_or_default() as u32;
        let ack_stage = data_stage + receive + 1;
        let flow = Flow { kind, row, data_stage, ack_stage, window: 0, in_flight: 0, timer: Time::NEVER };
        match self.free_slots.pop() {
            Some(slot) => {
                self.flows[slot as usize] = flow;
                slot
            }
            None => {
                self.flows.push(flow);
                (self.flows.len() - 1) as u32
            }
        }
    }

    /// A finished flow whose last packet has left the network gives its slot back. A timer that is
    /// still entered for it will find that its time is not the slot's.
    fn reuse_if_gone(&mut self, f: u32) {
        let flow = &self.flows[f as usize];
        if matches!(flow.kind, Kind::Gone) && flow.in_flight == 0 {
            self.free_slots.push(f);
        }
    }
}

fn near_end(link: &LinkPlan, resource: Option<Resource>) -> Near {
    match resource {
        Some(r) => Near::Resource(Box::new(r)),
        None => Near::Wire(Wire::new(link.rate, link.delay)),
    }
}

/// The resource of a link that has one.
#[inline]
fn resource(links: &mut [Link], l: u32) -> &mut Resource {
    match &mut links[l as usize].near {
        Near::Resource(r) => r,
        Near::Wire(_) => unreachable!("a wire has no queue"),
    }
}

/// For each route: do all receivers on it answer every segment at once?
fn answers_at_once(plan: &Plan, configs: &[Config]) -> Vec<bool> {
    let mut at_once = vec![true; plan.routes.len()];
    for traffic in &plan.traffic {
        match &traffic.kind {
            TrafficKind::Tcp { transport, route, .. } => {
                at_once[*route] &= configs[*transport].delayed_ack == 0.0;
            }
            TrafficKind::Poisson { transport, routes, .. } => {
                for &route in routes {
                    at_once[route] &= configs[*transport].delayed_ack == 0.0;
                }
            }
            TrafficKind::Cbr { .. } | TrafficKind::Packets { .. } => {}
        }
    }
    at_once
}
