//! Was it the network that was asked for? What tells whether the machine kept up.

use crate::network::End;
use hdrhistogram::Histogram;
use marqueue_core::{Dur, Ecn};

/// Significant digits of the histogram.
const DIGITS: u8 = 3;
/// Errors beyond are all the same, ns.
const LARGEST: u64 = 10_000_000_000;

/// Counts of one end.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Packets that came in.
    pub received: u64,
    /// Of these: neither IPv4 nor IPv6, or cut off within the header. They pass like others, unmarked.
    pub malformed: u64,
    /// Of these: lost because all memory for packets was taken.
    pub no_memory: u64,
    /// Of these: lost because they belong to no route.
    pub no_route: u64,
    /// Packets that went out.
    pub sent: u64,
    /// Packets that the system would not take back, as it does with what is no IP packet.
    pub refused: u64,
    /// Packets that went out with a mark, and of these the ones that came in without.
    pub ce_sent: u64,
    /// See `ce_sent`.
    pub ce_set: u64,
}

/// See the head of this file.
#[derive(Debug)]
pub struct Audit {
    errors: Histogram<u64>,
    counts: [Counts; 2],
    /// Time spent waiting without sleep, ns.
    pub spun: u64,
    /// Did the thread get real-time priority?
    pub realtime: bool,
    /// How often the thread was interrupted; none where the system does not tell.
    pub interrupted: Option<u64>,
    /// CPU time of the thread.
    pub cpu: Dur,
}

impl Default for Audit {
    fn default() -> Audit {
        Audit {
            errors: Histogram::new_with_max(LARGEST, DIGITS).expect("a range that is allowed"),
            counts: Default::default(),
            spun: 0,
            realtime: false,
            interrupted: None,
            cpu: Dur::ZERO,
        }
    }
}

impl Audit {
    /// A packet went out so much later than it was to.
    pub fn released(&mut self, late: Dur) {
        self.errors.saturating_record(late.0);
    }

    /// A packet went out by `end` that came in as `came`.
    pub fn sent(&mut self, end: End, came: Ecn, left: Ecn) {
        let counts = self.of(end);
        counts.sent += 1;
        counts.ce_sent += u64::from(left == Ecn::Ce);
        counts.ce_set += u64::from(left == Ecn::Ce && came != Ecn::Ce);
    }

    /// The counts of one end.
    pub fn of(&mut self, end: End) -> &mut Counts {
        &mut self.counts[end as usize]
    }

    /// The release error: how many packets, and its quantiles in s.
    pub fn quantile(&self, q: f64) -> f64 {
        self.errors.value_at_quantile(q) as f64 / 1e9
    }

    /// How many releases there were.
    pub fn releases(&self) -> u64 {
        self.errors.len()
    }

    /// The largest release error, s.
    pub fn largest(&self) -> f64 {
        self.errors.max() as f64 / 1e9
    }

    /// The histogram: upper edges in s, and counts.
    pub fn histogram(&self) -> Vec<(f64, u64)> {
        self.errors
            .iter_log(100, 2.0)
            .map(|b| (b.value_iterated_to() as f64 / 1e9, b.count_since_last_iteration()))
            .collect()
    }
}
