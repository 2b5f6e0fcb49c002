//! Measurements at a queue: time-weighted queue length, queueing delay and its variation, utilization and counts, by
//! measuring window and as a time series.

use crate::delay_bins::DelayBins;
use crate::queue_times::QueueTimes;
use crate::result::{LinkResult, LinkWindow, Series};
use marqueue_aqm::{Counters, Discipline, Qdisc, Reason};
use marqueue_core::{Dur, Time};

/// What was measured in the current measuring window, in the closed ones and at samples.
#[derive(Debug)]
pub struct Meter {
    running: Running,
    /// Apart, so that what each packet changes is in few cache lines.
    rest: Box<Rest>,
}

/// What each packet changes: sums of the current measuring window, as in [`LinkWindow`].
#[derive(Debug, Default)]
struct Running {
    used: f64,
    used_by_class: Vec<f64>,
    queue_times: QueueTimes,
    /// Time up to which the queue length has been integrated.
    queue_at: Time,
    delay_sum: f64,
    delay_sum_sq: f64,
    jitter_sum: f64,
    last_delay: Option<Dur>,
    delays: DelayBins,
}

/// What changes at samples, at the ends of windows and when the rate changes.
#[derive(Debug)]
struct Rest {
    /// Capacity in the current measuring window.
    capacity: f64,
    /// Time up to which the capacity has been integrated.
    capacity_at: Time,
    closed: Vec<LinkWindow>,
    /// Counters when the window began.
    base: Counters,
    series: Series,
    /// Counters, bits sent and capacity at the last sample.
    sampled: (Counters, f64, f64),
}

impl Meter {
    /// A meter at time zero. `classes` is the number of processing classes.
    pub fn new(probes: &[(&'static str, &'static str)], classes: usize) -> Meter {
        Meter {
            running: Running { used_by_class: vec![0.0; classes], ..Running::default() },
            rest: Box::new(Rest {
                capacity: 0.0,
                capacity_at: Time::ZERO,
                closed: Vec::new(),
                base: Counters::default(),
                series: Series {
                    probes: probes.iter().map(|&(name, unit)| (name, unit, Vec::new())).collect(),
                    ..Series::default()
                },
                sampled: (Counters::default(), 0.0, 0.0),
            }),
        }
    }

    /// Integrates the queue length: until `now` the queue had `len` packets.
    #[inline]
    pub fn integrate_queue(&mut self, len: u32, now: Time) {
        self.running.queue_times.add(len, (now - self.running.queue_at).0);
        self.running.queue_at = now;
    }

    /// Integrates the capacity: until `now` the server had this speed.
    pub fn integrate_capacity(&mut self, speed: f64, now: Time) {
        self.rest.capacity += speed * (now - self.rest.capacity_at).secs();
        self.rest.capacity_at = now;
    }

    /// The service of a packet of `class` begins after a queueing delay of `delay`; it takes this `work` (bits or
    /// cycles).
    #[inline(always)]
    pub fn record_departure(&mut self, delay: Dur, work: f64, class: u8) {
        let d = delay.secs();
        let r = &mut self.running;
        r.used += work;
        if let Some(used) = r.used_by_class.get_mut(usize::from(class)) {
            *used += work;
        }
        r.delay_sum += d;
        r.delay_sum_sq += d * d;
        if let Some(last) = r.last_delay.replace(delay) {
            r.jitter_sum += delay.0.abs_diff(last.0) as f64 * 1e-9;
        }
        r.delays.record(delay.0);
    }

    /// Prefetches where the time of a queue of `len` packets is counted.
    #[inline]
    pub fn prefetch_length(&self, len: u32) {
        self.running.queue_times.prefetch(len);
    }

    /// Prefetches where this delay is counted.
    #[inline]
    pub fn prefetch_delay(&self, delay: Dur) {
        self.running.delays.prefetch(delay.0);
    }

