//! Observations of a model: what a measurement of links and flows would show.

use super::model::Model;
use super::solver::{Solution, System};
use super::state::View;

/// The links and flows of a model at one instant.
#[derive(Clone, Debug)]
pub struct Observation {
    /// One for each link.
    pub links: Vec<LinkObservation>,
    /// One for each class.
    pub sources: Vec<SourceObservation>,
}

/// A link at one instant.
#[derive(Clone, Copy, Debug)]
pub struct LinkObservation {
    /// Queue length, packets.
    pub queue: f64,
    /// Arrival rate, packets/s.
    pub arrivals: f64,
    /// The share of arrivals that the AQM marks or drops.
    pub p: f64,
    /// The share of admitted packets that find the buffer full.
    pub loss: f64,
    /// phi of DRQ.
    pub phi: f64,
    /// The price that the link writes into headers.
    pub price: f64,
    /// Capacity, packets/s.
    pub capacity: f64,
}

/// A flow of a class at one instant.
#[derive(Clone, Copy, Debug)]
pub struct SourceObservation {
    /// Window, packets.
    pub window: f64,
    /// Rate, packets/s.
    pub rate: f64,
    /// Round-trip time, s.
    pub rtt: f64,
    /// The share of its packets marked or lost that is reported to it.
    pub p: f64,
    /// Number of flows.
    pub count: f64,
}

impl Model {
    /// The observation at time `t` of a solution.
    pub fn observe(&self, solution: &Solution, t: f64) -> Observation {
        let n = self.states().len();
        let mut y = vec![0.0; n];
        let now = solution.at(self, t, &mut y);
        let mut lags = vec![0.0; self.delay_count()];
        self.lags(&now, &mut lags);
        let mut past = vec![vec![0.0; n]; lags.len()];
        let delayed: Vec<_> = past.iter_mut().zip(&lags).map(|(y, lag)| solution.at(self, t - lag, y)).collect();
        self.observation(&now, &delayed)
    }

    /// The observation at rest in the states `y` at time `t`.
    pub fn observe_rest(&self, t: f64, y: &[f64]) -> Observation {
        let (modes, interval) = (self.modes(y), self.interval(t));
        let now = View { t, y, modes: &modes, interval, constant_feedback: false };
        self.observation(&now, &vec![now; self.delay_count()])
    }

    fn observation(&self, now: &View<'_, f64>, delayed: &[View<'_, f64>]) -> Observation {
        let links = (0..self.queues().len()).map(|l| {
            let arrivals = self.arrivals_now(now, delayed, l);
            let (feedback, loss) = self.feedback(now, l, arrivals);
            let capacity = self.capacity(now, l);
            let queue = now.y[self.queues()[l]];
            LinkObservation { queue, arrivals, p: feedback.p, loss, phi: feedback.phi, price: feedback.price, capacity }
        });
        let sources = self.description.classes.iter().enumerate().map(|(i, class)| {
            let source_feedback = self.source_feedback(now, delayed, i);
            let window = class.law.window(source_feedback.x, source_feedback.rtt);
            SourceObservation {
                window,
                rate: source_feedback.rate,
                rtt: source_feedback.rtt,
                p: source_feedback.p,
                count: self.count(now, i),
            }
        });
        Observation { links: links.collect(), sources: sources.collect() }
    }
}
