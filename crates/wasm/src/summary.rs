//! The figures of a run.

use marqueue_core::{Dur, Time};
use marqueue_sim::plan::Plan;
use marqueue_sim::result::{FlowTable, LinkResult, LinkWindow, RunResult};
use serde_json::{json, Value};
use std::collections::BTreeMap;

/// The figures of the measuring windows that begin at `from` or later. If none does, those of all windows.
pub fn summary(plan: &Plan, result: &RunResult, from: Time) -> Value {
    let begun = result.edges.iter().filter(|&&edge| edge < result.ended).count();
    let first = result.edges[..begun].iter().position(|&edge| edge >= from).unwrap_or(0);
    let seconds = (result.ended - result.edges[first]).secs();
    let groups = (0..plan.traffic.len()).map(|g| group(plan, &result.flows, g, result.edges.len() - 1, first, seconds));
    json!({
        "ended": result.ended.secs(),
        "measuredFrom": result.edges[first].secs(),
        "events": result.events,
        "links": result.links.iter().map(|l| link(plan, l, first)).collect::<Vec<_>>(),
        "groups": groups.collect::<Vec<_>>(),
    })
}

fn link(plan: &Plan, link: &LinkResult, first: usize) -> Value {
    let windows = link.windows.get(first..).unwrap_or(&[]);
    let sum = |of: &dyn Fn(&LinkWindow) -> f64| windows.iter().map(of).sum::<f64>();
    let arrivals = sum(&|w| w.counters.arrivals as f64);
    json!({
        "index": link.link,
        "name": plan.links[link.link].name,
        "utilization": sum(&|w| w.used) / sum(&|w| w.capacity),
        "queueMean": sum(&|w| w.queue_times.area()) / sum(&|w| w.queue_times.total() as f64),
        "delayMean": sum(&|w| w.delay_sum) / sum(&|w| w.counters.departures as f64),
        "delayP99": quantile(windows, 0.99),
        "dropped": sum(&|w| w.counters.dropped() as f64) / arrivals,
        "marked": sum(&|w| w.counters.marked() as f64) / arrivals,
    })
}

/// The upper edge, in seconds, of the bin that has the quantile of the queueing delay.
fn quantile(windows: &[LinkWindow], share: f64) -> Option<f64> {
    let mut bins = BTreeMap::new();
    for &(edge, count) in windows.iter().flat_map(|w| &w.delay_bins) {
        *bins.entry(edge).or_insert(0u64) += count;
    }
    let wanted = share * bins.values().sum::<u64>() as f64;
    let mut below = 0;
    bins.into_iter().find_map(|(edge, count)| {
        below += count;
        (below as f64 >= wanted).then_some(Dur(edge).secs())
    })
}

fn group(plan: &Plan, flows: &FlowTable, group: usize, windows: usize, first: usize, seconds: f64) -> Value {
    let rows: Vec<usize> = (0..flows.group.len()).filter(|&row| flows.group[row] as usize == group).collect();
    let delivered = |&row: &usize| flows.delivered[row * windows..][first..windows].iter().sum::<u64>() as f64;
    let goodputs: Vec<f64> = rows.iter().map(delivered).map(|bytes| bytes * 8.0 / seconds).collect();
    let (sum, squares) = goodputs.iter().fold((0.0, 0.0), |(s, q), x| (s + x, q + x * x));
    json!({
        "index": group,
        "name": plan.traffic[group].name,
        "flows": rows.len(),
        "goodput": sum,
        "retransmits": rows.iter().map(|&row| flows.retransmits[row]).sum::<u64>(),
        "timeouts": rows.iter().map(|&row| u64::from(flows.timeouts[row])).sum::<u64>(),
        "jain": sum * sum / (goodputs.len() as f64 * squares),
    })
}
