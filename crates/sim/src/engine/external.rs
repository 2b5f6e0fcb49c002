//! Flows whose ends are outside: see [`crate::external`].

use super::flow_lifecycle::draw_start;
use super::Engine;
use crate::external::{Direction, ExternalFlow, ExternalPacket, Fate, PacketFate, Reached};
use crate::flow::{External, FlowKind};
use crate::packet_options::PacketOptions;
use crate::plan::{QuicPlan, TrafficKind, TrafficPlan};
use crate::traffic::{draw_packets, ArrivalKind, Arrivals};
use marqueue_core::{Dur, Ecn, Flags, Packet, Rng, Time};

impl Engine {
    /// Are the flows of this transport external?
    pub(super) fn is_external(&self, transport: usize) -> bool {
        self.external_transports[transport]
    }

    pub(super) fn add_external_group(&mut self, traffic: &TrafficPlan, group: u32, seed: u64) {
        let TrafficKind::Tcp { transport, route, count, start, jitter, stop, size, trace, write, sample_cwnd } =
            &traffic.kind
        else {
            return;
        };
        for i in 0..*count {
            let (_, at) = draw_start(traffic, i, seed, *start, *jitter);
            let flow = ExternalFlow {
                slot: 0,
                row: 0,
                group,
                transport: *transport as u32,
                start: at,
                stop: *stop,
                size: *size,
                write: *write,
                trace: *trace,
                sample_cwnd: *sample_cwnd,
            };
            self.add_external(*route as u32, flow, size.unwrap_or(0));
        }
    }

    /// Adds the flows of an arrival process. Their ends must know them before the run, so they are drawn at once, by the
    /// same stream as those of models.
    pub(super) fn add_external_arrivals(&mut self, traffic: &TrafficPlan, group: u32, seed: u64) {
        let Some(mut arrivals) = Arrivals::new(traffic, group, seed, 0) else { return };
        let duration = self.edges[self.edges.len() - 1];
        while arrivals.next < duration {
            let ArrivalKind::Flows { transport, routes, size, law } = &arrivals.kind else { return };
            let (transport, mean, law) = (*transport, *size, *law);
            let route = routes.draw(&mut arrivals.rng);
            // The phase of a model's clock.
            arrivals.rng.uniform();
            let size = draw_packets(law, mean, &mut arrivals.rng);
            let start = arrivals.next;
            let (slot, row, stop, write) = (0, 0, None, None);
            let flow = ExternalFlow {
                slot,
                row,
                group,
                transport,
                start,
                stop,
                size: Some(size),
                write,
                trace: false,
                sample_cwnd: false,
            };
            self.add_external(route, flow, size);
            arrivals.advance();
        }
    }

    /// Adds the QUIC flows of a group: all at once, as those of an arrival process above.
    pub(super) fn add_quic_group(&mut self, traffic: &TrafficPlan, quic: &QuicPlan, group: u32, seed: u64) {
        let flow = |start, size| ExternalFlow {
            slot: 0,
            row: 0,
            group,
            transport: 0,
            start,
            stop: quic.stop.filter(|_| quic.arrivals.is_none()),
            size,
            write: None,
            trace: quic.trace,
            sample_cwnd: quic.sample_cwnd,
        };
        let packets = |size: Option<u32>| size.map_or(0, |bytes| bytes.div_ceil(quic.payload()));
        for i in 0..quic.count {
            let (mut rng, start) = draw_start(traffic, i, seed, quic.start, quic.jitter);
            let size = quic.size.map(|mean| draw_packets(quic.law, mean, &mut rng));
            self.add_external(quic.route as u32, flow(start, size), packets(size));
        }
        let Some(rate) = quic.arrivals else { return };
        let mut rng = Rng::named(seed, &format!("traffic/{}", traffic.name));
        let stop = quic.stop.unwrap_or(Time::NEVER).min(self.edges[self.edges.len() - 1]);
        let mut next = quic.start;
        loop {
            next += Dur::from_secs(rng.exponential(1.0 / rate));
            if next >= stop {
                return;
            }
            let size = quic.size.map(|mean| draw_packets(quic.law, mean, &mut rng));
            self.add_external(quic.route as u32, flow(next, size), packets(size));
        }
    }

