//! Under any sequence of operations every algorithm keeps count of every packet and byte, keeps the
//! order of arrival, and settles a signal as the environment says.

use marqueue_aqm::{catalogue, Discipline, Env, Fate, Limit, Qdisc, Signal};
use marqueue_core::{Bytes, Dur, Ecn, Packet, PolicySpec, Rate, Rng, Time};
use proptest::prelude::*;

#[derive(Clone, Debug)]
enum Op {
    Enqueue { bytes: u32, ecn: Ecn },
    Burst { count: u32 },
    Dequeue,
    Drain,
    Wait { ns: u64 },
    Rate { bits_per_sec: u64 },
}

fn op() -> impl Strategy<Value = Op> {
    let ecn = prop_oneof![Just(Ecn::NotEct), Just(Ecn::Ect), Just(Ecn::Ce)];
    prop_oneof![
        6 => (1u32..3000, ecn).prop_map(|(bytes, ecn)| Op::Enqueue { bytes, ecn }),
        1 => (1u32..60).prop_map(|count| Op::Burst { count }),
        5 => Just(Op::Dequeue),
        1 => Just(Op::Drain),
        4 => (0u64..20_000_000).prop_map(|ns| Op::Wait { ns }),
        1 => (0u64..2_000_000_000).prop_map(|ns| Op::Wait { ns }),
        1 => (8_000u64..1_000_000_000).prop_map(|bits_per_sec| Op::Rate { bits_per_sec }),
    ]
}

fn env() -> impl Strategy<Value = Env> {
    let limit = prop_oneof![(0u32..60).prop_map(Limit::Packets), (0u64..60_000).prop_map(Limit::Bytes)];
    let signal = prop_oneof![Just(Signal::Drop), Just(Signal::Ecn), Just(Signal::EcnOnly)];
    (limit, signal, 8_000u64..1_000_000_000, 40u64..1500).prop_map(|(limit, signal, rate, mean)| Env {
        rate: Rate(rate),
        mean_packet: Bytes(mean),
        limit,
        delay: Dur(5_000_000),
        signal,
    })
}

/// A queue and what has been seen of it.
struct Watch {
    queue: Discipline,
    now: Time,
    arrived: u32,
    /// The number that the next departure has at least.
    next: u32,
    lost: u64,
}

impl Watch {
    fn enqueue(&mut self, bytes: u32, ecn: Ecn) {
        let signal = self.queue.env_mut().signal;
        let packet = Packet { ecn, ..Packet::data(0, self.arrived, bytes) };
        self.arrived += 1;
        let fate = self.queue.enqueue(self.now, packet);
        let may_mark = signal != Signal::Drop && ecn != Ecn::NotEct;
        assert!(fate != Fate::Marked || may_mark, "{signal:?} marked {ecn:?}");
        self.collect();
    }

    fn dequeue(&mut self) -> bool {
        let packet = self.queue.dequeue(self.now).map(|(p, _)| p);
        if let Some(p) = packet {
            assert!(p.seq >= self.next && p.seq < self.arrived, "packet {} left out of order", p.seq);
            self.next = p.seq + 1;
        }
        self.collect();
        packet.is_some()
    }

    fn collect(&mut self) {
        self.lost += self.queue.drain_lost().count() as u64;
        assert_eq!(self.lost, self.queue.counters().dropped());
        assert!(self.queue.conserves());
    }

    fn wait(&mut self, ns: u64) {
        self.now += Dur(ns);
        while self.queue.next_timer() <= self.now {
            let due = self.queue.next_timer();
            self.queue.on_timer(due);
            assert!(self.queue.next_timer() > due, "a timer that does not move on");
        }
    }

    fn apply(&mut self, op: &Op) {
        match *op {
            Op::Enqueue { bytes, ecn } => self.enqueue(bytes, ecn),
            Op::Burst { count } => (0..count).for_each(|_| self.enqueue(1000, Ecn::Ect)),
            Op::Dequeue => drop(self.dequeue()),
            Op::Drain => while self.dequeue() {},
            Op::Wait { ns } => self.wait(ns),
            Op::Rate { bits_per_sec } => self.queue.env_mut().rate = Rate(bits_per_sec),
        }
        let mut values = Vec::new();
        self.queue.probe(self.now, &mut values);
        assert_eq!(values.len(), self.queue.probes().len());
        assert!(values.iter().all(|v| v.is_finite() && *v >= 0.0), "{:?} = {values:?}", self.queue.probes());
    }
}

/// Every algorithm with its defaults, and every one inside AVQ's virtual queue.
fn policies() -> Vec<PolicySpec> {
    let names = catalogue().into_iter().map(|e| e.name);
    let plain: Vec<_> = names.map(|n| PolicySpec { name: n.into(), params: Default::default() }).collect();
    let inside = plain.iter().map(|inner| PolicySpec {
        name: "avq-inner".into(),
        params: [("inner".to_string(), marqueue_core::Value::Policy(inner.clone()))].into(),
    });
    plain.iter().cloned().chain(inside).collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn packets_and_bytes_are_conserved_and_leave_in_order(
        ops in proptest::collection::vec(op(), 1..200),
        env in env(),
        seed in any::<u64>(),
    ) {
        for spec in policies() {
            let queue = Discipline::build(&spec, env.clone(), Rng::named(seed, "queue")).unwrap();
            let mut watch = Watch { queue, now: Time::ZERO, arrived: 0, next: 0, lost: 0 };
            for op in &ops {
                watch.apply(op);
            }
            while watch.dequeue() {}
            prop_assert!(watch.queue.is_empty());
            prop_assert_eq!(watch.queue.bytes(), 0);
            let c = watch.queue.counters();
            prop_assert_eq!(c.arrivals, u64::from(watch.arrived));
            prop_assert_eq!(c.arrivals, c.departures + c.dropped());
        }
    }
}
