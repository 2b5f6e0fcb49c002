//! Links of single flows: the same packets at the same nanosecond as with a separate wire for each flow.

mod common;

use common::*;
use marqueue_aqm::Signal;
use marqueue_core::params::Value;
use marqueue_core::{Dur, Time};
use marqueue_sim::delay_law::DelayLaw;
use marqueue_sim::plan::*;
use marqueue_sim::run;
use marqueue_sim::Control;

const FLOWS: usize = 12;

fn per_flow(name: &str, rate: u64, stream: &str, delay: DelayLaw) -> LinkPlan {
    let least = delay.least();
    let per_flow = Some(PerFlowPlan { delay, stream: stream.into() });
    LinkPlan { per_flow, ..link(name, rate, least, None) }
}

fn near() -> DelayLaw {
    DelayLaw::Uniform { least: ms(1.0), most: ms(60.0) }
}

/// A bottleneck under RED, traced, and a wire back.
fn middle() -> Vec<LinkPlan> {
    let red = queue("red", values(&[("min_th", 5.0), ("max_th", 15.0)]), 40, Signal::Ecn);
    vec![
        LinkPlan { trace: true, ..link("there", 4_000_000, ms(5.0), Some(red)) },
        link("back", 4_000_000, ms(5.0), None),
    ]
}

/// Flows that start one after the other, each in a group of its own, on the routes given.
fn network(links: Vec<LinkPlan>, routes: Vec<RoutePlan>, delayed_ack: f64) -> Plan {
    let mut transport = ns2("newreno", true);
    transport.params.insert("delayed_ack".into(), Value::Number(delayed_ack));
    let traffic = (0..FLOWS).map(|f| tcp(&format!("flow {f}"), f % routes.len(), 1, 0.9)).collect();
    Plan {
        duration: secs(8.0),
        boundaries: Vec::new(),
        sample: Dur::ZERO,
        links,
        routes,
        transports: vec![transport],
        traffic,
        reuse_slots_above: Plan::reuse_slots_above(),
    }
}

/// One class of flows, each with links of its own at the source and at the destination.
fn shared(delayed_ack: f64, access: u64) -> Plan {
    let mut links = middle();
    let far = || DelayLaw::Constant { delay: ms(2.0) };
    links.push(per_flow("source", access, "source", near()));
    links.push(per_flow("sink", access, "sink", far()));
    links.push(per_flow("sink back", access, "sink", far()));
    links.push(per_flow("source back", access, "source", near()));
    network(links, vec![RoutePlan { forward: vec![2, 0, 3], reverse: vec![4, 1, 5] }], delayed_ack)
}

/// The same with four wires for each flow, of these round-trip times.
fn separate(delayed_ack: f64, access: u64, propagation: &[Dur]) -> Plan {
    let (mut links, mut routes) = (middle(), Vec::new());
    for (flow, rtt) in propagation.iter().enumerate() {
        let delay = Dur((rtt.0 - 2 * ms(7.0).0) / 2);
        let first = links.len();
        for (end, delay) in [("source", delay), ("sink", ms(2.0)), ("sink back", ms(2.0)), ("source back", delay)] {
            links.push(link(&format!("{end} {flow}"), access, delay, None));
        }
        routes.push(RoutePlan { forward: vec![first, 0, first + 1], reverse: vec![first + 2, 1, first + 3] });
    }
    network(links, routes, delayed_ack)
}

#[test]
fn links_of_flows_give_the_packets_of_separate_wires() {
    for (delayed_ack, access) in [(0.0, 100_000_000), (0.0, 1_000_000), (0.1, 10_000_000)] {
        let together = go(&shared(delayed_ack, access), 1);
        let propagation = together.flows.propagation.clone();
        assert_eq!(propagation.len(), FLOWS);
        let apart = go(&separate(delayed_ack, access, &propagation), 1);
        let (a, b) = (&together.links[0], &apart.links[0]);
        assert!(a.windows[0].counters.departures > 2000, "little traffic: {}", a.windows[0].counters.departures);
        assert_eq!(a.windows[0].counters, b.windows[0].counters, "{delayed_ack} s, {access} bit/s");
        assert_eq!(together.flows.delivered, apart.flows.delivered);
        assert_eq!(together.flows.timeouts, apart.flows.timeouts);
    }
}

