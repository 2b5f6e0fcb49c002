//! Feedback that comes late by a random number of steps: at each step a source acts on prices that
//! are up to J steps older than those of constant delays, and on the rate that they answer.

use super::law::{Law, Seen};
use super::network::{Arrivals, Network, Prices};
use super::{Map, Rates};
use marqueue_core::rng::Rng;
use std::marker::PhantomData;

/// The map of a law with random delays.
#[derive(Debug)]
pub struct Jittered<L> {
    network: Network,
    /// The greatest number of steps that feedback is late.
    jitter: u32,
    draws: Vec<Rng>,
    /// `history[slot * N + i]`, slot n & mask being that of step n.
    history: Vec<f64>,
    mask: usize,
    prices: Prices,
    arrivals: Arrivals,
    now: usize,
    law: PhantomData<L>,
}

impl<L: Law> Jittered<L> {
    /// The map at its beginning. Each source draws from its own stream.
    pub fn new(network: Network, jitter: u32, seed: u64) -> Jittered<L> {
        let longest = network.sources.iter().map(|s| s.delay).max().unwrap_or(1) as usize + jitter as usize;
        let slots = (longest + 1).next_power_of_two();
        let start: Vec<f64> = network.sources.iter().map(|s| s.start).collect();
        let draws = (0..start.len()).map(|i| Rng::named(seed, &format!("source/{i}/feedback"))).collect();
        Jittered {
            jitter,
            draws,
            history: start.repeat(slots),
            mask: slots - 1,
            prices: Prices::new(network.resources, longest),
            arrivals: Arrivals::new(&network),
            network,
            now: 0,
            law: PhantomData,
        }
    }

    fn row(&self, step: usize) -> usize {
        (step & self.mask) * self.network.sources.len()
    }
}

impl<L: Law> Map for Jittered<L> {
    fn step(&mut self, prices: &[f64]) -> Rates {
        self.prices.set(self.now, prices);
        self.now += 1;
        let now = self.now;
        let (old, new) = (self.row(now - 1), self.row(now));
        for i in 0..self.network.sources.len() {
            let late = self.draws[i].below(self.jitter + 1);
            let source = &self.network.sources[i];
            let back = source.route.iter().map(|hop| (source.delay - hop.forward + late, hop.resource));
            let seen = Seen {
                previous: self.history[old + i],
                reference: self.history[self.row(now.wrapping_sub((source.delay + late) as usize)) + i],
                price: L::FEEDBACK.of(back.map(|(ago, resource)| self.prices.get(now, ago, resource))),
            };
            let rate = L::next(source.parameters, seen);
            self.history[new + i] = rate;
            source.route.iter().for_each(|hop| self.arrivals.send(now, hop, rate));
        }
        self.arrivals.settle(now);
        Rates::of(self.history[new..new + self.network.sources.len()].iter().copied())
    }

    fn arrivals(&self) -> &[f64] {
        self.arrivals.now()
    }

    fn rate(&self, source: usize) -> f64 {
        self.history[self.row(self.now) + source]
    }
}
