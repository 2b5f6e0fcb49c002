//! The endpoints of flows: receivers acknowledge data, senders process acknowledgements, timers fire.

use super::media::receive_media;
use super::rate_based::signals;
use super::Engine;
use crate::external::Fate;
use crate::flow::{FlowKind, Tcp};
use crate::packet_options::PacketOptions;
use crate::timers::TimerEvent;
use marqueue_cc::receiver::{OutgoingAck, ReceiveContext};
use marqueue_cc::{Ack, Options};
use marqueue_core::{Ecn, Flags, Head, Packet, Time};

impl Engine {
    /// Data arrives at its receiver at `at`, which may lie ahead of the clock. The packet's stage is that of the
    /// receiver. Returns the acknowledgement and its first stage.
    #[inline(always)]
    pub(super) fn receive(&mut self, packet: Packet, at: Time) -> Option<(Packet, u32)> {
        let windows = self.edges.len();
        let flow = &mut self.flows[packet.flow() as usize];
        while (flow.window as usize) < windows && at >= self.edges[flow.window as usize] {
            self.rows.settle_window(flow);
            flow.window += 1;
        }
        let (bytes, ack) = match &mut flow.kind {
            // A receiver answers late data whether or not its sender has ended, of which it does not know.
            FlowKind::Tcp(Tcp { receiver, .. }) | FlowKind::TcpReceiver(receiver) => {
                let config = &self.configs[flow.transport as usize];
                let mut rx = ReceiveContext { now: at, config, options: &mut self.ack_options };
                let received =
                    receiver.on_segment(&mut rx, packet.seq(), packet.head().flags(), packet.ecn(), packet.options());
                (u64::from(received.delivered) * u64::from(config.segment), received.ack)
            }
            FlowKind::Udp(_) | FlowKind::Packets => (u64::from(packet.bytes()), None),
            FlowKind::RateBased(rate_based) => {
                flow.delivered += u64::from(packet.bytes());
                let signals = signals(&self.option_slots, &mut self.free_option_slots, packet);
                let report = rate_based.receiver.on_packet(packet.seq(), packet.ecn(), signals);
                return Some((self.report(packet.flow(), &report), packet.stage() + 1));
            }
            FlowKind::Media(media) => {
                let (payload, report) = receive_media(media, &mut self.media, packet, at);
                if let Some(report) = report {
                    flow.delivered += payload;
                    return Some((report.with_head(flow.head.with(Flags::ACK)), packet.stage() + 1));
                }
                (payload, None)
            }
            // An external receiver has a stage of its own.
            FlowKind::External(_) => (0, None),
        };
        flow.delivered += bytes;
        if let Some(ack) = ack {
            let head = flow.head.with(packet.head().flags() & Flags::SYN);
            // A second acknowledgement may be due at once.
            if matches!(&flow.kind, FlowKind::Tcp(Tcp { receiver, .. }) | FlowKind::TcpReceiver(receiver)
                if receiver.deadline() != Time::NEVER)
            {
                self.rearm(packet.flow());
            }
            return Some((self.acknowledgement(packet.flow(), head, &ack), packet.stage() + 1));
        }
        flow.count_left();
        self.rearm(packet.flow());
        None
    }

    /// The packet that carries an acknowledgement.
    #[inline(always)]
    fn acknowledgement(&mut self, flow: u32, head: Head, ack: &OutgoingAck) -> Packet {
        let mut packet = Packet::data(flow, ack.ack, ack.bytes);
        let mut flags = Flags::ACK | ack.echo;
        let mut ecn = Ecn::NotEct;
        if ack.ect {
            let transport = self.flows[flow as usize].transport;
            flags |= Flags::ANSWERS_CE;
            ecn = self.configs[transport as usize].ecn_field;
        }
        packet = packet.with_head(head.with(flags).with_ecn(ecn));
        if ack.has_options {
            packet = packet.with_options(self.store_options(PacketOptions::Tcp(self.ack_options)));
        }
        packet
    }

