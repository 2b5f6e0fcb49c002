//! What is measured at a link: time-weighted queue, queueing delay and its variation, utilization,
//! counts; by measuring window, and sampled.

use crate::result::{LinkResult, LinkWindow, Series};
use hdrhistogram::Histogram;
use marqueue_aqm::{Counters, Discipline, Qdisc, Reason};
use marqueue_core::{Dur, Rate, Time};

/// Significant digits of the delay histogram.
const DIGITS: u8 = 2;

/// Sums of the current window and everything that has been closed.
#[derive(Debug)]
pub struct Meter {
    window: LinkWindow,
    delays: Histogram<u64>,
    closed: Vec<LinkWindow>,
    /// Counters when the window began.
    base: Counters,
    /// Up to when the queue has been accounted for.
    queue_at: Time,
    /// Up to when the capacity has been accounted for.
    rate_at: Time,
    last_delay: Option<Dur>,
    series: Series,
    /// Counters, bits sent and capacity at the last sample.
    sampled: (Counters, f64, f64),
}

impl Meter {
    /// A meter at time zero.
    pub fn new(probes: &[(&'static str, &'static str)]) -> Meter {
        Meter {
            window: LinkWindow::default(),
            delays: Histogram::new(DIGITS).expect("two digits are allowed"),
            closed: Vec::new(),
            base: Counters::default(),
            queue_at: Time::ZERO,
            rate_at: Time::ZERO,
            last_delay: None,
            series: Series {
                probes: probes.iter().map(|&(name, unit)| (name, unit, Vec::new())).collect(),
                ..Series::default()
            },
            sampled: (Counters::default(), 0.0, 0.0),
        }
    }

    /// Until `now` the queue had `len` packets.
    #[inline]
    pub fn queue_was(&mut self, len: u32, now: Time) {
        let len = len as usize;
        if len >= self.window.queue_ns.len() {
            self.window.queue_ns.resize(len + 1, 0);
        }
        self.window.queue_ns[len] += (now - self.queue_at).0;
        self.queue_at = now;
    }

    /// Until `now` the rate was `rate`.
    pub fn rate_was(&mut self, rate: Rate, now: Time) {
        self.window.capacity_bits += rate.0 as f64 * (now - self.rate_at).secs();
        self.rate_at = now;
    }

    /// A packet's transmission begins after it has waited for `delay`.
    #[inline]
    pub fn departs(&mut self, delay: Dur, bytes: u32) {
        let d = delay.secs();
        let w = &mut self.window;
        w.sent_bits += f64::from(bytes) * 8.0;
        w.delay_sum += d;
        w.delay_sum_sq += d * d;
        if let Some(last) = self.last_delay.replace(delay) {
            w.jitter_sum += delay.0.abs_diff(last.0) as f64 * 1e-9;
        }
        self.delays.record(delay.0).expect("the histogram grows");
    }

    /// Closes the window at `now`: `len` packets wait, the server is busy until `busy_until`.
    pub fn close(&mut self, now: Time, len: u32, counters: &Counters, rate: Rate, busy_until: Time) {
        self.queue_was(len, now);
        self.rate_was(rate, now);
        // What is still being sent belongs to the next window.
        let ahead = rate.0 as f64 * busy_until.since(now).secs();
        self.window.sent_bits -= ahead;
        self.window.counters = minus(counters, &self.base);
        self.base = counters.clone();
        self.window.delay_bins =
            self.delays.iter_recorded().map(|b| (b.value_iterated_to(), b.count_at_value())).collect();
        self.delays.reset();
        // The sampler's sums run over windows.
        self.sampled.1 -= self.window.sent_bits;
        self.sampled.2 -= self.window.capacity_bits;
        let next = LinkWindow { sent_bits: ahead, ..LinkWindow::default() };
        self.closed.push(std::mem::replace(&mut self.window, next));
    }

    /// Takes a sample at `now`.
    pub fn sample(&mut self, now: Time, qdisc: &Discipline, rate: Rate, busy_until: Time) {
        self.rate_was(rate, now);
        let c = qdisc.counters();
        let sent = self.window.sent_bits - rate.0 as f64 * busy_until.since(now).secs();
        let (old, old_sent, old_capacity) = &self.sampled;
        let s = &mut self.series;
        s.t.push(now.secs());
        s.queue.push(qdisc.len());
        s.queue_bytes.push(qdisc.bytes());
        s.utilization.push((sent - old_sent) / (self.window.capacity_bits - old_capacity));
        s.drops.push((c.dropped() - old.dropped()) as u32);
        s.marks.push((c.marked() - old.marked()) as u32);
        let mut values = Vec::with_capacity(s.probes.len());
        qdisc.probe(now, &mut values);
        for ((_, _, column), value) in s.probes.iter_mut().zip(values) {
            column.push(value);
        }
        self.sampled = (c.clone(), sent, self.window.capacity_bits);
    }

    /// Everything that was measured.
    pub fn into_result(self, link: usize) -> LinkResult {
        LinkResult { link, windows: self.closed, series: self.series }
    }
}

fn minus(a: &Counters, b: &Counters) -> Counters {
    type ByReason = [u64; Reason::ALL.len()];
    let each = |a: &ByReason, b: &ByReason| -> ByReason { std::array::from_fn(|i| a[i] - b[i]) };
    Counters {
        arrivals: a.arrivals - b.arrivals,
        arrived_bytes: a.arrived_bytes - b.arrived_bytes,
        departures: a.departures - b.departures,
        departed_bytes: a.departed_bytes - b.departed_bytes,
        drops: each(&a.drops, &b.drops),
        dropped_bytes: a.dropped_bytes - b.dropped_bytes,
        marks: each(&a.marks, &b.marks),
    }
}
