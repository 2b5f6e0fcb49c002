//! The derivatives of the right-hand side.

use super::model::Model;
use super::scalar::Dual;
use super::solver::System;
use super::state::View;

/// The exact derivatives by the present states and by the states at each delay.
#[derive(Clone, Debug)]
pub struct Jacobian {
    /// The delays, s.
    pub lags: Vec<f64>,
    /// `slopes[i]`: of state i in its unit a second, without regard to bounds.
    pub slopes: Vec<f64>,
    /// `present[i][j]`: of slope i by the present state j.
    pub present: Vec<Vec<f64>>,
    /// `delayed[k][i][j]`: of slope i by state j at delay k.
    pub delayed: Vec<Vec<Vec<f64>>>,
}

impl Model {
    /// The derivatives at rest in `y` at time `t`, when all delayed states are `y` too. The derivatives of
    /// state-dependent delays are omitted: at rest they have no effect. With `constant_feedback`, the feedback and loss
    /// of links count as constant, which opens the control loops.
    pub fn jacobian(&self, t: f64, y: &[f64], constant_feedback: bool) -> Jacobian {
        let n = y.len();
        let (modes, interval) = (self.modes(y), self.interval(t));
        let m = self.delay_count();
        let mut lags = vec![0.0; m];
        self.lags(&View { t, y, modes: &modes, interval, constant_feedback }, &mut lags);
        let rest: Vec<Dual> = y.iter().map(|&y| Dual::from(y)).collect();
        let mut slopes = vec![Dual::from(0.0); n];
        let mut derivatives = |place: usize, j: usize| -> Vec<Dual> {
            let mut moved = rest.clone();
            moved[j].slope = 1.0;
            let view = |here: bool, t: f64| {
                let y: &[Dual] = if here { &moved } else { &rest };
                View { t, y, modes: &modes, interval, constant_feedback }
            };
            let delayed: Vec<_> = lags.iter().enumerate().map(|(k, lag)| view(place == k + 1, t - lag)).collect();
            self.slopes(&view(place == 0, t), &delayed, &mut slopes);
            slopes.clone()
        };
        let mut matrices: Vec<Vec<Vec<f64>>> = vec![vec![vec![0.0; n]; n]; m + 1];
        let mut values = vec![0.0; n];
        for (place, matrix) in matrices.iter_mut().enumerate() {
            let columns: Vec<Vec<Dual>> = (0..n).map(|j| derivatives(place, j)).collect();
            for (i, row) in matrix.iter_mut().enumerate() {
                for (entry, column) in row.iter_mut().zip(&columns) {
                    *entry = column[i].slope;
                    values[i] = column[i].value;
                }
            }
        }
        let present = matrices.remove(0);
        Jacobian { lags, slopes: values, present, delayed: matrices }
    }
}
