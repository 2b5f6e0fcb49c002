//! RFC 6298: the estimator and the retransmission timer beside literal transcriptions of sections 2, 3 and 5.

#![allow(clippy::disallowed_methods, reason = "tests may use the platform's functions")]

mod common;
mod pseudocode;

use common::config_of;
use marqueue_cc::rto::Rto;
use marqueue_cc::Config;
use marqueue_core::{Dur, Rng, Time};
use pseudocode::rfc_6298::{Rfc6298, Timer};
use pseudocode::{path, SEQUENCES};

fn settings(rng: &mut Rng) -> Config {
    let pick = |rng: &mut Rng, values: [f64; 3]| values[rng.below(3) as usize];
    let numbers = [
        ("min_rto", pick(rng, [0.0, 0.2, 1.0])),
        ("max_rto", pick(rng, [5.0, 60.0, 120.0])),
        ("initial_rto", pick(rng, [0.5, 1.0, 2.9])),
        ("granularity", pick(rng, [1e-9, 0.001, 0.2])),
        ("initial_window", f64::from(1 + rng.below(10))),
        ("delayed_ack", 0.0),
    ];
    config_of("rfc", &[("recovery", ["reno", "sack"][rng.below(2) as usize])], &numbers, &[])
}

fn text(config: &Config) -> Rfc6298 {
    Rfc6298::new(config.initial_rto, config.granularity, config.min_rto, config.max_rto)
}

/// Measurements, one or several a round trip, and expiries in any order.
#[test]
fn the_timeout_is_that_of_sections_2_and_5() {
    for seed in 0..SEQUENCES {
        let mut rng = Rng::named(seed, "estimator");
        let config = settings(&mut rng);
        let mut text = text(&config);
        let mut ours = Rto::new(&config, 0.0);
        let scale = 0.001 * 2000f64.powf(rng.uniform());
        for _ in 0..40 {
            match rng.below(8) {
                0 | 1 => {
                    ours.back_off(&config);
                    text.back_off();
                }
                2 if text.srtt.is_none() => {
                    ours.reset_after_lost_syn(&config);
                    text.lost_syn();
                }
                kind => {
                    let r = Dur::from_secs(scale * (0.5 + rng.uniform()));
                    let now = Time::ZERO + r;
                    ours.end_back_off();
                    if kind < 6 {
                        ours.sample(&config, Time::ZERO, now);
                        text.measure(r.secs(), 1.0);
                    } else {
                        let expected = 1 + rng.below(20);
                        ours.sample_often(&config, Time::ZERO, now, expected);
                        text.measure(r.secs(), f64::from(expected));
                    }
                }
            }
            assert_eq!(ours.timeout(&config), text.rto);
        }
    }
}

/// When the timer is set, to how long, what it measures, and what a lost SYN changes.
#[test]
fn the_timer_is_managed_as_section_5_says() {
    for seed in 0..SEQUENCES {
        let mut rng = Rng::named(seed, "timer");
        let config = settings(&mut rng);
        let size = (rng.below(2) == 0).then(|| 1 + rng.below(30));
        let weather = path::Weather { syn_loss: 0.4, ..path::Weather::draw(&mut rng) };
        let mut text = Timer::new(text(&config));
        path::compare(&config, size, weather, &mut rng, 60, &mut text);
    }
}