    /// Stores options in the pool. Returns their slot.
    #[inline]
    pub(super) fn store_options(&mut self, options: PacketOptions) -> u32 {
        match self.free_option_slots.pop() {
            Some(slot) => {
                self.option_slots[slot as usize] = options;
                slot
            }
            None => {
                self.option_slots.push(options);
                (self.option_slots.len() - 1) as u32
            }
        }
    }

    /// An acknowledgement arrives at its sender.
    #[inline(always)]
    pub(super) fn on_ack(&mut self, packet: Packet) {
        self.release_options(&packet);
        let options = match packet.options() {
            Packet::NO_OPTIONS => &Options::NONE,
            slot => self.option_slots[slot as usize].options(),
        };
        let flow = &mut self.flows[packet.flow() as usize];
        flow.count_left();
        let tcp = match &mut flow.kind {
            FlowKind::Tcp(tcp) => tcp,
            FlowKind::RateBased(_) => return self.on_report(packet),
            FlowKind::Media(_) => return self.on_media_report(packet),
            // Its slot and its place in the network have been given back above.
            FlowKind::External(_) => return self.record_fate(packet, self.now, Fate::AtSender),
            FlowKind::Udp(_) | FlowKind::Packets | FlowKind::TcpReceiver(_) => return,
        };
        let config = &self.configs[flow.transport as usize];
        let flags = packet.head().flags();
        let Options { echo, stamp, ref counters, .. } = *options;
        let (ece, sack) = (flags.has(Flags::ECE), options.blocks());
        let ack = Ack { ack: packet.seq(), ece, flags, counters, sack, echo, stamp };
        tcp.sender.on_ack(config, self.now, &ack, &mut self.segments);
        self.after_sender(packet.flow());
    }

    /// After a call of the sender: sends its segments, sets its timer, and ends the flow if it is done.
    #[inline(always)]
    pub(super) fn after_sender(&mut self, f: u32) {
        let flow = &mut self.flows[f as usize];
        let FlowKind::Tcp(tcp) = &mut flow.kind else { return };
        if let Some(trace) = tcp.trace {
            let config = &self.configs[flow.transport as usize];
            let info = tcp.sender.core().info(config);
            let trace = &mut self.senders[trace.get() as usize - 1];
            if trace.rows.last().is_none_or(|r| r.1 != info) {
                trace.rows.push((self.now, info));
            }
            if let Some(model) = tcp.sender.model(config) {
                if trace.models.last().is_none_or(|r| r.1 != model) {
                    trace.models.push((self.now, model));
                }
            }
        }
        if tcp.sender.is_done() {
            let receiver = std::mem::take(&mut tcp.receiver);
            // A group may stop before its flows have started.
            if tcp.started {
                self.coming_flows.remove_active();
            }
            self.rows.end(flow, self.now);
            flow.kind = FlowKind::TcpReceiver(receiver);
            self.segments.clear();
            if let Some(slots) = &mut self.slots {
                slots.end(f);
            }
            return;
        }
        let deadline = tcp.deadline();
        if deadline < flow.timer {
            flow.timer = deadline;
            self.timers.push(deadline, f);
            self.schedule_timers();
        }
        self.send_segments(f);
    }

    /// Sends the segments in the buffer as packets of flow `f`.
    #[inline(always)]
    fn send_segments(&mut self, f: u32) {
        if self.segments.is_empty() {
            return;
        }
        let flow = &mut self.flows[f as usize];
        let config = &self.configs[flow.transport as usize];
        let (header, wire) = (config.header, config.wire);
        let timestamp = if config.timestamps { config.timestamp(self.now) } else { Packet::NO_OPTIONS };
        let (stage, head, ect) = (flow.data_stage, flow.head, config.ecn_field);
        flow.count_sent(self.segments.len() as u32);
        let now = self.now;
        // By index: sending borrows the whole engine.
        for i in 0..self.segments.len() {
            let segment = self.segments[i];
            let mut packet = Packet::data(f, segment.seq, if segment.seq == 0 { header } else { wire });
            packet = packet.with_options(timestamp);
            packet = packet.with_head(head.with(segment.flags).with_ecn(if segment.ect { ect } else { Ecn::NotEct }));
            self.send_from_host(packet, stage, now);
        }
        self.segments.clear();
    }

