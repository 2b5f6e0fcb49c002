//! Compares solutions of delay equations with closed forms: order of convergence, bounds, state-dependent delays.

#![allow(clippy::disallowed_methods, reason = "tests may use the platform's functions")]

use marqueue_theory::fluid::solver::{solve, System, Tolerance};
use marqueue_theory::fluid::{State, View};

/// y' = f(t, y, y(t - d)) with one delay.
struct SingleDelay<F, D, P> {
    states: Vec<State>,
    slope: F,
    delay: D,
    past: P,
}

impl<F, D, P> System for SingleDelay<F, D, P>
where
    F: Fn(f64, f64, f64) -> f64,
    D: Fn(f64, f64) -> f64,
    P: Fn(f64) -> f64,
{
    fn states(&self) -> &[State] {
        &self.states
    }

    fn delay_count(&self) -> usize {
        1
    }

    fn delays(&self, now: &View<'_, f64>, out: &mut [f64]) {
        out[0] = (self.delay)(now.t, now.y[0]);
    }

    fn slopes(&self, now: &View<'_, f64>, delayed: &[View<'_, f64>], out: &mut [f64]) {
        out[0] = (self.slope)(now.t, now.y[0], delayed[0].y[0]);
    }

    fn past(&self, t: f64, out: &mut [f64]) {
        out[0] = (self.past)(t);
    }
}

fn free() -> Vec<State> {
    vec![State::free("y", "1", 1.0)]
}

fn end<S: System>(system: &S, start: f64, end: f64, tolerance: Tolerance) -> f64 {
    let solution = solve(system, &[start], 0.0, end, tolerance).expect("a solution");
    let mut y = [0.0];
    solution.at(system, end, &mut y);
    y[0]
}

/// The solution of y' = -y(t - 1) with y = 1 in the past, by the method of steps.
fn exact_y(t: f64) -> f64 {
    let factorial = |k: i32| (1..=k).map(f64::from).product::<f64>();
    (0..=(t as i32 + 1)).map(|k| (-1f64).powi(k) * (t - f64::from(k) + 1.0).powi(k) / factorial(k)).sum()
}

fn fixed(step: f64) -> Tolerance {
    Tolerance { relative: 1e6, max_step: step, ..Tolerance::default() }
}

#[test]
fn the_error_falls_with_the_fifth_power_of_the_step() {
    // cos solves y' = -pi/2 y(t - 1); its past is known.
    let cosine = SingleDelay {
        states: free(),
        slope: |_, _, then: f64| -std::f64::consts::FRAC_PI_2 * then,
        delay: |_, _| 1.0,
        past: |t: f64| (std::f64::consts::FRAC_PI_2 * t).cos(),
    };
    let errors: Vec<f64> =
        [8.0, 16.0, 32.0].iter().map(|n| (end(&cosine, 1.0, 7.0, fixed(1.0 / n)) - 0.0).abs()).collect();
    for pair in errors.windows(2) {
        let order = (pair[0] / pair[1]).log2();
        assert!((4.7..5.6).contains(&order), "{errors:?}: order {order}");
    }
}

#[test]
fn breaks_repeated_by_delays_keep_the_order() {
    let system = SingleDelay { states: free(), slope: |_, _, then: f64| -then, delay: |_, _| 1.0, past: |_| 1.0 };
    // Steps of 0.3 do not end at the breaks at 1, 2 and 3. Up to 6 the solution is a polynomial of degree 7.
    for (t, step) in [(2.5, 0.3), (6.0, 0.07)] {
        let error = (end(&system, 1.0, t, fixed(step)) - exact_y(t)).abs();
        assert!(error < 2e-9, "{t}: {error}");
    }
}

#[test]
fn errors_follow_the_tolerance() {
    let system = SingleDelay { states: free(), slope: |_, _, then: f64| -then, delay: |_, _| 1.0, past: |_| 1.0 };
    for relative in [1e-4, 1e-6, 1e-8, 1e-10] {
        let found = end(&system, 1.0, 9.7, Tolerance { relative, ..Tolerance::default() });
        assert!((found - exact_y(9.7)).abs() < 20.0 * relative, "{relative}: {found} {}", exact_y(9.7));
    }
}

#[test]
fn a_delay_may_depend_on_the_state_and_vanish() {
    // y = sin t + 2: y' = cos t, written with y(t - (1 - sin(t)^2) / 4), a delay that is zero at pi/2.
    let delay = |_: f64, y: f64| (1.0 - (y - 2.0) * (y - 2.0)).max(0.0) / 4.0;
    let system = SingleDelay {
        states: free(),
        slope: move |t: f64, y, then| t.cos() + (then - ((t - delay(t, y)).sin() + 2.0)),
        delay,
        past: |t: f64| t.sin() + 2.0,
    };
    let found = end(&system, 2.0, 5.0, Tolerance { relative: 1e-8, ..Tolerance::default() });
    assert!((found - 5f64.sin() - 2.0).abs() < 1e-6, "{found}");
}

#[test]
fn a_state_rests_at_its_bounds_until_its_slope_points_inwards() {
    // A queue: y' = cos t within 0 and 1/2, from 0. Full at pi/6, leaves at pi/2, empty where sin t = 1/2.
    let states = vec![State::free("y", "1", 1.0).within(0.0, 0.5)];
    let system = SingleDelay { states, slope: |t: f64, _, _| t.cos(), delay: |_, _| 1.0, past: |_| 0.0 };
    let solution = solve(&system, &[0.0], 0.0, 6.0, Tolerance { relative: 1e-9, ..Tolerance::default() }).unwrap();
    let pi = std::f64::consts::PI;
    let exact = |t: f64| match t {
        t if t < pi / 6.0 => t.sin(),
        t if t < pi / 2.0 => 0.5,
        t if t < 5.0 * pi / 6.0 + 0.0 && t.sin() - 0.5 > 0.0 => t.sin() - 0.5,
        t if t < 1.5 * pi => 0.0,
        t => t.sin() + 1.0,
    };
    for k in 0..=60 {
        let t = f64::from(k) / 10.0;
        let mut y = [0.0];
        solution.at(&system, t, &mut y);
        assert!((y[0] - exact(t).min(0.5)).abs() < 1e-7, "{t}: {} {}", y[0], exact(t));
    }
    let times: Vec<f64> = solution.bound_events.iter().map(|b| b.0).collect();
    let expected = [pi / 6.0, pi / 2.0, 5.0 * pi / 6.0, 1.5 * pi];
    let late: Vec<f64> = times.into_iter().filter(|t| *t > 0.01).collect();
    assert_eq!(late.len(), 5, "{late:?}");
    for (found, expected) in late.iter().zip(expected) {
        assert!((found - expected).abs() < 1e-7, "{found} {expected}");
    }
    assert!((late[4] - (2.0 * pi - pi / 6.0)).abs() < 1e-7);
}

#[test]
fn unbounded_solutions_fail_with_the_time() {
    let system = SingleDelay { states: free(), slope: |_, y, _| y * y, delay: |_, _| 1.0, past: |_| 1.0 };
    let failure = solve(&system, &[1.0], 0.0, 3.0, Tolerance::default()).unwrap_err();
    assert!(failure.to_string().contains("at 1.0") || failure.to_string().contains("at 0.99"), "{failure}");
}
