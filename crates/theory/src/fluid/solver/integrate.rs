//! The integrator: steps, error control and events.

mod step_events;

use super::breaks::Breaks;
use super::dopri::{A, C, E, STAGES};
use super::events::Event;
use super::history::{Dense, History};
use super::solution::{Failure, Solution, Tolerance};
use super::{bounded_slope, System};
use crate::fluid::state::{Mode, State, View};
use marqueue_core::math;

/// Solves `system` from the states `start` at `beginning` to `end`.
///
/// # Errors
/// See [`Failure`].
pub fn solve<S: System + ?Sized>(
    system: &S,
    start: &[f64],
    beginning: f64,
    end: f64,
    tolerance: Tolerance,
) -> Result<Solution, Failure> {
    let mut integrator = Integrator::new(system, start, beginning, tolerance);
    integrator.advance_to(end)?;
    let Integrator { history, steps, rejected, bound_events, .. } = integrator;
    Ok(Solution { history, beginning, end, steps, rejected, bound_events })
}

/// The right-hand side and the delayed states at one instant.
struct Evaluation {
    /// The delayed times, s.
    times: Vec<f64>,
    /// The step that contains each delayed time.
    step: Vec<usize>,
    /// The states at the delayed times.
    y: Vec<f64>,
    /// The present slopes, without regard to bounds.
    slopes: Vec<f64>,
    /// The values of the switching functions.
    switches: Vec<f64>,
}

/// A step that may be accepted.
struct Trial {
    /// The states at its end.
    next: Vec<f64>,
    /// The slopes at each stage, without regard to bounds.
    slopes: [Vec<f64>; STAGES],
    dense: Dense,
    /// The error in units of the tolerance.
    error: f64,
}

struct Integrator<'a, S: System + ?Sized> {
    system: &'a S,
    tolerance: Tolerance,
    t: f64,
    y: Vec<f64>,
    modes: Vec<Mode>,
    interval: usize,
    history: History,
    breaks: Breaks,
    evaluation: Evaluation,
    /// Signs of the switching functions.
    signs: Vec<f64>,
    steps: usize,
    rejected: usize,
    bound_events: Vec<(f64, usize)>,
}

impl<'a, S: System + ?Sized> Integrator<'a, S> {
    fn new(system: &'a S, start: &[f64], t: f64, tolerance: Tolerance) -> Self {
        let (n, m, switches) = (system.states().len(), system.delay_count(), system.switch_count());
        let modes: Vec<Mode> = system.states().iter().zip(start).map(|(s, &y)| s.mode(y)).collect();
        let interval = system.changes().partition_point(|&change| change <= t);
        let evaluation = Evaluation {
            times: vec![t; m],
            step: vec![0; m],
            y: vec![0.0; n * m],
            slopes: vec![0.0; n],
            switches: vec![0.0; switches],
        };
        let mut integrator = Integrator {
            system,
            tolerance,
            t,
            y: start.to_vec(),
            history: History::new(t, modes.clone(), interval),
            modes,
            interval,
            breaks: Breaks::new(t, m),
            evaluation,
            signs: vec![0.0; switches],
            steps: 0,
            rejected: 0,
            bound_events: Vec::new(),
        };
        integrator.relocate_delayed();
        integrator
    }

    /// Places the delayed times among the breaks: at the beginning, and when delays jump.
    fn relocate_delayed(&mut self) {
        let y = std::mem::take(&mut self.y);
        self.evaluate_at(self.t, &y, None);
        for (j, &s) in self.evaluation.times.iter().enumerate() {
            self.breaks.place(j, s);
        }
        self.evaluate_at(self.t, &y, None);
        for (sign, &value) in self.signs.iter_mut().zip(&self.evaluation.switches) {
            *sign = value;
        }
        self.y = y;
    }

