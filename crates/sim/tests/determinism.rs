//! A run depends on plan and seed only, and parts of the plan without traffic do not change it.

mod common;

use common::*;
use marqueue_aqm::{catalogue, Signal};
use marqueue_core::params::{ParamValues, Value};
use marqueue_core::{Dur, Time};
use marqueue_sim::plan::*;
use marqueue_sim::result::RunResult;
use marqueue_sim::{digest, Progress, Run};

/// Ten flows of two classes under RED, with a traced bottleneck.
fn plan() -> Plan {
    let red = queue("red", values(&[("min_th", 10.0), ("max_th", 30.0)]), 60, Signal::Ecn);
    let mut plan = Dumbbell {
        rate: 5_000_000,
        access: 100_000_000,
        bottleneck_delay: 5.0,
        destination_delay: 1.0,
        rtts: vec![40.0, 70.0],
        queue: red,
    }
    .plan(10.0);
    plan.transports = vec![ns2("newreno", true)];
    plan.traffic = vec![tcp("near", 0, 5, 1.0), tcp("far", 1, 5, 1.0)];
    let TrafficKind::Tcp { trace, .. } = &mut plan.traffic[0].kind else { unreachable!("tcp() makes TCP") };
    *trace = true;
    plan.links[0].trace = true;
    plan
}

/// A result without what only depends on measurement: windows, samples, counts of events.
fn happened(r: &RunResult) -> String {
    let f = &r.flows;
    let windows = r.edges.len() - 1;
    let delivered: Vec<u64> = f.delivered.chunks(windows).map(|row| row.iter().sum()).collect();
    let columns = (&f.start, &f.end, &f.sent, &f.retransmits, &f.timeouts, &f.ecn_cuts);
    format!("{:?} {columns:?} {delivered:?} {:?}", r.traces[0].1, r.senders)
}

#[test]
fn results_are_equal_for_equal_seeds_only() {
    let mut plan = plan();
    plan.sample = ms(10.0);
    plan.boundaries = vec![secs(2.0)];
    let [a, b, c] = [1, 1, 2].map(|seed| format!("{:?}", go(&plan, seed)));
    assert!(a == b, "one seed, two results");
    assert!(a != c, "the seed has no effect");
}

#[test]
fn a_run_in_steps_is_the_whole_run() {
    let mut plan = plan();
    plan.sample = ms(10.0);
    let mut run = Run::new(&plan, 1).expect("the plan is valid");
    for step in 1u64.. {
        // By time, and now and then by a number of events, which may end within an instant.
        let until = Time(step * 37_000_000);
        match run.advance_until(until, if step.is_multiple_of(3) { 50 } else { u32::MAX }) {
            Progress::Ended => break,
            Progress::Reached => assert!(run.now() <= until),
            Progress::Spent => assert!(run.now() <= until && step.is_multiple_of(3)),
        }
        assert!(run.flow(9).is_some_and(|(_, delivered)| delivered < 10_000_000));
        assert!(run.flow(10).is_none());
    }
    assert_eq!(run.advance_until(Time::NEVER, 1), Progress::Ended);
    assert_eq!(digest(&run.finish()), digest(&go(&plan, 1)));
}

/// Adds an unused link whose queue has timers and random draws.
fn unused_link(plan: &mut Plan) {
    plan.links.push(link("unused", 1_000_000, ms(3.0), Some(queue("pi", ParamValues::new(), 50, Signal::Ecn))));
}

fn unused_route(plan: &mut Plan) {
    unused_link(plan);
    let l = plan.links.len() - 1;
    plan.routes.push(RoutePlan { forward: vec![l, 0], reverse: vec![1] });
}

fn late_flows(plan: &mut Plan) {
    let mut late = tcp("late", 1, 3, 0.0);
    let TrafficKind::Tcp { start, .. } = &mut late.kind else { unreachable!("tcp() makes TCP") };
    *start = secs(11.0);
    plan.traffic.push(late);
}

fn late_process(plan: &mut Plan) {
    let kind = TrafficKind::Poisson {
        transport: 0,
        routes: vec![0, 1],
        weights: Vec::new(),
        rate: 10.0,
        start: secs(11.0),
        stop: secs(12.0),
        size: 5,
        law: FlowSizes::Constant,
    };
    plan.traffic.push(TrafficPlan { name: "late process".into(), dscp: 0, class: 0, kind });
}

/// Adds a host that could send into the return path. Arrivals there then need events, while before they were computed
/// when packets left the bottleneck.
fn host_on_the_return_path(plan: &mut Plan) {
    plan.routes.push(RoutePlan { forward: vec![1], reverse: vec![] });
}

/// Adds flows on other links.
fn flows_elsewhere(plan: &mut Plan) {
    unused_link(plan);
    plan.links.push(link("unused back", 1_000_000, ms(3.0), None));
    let l = plan.links.len();
    plan.routes.push(RoutePlan { forward: vec![l - 2], reverse: vec![l - 1] });
    plan.traffic.push(tcp("elsewhere", plan.routes.len() - 1, 2, 1.0));
}

