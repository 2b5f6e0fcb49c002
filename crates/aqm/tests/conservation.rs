//! Every algorithm under random operations: packets and bytes are conserved, packets leave in the order of arrival
//! (under a scheduler, those of each flow), and signals are marks or drops as the environment says.

mod common;

use common::{Op, Watch};
use marqueue_aqm::{catalogue, Densities, Discipline, Env, Limit, Signal};
use marqueue_core::{Bytes, Dscp, Dur, Ecn, PolicySpec, Rate, Rng, Value};
use proptest::prelude::*;

const FLOWS: u32 = 6;

fn op() -> impl Strategy<Value = Op> {
    let ecn = prop_oneof![Just(Ecn::NotEct), Just(Ecn::Ect0), Just(Ecn::Ect1), Just(Ecn::Ce)];
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
    let densities = prop_oneof![Just(None), Just(Some(Box::new(Densities::new(vec![0.0, 0.25, 8.0], 1.5, None)))),];
    let numbers = (8_000u64..1_000_000_000, 40u64..1500);
    (limit, signal, numbers, densities).prop_map(|(limit, signal, (rate, mean), densities)| Env {
        rate: Rate(rate),
        mean_packet: Bytes(mean),
        limit,
        delay: Dur(5_000_000),
        signal,
        densities,
    })
}

/// Parameters with which short queues and few packets reach all branches of an algorithm.
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
    let pie = |estimate: &str, more: &[(&str, Value)]| {
        let given = [
            ("delay_estimate", Value::Choice(estimate.into())),
            ("alpha", Value::Number(1e4)),
            ("max_burst", Value::Number(0.0)),
        ];
        spec("pie", &[&given[..], more].concat())
    };
    let dualpi2 = |more: &[(&str, Value)]| spec("dualpi2", &[&[("beta", Value::Number(1e3))], more].concat());
    let (one, bytes) = (Value::Number(1.0), Value::Choice("bytes".into()));
    vec![
        chokew("chokew", &[]),
        chokew("chokew", &[("mode", bytes.clone())]),
        chokew("chokew_id", &[("ids", Value::Number(3.0))]),
        chokew("chokew_avg", &[("w_q", one.clone())]),
        chokew("chokew_red", &[("w_q", one.clone()), ("min_th", one.clone()), ("max_th", Value::Number(5.0))]),
        spec("choke", &[("w_q", one.clone()), ("min_th", one.clone()), ("max_th", Value::Number(20.0))]),
        spec("drq", &[("w_q", one.clone()), ("min_th", one.clone()), ("max_th", Value::Number(20.0))]),
        spec("drr", &[("weights", weights.clone()), ("quantum", Value::Number(300.0))]),
        spec("wfq", &[("weights", weights.clone())]),
        spec("fq_codel", &[("queues", Value::Number(4.0)), ("quantum", Value::Number(300.0))]),
        spec(
            "fq_codel",
            &[
                ("queues", Value::Number(4.0)),
                ("target", Value::Number(1e-6)),
                ("interval", Value::Number(1e-5)),
                ("occupancy", Value::Choice("per_queue".into())),
                ("overflow_unit", bytes.clone()),
            ],
        ),
        pie("timestamps", &[("mode", bytes.clone()), ("decay", Value::Choice("low_delay".into()))]),
        pie("dequeue_rate", &[("activation", Value::Number(0.3)), ("accumulate_in_burst", Value::Flag(false))]),
        pie("link_rate", &[("derandomization", Value::Flag(false)), ("cap_adjustment", Value::Flag(false))]),
        spec("sfq", &[("queues", Value::Number(4.0))]),
        spec("scaled", &[("flows", one.clone())]),
        spec("step", &[("packets", Value::Number(3.0)), ("not_ect", Value::Choice("drop".into()))]),
        spec("ared", &[("w_q", one.clone()), ("min_th", one.clone()), ("max_th", Value::Number(20.0))]),
        spec("pi2", &[("beta", Value::Number(1e3)), ("decide", Value::Choice("arrival".into()))]),
        dualpi2(&[("scheduler", Value::Choice("ts_fifo".into())), ("overload", Value::Choice("delay".into()))]),
        dualpi2(&[
            ("likelihood", Value::Choice("random".into())),
            ("range", Value::Number(0.0)),
            ("exempt", one.clone()),
        ]),
        spec(
            "cobalt",
            &[("target", Value::Number(1e-6)), ("interval", Value::Number(1e-5)), ("increment", Value::Number(0.3))],
        ),
        spec("docsis_pie", &[("a", Value::Number(1e4)), ("max_burst", Value::Number(0.01))]),
        spec(
            "sfb",
            &[
                ("bin_size", one.clone()),
                ("max", Value::Number(4.0)),
                ("d1", Value::Number(0.4)),
                ("rehash_interval", Value::Number(0.1)),
                ("warmup", Value::Number(0.05)),
            ],
        ),
        spec(
            "fq_pie",
            &[
                ("queues", Value::Number(4.0)),
                ("quantum", Value::Number(300.0)),
                ("alpha", Value::Number(1e4)),
                ("max_burst", Value::Number(0.0)),
            ],
        ),
        spec(
            "cake",
            &[
                ("bandwidth", Value::Number(1e6)),
                ("diffserv", Value::Choice("diffserv8".into())),
                ("rtt", Value::Number(1e-4)),
                ("ack_filter", Value::Choice("aggressive".into())),
                ("source_host", Value::Choice("all".into())),
            ],
        ),
        spec("cake", &[("isolation", Value::Choice("flowblind".into())), ("rtt", Value::Number(1e-5))]),
        spec("docsis_dualq_unprotected", &[("a", Value::Number(1e4)), ("l_buffer", Value::Number(0.0))]),
        spec(
            "docsis_dualq",
            &[
                ("a", Value::Number(1e4)),
                ("max_frame", one.clone()),
                ("lg_aging", one.clone()),
                ("critical_score", Value::Number(0.0)),
            ],
        ),
        spec("curvy_red", &[("range", Value::Number(0.01)), ("u", Value::Number(2.0))]),
    ]
}

/// Every algorithm with its defaults and with [`busy_settings`]; each also in AVQ's virtual queue.
fn policies() -> Vec<PolicySpec> {
    let names = catalogue().into_iter().map(|e| e.name);
    let defaults = names.map(|n| PolicySpec { name: n.into(), params: Default::default() });
    let plain: Vec<_> = defaults.chain(busy_settings()).collect();
    let inside = plain.iter().map(|inner| PolicySpec {
        name: "avq_inner".into(),
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
            let mut watch = Watch::new(queue);
            for op in &ops {
                watch.apply(op);
            }
            watch.finish();
        }
    }
}
