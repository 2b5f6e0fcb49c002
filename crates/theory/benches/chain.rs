//! Time of a step of the chain for different numbers of flows.

#![allow(missing_docs)] // criterion_group! declares a function without any.

use criterion::{criterion_group, criterion_main, BenchmarkId, Criterion};
use marqueue_core::curve::{MarkingCurve, ScaledCurve};
use marqueue_theory::chain::{Chain, Class, Queue, Setup};

fn steps(c: &mut Criterion) {
    for (name, queue) in [("mm1", Queue::Mm1), ("md1", Queue::Md1)] {
        let mut group = c.benchmark_group(format!("round trip, {name}"));
        for flows in [1_000, 1_000_000, 1_000_000_000u64] {
            group.bench_with_input(BenchmarkId::from_parameter(flows), &flows, |b, &flows| {
                let mut chain = chain(flows, queue);
                (0..1000).for_each(|_| {
                    chain.step();
                });
                b.iter(|| chain.step());
            });
        }
    }
}

fn chain(flows: u64, queue: Queue) -> Chain {
    let curve = MarkingCurve::parse("red:2:10:0.2").expect("a curve");
    let curve = ScaledCurve::new(curve, flows as f64, 0.2, 0.3, 12.0);
    let classes = vec![Class { flows, slots: 1 }];
    Chain::new(Setup { curve, queue, classes, slots: 1, ct: 25.0, max_window: 100 }, 1, "chain")
}

criterion_group!(benches, steps);
criterion_main!(benches);
