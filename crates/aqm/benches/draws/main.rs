//! What m draws cost, as the queue makes them and as its rivals do, at queues of several lengths: for a flow of
//! which no packet waits, and for one that holds a tenth of the queue.

#![allow(missing_docs)] // criterion_group! declares a function without any.

mod rivals;

use criterion::{criterion_group, criterion_main, BenchmarkId, Criterion};
use marqueue_aqm::Buffer;
use marqueue_core::{Packet, Rng, Time};
use std::hint::black_box;
use std::time::Duration;

/// A queue of `len` packets, every tenth of flow 0, the others of flows of their own.
fn packets(len: u32) -> impl Iterator<Item = Packet> {
    (0..len).map(|seq| Packet::data(if seq % 10 == 0 { 0 } else { seq }, seq, 1000))
}

fn draws(c: &mut Criterion) {
    for len in [100, 1_000, 10_000, 100_000] {
        let places: Vec<rivals::Place> = packets(len).map(|packet| (Time::ZERO, packet)).collect();
        let mut buffer = Buffer::default();
        packets(len).for_each(|packet| buffer.push(Time::ZERO, packet));
        for (name, flow) in [("rare", u32::MAX), ("often", 0)] {
            let mut group = c.benchmark_group(format!("queue {len}, match {name}"));
            for m in [1, 2, 4, 8, 16, 32, 64] {
                let mut rng = Rng::named(1, "draws");
                group.bench_with_input(BenchmarkId::new("queue", m), &m, |b, &m| {
                    b.iter(|| black_box(buffer.draw_match(&mut rng, black_box(flow), m).is_some()));
                });
                group.bench_with_input(BenchmarkId::new("serial", m), &m, |b, &m| {
                    b.iter(|| black_box(rivals::serial(&places, &mut rng, black_box(flow), m).is_some()));
                });
                group.bench_with_input(BenchmarkId::new("gathered", m), &m, |b, &m| {
                    b.iter(|| black_box(rivals::gathered(&places, &mut rng, black_box(flow), m).is_some()));
                });
            }
            group.finish();
        }
    }
}

criterion_group! {
    name = benches;
    config = Criterion::default().sample_size(10).warm_up_time(Duration::from_millis(50)).measurement_time(Duration::from_millis(150));
    targets = draws
}
criterion_main!(benches);
