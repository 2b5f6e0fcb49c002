//! Compares a model with the solver of the crate differential-equations, applied to the equations of the paper written
//! independently.

#![allow(clippy::disallowed_methods, reason = "tests may use the platform's functions")]

use differential_equations::prelude::{ExplicitRungeKutta, DDE, IVP};
use marqueue_theory::fluid::{Description, Model, SolverSettings};
use serde_json::json;

/// Hollot, Misra, Towsley and Gong 2001, (1) and (2), with RED; states W1, W2, q, average.
struct Reno {
    capacity: f64,
    flows: [f64; 2],
    rtts: [f64; 2],
    min_th: f64,
    slope: f64,
    follow: f64,
}

impl Reno {
    fn rtt(&self, i: usize, q: f64) -> f64 {
        self.rtts[i] + q / self.capacity
    }
}

impl DDE<2, f64, Vec<f64>> for Reno {
    fn diff(&self, _: f64, y: &Vec<f64>, then: &[Vec<f64>; 2], out: &mut Vec<f64>) {
        let mut arrivals = 0.0;
        for i in 0..2 {
            let p = self.slope * (then[i][3] - self.min_th);
            out[i] = 1.0 / self.rtt(i, y[2]) - 0.5 * y[i] * then[i][i] / self.rtt(i, then[i][2]) * p;
            arrivals += self.flows[i] * y[i] / self.rtt(i, y[2]);
        }
        out[2] = arrivals - self.capacity;
        out[3] = self.follow * (y[2] - y[3]);
    }

    fn lags(&self, _: f64, y: &Vec<f64>, lags: &mut [f64; 2]) {
        *lags = [self.rtt(0, y[2]), self.rtt(1, y[2])];
    }
}

#[test]
fn reno_over_red_with_delays_that_depend_on_the_queue() {
    let (capacity, w_q, start): (f64, f64, [f64; 4]) = (2500.0, 2e-3, [10.0, 11.0, 90.0, 90.0]);
    let class = |i: usize, rtt: f64, count: f64| {
        json!({
            "name": format!("{i}"), "count": count, "rtt": rtt, "initial": start[i], "route": [{"link": 0}],
            "law": {"name": "reno", "decrease": 0.5, "max_window": 1e6},
        })
    };
    let curve = json!({"min_th": 10.0, "max_th": 200.0, "max_p": 0.05, "gentle": true, "w_q": w_q});
    let description: Description = serde_json::from_value(json!({
        "links": [{
            "name": "link", "capacity": capacity, "buffer": 500.0, "signal": "ecn", "queue": start[2],
            "aqm": {"name": "red", "curve": curve, "gaps": "geometric"},
        }],
        "classes": [class(0, 0.06, 20.0), class(1, 0.1, 15.0)],
    }))
    .unwrap();
    let reno = Reno {
        capacity,
        flows: [20.0, 15.0],
        rtts: [0.06, 0.1],
        min_th: 10.0,
        slope: 0.05 / 190.0,
        follow: -(-w_q).ln_1p() * capacity,
    };
    let past = start.to_vec();
    // The other solver tracks breaks less exactly than errors. Short steps make it exact enough for a reference.
    let method = ExplicitRungeKutta::dopri5().rtol(1e-9).atol(1e-9).h_max(2e-3).max_steps(1_000_000).max_delay(0.5);
    let oracle = IVP::dde(&reno, 0.0, 8.0, start.to_vec(), move |_| past.clone()).even(0.5).method(method).solve();
    let oracle = oracle.unwrap();

    let model = Model::new(description).unwrap();
    let times: Vec<f64> = oracle.iter().map(|(t, _)| *t).collect();
    let tolerance = marqueue_theory::fluid::solver::Tolerance { relative: 1e-9, ..Default::default() };
    let solution = SolverSettings { times, tolerance }.solve(&model, &start).unwrap();
    let mut swing = 0.0f64;
    for (t, expected) in oracle.iter() {
        let mut y = [0.0; 4];
        solution.at(&model, *t, &mut y);
        for (found, expected) in y.iter().zip(expected) {
            assert!((found / expected - 1.0).abs() < 1e-5, "{t}: {y:?} {expected:?}");
        }
        swing = swing.max((y[2] - start[2]).abs());
    }
    // The queue moves, and no state reaches a bound.
    assert!(swing > 5.0, "{swing}");
    assert!(solution.bound_events.is_empty());
}
