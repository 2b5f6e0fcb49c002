//! The result of a run: sums and histograms per measuring window, which merge across windows and replications, and
//! tables of flows.

use crate::queue_times::QueueTimes;
use crate::trace::Trace;
use marqueue_aqm::Counters;
use marqueue_cc::media::sender::MediaInfo;
use marqueue_cc::path_model::ModelInfo;
use marqueue_cc::SenderInfo;
use marqueue_core::{Dur, Time};

/// The result of one run.
#[derive(Debug)]
pub struct RunResult {
    /// The edges of the measuring windows: 0, the boundaries, the duration.
    pub edges: Vec<Time>,
    /// Time at which the run ended: the duration, or where it was cut off.
    pub ended: Time,
    /// The metered links (those with a queue), in the order of the plan.
    pub links: Vec<LinkResult>,
    /// The links whose pipe is impaired, in the order of the plan.
    pub pipes: Vec<PipeResult>,
    /// All flows, in the order in which they were created.
    pub flows: FlowTable,
    /// The packets of the traced links, with their indices into the plan's links, in the order of
    /// the plan.
    pub traces: Vec<(usize, Trace)>,
    /// The senders of the traced TCP flows.
    pub senders: Vec<SenderTrace>,
    /// The senders of the traced paced flows.
    pub rate_traces: Vec<RateTrace>,
    /// All media flows.
    pub media: Vec<MediaTrace>,
    /// The groups of TCP flows whose windows were sampled.
    pub cwnds: Vec<CwndResult>,
    /// What kernels say of their queues at the end, by index into the plan's links.
    pub queue_reports: Vec<(usize, String)>,
    /// Events that the engine processed: how much work the run was. It alone depends on the number of threads.
    pub events: u64,
}

/// One metered link.
#[derive(Clone, Debug)]
pub struct LinkResult {
    /// Index into the plan's links.
    pub link: usize,
    /// One for each measuring window that began. The last one ends with the run.
    pub windows: Vec<LinkWindow>,
    /// Sampled every `Plan::sample`.
    pub series: Series,
}

/// Sums over one measuring window of one link.
#[derive(Clone, Debug, Default)]
pub struct LinkWindow {
    /// Arrivals, departures, drops and marks in this window.
    pub counters: Counters,
    /// Capacity of the server: bits that a link could have sent, cycles that a CPU could have spent.
    pub capacity: f64,
    /// The capacity that was used, in the same unit.
    pub used: f64,
    /// The same by processing class, if the plan has classes. A packet in service at the end of the window counts in
    /// full.
    pub used_by_class: Vec<f64>,
    /// Time by the number of packets in the queue. The packet in transmission does not count.
    pub queue_times: QueueTimes,
    /// Queueing delay (from arrival to the start of transmission): sum in seconds.
    pub delay_sum: f64,
    /// Sum of squares, s^2.
    pub delay_sum_sq: f64,
    /// Sum over consecutive departures of |difference of their queueing delays|, s (RFC 3393's
    /// variation, without sign).
    pub jitter_sum: f64,
    /// Histogram of queueing delay: upper edge of each bin in ns with its count; two significant
    /// digits.
    pub delay_bins: Vec<(u64, u64)>,
}

/// The pipe of one link.
#[derive(Clone, Debug)]
pub struct PipeResult {
    /// Index into the plan's links.
    pub link: usize,
    /// One for each measuring window.
    pub windows: Vec<PipeWindow>,
}

/// Counts over one measuring window of one pipe, for the packets that were due at its far end in that window.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct PipeWindow {
    /// Packets that entered the pipe.
    pub packets: u64,
    /// Number of them that were lost.
    pub lost: u64,
    /// Packets that were overtaken by later ones (RFC 4737, section 4.1), counted when the first overtaking packet is
    /// due.
    pub reordered: u64,
    /// Total number of packets that overtook them.
    pub overtakings: u64,
    /// Sum of delays beyond the propagation delay, s.
    pub extra_delay: f64,
}

