//! Rate maps with random feedback delays: at each step a source uses prices that are up to J steps older than those of
//! constant delays, and the rate that these prices refer to.

use super::law::{Law, LawInputs};
use super::network::{Arrivals, Hop, Network, Prices};
use super::{Map, Rates};
use marqueue_core::rng::Rng;
use std::marker::PhantomData;

/// A source: its delay, where its route ends among all, its law's parameters.
#[derive(Debug)]
struct Sender {
    delay: u32,
    hops: usize,
    parameters: (f64, f64),
}

/// The map of a law with random delays.
#[derive(Debug)]
pub struct RandomDelayMap<L> {
    sources: Vec<Sender>,
    /// The routes of all sources, one behind the other.
    hops: Vec<Hop>,
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

impl<L: Law> RandomDelayMap<L> {
    /// The map at its beginning. Each source draws from its own stream.
    pub fn new(network: &Network, jitter: u32, seed: u64) -> RandomDelayMap<L> {
        let longest = network.sources.iter().map(|s| s.delay).max().unwrap_or(1) as usize + jitter as usize;
        let slots = (longest + 1).next_power_of_two();
        let history = network.sources.iter().flat_map(|s| std::iter::repeat_n(s.start, slots)).collect();
        let draws = (0..network.sources.len()).map(|i| Rng::named(seed, &format!("source/{i}/feedback"))).collect();
        let mut hops = Vec::new();
        let senders = network.sources.iter().map(|s| {
            hops.extend_from_slice(&s.route);
            Sender { delay: s.delay, hops: hops.len(), parameters: s.parameters }
        });
        RandomDelayMap {
            sources: senders.collect(),
            hops,
            jitter,
            draws,
            history,
            slots,
            prices: Prices::new(network.resources, longest),
            arrivals: Arrivals::new(network),
            now: 0,
            law: PhantomData,
        }
    }

    /// Where a source's rate of a step is; steps before the first wrap to the first.
    fn place(&self, source: usize, step: usize) -> usize {
        source * self.slots + (step & (self.slots - 1))
    }
}

impl<L: Law> Map for RandomDelayMap<L> {
    fn step(&mut self, prices: &[f64]) -> Rates {
        self.prices.set(self.now, prices);
        self.now += 1;
        let now = self.now;
        let mut all = Rates::NONE;
        let mut first = 0;
        for (i, source) in self.sources.iter().enumerate() {
            let late = self.draws[i].below(self.jitter + 1);
            let route = &self.hops[first..source.hops];
            let back = route.iter().map(|hop| (source.delay - hop.forward + late, hop.resource));
            let inputs = LawInputs {
                previous: self.history[self.place(i, now - 1)],
                reference: self.history[self.place(i, now.wrapping_sub((source.delay + late) as usize))],
                price: L::FEEDBACK.of(back.map(|(ago, resource)| self.prices.get(now, ago, resource))),
            };
            let rate = L::next(source.parameters, inputs);
            route.iter().for_each(|hop| self.arrivals.send(now, hop, rate));
            let place = self.place(i, now);
            self.history[place] = rate;
            all.add(Rates::of(rate));
            first = source.hops;
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
