//! What a run yields: sums and histograms per measuring window, which merge across windows and
//! replications, and tables of flows.

use marqueue_aqm::Counters;
use marqueue_core::Time;

/// The result of one run.
#[derive(Clone, Debug)]
pub struct RunResult {
    /// The edges of the measuring windows: 0, the boundaries, the duration.
    pub edges: Vec<Time>,
    /// The metered links (those with a queue), in the order of the plan.
    pub links: Vec<LinkResult>,
    /// The links whose pipe is impaired, in the order of the plan.
    pub pipes: Vec<PipeResult>,
    /// All flows, in the order in which they were created.
    pub flows: FlowTable,
    /// Windows of the traced flows.
    pub cwnd: Vec<CwndTrace>,
    /// Events that the engine processed.
    pub events: u64,
}

/// One metered link.
#[derive(Clone, Debug)]
pub struct LinkResult {
    /// Index into the plan's links.
    pub link: usize,
    /// One for each measuring window.
    pub windows: Vec<LinkWindow>,
    /// Sampled every `Plan::sample`.
    pub series: Series,
    /// Every event, if asked for.
    pub trace: Option<Vec<TraceRow>>,
}

/// Sums over one measuring window of one link.
#[derive(Clone, Debug, Default)]
pub struct LinkWindow {
    /// Arrivals, departures, losses and marks in this window.
    pub counters: Counters,
    /// Bits that the link could have sent: the integral of its rate.
    pub capacity_bits: f64,
    /// Bits that it did send.
    pub sent_bits: f64,
    /// `queue_ns[q]`: for how many nanoseconds `q` packets were waiting (the one in transmission
    /// does not wait).
    pub queue_ns: Vec<u64>,
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

/// Counts over one measuring window of one pipe: of the packets that were due at its far end then.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct PipeWindow {
    /// Packets that entered the pipe.
    pub packets: u64,
    /// How many of them were lost.
    pub lost: u64,
    /// Packets that were overtaken by later ones (RFC 4737, section 4.1), counted when the first
    /// that overtakes is due.
    pub reordered: u64,
    /// By how many others those were overtaken, all together.
    pub overtakings: u64,
    /// Time that packets took longer than propagation: sum in seconds.
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
    /// Packets lost since the previous sample.
    pub drops: Vec<u32>,
    /// Packets marked since the previous sample.
    pub marks: Vec<u32>,
    /// Internal variables of the policy: name, unit, values at `t`.
    pub probes: Vec<(&'static str, &'static str, Vec<f64>)>,
}

/// What happened to a packet at a traced link.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum TraceKind {
    /// It arrived and was queued.
    Arrive,
    /// It arrived, was queued and marked.
    Mark,
    /// It was lost.
    Drop,
    /// Its transmission began.
    Depart,
}

/// One line of a packet trace.
#[derive(Clone, Copy, Debug)]
pub struct TraceRow {
    /// When.
    pub t: Time,
    /// What.
    pub kind: TraceKind,
    /// Whose.
    pub flow: u32,
    /// Which packet.
    pub seq: u32,
    /// How large.
    pub bytes: u32,
}

/// Flows as columns; one row a flow.
#[derive(Clone, Debug, Default)]
pub struct FlowTable {
    /// Index into the plan's traffic.
    pub group: Vec<u32>,
    /// Index into the plan's routes.
    pub route: Vec<u32>,
    /// When it began.
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
    /// Window cuts in answer to ECN.
    pub ecn_cuts: Vec<u32>,
}

/// One traced flow.
#[derive(Clone, Debug)]
pub struct CwndTrace {
    /// Row of the flow table.
    pub flow: u32,
    /// Time, cwnd and ssthresh in packets, at every change.
    pub rows: Vec<(Time, f64, f64)>,
}
