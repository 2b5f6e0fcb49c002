//! The packet trace of a link: each packet that arrives, is marked, is dropped or departs.
//!
//! A packet refers to its flow and its options by slots that are reused later. Both are resolved ([`Trace::settle`])
//! before a slot can be reused.

use crate::packet_options::PacketOptions;
use marqueue_aqm::{Counters, Reason};
use marqueue_cc::Options;
use marqueue_core::{Dur, Flags, Packet, Time};

/// Largest number of rows of one run, for all links together. They take half a gigabyte.
pub const MAX_ROWS: usize = 10_000_000;

/// What happened to a packet at a traced link.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum TraceKind {
    /// It arrived.
    Arrive,
    /// It got a CE mark, as it arrived or as it departed.
    Mark,
    /// It was dropped.
    Drop,
    /// Its transmission began.
    Depart,
}

/// One row of a packet trace.
#[derive(Clone, Copy, Debug)]
pub struct TraceRow {
    /// The time.
    pub t: Time,
    /// The packet as it was then. Its `flow` is a row of the flow table, the `options` of an
    /// acknowledgement are an index into [`Trace::options`].
    pub packet: Packet,
    /// Time from arrival to departure; zero for other kinds.
    pub sojourn: Dur,
    /// Number of other packets in the queue.
    pub queue: u32,
    /// The kind of row.
    pub kind: TraceKind,
    /// The reason of a mark or drop.
    pub reason: Option<Reason>,
}

/// The packet trace of one link.
#[derive(Debug, Default)]
pub struct Trace {
    /// The rows, in order of time.
    pub rows: Vec<TraceRow>,
    /// The options of the acknowledgements in the rows.
    pub options: Vec<Options>,
    /// Number of rows that are resolved.
    settled: usize,
    /// The marks of the queue that are recorded.
    marks: [u64; Reason::ALL.len()],
}

impl Trace {
    /// A packet arrives and finds `queue` packets.
    pub fn record_arrival(&mut self, t: Time, packet: &Packet, queue: u32) {
        self.add(t, TraceKind::Arrive, packet, queue);
    }

    /// Adds a row for `packet` if the queue has marked it: at most one packet is marked between two calls.
    pub fn record_mark(&mut self, t: Time, packet: &Packet, queue: u32, counters: &Counters) {
        let marked = Reason::ALL.into_iter().find(|&r| counters.marks[r as usize] > self.marks[r as usize]);
        if let Some(reason) = marked {
            self.marks = counters.marks;
            self.add(t, TraceKind::Mark, packet, queue).reason = Some(reason);
        }
    }

    /// A packet is dropped.
    pub fn record_drop(&mut self, t: Time, packet: &Packet, queue: u32, reason: Reason) {
        self.add(t, TraceKind::Drop, packet, queue).reason = Some(reason);
    }

    /// The transmission of a packet begins; it leaves `queue` packets behind.
    pub fn record_departure(&mut self, t: Time, packet: &Packet, sojourn: Dur, queue: u32, counters: &Counters) {
        self.record_mark(t, packet, queue, counters);
        self.add(t, TraceKind::Depart, packet, queue).sojourn = sojourn;
    }

    fn add(&mut self, t: Time, kind: TraceKind, packet: &Packet, queue: u32) -> &mut TraceRow {
        self.rows.push(TraceRow { t, packet: *packet, sojourn: Dur::ZERO, queue, kind, reason: None });
        self.rows.last_mut().expect("it was just pushed")
    }

    /// The resolved rows since the last call, which are no part of the result then. They lack the options of
    /// acknowledgements.
    pub fn take_rows(&mut self) -> Vec<TraceRow> {
        self.options.clear();
        self.rows.drain(..std::mem::take(&mut self.settled)).collect()
    }

    /// Resolves the slots in new rows: `row_of` gives the row of a flow in the flow table, `pool` holds the options.
    pub fn settle(&mut self, row_of: impl Fn(u32) -> u32, pool: &[PacketOptions]) {
        for TraceRow { packet, .. } in &mut self.rows[self.settled..] {
            *packet = packet.with_flow(row_of(packet.flow()));
            if packet.has(Flags::SIGNALS) || packet.has(Flags::EXTERNAL) {
                *packet = packet.with_options(Packet::NO_OPTIONS);
            } else if packet.has(Flags::ACK) && packet.options() != Packet::NO_OPTIONS {
                self.options.push(*pool[packet.options() as usize].options());
                *packet = packet.with_options((self.options.len() - 1) as u32);
            }
        }
        self.settled = self.rows.len();
    }
}
