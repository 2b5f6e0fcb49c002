//! Discrete maps of the rates of many sources that share resources, with delays.
//!
//! At each step n, source i computes its rate x_i(n) by its law from x_i(n-D_i) and from the prices that the resources
//! j of its route had B_ij steps ago. The arrivals at a resource are the rates that sources had F_ij steps ago, with
//! F_ij + B_ij = D_i. The caller computes the prices from the arrivals after each step. All rates and prices before the
//! first step equal the initial ones.
//!
//! With constant delays, the last D_i rates of a source are stored ([`ConstantDelayMap`]). With random extra delays of
//! feedback, the history is longer by the largest extra delay ([`RandomDelayMap`]).

mod constant_delay;
mod law;
mod network;
mod random_delay;

pub use constant_delay::ConstantDelayMap;
pub use law::{Aimd, Feedback, Kelly, Law, LawInputs, Mkc, Scalable};
pub use network::{Hop, Network, Source};
pub use random_delay::RandomDelayMap;

/// Statistics of the rates of all sources at one step.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RateStatistics {
    /// The sum.
    pub sum: f64,
    /// The sum of squares.
    pub squares: f64,
    /// The minimum.
    pub min: f64,
    /// The maximum.
    pub max: f64,
}

impl RateStatistics {
    const EMPTY: RateStatistics = RateStatistics { sum: 0.0, squares: 0.0, min: f64::INFINITY, max: f64::NEG_INFINITY };

    fn of(rate: f64) -> RateStatistics {
        RateStatistics { sum: rate, squares: rate * rate, min: rate, max: rate }
    }

    fn add(&mut self, other: RateStatistics) {
        self.sum += other.sum;
        self.squares += other.squares;
        self.min = if other.min < self.min { other.min } else { self.min };
        self.max = if other.max > self.max { other.max } else { self.max };
    }
}

/// A map that can be stepped.
pub trait Map {
    /// Advances by one step. `prices` are those of the resources at the previous step.
    fn step(&mut self, prices: &[f64]) -> RateStatistics;

    /// The present arrival rate at each resource.
    fn arrivals(&self) -> &[f64];

    /// The present rate of a source.
    fn rate(&self, source: usize) -> f64;
}
