//! Tests that every packet is accounted for, with all queues and kinds of traffic.

mod common;

use common::*;
use marqueue_aqm::{catalogue, Limit, Signal};
use marqueue_core::params::{ParamValues, Value};
use marqueue_core::{Bytes, Dur, Rate, Time};
use marqueue_sim::plan::*;
use marqueue_sim::result::{LinkWindow, RunResult};
use marqueue_sim::trace::TraceKind;

fn dumbbell(queue: QueuePlan, duration: f64) -> Plan {
    Dumbbell {
        rate: 5_000_000,
        access: 100_000_000,
        bottleneck_delay: 5.0,
        destination_delay: 1.0,
        rtts: vec![40.0, 70.0],
        queue,
    }
    .plan(duration)
}

fn droptail(limit: u32) -> QueuePlan {
    queue("droptail", ParamValues::new(), limit, Signal::Drop)
}

fn transport(preset: &str, recovery: &str, flags: &[(&str, bool)], numbers: &[(&str, f64)]) -> TransportPlan {
    let mut params = values(numbers);
    params.insert("recovery".into(), Value::Choice(recovery.into()));
    params.extend(flags.iter().map(|&(k, x)| (k.to_string(), Value::Flag(x))));
    TransportPlan { preset: preset.into(), params, stack: None }
}

/// `count` flows of `size` packets each on route 0.
fn finite(count: u32, size: u32) -> TrafficPlan {
    let mut traffic = tcp("finite", 0, count, 1.0);
    let TrafficKind::Tcp { size: s, .. } = &mut traffic.kind else { unreachable!("tcp() makes TCP") };
    *s = Some(size);
    traffic
}

/// Asserts that all flows ended, and that each delivered all of its data once.
fn assert_complete(r: &RunResult, segment: u64) {
    let windows = r.edges.len() - 1;
    for (i, &size) in r.flows.size.iter().enumerate() {
        assert_ne!(r.flows.end[i], Time::NEVER, "flow {i} did not end");
        assert!(r.flows.end[i] > r.flows.start[i]);
        let delivered: u64 = r.flows.delivered[i * windows..(i + 1) * windows].iter().sum();
        assert_eq!(delivered, u64::from(size) * segment, "flow {i}");
        assert_eq!(r.flows.sent[i] - r.flows.retransmits[i], u64::from(size) + 1, "new segments, and the SYN");
    }
}

#[test]
fn every_queue_conserves_packets_with_and_without_ecn() {
    for entry in catalogue() {
        for (signal, ecn) in [(Signal::Ecn, true), (Signal::EcnOnly, true), (Signal::Drop, false)] {
            let mut plan = dumbbell(queue(entry.name, ParamValues::new(), 40, signal), 8.0);
            plan.boundaries = vec![secs(2.0), secs(5.0)];
            plan.transports = vec![ns2("sack", ecn)];
            plan.traffic = vec![tcp("a", 0, 8, 1.0), tcp("b", 1, 8, 1.0)];
            let r = go(&plan, 3);
            let what = format!("{} {signal:?}", entry.name);
            let mut standing = 0;
            for w in &r.links[0].windows {
                let c = &w.counters;
                standing += c.arrivals as i64 - c.departures as i64 - c.dropped() as i64;
                assert!((0..=40).contains(&standing), "{what}: {standing} stand there");
                // A queue of n packets for as long as it takes; the last one stands at the edge.
                assert!(w.queue_times.longest() <= 40, "{what}: a queue of {}", w.queue_times.longest());
                assert!(w.used <= w.capacity * (1.0 + 1e-12), "{what}");
                let delays: u64 = w.delay_bins.iter().map(|b| b.1).sum();
                assert_eq!(delays, c.departures, "{what}");
                assert_eq!(c.dropped_bytes == 0, c.dropped() == 0, "{what}");
            }
            let total: u64 = r.links[0].windows.iter().map(|w| w.counters.departures).sum();
            assert!(total > 1000, "{what}: only {total} packets went through");
            let marks: u64 = r.links[0].windows.iter().map(|w| w.counters.marked()).sum();
            assert!(signal != Signal::Drop || marks == 0, "{what}: marks instead of losses");
        }
    }
}

#[test]
fn finite_flows_deliver_all_data_once() {
    let every_transport = ["rfc", "ns2"].into_iter().flat_map(|preset| {
        ["reno", "newreno", "sack"].into_iter().flat_map(move |recovery| {
            [(false, 0.0), (true, 0.0), (true, 0.1)].map(move |(ecn, delayed)| {
                transport(preset, recovery, &[("ecn", ecn)], &[("delayed_ack", delayed), ("segment", 900.0)])
            })
        })
    });
    for transport in every_transport {
        let red = queue("red", values(&[("min_th", 3.0), ("max_th", 9.0)]), 12, Signal::Ecn);
        let mut plan = dumbbell(red, 400.0);
        plan.transports = vec![transport.clone()];
        plan.traffic = vec![finite(12, 150)];
        let r = go(&plan, 5);
        assert_complete(&r, 900);
        let signals = r.links[0].windows[0].counters.dropped() + r.links[0].windows[0].counters.marked();
        assert!(signals > 0, "nothing was lost or marked under {transport:?}");
    }
}