    /// Enters a timer of flow `f` if it is due earlier than its present entry.
    #[inline(always)]
    pub(super) fn rearm(&mut self, f: u32) {
        let flow = &mut self.flows[f as usize];
        let deadline = match &flow.kind {
            FlowKind::Tcp(tcp) => tcp.deadline(),
            FlowKind::RateBased(rate_based) => rate_based.sender.deadline(),
            FlowKind::Media(media) => media.deadline(),
            FlowKind::TcpReceiver(receiver) => receiver.deadline(),
            FlowKind::Udp(_) | FlowKind::Packets | FlowKind::External(_) => return,
        };
        if deadline < flow.timer {
            flow.timer = deadline;
            self.timers.push(deadline, f);
            self.schedule_timers();
        }
    }

    #[inline]
    pub(super) fn schedule_timers(&mut self) {
        let first = self.timers.first(self.now);
        // The flow of the next timer has probably left the cache.
        if let Some(TimerEvent::Entry(_, flow)) = first {
            self.flows[flow as usize].fetch_sender();
        }
        self.events.set(self.timers_source, first.map_or(Time::NEVER, TimerEvent::time));
    }

    /// The earliest timer entry is due: it fires, or it has been moved to a later time.
    pub(super) fn fire_timer(&mut self) {
        let fires = self.timers.fire(self.now, &mut *self.flows);
        if let Some(f) = fires {
            self.flows[f as usize].timer = Time::NEVER;
            self.flow_timer(f);
        }
        self.schedule_timers();
    }

    /// A timer of flow `f` is due.
    pub(super) fn flow_timer(&mut self, f: u32) {
        let now = self.now;
        let flow = &mut self.flows[f as usize];
        match &mut flow.kind {
            FlowKind::Tcp(Tcp { receiver, .. }) | FlowKind::TcpReceiver(receiver) if receiver.deadline() <= now => {
                let config = &self.configs[flow.transport as usize];
                let ack = receiver.on_timer(&mut ReceiveContext { now, config, options: &mut self.ack_options });
                flow.count_sent(1);
                let head = flow.head;
                let stage = self.routes.ack_stage(flow.data_stage);
                let packet = self.acknowledgement(f, head, &ack);
                self.send_from_host(packet, stage, now);
                self.flow_timer(f);
            }
            FlowKind::Tcp(tcp) => {
                let config = &self.configs[flow.transport as usize];
                if !tcp.started {
                    tcp.started = true;
                    self.coming_flows.add_active();
                    tcp.sender.start(config, now, &mut self.segments);
                } else if tcp.sender.deadline() <= now {
                    tcp.sender.on_timer(config, now, &mut self.segments);
                } else if let Some(writer) = tcp.writer.as_mut().filter(|w| w.next <= now) {
                    tcp.sender.write(config, now, writer.write(), &mut self.segments);
                }
                self.after_sender(f);
            }
            FlowKind::Udp(_) => self.send_udp(f),
            FlowKind::RateBased(_) => self.rate_based_timer(f),
            FlowKind::Media(_) => self.media_timer(f),
            FlowKind::TcpReceiver(_) => self.rearm(f),
            FlowKind::Packets | FlowKind::External(_) => {}
        }
    }

    fn send_udp(&mut self, f: u32) {
        let now = self.now;
        let flow = &mut self.flows[f as usize];
        let FlowKind::Udp(udp) = &mut flow.kind else { return };
        if now >= udp.stop {
            return;
        }
        let Some((bytes, next)) = udp.source.packet(udp.sent, now) else { return };
        let packet = Packet::data(f, udp.sent as u32, bytes).with_head(flow.head);
        udp.sent += 1;
        let stage = flow.data_stage;
        flow.count_sent(1);
        flow.timer = next;
        if next < Time::NEVER {
            self.timers.push(next, f);
        }
        self.send_from_host(packet, stage, now);
    }
}
