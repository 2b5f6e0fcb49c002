//! Tests of TCP settings, and of applications that write in pieces, over a link.

mod common;

use common::*;
use marqueue_aqm::Signal;
use marqueue_core::params::{ParamValues, Value};
use marqueue_sim::plan::{FirstWrite, Gaps, Plan, TrafficKind, TransportPlan, WritePlan};
use marqueue_sim::result::RunResult;
use marqueue_sim::{check, RunError};

/// `count` flows with these TCP settings over 10 Mbit/s and 40 ms.
fn plan(preset: &str, params: &[(&str, Value)], count: u32, limit: u32) -> Plan {
    let mut plan = Dumbbell {
        rate: 10_000_000,
        access: 100_000_000,
        bottleneck_delay: 10.0,
        destination_delay: 5.0,
        rtts: vec![40.0],
        queue: queue("droptail", values(&[]), limit, Signal::Drop),
    }
    .plan(20.0);
    let params: ParamValues = params.iter().map(|(k, v)| (k.to_string(), v.clone())).collect();
    plan.transports = vec![TransportPlan { preset: preset.into(), params, stack: None }];
    plan.traffic = vec![tcp("flows", 0, count, 0.0)];
    plan
}

fn write(plan: &mut Plan, packets: u32, every: f64, gaps: Gaps, total: Option<u32>) {
    let TrafficKind::Tcp { write, size, .. } = &mut plan.traffic[0].kind else { unreachable!("tcp() makes TCP") };
    *write = Some(WritePlan { packets, every: ms(every), gaps, first: None });
    *size = total;
}

fn delivered(result: &RunResult) -> u64 {
    result.flows.delivered.iter().sum()
}

#[test]
fn every_choice_fills_the_link() {
    let choice = |k: &'static str, v: &str| (k, Value::Choice(v.into()));
    let sets: [(&str, Vec<(&str, Value)>); 6] = [
        ("rfc", vec![("timestamps", Value::Flag(true))]),
        ("rfc", vec![choice("recovery", "newreno"), choice("reduction", "prr")]),
        ("rfc", vec![choice("recovery", "sack"), choice("reduction", "prr")]),
        ("rfc", vec![choice("loss_detection", "rack"), ("dsack", Value::Flag(true))]),
        ("linux", vec![]),
        ("linux", vec![choice("control", "reno"), ("timestamps", Value::Flag(false))]),
    ];
    for (preset, params) in sets {
        let result = go(&plan(preset, &params, 4, 60), 1);
        let busy = utilization(&result.links[0].windows[0]);
        assert!(busy > 0.93, "{preset} {params:?}: {busy}");
        assert!(result.flows.retransmits.iter().sum::<u64>() > 0, "{preset} {params:?}: no loss, no test");
    }
}

#[test]
fn a_window_without_scaling_bounds_the_rate() {
    let unscaled = plan("rfc", &[("window_scale", Value::Number(0.0)), ("delayed_ack", Value::Number(0.0))], 1, 1000);
    let mut unscaled = Plan { duration: secs(100.0), ..unscaled };
    unscaled.links[0].rate.0 = 100_000_000;
    // 44 segments of 1460 bytes fit into 65,535 bytes. The round trip is 40 ms and the transmission times of a packet
    // of 1500 bytes over three links and of its acknowledgement back.
    let round_trip = 0.04 + 3.0 * (1500.0 + 40.0) * 8.0 / 100e6;
    let expected = 44.0 * 1460.0 / round_trip * 100.0;
    let got = delivered(&go(&unscaled, 1)) as f64;
    assert!((got / expected - 1.0).abs() < 0.01, "got {got}, expected {expected}");
}

#[test]
fn exactly_the_written_data_arrives() {
    // 10 packets every 100 ms from the start. The last ones before 20 s are written at 19.9 s.
    let mut constant = plan("linux", &[], 1, 100);
    write(&mut constant, 10, 100.0, Gaps::Constant, None);
    assert_eq!(delivered(&go(&constant, 1)), 200 * 10 * 1448);

    let mut ends = plan("rfc", &[], 3, 100);
    write(&mut ends, 10, 100.0, Gaps::Constant, Some(45));
    let result = go(&ends, 1);
    assert_eq!(delivered(&result), 3 * 45 * 1460);
    for end in &result.flows.end {
        // The fifth piece is shorter, and is written at 0.4 s.
        assert!((0.44..0.6).contains(&end.secs()), "{end:?}");
    }
}

