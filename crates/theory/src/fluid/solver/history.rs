//! The solution so far, with a polynomial for each step.

use super::dopri::{D, STAGES};
use super::System;
use crate::fluid::state::{Mode, View};

/// The solution over one step.
#[derive(Clone, Debug, Default)]
pub struct Dense {
    /// Start, s.
    pub t: f64,
    /// Length, s.
    pub h: f64,
    /// Five coefficients for each state.
    coefficients: Vec<[f64; 5]>,
}

impl Dense {
    /// The polynomial of a step from `y` to `next`, from the slopes `k` at its stages.
    pub(super) fn new(t: f64, h: f64, y: &[f64], next: &[f64], k: &[Vec<f64>; STAGES]) -> Dense {
        let coefficients = (0..y.len())
            .map(|i| {
                let rise = next[i] - y[i];
                let bend = h * k[0][i] - rise;
                let last = h * (0..STAGES).map(|s| D[s] * k[s][i]).sum::<f64>();
                [y[i], rise, bend, rise - h * k[STAGES - 1][i] - bend, last]
            })
            .collect();
        Dense { t, h, coefficients }
    }

    /// State `i` at time `t`.
    pub fn state(&self, i: usize, t: f64) -> f64 {
        let u = if self.h > 0.0 { (t - self.t) / self.h } else { 0.0 };
        let [a, b, c, d, e] = self.coefficients[i];
        a + u * (b + (1.0 - u) * (c + u * (d + (1.0 - u) * e)))
    }

    /// All states at time `t`.
    pub fn at(&self, t: f64, out: &mut [f64]) {
        for (i, y) in out.iter_mut().enumerate() {
            *y = self.state(i, t);
        }
    }
}

/// A step with the modes and parameters during it.
#[derive(Debug)]
struct Step {
    dense: Dense,
    /// Index into the modes.
    modes: usize,
    interval: usize,
}

/// All steps so far. Step 0 is the past before the beginning, step 1 the first that was solved.
#[derive(Debug)]
pub struct History {
    beginning: f64,
    steps: Vec<Step>,
    modes: Vec<Vec<Mode>>,
}

impl History {
    pub fn new(beginning: f64, modes: Vec<Mode>, interval: usize) -> History {
        let past = Step { dense: Dense::default(), modes: 0, interval };
        History { beginning, steps: vec![past], modes: vec![modes] }
    }

    /// Number of steps, with the past.
    pub fn len(&self) -> usize {
        self.steps.len()
    }

    pub fn push(&mut self, dense: Dense, modes: &[Mode], interval: usize) {
        if self.modes.last().is_some_and(|last| last != modes) {
            self.modes.push(modes.to_vec());
        }
        self.steps.push(Step { dense, modes: self.modes.len() - 1, interval });
    }

    /// The step that contains `t`, searched from `guess`; the last one if `t` is past the end.
    pub fn find(&self, t: f64, guess: usize) -> usize {
        if t < self.beginning {
            return 0;
        }
        let mut k = guess.clamp(1.min(self.len() - 1), self.len() - 1);
        if k > 0 && t >= self.steps[k].dense.t {
            while k + 1 < self.len() && self.steps[k + 1].dense.t <= t {
                k += 1;
                if k > guess + 8 {
                    return self.search(t);
                }
            }
            return k;
        }
        self.search(t)
    }

    fn search(&self, t: f64) -> usize {
        self.steps[1..].partition_point(|step| step.dense.t <= t).max(usize::from(self.len() > 1))
    }

    /// The states at time `t` from the polynomial of step `k`, which may be extrapolated.
    pub fn at<S: System + ?Sized>(&self, system: &S, k: usize, t: f64, out: &mut [f64]) {
        if k == 0 {
            system.past(t.min(self.beginning), out);
        } else {
            self.steps[k].dense.at(t, out);
        }
    }

    /// The view of the states `y` that [`History::at`] returned.
    pub fn view<'a>(&'a self, k: usize, t: f64, y: &'a [f64]) -> View<'a, f64> {
        let step = &self.steps[k];
        View { t, y, modes: &self.modes[step.modes], interval: step.interval, constant_feedback: false }
    }
}
