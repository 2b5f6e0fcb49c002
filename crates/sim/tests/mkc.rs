//! Compares packet simulations of MKC with the closed forms of Zhang, Kang and Loguinov, SIGCOMM 2004.

mod common;

use common::*;
use marqueue_aqm::Signal;
use marqueue_core::{Bytes, Rate, Time};
use marqueue_sim::plan::*;
use marqueue_sim::result::{RateTrace, RunResult};

/// Packet size, bytes, and capacity, bit/s, of Figures 10 to 12.
const PACKET: u64 = 200;
const C: u64 = 10_000_000;
/// Defaults of the laws: alpha, bit/s, and beta.
const ALPHA: f64 = 100_000.0;
const BETA: f64 = 0.9;
/// Measuring interval of the routers, s.
const DELTA: f64 = 0.05;

/// A flow that starts with 125 kb/s at `start` s.
fn flow(name: &str, law: &str, route: usize, start: f64) -> TrafficPlan {
    let kind = TrafficKind::Paced {
        control: policy(law, values(&[])),
        route,
        count: 1,
        rate: Rate(125_000),
        packet: Bytes(PACKET),
        ecn: false,
        start: secs(start),
        jitter: ms(0.0),
        stop: None,
        trace: true,
    };
    TrafficPlan { name: name.into(), dscp: 0, class: 0, kind }
}

/// A router with a buffer of 200 packets.
fn router(name: &str) -> QueuePlan {
    let queue = queue(name, values(&[("delta", DELTA)]), 200, Signal::Drop);
    QueuePlan { mean_packet: Bytes(PACKET), ..queue }
}

fn dumbbell(rtts: Vec<f64>, duration: f64, traffic: Vec<TrafficPlan>) -> Plan {
    let mut plan = Dumbbell {
        rate: C,
        access: 1_000_000_000,
        bottleneck_delay: 5.0,
        destination_delay: 5.0,
        rtts,
        queue: router("mkc"),
    }
    .plan(duration);
    plan.traffic = traffic;
    plan
}

/// The mean rate of a traced flow over the last `seconds` of a run, bit/s.
fn mean_rate(r: &RunResult, trace: &RateTrace, seconds: f64) -> f64 {
    let end = r.ended;
    let begin = Time(end.0 - ms(seconds * 1e3).0);
    let mut sum = 0.0;
    for (i, &(t, (rate, _))) in trace.rows.iter().enumerate() {
        let until = trace.rows.get(i + 1).map_or(end, |next| next.0);
        if until > begin {
            sum += rate * (until - t.max(begin)).secs();
        }
    }
    sum / seconds * trace.bytes as f64 * 8.0
}

/// `n` flows with packets of 500 bytes, and round-trip times 10 ms apart.
fn many(n: u32, law: &str, duration: f64) -> Plan {
    let rtts = (0..n).map(|i| 50.0 + 10.0 * f64::from(i)).collect();
    let flows = (0..n).map(|i| flow(&i.to_string(), law, i as usize, 0.1 * f64::from(i))).collect();
    let mut plan = dumbbell(rtts, duration, flows);
    for traffic in &mut plan.traffic {
        let TrafficKind::Paced { packet, .. } = &mut traffic.kind else { unreachable!("flow() paces") };
        *packet = Bytes(500);
    }
    plan.boundaries = vec![secs(duration - 10.0)];
    plan
}

/// The share of lost packets in the last window.
fn loss(r: &RunResult) -> f64 {
    let c = &r.links[0].windows.last().expect("a window").counters;
    c.dropped() as f64 / c.arrivals as f64
}

