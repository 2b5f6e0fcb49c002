//! Tests of rate-based flows under AIMD: throughput, fairness, and behaviour without feedback.

mod common;

use common::*;
use marqueue_aqm::Signal;
use marqueue_core::params::ParamValues;
use marqueue_core::{Bytes, Rate, Time};
use marqueue_sim::plan::*;
use marqueue_sim::result::RunResult;

/// A paced flow that starts at `rate` bit/s in packets of 1000 bytes.
fn paced(name: &str, rate: u64, ecn: bool, law: &[(&str, f64)]) -> TrafficPlan {
    let kind = TrafficKind::Paced {
        control: policy("aimd", values(law)),
        route: 0,
        count: 1,
        rate: Rate(rate),
        packet: Bytes(1000),
        ecn,
        start: Time::ZERO,
        jitter: ms(100.0),
        stop: None,
        trace: false,
    };
    TrafficPlan { name: name.into(), dscp: 0, class: 0, kind }
}

fn plan(rate: u64, queue: QueuePlan, duration: f64, traffic: Vec<TrafficPlan>) -> Plan {
    let mut plan = Dumbbell {
        rate,
        access: 1_000_000_000,
        bottleneck_delay: 5.0,
        destination_delay: 5.0,
        rtts: vec![40.0],
        queue,
    }
    .plan(duration);
    plan.boundaries = vec![secs(duration / 4.0)];
    plan.traffic = traffic;
    plan
}

fn droptail(limit: u32) -> QueuePlan {
    queue("droptail", ParamValues::new(), limit, Signal::Drop)
}

/// The receiving rate after the first quarter of the run, packets/s.
fn rate(r: &RunResult, flow: usize) -> f64 {
    r.flows.delivered[2 * flow + 1] as f64 / 1000.0 / (r.edges[2] - r.edges[1]).secs()
}

#[test]
fn the_rate_under_periodic_loss_is_that_of_the_sawtooth() {
    // A cut is late by the feedback delay, and the rate does not grow in the interval of the cut. The error is about
    // one interval of a sawtooth.
    for (alpha, beta, interval, every) in
        [(10.0, 0.5, 0.2, 5000.0), (2.0, 0.8, 0.1, 5000.0), (5.0, 0.5, 0.05, 2000.0), (40.0, 0.3, 0.5, 10_000.0)]
    {
        let law = [("alpha", alpha), ("beta", beta), ("interval", interval)];
        let mut plan = plan(100_000_000, droptail(1000), 600.0, vec![paced("one", 800_000, false, &law)]);
        plan.links[0].pipe.loss = Some(policy("periodic", values(&[("every", every)])));
        let r = go(&plan, 1);
        let peak_to_mean = 2.0 / (1.0 + beta);
        let law = (alpha * (1.0 + beta) * every / (2.0 * (1.0 - beta) * interval)).sqrt();
        let intervals = (1.0 - beta) * law * peak_to_mean / alpha;
        let error = rate(&r, 0) / law - 1.0;
        assert!(error.abs() < 1.0 / intervals, "{} packets/s, {law} by the law, {intervals} intervals", rate(&r, 0));
        assert_eq!(r.links[0].windows[1].counters.dropped(), 0);
    }
}

#[test]
fn two_flows_converge_to_equal_rates() {
    let red = || queue("red", values(&[("min_th", 10.0), ("max_th", 40.0)]), 100, Signal::Ecn);
    for (what, queue, ecn) in [("marks", red(), true), ("losses", red(), false), ("a full buffer", droptail(40), false)]
    {
        let traffic = vec![paced("small", 100_000, ecn, &[]), paced("large", 7_000_000, ecn, &[])];
        let r = go(&plan(8_000_000, queue, 400.0, traffic), 1);
        let (a, b) = (rate(&r, 0), rate(&r, 1));
        assert!((a / b - 1.0).abs() < 0.06, "{what}: {a} and {b} packets/s");
        let used = utilization(&r.links[0].windows[1]);
        assert!(used > 0.75, "{what}: {used}");
        assert_eq!(ecn, r.links[0].windows[1].counters.marked() > 0, "{what}");
        assert_eq!(ecn, r.flows.ecn_cuts.iter().all(|&cuts| cuts > 0), "{what}");
    }
}

#[test]
fn a_round_trip_of_congestion_cuts_once() {
    // Bursts of losses at a rate far above the capacity. At most one cut a round trip keeps the rate from falling to
    // zero.
    let traffic = vec![paced("one", 4_000_000, false, &[])];
    let mut plan = plan(100_000_000, droptail(1000), 400.0, traffic);
    plan.links[0].pipe.loss = Some(policy("gilbert", values(&[("to_bad", 0.0002), ("to_good", 0.1)])));
    let r = go(&plan, 1);
    let w = &r.pipes[0].windows[1];
    // One loss event in each bad period, p = 1/5000 a packet. The sawtooth has the mean sqrt(1.5/p)/RTT.
    let law = (1.5f64 / 0.0002).sqrt() / 0.04;
    let got = w.packets as f64 / 300.0;
    assert!((got / law - 1.0).abs() < 0.15, "{got} packets/s, {law} with one cut a burst");
    assert!(w.lost > 8 * w.packets / 5000, "bursts of ten");
}

#[test]
fn a_sender_without_feedback_slows_down() {
    let mut plan = plan(100_000_000, droptail(1000), 100.0, vec![paced("one", 800_000, false, &[])]);
    plan.links[1].pipe.loss = Some(policy("random", values(&[("probability", 1.0)])));
    let r = go(&plan, 1);
    // 100 packets/s for 2 s, 50 packets/s after that, and so on: 400 packets, and a few at the lowest rate.
    assert!((395..420).contains(&r.flows.sent[0]), "{}", r.flows.sent[0]);
    assert!(r.flows.timeouts[0] > 7, "{}", r.flows.timeouts[0]);
}

#[test]
fn lost_reports_do_not_count_as_congestion() {
    let law = [("interval", 0.2), ("alpha", 10.0)];
    let sent = |loss: f64| {
        let mut plan = plan(100_000_000, droptail(1000), 60.0, vec![paced("one", 800_000, false, &law)]);
        plan.links[1].pipe.loss = Some(policy("random", values(&[("probability", loss)])));
        go(&plan, 1).flows.sent[0]
    };
    let (clear, lossy) = (sent(0.0) as f64, sent(0.3) as f64);
    // The rate grows by 50 packets/s each second from 100 on.
    assert!((clear / (100.0 * 60.0 + 25.0 * 3600.0) - 1.0).abs() < 0.02, "{clear}");
    assert!((lossy / clear - 1.0).abs() < 0.02, "{lossy} against {clear}");
}

#[test]
fn a_stopped_flow_sends_nothing() {
    let mut plan = plan(100_000_000, droptail(1000), 20.0, vec![paced("one", 800_000, false, &[("alpha", 1e-6)])]);
    let TrafficKind::Paced { stop, jitter, .. } = &mut plan.traffic[0].kind else { unreachable!("paced() paces") };
    (*stop, *jitter) = (Some(secs(9.999)), ms(0.0));
    let r = go(&plan, 1);
    // 100 packets/s from 0 s on, with almost no growth.
    assert_eq!(r.flows.sent[0], 1000);
    assert_eq!(r.flows.delivered.iter().sum::<u64>(), 1_000_000);
}
