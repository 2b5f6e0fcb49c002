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
    /// `history[i * slots + (n & (slots - 1))]`: a source's is in one place, as it looks back by any
    /// number of steps.
    history: Vec<f64>,
    slots: usize,
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
        let history = network.sources.iter().flat_map(|s| std::iter::repeat_n(s.start, slots)).collect();
        let draws = (0..network.sources.len()).map(|i| Rng::named(seed, &format!("source/{i}/feedback"))).collect();
        Jittered {
            jitter,
            draws,
            history,
            slots,
            prices: Prices::new(network.resources, longest),
            arrivals: Arrivals::new(&network),
            network,
            now: 0,
            law: PhantomData,
        }
    }

    /// Where a source's rate of a step is; steps before the first wrap to the first.
    fn place(&self, source: usize, step: usize) -> usize {
        source * self.slots + (step & (self.slots - 1))
    }
}

impl<L: Law> Map for Jittered<L> {
    fn step(&mut self, prices: &[f64]) -> Rates {
        self.prices.set(self.now, prices);
        self.now += 1;
        let now = self.now;
        let mut all = Rates::NONE;
        for i in 0..self.network.sources.len() {
            let late = self.draws[i].below(self.jitter + 1);
            let source = &self.network.sources[i];
            let back = source.route.iter().map(|hop| (source.delay - hop.forward + late, hop.resource));
            let seen = Seen {
                previous: self.history[self.place(i, now - 1)],
                reference: self.history[self.place(i, now.wrapping_sub((source.delay + late) as usize))],
                price: L::FEEDBACK.of(back.map(|(ago, resource)| self.prices.get(now, ago, resource))),
            };
            let rate = L::next(source.parameters, seen);
            source.route.iter().for_each(|hop| self.arrivals.send(now, hop, rate));
            let place = self.place(i, now);
            self.history[place] = rate;
            all.add(Rates::of(rate));
        }
        self.arrivals.settle(now);
        all
    }

    fn arrivals(&self) -> &[f64] {
        self.arrivals.now()
    }

    fn rate(&self, source: usize) -> f64 {
        self.history[self.place(source, self.now)]
    }
}