    /// Evaluates the right-hand side at `t` and `y`. `step` is the polynomial of the present step, if it is known.
    /// Returns true if a delayed time lies in that step.
    fn evaluate_at(&mut self, t: f64, y: &[f64], step: Option<&Dense>) -> bool {
        let n = y.len();
        let mut overlaps = false;
        let now = View { t, y, modes: &self.modes, interval: self.interval, constant_feedback: false };
        self.system.delays(&now, &mut self.evaluation.times);
        for (j, time) in self.evaluation.times.iter_mut().enumerate() {
            let s = t - *time;
            *time = s;
            let k = self.breaks.find_step(&self.history, j, s);
            let out = &mut self.evaluation.y[j * n..(j + 1) * n];
            if k < self.history.len() && (s <= self.t || k + 1 < self.history.len()) {
                self.history.at(self.system, k, s, out);
            } else {
                overlaps = true;
                match step {
                    Some(dense) => dense.at(s, out),
                    None => out.copy_from_slice(&self.y),
                }
            }
            self.evaluation.step[j] = k;
        }
        let present = self.history.len();
        let (times, y) = (&self.evaluation.times, &self.evaluation.y);
        let delayed: Vec<View<'_, f64>> = (self.evaluation.step.iter().enumerate())
            .map(|(j, &k)| {
                let states = &y[j * n..(j + 1) * n];
                if k < present {
                    self.history.view(k, times[j], states)
                } else {
                    View {
                        t: times[j],
                        y: states,
                        modes: &self.modes,
                        interval: self.interval,
                        constant_feedback: false,
                    }
                }
            })
            .collect();
        self.system.slopes(&now, &delayed, &mut self.evaluation.slopes);
        if !self.evaluation.switches.is_empty() {
            self.system.switch_values(&now, &delayed, &mut self.evaluation.switches);
        }
        overlaps
    }

    fn advance_to(&mut self, end: f64) -> Result<(), Failure> {
        let mut h = self.first_step();
        // Number of events in a row between which no time passed.
        let mut stalled = 0;
        while self.t < end {
            if self.steps >= self.tolerance.max_steps {
                return Err(Failure::TooManySteps(self.t));
            }
            let change = self.system.changes().get(self.interval).copied().unwrap_or(f64::INFINITY);
            let stop = end.min(change);
            let mut step = h.min(self.tolerance.max_step);
            if self.t + 1.01 * step >= stop {
                step = stop - self.t;
            }
            let trial = self.attempt(step);
            if trial.error > 1.0 {
                h = self.reject(step, trial.error)?;
                continue;
            }
            h = step * (0.9 * math::powf(trial.error.max(1e-10), -0.2)).clamp(0.2, 5.0);
            let events = self.events(step, &trial);
            let shortest = 1e-13 * self.t.abs().max(1.0);
            if step > shortest && self.overshoots(&events, &trial) {
                h = 0.1 * step;
                continue;
            }
            let first = events.iter().map(|&(part, _)| part).fold(1.0, f64::min);
            if self.accept_until(first, trial, step, shortest, stop) {
                stalled = 0;
            } else {
                stalled += 1;
                if stalled > 10 * (self.y.len() + self.evaluation.times.len()) + 100 {
                    return Err(self.step_failure());
                }
            }
            let near = first + 1e-9;
            let due: Vec<Event> = events.into_iter().filter(|e| e.0 <= near).map(|e| e.1).collect();
            self.apply_events(&due);
            if self.t >= change {
                self.interval += 1;
                self.breaks.push(self.t, self.history.len(), 1);
                self.relocate_delayed();
            }
        }
        Ok(())
    }

    /// Rejects a step because of its error. Returns the length to try next.
    fn reject(&mut self, step: f64, error: f64) -> Result<f64, Failure> {
        self.rejected += 1;
        let factor = if error.is_finite() { 0.9 * math::powf(error, -0.2) } else { 0.2 };
        let next = step * factor.clamp(0.1, 0.9);
        if next < 1e-13 * self.t.abs().max(1e-3) {
            return Err(self.step_failure());
        }
        Ok(next)
    }

    /// Accepts a step up to the part `first` of it at which the first event happens. Returns false if that part is too
    /// short to be a step.
    fn accept_until(&mut self, first: f64, trial: Trial, step: f64, shortest: f64, stop: f64) -> bool {
        if first >= 1.0 {
            self.accept(trial, step);
            if step == stop - (self.t - step) {
                self.t = stop;
            }
            return true;
        }
        let part = first * step;
        if part > shortest {
            let trial = self.attempt(part);
            self.accept(trial, part);
        }
        part > shortest
    }

