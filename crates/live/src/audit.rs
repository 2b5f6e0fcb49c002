//! Records whether the machine kept up with the network: how late packets were released, and what was lost outside the
//! network.

use crate::network::End;
use hdrhistogram::Histogram;
use marqueue_core::{Dur, Ecn};

/// Significant digits of the histogram.
const DIGITS: u8 = 3;
/// Errors above this are recorded as this, ns.
const LARGEST: u64 = 10_000_000_000;

/// Packet counts of one end.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Packets read from the device.
    pub received: u64,
    /// Received packets that are neither IPv4 nor IPv6, or end within the header. They are forwarded, never marked.
    pub malformed: u64,
    /// Received packets that were dropped because the packet pool was full.
    pub no_memory: u64,
    /// Received packets that were dropped because they belong to no route.
    pub no_route: u64,
    /// Packets written to the device.
    pub sent: u64,
    /// Packets that the kernel refused to take, for instance because they are not IP.
    pub refused: u64,
    /// Packets written with a CE mark.
    pub ce_sent: u64,
    /// Packets written with a CE mark and received without one.
    pub ce_set: u64,
}

/// The record of one run.
#[derive(Debug)]
pub struct Audit {
    release_errors: Histogram<u64>,
    counts: [Counts; 2],
    /// Time spent polling the clock, ns.
    pub busy_wait_ns: u64,
    /// True if the thread has real-time priority.
    pub realtime: bool,
    /// How often the thread was preempted; `None` if the kernel does not report it.
    pub preemptions: Option<u64>,
    /// CPU time of the thread.
    pub cpu: Dur,
}

impl Default for Audit {
    fn default() -> Audit {
        Audit {
            release_errors: Histogram::new_with_max(LARGEST, DIGITS).expect("the range is valid"),
            counts: Default::default(),
            busy_wait_ns: 0,
            realtime: false,
            preemptions: None,
            cpu: Dur::ZERO,
        }
    }
}

impl Audit {
    /// Records a packet that was released `late` after it was due.
    pub fn record_release(&mut self, late: Dur) {
        self.release_errors.saturating_record(late.0);
    }

    /// Records a packet written at `end`, with its ECN fields on arrival and on release.
    pub fn record_sent(&mut self, end: End, received: Ecn, sent: Ecn) {
        let counts = self.counts_mut(end);
        counts.sent += 1;
        counts.ce_sent += u64::from(sent == Ecn::Ce);
        counts.ce_set += u64::from(sent == Ecn::Ce && received != Ecn::Ce);
    }

    /// The counts of one end.
    pub fn counts(&self, end: End) -> &Counts {
        &self.counts[end as usize]
    }

    /// The counts of one end, to be changed.
    pub fn counts_mut(&mut self, end: End) -> &mut Counts {
        &mut self.counts[end as usize]
    }

    /// Quantile `q` of the release error, s.
    pub fn quantile(&self, q: f64) -> f64 {
        self.release_errors.value_at_quantile(q) as f64 / 1e9
    }

    /// Mean release error, s.
    pub fn mean(&self) -> f64 {
        self.release_errors.mean() / 1e9
    }

    /// Number of releases recorded.
    pub fn releases(&self) -> u64 {
        self.release_errors.len()
    }

    /// The largest release error, s.
    pub fn largest(&self) -> f64 {
        self.release_errors.max() as f64 / 1e9
    }

    /// The histogram of release errors: upper edges in s, with counts.
    pub fn histogram(&self) -> Vec<(f64, u64)> {
        self.release_errors
            .iter_log(100, 2.0)
            .map(|b| (b.value_iterated_to() as f64 / 1e9, b.count_since_last_iteration()))
            .collect()
    }
}
