//! Measuring changes nothing: flows and queues are the same with and without windows, samples and traces.
#![no_main]

use arbitrary::Unstructured;
use libfuzzer_sys::fuzz_target;
use marqueue_core::Dur;
use marqueue_fuzz::plan::{plan, shortened};
use marqueue_sim::plan::{Plan, TrafficKind};
use marqueue_sim::result::{FlowTable, LinkWindow, RunResult};
use marqueue_sim::{run, Control, RunError};

/// Longer runs are left out.
const MAX_EVENTS: u64 = 1 << 14;

/// The plan without anything that only measures.
fn unmeasured(mut plan: Plan) -> Plan {
    plan.boundaries.clear();
    plan.sample = Dur::ZERO;
    plan.links.iter_mut().for_each(|link| link.trace = false);
    for group in &mut plan.traffic {
        match &mut group.kind {
            TrafficKind::Tcp { trace, sample_cwnd, .. } => (*trace, *sample_cwnd) = (false, false),
            TrafficKind::Paced { trace, .. } => *trace = false,
            _ => {}
        }
    }
    plan
}

fn result(plan: &Plan, seed: u64) -> Option<RunResult> {
    match run(plan, seed, &Control::with_max_events(Some(MAX_EVENTS))) {
        Ok(result) if result.events < MAX_EVENTS => Some(result),
        Ok(_) | Err(RunError::TraceFull { .. }) => None,
        Err(e) => panic!("the plan has passed the check: {e}"),
    }
}

/// Payload bytes delivered of each flow.
fn delivered(flows: &FlowTable) -> Vec<u64> {
    flows.delivered.chunks(flows.windows().max(1)).map(|windows| windows.iter().sum()).collect()
}

/// Packets that arrived at a link, were dropped there and were marked.
fn counts(windows: &[LinkWindow]) -> [u64; 3] {
    windows.iter().fold([0; 3], |[arrivals, dropped, marked], LinkWindow { counters, .. }| {
        [arrivals + counters.arrivals, dropped + counters.dropped(), marked + counters.marks.iter().sum::<u64>()]
    })
}

fn compare(plan: Plan, seed: u64) {
    let Some(measured) = result(&plan, seed) else { return };
    let Some(unmeasured) = result(&unmeasured(plan), seed) else { return };
    let (a, b) = (&measured.flows, &unmeasured.flows);
    assert_eq!(a.end, b.end);
    assert_eq!(a.sent, b.sent);
    assert_eq!(a.retransmits, b.retransmits);
    assert_eq!(a.timeouts, b.timeouts);
    assert_eq!(a.ecn_cuts, b.ecn_cuts);
    assert_eq!(delivered(a), delivered(b));
    // A wire that is traced has a queue.
    for link in &unmeasured.links {
        let other = measured.links.iter().find(|other| other.link == link.link).expect("it has the same queues");
        assert_eq!(counts(&link.windows), counts(&other.windows), "links[{}]", link.link);
    }
}

fuzz_target!(|data: &[u8]| {
    if let Some(plan) = plan(&mut Unstructured::new(data)).ok().and_then(shortened) {
        compare(plan, data.len() as u64);
    }
});
