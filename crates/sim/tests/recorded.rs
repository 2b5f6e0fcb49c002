//! UDP flows that send the packets of a recording: sizes and times are kept.

mod common;

use common::*;
use marqueue_aqm::Signal;
use marqueue_core::params::ParamValues;
use marqueue_core::{Bytes, Dur, Time};
use marqueue_sim::plan::*;
use marqueue_sim::trace::TraceKind;
use marqueue_sim::{digest, run_on, Control};

/// Two packets at once, one 30 ms and one 80 ms later.
const PACKETS: [(Dur, Bytes); 4] =
    [(Dur(0), Bytes(1500)), (Dur(0), Bytes(40)), (Dur(30_000_000), Bytes(700)), (Dur(80_000_000), Bytes(1))];

fn plan(packets: &[(Dur, Bytes)], count: u32, jitter: Dur, stop: Option<Time>) -> Plan {
    let mut over = link("over", 100_000_000, ms(5.0), Some(queue("droptail", ParamValues::new(), 200, Signal::Drop)));
    over.trace = true;
    let kind = TrafficKind::Recorded {
        route: 0,
        count,
        packets: packets.into(),
        start: secs(1.0),
        jitter,
        stop,
        ecn: Default::default(),
    };
    Plan {
        duration: secs(3.0),
        boundaries: Vec::new(),
        sample: Dur::ZERO,
        links: vec![over],
        routes: vec![RoutePlan { forward: vec![0], reverse: Vec::new() }],
        transports: Vec::new(),
        traffic: vec![TrafficPlan { name: "call".into(), dscp: 0, class: 0, kind }],
        reuse_slots_above: Plan::reuse_slots_above(),
    }
}

/// Time after the first, and size, of every packet that arrived at the queue.
fn arrived(plan: &Plan) -> Vec<(Dur, Bytes)> {
    let result = go(plan, 1);
    let rows = result.traces[0].1.rows.iter().filter(|row| row.kind == TraceKind::Arrive);
    let all: Vec<_> = rows.map(|row| (row.t, Bytes(row.packet.bytes().into()))).collect();
    all.iter().map(|(t, size)| (*t - all[0].0, *size)).collect()
}

#[test]
fn packets_keep_their_sizes_and_times() {
    let plan = plan(&PACKETS, 1, Dur::ZERO, None);
    assert_eq!(arrived(&plan), PACKETS);
    let result = go(&plan, 1);
    assert_eq!(result.flows.sent, [4]);
    assert_eq!(result.flows.delivered.iter().sum::<u64>(), 2241);
}

#[test]
fn a_flow_stops_in_the_middle_of_its_recording() {
    assert_eq!(arrived(&plan(&PACKETS, 1, Dur::ZERO, Some(secs(1.05)))), PACKETS[..3]);
}

#[test]
fn each_flow_of_a_group_sends_all_packets_from_its_own_start() {
    let plan = plan(&PACKETS, 20, Dur(500_000_000), None);
    let result = go(&plan, 1);
    assert_eq!(result.flows.sent, [4; 20]);
    let mut starts = result.flows.start.clone();
    starts.dedup();
    assert_eq!(starts.len(), 20);
    let mut untraced = plan;
    untraced.links[0].trace = false;
    let on_two = run_on(&untraced, 1, &Control::default(), 2).expect("it runs");
    assert_eq!(digest(&on_two), digest(&go(&untraced, 1)));
}

#[test]
fn a_recording_that_is_empty_or_goes_back_in_time_is_refused_at_its_packet() {
    let refused = |packets: &[(Dur, Bytes)]| {
        marqueue_sim::check(&plan(packets, 1, Dur::ZERO, None)).expect_err("it is refused").to_string()
    };
    assert!(refused(&[]).contains("traffic[0].packets: got none"), "{}", refused(&[]));
    let back = refused(&[(Dur(5), Bytes(40)), (Dur(4), Bytes(40))]);
    assert!(back.contains("traffic[0].packets[1]") && back.contains("before"), "{back}");
    let empty = refused(&[(Dur(5), Bytes(0))]);
    assert!(empty.contains("traffic[0].packets[0]") && empty.contains("65535"), "{empty}");
}