#[test]
fn flows_of_a_poisson_process_complete() {
    let mut plan = dumbbell(droptail(30), 60.0);
    plan.transports = vec![transport("rfc", "sack", &[], &[])];
    let kind = TrafficKind::Poisson {
        transport: 0,
        routes: vec![0, 1],
        weights: Vec::new(),
        rate: 10.0,
        start: secs(5.0),
        stop: secs(25.0),
        size: 20,
        law: FlowSizes::Constant,
    };
    plan.traffic = vec![TrafficPlan { name: "short".into(), dscp: 0, class: 0, kind }];
    let r = go(&plan, 1);
    let n = r.flows.start.len() as f64;
    // 200 are expected; five standard deviations are allowed.
    assert!((n - 200.0).abs() < 5.0 * 200f64.sqrt(), "{n}");
    assert!(r.flows.start.iter().all(|&t| t >= secs(5.0) && t < secs(25.0)));
    assert!(r.flows.route.contains(&0) && r.flows.route.contains(&1));
    assert_complete(&r, 1460);
}

#[test]
fn flows_join_and_leave() {
    let mut plan = dumbbell(droptail(40), 30.0);
    plan.boundaries = vec![secs(10.0), secs(20.0), secs(25.0)];
    plan.transports = vec![ns2("sack", false)];
    let mut guest = tcp("guest", 1, 2, 0.0);
    let TrafficKind::Tcp { start, stop, .. } = &mut guest.kind else { unreachable!("tcp() makes TCP") };
    (*start, *stop) = (secs(10.0), Some(secs(20.0)));
    plan.traffic = vec![tcp("host", 0, 2, 0.0), guest];
    let r = go(&plan, 1);
    for (i, &group) in r.flows.group.iter().enumerate() {
        let by_window = &r.flows.delivered[i * 4..(i + 1) * 4];
        if group == 0 {
            assert!(by_window.iter().all(|&b| b > 0), "{by_window:?}");
            assert_eq!(r.flows.end[i], Time::NEVER);
        } else {
            assert_eq!((by_window[0], by_window[3]), (0, 0), "{by_window:?}");
            assert!(by_window[1] > 100_000);
            assert_eq!(r.flows.start[i], secs(10.0));
            assert!(r.flows.end[i] >= secs(20.0) && r.flows.end[i] < secs(25.0), "what was out is repaired");
        }
    }
}

#[test]
fn a_changing_rate_is_integrated() {
    let mut plan = dumbbell(droptail(100), 40.0);
    plan.links[0].schedule = vec![(secs(10.0), Rate(1_000_000)), (secs(25.0), Rate(8_000_000))];
    plan.boundaries = vec![secs(5.0), secs(20.0)];
    plan.transports = vec![ns2("sack", false)];
    plan.traffic = vec![tcp("a", 0, 20, 0.5)];
    let r = go(&plan, 1);
    let capacity: Vec<f64> = r.links[0].windows.iter().map(|w| w.capacity).collect();
    let expected = [25e6, 25e6 + 10e6, 5e6 + 120e6];
    for (c, e) in capacity.iter().zip(expected) {
        assert!((c - e).abs() < 1.0, "{capacity:?}");
    }
    let w = &r.links[0].windows[1];
    assert!(utilization(w) > 0.99 && utilization(w) <= 1.0 + 1e-3, "{}", utilization(w));
}

/// Constant-rate flows of `rate` each for 20 s; packets of 500 bytes.
fn cbr(name: &str, route: usize, count: u32, rate: u64) -> TrafficPlan {
    let kind = TrafficKind::Cbr {
        route,
        count,
        rate: Rate(rate),
        packet: Bytes(500),
        start: Time::ZERO,
        jitter: Dur::from_secs(0.1),
        stop: Some(secs(20.0)),
        ecn: Default::default(),
    };
    TrafficPlan { name: name.into(), dscp: 0, class: 0, kind }
}

#[test]
fn constant_rate_flows_share_the_capacity() {
    let mut plan = dumbbell(droptail(20), 21.0);
    plan.traffic = vec![cbr("cbr", 0, 4, 1_000_000)];
    let r = go(&plan, 1);
    for i in 0..4 {
        let expected = 250.0 * (20.0 - r.flows.start[i].secs());
        assert!((r.flows.sent[i] as f64 - expected).abs() <= 1.0, "spaced by 4 ms");
        assert_eq!(r.flows.delivered[i], 500 * r.flows.sent[i], "4 of 5 Mbit/s: nothing is lost");
    }
    plan.traffic = vec![cbr("cbr", 0, 4, 2_000_000)];
    let r = go(&plan, 1);
    let c = &r.links[0].windows[0].counters;
    assert_eq!(r.flows.sent.iter().sum::<u64>(), c.arrivals);
    assert_eq!(r.flows.delivered.iter().sum::<u64>(), c.departed_bytes);
    let share = c.departed_bytes as f64 / c.arrived_bytes as f64;
    assert!((share - 5.0 / 8.0).abs() < 0.01, "{share}");
}

