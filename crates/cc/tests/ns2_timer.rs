//! ns-2.35's retransmission timer, worked by hand: whole ticks of 10 ms, srtt in eighths and rttvar in quarters of a tick.

#![allow(clippy::disallowed_methods, reason = "tests may use the platform's functions")]

mod common;

use common::{at, config};
use marqueue_cc::rto::Rto;
use marqueue_cc::Config;
use marqueue_core::Dur;

/// No least timeout but ns-2's own of two ticks.
fn set() -> Config {
    config("ns2", "reno", &[("min_rto", 0.0)], &[])
}

/// The timeout in milliseconds after round-trip times that begin at whole seconds, in milliseconds.
fn after(config: &Config, rtts: &[f64]) -> f64 {
    let mut rto = Rto::new(config, 0.0);
    for (n, ms) in rtts.iter().enumerate() {
        rto.sample(config, at(n as f64), at(n as f64 + ms * 1e-3));
    }
    (rto.timeout(config).secs() * 1e3).round()
}

#[test]
fn a_measurement_counts_the_ticks_of_a_clock_with_a_phase() {
    // 95 ms from 5 ms before a tick on contain ten ticks' beginnings, from the tick on nine. One measurement of n ticks
    // makes a timeout of n + 4 n/2.
    for (phase, sent, ticks) in [(0.0, 1.005, 10.0), (0.5, 1.005, 9.0), (0.5, 1.0, 10.0), (0.0, 1.0, 9.0)] {
        let c = set();
        let mut rto = Rto::new(&c, phase);
        rto.sample(&c, at(sent), at(sent + 0.095));
        assert_eq!(rto.timeout(&c), Dur::from_secs(0.03 * ticks), "phase {phase}, sent at {sent} s");
        assert_eq!(rto.srtt(&c), 0.01 * ticks);
        assert_eq!(rto.latest(), Some(at(0.095) - at(0.0)), "as it was, not in ticks");
    }
}

#[test]
fn averages_are_whole_numbers_of_fractions_of_a_tick() {
    let c = set();
    // 10 ticks: srtt 80/8, rttvar 20/4.
    assert_eq!(after(&c, &[100.0]), 300.0);
    // 6: delta -4, srtt 76/8, rttvar 20 + 4 - 5 = 19: (152 + 76)/8 = 28.5.
    assert_eq!(after(&c, &[100.0, 60.0]), 280.0);
    // 20 then: delta 20 - 9 = 11, srtt 87/8, rttvar 19 + 11 - 4 = 26: (208 + 87)/8 = 36.9.
    assert_eq!(after(&c, &[100.0, 60.0, 200.0]), 360.0);
    // Constant: rttvar falls by a quarter, rounded up, down to 3/4. 20, 15, 12, 9, 7, 6, 5, 4, 3.
    assert_eq!(after(&c, &[100.0; 9]), 130.0);
    assert_eq!(after(&c, &[100.0; 100]), 130.0);
}

#[test]
fn the_least_are_a_tick_and_a_timeout_of_two() {
    let c = set();
    assert_eq!(after(&c, &[1.0]), 30.0, "one tick, half a tick of deviation");
    // Small round trips: srtt 8/8 and rttvar 2/4 stay.
    assert_eq!(after(&c, &[1.0; 50]), 30.0);
    let c = Config { max_rto: Dur::from_secs(0.01), ..set() };
    assert_eq!(after(&c, &[1.0]), 20.0);
    let c = config("ns2", "reno", &[("min_rto", 0.2)], &[]);
    assert_eq!(after(&c, &[1.0]), 200.0);
}

#[test]
fn the_timeout_doubles_up_to_its_maximum() {
    let c = set();
    let mut rto = Rto::new(&c, 0.0);
    let mut timeouts = vec![rto.timeout(&c).secs()];
    for _ in 0..7 {
        rto.back_off(&c);
        timeouts.push(rto.timeout(&c).secs());
    }
    assert_eq!(timeouts, [3.0, 6.0, 12.0, 24.0, 48.0, 60.0, 60.0, 60.0], "the initial one");
    // A factor of 64 is passed if the maximum has not been reached: 30 ms x 2048 = 61.4 s.
    rto.sample(&c, at(1.0), at(1.001));
    rto.end_back_off();
    for n in 1..=11 {
        rto.back_off(&c);
        assert_eq!(rto.timeout(&c).secs(), (0.03 * 2f64.powi(n)).min(60.0), "{n}");
    }
    rto.end_back_off();
    assert_eq!(rto.timeout(&c).secs(), 0.03);
}

#[test]
fn backed_off_beyond_eight_it_forgets_the_average() {
    let c = set();
    for (doublings, forgets) in [(3, false), (4, true)] {
        let mut rto = Rto::new(&c, 0.0);
        rto.sample(&c, at(0.0), at(0.1));
        for _ in 0..doublings {
            rto.back_off(&c);
        }
        assert_eq!(rto.srtt(&c) == 0.0, forgets, "{doublings} doublings");
        rto.end_back_off();
        assert_eq!(rto.timeout(&c).secs(), 0.3, "but keeps the timeout");
        rto.sample(&c, at(1.0), at(1.2));
        // As a first measurement of 20 ticks; else delta 10, srtt 90/8, rttvar 20 + 10 - 5 = 25: 36.25 ticks.
        assert_eq!(rto.timeout(&c).secs(), if forgets { 0.6 } else { 0.36 });
    }
}

#[test]
fn timestamps_measure_every_acknowledgement_alike() {
    let c = set();
    let (mut one, mut often) = (Rto::new(&c, 0.0), Rto::new(&c, 0.0));
    assert_eq!(one.latest(), None);
    for n in 0..5u32 {
        let (sent, now) = (at(f64::from(n)), at(f64::from(n) * 1.02 + 0.1));
        one.sample(&c, sent, now);
        often.sample_often(&c, sent, now, 10);
        assert_eq!((one.timeout(&c), one.latest()), (often.timeout(&c), often.latest()));
    }
}