/// (46), (47) and section 5.3: x* = C/N + alpha/beta and p* = N alpha / (C beta + N alpha), for all delays.
/// A mean rate over 10 s is exact to one packet, 400 bit/s. The initial deviation decreases by the factor e in
/// (C + N alpha/beta)/(N alpha) steps of less than 0.2 s each (Theorem 5), to less than 1 % by then. The buffer
/// holds 200 of the 25,000 packets of a window.
#[test]
fn n_flows_converge_to_the_fixed_point_for_all_delays() {
    for (n, duration) in [(1u32, 15.0), (4, 50.0), (8, 25.0)] {
        let r = go(&many(n, "emkc", duration), 1);
        let expected = C as f64 / f64::from(n) + ALPHA / BETA;
        for trace in &r.rate_traces {
            let rate = mean_rate(&r, trace, 10.0);
            assert!((rate / expected - 1.0).abs() < 0.01, "{n} flows: {rate} bit/s, {expected} by (46)");
        }
        let expected = f64::from(n) * ALPHA / (C as f64 * BETA + f64::from(n) * ALPHA);
        assert!((loss(&r) - expected).abs() < 0.008, "{n} flows lose {}, {expected} by theory", loss(&r));
    }
}

/// Section 5.3: X* = gamma C. V converges with a time constant of 20 intervals.
#[test]
fn with_adaptive_prices_nothing_is_lost_for_any_number_of_flows() {
    for n in [1, 8] {
        let mut plan = many(n, "emkc", 25.0);
        plan.links[0].queue = Some(router("mkc_lossfree"));
        let r = go(&plan, 1);
        assert_eq!(r.links[0].windows[1].counters.dropped(), 0, "{n} flows");
        let used = utilization(&r.links[0].windows[1]);
        assert!((used / 0.98 - 1.0).abs() < 0.005, "{n} flows use {used}");
    }
}

/// The rates of a single flow from its start, Mbit/s, at a round-trip time of `rtt` ms.
fn start(law: &str, rtt: f64) -> Vec<f64> {
    let r = go(&dumbbell(vec![rtt], 2.0, vec![flow("one", law, 0, 0.0)]), 1);
    r.rate_traces[0].rows.iter().map(|&(_, (rate, _))| rate * PACKET as f64 * 8e-6).collect()
}

/// Figure 11. Router and sender count the same packets, so x(n) = (1 - beta) r + beta C + alpha, and r is at most the
/// rate sent, apart from one packet at the edge of an interval, 0.032 Mbit/s.
#[test]
fn the_proper_reference_rate_makes_the_start_monotone() {
    let packet = PACKET as f64 * 8e-6 / DELTA;
    let settled = 1e-6 * (C as f64 + ALPHA / BETA);
    for rtt in [20.0, 30.0, 50.0, 100.0] {
        let rates = start("emkc", rtt);
        assert!(rates.windows(2).all(|w| w[1] > w[0] - packet), "{rtt} ms: {rates:?}");
        assert!(rates.iter().all(|&x| x < settled + packet), "{rtt} ms: {rates:?}");
        assert!(rates.last().is_some_and(|&x| x > settled - packet), "{rtt} ms: {rates:?}");
    }
}

/// Figure 10: "overshoots C by over 200%" within the first quarter of a second. The paper does not state the
/// round-trip time. Feedback that is about half an interval old belongs to the rate before the last.
#[test]
fn the_naive_reference_rate_overshoots() {
    let rates = start("emkc_naive", 30.0);
    assert!(rates[..4].iter().any(|&x| x > 3e-6 * C as f64), "{rates:?}");
    let settled = 1e-6 * (C as f64 + ALPHA / BETA);
    assert!(rates.last().is_some_and(|&x| (x / settled - 1.0).abs() < 0.01), "{rates:?}");
}

/// The first time after `from` at which the rate changes by more than a tenth, s.
fn reaction_time(r: &RunResult, from: f64) -> f64 {
    let rows = &r.rate_traces[0].rows;
    let first = rows.iter().rposition(|row| row.0 <= secs(from)).expect("it has sent");
    let before = rows[first].1 .0;
    let turn = rows[first..].iter().find(|row| (row.1 .0 / before - 1.0).abs() > 0.1);
    turn.expect("it reacts").0.secs() - from
}

