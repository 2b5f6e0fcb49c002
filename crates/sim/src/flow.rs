//! Flows: the state of a sender and its receiver, and their rows in the flow table.

use crate::frame_source::FrameSource;
use crate::playback::Playback;
use crate::result::FlowTable;
use crate::timers::TimerOwners;
use crate::traffic::Writer;
use marqueue_cc::{media, rate_based, Receiver, Sender};
use marqueue_core::units::Transmitter;
use marqueue_core::{Bytes, Dur, Ecn, Head, Time};
use prefetch_index::prefetch_index;
use std::collections::VecDeque;
use std::num::NonZeroU32;
use std::slice::from_ref;
use std::sync::Arc;

/// Bytes of a cache line.
const LINE: usize = 64;

/// One flow, or a free slot for one. The fields that a TCP receiver needs are in the first cache line: with many flows
/// each access is a cache miss unless the line was prefetched.
#[derive(Debug)]
#[repr(C, align(64))]
pub struct Flow {
    /// The measuring window of the last delivery.
    pub window: u32,
    /// Packets in the network. A slot is not reused before they have left it. Where a part of the network is simulated,
    /// those sent there less those that left there, modulo 2^32.
    pub in_flight: u32,
    /// Payload bytes delivered in that window.
    pub delivered: u64,
    /// Index of the transport settings, if it is TCP.
    pub transport: u32,
    /// Code point and processing class of its packets, in both directions.
    pub head: Head,
    /// Kind and state.
    pub kind: FlowKind,
    /// Time of its valid entry in the timers.
    pub timer: Time,
    /// Its row in the flow table.
    pub row: u32,
    /// The first stage of its data packets.
    pub data_stage: u32,
}

impl Flow {
    /// `packets` enter the network.
    #[inline(always)]
    pub fn count_sent(&mut self, packets: u32) {
        self.in_flight = self.in_flight.wrapping_add(packets);
    }

    /// A packet has left the network.
    #[inline(always)]
    pub fn count_left(&mut self) {
        self.in_flight = self.in_flight.wrapping_sub(1);
    }

    /// Prefetches what a receiver needs: data will soon arrive.
    #[inline(always)]
    pub fn fetch_receiver(&self) {
        self.fetch(1);
    }

    /// Prefetches what a sender needs: an acknowledgement will soon arrive.
    #[inline(always)]
    pub fn fetch_sender(&self) {
        self.fetch(size_of::<Flow>() / LINE);
    }

    /// Prefetches the first cache lines.
    #[inline(always)]
    fn fetch(&self, lines: usize) {
        for line in 0..lines {
            prefetch_index(from_ref(&self.window), line * LINE / size_of::<u32>());
        }
    }
}

impl TimerOwners for [Flow] {
    #[inline]
    fn due(&mut self, entry: Time, flow: u32) -> Option<Time> {
        let flow = &mut self[flow as usize];
        if flow.timer != entry {
            return None;
        }
        let deadline = match &flow.kind {
            FlowKind::Tcp(tcp) if tcp.started => tcp.deadline(),
            FlowKind::RateBased(rate_based) => rate_based.sender.deadline(),
            FlowKind::Media(media) => media.deadline(),
            FlowKind::TcpReceiver(receiver) => receiver.deadline(),
            _ => entry,
        };
        flow.timer = deadline.max(entry);
        (deadline < Time::NEVER).then_some(flow.timer)
    }

    #[inline]
    fn prefetch(&self, flow: u32) {
        self[flow as usize].fetch_sender();
    }
}

/// The kind of a flow, with its state.
#[derive(Debug)]
#[repr(u8)]
#[allow(clippy::large_enum_variant, reason = "nearly all flows are TCP, and a pointer would cost each packet a miss")]
pub enum FlowKind {
    /// TCP.
    Tcp(Tcp),
    /// TCP whose sender has ended, where late data may still arrive, or whose sender is in another part of the network.
    TcpReceiver(Receiver),
    /// UDP that nothing controls.
    Udp(Box<Udp>),
    /// Rate-based.
    RateBased(Box<RateBased>),
    /// Real-time media.
    Media(Box<Media>),
    /// Packets of an uncontrolled generator.
    Packets,
    /// TCP or QUIC whose two ends are outside the simulator.
    External(Box<External>),
}

/// The two ends of a TCP connection.
#[derive(Debug)]
#[repr(C)]
pub struct Tcp {
    /// The receiving end.
    pub receiver: Receiver,
    /// The sending end.
    pub sender: Sender,
    /// The application, if it writes in pieces.
    pub writer: Option<Box<Writer>>,
    /// Number of the sender's trace from one, if it is traced.
    pub trace: Option<NonZeroU32>,
    /// True once the SYN has been sent.
    pub started: bool,
}

impl Tcp {
    /// When the next timer of either end, or of the application, is due.
    #[inline]
    pub fn deadline(&self) -> Time {
        let ends = self.sender.deadline().min(self.receiver.deadline());
        self.writer.as_ref().map_or(ends, |w| ends.min(w.next))
    }
}

/// A UDP sender that nothing controls.
#[derive(Debug)]
pub struct Udp {
    /// What it sends, and when.
    pub source: UdpSource,
    /// Packets sent.
    pub sent: u64,
    /// When it stops.
    pub stop: Time,
}

