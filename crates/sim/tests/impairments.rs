//! Pipes that lose packets: how many, in which pattern, and that nothing else changes.

mod common;

use common::*;
use marqueue_aqm::Signal;
use marqueue_core::params::{ParamValues, PolicySpec};
use marqueue_core::{Bytes, Rate, Time};
use marqueue_sim::plan::*;
use marqueue_sim::result::RunResult;
use marqueue_sim::{check, RunError};

fn loss(name: &str, params: &[(&str, f64)]) -> Option<PolicySpec> {
    Some(policy(name, values(params)))
}

/// Ten TCP flows of two classes under RED, and a constant-rate flow beside them.
fn dumbbell(duration: f64) -> Plan {
    let red = queue("red", values(&[("min_th", 10.0), ("max_th", 30.0)]), 60, Signal::Ecn);
    let mut plan = Dumbbell {
        rate: 5_000_000,
        access: 100_000_000,
        bottleneck_delay: 5.0,
        destination_delay: 1.0,
        rtts: vec![40.0, 70.0],
        queue: red,
    }
    .plan(duration);
    plan.transports = vec![ns2("sack", true)];
    plan.traffic = vec![tcp("near", 0, 5, 1.0), tcp("far", 1, 5, 1.0), cbr(0)];
    plan.links[0].trace = true;
    plan
}

fn cbr(route: usize) -> TrafficPlan {
    let kind = TrafficKind::Cbr {
        route,
        count: 1,
        rate: Rate(500_000),
        packet: Bytes(250),
        start: Time::ZERO,
        jitter: ms(100.0),
        stop: None,
    };
    TrafficPlan { name: "cbr".into(), kind }
}

/// Every link but the bottleneck is entered by events, because a host might send into it.
fn event_by_event(plan: &Plan) -> Plan {
    let mut plan = plan.clone();
    for l in 1..plan.links.len() {
        plan.routes.push(RoutePlan { forward: vec![l], reverse: vec![] });
    }
    plan
}

/// Everything that happened, but for how many events it took.
fn happened(r: &RunResult) -> String {
    format!("{:?} {:?} {:?} {:?}", r.links, r.pipes, r.flows, r.cwnd)
}

#[test]
fn random_losses_are_as_many_as_asked_for() {
    for probability in [0.0, 0.001, 0.03, 0.5, 1.0] {
        let mut plan = dumbbell(40.0);
        plan.traffic = vec![cbr(0), cbr(1)];
        plan.traffic[1].name = "other".into();
        plan.links[0].pipe.loss = loss("random", &[("probability", probability)]);
        let r = go(&plan, 2);
        let w = &r.pipes[0].windows[0];
        let (n, lost) = (w.packets as f64, w.lost as f64);
        assert!(n > 19_000.0, "{n}");
        // Binomial: four standard deviations, and nothing by chance at the ends.
        let sd = (n * probability * (1.0 - probability)).sqrt();
        assert!((lost - n * probability).abs() <= 4.0 * sd, "{lost} of {n} at {probability}");
        // Constant-rate flows are not answered, so what is sent is received, lost or on its way.
        let sent: u64 = r.flows.sent.iter().sum();
        let received = r.flows.delivered.iter().sum::<u64>() / 250;
        let on_the_way = sent - received - w.lost;
        // 250 packets a second and flow, at most 35 ms from end to end.
        assert!(on_the_way <= 2 * 10, "{on_the_way} of {sent}");
        // The link was used all the same.
        assert_eq!(r.links[0].windows[0].counters.dropped(), 0);
        assert!(r.links[0].windows[0].counters.departures >= w.packets);
    }
}

#[test]
fn losses_are_counted_in_the_window_in_which_packets_are_due() {
    let mut plan = dumbbell(20.0);
    plan.links[0].pipe.loss = loss("periodic", &[("every", 10.0)]);
    let whole = go(&plan, 2).pipes[0].windows[0].clone();
    plan.boundaries = vec![secs(5.0), secs(5.0000001), secs(13.0)];
    let parts = go(&plan, 2).pipes.remove(0).windows;
    assert_eq!(parts.len(), 4);
    assert_eq!(whole.packets, parts.iter().map(|w| w.packets).sum::<u64>());
    assert_eq!(whole.lost, parts.iter().map(|w| w.lost).sum::<u64>());
    assert_eq!(whole.lost, whole.packets / 10);
    assert!(parts[0].lost > 100 && parts[2].lost > 100 && parts[3].lost > 100);
}

#[test]
fn a_loss_of_zero_is_none() {
    let plan = dumbbell(10.0);
    let mut zero = plan.clone();
    for link in &mut zero.links {
        link.pipe.loss = loss("random", &[("probability", 0.0)]);
    }
    let (a, b) = (go(&plan, 1), go(&zero, 1));
    assert_eq!(
        format!("{:?} {:?} {:?}", a.links, a.flows, a.events),
        format!("{:?} {:?} {:?}", b.links, b.flows, b.events)
    );
    assert!(b.pipes.iter().all(|p| p.windows[0].packets > 0 && p.windows[0].lost == 0));
}

#[test]
fn chained_and_merged_wires_lose_the_same_packets_as_with_an_event_for_each() {
    let models = [
        loss("random", &[("probability", 0.02)]),
        loss("gilbert", &[("to_bad", 0.005), ("to_good", 0.3)]),
        loss("periodic", &[("every", 40.0)]),
    ];
    for (i, model) in models.iter().enumerate() {
        for delayed_ack in [0.0, 0.1] {
            let mut plan = dumbbell(10.0);
            plan.transports[0].params.extend(values(&[("delayed_ack", delayed_ack)]));
            plan.boundaries = vec![secs(3.0)];
            for link in &mut plan.links {
                link.pipe.loss.clone_from(model);
            }
            let (a, b) = (go(&plan, 1), go(&event_by_event(&plan), 1));
            assert!(a.events < b.events, "{} {}", a.events, b.events);
            assert!(happened(&a) == happened(&b), "model {i}, delayed_ack {delayed_ack}");
            assert!(a.pipes.iter().all(|p| p.windows.iter().any(|w| w.lost > 0)), "model {i}");
        }
    }
}

#[test]
fn a_wires_losses_do_not_depend_on_those_of_another() {
    let lost = |more: bool| {
        let mut plan = dumbbell(10.0);
        plan.traffic = vec![cbr(0)];
        plan.links[0].pipe.loss = loss("random", &[("probability", 0.05)]);
        if more {
            plan.links[3].pipe.loss = loss("random", &[("probability", 0.05)]);
        }
        go(&plan, 1).pipes[0].windows.clone()
    };
    assert_eq!(lost(false), lost(true));
}

#[test]
fn a_bad_impairment_is_told_with_its_place() {
    let message = |spec: Option<PolicySpec>| {
        let mut plan = dumbbell(1.0);
        plan.links[3].pipe.loss = spec;
        match check(&plan) {
            Err(RunError::Invalid(e)) => e.to_string(),
            other => panic!("{other:?}"),
        }
    };
    assert_eq!(message(loss("random", &[])), "links[3].pipe.loss.probability: missing, expected a value");
    assert_eq!(
        message(loss("gilbert", &[("to_bad", 0.0), ("to_good", 0.0)])),
        "links[3].pipe.loss.to_good: got 0 with to_bad 0, expected a chain that moves"
    );
    assert_eq!(
        message(Some(policy("bernoulli", ParamValues::new()))),
        "links[3].pipe.loss.name: got \"bernoulli\", expected one of random, gilbert, periodic"
    );
}
