//! The two ends of a flow: data is received and answered, acknowledgements are taken in, timers fire.

use super::paced::signals;
use super::Engine;
use crate::attachment::Attachment;
use crate::events::Judgement;
use crate::flow::{fill_row, settle_window, Kind};
use marqueue_cc::receiver::{AckOut, Rx};
use marqueue_cc::{Ack, Options};
use marqueue_core::{Ecn, Flags, Head, Packet, Time};

impl Engine {
    /// Data arrives at its receiver, whose stage it carries, at `at`, which may lie ahead of the clock. Returns the
    /// answer and the stage at which that starts.
    #[inline(always)]
    pub(super) fn receive(&mut self, packet: Packet, at: Time) -> Option<(Packet, u32)> {
        let windows = self.edges.len();
        let flow = &mut self.flows[packet.flow() as usize];
        while (flow.window as usize) < windows && at >= self.edges[flow.window as usize] {
            settle_window(&mut self.table, windows, flow);
            flow.window += 1;
        }
        let (bytes, ack) = match &mut flow.kind {
            Kind::Tcp(tcp) => {
                let config = &self.configs[flow.transport as usize];
                let mut rx = Rx { now: at, config, options: &mut self.answer };
                let got = tcp.receiver.on_segment(
                    &mut rx,
                    packet.seq(),
                    packet.head().flags(),
                    packet.ecn(),
                    packet.options(),
                );
                (u64::from(got.delivered) * u64::from(config.segment), got.ack)
            }
            Kind::Cbr(_) | Kind::Packets => (u64::from(packet.bytes()), None),
            Kind::Paced(paced) => {
                flow.delivered += u64::from(packet.bytes());
                let signals = signals(&self.attachments, &mut self.attachments_free, packet);
                let report = paced.receiver.on_packet(packet.seq(), packet.ecn(), signals);
                return Some((self.report(packet.flow(), &report), packet.stage() + 1));
            }
            Kind::Gone => (0, None),
        };
        flow.delivered += bytes;
        if let Some(ack) = ack {
            let head = flow.head.with(packet.head().flags() & Flags::SYN);
            return Some((self.acknowledgement(packet.flow(), head, &ack), packet.stage() + 1));
        }
        flow.in_flight -= 1;
        self.rearm(packet.flow());
        self.reuse_if_gone(packet.flow());
        None
    }

    /// The packet that carries an acknowledgement.
    #[inline(always)]
    fn acknowledgement(&mut self, flow: u32, head: Head, ack: &AckOut) -> Packet {
        let mut packet = Packet::data(flow, ack.ack, ack.bytes);
        let flags = if ack.ece { Flags::ACK | Flags::ECE } else { Flags::ACK };
        packet = packet.with_head(head.with(flags));
        if ack.has_options {
            packet = packet.with_options(self.attach(Attachment::Options(self.answer)));
        }
        packet
    }

    /// The slot in which what does not fit into a packet travels.
    #[inline]
    pub(super) fn attach(&mut self, attachment: Attachment) -> u32 {
        match self.attachments_free.pop() {
            Some(slot) => {
                self.attachments[slot as usize] = attachment;
                slot
            }
            None => {
                self.attachments.push(attachment);
                (self.attachments.len() - 1) as u32
            }
        }
    }

    /// An acknowledgement arrives at its sender.
    #[inline]
    pub(super) fn acknowledged(&mut self, packet: Packet) {
        self.release_options(&packet);
        let options = match packet.options() {
            Packet::NO_OPTIONS => &Options::NONE,
            slot => self.attachments[slot as usize].options(),
        };
        let flow = &mut self.flows[packet.flow() as usize];
        flow.in_flight -= 1;
        let tcp = match &mut flow.kind {
            Kind::Tcp(tcp) => tcp,
            Kind::Paced(_) => return self.reported(packet),
            Kind::Cbr(_) | Kind::Packets | Kind::Gone => return self.reuse_if_gone(packet.flow()),
        };
        let ack = Ack { ack: packet.seq(), ece: packet.has(Flags::ECE), sack: &options.sack, echo: options.echo };
        let config = &self.configs[flow.transport as usize];
        tcp.sender.on_ack(config, self.now, &ack, &mut self.segments);
        self.after_sender(packet.flow());
    }

