//! Compares the maps with a direct implementation of the equations on whole histories, and with each other.

use marqueue_theory::rate_maps::{
    Aimd, ConstantDelayMap, Feedback, Hop, Kelly, Law, LawInputs, Map, Mkc, Network, RandomDelayMap, Scalable, Source,
};
use proptest::prelude::*;

const RESOURCES: usize = 3;
const CAPACITY: [f64; RESOURCES] = [100.0, 70.0, 40.0];
const STEPS: usize = 30;

/// The packet loss (5), which may be negative.
fn loss(arrivals: &[f64]) -> Vec<f64> {
    arrivals.iter().zip(CAPACITY).map(|(x, c)| (x - c) / x).collect()
}

/// The rates of all sources at each step of a map.
fn trajectory(mut map: impl Map, sources: usize) -> Vec<Vec<f64>> {
    let mut steps = vec![(0..sources).map(|i| map.rate(i)).collect::<Vec<_>>()];
    for _ in 0..STEPS {
        let prices = loss(map.arrivals());
        let statistics = map.step(&prices);
        let rates: Vec<_> = (0..sources).map(|i| map.rate(i)).collect();
        assert_eq!(statistics.min, rates.iter().copied().fold(f64::INFINITY, f64::min));
        assert_eq!(statistics.max, rates.iter().copied().fold(f64::NEG_INFINITY, f64::max));
        assert!(
            (statistics.sum - rates.iter().sum::<f64>()).abs() <= 1e-9 * statistics.squares.sqrt() * sources as f64
        );
        steps.push(rates);
    }
    steps
}

/// The same from equations (7) to (9), (12) and (13), with the whole history.
fn reference_trajectory<L: Law>(network: &Network) -> Vec<Vec<f64>> {
    let start: Vec<f64> = network.sources.iter().map(|s| s.initial_rate).collect();
    let mut x = vec![start];
    let mut p: Vec<Vec<f64>> = Vec::new();
    let at = |n: i64| n.max(0) as usize;
    for n in 0..=STEPS as i64 {
        if n > 0 {
            let rates = network.sources.iter().enumerate().map(|(i, s)| {
                let d = i64::from(s.delay);
                let back = |hop: &Hop| p[at(n - (d - i64::from(hop.forward)))][hop.resource as usize];
                let price = L::FEEDBACK.combine(s.route.iter().map(back));
                L::next(s.parameters, LawInputs { previous: x[at(n - 1)][i], reference: x[at(n - d)][i], price })
            });
            let rates = rates.collect();
            x.push(rates);
        }
        let mut arrivals = vec![0.0; RESOURCES];
        for (i, source) in network.sources.iter().enumerate() {
            for hop in &source.route {
                arrivals[hop.resource as usize] += x[at(n - i64::from(hop.forward))][i];
            }
        }
        p.push(loss(&arrivals));
    }
    x
}

fn source() -> impl Strategy<Value = Source> {
    (1u32..9, 1usize..8, any::<[u32; RESOURCES]>(), 1.0..50.0f64).prop_map(|(delay, on, forward, initial_rate)| {
        Source {
            delay,
            route: (0..RESOURCES)
                .filter(|j| on & (1 << j) != 0)
                .map(|j| Hop { resource: j as u32, forward: forward[j] % delay })
                .collect(),
            parameters: (0.2, 0.3),
            initial_rate,
        }
    })
}

/// Networks in which every resource is used.
fn network() -> impl Strategy<Value = Network> {
    prop::collection::vec(source(), 1..12).prop_map(|mut sources| {
        let all = (0..RESOURCES as u32).map(|resource| Hop { resource, forward: 0 }).collect();
        sources.push(Source { delay: 2, route: all, parameters: (0.1, 0.5), initial_rate: 3.0 });
        Network::new(RESOURCES, sources)
    })
}

