//! The simulator as the network of the guests: their frames become packets, and arrive as frames again.

use crate::error::Fault;
use crate::frame::{self, TcpFrame};
use crate::guest::Network;
use crate::hosts::{guest_time, is_sender, scenario_time, Hosts};
use crate::router::{self, Routers, DEPARTURES};
use crate::telemetry::{self, FlowReport, Kind, Record, TcpInfo};
use marqueue_core::{Flags, Packet, Time};
use marqueue_sim::external::{Direction, ExternalFlow, ExternalPacket, Fate, PacketFate, QueueNews};
use marqueue_sim::Run;
use std::collections::BTreeMap;

/// A flow that telemetry does not name.
const NO_FLOW: u32 = u32::MAX;

/// What guests are to be told.
#[derive(Debug)]
pub enum ForGuest {
    /// A frame arrives at the first device of a host or a router.
    Frame {
        /// The guest.
        guest: usize,
        /// The frame.
        frame: Vec<u8>,
    },
    /// A router has sent the first of the packets that wait behind its qdisc.
    Sent {
        /// The guest.
        guest: usize,
    },
}

/// What is known of a flow from its frames.
#[derive(Clone, Debug, Default)]
struct Tracked {
    /// Sequence number of the SYN.
    start: Option<u32>,
    /// Bytes of the stream that have been sent: the end of the last one.
    sent_to: u64,
    /// Bytes that have arrived in order.
    arrived_to: u64,
    /// Ranges that have arrived beyond them.
    beyond: BTreeMap<u64, u64>,
}

/// Frames that did not enter the network, and why.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Strays {
    /// Neither TCP of a flow nor a packet of a queue nor telemetry.
    pub foreign: u64,
    /// Sent before the scenario began.
    pub early: u64,
    /// Arrived when the guest had no buffer free.
    pub no_buffer: u64,
}

/// The simulator with the frames of the guests.
#[derive(Debug)]
pub struct GuestNetwork {
    /// The run of the simulator.
    pub run: Run,
    hosts: Hosts,
    routers: Routers,
    flows: Vec<ExternalFlow>,
    tracked: Vec<Tracked>,
    /// What the guests report of each flow.
    pub reports: Vec<FlowReport>,
    /// For each guest, whether it is ready.
    pub ready: Vec<bool>,
    /// Texts that a guest reports, by their numbers, such as the statistics of its qdiscs.
    texts: BTreeMap<(usize, u32), String>,
    /// Frames in the network, by their number there.
    frames: Vec<Vec<u8>>,
    fates: Vec<PacketFate>,
    news: Vec<QueueNews>,
    /// Frames that did not enter the network.
    pub strays: Strays,
    /// Frames that entered the network.
    pub entered: u64,
    end: Time,
}

impl GuestNetwork {
    /// A network at time zero.
    pub fn new(run: Run, hosts: Hosts, routers: Routers, flows: Vec<ExternalFlow>, end: Time) -> GuestNetwork {
        let (count, guests) = (flows.len(), hosts.guests.len());
        GuestNetwork {
            run,
            hosts,
            routers,
            flows,
            tracked: vec![Tracked::default(); count],
            reports: vec![FlowReport::default(); count],
            ready: vec![false; guests],
            texts: BTreeMap::new(),
            frames: Vec::new(),
            fates: Vec::new(),
            news: Vec::new(),
            strays: Strays::default(),
            entered: 0,
            end,
        }
    }

    /// The flows, with what the guests report of each.
    pub fn flows(&self) -> impl Iterator<Item = (&ExternalFlow, &FlowReport)> {
        self.flows.iter().zip(&self.reports)
    }

    /// What has happened since the last call that guests must know, in its order: frames that have arrived at them, and
    /// packets of routers that the link has sent.
    pub fn take_for_guests(&mut self, to: &mut Vec<ForGuest>) {
        let mut fates = std::mem::take(&mut self.fates);
        self.run.engine().take_fates(&mut fates);
        for fate in fates.drain(..) {
            let mut frame = std::mem::take(&mut self.frames[fate.frame as usize]);
            let flow = self.flow_in_slot(fate.flow);
            let Some(guest) = self.hosts.sender_of(flow) else { continue };
            if fate.fate == Fate::Lost {
                continue;
            }
            if fate.marked {
                frame::mark(&mut frame);
            }
            let at_receiver = fate.fate == Fate::AtReceiver;
            if at_receiver {
                self.count_arrival(flow, &frame);
            }
            to.push(ForGuest::Frame { guest: guest + usize::from(at_receiver), frame });
        }
        self.fates = fates;
        let mut news = std::mem::take(&mut self.news);
        self.run.engine().take_queue_news(&mut news);
        to.extend(news.drain(..).map(|news| match news {
            QueueNews::Sent { link } => ForGuest::Sent { guest: self.routers.guest_of(link) },
            QueueNews::Entered { link, number, packet } => {
                ForGuest::Frame { guest: self.routers.guest_of(link), frame: self.frame_at_queue(number, &packet) }
            }
        }));
        self.news = news;
    }

