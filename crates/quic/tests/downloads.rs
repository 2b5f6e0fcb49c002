//! Downloads over a bottleneck: every byte arrives once, and the same seed gives the same run.

use marqueue_sim::plan::{Plan, QuicLibrary, TrafficKind};
use marqueue_sim::result::RunResult;
use marqueue_sim::{digest, Control};
use serde_json::{json, Value};

/// A link of 8 Mbit/s with room for 30 packets, 10 ms each way.
fn plan(traffic: &Value) -> Plan {
    let link = |name: &str, queue: Value| json!({"name": name, "rate": 8_000_000, "delay": 10_000_000, "queue": queue});
    let queue = json!({
        "policy": {"name": "droptail", "params": {}}, "limit": {"packets": 30}, "signal": "drop", "mean_packet": 1228
    });
    let mut quic = json!({
        "control": "new_reno", "ecn": true, "packet": 1228, "route": 0, "count": 1, "start": 0, "jitter": 0,
        "stop": null, "size": null, "trace": true
    });
    for (key, value) in traffic.as_object().expect("an object") {
        quic[key] = value.clone();
    }
    let plan = json!({
        "duration": 5_000_000_000_u64, "boundaries": [1_000_000_000, 4_000_000_000_u64], "sample": 0,
        "links": [link("forward", queue), link("back", Value::Null)],
        "routes": [{"forward": [0], "reverse": [1]}],
        "transports": [],
        "traffic": [{"name": "quic", "kind": {"quic": quic}}],
    });
    serde_json::from_value(plan).expect("a plan")
}

fn run(traffic: &Value, seed: u64) -> RunResult {
    marqueue_quic::run(&plan(traffic), seed, &Control::default()).expect("a run")
}

const LIBRARIES: [&str; 2] = ["quinn", "noq"];

#[test]
fn a_flow_of_a_given_size_delivers_exactly_that_and_ends() {
    for library in LIBRARIES {
        let flows = run(&json!({"library": library, "size": 300_000}), 1).flows;
        assert_eq!(flows.delivered.iter().sum::<u64>(), 300_000);
        // At 8 Mbit/s the data alone takes 0.3 s; two round trips of 20 ms come before it.
        let seconds = flows.end[0].secs();
        assert!((0.34..1.0).contains(&seconds), "{library}: {seconds}");
        assert_eq!(flows.size[0], 257);
        assert!(flows.sent[0] >= 257);
    }
}

#[test]
fn a_long_flow_fills_the_link_and_repairs_what_the_full_buffer_drops() {
    for library in LIBRARIES {
        // It stops a second before the end, so that every loss has been found.
        let result = run(&json!({"library": library, "stop": 4_000_000_000_u64}), 1);
        let goodput = 8.0 * result.flows.delivered[1] as f64 / 3.0;
        // 1168 of 1228 bytes are data at most.
        assert!((0.9 * 7.6e6..7.61e6).contains(&goodput), "{library}: {goodput}");
        let drops: u64 = result.links[0].windows.iter().map(|window| window.counters.dropped()).sum();
        assert!(drops > 0);
        assert_eq!(result.flows.retransmits[0], drops, "{library}");
        assert!(result.senders[0].rows.len() > 100);
    }
}

#[test]
fn a_run_is_a_function_of_its_seed() {
    let of = |library, seed| {
        digest(&run(&json!({"library": library, "count": 3, "jitter": 500_000_000, "control": "cubic"}), seed))
    };
    for library in LIBRARIES {
        assert_eq!(of(library, 1), of(library, 1), "{library}");
        assert_ne!(of(library, 1), of(library, 2), "{library}");
    }
    assert_ne!(of("quinn", 1), of("noq", 1));
}

#[test]
fn both_libraries_run_in_one_network() {
    let mut plan = plan(&json!({"library": "quinn"}));
    let mut noq = plan.traffic[0].clone();
    let TrafficKind::Quic(quic) = &mut noq.kind else { panic!("a group of QUIC") };
    quic.library = QuicLibrary::Noq;
    plan.traffic.push(noq);
    let flows = marqueue_quic::run(&plan, 1, &Control::default()).expect("a run").flows;
    let delivered: Vec<u64> = (0..2).map(|flow| flows.delivered[3 * flow..3 * flow + 3].iter().sum()).collect();
    assert!(delivered.iter().all(|&bytes| bytes > 500_000), "{delivered:?}");
}
