//! Times whole runs of the three dumbbells of `make bench-peers`, per packet through the bottleneck.

#![allow(missing_docs)] // criterion_group! declares a function without any.

#[path = "../tests/common/mod.rs"]
mod common;

use common::*;
use criterion::{criterion_group, criterion_main, Criterion, Throughput};
use marqueue_aqm::Signal;
use marqueue_core::params::{ParamValues, Value};
use marqueue_core::Bytes;
use marqueue_sim::plan::{Plan, QueuePlan, TransportPlan};

fn red(min_th: f64, max_th: f64) -> ParamValues {
    values(&[("min_th", min_th), ("max_th", max_th), ("w_q", 0.002)])
}

/// Five classes of `flows` long flows each.
fn dumbbell(rate: u64, queue: QueuePlan, transport: TransportPlan, flows: u32, jitter: f64, duration: f64) -> Plan {
    let mut plan = Dumbbell {
        rate,
        access: (10 * rate).max(1_000_000_000),
        bottleneck_delay: 5.0,
        destination_delay: 5.0,
        rtts: vec![40.0, 60.0, 80.0, 100.0, 130.0],
        queue,
    }
    .plan(duration);
    plan.transports = vec![transport];
    plan.traffic = (0..5).map(|class| tcp(&format!("class {class}"), class, flows, jitter)).collect();
    plan
}

/// 100 Mbit/s, 1000 Reno flows with ECN, RED, packets of 500 bytes, 50 s.
fn reno_under_red() -> Plan {
    let mut queue = queue("red", red(100.0, 300.0), 500, Signal::Ecn);
    queue.mean_packet = Bytes(500);
    let mut transport = ns2("reno", true);
    transport.params.insert("segment".into(), Value::Number(500.0));
    dumbbell(100_000_000, queue, transport, 200, 5.0, 50.0)
}

/// 1 Gbit/s, 1000 SACK flows, RED that drops, 20 s.
fn sack_under_red() -> Plan {
    let queue = queue("red", red(500.0, 1500.0), 2500, Signal::Drop);
    dumbbell(1_000_000_000, queue, ns2("sack", false), 200, 5.0, 20.0)
}

/// 10 Mbit/s, 180 Reno flows with ECN, AVQ, 200 s.
fn reno_under_avq() -> Plan {
    let mut params = values(&[("initial", 0.8)]);
    params.insert("mode".into(), Value::Choice("packets".into()));
    dumbbell(10_000_000, queue("avq", params, 100, Signal::EcnOnly), ns2("reno", true), 36, 1.0, 200.0)
}

fn runs(c: &mut Criterion) {
    let mut group = c.benchmark_group("run");
    group.sample_size(10);
    for (name, plan) in [("i", reno_under_red()), ("ii", sack_under_red()), ("iii", reno_under_avq())] {
        group.throughput(Throughput::Elements(go(&plan, 1).links[0].windows[0].counters.departures));
        group.bench_function(name, |b| b.iter(|| go(&plan, 1)));
    }
    group.finish();
}

criterion_group!(benches, runs);
criterion_main!(benches);
