//! Rate maps with constant delays. A rate is needed once more, D steps after it was set, where the next one takes its
//! place: sources of equal D share a block of D rows, of which each step reads and writes one. Within
//! a block, sources on the same route with the same delays see the same price.

use super::law::{Law, LawInputs};
use super::network::{Arrivals, Hop, Network, Prices};
use super::{Map, Rates};
use std::marker::PhantomData;
use std::ops::Range;

/// How many sources are worked on at once: independent of each other, they share vector registers.
const LANES: usize = 8;

/// Sources of one delay: `rates[row * width + k]`, row n mod D being that of step n.
#[derive(Debug)]
struct Block {
    delay: usize,
    width: usize,
    rates: Vec<f64>,
    parameters: (Vec<f64>, Vec<f64>),
    runs: Vec<Run>,
    /// The routes of all runs, one behind the other.
    hops: Vec<Hop>,
}

/// Neighbours in a block that see the same: where their columns end, and their route does.
#[derive(Debug)]
struct Run {
    sources: usize,
    hops: usize,
}

/// The map of a law with constant delays.
#[derive(Debug)]
pub struct ConstantDelayMap<L> {
    blocks: Vec<Block>,
    /// Block and column of each source.
    places: Vec<(usize, usize)>,
    prices: Prices,
    arrivals: Arrivals,
    /// n.
    now: usize,
    law: PhantomData<L>,
}

impl<L: Law> ConstantDelayMap<L> {
    /// The map at its beginning.
    pub fn new(network: &Network) -> ConstantDelayMap<L> {
        let sources = &network.sources;
        let mut order: Vec<usize> = (0..sources.len()).collect();
        order.sort_by(|&a, &b| {
            let (a, b) = (&sources[a], &sources[b]);
            (a.delay, &a.route).cmp(&(b.delay, &b.route))
        });
        let mut places = vec![(0, 0); sources.len()];
        let mut blocks = Vec::new();
        for alike in order.chunk_by(|&a, &b| sources[a].delay == sources[b].delay) {
            for (column, &source) in alike.iter().enumerate() {
                places[source] = (blocks.len(), column);
            }
            blocks.push(Block::new(network, alike));
        }
        let longest = sources.iter().map(|s| s.delay).max().unwrap_or(1) as usize;
        ConstantDelayMap {
            blocks,
            places,
            prices: Prices::new(network.resources, longest),
            arrivals: Arrivals::new(network),
            now: 0,
            law: PhantomData,
        }
    }
}

impl Block {
    fn new(network: &Network, members: &[usize]) -> Block {
        let sources = &network.sources;
        let delay = sources[members[0]].delay as usize;
        let row: Vec<f64> = members.iter().map(|&s| sources[s].start).collect();
        let (mut runs, mut hops) = (Vec::new(), Vec::new());
        let mut end = 0;
        for alike in members.chunk_by(|&a, &b| sources[a].route == sources[b].route) {
            end += alike.len();
            hops.extend_from_slice(&sources[alike[0]].route);
            runs.push(Run { sources: end, hops: hops.len() });
        }
        Block {
            delay,
            width: row.len(),
            rates: row.repeat(delay),
            parameters: members.iter().map(|&s| sources[s].parameters).unzip(),
            runs,
            hops,
        }
    }

    fn step<L: Law>(&mut self, now: usize, prices: &Prices, arrivals: &mut Arrivals) -> Rates {
        let mut all = Rates::NONE;
        let mut rows = Rows {
            // Until it is written, the row of a step holds what was set D steps before.
            old: (now - 1) % self.delay * self.width,
            new: now % self.delay * self.width,
            rates: &mut self.rates,
            parameters: (&self.parameters.0, &self.parameters.1),
        };
        let (mut first, mut hop) = (0, 0);
        for run in &self.runs {
            let route = &self.hops[hop..run.hops];
            let back = |hop: &Hop| self.delay as u32 - hop.forward;
            let price = L::FEEDBACK.of(route.iter().map(|hop| prices.get(now, back(hop), hop.resource)));
            let rates = rows.advance::<L>(first..run.sources, price);
            route.iter().for_each(|hop| arrivals.send(now, hop, rates.sum));
            all.add(rates);
            (first, hop) = (run.sources, run.hops);
        }
        all
    }
}

/// The two rows of a block that a step is about.
struct Rows<'a> {
    rates: &'a mut [f64],
    parameters: (&'a [f64], &'a [f64]),
    /// Where the row of the step before begins.
    old: usize,
    /// Where that of this step does.
    new: usize,
}

impl Rows<'_> {
    /// The next rates of sources that see the same price.
    fn advance<L: Law>(&mut self, sources: Range<usize>, price: f64) -> Rates {
        let mut lanes = [Rates::NONE; LANES];
        let mut first = sources.start;
        while first + LANES <= sources.end {
            let next: [f64; LANES] = std::array::from_fn(|lane| self.next::<L>(first + lane, price));
            self.rates[self.new + first..self.new + first + LANES].copy_from_slice(&next);
            for (all, rate) in lanes.iter_mut().zip(next) {
                all.add(Rates::of(rate));
            }
            first += LANES;
        }
        let mut all = Rates::NONE;
        lanes.into_iter().for_each(|lane| all.add(lane));
        for k in first..sources.end {
            let rate = self.next::<L>(k, price);
            self.rates[self.new + k] = rate;
            all.add(Rates::of(rate));
        }
        all
    }

    #[inline(always)]
    fn next<L: Law>(&self, k: usize, price: f64) -> f64 {
        let inputs = LawInputs { previous: self.rates[self.old + k], reference: self.rates[self.new + k], price };
        L::next((self.parameters.0[k], self.parameters.1[k]), inputs)
    }
}

impl<L: Law> Map for ConstantDelayMap<L> {
    fn step(&mut self, prices: &[f64]) -> Rates {
        self.prices.set(self.now, prices);
        self.now += 1;
        let mut all = Rates::NONE;
        for block in &mut self.blocks {
            all.add(block.step::<L>(self.now, &self.prices, &mut self.arrivals));
        }
        self.arrivals.settle(self.now);
        all
    }

    fn arrivals(&self) -> &[f64] {
        self.arrivals.now()
    }

    fn rate(&self, source: usize) -> f64 {
        let (block, column) = self.places[source];
        let block = &self.blocks[block];
        block.rates[self.now % block.delay * block.width + column]
    }
}
