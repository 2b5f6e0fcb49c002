//! Links whose sender waits for access to its medium, against the formulas of the files in `src/medium`, and a published
//! limit.

mod common;

use common::*;
use marqueue_aqm::Signal;
use marqueue_core::params::ParamValues;
use marqueue_core::{Bytes, Dur, Rate, Time};
use marqueue_sim::plan::*;
use marqueue_sim::result::RunResult;
use marqueue_sim::trace::TraceKind;
use marqueue_sim::{digest, run_on, Control};

/// Packets of 1500 bytes at `sent` bit/s, by one flow, into a link of `rate` bit/s and this medium, for `seconds`; all
/// but the first second are measured.
fn run_over(medium: &str, params: &[(&str, f64)], rate: u64, sent: u64, seconds: f64) -> RunResult {
    go(&plan(medium, params, rate, sent, seconds), 1)
}

fn plan(medium: &str, params: &[(&str, f64)], rate: u64, sent: u64, seconds: f64) -> Plan {
    let mut queue = queue("droptail", ParamValues::new(), 200, Signal::Drop);
    queue.mean_packet = Bytes(1500);
    let mut over = link("over", rate, ms(5.0), Some(queue));
    over.medium = Some(policy(medium, values(params)));
    let kind = TrafficKind::Cbr {
        route: 0,
        count: 1,
        rate: Rate(sent),
        packet: Bytes(1500),
        start: Time::ZERO,
        jitter: Dur::ZERO,
        stop: None,
        ecn: Default::default(),
    };
    Plan {
        duration: secs(seconds),
        boundaries: vec![secs(1.0)],
        sample: Dur::ZERO,
        links: vec![over],
        routes: vec![RoutePlan { forward: vec![0], reverse: Vec::new() }],
        transports: Vec::new(),
        traffic: vec![TrafficPlan { name: "all".into(), dscp: 0, class: 0, kind }],
        reuse_slots_above: Plan::reuse_slots_above(),
    }
}

/// Bits that arrived in the second window.
fn arrived(result: &RunResult) -> f64 {
    result.flows.delivered[1] as f64 * 8.0
}

/// Mean queueing delay in the second window, s.
fn mean_delay(result: &RunResult) -> f64 {
    let window = &result.links[0].windows[1];
    window.delay_sum / window.counters.departures as f64
}

/// Bit/s of packets of 1500 bytes, `n` an access, with the default times and a mean backoff.
fn wifi(n: f64, rate: f64, backoff: f64) -> f64 {
    let symbols = (n * 1544.0 * 8.0 / rate / 4e-6).ceil();
    n * 12_000.0 / (40e-6 + symbols * 4e-6 + 16e-6 + 32e-6 + 43e-6 + backoff)
}

fn assert_near(got: f64, expected: f64, tolerance: f64, what: &str) {
    assert!((got / expected - 1.0).abs() <= tolerance, "{what}: {got}, expected {expected}");
}

#[test]
fn wifi_carries_what_the_formula_says_for_each_size_of_an_aggregate() {
    for n in [1.0, 2.0, 8.0, 32.0] {
        let got = arrived(&run_over("wifi", &[("cw_min", 0.0), ("max_mpdus", n)], 100_000_000, 300_000_000, 2.0));
        let expected = wifi(n, 1e8, 0.0);
        // The second begins and ends inside an aggregate.
        assert!((got - expected).abs() <= n * 12_000.0, "{n} MPDUs: {got}, expected {expected}");
    }
}

#[test]
fn bytes_and_time_limit_an_aggregate_too() {
    for (limit, n) in [(("max_bytes", 65_535.0), 42.0), (("max_time", 0.001), 7.0)] {
        let got = arrived(&run_over("wifi", &[("cw_min", 0.0), limit], 100_000_000, 300_000_000, 2.0));
        assert!((got - wifi(n, 1e8, 0.0)).abs() <= n * 12_000.0, "{limit:?}: {got}");
    }
}

