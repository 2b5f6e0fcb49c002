//! Passes samples of managed queues to another thread while the network runs.
//!
//! Samples that are passed on are not kept, so the memory of a network does not grow with the time it runs.

use hdrhistogram::Histogram;
use marqueue_aqm::Qdisc;
use marqueue_core::Time;
use marqueue_sim::delay_bins::DelayBins;
use marqueue_sim::resource::Resource;
use marqueue_sim::result::Series;
use std::sync::{Arc, Mutex};

/// Significant digits of the delays.
const DIGITS: u8 = 2;

/// A sample of one queue.
#[derive(Debug)]
pub struct Sample {
    /// Index into the plan's links.
    pub link: usize,
    /// The sampled series, with one row.
    pub series: Series,
    /// Mean departure rate since the previous sample, bit/s.
    pub rate: f64,
    /// Median and 99th percentile of the queueing delay of packets that departed since the previous sample, s; `None`
    /// without packets.
    pub delay: Option<[f64; 2]>,
}

/// Samples that the other thread has not taken yet.
pub type SharedSamples = Arc<Mutex<Vec<Sample>>>;

/// Cumulative counts of a queue at its previous sample.
#[derive(Debug)]
struct Previous {
    at: Time,
    departed_bytes: u64,
    /// Queueing delays of the measuring window.
    delays: Option<Histogram<u64>>,
}

/// The sending side.
#[derive(Debug)]
pub struct SampleFeed {
    shared: SharedSamples,
    /// Samples that are not in `shared` yet.
    pending: Vec<Sample>,
    previous: Vec<Previous>,
}

impl SampleFeed {
    /// A feed of `links` links.
    pub fn new(links: usize) -> SampleFeed {
        let at_start = || Previous { at: Time::ZERO, departed_bytes: 0, delays: None };
        SampleFeed {
            shared: SharedSamples::default(),
            pending: Vec::new(),
            previous: std::iter::repeat_with(at_start).take(links).collect(),
        }
    }

    /// The receiving side.
    pub fn shared(&self) -> SharedSamples {
        Arc::clone(&self.shared)
    }

    /// Adds the sample that the meter of `link` took at `now`.
    pub fn add(&mut self, now: Time, link: usize, resource: &mut Resource) {
        let previous = &mut self.previous[link];
        let departed_bytes = resource.qdisc.counters().departed_bytes;
        let all = histogram(resource.meter.delays());
        let since = previous.delays.take().and_then(|old| {
            let mut new = all.clone();
            new.subtract(old).is_ok().then_some(new)
        });
        // Subtraction fails if a measuring window began after the previous sample: all delays are new then.
        let since = since.unwrap_or_else(|| all.clone());
        let quantile = |q| since.value_at_quantile(q) as f64 / 1e9;
        self.pending.push(Sample {
            link,
            rate: (departed_bytes - previous.departed_bytes) as f64 * 8.0 / now.since(previous.at).secs(),
            delay: (!since.is_empty()).then(|| [quantile(0.5), quantile(0.99)]),
            series: resource.meter.take_series(),
        });
        *previous = Previous { at: now, departed_bytes, delays: Some(all) };
    }

    /// Publishes pending samples unless the other thread holds the lock: the thread of the network never waits.
    pub fn publish(&mut self) {
        if let Ok(mut shared) = self.shared.try_lock() {
            shared.append(&mut self.pending);
        }
    }

    /// Publishes what is left.
    pub fn finish(mut self) {
        self.shared.lock().expect("no thread panics while it holds the lock").append(&mut self.pending);
    }
}

/// The bins as a histogram, of which quantiles can be asked.
fn histogram(bins: &DelayBins) -> Histogram<u64> {
    let mut all = Histogram::new(DIGITS).expect("two digits are allowed");
    for (delay, count) in bins.iter() {
        all.record_n(delay, count).expect("the histogram grows");
    }
    all
}
