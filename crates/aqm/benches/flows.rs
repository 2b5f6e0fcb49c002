//! What a packet costs under CHOKeW (ten draws an arrival) by the number of flows and by the length of the queue;
//! drop-tail and per-flow schedulers beside it.

#![allow(missing_docs)] // criterion_group! declares a function without any.

use criterion::{criterion_group, criterion_main, BatchSize, BenchmarkId, Criterion, Throughput};
use marqueue_aqm::{Discipline, Env, Limit, Qdisc, Signal};
use marqueue_core::{Bytes, Dur, Packet, ParamValues, PolicySpec, Rate, Rng, Time, Value};
use std::hint::black_box;

const BATCH: u32 = 10_000;
const SPACING: Dur = Dur(80_000);

struct Link {
    queue: Discipline,
    standing: u32,
    flows: u32,
    now: Time,
    seq: u32,
}

impl Link {
    /// A queue that has stood at `standing` packets for a while, once been one longer, and is fed by so many
    /// flows in turn.
    fn new(name: &str, standing: u32, flows: u32) -> Link {
        let env = Env {
            rate: Rate(100_000_000),
            mean_packet: Bytes(1000),
            limit: Limit::Packets(2 * standing),
            delay: Dur(5_000_000),
            signal: Signal::Drop,
            densities: None,
        };
        let l = f64::from(standing);
        // p0 = 10, and stays: the queue is never longer again than at the start.
        let chokew = [("l_th", 0.5 * l), ("l_minus", 0.6 * l), ("l_plus", l + 1.5), ("p_plus", 10.0), ("p_minus", 0.0)];
        let params = match name {
            "chokew" => chokew.iter().map(|(k, v)| (k.to_string(), Value::Number(*v))).collect(),
            _ => ParamValues::new(),
        };
        let spec = PolicySpec { name: name.into(), params };
        let queue = Discipline::build(&spec, env, Rng::named(1, "flows")).expect("valid parameters");
        let mut link = Link { queue, standing, flows, now: Time::ZERO, seq: 0 };
        (0..standing + 2).for_each(|_| link.arrive());
        (0..2).for_each(|_| assert!(link.queue.dequeue(link.now).is_some()));
        (0..2 * standing.max(flows.min(10_000))).for_each(|_| link.packet());
        link
    }

    #[inline]
    fn arrive(&mut self) {
        self.seq += 1;
        // A stride that visits all flows, far from each other.
        let flow = (u64::from(self.seq) * 7_368_787 % u64::from(self.flows)) as u32;
        black_box(self.queue.enqueue(self.now, Packet::data(flow, self.seq, 1000)));
    }

    #[inline]
    fn packet(&mut self) {
        self.now += SPACING;
        self.arrive();
        if self.queue.len() > self.standing {
            black_box(self.queue.dequeue(self.now));
        }
        self.queue.drain_dropped();
    }
}

fn measure(c: &mut Criterion, group: &str, cases: &[(&str, u32, u32, u32)]) {
    let mut group = c.benchmark_group(group);
    group.throughput(Throughput::Elements(u64::from(BATCH)));
    for &(name, x, standing, flows) in cases {
        group.bench_function(BenchmarkId::new(name, x), |b| {
            b.iter_batched_ref(
                || Link::new(name, standing, flows),
                |link| (0..BATCH).for_each(|_| link.packet()),
                BatchSize::LargeInput,
            );
        });
    }
    group.finish();
}

fn by_flows(c: &mut Criterion) {
    for name in ["chokew", "droptail", "drr", "wfq"] {
        let cases = [10, 100, 1_000, 10_000, 100_000, 1_000_000].map(|flows| (name, flows, 150, flows));
        measure(c, "flows", &cases);
    }
}

fn by_length(c: &mut Criterion) {
    for name in ["chokew", "droptail", "drr", "wfq"] {
        let cases = [100, 1_000, 10_000, 100_000].map(|length| (name, length, length, 1_000_000));
        measure(c, "queue length", &cases);
    }
}

criterion_group!(benches, by_flows, by_length);
criterion_main!(benches);
