//! The two ends of a paced stream in the network: packets leave by timer, reports come back.

use super::Engine;
use crate::attachment::Attachment;
use crate::flow::Kind;
use marqueue_cc::paced::Report;
use marqueue_core::{Ecn, Flags, Packet};

/// Size of a report on the wire, bytes: headers of IP and UDP, and four numbers.
const REPORT_BYTES: u32 = 44;

impl Engine {
    /// The packet that carries a report, and the stage at which it starts.
    pub(super) fn report(&mut self, flow: u32, report: &Report) -> (Packet, u32) {
        let mut packet = Packet::data(flow, report.echo, REPORT_BYTES);
        packet.flags = Flags::ACK;
        let flow_now = &self.flows[flow as usize];
        (packet.dscp, packet.class) = (flow_now.dscp, flow_now.class);
        packet.options = self.attach(Attachment::Report(*report));
        (packet, self.flows[flow as usize].ack_stage)
    }

    /// A report arrives at its sender.
    pub(super) fn reported(&mut self, packet: Packet) {
        let now = self.now;
        let Kind::Paced(paced) = &mut self.flows[packet.flow as usize].kind else { return };
        let Attachment::Report(report) = &self.attachments[packet.options as usize] else {
            unreachable!("a paced flow's acknowledgement is a report")
        };
        paced.sender.on_report(now, report);
        self.rearm(packet.flow);
    }

    /// The timer of a paced sender fires.
    pub(super) fn paced_due(&mut self, f: u32) {
        let now = self.now;
        let flow = &mut self.flows[f as usize];
        let Kind::Paced(paced) = &mut flow.kind else { return };
        if let Some(seq) = paced.sender.on_timer(now) {
            let mut packet = Packet::data(f, seq, paced.bytes);
            (packet.ecn, packet.dscp, packet.class) = (paced.ecn, flow.dscp, flow.class);
            if paced.ecn == Ecn::Ect {
                packet.flags |= Flags::ANSWERS_CE;
            }
            let stage = flow.data_stage;
            flow.in_flight += 1;
            self.send_from_host(packet, stage, now);
        }
        self.rearm(f);
    }
}
