//! Tests of window laws over a link: the purpose of each.

mod common;

use common::*;
use marqueue_aqm::Signal;
use marqueue_core::params::{ParamValues, Value};
use marqueue_core::{Bytes, Dur, Rate};
use marqueue_sim::plan::{Plan, QueuePlan, TrafficKind, TrafficPlan, TransportPlan};

/// Data packets of 1500 bytes on the wire.
const PACKET: u64 = 1500;

/// One flow under `control` over a bottleneck of `mbps` Mbit/s with a round trip of `rtt` ms; the
/// first `warm_up` of `duration` seconds are a separate measuring window.
fn plan(control: &str, mbps: u64, rtt: f64, mut queue: QueuePlan, warm_up: f64, duration: f64) -> Plan {
    queue.mean_packet = Bytes(PACKET);
    let mut plan = Dumbbell {
        rate: mbps * 1_000_000,
        access: 10 * mbps * 1_000_000,
        bottleneck_delay: rtt / 4.0,
        destination_delay: rtt / 8.0,
        rtts: vec![rtt],
        queue,
    }
    .plan(duration);
    let params = ParamValues::from([
        ("control".into(), Value::Choice(control.into())),
        ("ecn".into(), Value::Flag(control == "dctcp")),
    ]);
    plan.transports = vec![TransportPlan { preset: "rfc".into(), params, stack: None }];
    plan.traffic = vec![tcp("one", 0, 1, 0.0)];
    plan.boundaries = vec![secs(warm_up)];
    plan
}

#[test]
fn dctcp_keeps_the_link_busy_and_the_queue_at_the_marking_threshold() {
    // 50 Mbit/s * 10 ms are 41.7 packets; K = 10 is more than a seventh of that (Alizadeh et al. 2010,
    // equation 13). RED without averaging and spreading marks packets that find K waiting. Only slow start
    // exceeds 2 K.
    const K: f64 = 10.0;
    let mut step = values(&[("min_th", K), ("max_th", K + 1e-6), ("w_q", 1.0), ("max_p", 1.0)]);
    step.extend([("gentle".into(), Value::Flag(true)), ("wait".into(), Value::Flag(false))]);
    let queue = queue("red", step, 200, Signal::Ecn);
    let r = go(&plan("dctcp", 50, 10.0, queue, 5.0, 25.0), 1);
    let w = &r.links[0].windows[1];
    assert!(utilization(w) > 0.95, "{}", utilization(w));
    // The queue oscillates by about sqrt(2 (C R + K)) = 10 packets around the threshold (equation 8).
    assert!((mean_queue(w) - K).abs() < 2.5, "{}", mean_queue(w));
    assert_eq!(w.counters.dropped(), 0);
}

#[test]
fn cubic_recovers_a_long_fat_link_sooner_than_reno() {
    // The buffer is the bandwidth-delay product, so a single cut never empties the queue. From 10 to 11 s traffic at
    // twice the capacity takes the link. After that the windows must grow again.
    let bdp = (100_000_000.0 * Dur::from_secs(0.1).secs() / 8.0 / PACKET as f64) as u32;
    let after_the_flood = |control| {
        let queue = queue("droptail", ParamValues::new(), bdp, Signal::Drop);
        let mut plan = plan(control, 100, 100.0, queue, 12.0, 30.0);
        let kind = TrafficKind::Cbr {
            route: 0,
            count: 1,
            rate: Rate(200_000_000),
            packet: Bytes(PACKET),
            start: secs(10.0),
            jitter: Dur::ZERO,
            stop: Some(secs(11.0)),
        };
        plan.traffic.push(TrafficPlan { name: "flood".into(), dscp: 0, class: 0, kind });
        utilization(&go(&plan, 1).links[0].windows[1])
    };
    let (cubic, reno) = (after_the_flood("cubic"), after_the_flood("reno"));
    assert!(cubic > reno + 0.1, "{cubic} {reno}");
}
