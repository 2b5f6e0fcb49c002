//! The endpoints of media flows: frames are made and sent by a timer, the receiver reports and shows them.

use super::flow_lifecycle::draw_start;
use super::Engine;
use crate::flow::{FlowKind, Media};
use crate::frame_source::FrameSource;
use crate::plan::{MediaPlan, TrafficPlan};
use crate::playback::Playback;
use crate::result::{FrameRow, MediaTrace};
use marqueue_cc::media::{self, RTP_HEADER, UDP_HEADER};
use marqueue_core::{Ecn, Flags, Packet, Time};
use std::collections::VecDeque;

impl Engine {
    pub(super) fn add_media_group(&mut self, traffic: &TrafficPlan, plan: &MediaPlan, group: u32, seed: u64) {
        let encoder = &plan.encoder;
        let setting = media::Setting {
            control: plan.control.clone(),
            packet: plan.packet.0 as u32,
            ecn: plan.ecn.into(),
            frame_period: encoder.period,
            rates: (encoder.min_rate.0 as f64, encoder.max_rate.0 as f64),
        };
        for i in 0..plan.count {
            let (rng, at) = draw_start(traffic, i, seed, plan.start, plan.jitter);
            let trace = self.media.len() as u32;
            let kind = FlowKind::Media(Box::new(Media {
                source: FrameSource::new(encoder.clone(), rng, at, plan.stop.unwrap_or(Time::NEVER)),
                sender: media::Sender::new(&setting, at).expect("the plan has been checked"),
                receiver: media::Receiver::default(),
                playback: Playback::default(),
                key: 0,
                ecn: setting.ecn,
                trace,
                traces_sender: plan.trace,
                reports: VecDeque::new(),
                next_report: 0,
            }));
            let f = self.add_flow(kind, group, plan.route as u32, at, 0);
            let flow = self.flows[f as usize].row;
            self.media.push(MediaTrace { flow, period: encoder.period, frames: Vec::new(), rows: Vec::new() });
            self.enter_timer(f, at);
        }
    }

    /// A report of a media flow arrives at its sender.
    pub(super) fn on_media_report(&mut self, packet: Packet) {
        let now = self.now;
        let FlowKind::Media(media) = &mut self.flows[packet.flow() as usize].kind else { return };
        // Earlier ones were lost, or are overtaken and say nothing that this one does not.
        media.reports.retain(|(number, _)| *number >= packet.seq());
        if let Some((_, report)) = media.reports.pop_front_if(|(number, _)| *number == packet.seq()) {
            if media.sender.on_feedback(now, &report).is_some_and(|frame| frame >= media.key) {
                media.source.ask_for_key();
            }
            if media.traces_sender {
                self.media[media.trace as usize].rows.push((now, media.sender.info()));
            }
        }
        self.rearm(packet.flow());
    }

    /// A timer of a media flow is due.
    pub(super) fn media_timer(&mut self, f: u32) {
        let now = self.now;
        let flow = &mut self.flows[f as usize];
        let (head, data_stage) = (flow.head, flow.data_stage);
        let FlowKind::Media(media) = &mut flow.kind else { return };
        if media.receiver.deadline() <= now {
            let report = media.receiver.on_timer(now);
            let packet = carry(media, report, f).with_head(head.with(Flags::ACK));
            flow.count_sent(1);
            let stage = self.routes.ack_stage(data_stage);
            self.send_from_host(packet, stage, now);
            return self.media_timer(f);
        }
        if media.source.deadline() <= now {
            let rows = &mut self.media[media.trace as usize].frames;
            let frame = media.source.encode(media.sender.target_bitrate());
            let number = rows.len() as u32;
            if frame.is_key {
                media.key = number;
            }
            let (packets, bytes) = media.sender.on_frame(now, number, frame.bytes);
            media.playback.add(frame.is_key, packets);
            rows.push(FrameRow { made: now, bytes, is_key: frame.is_key, shown: Time::NEVER });
        }
        if let Some((seq, unit)) = media.sender.on_timer(now) {
            let answers = if media.ecn == Ecn::NotEct { Flags::NONE } else { Flags::ANSWERS_CE };
            let packet = Packet::data(f, seq, unit.bytes).with_head(head.with(answers).with_ecn(media.ecn));
            flow.count_sent(1);
            self.send_from_host(packet, data_stage, now);
        }
        self.rearm(f);
    }
}

/// A packet of a media flow arrives. Returns its payload in bytes, and the packet of the report that it makes due.
pub(super) fn receive_media(
    media: &mut Media,
    traces: &mut [MediaTrace],
    packet: Packet,
    at: Time,
) -> (u64, Option<Packet>) {
    let ends_frame = media.playback.ends_frame(packet.seq());
    for frame in media.playback.on_packet(packet.seq()) {
        traces[media.trace as usize].frames[frame as usize].shown = at;
    }
    let report = media.receiver.on_packet(at, packet.seq(), packet.ecn(), ends_frame);
    let payload = u64::from(packet.bytes() - UDP_HEADER - RTP_HEADER);
    (payload, report.map(|report| carry(media, report, packet.flow())))
}

/// The packet that carries a report.
fn carry(media: &mut Media, report: media::Feedback, flow: u32) -> Packet {
    let packet = Packet::data(flow, media.next_report, report.bytes());
    media.reports.push_back((media.next_report, report));
    media.next_report += 1;
    packet
}