/// Time series of one link, sampled at `t`.
#[derive(Clone, Debug, Default)]
pub struct Series {
    /// Seconds.
    pub t: Vec<f64>,
    /// Packets waiting at `t`.
    pub queue: Vec<u32>,
    /// Bytes waiting at `t`.
    pub queue_bytes: Vec<u64>,
    /// Share of the capacity used since the previous sample.
    pub utilization: Vec<f64>,
    /// Packets dropped since the previous sample.
    pub drops: Vec<u32>,
    /// Packets marked since the previous sample.
    pub marks: Vec<u32>,
    /// Internal variables of the policy: name, unit, values at `t`.
    pub probes: Vec<(&'static str, &'static str, Vec<f64>)>,
}

/// A table of flows, by columns, with one row for each flow.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct FlowTable {
    /// Index into the plan's traffic.
    pub group: Vec<u32>,
    /// Index into the plan's routes.
    pub route: Vec<u32>,
    /// Start time.
    pub start: Vec<Time>,
    /// When its last packet was acknowledged; `Time::NEVER` if it never was.
    pub end: Vec<Time>,
    /// Data packets it had to send; zero if endless.
    pub size: Vec<u32>,
    /// Payload bytes delivered in order, by flow and window: row-major, flows x windows.
    pub delivered: Vec<u64>,
    /// Data packets sent, retransmissions included.
    pub sent: Vec<u64>,
    /// Retransmissions.
    pub retransmits: Vec<u64>,
    /// Retransmission timeouts.
    pub timeouts: Vec<u32>,
    /// Window reductions by ECN.
    pub ecn_cuts: Vec<u32>,
    /// Two-way propagation delay; empty if no flow has a link of its own.
    pub propagation: Vec<Dur>,
}

impl FlowTable {
    /// Number of rows.
    pub fn len(&self) -> usize {
        self.group.len()
    }

    /// Has it no rows?
    pub fn is_empty(&self) -> bool {
        self.group.is_empty()
    }

    /// Number of measuring windows; zero without rows.
    pub fn windows(&self) -> usize {
        self.delivered.len().checked_div(self.len()).unwrap_or(0)
    }

    /// The columns of what senders count get the first `rows` rows, if they have fewer. While flows go on they may be shorter
    /// than the others: memory that nothing was written to costs nothing.
    #[inline]
    pub(crate) fn extend_counts(&mut self, rows: usize) {
        if self.end.len() < rows {
            self.end.resize(rows, Time::NEVER);
            self.sent.resize(rows, 0);
            self.retransmits.resize(rows, 0);
            self.timeouts.resize(rows, 0);
            self.ecn_cuts.resize(rows, 0);
        }
    }

    /// Removes the first `n` rows and returns them. The columns keep their room.
    pub(crate) fn take_front(&mut self, n: usize) -> FlowTable {
        self.extend_counts(n);
        let cells = n * self.windows();
        let delays = n.min(self.propagation.len());
        FlowTable {
            group: self.group.drain(..n).collect(),
            route: self.route.drain(..n).collect(),
            start: self.start.drain(..n).collect(),
            end: self.end.drain(..n).collect(),
            size: self.size.drain(..n).collect(),
            delivered: self.delivered.drain(..cells).collect(),
            sent: self.sent.drain(..n).collect(),
            retransmits: self.retransmits.drain(..n).collect(),
            timeouts: self.timeouts.drain(..n).collect(),
            ecn_cuts: self.ecn_cuts.drain(..n).collect(),
            propagation: self.propagation.drain(..delays).collect(),
        }
    }

    /// Appends the row at place `at` of another table.
    pub(crate) fn push_from(&mut self, other: &FlowTable, at: usize) {
        let windows = other.windows();
        self.group.push(other.group[at]);
        self.route.push(other.route[at]);
        self.start.push(other.start[at]);
        self.end.push(other.end[at]);
        self.size.push(other.size[at]);
        self.delivered.extend_from_slice(&other.delivered[at * windows..][..windows]);
        self.sent.push(other.sent[at]);
        self.retransmits.push(other.retransmits[at]);
        self.timeouts.push(other.timeouts[at]);
        self.ecn_cuts.push(other.ecn_cuts[at]);
        self.propagation.extend(other.propagation.get(at));
    }