/// From 5 s on, the congested router is the same as before, or the previous one on the route, with feedback of the same
/// age. In the second case the flow reacts one round-trip time later, to the next interval.
#[test]
fn a_flow_follows_another_bottleneck_one_round_trip_later() {
    let mut plan = dumbbell(vec![100.0], 10.0, vec![flow("one", "emkc", 0, 0.0)]);
    plan.links[0].schedule = vec![(secs(5.0), Rate(C / 2))];
    let same = reaction_time(&go(&plan, 1), 5.0);
    plan.links[0].schedule = vec![];
    plan.links.push(link("first", 2 * C, ms(0.0), Some(router("mkc"))));
    let first = plan.links.len() - 1;
    plan.routes[0].forward.insert(1, first);
    plan.links[first].schedule = vec![(secs(5.0), Rate(C / 2))];
    let r = go(&plan, 1);
    let waited = reaction_time(&r, 5.0) - same;
    assert!((0.1..0.1 + 1.5 * DELTA).contains(&waited), "{waited} s");
    let settled = mean_rate(&r, &r.rate_traces[0], 2.0);
    assert!((settled / (C as f64 / 2.0 + ALPHA / BETA) - 1.0).abs() < 0.01, "{settled} bit/s");
}

/// Lost and reordered feedback makes steps rarer, but not wrong.
#[test]
fn lost_and_reordered_feedback_does_not_move_the_fixed_point() {
    let mut plan = many(4, "emkc", 50.0);
    plan.links[1].pipe.loss = Some(policy("random", values(&[("probability", 0.3)])));
    plan.links[1].pipe.reorder = Some(values(&[("probability", 0.2), ("delay", 0.02)]));
    let r = go(&plan, 1);
    assert!(r.pipes[0].windows[1].lost > 1000 && r.pipes[0].windows[1].reordered > 1000);
    let expected = C as f64 / 4.0 + ALPHA / BETA;
    for trace in &r.rate_traces {
        let rate = mean_rate(&r, trace, 10.0);
        assert!((rate / expected - 1.0).abs() < 0.01, "{rate} bit/s, {expected} by (46)");
    }
}

/// Without feedback, 125 kb/s for 2 s, then alpha: half of the rate would be less than the minimum alpha.
#[test]
fn missing_feedback_halves_the_rate_down_to_the_minimum() {
    let mut plan = dumbbell(vec![50.0], 10.0, vec![flow("one", "emkc", 0, 0.0)]);
    plan.links[1].pipe.loss = Some(policy("random", values(&[("probability", 1.0)])));
    let r = go(&plan, 1);
    let sent = r.flows.sent[0] as f64 * PACKET as f64 * 8.0;
    assert!((sent / (2.0 * 125_000.0 + 8.0 * ALPHA) - 1.0).abs() < 0.01, "{sent} bits");
    assert!(r.flows.timeouts[0] > 0);
}

/// The flow table and the sender traces of a result.
fn happened(r: &RunResult) -> String {
    format!("{:?} {:?} {:?} {:?}", r.rate_traces, r.flows.sent, r.flows.delivered, r.links[0].windows)
}

#[test]
fn runs_repeat_and_equal_hop_by_hop() {
    let mut plan = many(3, "emkc_naive", 12.0);
    plan.links[1].pipe.loss = Some(policy("random", values(&[("probability", 0.1)])));
    let once = happened(&go(&plan, 1));
    assert!(once == happened(&go(&plan, 1)), "one seed, two results");
    // With a host at every link, packets enter links by events that they otherwise pass without.
    for l in 1..plan.links.len() {
        plan.routes.push(RoutePlan { forward: vec![l], reverse: vec![] });
    }
    assert!(once == happened(&go(&plan, 1)), "merged and event by event differ");
}

#[test]
fn rate_controlled_flows_on_other_links_change_nothing() {
    let mut plan = dumbbell(vec![50.0], 5.0, vec![tcp("tcp", 0, 3, 1.0)]);
    plan.transports = vec![ns2("newreno", false)];
    let alone = go(&plan, 1);
    plan.links.push(link("elsewhere", C, ms(5.0), Some(router("mkc"))));
    plan.links.push(link("elsewhere back", C, ms(5.0), None));
    let l = plan.links.len();
    plan.routes.push(RoutePlan { forward: vec![l - 2], reverse: vec![l - 1] });
    plan.traffic.push(flow("listens", "emkc", 1, 0.0));
    let beside = go(&plan, 1);
    assert_eq!(alone.flows.sent[..], beside.flows.sent[..3]);
    assert_eq!(alone.flows.delivered[..], beside.flows.delivered[..3]);
    assert_eq!(format!("{:?}", alone.links[0].windows), format!("{:?}", beside.links[0].windows));
    assert!(beside.flows.sent[3] > 10_000);
}

