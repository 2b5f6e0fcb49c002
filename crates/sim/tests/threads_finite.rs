//! Flows that end, or arrive during the run, on several threads: the digest of one thread.

mod common;

use common::parts::*;
use common::*;
use marqueue_aqm::{catalogue, Signal};
use marqueue_core::params::Value;
use marqueue_core::{Dur, Rate, Time};
use marqueue_sim::delay_law::DelayLaw;
use marqueue_sim::plan::*;
use marqueue_sim::{digest, rehearse, Control};

#[test]
fn flows_that_end() {
    for recovery in ["newreno", "sack"] {
        for delayed_ack in [0.0, 0.1] {
            let mut plan = with_ends(dumbbell(recovery, red()));
            plan.transports[0].params.insert("delayed_ack".into(), Value::Number(delayed_ack));
            same_on_all(&plan, 19, 2);
            let ended = go(&plan, 19).flows.end.iter().filter(|&&end| end < plan.duration).count();
            assert!(ended >= 25, "{ended} of 27 flows end");
        }
    }
}

#[test]
fn flows_that_end_while_packets_are_lost_and_late() {
    for (recovery, preset) in [("newreno", "ns2"), ("sack", "ns2"), ("sack", "rfc")] {
        for delayed_ack in [0.0, 0.1] {
            let mut plan = with_ends(parking_lot(3, &red()));
            plan.transports[0] = TransportPlan { preset: preset.into(), ..ns2(recovery, true) };
            plan.transports[0].params.insert("delayed_ack".into(), Value::Number(delayed_ack));
            plan.links[0].pipe.loss = Some(policy("random", values(&[("probability", 0.03)])));
            // Longer than a retransmission timeout.
            plan.links[2].pipe.reorder = Some(values(&[("probability", 0.02), ("delay", 1.5)]));
            plan.links[3].pipe.jitter = Some(values(&[("mean", 0.002)]));
            same_on_all(&plan, 23, 2);
        }
    }
}

#[test]
fn few_flows_that_end_over_each_queue() {
    for name in catalogue().into_iter().map(|entry| entry.name) {
        let mut plan = with_ends(parking_lot(3, &queue(name, values(&[]), 30, Signal::Ecn)));
        plan.duration = secs(3.0);
        plan.boundaries = vec![secs(2.0)];
        same_on_all(&plan, 29, 2);
    }
}

/// Two processes of arrivals beside flows that stay.
fn with_arrivals(mut plan: Plan) -> Plan {
    let routes = (0..plan.routes.len()).collect();
    plan.traffic.truncate(2);
    plan.traffic.push(arriving("early", routes, 40.0, Time::ZERO));
    plan.traffic.push(arriving("late", vec![0, 1], 25.0, secs(1.0)));
    plan
}

#[test]
fn flows_that_arrive() {
    for recovery in ["newreno", "sack"] {
        for delayed_ack in [0.0, 0.1] {
            for plan in [dumbbell(recovery, red()), parking_lot(4, &red())] {
                let mut plan = with_arrivals(plan);
                plan.transports = vec![ns2(recovery, true)];
                plan.transports[0].params.insert("delayed_ack".into(), Value::Number(delayed_ack));
                plan.links[0].pipe.loss = Some(policy("random", values(&[("probability", 0.01)])));
                plan.links[0].pipe.jitter = Some(values(&[("mean", 0.002)]));
                same_on_all(&plan, 31, 2);
                same_on_all(&Plan { reuse_slots_above: 0, ..plan.clone() }, 31, 2);
                let flows = go(&plan, 31).flows;
                let ended = flows.end.iter().filter(|&&end| end < plan.duration).count();
                assert!(ended > 200, "{ended} of {} flows end", flows.end.len());
                let at_first = plan.initial_flows() as usize;
                assert!(flows.start[at_first..].is_sorted(), "rows are in the order of arrivals");
            }
        }
    }
}

/// Numbers of flows are what queues that tell flows apart go by.
#[test]
fn flows_that_arrive_over_each_queue() {
    let mut told_apart = Vec::new();
    for name in catalogue().into_iter().map(|entry| entry.name) {
        let mut plan = with_arrivals(parking_lot(3, &queue(name, values(&[]), 30, Signal::Ecn)));
        plan.duration = secs(2.5);
        plan.boundaries = vec![secs(1.0)];
        same_on_all(&plan, 37, 2);
        let reusing = Plan { reuse_slots_above: 0, ..plan.clone() };
        same_on_all(&reusing, 37, 2);
        if digest(&go(&reusing, 37)) != digest(&go(&plan, 37)) {
            told_apart.push(name);
        }
    }
    assert!(told_apart.contains(&"fq_codel"), "slots are reused: {told_apart:?}");
}

