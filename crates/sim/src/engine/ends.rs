//! The two ends of a flow: data is received and answered, acknowledgements are taken in, timers fire.

use super::Engine;
use crate::events::Judgement;
use crate::flow::{fill_row, settle_window, Kind};
use marqueue_cc::receiver::AckOut;
use marqueue_cc::Ack;
use marqueue_core::{Ecn, Flags, Packet, Time};

impl Engine {
    /// Data arrives at its receiver at `at`, which may lie ahead of the clock. Returns the answer.
    #[inline(always)]
    pub(super) fn receive(&mut self, packet: Packet, at: Time) -> Option<(Packet, u32)> {
        let windows = self.edges.len();
        let flow = &mut self.flows[packet.flow as usize];
        while (flow.window as usize) < windows && at >= self.edges[flow.window as usize] {
            settle_window(&mut self.table, windows, flow);
            flow.window += 1;
        }
        let (bytes, ack) = match &mut flow.kind {
            Kind::Tcp(tcp) => {
                let config = &self.configs[tcp.transport as usize];
                let got = tcp.receiver.on_segment(config, at, packet.seq, packet.flags, packet.ecn);
                (u64::from(got.delivered) * u64::from(config.segment), got.ack)
            }
            Kind::Cbr(_) | Kind::Packets => (u64::from(packet.bytes), None),
            Kind::Gone => (0, None),
        };
        flow.delivered += bytes;
        let answered = ack.map(|ack| self.acknowledgement(packet.flow, &ack));
        if answered.is_none() {
            self.flows[packet.flow as usize].in_flight -= 1;
            self.rearm(packet.flow);
            self.reuse_if_gone(packet.flow);
        }
        answered
    }

    /// The packet that carries an acknowledgement, and the stage at which it starts.
    #[inline(always)]
    fn acknowledgement(&mut self, flow: u32, ack: &AckOut) -> (Packet, u32) {
        let mut packet = Packet::data(flow, ack.ack, ack.bytes);
        packet.dscp = self.flows[flow as usize].dscp;
        packet.flags = if ack.ece { Flags::ACK | Flags::ECE } else { Flags::ACK };
        if let Some(sack) = ack.sack {
            packet.sack = match self.sack_free.pop() {
                Some(slot) => {
                    self.sack_pool[slot as usize] = sack;
                    slot
                }
                None => {
                    self.sack_pool.push(sack);
                    (self.sack_pool.len() - 1) as u32
                }
            };
        }
        (packet, self.flows[flow as usize].ack_stage)
    }

    /// An acknowledgement arrives at its sender.
    #[inline]
    pub(super) fn acknowledged(&mut self, packet: Packet) {
        self.release_sack(&packet);
        let sack: &[(u32, u32)] = match packet.sack {
            Packet::NO_SACK => &[],
            slot => &self.sack_pool[slot as usize],
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
    #[inline(always)]
    pub(super) fn after_sender(&mut self, f: u32) {
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
            fill_row(&mut self.table, self.edges.len(), flow);
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
        let (header, wire) = (config.header, config.wire);
        let (stage, dscp) = (flow.data_stage, flow.dscp);
        flow.in_flight += self.segments.len() as u32;
        let mut segments = std::mem::take(&mut self.segments);
        let now = self.now;
        for segment in segments.drain(..) {
            let mut packet = Packet::data(f, segment.seq, if segment.seq == 0 { header } else { wire });
            packet.flags = segment.flags;
            packet.dscp = dscp;
            packet.ecn = if segment.ect { Ecn::Ect } else { Ecn::NotEct };
            self.send_from_host(packet, stage, now);
        }
        self.segments = segments;
    }

    /// Enters a timer of flow `f` if it must fire earlier than the one that is entered.
    #[inline(always)]
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
    pub(super) fn schedule_timers(&mut self) {
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

    pub(super) fn flow_timer(&mut self, f: u32) {
        let now = self.now;
        match &mut self.flows[f as usize].kind {
            Kind::Tcp(tcp) => {
                let config = &self.configs[tcp.transport as usize];
                if tcp.receiver.deadline() <= now {
                    let ack = tcp.receiver.on_timer(config);
                    self.flows[f as usize].in_flight += 1;
                    let (packet, stage) = self.acknowledgement(f, &ack);
                    self.send_from_host(packet, stage, now);
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
        let packet = Packet { dscp: flow.dscp, ..Packet::data(f, cbr.sent, cbr.bytes) };
        cbr.sent += 1;
        let next = now + cbr.spacing.transmit(cbr.bytes);
        let stage = flow.data_stage;
        flow.in_flight += 1;
        flow.timer = next;
        self.timers.push(next, f);
        self.send_from_host(packet, stage, now);
    }
}
