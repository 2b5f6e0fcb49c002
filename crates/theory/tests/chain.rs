//! The lumped chain: flows are neither made nor lost, and one round trip has the law of N separate flows.

use marqueue_core::curve::{MarkingCurve, ScaledCurve};
use marqueue_theory::chain::{marking, Chain, Class, Queue, Setup};
use proptest::prelude::*;

fn setup(flows: &[(u64, u32)], slots: u32, ct: f64, greatest: u32) -> Setup {
    let total: u64 = flows.iter().map(|(n, _)| n).sum();
    let curve = ScaledCurve::new(MarkingCurve::parse("red:2:10:0.2").expect("a curve"), total as f64, 0.2, 0.3, 12.0);
    let classes = flows.iter().map(|&(flows, slots)| Class { flows, slots }).collect();
    Setup { curve, queue: Queue::Mm1, classes, slots, ct, greatest }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(40))]

    #[test]
    fn flows_stay_as_many_within_their_windows(
        flows in prop::collection::vec((1u64..2000, 1u32..6), 1..4), slots in 1u32..5, ct in 1.0..40.0f64, greatest in 2u32..90,
    ) {
        let mut chain = Chain::new(setup(&flows, slots, ct, greatest), 1, "test");
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
    let mut chain = Chain::starting_at(setup, &[1.0, 0.0], 1, "test");
    let step = chain.step();
    assert_eq!(step.windows, 400.0);
    assert!((step.load - 350.0 / 2000.0).abs() < 1e-15);
}

#[test]
fn groups_of_a_class_change_their_windows_one_after_the_other() {
    // Nobody is marked at a load of nearly nothing: a quarter of the flows grows in each slot.
    let mut chain = Chain::starting_at(setup(&[(402, 4)], 4, 1e6, 3), &[1.0, 0.0, 0.0], 1, "test");
    for grown in [101, 202, 302, 402] {
        chain.step();
        assert_eq!(chain.counts(0), [402 - grown, grown, 0]);
    }
}

#[test]
fn overload_halves_everyone() {
    let mut chain = Chain::starting_at(setup(&[(50, 1)], 1, 3.0, 5), &[0.0, 0.0, 0.0, 0.0, 1.0], 1, "test");
    assert!(chain.step().load >= 1.0);
    assert_eq!(chain.counts(0), [0, 50, 0, 0, 0]);
}

#[test]
fn the_same_name_and_seed_draw_the_same() {
    let run = |seed, name: &str| {
        let mut chain = Chain::new(setup(&[(1_000_000, 1)], 1, 10.0, 40), seed, name);
        (0..100).map(|_| chain.step().windows).collect::<Vec<_>>()
    };
    assert_eq!(run(1, "a"), run(1, "a"));
    assert_ne!(run(1, "a"), run(1, "b"));
    assert_ne!(run(1, "a"), run(2, "a"));
}

#[test]
fn one_round_trip_thins_each_window_binomially() {
    // 40 flows at window 9 among 40 at 3: how many of them are marked, over many streams, against the binomial law.
    let shares = [0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 0.0, 0.0, 1.0, 0.0];
    let of = setup(&[(80, 1)], 1, 6.3, 10);
    let p = marking(&of.curve, Queue::Mm1, &[80.0 * 6.0 / (80.0 * 6.3)], &[9.0])[0];
    let runs = 20_000;
    let mut seen = [0u32; 41];
    for seed in 0..runs {
        let mut chain = Chain::starting_at(of.clone(), &shares, seed, "test");
        chain.step();
        // Of 9 packets half are 4; the 40 flows at window 3 go to 1 or to 4 as well.
        seen[40 - chain.counts(0)[9] as usize] += 1;
    }
    let mut law = vec![(1.0 - p).powi(40)];
    for k in 0..40 {
        law.push(law[k] * (40 - k) as f64 / (k + 1) as f64 * p / (1.0 - p));
    }
    let cells: Vec<_> = (0..=40).filter(|&k| law[k] * runs as f64 > 10.0).collect();
    let chi: f64 =
        cells.iter().map(|&k| (f64::from(seen[k]) - law[k] * runs as f64).powi(2) / (law[k] * runs as f64)).sum();
    // Mean `cells`, standard deviation sqrt(2 cells): five of them.
    let freedom = cells.len() as f64;
    assert!(freedom > 8.0 && chi < freedom + 5.0 * (2.0 * freedom).sqrt(), "{chi} of {freedom}");
}
