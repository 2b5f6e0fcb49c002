//! What is seen of the managed queues of a network while it runs, for another thread.
//!
//! Each sample is handed over instead of kept: a network that runs for days takes no more memory for it.

use hdrhistogram::Histogram;
use marqueue_aqm::Qdisc;
use marqueue_core::Time;
use marqueue_sim::resource::Resource;
use marqueue_sim::result::Series;
use std::sync::{Arc, Mutex};

/// What is seen of a queue at one instant.
#[derive(Debug)]
pub struct Look {
    /// Index into the plan's links.
    pub link: usize,
    /// A single sample.
    pub series: Series,
    /// What left the queue since the previous look, bit/s.
    pub rate: f64,
    /// The median of the queueing delay of the packets that left since the previous look, s, and its 99th
    /// percentile; none without packets.
    pub delay: Option<[f64; 2]>,
}

/// Where looks are for others to take.
pub type Looks = Arc<Mutex<Vec<Look>>>;

/// What a queue had seen pass at the previous look.
#[derive(Debug)]
struct Before {
    at: Time,
    bytes: u64,
    delays: Option<Histogram<u64>>,
}

/// See the head of this file.
#[derive(Debug)]
pub struct Watch {
    shared: Looks,
    pending: Vec<Look>,
    before: Vec<Before>,
}

impl Watch {
    /// A watch of so many links.
    pub fn new(links: usize) -> Watch {
        let nothing = || Before { at: Time::ZERO, bytes: 0, delays: None };
        Watch {
            shared: Looks::default(),
            pending: Vec::new(),
            before: std::iter::repeat_with(nothing).take(links).collect(),
        }
    }

    /// Where looks are for others to take.
    pub fn looks(&self) -> Looks {
        Arc::clone(&self.shared)
    }

    /// Looks at the queue of `link`, of which a sample has been taken at `now`.
    pub fn look(&mut self, now: Time, link: usize, resource: &mut Resource) {
        let before = &mut self.before[link];
        let bytes = resource.qdisc.counters().departed_bytes;
        let all = resource.meter.delays().clone();
        let since = before.delays.take().and_then(|old| {
            let mut new = all.clone();
            new.subtract(old).is_ok().then_some(new)
        });
        // Where a measuring window has begun since, all delays there are have been seen since.
        let since = since.unwrap_or_else(|| all.clone());
        let quantile = |q| since.value_at_quantile(q) as f64 / 1e9;
        self.pending.push(Look {
            link,
            rate: (bytes - before.bytes) as f64 * 8.0 / now.since(before.at).secs(),
            delay: (!since.is_empty()).then(|| [quantile(0.5), quantile(0.99)]),
            series: resource.meter.take_series(),
        });
        *before = Before { at: now, bytes, delays: Some(all) };
    }

    /// Hands over what has been seen, unless somebody is taking it right now: the thread of the network does
    /// not wait.
    pub fn hand_over(&mut self) {
        if let Ok(mut shared) = self.shared.try_lock() {
            shared.append(&mut self.pending);
        }
    }

    /// Hands over what is left.
    pub fn finish(mut self) {
        self.shared.lock().expect("nobody panics with it").append(&mut self.pending);
    }
}