/// The network with initial rates that differ by much more than rounding does, each source by another amount.
fn disturbed(network: &Network) -> Network {
    let disturb = |(i, s): (usize, &Source)| Source {
        initial_rate: s.initial_rate * (1.0 + 1e-13 * (i + 1) as f64),
        ..s.clone()
    };
    Network::new(RESOURCES, network.sources.iter().enumerate().map(disturb).collect())
}

/// Sums are in another order, so `a` and `b` differ by rounding, which each step may double. An unstable network near
/// arrivals of zero multiplies it by far more: there the disturbed trajectory says how far apart equal ones may be.
fn assert_close(a: &[Vec<f64>], b: &[Vec<f64>], disturbed: &[Vec<f64>]) {
    for (n, ((a, b), disturbed)) in a.iter().zip(b).zip(disturbed).enumerate() {
        for ((a, b), disturbed) in a.iter().zip(b).zip(disturbed) {
            let rounding = 1e-6 * (a.abs() + b.abs() + 1.0) + (b - disturbed).abs();
            assert!((a - b).abs() <= rounding || !a.is_finite(), "step {n}: {a} and {b}, disturbed {disturbed}");
        }
    }
}

/// Compares a map with the equations.
fn assert_equal_to_equations<L: Law>(map: impl Map, network: &Network) {
    let found = trajectory(map, network.sources.len());
    assert_close(&found, &reference_trajectory::<L>(network), &reference_trajectory::<L>(&disturbed(network)));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn maps_equal_the_equations(network in network()) {
        assert_equal_to_equations::<Mkc>(ConstantDelayMap::<Mkc>::new(&network), &network);
        assert_equal_to_equations::<Kelly>(ConstantDelayMap::<Kelly>::new(&network), &network);
        assert_equal_to_equations::<Scalable>(ConstantDelayMap::<Scalable>::new(&network), &network);
    }

    #[test]
    fn random_delays_without_jitter_equal_constant_ones(network in network()) {
        let n = network.sources.len();
        let steady = trajectory(ConstantDelayMap::<Mkc>::new(&network), n);
        let beside = trajectory(ConstantDelayMap::<Mkc>::new(&disturbed(&network)), n);
        assert_close(&trajectory(RandomDelayMap::<Mkc>::new(&network, 0, 1), n), &steady, &beside);
    }

    #[test]
    fn fixed_points_do_not_depend_on_the_delay(jitter in 0u32..20, seed in any::<u64>()) {
        // x* = C/N + alpha/beta (46); C = 100, N = 4.
        let source = Source {
            delay: 3,
            route: vec![Hop { resource: 0, forward: 1 }],
            parameters: (1.0, 0.5),
            initial_rate: 27.0,
        };
        let mut map = RandomDelayMap::<Mkc>::new(&Network::new(1, vec![source; 4]), jitter, seed);
        for _ in 0..50 {
            let prices = vec![(map.arrivals()[0] - 100.0) / map.arrivals()[0]];
            let rates = map.step(&prices);
            prop_assert!((rates.min - 27.0).abs() < 1e-9 && (rates.max - 27.0).abs() < 1e-9);
        }
    }
}

#[test]
fn laws_give_values_computed_by_hand() {
    let inputs = LawInputs { previous: 10.0, reference: 8.0, price: 0.25 };
    assert_eq!(Kelly::next((0.5, 6.0), inputs), 10.0 + 0.5 * (6.0 - 2.0));
    assert_eq!(Mkc::next((1.0, 0.5), inputs), 8.0 + 1.0 - 0.5 * 0.25 * 8.0);
    assert_eq!(Aimd::next((1.0, 0.5), inputs), 4.0);
    assert_eq!(Aimd::next((1.0, 0.5), LawInputs { price: 0.0, ..inputs }), 9.0);
    assert_eq!(Scalable::next((0.25, 0.125), inputs), 7.0);
    assert_eq!(Scalable::next((0.25, 0.125), LawInputs { price: -1.0, ..inputs }), 10.0);
    assert_eq!(Feedback::Sum.combine([0.5, -0.25].into_iter()), 0.25);
    assert_eq!(Feedback::Max.combine([-0.5, -0.25].into_iter()), -0.25);
}
