//! Compares queues with queueing theory: M/M/1, M/D/1 and M/G/1 within confidence intervals, Little's law exactly.
//!
//! Packets arrive at the queue directly as a Poisson process. A wire before it would space them by its transmission
//! times.

#![allow(clippy::disallowed_methods, reason = "tests may use the platform's functions")]

mod common;

use common::*;
use marqueue_aqm::Signal;
use marqueue_core::params::ParamValues;
use marqueue_core::{Bytes, Dur};
use marqueue_sim::plan::*;
use marqueue_sim::result::LinkWindow;

const RATE: u64 = 8_000_000;
const MEAN: u64 = 1000;
const REPLICATIONS: u64 = 12;
/// Student's t with 11 degrees of freedom, two-sided 99.9 %.
const T: f64 = 4.437;

fn plan(rate: f64, size: SizeLaw, duration: f64) -> Plan {
    let endless = queue("droptail", ParamValues::new(), u32::MAX, Signal::Drop);
    let kind = TrafficKind::Packets {
        route: 0,
        rate,
        packet: Bytes(MEAN),
        size,
        start: secs(0.0),
        stop: None,
        ecn: Default::default(),
    };
    Plan {
        duration: secs(duration),
        boundaries: vec![secs(5.0)],
        sample: Dur::ZERO,
        links: vec![link("queue", RATE, ms(1.0), Some(endless))],
        routes: vec![RoutePlan { forward: vec![0], reverse: Vec::new() }],
        transports: Vec::new(),
        traffic: vec![TrafficPlan { name: "packets".into(), dscp: 0, class: 0, kind }],
        reuse_slots_above: Plan::reuse_slots_above(),
    }
}

/// The first two moments of the transmission time, s and s^2. An exponential size rounded up to whole
/// bytes is geometric.
fn transmission(size: SizeLaw) -> (f64, f64) {
    let byte = 8.0 / RATE as f64;
    let geometric = |mean: f64| {
        let p = 1.0 - (-1.0 / mean).exp();
        (1.0 / p, (2.0 - p) / (p * p))
    };
    let (first, second) = match size {
        SizeLaw::Constant => (MEAN as f64, (MEAN * MEAN) as f64),
        SizeLaw::Exponential => geometric(MEAN as f64),
        // The two exponentials, each with half of the bytes, have means m/2p and m/2(1 - p). The second moment is
        // m^2/2p(1 - p) = m^2 (1 + scv).
        SizeLaw::Hyperexponential { scv } => {
            let p = 0.5 * (1.0 + (1.0 - 2.0 / (1.0 + scv)).sqrt());
            [p, 1.0 - p].iter().fold((0.0, 0.0), |(first, second), share| {
                let (one, two) = geometric(MEAN as f64 / (2.0 * share));
                (first + share * one, second + share * two)
            })
        }
    };
    (first * byte, second * byte * byte)
}

/// The second window of each replication, for an arrival rate that offers the load `rho`.
fn measure(rho: f64, size: SizeLaw) -> Vec<LinkWindow> {
    let plan = plan(rho / transmission(size).0, size, 55.0);
    (1..=REPLICATIONS).map(|seed| go(&plan, seed).links.remove(0).windows.remove(1)).collect()
}

/// Asserts that `expected` is in the 99.9 % confidence interval of the mean, and that the interval is narrower than the
/// share `width` of it.
fn assert_mean(what: &str, values: &[f64], expected: f64, width: f64) {
    let n = values.len() as f64;
    let mean = values.iter().sum::<f64>() / n;
    let variance = values.iter().map(|x| (x - mean).powi(2)).sum::<f64>() / (n - 1.0);
    let half = T * (variance / n).sqrt();
    assert!((mean - expected).abs() <= half, "{what}: {mean} +- {half}, expected {expected}");
    assert!(half <= width * expected, "{what}: {mean} +- {half} says nothing");
}

