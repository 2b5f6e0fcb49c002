//! Under any sequence of operations every algorithm keeps count of every packet and byte, keeps the order of
//! arrival (a scheduler that of each flow), and settles a signal as the environment says.

use marqueue_aqm::{catalogue, Discipline, Env, Fate, Limit, Qdisc, Signal};
use marqueue_core::{Bytes, Dscp, Dur, Ecn, Packet, PolicySpec, Rate, Rng, Time, Value};
use proptest::prelude::*;

const FLOWS: u32 = 6;

#[derive(Clone, Debug)]
enum Op {
    Enqueue { flow: u32, dscp: Dscp, bytes: u32, ecn: Ecn },
    Burst { count: u32, flows: u32 },
    Dequeue,
    Drain,
    Wait { ns: u64 },
    Rate { bits_per_sec: u64 },
}

fn op() -> impl Strategy<Value = Op> {
    let ecn = prop_oneof![Just(Ecn::NotEct), Just(Ecn::Ect), Just(Ecn::Ce)];
    prop_oneof![
        6 => (0..FLOWS, 0u8..64, 1u32..3000, ecn)
            .prop_map(|(flow, dscp, bytes, ecn)| Op::Enqueue { flow, dscp: Dscp::from_bits(dscp), bytes, ecn }),
        1 => (1u32..60, 1..=FLOWS).prop_map(|(count, flows)| Op::Burst { count, flows }),
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
    /// The number that the next departure has at least; of a scheduler's, by flow.
    next: [u32; FLOWS as usize],
    /// Does it keep the order of each flow only?
    schedules: bool,
    lost: u64,
}

impl Watch {
    fn enqueue(&mut self, flow: u32, dscp: Dscp, bytes: u32, ecn: Ecn) {
        let signal = self.queue.env_mut().signal;
        let packet = Packet { ecn, dscp, ..Packet::data(flow, self.arrived, bytes) };
        self.arrived += 1;
        let fate = self.queue.enqueue(self.now, packet);
        let may_mark = signal != Signal::Drop && ecn != Ecn::NotEct;
        assert!(fate != Fate::Marked || may_mark, "{signal:?} marked {ecn:?}");
        self.collect();
    }

    fn dequeue(&mut self) -> bool {
        let packet = self.queue.dequeue(self.now).map(|(p, _)| p);
        if let Some(p) = packet {
            let next = &mut self.next[if self.schedules { p.flow as usize } else { 0 }];
            assert!(p.seq >= *next && p.seq < self.arrived, "packet {} left out of order", p.seq);
            *next = p.seq + 1;
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
            Op::Enqueue { flow, dscp, bytes, ecn } => self.enqueue(flow, dscp, bytes, ecn),
            Op::Burst { count, flows } => {
                (0..count).for_each(|i| self.enqueue(i % flows, Dscp::default(), 1000, Ecn::Ect))
            }
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

const SCHEDULERS: [&str; 4] = ["sfq", "drr", "wfq", "fq_codel"];

/// Settings under which short queues and few packets see all of an algorithm. (Those of `wfq` and `drr`: a
/// queue a flow. By code point the packets of a flow that changes its own need not leave in order.)
fn busy_settings() -> Vec<PolicySpec> {
    let thresholds = [("l_th", 2.0), ("l_minus", 4.0), ("l_plus", 6.0), ("p_plus", 0.5), ("p_minus", 0.25)];
    let weights = Value::Table([("AF11".to_string(), 2.0), ("46".to_string(), 3.5)].into());
    let chokew = |name: &str, more: &[(&str, Value)]| {
        let numbers = thresholds.iter().map(|(k, v)| (k.to_string(), Value::Number(*v)));
        let more = more.iter().map(|(k, v)| (k.to_string(), v.clone()));
        let params = numbers.chain(more).chain([("weights".to_string(), weights.clone())]).collect();
        PolicySpec { name: name.into(), params }
    };
    let spec = |name: &str, more: &[(&str, Value)]| PolicySpec {
        name: name.into(),
        params: more.iter().map(|(k, v)| (k.to_string(), v.clone())).collect(),
    };
    let (one, bytes) = (Value::Number(1.0), Value::Choice("bytes".into()));
    vec![
        chokew("chokew", &[]),
        chokew("chokew", &[("mode", bytes.clone())]),
        chokew("chokew-id", &[("ids", Value::Number(3.0))]),
        chokew("chokew-avg", &[("w_q", one.clone())]),
        chokew("chokew-red", &[("w_q", one.clone()), ("min_th", one.clone()), ("max_th", Value::Number(5.0))]),
        spec("choke", &[("w_q", one.clone()), ("min_th", one.clone()), ("max_th", Value::Number(20.0))]),
        spec("drr", &[("weights", weights.clone()), ("quantum", Value::Number(300.0))]),
        spec("wfq", &[("weights", weights.clone())]),
        spec("fq_codel", &[("queues", Value::Number(4.0)), ("quantum", Value::Number(300.0))]),
        spec("sfq", &[("queues", Value::Number(4.0))]),
    ]
}

/// Every algorithm with its defaults, and those of this file's settings; each also in AVQ's virtual queue.
fn policies() -> Vec<PolicySpec> {
    let names = catalogue().into_iter().map(|e| e.name);
    let defaults = names.map(|n| PolicySpec { name: n.into(), params: Default::default() });
    let plain: Vec<_> = defaults.chain(busy_settings()).collect();
    let inside = plain.iter().map(|inner| PolicySpec {
        name: "avq-inner".into(),
        params: [("inner".to_string(), Value::Policy(inner.clone()))].into(),
    });
    plain.iter().cloned().chain(inside).collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(100))]

    #[test]
    fn packets_and_bytes_are_conserved_and_leave_in_order(
        ops in proptest::collection::vec(op(), 1..200),
        env in env(),
        seed in any::<u64>(),
    ) {
        for spec in policies() {
            let queue = Discipline::build(&spec, env.clone(), Rng::named(seed, "queue")).unwrap();
            let schedules = SCHEDULERS.contains(&spec.name.as_str());
            let mut watch = Watch { queue, now: Time::ZERO, arrived: 0, next: [0; FLOWS as usize], schedules, lost: 0 };
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