    /// Closes the window at `now`. `len` packets are in the queue; the server has `ahead` work left in service.
    pub fn close(&mut self, now: Time, len: u32, counters: &Counters, speed: f64, ahead: f64) {
        self.integrate_queue(len, now);
        self.integrate_capacity(speed, now);
        let (running, rest) = (&mut self.running, &mut *self.rest);
        // Work that is left belongs to the next window.
        let used = running.used - ahead;
        let delay_bins = running.delays.iter().collect();
        running.delays.clear();
        let next = Running {
            used: ahead,
            used_by_class: vec![0.0; running.used_by_class.len()],
            queue_at: now,
            last_delay: running.last_delay,
            delays: std::mem::take(&mut running.delays),
            ..Running::default()
        };
        let running = std::mem::replace(running, next);
        let capacity = std::mem::take(&mut rest.capacity);
        // The sampler's sums run over windows.
        rest.sampled.1 -= used;
        rest.sampled.2 -= capacity;
        rest.closed.push(LinkWindow {
            counters: minus(counters, &rest.base),
            capacity,
            used,
            used_by_class: running.used_by_class,
            queue_times: running.queue_times,
            delay_sum: running.delay_sum,
            delay_sum_sq: running.delay_sum_sq,
            jitter_sum: running.jitter_sum,
            delay_bins,
        });
        rest.base = counters.clone();
    }

    /// Takes a sample at `now`.
    pub fn sample(&mut self, now: Time, qdisc: &Discipline, speed: f64, ahead: f64) {
        self.integrate_capacity(speed, now);
        let rest = &mut *self.rest;
        let c = qdisc.counters();
        let sent = self.running.used - ahead;
        let (old, old_sent, old_capacity) = &rest.sampled;
        let s = &mut rest.series;
        s.t.push(now.secs());
        s.queue.push(qdisc.len());
        s.queue_bytes.push(qdisc.bytes());
        s.utilization.push((sent - old_sent) / (rest.capacity - old_capacity));
        s.drops.push((c.dropped() - old.dropped()) as u32);
        s.marks.push((c.marked() - old.marked()) as u32);
        let mut values = Vec::with_capacity(s.probes.len());
        qdisc.probe(now, &mut values);
        for ((_, _, column), value) in s.probes.iter_mut().zip(values) {
            column.push(value);
        }
        rest.sampled = (c.clone(), sent, rest.capacity);
    }

    /// The queueing delays of the current window.
    pub fn delays(&self) -> &DelayBins {
        &self.running.delays
    }

    /// Sum of the queueing delays since the start, s.
    pub fn delay_sum(&self) -> f64 {
        self.rest.closed.iter().map(|window| window.delay_sum).sum::<f64>() + self.running.delay_sum
    }

    /// Work done and capacity since the start, bits or cycles, if the server has this speed and this much `ahead` of it.
    pub fn work(&self, now: Time, speed: f64, ahead: f64) -> (f64, f64) {
        let closed = &self.rest.closed;
        let used = closed.iter().map(|window| window.used).sum::<f64>() + self.running.used - ahead;
        let since = self.rest.capacity + speed * (now - self.rest.capacity_at).secs();
        (used, closed.iter().map(|window| window.capacity).sum::<f64>() + since)
    }

    /// Bytes of the samples.
    pub fn sampled_bytes(&self) -> usize {
        let series = &self.rest.series;
        let each =
            2 * size_of::<f64>() + size_of::<u64>() + 3 * size_of::<u32>() + series.probes.len() * size_of::<f64>();
        series.t.len() * each
    }

    /// The samples since the last call, which are no part of the result then.
    pub fn take_series(&mut self) -> Series {
        let series = &mut self.rest.series;
        let probes = series.probes.iter().map(|&(name, unit, _)| (name, unit, Vec::new())).collect();
        std::mem::replace(series, Series { probes, ..Series::default() })
    }

    /// Returns all measurements.
    pub fn into_result(self, link: usize) -> LinkResult {
        LinkResult { link, windows: self.rest.closed, series: self.rest.series }
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