    /// The sender has been called: send what it wants sent, set its timer, see whether it is done.
    #[inline(always)]
    pub(super) fn after_sender(&mut self, f: u32) {
        let flow = &mut self.flows[f as usize];
        let Kind::Tcp(tcp) = &mut flow.kind else { return };
        if let Some(trace) = tcp.trace {
            let shown = tcp.sender.core().shown(&self.configs[flow.transport as usize]);
            let rows = &mut self.senders[trace as usize].rows;
            if rows.last().is_none_or(|r| r.1 != shown) {
                rows.push((self.now, shown));
            }
        }
        if tcp.sender.is_done() {
            self.table.end[flow.row as usize] = self.now;
            fill_row(&mut self.table, self.edges.len(), flow);
            flow.kind = Kind::Gone;
            self.segments.clear();
            return self.reuse_if_gone(f);
        }
        let deadline = tcp.deadline();
        if deadline < flow.timer {
            flow.timer = deadline;
            self.timers.push(deadline, f);
            self.schedule_timers();
        }
        self.send_segments(f);
    }

    /// Sends what the sender of flow `f` has put out.
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
        flow.in_flight += self.segments.len() as u32;
        let now = self.now;
        // By number: sending wants all of the engine.
        for i in 0..self.segments.len() {
            let segment = self.segments[i];
            let mut packet = Packet::data(f, segment.seq, if segment.seq == 0 { header } else { wire });
            packet = packet.with_options(timestamp);
            packet = packet.with_head(head.with(segment.flags).with_ecn(if segment.ect { ect } else { Ecn::NotEct }));
            self.send_from_host(packet, stage, now);
        }
        self.segments.clear();
    }

    /// Enters a timer of flow `f` if it must fire earlier than the one that is entered.
    #[inline(always)]
    pub(super) fn rearm(&mut self, f: u32) {
        let flow = &mut self.flows[f as usize];
        let deadline = match &flow.kind {
            Kind::Tcp(tcp) => tcp.deadline(),
            Kind::Paced(paced) => paced.sender.deadline(),
            Kind::Cbr(_) | Kind::Packets | Kind::Gone => return,
        };
        if deadline < flow.timer {
            flow.timer = deadline;
            self.timers.push(deadline, f);
            self.schedule_timers();
        }
    }

    #[inline]
    pub(super) fn schedule_timers(&mut self) {
        // Of all flows its own has been away for longest when a timer is looked at.
        if let Some(flow) = self.timers.first_flow() {
            self.flows[flow as usize].fetch_sender();
        }
        self.events.set(self.timers_source, self.timers.first());
    }

    /// The earliest timer is due: it fires, or turns out to have been moved.
    pub(super) fn timer(&mut self) {
        let flows = &mut self.flows;
        let fires = self.timers.fire(self.now, |time, f| {
            let flow = &mut flows[f as usize];
            if flow.timer != time {
                return Judgement::Stale;
            }
            flow.timer = match &flow.kind {
                Kind::Tcp(tcp) if tcp.started => tcp.deadline(),
                Kind::Paced(paced) => paced.sender.deadline(),
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

    pub(super) fn flow_timer(&mut self, f: u32) {
        let now = self.now;
        let flow = &mut self.flows[f as usize];
        match &mut flow.kind {
            Kind::Tcp(tcp) => {
                let config = &self.configs[flow.transport as usize];
                if tcp.receiver.deadline() <= now {
                    let ack = tcp.receiver.on_timer(&mut Rx { now, config, options: &mut self.answer });
                    flow.in_flight += 1;
                    let head = flow.head;
                    let stage = self.routes.behind_receiver(flow.data_stage);
                    let packet = self.acknowledgement(f, head, &ack);
                    self.send_from_host(packet, stage, now);
                    return self.flow_timer(f);
                }
                if !tcp.started {
                    tcp.started = true;
                    tcp.sender.start(config, now, &mut self.segments);
                } else if tcp.sender.deadline() <= now {
                    tcp.sender.on_timer(config, now, &mut self.segments);
                } else if let Some(writer) = tcp.writer.as_mut().filter(|w| w.next <= now) {
                    tcp.sender.write(config, now, writer.write(), &mut self.segments);
                }
                self.after_sender(f);
            }
            Kind::Cbr(_) => self.send_cbr(f),
            Kind::Paced(_) => self.paced_due(f),
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
        let packet = Packet::data(f, cbr.sent as u32, cbr.bytes).with_head(flow.head);
        cbr.sent += 1;
        let next = now + cbr.spacing.transmit(cbr.bytes);
        let stage = flow.data_stage;
        flow.in_flight += 1;
        flow.timer = next;
        self.timers.push(next, f);
        self.send_from_host(packet, stage, now);
    }
}
