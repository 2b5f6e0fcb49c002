//! Flows: what a sender and its receiver remember, and their rows in the flow table.

use crate::result::FlowTable;
use crate::traffic::Writer;
use marqueue_cc::{rate_based, Receiver, Sender};
use marqueue_core::units::Transmitter;
use marqueue_core::{Ecn, Head, Time};
use prefetch_index::prefetch_index;
use std::slice::from_ref;

/// Bytes that memory hands over at once.
const LINE: usize = 64;

/// One flow, or a free slot for one. What the receiving end of TCP needs stands in the first line of memory: with
/// many flows each visit waits for memory, unless it was fetched ahead.
#[derive(Debug)]
#[repr(C, align(64))]
pub struct Flow {
    /// The measuring window that its receiver is in.
    pub window: u32,
    /// Packets of it in the network; a slot is not reused before they are gone.
    pub in_flight: u32,
    /// Payload bytes delivered in that window so far.
    pub delivered: u64,
    /// Index of its settings, if it is TCP.
    pub transport: u32,
    /// Code point and class of processing of its packets, both ways.
    pub head: Head,
    /// What it is.
    pub kind: FlowKind,
    /// The time of its valid entry among the timers.
    pub timer: Time,
    /// Its row in the flow table.
    pub row: u32,
    /// The stage at which its data begins.
    pub data_stage: u32,
}

impl Flow {
    /// Data will soon arrive at its receiver.
    #[inline(always)]
    pub fn fetch_receiver(&self) {
        self.fetch(1);
    }

    /// An acknowledgement will soon arrive at its sender.
    #[inline(always)]
    pub fn fetch_sender(&self) {
        self.fetch(size_of::<Flow>() / LINE);
    }

    /// Has its first lines of memory fetched, without waiting for them.
    #[inline(always)]
    fn fetch(&self, lines: usize) {
        for line in 0..lines {
            prefetch_index(from_ref(&self.window), line * LINE / size_of::<u32>());
        }
    }
}

/// What a flow is.
#[derive(Debug)]
#[repr(u8)]
#[allow(clippy::large_enum_variant, reason = "nearly all flows are TCP, and a pointer would cost each packet a miss")]
pub enum FlowKind {
    /// TCP.
    Tcp(Tcp),
    /// Constant-rate UDP.
    Cbr(Box<Cbr>),
    /// Paced, controlled by rate.
    RateBased(Box<RateBased>),
    /// Packets that a generator sends in the flow's name.
    Packets,
    /// Finished.
    Finished,
}

/// The two ends of a TCP connection.
#[derive(Debug)]
#[repr(C)]
pub struct Tcp {
    /// The receiving end.
    pub receiver: Receiver,
    /// The sending end.
    pub sender: Sender,
    /// It has sent its SYN.
    pub started: bool,
    /// Index of its sender's trace, if it has one.
    pub trace: Option<u32>,
    /// Its application, if that writes in pieces.
    pub writer: Option<Box<Writer>>,
}

impl Tcp {
    /// When one of its ends, or its application, wants to be called.
    #[inline]
    pub fn deadline(&self) -> Time {
        let ends = self.sender.deadline().min(self.receiver.deadline());
        self.writer.as_ref().map_or(ends, |w| ends.min(w.next))
    }
}

/// A constant-rate source.
#[derive(Debug)]
pub struct Cbr {
    /// Spaces the packets.
    pub spacing: Transmitter,
    /// Size on the wire.
    pub bytes: u32,
    /// Packets sent.
    pub sent: u64,
    /// When it stops.
    pub stop: Time,
}

/// The two ends of a paced stream.
#[derive(Debug)]
pub struct RateBased {
    /// The sending end.
    pub sender: rate_based::Sender,
    /// The receiving end.
    pub receiver: rate_based::Receiver,
    /// Size on the wire.
    pub bytes: u32,
    /// Of its data packets.
    pub ecn: Ecn,
    /// Index of its sender's trace, if it has one.
    pub trace: Option<u32>,
}

/// Adds the row of a new flow.
pub fn add_row(table: &mut FlowTable, windows: usize, group: u32, route: u32, start: Time, size: u32) -> u32 {
    table.group.push(group);
    table.route.push(route);
    table.start.push(start);
    table.end.push(Time::NEVER);
    table.size.push(size);
    table.delivered.extend(std::iter::repeat_n(0, windows));
    table.sent.push(0);
    table.retransmits.push(0);
    table.timeouts.push(0);
    table.ecn_cuts.push(0);
    (table.group.len() - 1) as u32
}

/// Writes what its receiver got in the window that it is in.
pub fn settle_window(table: &mut FlowTable, windows: usize, flow: &mut Flow) {
    if (flow.window as usize) < windows {
        table.delivered[flow.row as usize * windows + flow.window as usize] += flow.delivered;
    }
    flow.delivered = 0;
}

/// Writes a flow's counts into its row.
pub fn fill_row(table: &mut FlowTable, windows: usize, flow: &mut Flow) {
    settle_window(table, windows, flow);
    let row = flow.row as usize;
    match &flow.kind {
        FlowKind::Tcp(tcp) => {
            let counts = tcp.sender.core().counts;
            table.sent[row] = u64::from(counts.sent);
            table.retransmits[row] = u64::from(counts.retransmits);
            table.timeouts[row] = counts.timeouts;
            table.ecn_cuts[row] = counts.ecn_cuts;
        }
        FlowKind::Cbr(cbr) => table.sent[row] = cbr.sent,
        FlowKind::RateBased(rate_based) => {
            let counts = rate_based.sender.counts;
            table.sent[row] = u64::from(counts.sent);
            table.timeouts[row] = counts.timeouts;
            table.ecn_cuts[row] = counts.ecn_cuts;
        }
        FlowKind::Packets | FlowKind::Finished => {}
    }
}
