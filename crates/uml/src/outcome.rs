//! The result of a run with kernels: that of the simulator, with what the guests reported of their senders.

use crate::network::GuestNetwork;
use crate::telemetry::FlowReport;
use marqueue_core::Time;
use marqueue_sim::external::ExternalFlow;
use marqueue_sim::plan::{Plan, TrafficKind};
use marqueue_sim::result::{CwndResult, RunResult, SenderTrace};
use std::collections::BTreeMap;

/// The result of a run that has ended or was cut off.
pub fn result(mut network: GuestNetwork, plan: &Plan) -> RunResult {
    let flows: Vec<(ExternalFlow, FlowReport)> =
        network.flows().map(|(flow, report)| (*flow, report.clone())).collect();
    let engine = network.run.engine();
    for (flow, report) in &flows {
        let timeouts = report.samples.iter().rev().find_map(|(_, info)| info.timeouts);
        engine.external_counts(flow.slot).timeouts = u32::from(timeouts.unwrap_or(0));
        if let Some(at) = report.completed.filter(|&at| at <= plan.duration) {
            engine.complete(flow.slot, at);
        }
    }
    let queue_reports = network.queue_reports();
    let mut result = network.run.finish();
    result.queue_reports = queue_reports;
    let traced = flows.iter().filter(|(flow, _)| flow.trace);
    result.senders.extend(traced.map(|(flow, report)| trace(flow, report, result.ended)));
    result.senders.sort_by_key(|trace| trace.flow);
    for (group, traffic) in plan.traffic.iter().enumerate() {
        let samples = matches!(traffic.kind, TrafficKind::Tcp { sample_cwnd: true, .. });
        let members: Vec<&FlowReport> =
            flows.iter().filter(|(flow, _)| flow.group as usize == group).map(|(_, report)| report).collect();
        if samples && !members.is_empty() {
            result.cwnds.push(windows(group, &members, plan, &result.edges, result.ended));
        }
    }
    result.cwnds.sort_by_key(|cwnds| cwnds.group);
    result
}

/// The trace of a sender: a row at every sample that differs from the one before.
fn trace(flow: &ExternalFlow, report: &FlowReport, ended: Time) -> SenderTrace {
    let mut rows = Vec::new();
    for (at, info) in report.samples.iter().filter(|(at, _)| *at <= ended) {
        if rows.last().is_none_or(|&(_, last)| last != info.sender) {
            rows.push((*at, info.sender));
        }
    }
    SenderTrace { flow: flow.row, rows, models: Vec::new() }
}

/// The windows of a group at the sampling instants of the plan. A flow that is not connected has a window of 0.
fn windows(group: usize, flows: &[&FlowReport], plan: &Plan, edges: &[Time], ended: Time) -> CwndResult {
    let mut result = CwndResult::empty(group);
    let instants: Vec<Time> =
        (1..).map(|k| Time(k * plan.sample.0)).take_while(|&at| at <= ended && at <= plan.duration).collect();
    let columns: Vec<Vec<f64>> = flows.iter().map(|flow| at_instants(flow, &instants)).collect();
    result.t = instants.iter().map(|at| at.secs()).collect();
    result.sum = (0..instants.len()).map(|i| columns.iter().map(|column| column[i]).sum()).collect();
    for window in edges.windows(2).filter(|window| window[0] < ended) {
        // A sample at an edge belongs to the window that ends there.
        let (from, to) =
            (instants.partition_point(|&at| at <= window[0]), instants.partition_point(|&at| at <= window[1]));
        result.variances.push(columns.iter().map(|column| variance(&column[from..to])).sum());
    }
    result
}

/// The window of a flow at each of these times; 0 where it reported none.
fn at_instants(flow: &FlowReport, instants: &[Time]) -> Vec<f64> {
    // At the instant at which a flow connects or ends it may report twice; either is its window then.
    let windows: BTreeMap<Time, f64> = flow.samples.iter().map(|(at, info)| (*at, info.sender.cwnd)).collect();
    instants.iter().map(|at| windows.get(at).copied().unwrap_or(0.0)).collect()
}

/// NaN without values.
fn variance(values: &[f64]) -> f64 {
    let n = values.len() as f64;
    let (sum, squares) = values.iter().fold((0.0, 0.0), |(s, q), x| (s + x, q + x * x));
    (squares - sum * sum / n) / n
}