#[test]
fn flows_that_arrive_on_links_of_their_own() {
    let per_flow = |name: &str, stream: &str| {
        let delay = DelayLaw::Uniform { least: ms(2.0), most: ms(60.0) };
        let least = delay.least();
        LinkPlan { per_flow: Some(PerFlowPlan { delay, stream: stream.into() }), ..link(name, 10_000_000, least, None) }
    };
    let mut plan = dumbbell("newreno", red());
    plan.links.truncate(2);
    plan.links.extend([
        per_flow("source", "source"),
        per_flow("sink", "sink"),
        per_flow("sink back", "sink"),
        per_flow("source back", "source"),
    ]);
    plan.routes = vec![RoutePlan { forward: vec![2, 0, 3], reverse: vec![4, 1, 5] }];
    plan.traffic = vec![tcp("flows", 0, 4, 1.0), arriving("short", vec![0], 60.0, Time::ZERO)];
    same_on_all(&plan, 41, 2);
}

/// A thread without queues passes on packets of flows that have arrived at the thread before it, which may be ahead.
#[test]
fn flows_that_arrive_and_go_through_parts_without_queues() {
    let wire = |name: &str| link(name, 100_000_000, ms(4.0), None);
    let mut plan = dumbbell("sack", red());
    let queue = |name: &str| link(name, 100_000_000, ms(4.0), Some(red()));
    plan.links = vec![queue("first"), wire("there"), wire("far"), queue("last"), wire("back")];
    // A wire with losses is not one with the wire before it.
    plan.links[2].pipe.loss = Some(policy("random", values(&[("probability", 0.01)])));
    plan.routes = vec![RoutePlan { forward: vec![0, 1, 2, 3], reverse: vec![4, 0] }];
    plan.traffic = vec![arriving("short", vec![0], 5000.0, Time::ZERO)];
    let TrafficKind::Poisson { size, law, .. } = &mut plan.traffic[0].kind else { unreachable!("flows arrive") };
    (*size, *law) = (1, FlowSizes::Constant);
    (plan.duration, plan.boundaries) = (secs(2.0), vec![secs(1.0)]);
    for reuse_slots_above in [0, Plan::reuse_slots_above()] {
        same_on_all(&Plan { reuse_slots_above, ..plan.clone() }, 53, 3);
    }
}

#[test]
fn flows_that_arrive_in_parts_that_take_turns() {
    let plan = with_arrivals(parking_lot(4, &red()));
    let alone = digest(&go(&plan, 43));
    for parts in 2..=4 {
        let mut clock = || 0;
        let rehearsal = rehearse(&plan, 43, &Control::default(), parts, 0, &mut clock).expect("it is valid");
        assert_eq!(digest(&rehearsal.expect("several parts").result), alone, "{parts} parts");
    }
}

/// Of so many flows that arrive those get the slots of others that have ended.
#[test]
fn very_many_flows_that_arrive() {
    let fq_codel = queue("fq_codel", values(&[]), 3000, Signal::Drop);
    for mut plan in [dumbbell("sack", fq_codel.clone()), parking_lot(3, &fq_codel)] {
        (plan.duration, plan.boundaries, plan.sample) = (secs(0.65), vec![secs(0.3), secs(0.5)], Dur::ZERO);
        plan.links.iter_mut().for_each(|link| link.rate = Rate(1000 * link.rate.0));
        plan.links[0].pipe.loss = Some(policy("random", values(&[("probability", 0.01)])));
        plan.transports[0].params.insert("delayed_ack".into(), Value::Number(0.02));
        plan.traffic.truncate(2);
        plan.links[1].pipe.jitter = Some(values(&[("mean", 0.002)]));
        plan.traffic.push(arriving("many", vec![0, 1, 2], 170_000.0, Time::ZERO));
        let TrafficKind::Poisson { size, law, .. } = &mut plan.traffic[2].kind else { unreachable!("flows arrive") };
        (*size, *law) = (1, FlowSizes::Constant);
        same_on_all(&plan, 47, 2);
        let flows = go(&plan, 47).flows;
        let ended = flows.end.iter().filter(|&&end| end < plan.duration).count();
        assert!(flows.end.len() > 100_000 && ended > 50_000, "{ended} of {} flows end", flows.end.len());
    }
}
