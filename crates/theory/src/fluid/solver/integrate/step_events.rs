//! The events of a step: finds them and applies them.

use super::{Integrator, Trial};
use crate::fluid::solver::dopri::{C, STAGES};
use crate::fluid::solver::events::{locate_exit, locate_sign_change, Event};
use crate::fluid::solver::System;
use crate::fluid::state::Mode;

impl<S: System + ?Sized> Integrator<'_, S> {
    /// The events during a step, each with the part of the step before it.
    pub(super) fn events(&mut self, h: f64, trial: &Trial) -> Vec<(f64, Event)> {
        let (t, dense) = (self.t, &trial.dense);
        let times = self.evaluation.times.clone();
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
                        let part =
                            locate_sign_change(trial.slopes[s][i], |u| self.evaluate(t + u * end, dense).slopes[i]);
                        events.push((part * C[s], Event::Leave(i)));
                    }
                }
                _ if y < state.lower => {
                    let part = locate_exit(y - state.lower, |u| dense.state(i, t + u * h) - state.lower);
                    events.push((part, Event::Lower(i)));
                }
                _ if y > state.upper => {
                    let part = locate_exit(y - state.upper, |u| dense.state(i, t + u * h) - state.upper);
                    events.push((part, Event::Upper(i)));
                }
                _ => (),
            }
        }
        for (i, &value) in switches.iter().enumerate() {
            if value * self.signs[i] < 0.0 {
                let part = locate_sign_change(value, |u| self.evaluate(t + u * h, dense).switches[i]);
                events.push((part, Event::Switch(i)));
            }
        }
        for (j, &s) in times.iter().enumerate() {
            if let Some(crossing) = self.breaks.crossing(j, s) {
                let part =
                    locate_sign_change(s - crossing.t, |u| self.evaluate(t + u * h, dense).times[j] - crossing.t);
                events.push((part, Event::Cross(crossing)));
            }
        }
        events
    }

    /// Does a state that started at its bound end far outside it?
    pub(super) fn overshoots(&self, events: &[(f64, Event)], trial: &Trial) -> bool {
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

    /// Applies events at the present time, and records the break that they cause.
    pub(super) fn apply_events(&mut self, events: &[Event]) {
        let mut order = u8::MAX;
        for &event in events {
            order = order.min(match event {
                Event::Lower(i) => self.hold_at_bound(i, self.system.states()[i].lower, Mode::Lower),
                Event::Upper(i) => self.hold_at_bound(i, self.system.states()[i].upper, Mode::Upper),
                Event::Leave(i) => {
                    self.bound_events.push((self.t, i));
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

    /// Puts a state at its bound. Returns the order of the break.
    fn hold_at_bound(&mut self, i: usize, bound: f64, mode: Mode) -> u8 {
        self.y[i] = bound;
        self.modes[i] = mode;
        self.bound_events.push((self.t, i));
        1
    }
}
