//! Discrete maps of the rates of many sources that share resources, with delays.
//!
//! At each step n a source i sets its rate x_i(n) by its law from x_i(n-D_i) and the prices that the
//! resources j of its route set B_ij steps ago; a resource sees the rates that sources set F_ij steps
//! ago, F_ij + B_ij = D_i, and whoever steps the map says which prices it sets then. Before the first
//! step everything was as it is at the beginning for ever.
//!
//! With constant delays a source keeps the D_i rates that are in flight ([`ConstantDelayMap`]). With feedback that is
//! delayed by a random number of further steps, it keeps a history of that length ([`RandomDelayMap`]).

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
pub struct Rates {
    /// Their sum.
    pub sum: f64,
    /// The sum of their squares.
    pub squares: f64,
    /// The least.
    pub least: f64,
    /// The greatest.
    pub greatest: f64,
}

impl Rates {
    const NONE: Rates = Rates { sum: 0.0, squares: 0.0, least: f64::INFINITY, greatest: f64::NEG_INFINITY };

    fn of(rate: f64) -> Rates {
        Rates { sum: rate, squares: rate * rate, least: rate, greatest: rate }
    }

    fn add(&mut self, other: Rates) {
        self.sum += other.sum;
        self.squares += other.squares;
        self.least = if other.least < self.least { other.least } else { self.least };
        self.greatest = if other.greatest > self.greatest { other.greatest } else { self.greatest };
    }
}

/// A map that can be stepped.
pub trait Map {
    /// Advances by one step. `prices` are those that the resources set at the step before; afterwards
    /// [`Map::arrivals`] returns the present arrival rates.
    fn step(&mut self, prices: &[f64]) -> Rates;

    /// The arrival rate at each resource.
    fn arrivals(&self) -> &[f64];

    /// The present rate of a source.
    fn rate(&self, source: usize) -> f64;
}