    /// The frame of a packet that arrives at the queue of a router.
    fn frame_at_queue(&self, number: u32, packet: &Packet) -> Vec<u8> {
        let sent = packet.has(Flags::EXTERNAL).then(|| &self.frames[packet.options() as usize][..]);
        let mut frame = Vec::new();
        router::write_frame(number, packet, sent, self.run.is_tcp(packet.flow()), &mut frame);
        frame
    }

    /// A guest had no place for a frame.
    pub fn refuse(&mut self, now: Time, guest: usize, frame: &[u8]) {
        self.strays.no_buffer += 1;
        if let (Some(link), Some((number, _))) = (self.routers.link_of(guest), frame::number_and_mark(frame)) {
            self.run.engine().drop_outside(now, link, number);
        }
    }

    /// What tc says of the queue of each router at the end.
    pub fn queue_reports(&self) -> Vec<(usize, String)> {
        let of_router =
            |(&(guest, _), text): (&(usize, u32), &String)| Some((self.routers.link_of(guest)?, text.clone()));
        let mut reports: BTreeMap<u32, String> = BTreeMap::new();
        for (link, text) in self.texts.iter().filter_map(of_router) {
            reports.entry(link).or_default().push_str(&text);
        }
        reports.into_iter().map(|(link, text)| (link as usize, text)).collect()
    }

    /// The link whose queue is in this guest.
    pub fn link_of(&self, guest: usize) -> Option<usize> {
        self.routers.link_of(guest).map(|link| link as usize)
    }

    /// The kernel of a guest.
    pub fn kernel_of(&self, guest: usize) -> &str {
        &self.hosts.guests[guest].kernel
    }

    /// A packet leaves the qdisc of a router. Returns whether it waits for the link.
    fn leave_qdisc(&mut self, at: Time, link: u32, frame: &[u8]) -> bool {
        match frame::number_and_mark(frame) {
            Some((number, marked)) if at < self.end => self.run.engine().make_ready(at, link, number, marked),
            _ => false,
        }
    }

    fn drop_packet(&mut self, guest: usize, record: Record<'_>, now: u64) {
        let (link, number) = (self.routers.link_of(guest), frame::number_in(record.payload));
        if let (Some(link), Some(number), Some(at)) = (link, number, scenario_time(now).filter(|&at| at < self.end)) {
            self.run.engine().drop_outside(at, link, number);
        }
    }

    /// The flow with this number in the simulator. They were added in this order.
    fn flow_in_slot(&self, slot: u32) -> usize {
        self.flows.binary_search_by_key(&slot, |flow| flow.slot).expect("the packet of an external flow")
    }

    /// Counts the payload of a frame that is now in order, as a receiver that delivers at once.
    fn count_arrival(&mut self, flow: usize, frame: &[u8]) {
        let Some(segment) = frame::parse(frame) else { return };
        let tracked = &mut self.tracked[flow];
        let Some(from) = tracked.position(&segment) else { return };
        let delivered = tracked.arrive(from, from + u64::from(segment.payload));
        if delivered > 0 {
            self.run.engine().count_delivered(self.flows[flow].slot, delivered);
        }
    }

    fn enter(&mut self, at: Time, guest: usize, flow: usize, segment: &TcpFrame, frame: &[u8]) {
        let size = u64::from(self.hosts.segments[flow]);
        let slot = self.flows[flow].slot;
        let tracked = &mut self.tracked[flow];
        let (direction, number, flags) = if is_sender(guest) {
            if segment.flags.has(Flags::SYN) {
                tracked.start.get_or_insert(segment.seq);
            }
            let from = tracked.position(segment).unwrap_or(0);
            let to = from + u64::from(segment.payload);
            let again = segment.payload > 0 && to <= tracked.sent_to;
            tracked.sent_to = tracked.sent_to.max(to);
            let counts = self.run.engine().external_counts(slot);
            counts.sent += u64::from(segment.payload > 0);
            counts.retransmits += u64::from(again);
            let kind = if again { Flags::RETRANSMIT } else { Flags::NONE };
            let is_syn = segment.flags.has(Flags::SYN);
            (Direction::Data, if is_syn { 0 } else { from / size + 1 }, segment.flags | kind)
        } else {
            // The first byte that is missing, as a number of packets.
            let base = tracked.start.unwrap_or(0);
            let acknowledged = u64::from(segment.ack.wrapping_sub(base).saturating_sub(1));
            (Direction::Acknowledgement, acknowledged.div_ceil(size) + 1, segment.flags)
        };
        let packet =
            ExternalPacket { flow: slot, direction, bytes: segment.bytes, ecn: segment.ecn, flags, seq: number as u32 };
        let number = self.run.engine().inject(at, &packet) as usize;
        if number >= self.frames.len() {
            self.frames.resize(number + 1, Vec::new());
        }
        self.frames[number].clear();
        self.frames[number].extend_from_slice(frame);
        self.entered += 1;
    }