/// What a UDP sender sends.
#[derive(Debug)]
pub enum UdpSource {
    /// Packets of one size at a constant rate.
    Constant {
        /// Computes the spacing of packets.
        spacing: Transmitter,
        /// Size on the wire.
        bytes: u32,
    },
    /// The packets of a recording.
    Recorded {
        /// Time after the start and size on the wire, in order of time.
        packets: Arc<[(Dur, Bytes)]>,
        /// The start.
        began: Time,
    },
}

impl UdpSource {
    /// Size of packet number `sent`, which is due at `now`, and when the next one is; `None` after the last.
    pub fn packet(&mut self, sent: u64, now: Time) -> Option<(u32, Time)> {
        match self {
            UdpSource::Constant { spacing, bytes } => Some((*bytes, now + spacing.transmit(*bytes))),
            UdpSource::Recorded { packets, began } => {
                let (_, size) = packets.get(sent as usize)?;
                let next = packets.get(sent as usize + 1).map_or(Time::NEVER, |(after, _)| *began + *after);
                Some((size.0 as u32, next))
            }
        }
    }
}

/// The two ends of a rate-based flow.
#[derive(Debug)]
pub struct RateBased {
    /// The sending end.
    pub sender: rate_based::Sender,
    /// The receiving end.
    pub receiver: rate_based::Receiver,
    /// Size on the wire.
    pub bytes: u32,
    /// ECN field of its data packets.
    pub ecn: Ecn,
    /// Index of the sender's trace, if it is traced.
    pub trace: Option<u32>,
}

/// The two ends of a media flow.
#[derive(Debug)]
pub struct Media {
    /// The encoder.
    pub source: FrameSource,
    /// The sending end.
    pub sender: media::Sender,
    /// The receiving end.
    pub receiver: media::Receiver,
    /// What it shows.
    pub playback: Playback,
    /// The latest key frame.
    pub key: u32,
    /// ECN field of its data packets.
    pub ecn: Ecn,
    /// Index of its trace.
    pub trace: u32,
    /// Are changes of the sender recorded?
    pub traces_sender: bool,
    /// Reports on their way, by number: the packet that carries one has its number and size only.
    pub reports: VecDeque<(u32, media::Feedback)>,
    /// Number of the next report.
    pub next_report: u32,
}

impl Media {
    /// When the next timer of either end, or the next frame, is due.
    pub fn deadline(&self) -> Time {
        self.source.deadline().min(self.sender.deadline()).min(self.receiver.deadline())
    }
}

/// What is known of a flow whose ends are outside.
#[derive(Debug, Default)]
pub struct External {
    /// The first stage of its acknowledgements.
    pub ack_stage: u32,
    /// Data packets sent, retransmissions included.
    pub sent: u64,
    /// Retransmissions.
    pub retransmits: u64,
    /// Retransmission timeouts.
    pub timeouts: u32,
    /// Window reductions by ECN.
    pub ecn_cuts: u32,
}

/// Adds the row of a new flow to the table, without columns of what its sender counts.
pub fn push_row(table: &mut FlowTable, windows: usize, group: u32, route: u32, start: Time, size: u32) {
    table.group.push(group);
    table.route.push(route);
    table.start.push(start);
    table.size.push(size);
    table.delivered.extend(std::iter::repeat_n(0, windows));
}

/// Adds the bytes delivered in the current measuring window to the row at this place of the table.
pub fn settle_window(table: &mut FlowTable, at: usize, windows: usize, flow: &mut Flow) {
    if (flow.window as usize) < windows {
        table.delivered[at * windows + flow.window as usize] += flow.delivered;
    }
    flow.delivered = 0;
}

/// Writes the counts of a flow to the row at this place of the table.
pub fn fill_row(table: &mut FlowTable, row: usize, windows: usize, flow: &mut Flow) {
    settle_window(table, row, windows, flow);
    table.extend_counts(row + 1);
    match &flow.kind {
        FlowKind::Tcp(tcp) => {
            let counts = tcp.sender.core().counts;
            table.sent[row] = u64::from(counts.sent);
            table.retransmits[row] = u64::from(counts.retransmits);
            table.timeouts[row] = counts.timeouts;
            table.ecn_cuts[row] = counts.ecn_cuts;
        }
        FlowKind::Udp(udp) => table.sent[row] = udp.sent,
        FlowKind::RateBased(rate_based) => {
            let counts = rate_based.sender.counts;
            table.sent[row] = u64::from(counts.sent);
            table.timeouts[row] = counts.timeouts;
            table.ecn_cuts[row] = counts.ecn_cuts;
        }
        FlowKind::Media(media) => {
            let counts = media.sender.counts;
            table.sent[row] = u64::from(counts.sent);
            table.timeouts[row] = counts.timeouts;
        }
        FlowKind::External(external) => {
            table.sent[row] = external.sent;
            table.retransmits[row] = external.retransmits;
            table.timeouts[row] = external.timeouts;
            table.ecn_cuts[row] = external.ecn_cuts;
        }
        FlowKind::TcpReceiver(_) | FlowKind::Packets => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_flow_has_five_cache_lines() {
        assert!(size_of::<Flow>() <= 5 * LINE);
    }
}
