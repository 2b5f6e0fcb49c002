//! Compares the law of the queue within a slot and its marking probabilities with sums over every length.

#![allow(clippy::disallowed_methods, reason = "tests may use the platform's functions")]

use marqueue_core::curve::{MarkingCurve, ScaledCurve};
use marqueue_theory::chain::{marking_probabilities, Queue};
use proptest::prelude::*;

fn curve(text: &str, flows: f64, a: f64) -> ScaledCurve {
    ScaledCurve::new(MarkingCurve::parse(text).expect("a curve"), flows, a, a + 0.1, 12.0)
}

/// P(Q = n) of M/D/1 for n up to `most`, by the recursion of the chain embedded at departures, without truncation.
fn md1(rho: f64, most: usize) -> Vec<f64> {
    let mut mass = vec![(-rho).exp()];
    for k in 1..200 {
        mass.push(mass[k - 1] * rho / k as f64);
    }
    let mut exceeds = vec![0.0; 200];
    for k in (0..199).rev() {
        exceeds[k] = exceeds[k + 1] + mass[k + 1];
    }
    let mut p = vec![1.0 - rho];
    for n in 0..most {
        let reach = n.min(198);
        let up: f64 = (0..reach).map(|k| p[n - k] * exceeds[k + 1]).sum();
        let idle = if n < 200 { p[0] * exceeds[n] } else { 0.0 };
        p.push((idle + up) / mass[0]);
    }
    p
}

fn law(queue: Queue, rho: f64, most: usize) -> Vec<f64> {
    match queue {
        Queue::Mm1 => (0..=most).map(|n| (1.0 - rho) * rho.powi(n as i32)).collect(),
        Queue::Md1 => md1(rho, most),
    }
}

#[test]
fn md1_equals_its_recursion_at_any_load() {
    for rho in [0.01, 0.1, 0.2, 0.3, 0.5, 0.7, 0.9, 0.99, 0.9999] {
        let (exact, found) = (md1(rho, 300), Queue::Md1.stationary(rho));
        for (n, p) in exact.iter().enumerate() {
            let error = (found.probability(n as f64) - p).abs();
            assert!(error < 1e-14 * exact[0].max(1e-2), "ρ = {rho}, n = {n}: {error}");
        }
    }
}

#[test]
fn md1_has_the_mean_of_pollaczek_and_khinchine_up_to_a_load_of_one() {
    for idle in [0.5, 1e-2, 1e-4, 1e-7, 1e-10] {
        let rho: f64 = 1.0 - idle;
        let law = Queue::Md1.stationary(rho);
        // E[Q] = Σ P(Q >= n), term by term up to 40, then as a geometric series.
        let ratio = law.tail(41.0) / law.tail(40.0);
        let decay = 1.0 - ratio;
        let mean: f64 = (1..40).map(|n| law.tail(f64::from(n))).sum::<f64>() + law.tail(40.0) / decay;
        let exact = rho + rho * rho / (2.0 * (1.0 - rho));
        // The error of 1 - ratio in this test is 10^-16 over 2(1 - ρ).
        assert!((mean / exact - 1.0).abs() < 1e-13 + 1e-15 / idle, "1 - ρ = {idle}: {mean} {exact}");
        assert!((law.tail(0.0) - 1.0).abs() < 1e-12 + 1e-15 / idle, "{}", law.tail(0.0));
    }
}

#[test]
fn small_tails_have_full_relative_accuracy() {
    let far = Queue::Mm1.stationary(0.5).tail(500.0);
    assert!((far / 0.5f64.powi(500) - 1.0).abs() < 1e-12);
    assert!(Queue::Mm1.stationary(0.0).tail(1.0) < 1e-300 && Queue::Md1.stationary(0.0).tail(1.0) < 1e-300);
}