    /// The failure to return when no step is short enough: some state is far outside its scale, or none is.
    fn step_failure(&self) -> Failure {
        let far = |(y, state): (&f64, &State)| y.is_nan() || y.abs() > 1e9 * state.scale;
        match self.y.iter().zip(self.system.states()).any(far) {
            true => Failure::Unbounded(self.t),
            false => Failure::StepTooSmall(self.t),
        }
    }

    /// The length of the first step: a hundredth of the time in which the fastest state changes by its own size.
    fn first_step(&mut self) -> f64 {
        let states = self.system.states();
        let rates = self.evaluation.slopes.iter().zip(states).zip(&self.y);
        let fastest = rates.map(|((f, s), y)| f.abs() / y.abs().max(s.scale)).fold(0.0, f64::max);
        (0.01 / fastest).min(1e-3)
    }

    /// Computes a step. If a delay is shorter than the step, iterates until the step's polynomial agrees with the one
    /// that delayed states were taken from.
    fn attempt(&mut self, h: f64) -> Trial {
        let mut guess: Option<Dense> = None;
        let mut before: Option<Vec<f64>> = None;
        for _ in 0..8 {
            let (mut trial, overlaps) = self.stages(h, guess.as_ref());
            if !overlaps {
                return trial;
            }
            if let Some(before) = &before {
                let change = self.norm(|i| trial.next[i] - before[i], &trial.next);
                if change < 0.01 {
                    trial.error = trial.error.max(change);
                    return trial;
                }
            }
            before = Some(trial.next);
            guess = Some(trial.dense);
        }
        let (trial, _) = self.stages(h, guess.as_ref());
        Trial { error: f64::INFINITY, ..trial }
    }

    /// Computes the stages of a step with `guess` as the polynomial of the step. Returns true if a delayed time lies in
    /// the step.
    fn stages(&mut self, h: f64, guess: Option<&Dense>) -> (Trial, bool) {
        let n = self.y.len();
        let start = std::mem::take(&mut self.y);
        self.y = start.clone();
        let mut k: [Vec<f64>; STAGES] = std::array::from_fn(|_| vec![0.0; n]);
        let mut slopes = k.clone();
        let mut stage = start.clone();
        let mut overlaps = false;
        for s in 0..STAGES {
            for (i, y) in stage.iter_mut().enumerate() {
                let rise: f64 = (0..s).map(|j| A[s][j] * k[j][i]).sum();
                *y = start[i] + h * rise;
            }
            overlaps |= self.evaluate_at(self.t + C[s] * h, &stage, guess);
            slopes[s].copy_from_slice(&self.evaluation.slopes);
            for (i, slope) in k[s].iter_mut().enumerate() {
                *slope = bounded_slope(self.modes[i], slopes[s][i]);
            }
        }
        let error = self.norm(|i| h * (0..STAGES).map(|s| E[s] * k[s][i]).sum::<f64>(), &stage);
        let dense = Dense::new(self.t, h, &start, &stage, &k);
        (Trial { next: stage, slopes, dense, error }, overlaps)
    }

    /// The greatest of the errors of all states in units of the tolerance.
    fn norm(&self, error: impl Fn(usize) -> f64, next: &[f64]) -> f64 {
        let states = self.system.states().iter().enumerate();
        states.fold(0.0, |worst: f64, (i, state)| {
            let allowed = self.tolerance.relative * state.scale.max(self.y[i].abs()).max(next[i].abs());
            let ratio = error(i).abs() / allowed;
            if ratio.is_nan() {
                f64::INFINITY
            } else {
                worst.max(ratio)
            }
        })
    }

    /// Evaluates the right-hand side at a time within a step.
    fn evaluate(&mut self, t: f64, dense: &Dense) -> &Evaluation {
        let mut y = vec![0.0; self.y.len()];
        dense.at(t, &mut y);
        self.evaluate_at(t, &y, Some(dense));
        &self.evaluation
    }

    fn accept(&mut self, trial: Trial, h: f64) {
        self.history.push(trial.dense, &self.modes, self.interval);
        self.t += h;
        self.y = trial.next;
        self.steps += 1;
    }
}