/// (10), Lemma 1: sum M_i x_i* = sum C_j + N omega. For one flow and two routers x* is the mean of their rates, though
/// one is overloaded. The wide link comes first, so both have the whole rate as arrivals. (3) requires
/// 2 kappa < 2 sin(pi/(2(2D-1))), which holds at kappa = 0.1 up to D = 8. A sum of two prices may change twice an
/// interval.
#[test]
fn kelly_control_uses_the_sum_of_prices() {
    let mut plan = dumbbell(vec![40.0], 20.0, vec![flow("one", "kelly", 0, 0.0)]);
    let TrafficKind::Paced { control, .. } = &mut plan.traffic[0].kind else { unreachable!("flow() paces") };
    control.params = values(&[("kappa", 0.1)]);
    plan.links.push(link("wide", 3 * C / 2, ms(1.0), Some(router("mkc"))));
    let wide = plan.links.len() - 1;
    plan.routes[0].forward.insert(1, wide);
    let r = go(&plan, 1);
    let expected = (C as f64 * 2.5 + 20_000.0) / 2.0;
    let rate = mean_rate(&r, &r.rate_traces[0], 10.0);
    assert!((rate / expected - 1.0).abs() < 0.01, "{rate} bit/s, {expected} by Lemma 1");
}

/// Rates of a flow over three hops and of one cross flow at each hop, bit/s.
fn parking_lot(rates: [u64; 3], packet_size: u64, duration: f64) -> Vec<f64> {
    let flows = (0..4).map(|i| flow(&i.to_string(), "emkc", i, 0.1 * i as f64)).collect();
    let mut plan = dumbbell(vec![20.0], duration, flows);
    for traffic in &mut plan.traffic {
        let TrafficKind::Paced { packet, .. } = &mut traffic.kind else { unreachable!("flow() paces") };
        *packet = Bytes(packet_size);
    }
    let hop = |(i, &rate): (usize, &u64)| link(&i.to_string(), rate, ms(2.0), Some(router("mkc")));
    plan.links = rates.iter().enumerate().map(hop).collect();
    plan.links.push(link("back", 1_000_000_000, ms(10.0), None));
    let routes = [vec![0, 1, 2], vec![0], vec![1], vec![2]];
    plan.routes = routes.into_iter().map(|forward| RoutePlan { forward, reverse: vec![3] }).collect();
    let r = go(&plan, 1);
    r.rate_traces.iter().map(|trace| mean_rate(&r, trace, 10.0)).collect()
}

/// Max-min fairness: flows share the narrow middle hop equally, and the other cross flows get the rest of their hops.
/// The fixed point is x p = alpha/beta with p = 1 - C/X, where `o` is the rate of other flows. A packet is 1/500 of an
/// interval, a tenth of p* = 2.2 %, so rates within 2 % are accepted.
#[test]
fn rates_on_different_hops_are_max_min_fair() {
    let settled = |c: f64, o: f64| (0..100).fold(c - o, |x, _| c - o + ALPHA / BETA * (x + o) / x);
    let shared = 5e6 + ALPHA / BETA;
    let expected = [shared, settled(15e6, shared), shared, settled(20e6, shared)];
    let rates = parking_lot([15_000_000, 10_000_000, 20_000_000], 125, 30.0);
    for (rate, expected) in rates.iter().zip(expected) {
        assert!((rate / expected - 1.0).abs() < 0.02, "{rates:?}, {expected} expected");
    }
}

/// With equal hops, the router with the highest price alternates. A flow over all hops that waited again at each
/// change, or confused the intervals of routers, would get almost no rate.
#[test]
fn a_flow_over_equal_hops_is_not_starved() {
    let rates = parking_lot([10_000_000; 3], 250, 20.0);
    assert!(rates[0] > 0.9 * 5e6, "{rates:?}");
}