#[test]
fn a_backoff_takes_half_its_range_on_average() {
    let got = arrived(&run_over("wifi", &[("max_mpdus", 1.0)], 100_000_000, 300_000_000, 4.0)) / 3.0;
    // Of 9000 accesses of 323 us, each has a uniform backoff with a deviation of 41 us: four deviations of the mean.
    assert_near(got, wifi(1.0, 1e8, 67.5e-6), 4.0 * 41.0 / 323.0 / 9000f64.sqrt(), "bit/s");
}

#[test]
fn a_wifi_without_bound_on_its_rate_meets_the_limit_of_xiao_and_rosdahl() {
    // 802.11a: preamble and ACK 20 us, each with 1 us of propagation, DIFS 34 us. Their 75.24 Mbit/s has no time for data;
    // here it takes a symbol of 4 us.
    let params =
        [("max_mpdus", 1.0), ("mpdu_overhead", 0.0), ("preamble", 21e-6), ("block_ack", 21e-6), ("aifs", 34e-6)];
    let got = arrived(&run_over("wifi", &params, 100_000_000_000, 300_000_000, 4.0)) / 3.0;
    let without_data = 12_000.0 / (12_000.0 / got - 4e-6);
    // 18000 accesses of 163.5 us, with a deviation of 41 us each.
    assert_near(without_data, 75.24e6, 4.0 * 41.0 / 159.5 / 18_000f64.sqrt(), "bit/s");
}

#[test]
fn lost_mpdus_are_repeated_until_they_arrive() {
    let error = [("cw_min", 0.0), ("max_mpdus", 8.0), ("mpdu_error", 0.2)];
    // Below the capacity all packets arrive.
    let below = arrived(&run_over("wifi", &error, 100_000_000, 12_000_000, 2.0));
    assert_near(below, 12e6, 0.01, "bits");
    // The window waits for its first MPDU: less than the formula for aggregates of eight, more than one an access.
    let busy = arrived(&run_over("wifi", &error, 100_000_000, 300_000_000, 2.0));
    assert!(wifi(1.0, 1e8, 0.0) * 0.8 < busy && busy < wifi(8.0, 1e8, 0.0) * 0.8, "{busy}");
}

#[test]
fn other_stations_delay_a_lone_packet_by_their_mean_time() {
    let params = [("cw_min", 0.0), ("contention", 0.001)];
    let delay = mean_delay(&run_over("wifi", &params, 100_000_000, 600_000, 41.0));
    // 2000 packets, one each 20 ms; the time is exponential.
    assert_near(delay, 0.001, 4.0 / 2000f64.sqrt(), "delay");
}

#[test]
fn a_satellite_link_sends_between_its_outages() {
    let params = [("period", 1.0), ("first", 1.0), ("outage", 0.2), ("delay_spread", 0.0)];
    let got = arrived(&run_over("leo", &params, 10_000_000, 20_000_000, 11.0));
    assert_near(got, 80e6, 0.001, "bits in 10 s");
}

#[test]
fn an_outage_delays_packets_and_loses_none() {
    let params = [("period", 2.0), ("first", 2.0), ("outage", 0.2), ("delay_spread", 0.0)];
    let result = run_over("leo", &params, 10_000_000, 1_200_000, 11.0);
    let window = &result.links[0].windows[1];
    assert_eq!(window.counters.drops.iter().sum::<u64>(), 0);
    let longest = window.delay_bins.iter().filter(|bin| bin.1 > 0).map(|bin| bin.0).max().unwrap() as f64 / 1e9;
    // One packet each 10 ms: the first of an outage waits for almost all of it. Bins have two significant digits.
    assert!((0.19..0.205).contains(&longest), "{longest}");
    // A tenth of the packets waits 100 ms less 9/2 packets on average, while the queue drains at 1.2 ms a packet.
    let mean = mean_delay(&result);
    assert!((0.009..0.0125).contains(&mean), "{mean}");
}

#[test]
fn the_rate_of_a_slot_keeps_its_mean() {
    let params = [("period", 0.01), ("first", 0.01), ("rate_spread", 0.5), ("delay_spread", 0.0)];
    let got = arrived(&run_over("leo", &params, 100_000_000, 200_000_000, 11.0)) / 10.0;
    // 1000 slots with a deviation of 0.5/sqrt(3) each.
    assert_near(got, 1e8, 4.0 * 0.289 / 1000f64.sqrt(), "bit/s");
}

