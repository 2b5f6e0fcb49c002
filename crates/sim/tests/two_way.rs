//! Tests of data in both directions: acknowledgements wait among data packets and arrive in bursts.
//!
//! Zhang, Shenker and Clark, "Observations on the dynamics of a congestion control algorithm: the effects
//! of two-way traffic", SIGCOMM 1991: acknowledgements that queue behind data of the other direction leave at gaps
//! of their own transmission time (ACK compression). The data that they trigger in bursts fills the other buffer while
//! this line is idle, so neither line is fully used.

mod common;

use common::*;
use marqueue_aqm::Signal;
use marqueue_core::params::ParamValues;
use marqueue_sim::plan::*;
use marqueue_sim::result::RunResult;
use marqueue_sim::trace::TraceKind;

/// Transmission time of a data packet of 1000 bytes on a bottleneck of 5 Mbit/s, s.
const DATA: f64 = 0.0016;

/// One flow in each direction, or only the first one, over queues of 20 packets.
fn flows(each_way: bool) -> RunResult {
    let droptail = || queue("droptail", ParamValues::new(), 20, Signal::Drop);
    let mut plan = Dumbbell {
        rate: 5_000_000,
        access: 100_000_000,
        bottleneck_delay: 2.0,
        destination_delay: 1.0,
        rtts: vec![10.0],
        queue: droptail(),
    }
    .plan(300.0);
    plan.boundaries = vec![secs(50.0)];
    plan.links[1].queue = Some(droptail());
    plan.links[1].trace = true;
    plan.transports = vec![ns2("newreno", false)];
    plan.traffic = vec![tcp("there", 0, 1, 1.0)];
    if each_way {
        let RoutePlan { forward, reverse } = plan.routes[0].clone();
        plan.routes.push(RoutePlan { forward: reverse, reverse: forward });
        plan.traffic.push(tcp("back", 1, 1, 1.0));
    }
    go(&plan, 1)
}

/// Gaps between the acknowledgements of the first flow at the end of the return path, s.
fn gaps(r: &RunResult) -> Vec<f64> {
    let (_, trace) = r.traces.iter().find(|(link, _)| *link == 1).expect("it was asked for");
    let left: Vec<f64> = trace
        .rows
        .iter()
        .filter(|row| row.kind == TraceKind::Depart && row.packet.flow() == 0 && row.t > secs(50.0))
        .map(|row| row.t.secs())
        .collect();
    left.windows(2).map(|w| w[1] - w[0]).collect()
}

fn share(gaps: &[f64], within: impl Fn(f64) -> bool) -> f64 {
    gaps.iter().filter(|&&gap| within(gap)).count() as f64 / gaps.len() as f64
}

#[test]
fn acknowledgements_are_compressed_in_a_queue_with_data() {
    let compressed = |gap: f64| gap < DATA / 4.0;
    let alone = gaps(&flows(false));
    assert!(alone.len() > 100_000, "{}", alone.len());
    assert_eq!(share(&alone, compressed), 0.0, "spaced by the data that they answer");
    let among_data = gaps(&flows(true));
    let bunched = share(&among_data, compressed);
    assert!(bunched > 0.5, "{bunched}");
    // Within a burst the gaps are the transmission time of 40 bytes.
    let tight = 40.0 * 8.0 / 5e6;
    let back_to_back = share(&among_data, |gap| (gap - tight).abs() < 1e-8);
    assert!(back_to_back > 0.9 * bunched, "{back_to_back} of {bunched}");
}

#[test]
fn neither_line_is_fully_used_with_data_in_both_directions() {
    let (one, two) = (flows(false), flows(true));
    let used = |r: &RunResult, l: usize| utilization(&r.links[l].windows[1]);
    assert!(used(&one, 0) > 0.99, "{}", used(&one, 0));
    for l in [0, 1] {
        assert!(used(&two, l) < 0.9, "{}", used(&two, l));
    }
}
