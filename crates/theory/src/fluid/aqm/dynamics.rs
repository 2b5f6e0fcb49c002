//! The interface of an AQM in continuous time.

use crate::fluid::invalid::Invalid;
use crate::fluid::scalar::Scalar;
use crate::fluid::state::{Mode, State};

/// The parameters of a link that its AQM uses.
#[derive(Clone, Copy, Debug)]
pub struct LinkParameters {
    /// Initial capacity, packets/s.
    pub capacity: f64,
    /// Buffer, packets; infinite if unlimited.
    pub buffer: f64,
    /// Initial queue, packets.
    pub queue: f64,
    /// Number of later changes of the capacity.
    pub changes: usize,
}

/// The state of a queue that its AQM uses.
#[derive(Clone, Copy, Debug)]
pub struct QueueView<'a, S> {
    /// Queue length, packets.
    pub queue: S,
    /// The slope of the queue, packets/s; zero at a bound that it does not leave.
    pub growth: S,
    /// Arrival rate, packets/s.
    pub arrivals: S,
    /// Capacity, packets/s.
    pub capacity: f64,
    /// The AQM's own states.
    pub own: &'a [S],
    /// The modes of these states.
    pub modes: &'a [Mode],
}

/// The feedback of an AQM to packets that arrive.
#[derive(Clone, Copy, Debug)]
pub struct AqmFeedback<S> {
    /// The share of packets that the AQM marks or drops.
    pub p: S,
    /// phi of DRQ. A path adds phi times density over its links.
    pub phi: S,
    /// The price that the link writes into headers.
    pub price: S,
}

impl<S: Scalar> AqmFeedback<S> {
    /// Feedback that consists of marks only.
    pub fn marks(p: S) -> AqmFeedback<S> {
        AqmFeedback { p, phi: S::from(0.0), price: S::from(0.0) }
    }

    /// The same feedback without derivatives.
    pub fn constant(self) -> AqmFeedback<S> {
        let AqmFeedback { p, phi, price } = self;
        AqmFeedback { p: S::from(p.value()), phi: S::from(phi.value()), price: S::from(price.value()) }
    }
}

/// An AQM in continuous time.
pub trait Aqm {
    /// Checks the parameters.
    ///
    /// # Errors
    /// Names the first invalid parameter.
    fn check(&self, link: &LinkParameters) -> Result<(), Invalid>;

    /// Its states. The model appends the name of the link to theirs.
    fn states(&self, _link: &LinkParameters) -> Vec<State> {
        Vec::new()
    }

    /// Its states at the beginning.
    fn initial(&self, _link: &LinkParameters) -> Vec<f64> {
        Vec::new()
    }

    /// The slopes of its states.
    fn slopes<S: Scalar>(&self, _at: &QueueView<'_, S>, _out: &mut [S]) {}

    /// Its feedback. It must not use `growth`, which depends on it.
    fn feedback<S: Scalar>(&self, at: &QueueView<'_, S>) -> AqmFeedback<S>;

    /// Number of switching functions. The law has a kink where one changes its sign.
    fn switch_count(&self) -> usize {
        0
    }

    /// The values of the switching functions.
    fn switch_values(&self, _at: &QueueView<'_, f64>, _out: &mut [f64]) {}
}