#[test]
fn a_cable_modem_that_is_busy_has_the_rate_of_its_link() {
    for (rate, params) in [
        (20_000_000, vec![]),
        // Grants of 250 bytes: a packet takes seven of them.
        (1_000_000, vec![]),
        (20_000_000, vec![("channel_rate", 1e9), ("collision", 0.5)]),
        (20_000_000, vec![("proactive_rate", 5e6), ("map_interval", 0.001)]),
    ] {
        let got = arrived(&run_over("docsis", &params, rate, 3 * rate, 5.0)) / 4.0;
        // The window begins and ends inside an interval.
        let interval = rate as f64 * 0.002 + 12_000.0;
        assert!((got - rate as f64 * 1500.0 / 1518.0).abs() < interval / 4.0, "{params:?}: {got}");
    }
}

/// Mean delay of lone packets, 1518 bytes with their headers, at an idle modem; one each 20 ms.
fn lone_packets(params: &[(&str, f64)]) -> f64 {
    let interval = ("map_interval", 0.002025);
    mean_delay(&run_over("docsis", &[&[interval], params].concat(), 10_000_000, 600_000, 61.0))
}

#[test]
fn a_lone_packet_waits_for_request_and_grant() {
    let (t, sent) = (2.025, 1.2144);
    // Request at uniform place x of its interval or the next one: density x + 1/2 of its place, 7/12 of an interval on
    // average. From 1.62 ms later, which is 0.8 of an interval, on average 0.4967 intervals to the next start.
    let expected = (7.0 / 12.0 + 0.4967) * t + 1.62 + (t - sent) / 2.0;
    let once = lone_packets(&[]) * 1e3;
    // 3000 packets with a deviation of 1 ms at most.
    assert!((once - expected).abs() < 4.0 / 3000f64.sqrt(), "{once} ms, expected {expected}");
    // Half of the requests are lost each time: one more on average, 0.958 intervals later.
    let twice = lone_packets(&[("collision", 0.5)]) * 1e3;
    assert!((twice - once - 0.958 * t).abs() < 4.0 * 3.0 / 3000f64.sqrt(), "{twice} ms after {once}");
}

#[test]
fn a_proactive_grant_saves_the_request() {
    // All of each interval is granted: packets go at once.
    assert!(lone_packets(&[("proactive_rate", 10e6)]) < 1e-5);
    // Grants of 50 bytes of 1 us at a uniform place of each interval: a whole interval at most until the first.
    let first = lone_packets(&[("proactive_rate", 2e5), ("channel_rate", 4e8)]) * 1e3;
    assert!((first - 7.0 / 12.0 * 2.025).abs() < 0.05, "{first} ms");
}

#[test]
fn a_cell_carries_its_share_of_slots_and_blocks() {
    for (params, expected, four_errors) in [
        (vec![("bler", 0.0)], 1.0, 0.001),
        (vec![], 0.9, 0.02),
        (vec![("period_slots", 5.0), ("usable_slots", 1.0)], 0.18, 0.02),
        (vec![("share", 0.5), ("spread", 1.0), ("bler", 0.0)], 0.5, 0.02),
        // Repetitions that are larger than their slot take from the next.
        (vec![("share", 0.5), ("spread", 1.0), ("bler", 0.5)], 0.25, 0.032),
        (vec![("grant_delay", 0.004), ("request_period", 0.005)], 0.9, 0.02),
    ] {
        let got = arrived(&run_over("nr", &params, 50_000_000, 100_000_000, 11.0)) / 10.0;
        // 4000 usable slots at least: the part of lost blocks has an error of 0.5 %, four of these. With spread the part of
        // a slot has a deviation of 0.58 of its mean: 20000 slots, an error of 0.4 %, and of 0.8 % with half of them lost.
        assert_near(got, 50e6 * expected * 1500.0 / 1509.0, four_errors, "bit/s");
    }
}

