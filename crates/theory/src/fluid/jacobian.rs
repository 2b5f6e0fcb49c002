//! The derivatives of the right-hand side.

use super::model::Model;
use super::scalar::Dual;
use super::solver::System;
use super::state::View;

/// By the present states and by those of each look back, exact.
#[derive(Clone, Debug)]
pub struct Jacobian {
    /// How long ago each look is, s.
    pub lags: Vec<f64>,
    /// `slopes[i]`, 1/s, as if no state had bounds.
    pub slopes: Vec<f64>,
    /// `now[i][j]`: of slope i by present state j.
    pub now: Vec<Vec<f64>>,
    /// `then[k][i][j]`: of slope i by state j at look k.
    pub then: Vec<Vec<Vec<f64>>>,
}

impl Model {
    /// The derivatives at rest in `y` at time `t`, where every look sees `y` as well. Those that come of delays that
    /// depend on the state are left out: at rest they are zero, since nothing moves.
    /// With `mute`, what links tell and lose counts as constant: the model with its loops cut open.
    pub fn jacobian(&self, t: f64, y: &[f64], mute: bool) -> Jacobian {
        let n = y.len();
        let (modes, interval) = (self.modes(y), self.interval(t));
        let m = self.looks();
        let mut lags = vec![0.0; m];
        self.lags(&View { t, y, modes: &modes, interval, mute }, &mut lags);
        let rest: Vec<Dual> = y.iter().map(|&y| Dual::from(y)).collect();
        let mut slopes = vec![Dual::from(0.0); n];
        let mut by = |place: usize, j: usize| -> Vec<Dual> {
            let mut moved = rest.clone();
            moved[j].slope = 1.0;
            let view = |here: bool, t: f64| {
                let y: &[Dual] = if here { &moved } else { &rest };
                View { t, y, modes: &modes, interval, mute }
            };
            let looks: Vec<_> = lags.iter().enumerate().map(|(k, lag)| view(place == k + 1, t - lag)).collect();
            self.slopes(&view(place == 0, t), &looks, &mut slopes);
            slopes.clone()
        };
        let mut matrices: Vec<Vec<Vec<f64>>> = vec![vec![vec![0.0; n]; n]; m + 1];
        let mut values = vec![0.0; n];
        for (place, matrix) in matrices.iter_mut().enumerate() {
            let columns: Vec<Vec<Dual>> = (0..n).map(|j| by(place, j)).collect();
            for (i, row) in matrix.iter_mut().enumerate() {
                for (entry, column) in row.iter_mut().zip(&columns) {
                    *entry = column[i].slope;
                    values[i] = column[i].value;
                }
            }
        }
        let now = matrices.remove(0);
        Jacobian { lags, slopes: values, now, then: matrices }
    }
}
