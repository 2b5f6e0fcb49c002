//! Tests of pipes that lose, delay and reorder packets: their statistics, and that nothing else changes.

#![allow(clippy::disallowed_methods, reason = "tests may use the platform's functions")]

mod common;

use common::*;
use marqueue_aqm::Signal;
use marqueue_core::params::{ParamValues, PolicySpec, Value};
use marqueue_core::{Bytes, Rate, Time};
use marqueue_sim::plan::*;
use marqueue_sim::result::RunResult;
use marqueue_sim::{check, RunError};

fn loss(name: &str, params: &[(&str, f64)]) -> Option<PolicySpec> {
    Some(policy(name, values(params)))
}

/// Ten TCP flows of two classes, a constant-rate flow and a paced one under RED.
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
    plan.traffic = vec![tcp("near", 0, 5, 1.0), tcp("far", 1, 5, 1.0), cbr(0), paced(1)];
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
        ecn: Default::default(),
    };
    TrafficPlan { name: "cbr".into(), dscp: 0, class: 0, kind }
}

fn paced(route: usize) -> TrafficPlan {
    let kind = TrafficKind::Paced {
        control: policy("aimd", ParamValues::new()),
        route,
        count: 1,
        rate: Rate(500_000),
        packet: Bytes(900),
        ecn: true,
        start: Time::ZERO,
        jitter: ms(100.0),
        stop: None,
        trace: false,
    };
    TrafficPlan { name: "paced".into(), dscp: 0, class: 0, kind }
}

/// The plan with a host at every link, so that packets enter all links but the bottleneck by events.
fn event_by_event(plan: &Plan) -> Plan {
    let mut plan = plan.clone();
    for l in 1..plan.links.len() {
        plan.routes.push(RoutePlan { forward: vec![l], reverse: vec![] });
    }
    plan
}

/// A result without its number of events.
fn happened(r: &RunResult) -> String {
    format!("{:?} {:?} {:?} {:?} {:?}", r.links, r.traces, r.pipes, r.flows, r.senders)
}

