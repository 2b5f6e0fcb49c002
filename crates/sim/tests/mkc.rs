//! Max-min Kelly control by packets, against the closed forms of Zhang, Kang and Loguinov, SIGCOMM 2004.

mod common;

use common::*;
use marqueue_aqm::Signal;
use marqueue_core::{Bytes, Rate, Time};
use marqueue_sim::plan::*;
use marqueue_sim::result::{PacedTrace, RunResult};

/// Size of packets, bytes, and the rate of the paper's link, bit/s: Figures 10 to 12.
const PACKET: u64 = 200;
const C: u64 = 10_000_000;
const ALPHA: f64 = 100_000.0;
const BETA: f64 = 0.9;

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

/// A router of 200 packets that measures for `delta` ms.
fn router(delta: f64) -> QueuePlan {
    let queue = queue("mkc", values(&[("delta", delta / 1e3)]), 200, Signal::Drop);
    QueuePlan { mean_packet: Bytes(PACKET), ..queue }
}

fn dumbbell(rtts: Vec<f64>, delta: f64, duration: f64, traffic: Vec<TrafficPlan>) -> Plan {
    let mut plan = Dumbbell {
        rate: C,
        access: 1_000_000_000,
        bottleneck_delay: 5.0,
        destination_delay: 5.0,
        rtts,
        queue: router(delta),
    }
    .plan(duration);
    plan.traffic = traffic;
    plan
}

/// The mean rate of a traced flow over the last `seconds` of a run, bit/s.
fn mean_rate(r: &RunResult, trace: &PacedTrace, seconds: f64) -> f64 {
    let end = *r.edges.last().unwrap();
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

#[test]
fn n_flows_settle_at_the_fixed_point_whatever_their_delays() {
    for n in [1u32, 2, 4, 8] {
        let rtts: Vec<f64> = (0..n).map(|i| 50.0 + 10.0 * f64::from(i)).collect();
        let flows = (0..n).map(|i| flow(&format!("{i}"), "emkc", i as usize, 0.5 * f64::from(i))).collect();
        let mut plan = dumbbell(rtts, 50.0, 120.0, flows);
        plan.boundaries = vec![secs(100.0)];
        let r = go(&plan, 1);
        let expected = C as f64 / f64::from(n) + ALPHA / BETA;
        for trace in &r.paced {
            let error = mean_rate(&r, trace, 20.0) / expected - 1.0;
            println!("n {n} flow {} error {error}", trace.flow);
        }
        let lossy = f64::from(n) * ALPHA / (C as f64 * BETA + f64::from(n) * ALPHA);
        let counters = &r.links[0].windows[1].counters;
        println!("loss {} expected {lossy}", counters.dropped() as f64 / counters.arrivals as f64);
    }
}

#[test]
fn figures_10_and_11() {
    for law in ["emkc_naive", "emkc"] {
        for rtt in [20.0, 30.0, 50.0, 70.0, 100.0] {
            let r = go(&dumbbell(vec![rtt], 50.0, 10.0, vec![flow("one", law, 0, 0.0)]), 1);
            let rates: Vec<(f64, f64, f64)> = r.paced[0]
                .rows
                .iter()
                .map(|&(t, (x, p))| (t.secs(), x * 1600.0 / 1e6, p.unwrap_or(f64::NAN)))
                .collect();
            println!("{law} {rtt}: {:.3?}", &rates[..rates.len().min(14)]);
            println!("max {:.3}", rates.iter().map(|r| r.1).fold(0.0, f64::max));
        }
    }
}
