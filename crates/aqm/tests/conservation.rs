//! Under any sequence of operations every algorithm keeps count of every packet and byte, keeps the
//! order of arrival, and settles a signal as the environment says.

mod common;

use common::{Op, Watch};
use marqueue_aqm::{catalogue, Discipline, Env, Limit, Signal};
use marqueue_core::{Bytes, Dur, Ecn, PolicySpec, Rate, Rng};
use proptest::prelude::*;

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
            let mut watch = Watch::new(queue);
            for op in &ops {
                watch.apply(op);
            }
            watch.finish();
        }
    }
}