#[test]
fn losses_equal_those_of_a_finite_queue() {
    // M/M/1/B as a birth-and-death process; M/D/1/B by the embedded chain, whose law is that of the unlimited queue
    // truncated.
    for rho in [0.3, 0.9, 0.999, 1.0, 1.001, 1.3] {
        for buffer in [1u32, 5, 40, 200] {
            let weight = |n: u32| f64::powi(rho, n as i32);
            let exact = weight(buffer) / (0..=buffer).map(weight).sum::<f64>();
            assert!((Queue::Mm1.loss(rho, buffer) / exact - 1.0).abs() < 1e-10, "ρ = {rho}, B = {buffer}");
            let cut: f64 = {
                let mut p = md1(rho, buffer as usize);
                p.truncate(buffer as usize);
                p.iter().map(|x| x / p[0]).sum()
            };
            if rho != 1.0 {
                let exact = 1.0 - 1.0 / (1.0 / cut + rho);
                let found = Queue::Md1.loss(rho, buffer);
                assert!((found - exact).abs() < 1e-12, "ρ = {rho}, B = {buffer}: {found} {exact}");
            }
        }
    }
    // With one place there is no waiting: Erlang's loss formula, for any service.
    assert!((Queue::Md1.loss(0.5, 1) - 0.5 / 1.5).abs() < 1e-14);
    assert!((Queue::Md1.loss(1.0, 1) - 0.5).abs() < 1e-14);
    // Far above 1 the server is never idle, and the loss is 1 - 1/ρ, on both sides of the switch at ρ = 20.
    for (rho, buffer) in [(19.9, 7), (20.1, 7), (1e5, 7), (2.0, 100_000)] {
        assert!((Queue::Md1.loss(rho, buffer) - (1.0 - 1.0 / rho)).abs() < 1e-12, "{rho} {buffer}");
        assert!((Queue::Mm1.loss(rho, buffer) - (1.0 - 1.0 / rho)).abs() < 1e-2, "{rho} {buffer}");
    }
}

fn assert_marks_equal_sum(
    text: &str,
    flows: f64,
    a: f64,
    queue: Queue,
    rho: f64,
    exponents: &[f64],
) -> Result<(), TestCaseError> {
    let curve = curve(text, flows, a);
    let found = marking_probabilities(&curve, queue, &[rho], exponents);
    let most = (40.0 / (1.0 - rho)) as usize;
    let mut exact = vec![0.0; exponents.len()];
    for (n, p) in law(queue, rho, most).into_iter().enumerate() {
        let pass = (-curve.p(n as f64)).ln_1p();
        exact.iter_mut().zip(exponents).for_each(|(sum, e)| *sum += p * -(e * pass).exp_m1());
    }
    for (x, y) in found.iter().zip(&exact) {
        prop_assert!((x - y).abs() < 1e-12, "{text} N = {flows} a = {a} {queue:?} ρ = {rho}: {x} {y}");
    }
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(40))]

    #[test]
    fn marks_equal_the_sum_over_all_lengths(
        text in prop::sample::select(vec![
            "red:2:10:0.2", "red:4:11:0.05", "red:0:1:1", "exp:10:0.2", "exp:3:0.9", "points:1,0;2,0.5;2,0.6;40,0.9",
            "points:3,0", "points:0,0;5,0.01;30,0.02",
        ]),
        flows in 1.0..1e5f64,
        a in 0.05..0.45f64,
        idle in 0.004..0.99f64,
        slots in 1u32..6,
    ) {
        let exponents = [1, 2, 9, 25, 60].map(|w: u32| f64::from(w) / f64::from(slots));
        for queue in [Queue::Mm1, Queue::Md1] {
            assert_marks_equal_sum(text, flows, a, queue, 1.0 - idle, &exponents)?;
        }
    }
}

#[test]
fn marks_of_an_exponential_curve_under_mm1_equal_the_closed_form() {
    let flows: f64 = 1e9;
    let decay = -0.8f64.ln() / 10.0 / flows.powf(0.2);
    for idle in [0.3, 1e-3, 1e-6, 1e-9] {
        let rho = 1.0 - idle;
        let found = marking_probabilities(&curve("exp:10:0.2", flows, 0.2), Queue::Mm1, &[rho], &[1.0, 25.0]);
        for (w, p) in [1.0f64, 25.0].into_iter().zip(found) {
            // 1 - (1-ρ) / (1 - ρ e^{-wd}) = ρ (1 - e^{-wd}) / (1 - ρ e^{-wd}).
            let exact = rho * -(-w * decay).exp_m1() / (1.0 - rho + rho * -(-w * decay).exp_m1());
            assert!((p / exact - 1.0).abs() < 1e-11, "1 - ρ = {idle}, w = {w}: {p} {exact}");
        }
    }
}

#[test]
fn all_flows_are_marked_at_loads_of_one_and_more() {
    let found = marking_probabilities(&curve("red:2:10:0.2", 1e3, 0.2), Queue::Mm1, &[1.0, 2.0], &[1.0, 2.0]);
    assert_eq!(found, [1.0; 4]);
}