    /// `packets` is the number of data packets that it has to send; 0 if it is endless.
    fn add_external(&mut self, route: u32, flow: ExternalFlow, packets: u32) {
        let ack_stage = self.routes.ack_stage(self.routes.first[route as usize]);
        let kind = FlowKind::External(Box::new(External { ack_stage, ..External::default() }));
        let slot = self.add_flow(kind, flow.group, route, flow.start, packets);
        let row = self.flows[slot as usize].row;
        self.flows[slot as usize].transport = flow.transport;
        self.external_flows.push(ExternalFlow { slot, row, ..flow });
    }

    /// The flows whose ends are outside.
    pub fn external_flows(&self) -> &[ExternalFlow] {
        &self.external_flows
    }

    /// The time of the next event.
    pub fn next_event(&self) -> Option<Time> {
        self.events.first().map(|e| e.0)
    }

    /// Processes up to `n` of the events up to and including `until`, until the fate of a packet is known or something
    /// happens at a queue outside.
    pub fn advance_to_fate(&mut self, until: Time, n: u32) -> Reached {
        for _ in 0..n {
            if !self.fates.is_empty() || self.has_queue_news() {
                return Reached::Fate;
            }
            match self.events.first() {
                Some((time, _)) if time > until => return Reached::Time,
                Some((time, source)) if self.process(time, source) => {}
                _ => return Reached::End,
            }
        }
        Reached::Spent
    }

    /// Takes what became of packets.
    pub fn take_fates(&mut self, to: &mut Vec<PacketFate>) {
        // A packet that is lost when it is sent must not give its number to the next one before the caller knows. Those
        // of acknowledgements that have arrived are free already.
        let ended = self.fates.iter().filter(|fate| fate.fate != Fate::AtSender);
        self.free_option_slots.extend(ended.map(|fate| fate.frame));
        to.append(&mut self.fates);
    }

    /// Something happens outside at `at`.
    pub(super) fn pass_to(&mut self, at: Time) {
        debug_assert!(at >= self.now && self.next_event().is_none_or(|next| at <= next), "injected out of order");
        self.now = at;
    }

    /// An external endpoint sends a packet at `at`, which is neither before the clock nor after the next event. Returns
    /// the number of its frame.
    pub fn inject(&mut self, at: Time, sent: &ExternalPacket) -> u32 {
        self.pass_to(at);
        let frame = self.store_options(PacketOptions::Frame);
        let flow = &mut self.flows[sent.flow as usize];
        let FlowKind::External(external) = &mut flow.kind else { unreachable!("an external flow stays one") };
        let (stage, kind) = match sent.direction {
            Direction::Data => (flow.data_stage, Flags::NONE),
            Direction::Acknowledgement => (external.ack_stage, Flags::ACK),
        };
        flow.count_sent(1);
        let answers = if sent.ecn == Ecn::NotEct { Flags::NONE } else { Flags::ANSWERS_CE };
        let head = flow.head.with(sent.flags | kind | answers | Flags::EXTERNAL).with_ecn(sent.ecn);
        let packet = Packet::data(sent.flow, sent.seq, sent.bytes).with_options(frame).with_head(head);
        self.send_from_host(packet, stage, at);
        frame
    }

    /// Data arrives at its receiver, which may be outside.
    #[inline(never)]
    pub(super) fn receive_or_hand_out(&mut self, packet: Packet) {
        let now = self.now;
        if !packet.has(Flags::EXTERNAL) {
            if let Some((ack, stage)) = self.receive(packet, now) {
                self.send_from_host(ack, stage, now);
            }
            return;
        }
        // Ends the measuring windows that are over; what is delivered now counts in the present one.
        self.receive(packet, now);
        self.record_fate(packet, now, Fate::AtReceiver);
    }

    #[cold]
    pub(super) fn record_fate(&mut self, packet: Packet, at: Time, fate: Fate) {
        let (flow, frame, marked) = (packet.flow(), packet.options(), packet.ecn() == Ecn::Ce);
        self.fates.push(PacketFate { at, flow, frame, marked, fate });
    }

    /// The receiver of an external flow has got this many bytes more, in order. Called at the time of the clock.
    pub fn count_delivered(&mut self, flow: u32, bytes: u64) {
        self.flows[flow as usize].delivered += bytes;
    }

    /// The counts of an external flow.
    pub fn external_counts(&mut self, flow: u32) -> &mut External {
        match &mut self.flows[flow as usize].kind {
            FlowKind::External(external) => external,
            _ => unreachable!("an external flow stays one"),
        }
    }

    /// The last byte of an external flow was acknowledged at `at`.
    pub fn complete(&mut self, flow: u32, at: Time) {
        self.rows.complete(self.flows[flow as usize].row, at);
    }
}
