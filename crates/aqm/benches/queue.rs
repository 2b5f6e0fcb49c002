//! What a packet costs: enqueue and dequeue, timers included, under every algorithm, with fifty packets
//! standing at a 100 Mbit/s link that is just saturated by 1000-byte packets: RED is between its
//! thresholds, AVQ adapts and marks.

#![allow(missing_docs)] // criterion_group! declares a function without any.

use criterion::{criterion_group, criterion_main, BatchSize, Criterion, Throughput};
use marqueue_aqm::{catalogue, Discipline, Env, Limit, Qdisc, Signal};
use marqueue_core::{Bytes, Dur, Ecn, Packet, PolicySpec, Rate, Rng, Time};
use std::hint::black_box;

const STANDING: u32 = 50;
const BATCH: u32 = 10_000;
/// RED's average needs 12500 packets for 1 - 1/e of its way.
const WARM_UP: u32 = 50_000;
const SPACING: Dur = Dur(80_000);

struct Link {
    queue: Discipline,
    now: Time,
    seq: u32,
}

impl Link {
    fn with(name: &str) -> Link {
        let env = Env {
            rate: Rate(100_000_000),
            mean_packet: Bytes(1000),
            limit: Limit::Packets(2 * STANDING),
            delay: Dur(5_000_000),
            signal: Signal::Ecn,
            densities: None,
        };
        let spec = PolicySpec { name: name.into(), params: Default::default() };
        let queue = Discipline::build(&spec, env, Rng::named(1, "bench")).expect("the defaults are valid");
        let mut link = Link { queue, now: Time::ZERO, seq: 0 };
        (0..WARM_UP).for_each(|_| link.packet());
        link
    }

    #[inline]
    fn packet(&mut self) {
        self.now += SPACING;
        while self.queue.next_timer() <= self.now {
            let due = self.queue.next_timer();
            self.queue.on_timer(due);
        }
        self.seq += 1;
        let packet = Packet::data(self.seq % 100, self.seq, 1000).with_ecn(Ecn::Ect0);
        black_box(self.queue.enqueue(self.now, packet));
        if self.queue.len() > STANDING {
            black_box(self.queue.dequeue(self.now));
        }
        self.queue.drain_dropped();
    }
}

fn pairs(c: &mut Criterion) {
    let mut group = c.benchmark_group("enqueue + dequeue");
    group.throughput(Throughput::Elements(u64::from(BATCH)));
    for entry in catalogue() {
        group.bench_function(entry.name, |b| {
            b.iter_batched_ref(
                || Link::with(entry.name),
                |link| (0..BATCH).for_each(|_| link.packet()),
                BatchSize::LargeInput,
            );
        });
    }
    group.finish();
}

criterion_group!(benches, pairs);
criterion_main!(benches);
