//! Measurements at a queue: time-weighted queue length, queueing delay and its variation, utilization and counts, by
//! measuring window and as a time series.

use crate::result::{LinkResult, LinkWindow, Series};
use hdrhistogram::Histogram;
use marqueue_aqm::{Counters, Discipline, Qdisc, Reason};
use marqueue_core::{Dur, Time};

/// Significant digits of the delay histogram.
const DIGITS: u8 = 2;

/// Sums of the current measuring window and the closed windows.
#[derive(Debug)]
pub struct Meter {
    window: LinkWindow,
    delays: Histogram<u64>,
    closed: Vec<LinkWindow>,
    /// Counters when the window began.
    base: Counters,
    /// Time up to which the queue length has been integrated.
    queue_at: Time,
    /// Time up to which the capacity has been integrated.
    speed_at: Time,
    last_delay: Option<Dur>,
    series: Series,
    /// Counters, bits sent and capacity at the last sample.
    sampled: (Counters, f64, f64),
}

impl Meter {
    /// A meter at time zero. `classes` is the number of processing classes.
    pub fn new(probes: &[(&'static str, &'static str)], classes: usize) -> Meter {
        Meter {
            window: LinkWindow { used_by_class: vec![0.0; classes], ..LinkWindow::default() },
            delays: Histogram::new(DIGITS).expect("two digits are allowed"),
            closed: Vec::new(),
            base: Counters::default(),
            queue_at: Time::ZERO,
            speed_at: Time::ZERO,
            last_delay: None,
            series: Series {
                probes: probes.iter().map(|&(name, unit)| (name, unit, Vec::new())).collect(),
                ..Series::default()
            },
            sampled: (Counters::default(), 0.0, 0.0),
        }
    }

    /// Integrates the queue length: until `now` the queue had `len` packets.
    #[inline]
    pub fn integrate_queue(&mut self, len: u32, now: Time) {
        self.window.queue_times.add(len, (now - self.queue_at).0);
        self.queue_at = now;
    }

    /// Integrates the capacity: until `now` the server had this speed.
    pub fn integrate_capacity(&mut self, speed: f64, now: Time) {
        self.window.capacity += speed * (now - self.speed_at).secs();
        self.speed_at = now;
    }

    /// The service of a packet of `class` begins after a queueing delay of `delay`; it takes this `work` (bits or
    /// cycles).
    #[inline(always)]
    pub fn record_departure(&mut self, delay: Dur, work: f64, class: u8) {
        let d = delay.secs();
        let w = &mut self.window;
        w.used += work;
        if let Some(used) = w.used_by_class.get_mut(usize::from(class)) {
            *used += work;
        }
        w.delay_sum += d;
        w.delay_sum_sq += d * d;
        if let Some(last) = self.last_delay.replace(delay) {
            w.jitter_sum += delay.0.abs_diff(last.0) as f64 * 1e-9;
        }
        self.delays.record(delay.0).expect("the histogram grows");
    }

    /// Closes the window at `now`. `len` packets are in the queue; the server has `ahead` work left in service.
    pub fn close(&mut self, now: Time, len: u32, counters: &Counters, speed: f64, ahead: f64) {
        self.integrate_queue(len, now);
        self.integrate_capacity(speed, now);
        // Work that is left belongs to the next window.
        self.window.used -= ahead;
        self.window.counters = minus(counters, &self.base);
        self.base = counters.clone();
        self.window.delay_bins =
            self.delays.iter_recorded().map(|b| (b.value_iterated_to(), b.count_at_value())).collect();
        self.delays.reset();
        // The sampler's sums run over windows.
        self.sampled.1 -= self.window.used;
        self.sampled.2 -= self.window.capacity;
        let used_by_class = vec![0.0; self.window.used_by_class.len()];
        let next = LinkWindow { used: ahead, used_by_class, ..LinkWindow::default() };
        self.closed.push(std::mem::replace(&mut self.window, next));
    }

    /// Takes a sample at `now`.
    pub fn sample(&mut self, now: Time, qdisc: &Discipline, speed: f64, ahead: f64) {
        self.integrate_capacity(speed, now);
        let c = qdisc.counters();
        let sent = self.window.used - ahead;
        let (old, old_sent, old_capacity) = &self.sampled;
        let s = &mut self.series;
        s.t.push(now.secs());
        s.queue.push(qdisc.len());
        s.queue_bytes.push(qdisc.bytes());
        s.utilization.push((sent - old_sent) / (self.window.capacity - old_capacity));
        s.drops.push((c.dropped() - old.dropped()) as u32);
        s.marks.push((c.marked() - old.marked()) as u32);
        let mut values = Vec::with_capacity(s.probes.len());
        qdisc.probe(now, &mut values);
        for ((_, _, column), value) in s.probes.iter_mut().zip(values) {
            column.push(value);
        }
        self.sampled = (c.clone(), sent, self.window.capacity);
    }

    /// The queueing delays of the current window, ns.
    pub fn delays(&self) -> &Histogram<u64> {
        &self.delays
    }

    /// Sum of the queueing delays since the start, s.
    pub fn delay_sum(&self) -> f64 {
        self.closed.iter().map(|window| window.delay_sum).sum::<f64>() + self.window.delay_sum
    }

    /// The samples since the last call, which are no part of the result then.
    pub fn take_series(&mut self) -> Series {
        let probes = self.series.probes.iter().map(|&(name, unit, _)| (name, unit, Vec::new())).collect();
        std::mem::replace(&mut self.series, Series { probes, ..Series::default() })
    }

    /// Returns all measurements.
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
