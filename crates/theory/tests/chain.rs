//! Tests of the lumped chain: the number of flows is constant, and one round trip has the law of N separate flows.

#![allow(clippy::disallowed_methods, reason = "tests may use the platform's functions")]

use marqueue_core::curve::{MarkingCurve, ScaledCurve};
use marqueue_theory::chain::{marking_probabilities, Chain, Class, Queue, Setup};
use proptest::prelude::*;

fn setup(flows: &[(u64, u32)], slots: u32, ct: f64, max_window: u32) -> Setup {
    let total: u64 = flows.iter().map(|(n, _)| n).sum();
    let curve = ScaledCurve::new(MarkingCurve::parse("red:2:10:0.2").expect("a curve"), total as f64, 0.2, 0.3, 12.0);
    let classes = flows.iter().map(|&(flows, slots)| Class { flows, slots }).collect();
    Setup { curve, queue: Queue::Mm1, classes, slots, ct, max_window }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(40))]

    #[test]
    fn the_number_of_flows_is_constant(
        flows in prop::collection::vec((1u64..2000, 1u32..6), 1..4), slots in 1u32..5, ct in 1.0..40.0f64, max_window in 2u32..90,
    ) {
        let mut chain = Chain::new(setup(&flows, slots, ct, max_window), 1, "test");
        for _ in 0..50 {
            let step = chain.step();
            prop_assert!(step.load > 0.0 && step.windows > 0.0);
            for (class, (n, _)) in flows.iter().enumerate() {
                prop_assert_eq!(chain.counts(class).iter().sum::<u64>(), *n);
            }
        }
    }
}

#[test]
fn the_load_counts_each_window_over_its_round_trip() {
    // Round trips of T/2 and 2T at windows of 1: ρ = (100 × 2 + 300 / 2) / (400 × 5).
    let setup = setup(&[(100, 2), (300, 8)], 4, 5.0, 2);
    let mut chain = Chain::with_window_shares(setup, &[1.0, 0.0], 1, "test");
    let step = chain.step();
    assert_eq!(step.windows, 400.0);
    assert!((step.load - 350.0 / 2000.0).abs() < 1e-15);
}

#[test]
fn groups_of_a_class_change_their_windows_in_different_slots() {
    // At a load of almost zero no flow is marked, and the windows of a quarter of the flows grow in each slot.
    let mut chain = Chain::with_window_shares(setup(&[(402, 4)], 4, 1e6, 3), &[1.0, 0.0, 0.0], 1, "test");
    for grown in [101, 202, 302, 402] {
        chain.step();
        assert_eq!(chain.counts(0), [402 - grown, grown, 0]);
    }
}

#[test]
fn overload_halves_all_windows() {
    let mut chain = Chain::with_window_shares(setup(&[(50, 1)], 1, 3.0, 5), &[0.0, 0.0, 0.0, 0.0, 1.0], 1, "test");
    assert!(chain.step().load >= 1.0);
    assert_eq!(chain.counts(0), [0, 50, 0, 0, 0]);
}

#[test]
fn draws_depend_on_name_and_seed_only() {
    let run = |seed, name: &str| {
        let mut chain = Chain::new(setup(&[(1_000_000, 1)], 1, 10.0, 40), seed, name);
        (0..100).map(|_| chain.step().windows).collect::<Vec<_>>()
    };
    assert_eq!(run(1, "a"), run(1, "a"));
    assert_ne!(run(1, "a"), run(1, "b"));
    assert_ne!(run(1, "a"), run(2, "a"));
}

#[test]
fn the_number_of_marked_flows_is_binomial() {
    // The number of marked flows among 40 at window 9, with 40 others at window 3, over many streams.
    let shares = [0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 0.0, 0.0, 1.0, 0.0];
    let setup = setup(&[(80, 1)], 1, 6.3, 10);
    let p = marking_probabilities(&setup.curve, Queue::Mm1, &[80.0 * 6.0 / (80.0 * 6.3)], &[9.0])[0];
    let runs = 20_000;
    let mut seen = [0u32; 41];
    for seed in 0..runs {
        let mut chain = Chain::with_window_shares(setup.clone(), &shares, seed, "test");
        chain.step();
        // Marked flows leave for window 4, unmarked ones go to 10. No flow at window 3 reaches 10.
        seen[40 - chain.counts(0)[9] as usize] += 1;
    }
    let mut law = vec![(1.0 - p).powi(40)];
    for k in 0..40 {
        law.push(law[k] * (40 - k) as f64 / (k + 1) as f64 * p / (1.0 - p));
    }
    let cells: Vec<_> = (0..=40).filter(|&k| law[k] * runs as f64 > 10.0).collect();
    let chi: f64 =
        cells.iter().map(|&k| (f64::from(seen[k]) - law[k] * runs as f64).powi(2) / (law[k] * runs as f64)).sum();
    // Chi-square has mean `cells` and standard deviation sqrt(2 cells). Five deviations are allowed.
    let freedom = cells.len() as f64;
    assert!(freedom > 8.0 && chi < freedom + 5.0 * (2.0 * freedom).sqrt(), "{chi} of {freedom}");
}
