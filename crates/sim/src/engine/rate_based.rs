//! The endpoints of rate-based flows: packets are sent by a timer, the receiver returns reports.

use super::Engine;
use crate::flow::{FlowKind, RateBased};
use crate::packet_options::PacketOptions;
use crate::result::RateTrace;
use marqueue_cc::rate_based::Report;
use marqueue_core::{Ecn, Flags, Packet, Signals, Time};

/// Size of a report on the wire, bytes: headers of IP and UDP, and four numbers. The header for routers is added to it.
const REPORT_BYTES: u32 = 44;

/// Takes the header for routers out of a received packet and frees its slot.
pub(super) fn signals(pool: &[PacketOptions], free: &mut Vec<u32>, packet: Packet) -> Option<Signals> {
    if !packet.has(Flags::SIGNALS) {
        return None;
    }
    free.push(packet.options());
    match pool[packet.options() as usize] {
        PacketOptions::Signals(signals) => Some(signals),
        PacketOptions::Tcp(_) | PacketOptions::Report(_) | PacketOptions::Frame => {
            unreachable!("data that carries signals has them")
        }
    }
}

impl Engine {
    /// The packet that carries a report.
    pub(super) fn report(&mut self, flow: u32, report: &Report) -> Packet {
        let bytes = REPORT_BYTES + report.signals.map_or(0, |_| Signals::BYTES);
        let mut packet = Packet::data(flow, report.echo, bytes);
        packet = packet.with_head(self.flows[flow as usize].head.with(Flags::ACK));
        packet = packet.with_options(self.store_options(PacketOptions::Report(*report)));
        packet
    }

    /// A report arrives at its sender.
    pub(super) fn on_report(&mut self, packet: Packet) {
        let now = self.now;
        let FlowKind::RateBased(rate_based) = &mut self.flows[packet.flow() as usize].kind else { return };
        let PacketOptions::Report(report) = &self.option_slots[packet.options() as usize] else {
            unreachable!("a paced flow's acknowledgement is a report")
        };
        rate_based.sender.on_report(now, report);
        trace(&mut self.rate_traces, rate_based, now);
        self.rearm(packet.flow());
    }

    /// The timer of a rate-based sender fires.
    pub(super) fn rate_based_timer(&mut self, f: u32) {
        let now = self.now;
        let flow = &mut self.flows[f as usize];
        let FlowKind::RateBased(rate_based) = &mut flow.kind else { return };
        let due = rate_based.sender.on_timer(now);
        trace(&mut self.rate_traces, rate_based, now);
        if let Some(seq) = due {
            let mut packet = Packet::data(f, seq, rate_based.bytes);
            let answers = if rate_based.ecn == Ecn::Ect0 { Flags::ANSWERS_CE } else { Flags::NONE };
            packet = packet.with_head(flow.head.with(answers).with_ecn(rate_based.ecn));
            let (stage, header) = (flow.data_stage, rate_based.sender.header(seq));
            flow.count_sent(1);
            if let Some(header) = header {
                packet = packet.with_head(packet.head().with(Flags::SIGNALS));
                packet = packet.with_options(self.store_options(PacketOptions::Signals(header)));
            }
            self.send_from_host(packet, stage, now);
        }
        self.rearm(f);
    }
}

/// Adds a row to the trace of a sender, if it is traced and its state has changed.
fn trace(traces: &mut [RateTrace], rate_based: &RateBased, now: Time) {
    let Some(index) = rate_based.trace else { return };
    let rows = &mut traces[index as usize].rows;
    let rate_and_price = rate_based.sender.rate_and_price();
    if rows.last().is_none_or(|row| row.1 != rate_and_price) {
        rows.push((now, rate_and_price));
    }
}
