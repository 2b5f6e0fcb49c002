//! Observations of a model besides its states.

use super::model::Model;
use super::solver::{Solution, System};
use super::state::View;

/// At one instant.
#[derive(Clone, Debug)]
pub struct Observed {
    /// By link.
    pub links: Vec<AtLink>,
    /// By class.
    pub sources: Vec<AtSource>,
}

/// A link at one instant.
#[derive(Clone, Copy, Debug)]
pub struct AtLink {
    /// Packets.
    pub queue: f64,
    /// Packets/s.
    pub arrivals: f64,
    /// The part of arrivals that the AQM marks or drops.
    pub p: f64,
    /// The part of what it admits that finds the buffer full.
    pub loss: f64,
    /// DRQ's phi.
    pub phi: f64,
    /// The price that is written into headers.
    pub price: f64,
    /// Packets/s.
    pub capacity: f64,
}

/// A flow of a class at one instant.
#[derive(Clone, Copy, Debug)]
pub struct AtSource {
    /// Packets.
    pub window: f64,
    /// Packets/s.
    pub rate: f64,
    /// s.
    pub rtt: f64,
    /// The share of its packets marked or lost that is reported to it.
    pub p: f64,
    /// How many flows there are.
    pub count: f64,
}

impl Model {
    /// At one instant of a solution.
    pub fn observe(&self, solution: &Solution, t: f64) -> Observed {
        let n = self.names().len();
        let mut y = vec![0.0; n];
        let now = solution.at(self, t, &mut y);
        let mut lags = vec![0.0; self.looks()];
        self.lags(&now, &mut lags);
        let mut past = vec![vec![0.0; n]; lags.len()];
        let looks: Vec<_> = past.iter_mut().zip(&lags).map(|(y, lag)| solution.at(self, t - lag, y)).collect();
        self.observed(&now, &looks)
    }

    /// At rest in `y` at time `t`.
    pub fn observe_rest(&self, t: f64, y: &[f64]) -> Observed {
        let (modes, interval) = (self.modes(y), self.interval(t));
        let now = View { t, y, modes: &modes, interval, mute: false };
        self.observed(&now, &vec![now; self.looks()])
    }

    fn observed(&self, now: &View<'_, f64>, looks: &[View<'_, f64>]) -> Observed {
        let links = (0..self.queues().len()).map(|l| {
            let arrivals = self.arrivals_now(now, looks, l);
            let (feedback, loss) = self.feedback(now, l, arrivals);
            let capacity = self.capacity(now, l);
            let queue = now.y[self.queues()[l]];
            AtLink { queue, arrivals, p: feedback.p, loss, phi: feedback.phi, price: feedback.price, capacity }
        });
        let sources = self.description.classes.iter().enumerate().map(|(i, class)| {
            let source_feedback = self.source_feedback(now, looks, i);
            let window = class.law.window(source_feedback.x, source_feedback.rtt);
            AtSource {
                window,
                rate: source_feedback.rate,
                rtt: source_feedback.rtt,
                p: source_feedback.p,
                count: self.count(now, i),
            }
        });
        Observed { links: links.collect(), sources: sources.collect() }
    }
}