#[test]
fn parts_without_traffic_change_nothing() {
    let alone = happened(&go(&plan(), 1));
    type Addition = fn(&mut Plan);
    let idle: [(&str, Addition); 5] = [
        ("an unused link", unused_link),
        ("an unused route", unused_route),
        ("a host on the way back", host_on_the_return_path),
        ("flows after the end", late_flows),
        ("a process after the end", late_process),
    ];
    for (what, add) in idle {
        let mut plan = plan();
        add(&mut plan);
        let mut beside = go(&plan, 1);
        let late = beside.flows.group.iter().filter(|&&g| g > 1).count();
        for column in [&mut beside.flows.start, &mut beside.flows.end] {
            column.truncate(column.len() - late);
        }
        for column in [&mut beside.flows.sent, &mut beside.flows.retransmits, &mut beside.flows.delivered] {
            column.truncate(column.len() - late);
        }
        for column in [&mut beside.flows.timeouts, &mut beside.flows.ecn_cuts] {
            column.truncate(column.len() - late);
        }
        assert!(happened(&beside) == alone, "{what} changes what others do");
    }
}

#[test]
fn flows_on_other_links_change_no_packet() {
    let alone = go(&plan(), 1);
    let mut with = plan();
    flows_elsewhere(&mut with);
    let beside = go(&with, 1);
    let trace = |r: &RunResult| format!("{:?} {:?}", r.traces, r.senders);
    assert!(trace(&alone) == trace(&beside));
    assert!(beside.links[1].windows[0].counters.departures > 500, "they do send");
}

#[test]
fn the_order_of_links_in_the_plan_does_not_matter() {
    let forward = plan();
    let n = forward.links.len();
    let mut backward = plan();
    backward.links.reverse();
    for route in &mut backward.routes {
        for l in route.forward.iter_mut().chain(&mut route.reverse) {
            *l = n - 1 - *l;
        }
    }
    assert!(happened(&go(&forward, 1)) == happened(&go(&backward, 1)));
}

#[test]
fn tracing_more_links_changes_nothing() {
    for delayed_ack in [0.0, 0.1] {
        let mut some = plan();
        let params = [
            ("recovery", Value::Choice("sack".into())),
            ("ecn", Value::Flag(true)),
            ("delayed_ack", Value::Number(delayed_ack)),
        ];
        let params = params.map(|(name, value)| (name.to_string(), value)).into();
        some.transports = vec![TransportPlan { preset: "rfc".into(), params, stack: None }];
        let mut all = some.clone();
        all.links.iter_mut().for_each(|l| l.trace = true);
        let (some, all) = (go(&some, 1), go(&all, 1));
        assert!(happened(&some) == happened(&all));
        assert_eq!(all.traces.len(), 10, "the bottleneck, four access links, and the ways back");
        assert!(all.events > some.events, "wires must have become queues");
        assert!(all.traces.iter().all(|(_, t)| t.rows.len() > 500));
    }
}

#[test]
fn measuring_changes_nothing() {
    for entry in catalogue() {
        let mut unseen = plan();
        unseen.links[0].queue = Some(queue(entry.name, ParamValues::new(), 60, Signal::Ecn));
        let expected = happened(&go(&unseen, 1));
        for (step, edges) in
            [(Dur(1_000_003), vec![]), (ms(0.8), vec![secs(1.0), secs(1.0000001)]), (ms(700.0), vec![Time(1)])]
        {
            let mut seen = unseen.clone();
            seen.sample = step;
            seen.boundaries = edges;
            assert!(happened(&go(&seen, 1)) == expected, "{} sampled every {step:?}", entry.name);
        }
    }
}

/// The acknowledgement of the second flow overtakes that of the first before the merged wire. No other packet follows,
/// so only the event of the wire can release it.
#[test]
fn a_packet_that_overtakes_enters_a_merged_wire_in_time() {
    let mut merged = plan();
    let (source, destination, source_back) = (2, 3, 9);
    merged.links[destination].delay = ms(9.0);
    merged.links[6].delay = merged.links[source].delay;
    merged.links[1].delay = Dur::ZERO;
    merged.links[source_back].delay = Dur::ZERO;
    merged.traffic = vec![tcp("first", 0, 1, 0.0), tcp("second", 1, 1, 0.0)];
    for (traffic, at) in merged.traffic.iter_mut().zip([Time::ZERO, secs(0.001)]) {
        let TrafficKind::Tcp { start, size, .. } = &mut traffic.kind else { unreachable!("tcp() makes TCP") };
        (*start, *size) = (at, Some(1));
    }
    let mut by_events = merged.clone();
    host_on_the_return_path(&mut by_events);
    let (a, b) = (go(&merged, 1), go(&by_events, 1));
    assert!(a.flows.end[1] < a.flows.end[0]);
    assert!(happened(&a) == happened(&b));
}