    fn record(&mut self, guest: usize, record: Record<'_>, now: u64) -> Result<(), Fault> {
        match record.kind {
            Kind::Ready => self.ready[guest] = true,
            Kind::Text => {
                let part = String::from_utf8_lossy(record.payload);
                self.texts.entry((guest, record.flow)).or_default().push_str(&part);
            }
            Kind::TextEnd => {}
            Kind::Dropped => self.drop_packet(guest, record, now),
            Kind::Failed if record.flow == NO_FLOW => {
                let said = self.texts.get(&(guest, NO_FLOW)).cloned();
                return Err(Fault(said.unwrap_or_else(|| "its program has failed".into())));
            }
            Kind::Sample | Kind::Connected | Kind::Completed | Kind::Failed | Kind::Reason => {
                self.record_of_flow(record);
            }
        }
        Ok(())
    }

    fn record_of_flow(&mut self, record: Record<'_>) {
        let (Some(report), Ok(time)) = (self.reports.get_mut(record.flow as usize), u64::try_from(record.time)) else {
            return;
        };
        let time = Time(time);
        if record.kind == Kind::Reason {
            report.failed = Some(String::from_utf8_lossy(record.payload).into_owned());
            return;
        }
        if record.kind == Kind::Completed {
            report.completed = Some(time);
        }
        if record.kind == Kind::Failed && report.failed.is_none() {
            report.failed = Some("it failed".into());
        }
        if let Some(info) = TcpInfo::parse(record.payload).filter(|_| time <= self.end) {
            report.samples.push((time, info));
        }
    }
}

impl Network for GuestNetwork {
    fn frame(&mut self, now: u64, guest: usize, device: usize, frame: &[u8]) -> Result<bool, Fault> {
        // The last device is that of telemetry.
        if device + 1 == self.hosts.guests[guest].devices.len() {
            if let Some(records) = frame::telemetry(frame) {
                telemetry::read(records, |record| self.record(guest, record, now))?;
                return Ok(false);
            }
        }
        if let Some(link) = self.routers.link_of(guest) {
            let waits = device == DEPARTURES && scenario_time(now).is_some_and(|at| self.leave_qdisc(at, link, frame));
            self.strays.foreign += u64::from(!waits);
            return Ok(waits);
        }
        let found = frame::parse(frame).and_then(|tcp| Some((self.hosts.flow_of(guest, tcp.ports)?, tcp)));
        match (found, scenario_time(now)) {
            (None, _) => self.strays.foreign += 1,
            (_, None) => self.strays.early += 1,
            (Some((flow, tcp)), Some(at)) => {
                if at < self.end {
                    self.enter(at, guest, flow, &tcp, frame);
                }
            }
        }
        Ok(false)
    }

    fn next_event(&self) -> u64 {
        guest_time(self.run.next_event().unwrap_or(self.end))
    }
}

impl Tracked {
    /// Where the payload of a segment of the sender begins in its stream. Sequence numbers wrap around; the place nearest
    /// to what has been sent is meant.
    fn position(&self, segment: &TcpFrame) -> Option<u64> {
        let start = self.start?;
        let low = segment.seq.wrapping_sub(start).wrapping_sub(1);
        let ahead = low.wrapping_sub(self.sent_to as u32) as i32;
        u64::try_from(self.sent_to as i64 + i64::from(ahead)).ok()
    }

    /// Bytes `from..to` have arrived. Returns how many are in order now that were not before.
    fn arrive(&mut self, from: u64, to: u64) -> u64 {
        if to <= self.arrived_to {
            return 0;
        }
        let end = self.beyond.entry(from).or_insert(to);
        *end = to.max(*end);
        let before = self.arrived_to;
        while let Some(first) = self.beyond.first_entry() {
            if *first.key() > self.arrived_to {
                break;
            }
            self.arrived_to = self.arrived_to.max(first.remove());
        }
        self.arrived_to - before
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_count_once_and_in_order() {
        let mut flow = Tracked::default();
        assert_eq!(flow.arrive(0, 100), 100);
        assert_eq!(flow.arrive(200, 300), 0);
        assert_eq!(flow.arrive(250, 400), 0);
        assert_eq!(flow.arrive(0, 100), 0);
        assert_eq!(flow.arrive(50, 200), 300);
        assert_eq!(flow.arrived_to, 400);
        assert!(flow.beyond.is_empty());
    }

    #[test]
    fn sequence_numbers_wrap_around() {
        let segment = |seq| TcpFrame { seq, ..frame::empty_segment() };
        let mut flow = Tracked { start: Some(u32::MAX - 10), ..Tracked::default() };
        assert_eq!(flow.position(&segment(u32::MAX - 9)), Some(0));
        assert_eq!(flow.position(&segment(90)), Some(100));
        flow.sent_to = 3 << 32 | 7;
        let low = |byte: u64| (byte as u32).wrapping_add(u32::MAX - 9);
        assert_eq!(flow.position(&segment(low(3 << 32))), Some(3 << 32));
        assert_eq!(flow.position(&segment(low((3 << 32) - 5000))), Some((3 << 32) - 5000));
    }
}
