//! Rate maps with constant delays. Sources of equal delay D share a block of D rows of rates. Each step reads the row
//! of D steps ago and overwrites it with the new rates. Within a block, sources with the same route and forward delays
//! have the same price, and form a group.

use super::law::{Law, LawInputs};
use super::network::{Arrivals, Hop, Network, Prices};
use super::{Map, RateStatistics};
use std::marker::PhantomData;
use std::ops::Range;

/// Number of sources that are computed together, so that the compiler vectorizes the law.
const LANES: usize = 8;

/// Sources of one delay. `rates[row * width + k]` is the rate of source k; step n is in row n mod D.
#[derive(Debug)]
struct Block {
    delay: usize,
    width: usize,
    rates: Vec<f64>,
    parameters: (Vec<f64>, Vec<f64>),
    groups: Vec<Group>,
    /// The routes of all groups, concatenated.
    hops: Vec<Hop>,
}

/// Adjacent sources of a block that have the same price.
#[derive(Debug)]
struct Group {
    /// The end of their columns.
    columns_end: usize,
    /// The end of their route among the hops of the block.
    hops_end: usize,
}

/// The map of a law with constant delays.
#[derive(Debug)]
pub struct ConstantDelayMap<L> {
    blocks: Vec<Block>,
    /// Block and column of each source.
    positions: Vec<(usize, usize)>,
    prices: Prices,
    arrivals: Arrivals,
    /// The step n.
    now: usize,
    law: PhantomData<L>,
}

impl<L: Law> ConstantDelayMap<L> {
    /// The map at step 0.
    pub fn new(network: &Network) -> ConstantDelayMap<L> {
        let sources = &network.sources;
        let mut order: Vec<usize> = (0..sources.len()).collect();
        order.sort_by(|&a, &b| {
            let (a, b) = (&sources[a], &sources[b]);
            (a.delay, &a.route).cmp(&(b.delay, &b.route))
        });
        let mut positions = vec![(0, 0); sources.len()];
        let mut blocks = Vec::new();
        for members in order.chunk_by(|&a, &b| sources[a].delay == sources[b].delay) {
            for (column, &source) in members.iter().enumerate() {
                positions[source] = (blocks.len(), column);
            }
            blocks.push(Block::new(network, members));
        }
        let longest = sources.iter().map(|s| s.delay).max().unwrap_or(1) as usize;
        ConstantDelayMap {
            blocks,
            positions,
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
        let row: Vec<f64> = members.iter().map(|&s| sources[s].initial_rate).collect();
        let (mut groups, mut hops) = (Vec::new(), Vec::new());
        let mut end = 0;
        for group in members.chunk_by(|&a, &b| sources[a].route == sources[b].route) {
            end += group.len();
            hops.extend_from_slice(&sources[group[0]].route);
            groups.push(Group { columns_end: end, hops_end: hops.len() });
        }
        Block {
            delay,
            width: row.len(),
            rates: row.repeat(delay),
            parameters: members.iter().map(|&s| sources[s].parameters).unzip(),
            groups,
            hops,
        }
    }

    fn step<L: Law>(&mut self, now: usize, prices: &Prices, arrivals: &mut Arrivals) -> RateStatistics {
        let mut total = RateStatistics::EMPTY;
        let mut rows = Rows {
            // Until it is overwritten, the row of this step holds the rates of D steps ago.
            previous: (now - 1) % self.delay * self.width,
            present: now % self.delay * self.width,
            rates: &mut self.rates,
            parameters: (&self.parameters.0, &self.parameters.1),
        };
        let (mut first, mut hop) = (0, 0);
        for group in &self.groups {
            let route = &self.hops[hop..group.hops_end];
            let back = |hop: &Hop| self.delay as u32 - hop.forward;
            let price = L::FEEDBACK.combine(route.iter().map(|hop| prices.get(now, back(hop), hop.resource)));
            let statistics = rows.advance::<L>(first..group.columns_end, price);
            route.iter().for_each(|hop| arrivals.send(now, hop, statistics.sum));
            total.add(statistics);
            (first, hop) = (group.columns_end, group.hops_end);
        }
        total
    }
}

/// The rows of a block that a step reads and writes.
struct Rows<'a> {
    rates: &'a mut [f64],
    parameters: (&'a [f64], &'a [f64]),
    /// The start of the row of the previous step.
    previous: usize,
    /// The start of the row of this step.
    present: usize,
}

impl Rows<'_> {
    /// Computes the next rates of sources with the same price.
    fn advance<L: Law>(&mut self, sources: Range<usize>, price: f64) -> RateStatistics {
        let mut lanes = [RateStatistics::EMPTY; LANES];
        let mut first = sources.start;
        while first + LANES <= sources.end {
            let next: [f64; LANES] = std::array::from_fn(|lane| self.next::<L>(first + lane, price));
            self.rates[self.present + first..self.present + first + LANES].copy_from_slice(&next);
            for (lane, rate) in lanes.iter_mut().zip(next) {
                lane.add(RateStatistics::of(rate));
            }
            first += LANES;
        }
        let mut total = RateStatistics::EMPTY;
        lanes.into_iter().for_each(|lane| total.add(lane));
        for k in first..sources.end {
            let rate = self.next::<L>(k, price);
            self.rates[self.present + k] = rate;
            total.add(RateStatistics::of(rate));
        }
        total
    }

    #[inline(always)]
    fn next<L: Law>(&self, k: usize, price: f64) -> f64 {
        let inputs =
            LawInputs { previous: self.rates[self.previous + k], reference: self.rates[self.present + k], price };
        L::next((self.parameters.0[k], self.parameters.1[k]), inputs)
    }
}

impl<L: Law> Map for ConstantDelayMap<L> {
    fn step(&mut self, prices: &[f64]) -> RateStatistics {
        self.prices.set(self.now, prices);
        self.now += 1;
        let mut total = RateStatistics::EMPTY;
        for block in &mut self.blocks {
            total.add(block.step::<L>(self.now, &self.prices, &mut self.arrivals));
        }
        self.arrivals.complete(self.now);
        total
    }

    fn arrivals(&self) -> &[f64] {
        self.arrivals.current()
    }

    fn rate(&self, source: usize) -> f64 {
        let (block, column) = self.positions[source];
        let block = &self.blocks[block];
        block.rates[self.now % block.delay * block.width + column]
    }
}