#[test]
fn waiting_times_follow_pollaczek_khinchine() {
    for size in [SizeLaw::Constant, SizeLaw::Exponential, SizeLaw::Hyperexponential { scv: 4.0 }] {
        // Means vary more if sizes vary more.
        let wider = if matches!(size, SizeLaw::Hyperexponential { .. }) { 2.0 } else { 1.0 };
        for (rho, width) in [(0.3, 0.08), (0.6, 0.12), (0.85, 0.3)] {
            let width = width * wider;
            let (first, second) = transmission(size);
            let rate = rho / first;
            let wait = rate * second / (2.0 * (1.0 - rho));
            let windows = measure(rho, size);
            let of = |f: fn(&LinkWindow) -> f64| windows.iter().map(f).collect::<Vec<f64>>();
            let what = format!("{size:?} at {rho}");
            assert_mean(&what, &of(|w| w.delay_sum / w.counters.departures as f64), wait, width);
            assert_mean(&what, &of(mean_queue), rate * wait, width);
            assert_mean(&what, &of(utilization), rho, 0.05);
            assert_mean(&what, &of(|w| w.counters.arrivals as f64), rate * 50.0, 0.05);
        }
    }
}

#[test]
fn the_queue_of_m_m_1_is_geometric() {
    let rho: f64 = 0.7;
    let windows = measure(rho, SizeLaw::Exponential);
    for n in 0..8 {
        let share = |w: &LinkWindow| w.queue_times.at(n) as f64 / w.queue_times.total() as f64;
        let shares: Vec<f64> = windows.iter().map(share).collect();
        // With n + 1 packets in the system n wait; with none or one nobody waits.
        let expected = match n {
            0 => 1.0 - rho * rho,
            _ => (1.0 - rho) * rho.powi(n as i32 + 1),
        };
        assert_mean(&format!("{n} waiting"), &shares, expected, 0.2);
    }
}

#[test]
fn the_variance_of_waiting_in_m_m_1_equals_the_formula() {
    // P(W > t) = rho exp(-(mu - lambda) t): E W^2 = 2 rho / (mu - lambda)^2.
    let rho = 0.5;
    let mu = 1.0 / transmission(SizeLaw::Exponential).0;
    let windows = measure(rho, SizeLaw::Exponential);
    let squares: Vec<f64> = windows.iter().map(|w| w.delay_sum_sq / w.counters.departures as f64).collect();
    assert_mean("E W^2", &squares, 2.0 * rho / (mu * (1.0 - rho)).powi(2), 0.2);
}

#[test]
fn littles_law_holds_exactly() {
    for size in [SizeLaw::Constant, SizeLaw::Exponential] {
        let mut plan = plan(950.0, size, 60.0);
        let TrafficKind::Packets { stop, .. } = &mut plan.traffic[0].kind else { unreachable!("it is above") };
        *stop = Some(secs(20.0));
        let result = go(&plan, 1);
        let windows = &result.links[0].windows;
        let waiting: u64 = windows.iter().flat_map(|w| w.queue_times.iter()).map(|(q, ns)| u64::from(q) * ns).sum();
        let waited: f64 = windows.iter().map(|w| w.delay_sum).sum::<f64>() * 1e9;
        assert!(waited > 1e9, "somebody waited");
        // Both are sums of whole nanoseconds, but delays are added in floating point.
        assert!((waiting as f64 - waited).abs() < 1e-6 * waited.sqrt() + 1.0, "{waiting} {waited}");
        let (arrived, left): (u64, u64) =
            windows.iter().fold((0, 0), |s, w| (s.0 + w.counters.arrivals, s.1 + w.counters.departures));
        assert_eq!(arrived, left, "everybody has left");
        let time: u64 = windows.iter().map(|w| w.queue_times.total()).sum();
        assert_eq!(time, plan.duration.0, "every nanosecond is accounted for");
        let sent: f64 = windows.iter().map(|w| w.used).sum();
        let departed: u64 = windows.iter().map(|w| w.counters.departed_bytes).sum();
        assert!((sent - 8.0 * departed as f64).abs() < 1e-3, "{sent} {departed}");
    }
}
