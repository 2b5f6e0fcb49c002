//! BBR over a droptail dumbbell, against what its descriptions say of it.

mod common;

use common::{go, mean_queue, queue, secs, tcp, utilization, Dumbbell};
use marqueue_aqm::Signal;
use marqueue_core::params::{ParamValues, Value};
use marqueue_core::{Bytes, Time};
use marqueue_sim::plan::{Plan, TransportPlan};
use marqueue_sim::result::RunResult;

const MBPS: u64 = 20;
/// Round-trip time without queue, ms.
const RTT: f64 = 40.0;

/// Bandwidth-delay product in packets of 1500 bytes.
fn bdp() -> f64 {
    MBPS as f64 * 1e3 * RTT / 8.0 / 1500.0
}

/// `flows` over 20 Mbit/s and 40 ms, with a buffer of so many bandwidth-delay products. The first `warm_up` of `duration`
/// seconds are a measuring window of their own.
fn plan(control: &str, flows: u32, buffer: f64, warm_up: f64, duration: f64) -> Plan {
    let mut queue = queue("droptail", ParamValues::new(), (buffer * bdp()) as u32, Signal::Drop);
    queue.mean_packet = Bytes(1500);
    let mut plan = Dumbbell {
        rate: MBPS * 1_000_000,
        access: 10 * MBPS * 1_000_000,
        bottleneck_delay: RTT / 4.0,
        destination_delay: RTT / 8.0,
        rtts: vec![RTT],
        queue,
    }
    .plan(duration);
    let params = ParamValues::from([("control".into(), Value::Choice(control.into()))]);
    plan.transports = vec![TransportPlan { preset: "linux".into(), params, stack: None }];
    plan.traffic = vec![tcp("flows", 0, flows, 1.0)];
    plan.boundaries = vec![secs(warm_up)];
    plan
}

/// The times at which the window of the first flow has fallen to at most `low` segments, and the times at which it has
/// risen above again.
fn low_windows(r: &RunResult, low: f64, from: f64) -> Vec<(f64, f64)> {
    let mut periods: Vec<(f64, f64)> = Vec::new();
    let mut is_low = false;
    for (at, info) in r.senders[0].rows.iter().filter(|(at, _)| *at > secs(from)) {
        let (at, low_now) = ((*at - Time::ZERO).secs(), info.cwnd <= low);
        match (is_low, low_now) {
            (false, true) => periods.push((at, f64::NAN)),
            (true, false) => {
                if let Some(period) = periods.last_mut() {
                    period.1 = at;
                }
            }
            _ => {}
        }
        is_low = low_now;
    }
    periods
}

#[test]
fn one_flow_fills_the_link_with_little_queue() {
    for control in ["bbr1", "bbr3"] {
        let r = go(&plan(control, 1, 4.0, 5.0, 35.0), 1);
        let w = &r.links[0].windows[1];
        assert!(utilization(w) > 0.95, "{control}: {}", utilization(w));
        assert!(mean_queue(w) < 0.35 * bdp(), "{control}: {}", mean_queue(w));
        assert_eq!(w.counters.dropped(), 0, "{control}");
    }
}

/// Section 4.3.5 of draft-cardwell-00, and "ProbeRTT" of draft-ietf-ccwg-bbr.
#[test]
fn the_least_round_trip_time_is_probed_every_10_and_every_5_s() {
    // Two flows keep a queue, so that the least round-trip time is not measured by itself.
    for (control, flows, interval, low) in [("bbr1", 2, 10.0, 4.0), ("bbr3", 2, 5.0, 0.5 * bdp())] {
        let mut plan = plan(control, flows, 4.0, 5.0, 60.0);
        if let marqueue_sim::plan::TrafficKind::Tcp { trace, .. } = &mut plan.traffic[0].kind {
            *trace = true;
        }
        let r = go(&plan, 1);
        let probes = low_windows(&r, low, 10.0);
        assert!(probes.len() >= 3, "{control}: {probes:?}");
        for pair in probes.windows(2) {
            let gap = pair[1].0 - pair[0].0;
            assert!((gap - interval).abs() < 0.15 * interval, "{control}: {gap} s, {probes:?}");
        }
        for (start, end) in &probes[..probes.len() - 1] {
            assert!((0.2..0.5).contains(&(end - start)), "{control}: {start} to {end}");
        }
    }
}

#[test]
fn two_flows_share_and_keep_about_a_bandwidth_delay_product_waiting() {
    // Version 1: each flow has an estimate of the rate that the two together exceed, so that the windows of twice the
    // estimated bandwidth-delay product are what is in flight: one product on the way, one waiting (Hock, Bless and
    // Zitterbart 2017, section IV).
    let r = go(&plan("bbr1", 2, 8.0, 30.0, 90.0), 1);
    let w = &r.links[0].windows[1];
    assert!(utilization(w) > 0.95, "{}", utilization(w));
    let waiting = mean_queue(w) / bdp();
    assert!((0.5..1.6).contains(&waiting), "{waiting} bandwidth-delay products");
    for control in ["bbr1", "bbr3"] {
        let r = go(&plan(control, 2, 8.0, 30.0, 120.0), 2);
        let got: Vec<f64> = (0..2).map(|f| r.flows.delivered[2 * f + 1] as f64).collect();
        let (sum, squares) = (got[0] + got[1], got[0] * got[0] + got[1] * got[1]);
        let jain = sum * sum / (2.0 * squares);
        assert!(jain > 0.9, "{control}: {got:?}");
    }
}

#[test]
fn a_shallow_buffer_loses_much_under_version_1_and_little_under_version_3() {
    let loss = |control| {
        let w = &go(&plan(control, 2, 0.3, 10.0, 40.0), 1).links[0].windows[1];
        assert!(utilization(w) > 0.85, "{control}: {}", utilization(w));
        w.counters.dropped() as f64 / w.counters.arrivals as f64
    };
    let (one, three) = (loss("bbr1"), loss("bbr3"));
    assert!(one > 0.05, "{one}");
    assert!(three < 0.02 && three < one / 3.0, "{three} {one}");
}
