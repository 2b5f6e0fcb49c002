//! The maps against the equations as they are written, with whole histories, and each other.

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

/// Rates of all sources by step, by map.
fn trajectory(mut map: impl Map, sources: usize) -> Vec<Vec<f64>> {
    let mut steps = vec![(0..sources).map(|i| map.rate(i)).collect::<Vec<_>>()];
    for _ in 0..STEPS {
        let prices = loss(map.arrivals());
        let figures = map.step(&prices);
        let rates: Vec<_> = (0..sources).map(|i| map.rate(i)).collect();
        assert_eq!(figures.least, rates.iter().copied().fold(f64::INFINITY, f64::min));
        assert_eq!(figures.greatest, rates.iter().copied().fold(f64::NEG_INFINITY, f64::max));
        assert!((figures.sum - rates.iter().sum::<f64>()).abs() <= 1e-9 * figures.squares.sqrt() * sources as f64);
        steps.push(rates);
    }
    steps
}

/// The same from equations (7) to (9), (12) and (13), by looking back.
fn as_written<L: Law>(network: &Network) -> Vec<Vec<f64>> {
    let start: Vec<f64> = network.sources.iter().map(|s| s.start).collect();
    let mut x = vec![start];
    let mut p: Vec<Vec<f64>> = Vec::new();
    let at = |n: i64| n.max(0) as usize;
    for n in 0..=STEPS as i64 {
        if n > 0 {
            let rates = network.sources.iter().enumerate().map(|(i, s)| {
                let d = i64::from(s.delay);
                let back = |hop: &Hop| p[at(n - (d - i64::from(hop.forward)))][hop.resource as usize];
                let price = L::FEEDBACK.of(s.route.iter().map(back));
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
    (1u32..9, 1usize..8, any::<[u32; RESOURCES]>(), 1.0..50.0f64).prop_map(|(delay, on, forward, start)| Source {
        delay,
        route: (0..RESOURCES)
            .filter(|j| on & (1 << j) != 0)
            .map(|j| Hop { resource: j as u32, forward: forward[j] % delay })
            .collect(),
        parameters: (0.2, 0.3),
        start,
    })
}

/// Networks all of whose resources are used.
fn network() -> impl Strategy<Value = Network> {
    prop::collection::vec(source(), 1..12).prop_map(|mut sources| {
        let all = (0..RESOURCES as u32).map(|resource| Hop { resource, forward: 0 }).collect();
        sources.push(Source { delay: 2, route: all, parameters: (0.1, 0.5), start: 3.0 });
        Network::new(RESOURCES, sources)
    })
}

fn close(a: &[Vec<f64>], b: &[Vec<f64>]) {
    for (n, (a, b)) in a.iter().zip(b).enumerate() {
        for (a, b) in a.iter().zip(b) {
            // Sums in another order, over steps that may amplify a difference by a factor of 2 each.
            assert!((a - b).abs() <= 1e-6 * (a.abs() + b.abs() + 1.0) || !a.is_finite(), "step {n}: {a} and {b}");
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn the_map_is_the_equations(network in network()) {
        let n = network.sources.len();
        close(&trajectory(ConstantDelayMap::<Mkc>::new(&network), n), &as_written::<Mkc>(&network));
        close(&trajectory(ConstantDelayMap::<Kelly>::new(&network), n), &as_written::<Kelly>(&network));
        close(&trajectory(ConstantDelayMap::<Scalable>::new(&network), n), &as_written::<Scalable>(&network));
    }

    #[test]
    fn without_jitter_random_delays_are_constant_ones(network in network()) {
        let n = network.sources.len();
        let steady = trajectory(ConstantDelayMap::<Mkc>::new(&network), n);
        close(&trajectory(RandomDelayMap::<Mkc>::new(&network, 0, 1), n), &steady);
    }

    #[test]
    fn a_fixed_point_stays_one_however_late_feedback_is(jitter in 0u32..20, seed in any::<u64>()) {
        // x* = C/N + alpha/beta (46); C = 100, N = 4.
        let source = Source {
            delay: 3,
            route: vec![Hop { resource: 0, forward: 1 }],
            parameters: (1.0, 0.5),
            start: 27.0,
        };
        let mut map = RandomDelayMap::<Mkc>::new(&Network::new(1, vec![source; 4]), jitter, seed);
        for _ in 0..50 {
            let prices = vec![(map.arrivals()[0] - 100.0) / map.arrivals()[0]];
            let rates = map.step(&prices);
            prop_assert!((rates.least - 27.0).abs() < 1e-9 && (rates.greatest - 27.0).abs() < 1e-9);
        }
    }
}

#[test]
fn laws_by_hand() {
    let seen = LawInputs { previous: 10.0, reference: 8.0, price: 0.25 };
    assert_eq!(Kelly::next((0.5, 6.0), seen), 10.0 + 0.5 * (6.0 - 2.0));
    assert_eq!(Mkc::next((1.0, 0.5), seen), 8.0 + 1.0 - 0.5 * 0.25 * 8.0);
    assert_eq!(Aimd::next((1.0, 0.5), seen), 4.0);
    assert_eq!(Aimd::next((1.0, 0.5), LawInputs { price: 0.0, ..seen }), 9.0);
    assert_eq!(Scalable::next((0.25, 0.125), seen), 7.0);
    assert_eq!(Scalable::next((0.25, 0.125), LawInputs { price: -1.0, ..seen }), 10.0);
    assert_eq!(Feedback::Sum.of([0.5, -0.25].into_iter()), 0.25);
    assert_eq!(Feedback::Max.of([-0.5, -0.25].into_iter()), -0.25);
}