#[test]
fn random_losses_have_the_configured_probability() {
    for probability in [0.0, 0.001, 0.03, 0.5, 1.0] {
        let mut plan = dumbbell(40.0);
        plan.traffic = vec![cbr(0), cbr(1)];
        plan.traffic[1].name = "other".into();
        plan.links[0].pipe.loss = loss("random", &[("probability", probability)]);
        let r = go(&plan, 2);
        let w = &r.pipes[0].windows[0];
        let (n, lost) = (w.packets as f64, w.lost as f64);
        assert!(n > 19_000.0, "{n}");
        // Four standard deviations of the binomial law, which are zero for probabilities of 0 and 1.
        let sd = (n * probability * (1.0 - probability)).sqrt();
        assert!((lost - n * probability).abs() <= 4.0 * sd, "{lost} of {n} at {probability}");
        // Packets of constant-rate flows are received, lost or in flight.
        let sent: u64 = r.flows.sent.iter().sum();
        let received = r.flows.delivered.iter().sum::<u64>() / 250;
        let on_the_way = sent - received - w.lost;
        // 250 packets a second for each flow, at most 35 ms from end to end.
        assert!(on_the_way <= 2 * 10, "{on_the_way} of {sent}");
        // Lost packets have used the link.
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
fn a_loss_probability_of_zero_loses_nothing() {
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
fn chained_and_merged_wires_lose_the_same_packets_as_hop_by_hop() {
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

/// Jitter with a mean of 3 ms.
fn jitter(distribution: &str, order: &str) -> Option<ParamValues> {
    let mut params = values(&[("mean", 0.003)]);
    params.insert("distribution".into(), Value::Choice(distribution.into()));
    params.insert("order".into(), Value::Choice(order.into()));
    Some(params)
}

fn reorder(probability: f64, delay: f64) -> Option<ParamValues> {
    Some(values(&[("probability", probability), ("delay", delay)]))
}

#[test]
fn wires_with_every_impairment_equal_hop_by_hop() {
    type Impair = fn(usize) -> PipePlan;
    let mixtures: [(&str, Impair); 4] = [
        ("jitter in order", |_| PipePlan { jitter: jitter("exponential", "kept"), ..PipePlan::default() }),
        ("jitter out of order", |_| PipePlan { jitter: jitter("uniform", "free"), ..PipePlan::default() }),
        ("reordering here and there", |l| PipePlan {
            reorder: reorder(0.05, 0.006).filter(|_| l.is_multiple_of(3)),
            ..PipePlan::default()
        }),
        ("everything", |l| PipePlan {
            loss: loss("random", &[("probability", 0.01)]),
            jitter: jitter("uniform", if l % 2 == 0 { "kept" } else { "free" }),
            reorder: reorder(0.02, 0.01).filter(|_| l > 4),
        }),
    ];
    for (what, impair) in mixtures {
        let mut plan = dumbbell(10.0);
        for (l, link) in plan.links.iter_mut().enumerate() {
            link.pipe = impair(l);
        }
        let (a, b) = (go(&plan, 1), go(&event_by_event(&plan), 1));
        assert!(happened(&a) == happened(&b), "{what}");
        let reordered: u64 = a.pipes.iter().map(|p| p.windows[0].reordered).sum();
        assert_eq!(reordered > 0, what != "jitter in order", "{what}");
        assert!(a.flows.delivered.iter().all(|&bytes| bytes > 0), "{what}");
    }
}

/// One packet every 4 ms over `pipe`, for 100 s.
fn paced_over(pipe: PipePlan) -> RunResult {
    let mut plan = dumbbell(100.0);
    plan.traffic = vec![cbr(0)];
    plan.links[0].pipe = pipe;
    go(&plan, 3)
}

#[test]
fn the_reordering_extent_is_the_number_of_packets_sent_during_the_delay() {
    for (delay, extent) in [(0.003, 0.0), (0.009, 2.0), (0.021, 5.0)] {
        let r = paced_over(PipePlan { reorder: reorder(0.01, delay), ..PipePlan::default() });
        let w = &r.pipes[0].windows[0];
        let n = w.packets as f64;
        let held = w.extra_delay / delay;
        assert!((held - 0.01 * n).abs() < 4.0 * (0.0099 * n).sqrt(), "{held} of {n} held back");
        assert_eq!(w.lost, 0);
        if extent == 0.0 {
            assert_eq!((w.reordered, w.overtakings), (0, 0), "held back by less than the distance of packets");
        } else {
            // Later packets are delayed too with probability 0.01 each, and the last delayed packet may not have been
            // overtaken yet.
            assert!((w.reordered as f64 - held).abs() <= 2.0, "{} reordered, {held} held back", w.reordered);
            let mean = w.overtakings as f64 / w.reordered as f64;
            assert!(mean <= extent && mean > extent * 0.96, "{mean} overtake, expected {extent}");
        }
    }
}

#[test]
fn jitter_has_its_mean_and_keeps_the_order_if_configured() {
    for distribution in ["uniform", "exponential"] {
        let free = paced_over(PipePlan { jitter: jitter(distribution, "free"), ..PipePlan::default() });
        let kept = paced_over(PipePlan { jitter: jitter(distribution, "kept"), ..PipePlan::default() });
        let (free, kept) = (&free.pipes[0].windows[0], &kept.pipes[0].windows[0]);
        let n = free.packets as f64;
        let mean = free.extra_delay / n;
        // The standard deviation of the exponential law, the larger of the two, is its mean.
        assert!((mean - 0.003).abs() < 4.0 * 0.003 / n.sqrt(), "{distribution}: {mean}");
        assert!(kept.extra_delay > free.extra_delay, "{distribution}: whoever waits arrives later");
        assert_eq!((kept.reordered, kept.overtakings), (0, 0));
        // The next packet, 4 ms later, overtakes a packet whose delay is longer by 4 ms or more. The probability is
        // (1/3)^2/2 = 1/18 for uniform delays up to 6 ms and exp(-4/3)/2 for exponential ones. Later packets overtake
        // more rarely.
        let next = if distribution == "uniform" { 1.0 / 18.0 } else { (-4.0 / 3.0f64).exp() / 2.0 };
        let share = free.reordered as f64 / n;
        let sd = (next * (1.0 - next) / n).sqrt();
        assert!(share > next - 4.0 * sd && share < 1.3 * next, "{distribution}: {share}, expected {next}");
    }
}

#[test]
fn tcp_retransmits_for_reordering_beyond_its_threshold() {
    let retransmits = |delay: f64| {
        let mut plan = dumbbell(30.0);
        plan.traffic = vec![tcp("one", 0, 1, 0.0)];
        plan.links[0].queue = Some(queue("droptail", ParamValues::new(), 100, Signal::Drop));
        plan.transports[0].params.extend(values(&[("max_window", 20.0)]));
        plan.links[0].pipe.reorder = reorder(0.01, delay);
        let r = go(&plan, 1);
        (r.flows.retransmits[0], r.pipes[0].windows[0].reordered)
    };
    // A segment takes 1.6 ms, so two overtake within 4 ms. Three duplicate acknowledgements cause a retransmission.
    let (few, reordered) = retransmits(0.004);
    assert!(reordered > 50, "{reordered}");
    assert_eq!(few, 0);
    let (many, reordered) = retransmits(0.012);
    assert!(many as f64 > 0.8 * reordered as f64, "{many} of {reordered}");
}

#[test]
fn losses_of_a_wire_do_not_depend_on_other_wires() {
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
fn an_invalid_impairment_is_refused_with_its_path() {
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
        "links[3].pipe.loss.to_good: got 0 with to_bad 0, expected at least one above 0"
    );
    assert_eq!(
        message(Some(policy("bernoulli", ParamValues::new()))),
        "links[3].pipe.loss.name: got \"bernoulli\", expected one of random, gilbert, periodic"
    );
}
