//! The interface of an AQM in continuous time.

use crate::fluid::invalid::Invalid;
use crate::fluid::scalar::Scalar;
use crate::fluid::state::{Mode, State};

/// The parameters of a link that its AQM uses.
#[derive(Clone, Copy, Debug)]
pub struct LinkParameters {
    /// Packets/s at the beginning.
    pub capacity: f64,
    /// Packets; infinite if it never overflows.
    pub buffer: f64,
    /// The queue at the beginning, packets.
    pub queue: f64,
    /// How often the capacity changes later.
    pub changes: usize,
}

/// The state of a queue that its AQM uses.
#[derive(Clone, Copy, Debug)]
pub struct QueueView<'a, S> {
    /// Packets.
    pub queue: S,
    /// Its slope, packets/s, which is zero where it rests at a bound.
    pub growth: S,
    /// Packets/s that arrive.
    pub arrivals: S,
    /// Packets/s.
    pub capacity: f64,
    /// The AQM's own states.
    pub own: &'a [S],
    /// Where they are within their bounds.
    pub modes: &'a [Mode],
}

/// The feedback of an AQM to packets that arrive.
#[derive(Clone, Copy, Debug)]
pub struct AqmFeedback<S> {
    /// The share of packets that it marks or drops.
    pub p: S,
    /// phi of DRQ, which a path multiplies by densities and adds up.
    pub phi: S,
    /// The price of the link, which it writes into headers.
    pub price: S,
}

impl<S: Scalar> AqmFeedback<S> {
    /// Marks only.
    pub fn marks(p: S) -> AqmFeedback<S> {
        AqmFeedback { p, phi: S::from(0.0), price: S::from(0.0) }
    }

    /// The same without derivatives.
    pub fn constant(self) -> AqmFeedback<S> {
        let AqmFeedback { p, phi, price } = self;
        AqmFeedback { p: S::from(p.value()), phi: S::from(phi.value()), price: S::from(price.value()) }
    }
}

/// An AQM in continuous time.
pub trait Aqm {
    /// # Errors
    /// With the first parameter that makes no sense.
    fn check(&self, link: &LinkParameters) -> Result<(), Invalid>;

    /// Its states; names are followed by that of the link.
    fn states(&self, _link: &LinkParameters) -> Vec<State> {
        Vec::new()
    }

    /// Its states at the beginning.
    fn initial(&self, _link: &LinkParameters) -> Vec<f64> {
        Vec::new()
    }

    /// The slopes of its states.
    fn slopes<S: Scalar>(&self, _at: &QueueView<'_, S>, _out: &mut [S]) {}

    /// Its feedback. It may use everything but the growth of the queue.
    fn feedback<S: Scalar>(&self, at: &QueueView<'_, S>) -> AqmFeedback<S>;

    /// Number of switching functions: the law has a corner where one changes its sign.
    fn corners(&self) -> usize {
        0
    }

    /// The values of the switching functions.
    fn corner(&self, _at: &QueueView<'_, f64>, _out: &mut [f64]) {}
}
