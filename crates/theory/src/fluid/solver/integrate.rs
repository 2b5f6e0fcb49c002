//! The integrator: steps, error control and events.

use super::breaks::Breaks;
use super::dopri::{A, C, E, STAGES};
use super::events::{leaves, locate, Event};
use super::history::{Dense, History};
use super::solution::{Failure, Solution, Tolerance};
use super::{resting, System};
use crate::fluid::state::{Mode, State, View};

/// Solves from `beginning` to `end` with these states at the beginning.
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
    let mut run = Run::new(system, start, beginning, tolerance);
    run.to(end)?;
    let Run { history, steps, refused, bounds, .. } = run;
    Ok(Solution { history, beginning, end, steps, refused, bounds })
}

/// What was seen at one instant.
struct Evaluation {
    /// When each look is, s.
    when: Vec<f64>,
    /// In which step.
    step: Vec<usize>,
    /// States there.
    y: Vec<f64>,
    /// Slopes now, as if there were no bounds.
    slopes: Vec<f64>,
    switches: Vec<f64>,
}

/// A step that may be taken.
struct Trial {
    next: Vec<f64>,
    /// At each stage, as if there were no bounds.
    slopes: [Vec<f64>; STAGES],
    dense: Dense,
    error: f64,
}

struct Run<'a, S: System + ?Sized> {
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
    refused: usize,
    bounds: Vec<(f64, usize)>,
}

impl<'a, S: System + ?Sized> Run<'a, S> {
    fn new(system: &'a S, start: &[f64], t: f64, tolerance: Tolerance) -> Self {
        let (n, m, switches) = (system.states().len(), system.looks(), system.switches());
        let modes: Vec<Mode> = system.states().iter().zip(start).map(|(s, &y)| s.mode(y)).collect();
        let interval = system.changes().partition_point(|&change| change <= t);
        let evaluation = Evaluation {
            when: vec![t; m],
            step: vec![0; m],
            y: vec![0.0; n * m],
            slopes: vec![0.0; n],
            switches: vec![0.0; switches],
        };
        let mut run = Run {
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
            refused: 0,
            bounds: Vec::new(),
        };
        run.locate_delayed();
        run
    }

    /// Finds the looks anew: at the beginning, and when delays jump.
    fn locate_delayed(&mut self) {
        let y = std::mem::take(&mut self.y);
        self.evaluate_at(self.t, &y, None);
        for (j, &s) in self.evaluation.when.iter().enumerate() {
            self.breaks.place(j, s);
        }
        self.evaluate_at(self.t, &y, None);
        for (sign, &value) in self.signs.iter_mut().zip(&self.evaluation.switches) {
            *sign = value;
        }
        self.y = y;
    }

