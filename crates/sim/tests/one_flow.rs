//! Compares losses, marks and window cuts of one flow over a 10 Mbit/s, 104 ms bottleneck with ns-2.35.
//!
//! Droptail must agree packet for packet and to the digits that ns-2 prints. RED has different random numbers, and AVQ
//! follows its paper, while ns-2.35 caps the virtual capacity a step later (see `avq.rs`). For these two, losses must
//! agree packet for packet, and marks and cuts within a fraction of a round trip. docs/validation.md has the figures.

mod common;

use common::*;
use marqueue_aqm::Signal;
use marqueue_core::params::{ParamValues, Value};
use marqueue_sim::plan::{Plan, QueuePlan, TrafficKind};
use marqueue_sim::trace::TraceKind;
use serde::Deserialize;
use std::collections::BTreeMap;

/// Made by `python -m benches.reference`.
const REFERENCE: &str = include_str!("../../../tests/reference/ns2/one_flow.json");

/// Losses or marks that are further apart than this belong to different bursts, s.
const APART: f64 = 0.5;

/// The events of the flow. Times are in seconds.
#[derive(Debug, Deserialize)]
struct Events {
    arrivals: u64,
    departures: u64,
    /// The start of each burst of losses, and its number of packets.
    drops: Vec<(f64, u32)>,
    /// The same for marks.
    marks: Vec<(f64, u32)>,
    /// Time, old and new window of each cut.
    cuts: Vec<(f64, f64, f64)>,
}

fn ns2_events(case: &str) -> Events {
    let mut cases: BTreeMap<String, serde_json::Value> = serde_json::from_str(REFERENCE).expect("it is JSON");
    serde_json::from_value(cases.remove(case).expect("the case is in the reference")).expect("it has all events")
}

/// The plan of `benches/reference.py` with this recovery and queue.
fn plan(recovery: &str, queue: QueuePlan, ecn: bool) -> Plan {
    let mut plan = Dumbbell {
        rate: 10_000_000,
        access: 100_000_000,
        bottleneck_delay: 50.0,
        destination_delay: 1.0,
        rtts: vec![104.0],
        queue,
    }
    .plan(30.0);
    plan.transports = vec![ns2(recovery, ecn)];
    plan.traffic = vec![tcp("one", 0, 1, 0.0)];
    let TrafficKind::Tcp { trace, .. } = &mut plan.traffic[0].kind else { unreachable!("tcp() makes TCP") };
    *trace = true;
    plan.links[0].trace = true;
    plan
}

fn events(plan: &Plan) -> Events {
    let result = go(plan, 1);
    let counters = &result.links[0].windows[0].counters;
    let (_, trace) = &result.traces[0];
    let bursts = |kind| {
        let mut bursts: Vec<(f64, u32)> = Vec::new();
        let mut last = f64::NEG_INFINITY;
        for t in trace.rows.iter().filter(|row| row.kind == kind).map(|row| row.t.secs()) {
            match bursts.last_mut() {
                Some(burst) if t - last <= APART => burst.1 += 1,
                _ => bursts.push((t, 1)),
            }
            last = t;
        }
        bursts
    };
    let rows = &result.senders[0].rows;
    let cuts = rows
        .windows(2)
        .filter(|w| w[1].1.cwnd < w[0].1.cwnd)
        .map(|w| (w[1].0.secs(), w[0].1.cwnd, w[1].1.cwnd))
        .collect();
    Events {
        arrivals: counters.arrivals,
        departures: counters.departures,
        drops: bursts(TraceKind::Drop),
        marks: bursts(TraceKind::Mark),
        cuts,
    }
}

/// Asserts that bursts are within `within` seconds and `more_or_less` packets of ns-2's.
fn assert_bursts(case: &str, got: &[(f64, u32)], expected: &[(f64, u32)], within: f64, more_or_less: u32) {
    assert_eq!(got.len(), expected.len(), "{case}: {got:?} {expected:?}");
    for (g, e) in got.iter().zip(expected) {
        assert!((g.0 - e.0).abs() <= within && g.1.abs_diff(e.1) <= more_or_less, "{case}: {g:?} {e:?}");
    }
}

/// Asserts that cuts are within `within` seconds and `segments` segments of ns-2's.
fn assert_cuts(case: &str, got: &Events, expected: &Events, within: f64, segments: f64) {
    assert_eq!(got.cuts.len(), expected.cuts.len(), "{case}: {got:?} {expected:?}");
    for (g, e) in got.cuts.iter().zip(&expected.cuts) {
        let near = |x: f64, y: f64| (x - y).abs() <= segments;
        assert!((g.0 - e.0).abs() <= within && near(g.1, e.1) && near(g.2, e.2), "{case}: {g:?} {e:?}");
    }
}

/// ns-2 prints six digits of the times in packet traces, five decimals of those in window traces
/// and three of windows.
const PRINTED: f64 = 1.1e-5;

/// Asserts equal losses, and marks and cuts within a fraction of a round trip, in which the window grows by one
/// segment.
fn assert_alike(case: &str, plan: &Plan) {
    let (got, expected) = (events(plan), ns2_events(case));
    assert_bursts(case, &got.drops, &expected.drops, PRINTED, 0);
    assert_bursts(case, &got.marks, &expected.marks, 0.04, 1);
    assert_cuts(case, &got, &expected, 0.04, 0.4);
    let apart = got.departures as f64 / expected.departures as f64 - 1.0;
    assert!(apart.abs() < 0.001, "{case}: {apart}");
}

#[test]
fn droptail_equals_ns2_packet_for_packet() {
    for recovery in ["reno", "newreno", "sack"] {
        // ns-2's DropTail holds one packet less than its limit of 30.
        let queue = queue("droptail", ParamValues::new(), 29, Signal::Drop);
        let case = format!("{recovery}, droptail");
        let (got, expected) = (events(&plan(recovery, queue, false)), ns2_events(&case));
        assert_eq!((got.arrivals, got.departures), (expected.arrivals, expected.departures), "{case}");
        assert_bursts(&case, &got.drops, &expected.drops, PRINTED, 0);
        assert_cuts(&case, &got, &expected, PRINTED, 0.001);
    }
}

#[test]
fn avq_equals_ns2_apart_from_the_cap() {
    for recovery in ["reno", "newreno", "sack"] {
        let mut params = values(&[("initial", 0.8)]);
        params.insert("mode".into(), Value::Choice("packets".into()));
        let queue = queue("avq", params, 30, Signal::EcnOnly);
        assert_alike(&format!("{recovery}, avq"), &plan(recovery, queue, true));
    }
}

#[test]
fn red_equals_ns2_apart_from_its_draws() {
    for recovery in ["reno", "newreno", "sack"] {
        let params = values(&[("min_th", 5.0), ("max_th", 15.0), ("w_q", 0.002)]);
        let queue = queue("red", params, 30, Signal::Ecn);
        assert_alike(&format!("{recovery}, red"), &plan(recovery, queue, true));
    }
}
