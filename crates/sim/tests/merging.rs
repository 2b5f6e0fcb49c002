//! Chained and merged wires give the same packets at the same nanosecond as an event for each end of each hop.

mod common;

use common::*;
use marqueue_aqm::Signal;
use marqueue_core::params::Value;
use marqueue_core::Dur;
use marqueue_sim::plan::*;

/// A queue of 40 packets under RED, traced.
fn red_link(name: &str, rate: u64, delay: f64) -> LinkPlan {
    let queue = queue("red", values(&[("min_th", 5.0), ("max_th", 15.0)]), 40, Signal::Ecn);
    LinkPlan { trace: true, ..link(name, rate, ms(delay), Some(queue)) }
}

fn wire(name: &str, delay: f64) -> LinkPlan {
    link(name, 100_000_000, ms(delay), None)
}

fn network(links: Vec<LinkPlan>, routes: Vec<RoutePlan>) -> Plan {
    let traffic = (0..routes.len()).map(|r| tcp(&format!("flows {r}"), r, 4, 0.5)).collect();
    Plan {
        duration: secs(8.0),
        boundaries: Vec::new(),
        sample: Dur::ZERO,
        links,
        routes,
        transports: vec![ns2("reno", true)],
        traffic,
        reuse_slots_above: Plan::reuse_slots_above(),
    }
}

/// Classes that send in both directions over two queues, from hosts at several distances.
fn dumbbell() -> Plan {
    let mut links = vec![red_link("right", 4_000_000, 5.0), red_link("left", 3_000_000, 5.0)];
    let mut routes = Vec::new();
    for (class, &(near, far)) in [(5.0, 1.0), (15.0, 1.0), (15.0, 4.0), (0.0, 0.0)].iter().enumerate() {
        let first = links.len();
        for (end, delay) in [("near", near), ("far", far), ("far back", far), ("near back", near)] {
            links.push(wire(&format!("{end} {class}"), delay));
        }
        routes.push(RoutePlan { forward: vec![first, 0, first + 1], reverse: vec![first + 2, 1, first + 3] });
        if class % 2 == 1 {
            routes.push(RoutePlan { forward: vec![first + 2, 1, first + 3], reverse: vec![first, 0, first + 1] });
        }
    }
    network(links, routes)
}

/// Queues in the forward direction only; the return path is one merged wire.
fn one_way_dumbbell() -> Plan {
    let mut plan = dumbbell();
    plan.links[1].queue = None;
    plan.routes.retain(|route| route.forward.contains(&0));
    plan.traffic.truncate(plan.routes.len());
    plan
}

/// Hosts around a hub, three of which send to all others. Each link from the hub to a host has a queue.
fn star() -> Plan {
    let mut links = Vec::new();
    for (host, delay) in [2.0, 2.0, 7.0, 11.0, 30.0].into_iter().enumerate() {
        links.push(wire(&format!("up {host}"), delay));
        links.push(red_link(&format!("down {host}"), 2_000_000, delay));
    }
    let over = |a: usize, b: usize| vec![2 * a, 2 * b + 1];
    let pairs = (0..3).flat_map(|a| [3, 4].map(|b| (a, b)));
    let routes = pairs.map(|(a, b)| RoutePlan { forward: over(a, b), reverse: over(b, a) }).collect();
    network(links, routes)
}

/// Three queues in series in each direction. Some flows cross all of them, others one.
fn parking_lot() -> Plan {
    let mut links = Vec::new();
    for hop in 0..3 {
        links.push(red_link(&format!("there {hop}"), 3_000_000, 4.0));
        links.push(red_link(&format!("back {hop}"), 2_000_000, 4.0));
    }
    let mut routes = Vec::new();
    let spans: [(Vec<usize>, f64); 6] = [
        (vec![0, 1, 2], 3.0),
        (vec![0, 1, 2], 20.0),
        (vec![0], 1.0),
        (vec![1], 1.0),
        (vec![2], 9.0),
        (vec![1, 2], 2.0),
    ];
    for (span, delay) in spans {
        let first = links.len();
        for end in ["in", "out", "in back", "out back"] {
            links.push(wire(&format!("{end} {first}"), delay));
        }
        let there = span.iter().map(|hop| 2 * hop);
        let back = span.iter().rev().map(|hop| 2 * hop + 1);
        let forward: Vec<usize> = [first].into_iter().chain(there).chain([first + 1]).collect();
        let reverse: Vec<usize> = [first + 2].into_iter().chain(back).chain([first + 3]).collect();
        routes.push(RoutePlan { forward: forward.clone(), reverse: reverse.clone() });
        routes.push(RoutePlan { forward: reverse, reverse: forward });
    }
    network(links, routes)
}

#[test]
fn merged_and_hop_by_hop_traces_are_equal() {
    type Network = fn() -> Plan;
    let networks: [(&str, Network); 4] = [
        ("dumbbell", dumbbell),
        ("dumbbell queued one way", one_way_dumbbell),
        ("star", star),
        ("parking lot", parking_lot),
    ];
    for (name, network) in networks {
        for (recovery, delayed_ack) in [("reno", 0.0), ("sack", 0.0), ("newreno", 0.1)] {
            let mut plan = network();
            plan.transports = vec![ns2(recovery, recovery != "sack")];
            plan.transports[0].params.insert("delayed_ack".into(), Value::Number(delayed_ack));
            let merged = go(&plan, 1);
            let apart = go(&hop_by_hop(&plan), 1);
            let departures: u64 = merged.links.iter().map(|l| l.windows[0].counters.departures).sum();
            assert!(departures > 2000, "{name}: little traffic, {departures} packets");
            // With delayed acknowledgements the star has nothing to merge.
            let fewer = merged.events < apart.events || delayed_ack > 0.0;
            assert!(fewer, "{name}, {recovery}: nothing was merged");
            assert!(happened(&merged) == happened(&apart), "{name}, {recovery}: merging changes what happens");
        }
    }
}
