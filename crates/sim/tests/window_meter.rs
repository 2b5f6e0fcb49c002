//! Sampled windows equal those of traces, and sampling changes nothing.

mod common;

use common::*;
use marqueue_aqm::Signal;
use marqueue_core::Time;
use marqueue_sim::plan::*;
use marqueue_sim::result::{RunResult, SenderTrace};

/// Unlimited and finite flows, all traced, that share a link with others.
fn plan(sample_cwnd: bool) -> Plan {
    let red = queue("red", values(&[("min_th", 10.0), ("max_th", 30.0)]), 60, Signal::Ecn);
    let mut plan = Dumbbell {
        rate: 5_000_000,
        access: 100_000_000,
        bottleneck_delay: 5.0,
        destination_delay: 1.0,
        rtts: vec![40.0, 70.0],
        queue: red,
    }
    .plan(8.0);
    plan.transports = vec![ns2("newreno", true)];
    plan.traffic = vec![tcp("endless", 0, 4, 1.0), tcp("short", 1, 3, 5.0), tcp("others", 1, 2, 1.0)];
    for (traffic, packets) in plan.traffic.iter_mut().zip([None, Some(200)]) {
        let TrafficKind::Tcp { trace, size, sample_cwnd: sampled, .. } = &mut traffic.kind else { unreachable!() };
        (*trace, *size, *sampled) = (true, packets, sample_cwnd);
    }
    plan.boundaries = vec![secs(2.0), secs(5.0)];
    plan.sample = ms(20.0);
    plan
}

/// The window of a traced sender at `t`; 0 before its start and after its end.
fn window(r: &RunResult, s: &SenderTrace, t: f64) -> f64 {
    let end = r.flows.end[s.flow as usize];
    if end != Time::NEVER && end.secs() <= t {
        return 0.0;
    }
    s.rows.iter().rev().find(|(at, _)| at.secs() <= t).map_or(0.0, |(_, shown)| shown.cwnd)
}

#[test]
fn sums_and_variances_equal_those_of_traces() {
    let r = go(&plan(true), 1);
    assert_eq!(r.cwnds.iter().map(|c| c.group).collect::<Vec<_>>(), [0, 1]);
    assert!(r.flows.end.iter().any(|&end| end < secs(8.0)), "some end");
    for cwnd in &r.cwnds {
        assert_eq!(cwnd.t.len(), 400);
        let senders: Vec<_> =
            r.senders.iter().filter(|s| r.flows.group[s.flow as usize] as usize == cwnd.group).collect();
        for (&t, &sum) in cwnd.t.iter().zip(&cwnd.sum) {
            let traced: f64 = senders.iter().map(|s| window(&r, s, t)).sum();
            assert!((sum - traced).abs() < 1e-9, "at {t} s: {sum}, traced {traced}");
        }
        for (&variance, (from, to)) in cwnd.variances.iter().zip([(0.0, 2.0), (2.0, 5.0), (5.0, 8.0)]) {
            let inside = |t: &&f64| from < **t && **t <= to;
            let of = |s: &&&SenderTrace| {
                let w: Vec<f64> = cwnd.t.iter().filter(inside).map(|&t| window(&r, s, t)).collect();
                let mean = w.iter().sum::<f64>() / w.len() as f64;
                w.iter().map(|x| (x - mean) * (x - mean)).sum::<f64>() / w.len() as f64
            };
            let traced: f64 = senders.iter().map(|s| of(&s)).sum();
            assert!((variance - traced).abs() < 1e-6 * traced.max(1.0), "{variance}, traced {traced}");
        }
    }
}

#[test]
fn sampling_changes_nothing() {
    let [with, without] = [true, false].map(|sampled| go(&plan(sampled), 1));
    let seen = |r: &RunResult| format!("{:?} {:?} {:?} {}", r.links, r.flows, r.senders, r.events);
    assert!(seen(&with) == seen(&without));
    assert!(without.cwnds.is_empty());
}
