//! Rows of flows that leave a run are those of the table that it has otherwise.

mod common;

use common::*;
use marqueue_aqm::Signal;
use marqueue_core::params::ParamValues;
use marqueue_core::Time;
use marqueue_sim::plan::*;
use marqueue_sim::result::FlowTable;
use marqueue_sim::{digest, run, run_on, threads_for, Control, FlowSink, RunError};
use std::sync::{Arc, Mutex};

/// Rows of which some are in memory longer than 2^18 others.
const FLOWS: f64 = 350_000.0;

/// Keeps what it gets.
#[derive(Debug, Default)]
struct Kept {
    table: Mutex<FlowTable>,
    /// Rows that were replaced.
    replaced: Mutex<Vec<u32>>,
    /// Refuses everything.
    fails: bool,
}

impl FlowSink for Kept {
    fn append(&self, table: &FlowTable) {
        let mut kept = self.table.lock().expect("no thread has panicked");
        kept.group.extend(&table.group);
        kept.route.extend(&table.route);
        kept.start.extend(&table.start);
        kept.end.extend(&table.end);
        kept.size.extend(&table.size);
        kept.delivered.extend(&table.delivered);
        kept.sent.extend(&table.sent);
        kept.retransmits.extend(&table.retransmits);
        kept.timeouts.extend(&table.timeouts);
        kept.ecn_cuts.extend(&table.ecn_cuts);
        kept.propagation.extend(&table.propagation);
    }

    fn replace_sent(&self, row: u32, table: &FlowTable, at: usize) {
        self.table.lock().expect("no thread has panicked").copy_sent(row as usize, table, at);
        self.replaced.lock().expect("no thread has panicked").push(row);
    }

    fn replace_delivered(&self, row: u32, table: &FlowTable, at: usize) {
        self.table.lock().expect("no thread has panicked").copy_delivered(row as usize, table, at);
    }

    fn has_failed(&self) -> bool {
        self.fails && !self.table.lock().expect("no thread has panicked").is_empty()
    }
}

/// Short flows that arrive, long ones that do not end, and three that end late.
fn plan() -> Plan {
    let queue = queue("red", ParamValues::new(), 100, Signal::Drop);
    let rtts = vec![40.0, 90.0];
    let setup = Dumbbell {
        rate: 450_000_000,
        access: 10_000_000_000,
        bottleneck_delay: 5.0,
        destination_delay: 5.0,
        rtts,
        queue,
    };
    let mut plan = setup.plan(8.0);
    plan.boundaries = vec![secs(2.0), secs(6.0)];
    plan.transports = vec![ns2("newreno", false)];
    let mut late = tcp("late", 1, 3, 0.0);
    if let TrafficKind::Tcp { size, start, .. } = &mut late.kind {
        (*size, *start) = (Some(60), secs(6.0));
    }
    let mut stopped = tcp("stopped", 0, 2, 0.5);
    if let TrafficKind::Tcp { stop, .. } = &mut stopped.kind {
        *stop = Some(secs(7.0));
    }
    let short = TrafficKind::Poisson {
        transport: 0,
        routes: vec![0, 1],
        weights: vec![],
        rate: FLOWS / 8.0,
        start: Time::ZERO,
        stop: plan.duration,
        size: 1,
        law: FlowSizes::default(),
    };
    let short = TrafficPlan { name: "short".into(), dscp: 0, class: 0, kind: short };
    plan.traffic = vec![tcp("long", 0, 20, 0.5), stopped, short, late];
    plan
}

#[test]
fn rows_that_leave_are_those_of_the_table() {
    let (plan, sink) = (plan(), Arc::new(Kept::default()));
    let table = go(&plan, 1).flows;
    assert!(table.len() as f64 > 0.9 * FLOWS);
    let result = run(&plan, 1, &Control::default().with_flow_sink(sink.clone())).expect("the plan is valid");
    assert!(result.flows.is_empty());
    let kept = sink.table.lock().expect("no thread has panicked");
    assert!(*kept == table);
    let replaced = sink.replaced.lock().expect("no thread has panicked");
    assert!(replaced[0] >= 22, "a flow that ends late is handed over when it ends");
    assert!((25..2000).contains(&replaced.len()), "{} rows were replaced", replaced.len());
}

/// Senders and receivers are in different parts, which get there at different times.
#[test]
fn rows_that_leave_several_threads_are_those_of_one() {
    let (mut plan, sink) = (plan(), Arc::new(Kept::default()));
    if let TrafficKind::Tcp { trace, .. } = &mut plan.traffic[0].kind {
        *trace = true;
    }
    let alone = run(&plan, 1, &Control::default().with_flow_sink(sink.clone())).expect("the plan is valid");
    for threads in [2, 3] {
        assert_eq!(threads_for(&plan, threads).expect("the plan is valid"), (threads, None));
        let theirs = Arc::new(Kept::default());
        let control = Control::default().with_flow_sink(theirs.clone());
        assert_eq!(digest(&run_on(&plan, 1, &control, threads).expect("the plan is valid")), digest(&alone));
        let [kept, theirs] = [&sink, &theirs].map(|kept| kept.table.lock().expect("no thread has panicked"));
        assert!(*theirs == *kept);
    }
}

#[test]
fn a_run_that_is_cut_off_hands_over_what_it_has() {
    let (plan, sink) = (plan(), Arc::new(Kept::default()));
    // After the first rows have left.
    let events = 9 * go(&plan, 1).events / 10;
    let table = run(&plan, 1, &Control::with_max_events(Some(events))).expect("the plan is valid").flows;
    let control = Control::with_max_events(Some(events)).with_flow_sink(sink.clone());
    assert!(run(&plan, 1, &control).expect("the plan is valid").flows.is_empty());
    assert!(*sink.table.lock().expect("no thread has panicked") == table);
}

#[test]
fn the_rows_of_few_flows_stay() {
    let (mut plan, sink) = (plan(), Arc::new(Kept::default()));
    plan.boundaries.clear();
    plan.duration = secs(1.0);
    let result = run(&plan, 1, &Control::default().with_flow_sink(sink.clone())).expect("the plan is valid");
    assert!(result.flows == go(&plan, 1).flows);
    assert!(sink.table.lock().expect("no thread has panicked").is_empty());
}

#[test]
fn a_run_whose_rows_cannot_be_handed_over_has_no_result() {
    let sink = Arc::new(Kept { fails: true, ..Kept::default() });
    let control = Control::default().with_flow_sink(sink);
    assert_eq!(run(&plan(), 1, &control).expect_err("the sink has failed"), RunError::FlowSinkFailed);
    assert_eq!(run_on(&plan(), 1, &control, 2).expect_err("the sink has failed"), RunError::FlowSinkFailed);
    assert!(control.done_secs() < 6.0, "it ends at once");
}
