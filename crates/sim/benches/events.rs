//! Pending events: the tournament against a binary heap, in the hold model (take the earliest event,
//! enter the next one of the same source) from 10 to 10^5 sources.

#![allow(missing_docs)] // criterion_group! declares a function without any.

use criterion::{criterion_group, criterion_main, BenchmarkId, Criterion, Throughput};
use events::EventQueue;
use marqueue_core::{Dur, Rng, Time};
use std::cmp::Reverse;
use std::collections::BinaryHeap;

#[path = "../src/events.rs"]
#[allow(dead_code, unused_imports, reason = "the engine's module as it is; the bench uses the queue")]
mod events;

const HOLDS: usize = 10_000;

/// Times to the next event, exponential, mean 1 ms; drawn beforehand.
fn gaps() -> Vec<Dur> {
    let mut rng = Rng::named(1, "gaps");
    (0..HOLDS).map(|_| Dur::from_secs(rng.exponential(1e-3))).collect()
}

fn hold(c: &mut Criterion) {
    let gaps = gaps();
    let mut group = c.benchmark_group("hold");
    group.throughput(Throughput::Elements(HOLDS as u64));
    for n in [10usize, 100, 1000, 10_000, 100_000] {
        let mut tournament = EventQueue::new(n);
        let mut heap = BinaryHeap::new();
        for source in 0..n {
            let time = Time::ZERO + gaps[source % HOLDS];
            tournament.set(source as u32, time);
            heap.push(Reverse((time, source as u32)));
        }
        group.bench_function(BenchmarkId::new("tournament", n), |b| {
            b.iter(|| {
                for &gap in &gaps {
                    let (time, source) = tournament.first().expect("every source has an event");
                    tournament.set(source, time + gap);
                }
            });
        });
        group.bench_function(BenchmarkId::new("binary heap", n), |b| {
            b.iter(|| {
                for &gap in &gaps {
                    let mut first = heap.peek_mut().expect("every source has an event");
                    let Reverse((time, source)) = *first;
                    *first = Reverse((time + gap, source));
                }
            });
        });
    }
    group.finish();
}

criterion_group!(benches, hold);
criterion_main!(benches);