    /// Looks around at `t`, with these states then. `step` is the solution after all steps, as far as it is known.
    /// Tells whether some look needed it.
    fn evaluate_at(&mut self, t: f64, y: &[f64], step: Option<&Dense>) -> bool {
        let n = y.len();
        let mut overlaps = false;
        let now = View { t, y, modes: &self.modes, interval: self.interval, mute: false };
        self.system.delays(&now, &mut self.evaluation.when);
        for (j, when) in self.evaluation.when.iter_mut().enumerate() {
            let s = t - *when;
            *when = s;
            let k = self.breaks.step(&self.history, j, s);
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
        let (when, y) = (&self.evaluation.when, &self.evaluation.y);
        let looks: Vec<View<'_, f64>> = (self.evaluation.step.iter().enumerate())
            .map(|(j, &k)| {
                let there = &y[j * n..(j + 1) * n];
                if k < present {
                    self.history.view(k, when[j], there)
                } else {
                    View { t: when[j], y: there, modes: &self.modes, interval: self.interval, mute: false }
                }
            })
            .collect();
        self.system.slopes(&now, &looks, &mut self.evaluation.slopes);
        if !self.evaluation.switches.is_empty() {
            self.system.switch(&now, &looks, &mut self.evaluation.switches);
        }
        overlaps
    }

    fn to(&mut self, end: f64) -> Result<(), Failure> {
        let mut h = self.first_step();
        let mut idle = 0;
        while self.t < end {
            if self.steps >= self.tolerance.steps {
                return Err(Failure::Long(self.t));
            }
            let change = self.system.changes().get(self.interval).copied().unwrap_or(f64::INFINITY);
            let stop = end.min(change);
            let mut take = h.min(self.tolerance.longest);
            if self.t + 1.01 * take >= stop {
                take = stop - self.t;
            }
            let trial = self.attempt(take);
            if trial.error > 1.0 {
                self.refused += 1;
                let factor = if trial.error.is_finite() { 0.9 * trial.error.powf(-0.2) } else { 0.2 };
                h = take * factor.clamp(0.1, 0.9);
                if h < 1e-13 * self.t.abs().max(1e-3) {
                    return Err(self.stuck());
                }
                continue;
            }
            h = take * (0.9 * trial.error.max(1e-10).powf(-0.2)).clamp(0.2, 5.0);
            let events = self.events(take, &trial);
            let least = 1e-13 * self.t.abs().max(1.0);
            if take > least && self.overshoots(&events, &trial) {
                h = 0.1 * take;
                continue;
            }
            let first = events.iter().map(|&(part, _)| part).fold(1.0, f64::min);
            let (trial, taken) = match first * take {
                short if first < 1.0 && short > least => (self.attempt(short), short),
                _ => (trial, take),
            };
            let moved = first >= 1.0 || first * take > least;
            if moved {
                idle = 0;
                self.accept(trial, taken);
                if first >= 1.0 && take == stop - (self.t - taken) {
                    self.t = stop;
                }
            } else {
                idle += 1;
                if idle > 10 * (self.y.len() + self.evaluation.when.len()) + 100 {
                    return Err(self.stuck());
                }
            }
            let near = first + 1e-9;
            let here: Vec<Event> = events.into_iter().filter(|e| e.0 <= near).map(|e| e.1).collect();
            self.apply_events(&here);
            if self.t >= change {
                self.interval += 1;
                self.breaks.push(self.t, self.history.len(), 1);
                self.locate_delayed();
            }
        }
        Ok(())
    }

    /// Why no step is short enough: the solution has gone far off, or it has not.
    fn stuck(&self) -> Failure {
        let far = |(y, state): (&f64, &State)| y.is_nan() || y.abs() > 1e9 * state.scale;
        match self.y.iter().zip(self.system.states()).any(far) {
            true => Failure::Unbounded(self.t),
            false => Failure::Stuck(self.t),
        }
    }

    /// A hundredth of the time in which states change by themselves.
    fn first_step(&mut self) -> f64 {
        let states = self.system.states();
        let rates = self.evaluation.slopes.iter().zip(states).zip(&self.y);
        let fastest = rates.map(|((f, s), y)| f.abs() / y.abs().max(s.scale)).fold(0.0, f64::max);
        (0.01 / fastest).min(1e-3)
    }

    /// Tries a step; where delays are shorter than it, until it agrees with itself.
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
                *slope = resting(self.modes[i], slopes[s][i]);
            }
        }
        let error = self.norm(|i| h * (0..STAGES).map(|s| E[s] * k[s][i]).sum::<f64>(), &stage);
        let dense = Dense::new(self.t, h, &start, &stage, &k);
        (Trial { next: stage, slopes, dense, error }, overlaps)
    }

    /// The greatest of these errors in units of what is allowed.
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

    /// What happens during a step, with the part of it that passes before.
    fn events(&mut self, h: f64, trial: &Trial) -> Vec<(f64, Event)> {
        let (t, dense) = (self.t, &trial.dense);
        let when = self.evaluation.when.clone();
        let switches = self.evaluation.switches.clone();
        let mut events = Vec::new();
        let system = self.system;
        for (i, state) in system.states().iter().enumerate() {
            let y = trial.next[i];
            match self.modes[i] {
                Mode::Lower | Mode::Upper => {
                    let inward = if self.modes[i] == Mode::Lower { 1.0 } else { -1.0 };
                    if let Some(s) = (0..STAGES).find(|&s| inward * trial.slopes[s][i] > 0.0) {
                        let end = C[s] * h;
                        let part = locate(trial.slopes[s][i], |u| self.evaluate(t + u * end, dense).slopes[i]);
                        events.push((part * C[s], Event::Leave(i)));
                    }
                }
                _ if y < state.lower => {
                    let part = leaves(y - state.lower, |u| dense.state(i, t + u * h) - state.lower);
                    events.push((part, Event::Lower(i)));
                }
                _ if y > state.upper => {
                    let part = leaves(y - state.upper, |u| dense.state(i, t + u * h) - state.upper);
                    events.push((part, Event::Upper(i)));
                }
                _ => (),
            }
        }
        for (i, &value) in switches.iter().enumerate() {
            if value * self.signs[i] < 0.0 {
                let part = locate(value, |u| self.evaluate(t + u * h, dense).switches[i]);
                events.push((part, Event::Switch(i)));
            }
        }
        for (j, &s) in when.iter().enumerate() {
            if let Some(crossing) = self.breaks.crossing(j, s) {
                let part = locate(s - crossing.t, |u| self.evaluate(t + u * h, dense).when[j] - crossing.t);
                events.push((part, Event::Cross(crossing)));
            }
        }
        events
    }

    /// Does a state that began at its bound end far outside?
    fn overshoots(&self, events: &[(f64, Event)], trial: &Trial) -> bool {
        events.iter().any(|&(part, event)| {
            let (i, bound) = match event {
                Event::Lower(i) => (i, self.system.states()[i].lower),
                Event::Upper(i) => (i, self.system.states()[i].upper),
                _ => return false,
            };
            let allowed = 10.0 * self.tolerance.relative * self.system.states()[i].scale.max(bound.abs());
            part == 1.0 && (trial.next[i] - bound).abs() > allowed
        })
    }

    /// What is seen during a step.
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

    /// All that happens now.
    fn apply_events(&mut self, events: &[Event]) {
        let mut order = u8::MAX;
        for &event in events {
            order = order.min(match event {
                Event::Lower(i) => self.hold_at_bound(i, self.system.states()[i].lower, Mode::Lower),
                Event::Upper(i) => self.hold_at_bound(i, self.system.states()[i].upper, Mode::Upper),
                Event::Leave(i) => {
                    self.bounds.push((self.t, i));
                    self.modes[i] = self.modes[i].after_leaving();
                    1
                }
                Event::Switch(i) => {
                    self.signs[i] = -self.signs[i];
                    1
                }
                Event::Cross(crossing) => self.breaks.cross(crossing),
            });
        }
        if order < u8::MAX {
            self.breaks.push(self.t, self.history.len(), order);
        }
    }

    fn hold_at_bound(&mut self, i: usize, bound: f64, mode: Mode) -> u8 {
        self.y[i] = bound;
        self.modes[i] = mode;
        self.bounds.push((self.t, i));
        1
    }
}
