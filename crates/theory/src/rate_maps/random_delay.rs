//! Rate maps with random feedback delays: at each step, a source uses prices that are older by a random number of steps
//! than with constant delays, and the rate that these prices refer to.

use super::law::{Law, LawInputs};
use super::network::{Arrivals, Hop, Network, Prices};
use super::{Map, RateStatistics};
use marqueue_core::rng::Rng;
use std::marker::PhantomData;

/// A source of the map.
#[derive(Debug)]
struct Sender {
    delay: u32,
    /// The end of its route among all hops.
    hops_end: usize,
    /// The parameters of its law.
    parameters: (f64, f64),
}

/// The map of a law with random delays.
#[derive(Debug)]
pub struct RandomDelayMap<L> {
    sources: Vec<Sender>,
    /// The routes of all sources, concatenated.
    hops: Vec<Hop>,
    /// The largest extra delay of feedback, steps.
    jitter: u32,
    draws: Vec<Rng>,
    /// `history[i * slots + (n & (slots - 1))]` is the rate of source i at step n. The history of a source is contiguous.
    history: Vec<f64>,
    slots: usize,
    prices: Prices,
    arrivals: Arrivals,
    now: usize,
    law: PhantomData<L>,
}

impl<L: Law> RandomDelayMap<L> {
    /// The map at step 0. Each source draws from its own stream.
    pub fn new(network: &Network, jitter: u32, seed: u64) -> RandomDelayMap<L> {
        let longest = network.sources.iter().map(|s| s.delay).max().unwrap_or(1) as usize + jitter as usize;
        let slots = (longest + 1).next_power_of_two();
        let history = network.sources.iter().flat_map(|s| std::iter::repeat_n(s.initial_rate, slots)).collect();
        let draws = (0..network.sources.len()).map(|i| Rng::named(seed, &format!("source/{i}/feedback"))).collect();
        let mut hops = Vec::new();
        let senders = network.sources.iter().map(|s| {
            hops.extend_from_slice(&s.route);
            Sender { delay: s.delay, hops_end: hops.len(), parameters: s.parameters }
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

    /// The index into the history for a source and step. Steps before the first have the initial rate.
    fn index(&self, source: usize, step: usize) -> usize {
        source * self.slots + (step & (self.slots - 1))
    }
}

impl<L: Law> Map for RandomDelayMap<L> {
    fn step(&mut self, prices: &[f64]) -> RateStatistics {
        self.prices.set(self.now, prices);
        self.now += 1;
        let now = self.now;
        let mut total = RateStatistics::EMPTY;
        let mut first = 0;
        for (i, source) in self.sources.iter().enumerate() {
            let extra = self.draws[i].below(self.jitter + 1);
            let route = &self.hops[first..source.hops_end];
            let back = route.iter().map(|hop| (source.delay - hop.forward + extra, hop.resource));
            let inputs = LawInputs {
                previous: self.history[self.index(i, now - 1)],
                reference: self.history[self.index(i, now.wrapping_sub((source.delay + extra) as usize))],
                price: L::FEEDBACK.combine(back.map(|(ago, resource)| self.prices.get(now, ago, resource))),
            };
            let rate = L::next(source.parameters, inputs);
            route.iter().for_each(|hop| self.arrivals.send(now, hop, rate));
            let index = self.index(i, now);
            self.history[index] = rate;
            total.add(RateStatistics::of(rate));
            first = source.hops_end;
        }
        self.arrivals.complete(now);
        total
    }

    fn arrivals(&self) -> &[f64] {
        self.arrivals.current()
    }

    fn rate(&self, source: usize) -> f64 {
        self.history[self.index(source, self.now)]
    }
}