#[test]
fn the_first_piece_may_be_another_and_last_longer() {
    // 500 packets at the start, 10 at 15.05 s and every 100 ms from then on: 50 times before 20 s.
    let mut begins = plan("linux", &[], 1, 600);
    write(&mut begins, 10, 100.0, Gaps::Constant, None);
    let TrafficKind::Tcp { write: Some(plan), .. } = &mut begins.traffic[0].kind else { unreachable!("it writes") };
    plan.first = Some(FirstWrite { packets: 500, lasts: ms(15_050.0) });
    assert_eq!(delivered(&go(&begins, 1)), (500 + 50 * 10) * 1448);
}

#[test]
fn random_gaps_have_their_mean_and_their_own_stream() {
    let mut random = plan("rfc", &[], 20, 1000);
    write(&mut random, 1, 50.0, Gaps::Exponential, None);
    // 20 flows, 20 s and 20 pieces a second are 8000. Four standard deviations of a Poisson number are allowed.
    let pieces = delivered(&go(&random, 1)) as f64 / 1460.0;
    assert!((pieces - 8000.0).abs() < 4.0 * 8000f64.sqrt(), "{pieces}");
    assert_eq!(delivered(&go(&random, 1)), delivered(&go(&random, 1)));
    assert_ne!(delivered(&go(&random, 1)), delivered(&go(&random, 2)));
}

#[test]
fn a_stopped_group_writes_nothing() {
    let mut stops = plan("rfc", &[], 1, 100);
    write(&mut stops, 1, 100.0, Gaps::Constant, None);
    let TrafficKind::Tcp { stop, .. } = &mut stops.traffic[0].kind else { unreachable!("tcp() makes TCP") };
    *stop = Some(secs(5.05));
    let result = go(&stops, 1);
    assert_eq!(delivered(&result), 51 * 1460);
    assert!(result.flows.end[0] < secs(5.2), "and its flow ends");
}

#[test]
fn inconsistent_settings_are_refused() {
    let refused = |preset: &str, params: &[(&str, Value)]| match check(&plan(preset, params, 1, 10)) {
        Err(RunError::Invalid(e)) => e.to_string(),
        other => panic!("{other:?}"),
    };
    let choice = |v: &str| Value::Choice(v.into());
    assert_eq!(
        refused("rfc", &[("recovery", choice("newreno")), ("loss_detection", choice("rack"))]),
        "transports[0].loss_detection: got rack, expected dupack: RACK needs recovery by SACK and dialect rfc"
    );
    assert!(refused("ns2", &[("reduction", choice("prr"))]).starts_with("transports[0].reduction: got prr"));
    assert!(refused("ns2", &[("dsack", Value::Flag(true))]).starts_with("transports[0].dsack: got true"));
    let mut never = plan("rfc", &[], 1, 10);
    write(&mut never, 1, 20_001.0, Gaps::Constant, None);
    assert!(matches!(check(&never), Err(RunError::Invalid(e)) if e.path == "traffic[0].every"));
}

/// A pipe of 33 packets and a buffer of 200. Standard slow start ends with about as many losses as packets fit. Linux's
/// HyStart ends slow start before the buffer is full, and the window then grows by a twentieth a round trip, not up to
/// 233 within a second. HyStart++ continues to grow by a quarter for five rounds, which may cause losses.
#[test]
fn a_slow_start_that_ends_by_delay_loses_less() {
    let lost = |slow_start: &str| {
        let mut first = plan("linux", &[("slow_start", Value::Choice(slow_start.into()))], 1, 200);
        first.duration = secs(1.0);
        let result = go(&first, 1);
        assert!(utilization(&result.links[0].windows[0]) > 0.6, "{slow_start}: it fills the pipe all the same");
        result.links[0].windows[0].counters.drops.iter().sum::<u64>()
    };
    let [standard, plus_plus] = ["standard", "hystart++"].map(lost);
    assert!(2 * plus_plus < standard, "{plus_plus} of {standard}");
    assert_eq!(lost("hystart"), 0);
}

/// Considers the time after the first slow start.
#[test]
fn linux_leaves_codel_in_control() {
    let mut under_codel = plan("linux", &[], 4, 500);
    under_codel.links[0].queue = Some(queue("codel", values(&[]), 500, Signal::Drop));
    under_codel.boundaries = vec![secs(10.0)];
    // More flows would have windows of a few segments, and more losses by the square-root law.
    for flows in [1, 2, 4] {
        let TrafficKind::Tcp { count, .. } = &mut under_codel.traffic[0].kind else { unreachable!("tcp() makes TCP") };
        *count = flows;
        let result = go(&under_codel, 1);
        let window = &result.links[0].windows[1];
        let lost = window.counters.drops.iter().sum::<u64>() as f64 / window.counters.arrivals as f64;
        assert!(lost < 0.03, "{flows} flows lose {lost}");
        assert!(mean_queue(window) < 20.0, "{flows} flows queue {}", mean_queue(window));
        assert!(utilization(window) > 0.9, "{flows} flows use {}", utilization(window));
    }
}