    /// Takes from another table of the same flows what senders count, where the sender is there, and what receivers
    /// count, where the receiver is there. Both are told the route.
    pub fn take_ends(&mut self, other: &FlowTable, sends: impl Fn(u32) -> bool, receives: impl Fn(u32) -> bool) {
        for row in 0..self.len() {
            let route = self.route[row];
            if sends(route) {
                self.copy_sent(row, other, row);
            }
            if receives(route) {
                self.copy_delivered(row, other, row);
            }
        }
    }

    /// Copies what the sender counts of the flow at place `at` of another table into row `row`.
    pub fn copy_sent(&mut self, row: usize, other: &FlowTable, at: usize) {
        self.end[row] = other.end[at];
        self.sent[row] = other.sent[at];
        self.retransmits[row] = other.retransmits[at];
        self.timeouts[row] = other.timeouts[at];
        self.ecn_cuts[row] = other.ecn_cuts[at];
    }

    /// Copies what the receiver counts of the flow at place `at` of another table into row `row`.
    pub fn copy_delivered(&mut self, row: usize, other: &FlowTable, at: usize) {
        let windows = self.windows();
        let delivered = &other.delivered[at * windows..][..windows];
        self.delivered[row * windows..][..windows].copy_from_slice(delivered);
    }
}

/// One traced TCP flow: a row at every change of its sender.
#[derive(Clone, Debug)]
pub struct SenderTrace {
    /// Row of the flow table.
    pub flow: u32,
    /// Times, with the state of the sender from then on.
    pub rows: Vec<(Time, SenderInfo)>,
    /// The same of the model of the path, of a window law that has one.
    pub models: Vec<(Time, ModelInfo)>,
}

/// One traced paced flow: a row at every change of its sender.
#[derive(Clone, Debug)]
pub struct RateTrace {
    /// Row of the flow table.
    pub flow: u32,
    /// Size of its packets on the wire, bytes.
    pub bytes: u32,
    /// Times, with the rate in packets a second and the latest price from then on.
    pub rows: Vec<(Time, (f64, Option<f64>))>,
}

/// The frames of one media flow.
#[derive(Clone, Debug)]
pub struct MediaTrace {
    /// Row of the flow table.
    pub flow: u32,
    /// Time between frames.
    pub period: Dur,
    /// All frames, in the order in which they were made.
    pub frames: Vec<FrameRow>,
    /// Times, with the state of the sender from then on, if it is traced.
    pub rows: Vec<(Time, MediaInfo)>,
}

/// One frame.
#[derive(Clone, Copy, Debug)]
pub struct FrameRow {
    /// When it was made.
    pub made: Time,
    /// Size in RTP packets, bytes.
    pub bytes: u32,
    /// Does it refer to no other frame?
    pub is_key: bool,
    /// When it was shown; `Time::NEVER` if it never was.
    pub shown: Time,
}

/// Congestion windows of one group of TCP flows, sampled every `Plan::sample`.
#[derive(Clone, Debug)]
pub struct CwndResult {
    /// Index into the plan's traffic.
    pub group: usize,
    /// Seconds.
    pub t: Vec<f64>,
    /// Sum of the windows of its flows at `t`, packets.
    pub sum: Vec<f64>,
    /// For each measuring window that was begun, the sum over flows of the variance of the samples of each,
    /// packets squared; NaN without samples.
    pub variances: Vec<f64>,
}

impl CwndResult {
    /// The result of a group without samples.
    pub fn empty(group: usize) -> CwndResult {
        CwndResult { group, t: Vec::new(), sum: Vec::new(), variances: Vec::new() }
    }
}