#[test]
fn an_uplink_waits_for_a_request_a_grant_and_its_slot() {
    let params = [
        ("bler", 0.0),
        ("period_slots", 5.0),
        ("usable_slots", 1.0),
        ("request_period", 0.005),
        ("grant_delay", 0.004),
        ("request_bytes", 2000.0),
    ];
    // Requests at multiples of 5 ms; 4 ms later the next slot of the uplink begins at 4.5 ms. A packet each 21.37 ms.
    let delay = mean_delay(&run_over("nr", &params, 50_000_000, 561_535, 61.0));
    assert!((delay - 0.007).abs() < 4.0 * 0.00145 / 2807f64.sqrt(), "{delay}");
}

#[test]
fn what_does_not_go_together_is_refused() {
    let refused = |plan: &Plan| marqueue_sim::check(plan).unwrap_err().to_string();
    let outage = plan("leo", &[("outage", 15.0)], 1_000_000, 1_000_000, 2.0);
    assert!(refused(&outage).contains("links[0].medium.outage"), "{}", refused(&outage));
    for (medium, params, place) in [
        ("docsis", vec![("channel_rate", 9e5)], "channel_rate"),
        ("docsis", vec![("proactive_rate", 2e6)], "proactive_rate"),
        ("nr", vec![("period_slots", 4.0), ("usable_slots", 5.0)], "usable_slots"),
        ("nr", vec![("request_period", 0.0001)], "request_period"),
        ("nr", vec![("share", 0.01)], "share"),
    ] {
        let message = refused(&plan(medium, &params, 1_000_000, 1_000_000, 2.0));
        assert!(message.contains(&format!("links[0].medium.{place}")), "{message}");
    }
    let mut scheduled = plan("wifi", &[], 1_000_000, 1_000_000, 2.0);
    scheduled.links[0].schedule = vec![(secs(0.5), Rate(500_000))];
    assert!(refused(&scheduled).contains("links[0].medium"), "{}", refused(&scheduled));
}

/// Four TCP flows and one of 250-byte packets at 100 kbit/s over Wi-Fi under this AQM. Flow 4 is the slow one.
fn downloads_beside_a_call(aqm: &str, trace: bool) -> Plan {
    let mut plan = Dumbbell {
        rate: 65_000_000,
        access: 1_000_000_000,
        bottleneck_delay: 2.0,
        destination_delay: 0.0,
        rtts: vec![40.0],
        queue: queue(aqm, ParamValues::new(), 500, Signal::Drop),
    }
    .plan(6.0);
    plan.links[0].medium = Some(policy("wifi", values(&[("contention", 0.0005), ("mpdu_error", 0.05)])));
    plan.links[0].trace = trace;
    plan.transports = vec![ns2("sack", false)];
    let kind = TrafficKind::Cbr {
        route: 0,
        count: 1,
        rate: Rate(100_000),
        packet: Bytes(250),
        start: Time::ZERO,
        jitter: Dur::ZERO,
        stop: None,
        ecn: Default::default(),
    };
    let call = TrafficPlan { name: "call".into(), dscp: 0, class: 0, kind };
    plan.traffic = vec![tcp("downloads", 0, 4, 0.1), call];
    plan
}

#[test]
fn fq_codel_keeps_a_call_from_waiting_behind_aggregates_of_downloads() {
    let mean_delay_of_call = |aqm| {
        let result = go(&downloads_beside_a_call(aqm, true), 1);
        let rows = result.traces[0].1.rows.iter();
        let sojourns: Vec<f64> = rows
            .filter(|row| row.kind == TraceKind::Depart && row.packet.bytes() == 250 && row.t > secs(2.0))
            .map(|row| row.sojourn.secs())
            .collect();
        sojourns.iter().sum::<f64>() / sojourns.len() as f64
    };
    // An access takes 5.484 ms at most and 0.66 ms for the others: with a queue of its own
    // the call waits for the rest of one access.
    let (alone, behind) = (mean_delay_of_call("fq_codel"), mean_delay_of_call("droptail"));
    assert!(alone < 0.0062, "{alone}");
    assert!(behind > 4.0 * alone, "{behind} beside {alone}");
}

#[test]
fn a_medium_gives_the_same_result_on_two_threads() {
    let plan = downloads_beside_a_call("fq_codel", false);
    let on_two = run_on(&plan, 1, &Control::default(), 2).expect("it runs");
    assert_eq!(digest(&on_two), digest(&go(&plan, 1)));
}
