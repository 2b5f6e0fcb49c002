//! What is seen of a run while it goes on, from one call to the next.

use marqueue_aqm::Qdisc;
use marqueue_core::{Dur, Time};
use marqueue_sim::result::Series;
use marqueue_sim::trace::{TraceKind, TraceRow};
use marqueue_sim::Run;

/// The samples of one measured link.
#[derive(Debug)]
pub struct LinkSamples {
    link: usize,
    /// Mean queueing delay since the previous sample, s; NaN without departures.
    sojourn: Vec<f64>,
    /// Sum of the delays and departures until the last sample.
    seen: (f64, u64),
}

impl LinkSamples {
    /// No samples of a link yet.
    pub fn new(link: usize) -> LinkSamples {
        LinkSamples { link, sojourn: Vec::new(), seen: (0.0, 0) }
    }

    /// Takes a sample at the instant at which the engine has just taken one.
    pub fn take(&mut self, run: &mut Run) {
        let Some(resource) = run.queue(self.link) else { return };
        let (sum, departures) = (resource.meter.delay_sum(), resource.qdisc.counters().departures);
        let (old_sum, old_departures) = std::mem::replace(&mut self.seen, (sum, departures));
        self.sojourn.push((sum - old_sum) / (departures - old_departures) as f64);
    }

    /// Columns of equal length, one after the other: t, queue, sojourn, drops, marks, utilization, then the probes.
    pub fn columns(&mut self, run: &mut Run) -> Vec<f64> {
        let Some(resource) = run.queue(self.link) else { return Vec::new() };
        let Series { t, queue, utilization, drops, marks, probes, .. } = resource.meter.take_series();
        let whole = |column: Vec<u32>| column.into_iter().map(f64::from);
        let mut all = t;
        all.extend(whole(queue));
        all.append(&mut self.sojourn);
        all.extend(whole(drops));
        all.extend(whole(marks));
        all.extend(utilization);
        probes.into_iter().for_each(|(_, _, values)| all.extend(values));
        all
    }
}

/// The samples of chosen flows.
#[derive(Debug)]
pub struct FlowSamples {
    rows: Vec<u32>,
    t: Vec<f64>,
    /// For each flow: windows in packets, rates in bit/s, bytes delivered until the last sample.
    flows: Vec<(Vec<f64>, Vec<f64>, u64)>,
    last: Time,
}

impl FlowSamples {
    /// No samples of the flows with these rows yet.
    pub fn new(rows: Vec<u32>) -> FlowSamples {
        let flows = rows.iter().map(|_| (Vec::new(), Vec::new(), 0)).collect();
        FlowSamples { rows, t: Vec::new(), flows, last: Time::ZERO }
    }

    /// Takes a sample at `now`.
    pub fn take(&mut self, run: &Run, now: Time) {
        let elapsed: Dur = now - self.last;
        self.t.push(now.secs());
        for (&row, (windows, rates, seen)) in self.rows.iter().zip(&mut self.flows) {
            let (cwnd, delivered) = run.flow(row).unwrap_or((None, 0));
            windows.push(cwnd.unwrap_or(f64::NAN));
            rates.push((delivered - *seen) as f64 * 8.0 / elapsed.secs());
            *seen = delivered;
        }
        self.last = now;
    }

    /// Columns of equal length, one after the other: t, then window and rate of each flow.
    pub fn columns(&mut self) -> Vec<f64> {
        let mut all = std::mem::take(&mut self.t);
        for (windows, rates, _) in &mut self.flows {
            all.append(windows);
            all.append(rates);
        }
        all
    }
}

/// What happened to packets at the traced link.
#[derive(Debug, Default)]
pub struct PacketEvents {
    rows: Vec<TraceRow>,
    missed: u32,
}

impl PacketEvents {
    /// Takes what is new, up to `most` rows between two calls of [`PacketEvents::clear`]. The others are counted.
    pub fn take(&mut self, run: &mut Run, link: usize, most: usize) {
        let Some(trace) = run.queue(link).and_then(|resource| resource.trace.as_mut()) else { return };
        let new = trace.take_rows();
        let kept = new.len().min(most.saturating_sub(self.rows.len()));
        self.missed += (new.len() - kept) as u32;
        self.rows.extend(&new[..kept]);
    }

    /// Times, s.
    pub fn times(&self) -> Vec<f64> {
        self.rows.iter().map(|row| row.t.secs()).collect()
    }

    /// Rows of the flow table.
    pub fn flows(&self) -> Vec<i32> {
        self.rows.iter().map(|row| row.packet.flow() as i32).collect()
    }

    /// 0 enqueued, 1 dequeued, 2 dropped, 3 marked.
    pub fn kinds(&self) -> Vec<u8> {
        let kind = |row: &TraceRow| match row.kind {
            TraceKind::Arrive => 0,
            TraceKind::Depart => 1,
            TraceKind::Drop => 2,
            TraceKind::Mark => 3,
        };
        self.rows.iter().map(kind).collect()
    }

    /// Forgets all rows; returns the number of those that were left out.
    pub fn clear(&mut self) -> u32 {
        self.rows.clear();
        std::mem::take(&mut self.missed)
    }
}