#[test]
fn packets_have_the_configured_sizes() {
    for (count_header, weight) in [(false, 1000), (true, 1040)] {
        let mut plan = dumbbell(droptail(1000), 30.0);
        plan.transports = vec![transport("ns2", "sack", &[("count_header", count_header)], &[])];
        plan.traffic = vec![finite(1, 50)];
        plan.links[0].trace = true;
        let r = go(&plan, 1);
        let (_, trace) = &r.traces[0];
        let sizes: Vec<(u32, u32)> = trace
            .rows
            .iter()
            .filter(|row| row.kind == TraceKind::Depart)
            .map(|row| (row.packet.seq(), row.packet.bytes()))
            .collect();
        assert_eq!(sizes.len(), 51);
        assert!(sizes.iter().all(|&(seq, bytes)| bytes == if seq == 0 { 40 } else { weight }), "{sizes:?}");
        assert_complete(&r, 1000);
    }
}

#[test]
fn ecn_at_a_window_of_one_packet_keeps_the_flow_alive() {
    // Everything is marked: the virtual queue has no room. At one packet each further echo doubles the timer of 1 s (RFC
    // 9438, 4.6): five packets in 1 + 2 + 4 + 8 + 16 = 31 s, before which windows of 10, 5, 2.5 and 1.25 go out. ns-2.35
    // itself sends 12 packets here.
    for (preset, packets) in [("rfc", 20..=30), ("ns2", 12..=12)] {
        let all = queue("avq", values(&[("buffer", 0.0)]), 50, Signal::EcnOnly);
        let mut plan = dumbbell(all, 60.0);
        plan.transports = vec![transport(preset, "newreno", &[("ecn", true)], &[("delayed_ack", 0.0)])];
        plan.traffic = vec![tcp("a", 0, 1, 0.0)];
        let r = go(&plan, 1);
        let c = &r.links[0].windows[0].counters;
        assert_eq!(c.marked() + 1, c.arrivals, "{preset}: all but the SYN");
        assert!(packets.contains(&c.departures), "{preset}: {}", c.departures);
        assert_eq!(c.dropped(), 0);
    }
}

#[test]
fn a_lost_syn_is_sent_again() {
    // Constant-rate traffic at twice the capacity fills the queue until 2 s.
    let mut plan = dumbbell(queue("droptail", ParamValues::new(), 1, Signal::Drop), 60.0);
    plan.links[0].queue.as_mut().expect("it has one").limit = Limit::Packets(1);
    plan.transports = vec![transport("rfc", "sack", &[], &[])];
    let mut flood = cbr("flood", 1, 1, 400_000_000);
    let TrafficKind::Cbr { stop, jitter, .. } = &mut flood.kind else { unreachable!("cbr() makes it") };
    (*stop, *jitter) = (Some(secs(2.0)), Dur::ZERO);
    let mut guest = finite(1, 10);
    let TrafficKind::Tcp { start, .. } = &mut guest.kind else { unreachable!("tcp() makes TCP") };
    *start = secs(0.5);
    plan.traffic = vec![flood, guest];
    let r = go(&plan, 1);
    assert!(r.flows.timeouts[1] >= 1, "{:?}", r.flows);
    assert!(r.flows.end[1] != Time::NEVER && r.flows.end[1] > secs(1.5));
    assert_eq!(r.flows.delivered[1], 14_600);
}

/// RFC 9293, section 3.10.7.4: a segment that is not acceptable is answered with an acknowledgement.
#[test]
fn receivers_answer_late_data_though_their_senders_have_ended() {
    let mut plan = dumbbell(droptail(2000), 30.0);
    // Only queues count packets.
    plan.links[1].queue = Some(droptail(2000));
    // So late that the retransmission has long been acknowledged.
    plan.links[0].pipe.reorder = Some(values(&[("probability", 0.05), ("delay", 5.0)]));
    plan.transports = vec![transport("ns2", "newreno", &[], &[])];
    plan.traffic = vec![finite(100, 20)];
    plan.boundaries = vec![secs(6.0)];
    let r = go(&plan, 1);
    let sum = |link: usize, of: fn(&LinkWindow) -> u64| -> u64 { r.links[link].windows.iter().map(of).sum() };
    let (sent, answers) = (sum(0, |w| w.counters.departures), sum(1, |w| w.counters.arrivals));
    assert_eq!(answers, sent, "an answer to each packet, since none is lost");
    let ended = r.flows.end.iter().filter(|end| **end < secs(6.0)).count();
    let late = r.links[1].windows[1].counters.arrivals;
    assert!(ended > 80 && late > 20, "{late} answers after the end of {ended} flows");
}