#[test]
fn both_directions_of_a_flow_have_one_delay_and_flows_differ() {
    let propagation = go(&shared(0.0, 100_000_000), 1).flows.propagation;
    let shared_part = 2.0 * 7e-3;
    for rtt in &propagation {
        let own = (rtt.secs() - shared_part) / 2.0;
        assert!((1e-3..=60e-3).contains(&own), "{own} s each way");
    }
    let distinct: std::collections::BTreeSet<u64> = propagation.iter().map(|rtt| rtt.0).collect();
    assert_eq!(distinct.len(), FLOWS);
}

#[test]
fn a_flow_added_later_changes_no_delay() {
    let plan = shared(0.0, 100_000_000);
    let before = go(&plan, 1).flows.propagation;
    let mut more = plan.clone();
    more.traffic.insert(0, tcp("another", 0, 3, 0.5));
    let after = go(&more, 1).flows.propagation;
    assert_eq!(after[3..], before[..]);
}

#[test]
fn finite_flows_draw_their_own_delays() {
    let mut plan = shared(0.0, 100_000_000);
    let kind = TrafficKind::Poisson {
        transport: 0,
        routes: vec![0],
        weights: Vec::new(),
        rate: 40.0,
        start: Time::ZERO,
        stop: secs(6.0),
        size: 5,
        law: FlowSizes::Constant,
    };
    plan.traffic = vec![TrafficPlan { name: "short".into(), dscp: 0, class: 0, kind }];
    let flows = go(&plan, 1).flows;
    let n = flows.propagation.len();
    // The mean is 240 flows; five standard deviations are 77.
    assert!((163..=317).contains(&n), "{n} flows");
    assert_eq!(flows.start.len(), n);
    let own: Vec<f64> = flows.propagation.iter().map(|rtt| (rtt.secs() - 14e-3) / 2.0).collect();
    let mean = own.iter().sum::<f64>() / n as f64;
    // Uniform from 1 to 60 ms: five standard errors of the mean of 163 draws are 6.7 ms.
    assert!((mean - 30.5e-3).abs() < 6.7e-3, "{mean}");
    // A five-packet flow takes at least three round trips: the handshake and two windows.
    let done = |f: &usize| flows.end[*f] != Time::NEVER;
    for f in (0..n).filter(done) {
        let took = (flows.end[f] - flows.start[f]).secs();
        assert!(took >= 3.0 * flows.propagation[f].secs(), "flow {f}: {took} s");
    }
}

#[test]
fn a_link_of_flows_with_a_queue_is_refused() {
    let mut plan = shared(0.0, 100_000_000);
    plan.links[2].queue = Some(QueuePlan::unlimited());
    let refused = run(&plan, 1, &Control::default()).expect_err("the plan is refused").to_string();
    assert!(refused.contains("links[2].per_flow"), "{refused}");
}

/// Threads rely on the delay of the link, and a flow draws one delay for all links of a stream.
#[test]
fn delays_that_contradict_each_other_are_refused_with_their_place() {
    let refused = |change: fn(&mut LinkPlan)| {
        let mut plan = shared(0.0, 100_000_000);
        change(&mut plan.links[2]);
        run(&plan, 1, &Control::default()).expect_err("the plan is refused").to_string()
    };
    let longer = refused(|link| link.delay = ms(50.0));
    assert!(
        longer.starts_with("links[2].delay: got 0.05 s, expected at most the shortest delay of a flow"),
        "{longer}"
    );
    let other = refused(|link| {
        link.per_flow = Some(PerFlowPlan { delay: DelayLaw::Constant { delay: ms(50.0) }, stream: "source".into() });
    });
    assert_eq!(other, "links[5].per_flow.delay: expected the delays of \"source\", which has this stream too");
}

#[test]
fn a_route_that_passes_the_link_of_its_flow_twice_is_refused() {
    let mut plan = shared(0.0, 100_000_000);
    plan.routes[0].reverse.push(2);
    let refused = run(&plan, 1, &Control::default()).expect_err("the plan is refused").to_string();
    assert_eq!(refused, "routes[0]: got \"source\" twice, expected a link for each flow once");
}

#[test]
fn an_invalid_law_is_refused_with_its_place() {
    let mut plan = shared(0.0, 100_000_000);
    let delay = DelayLaw::Uniform { least: ms(5.0), most: ms(2.0) };
    plan.links[2].per_flow = Some(PerFlowPlan { delay, stream: "source".into() });
    let refused = run(&plan, 1, &Control::default()).expect_err("the plan is refused").to_string();
    assert!(refused.contains("links[2].per_flow.delay.most"), "{refused}");
}
