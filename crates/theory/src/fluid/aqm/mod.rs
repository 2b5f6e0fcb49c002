//! The AQMs as differential equations: a file an AQM, and the one list of them.

mod avq;
mod curve;
mod droptail;
mod drq;
mod gkvq;
mod mkc;
mod pi;
mod red;
mod rem;
mod scaled;

use super::description::{Invalid, Link};
use super::scalar::Scalar;
use super::state::{Mode, State};
use serde::{Deserialize, Serialize};

/// What an AQM sees of its queue.
#[derive(Clone, Copy, Debug)]
pub struct Sight<'a, S> {
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

/// What an AQM does to packets that arrive.
#[derive(Clone, Copy, Debug)]
pub struct Told<S> {
    /// The part of them that it marks or drops.
    pub p: S,
    /// What DRQ multiplies by densities and adds up over a path.
    pub phi: S,
    /// What it writes into headers: the price of the link.
    pub price: S,
}

impl<S: Scalar> Told<S> {
    /// Marks only.
    pub fn marks(p: S) -> Told<S> {
        Told { p, phi: S::from(0.0), price: S::from(0.0) }
    }

    /// The same without derivatives.
    pub fn constant(self) -> Told<S> {
        let Told { p, phi, price } = self;
        Told { p: S::from(p.value()), phi: S::from(phi.value()), price: S::from(price.value()) }
    }
}

/// An AQM in continuous time.
pub trait Aqm {
    /// # Errors
    /// With the first parameter that makes no sense.
    fn check(&self, link: &Link) -> Result<(), Invalid>;

    /// Its states; names are followed by that of the link.
    fn states(&self, _link: &Link) -> Vec<State> {
        Vec::new()
    }

    /// Its states at the beginning.
    fn initial(&self, _link: &Link) -> Vec<f64> {
        Vec::new()
    }

    /// The slopes of its states.
    fn slopes<S: Scalar>(&self, _at: &Sight<'_, S>, _out: &mut [S]) {}

    /// What it tells. It may look at everything but the growth of the queue.
    fn told<S: Scalar>(&self, at: &Sight<'_, S>) -> Told<S>;

    /// How many functions have a corner of the law where they change their sign.
    fn corners(&self) -> usize {
        0
    }

    /// Their values.
    fn corner(&self, _at: &Sight<'_, f64>, _out: &mut [f64]) {}
}

macro_rules! aqms {
    ($($(#[$doc:meta])* $variant:ident: $module:ident,)*) => {
        /// The list: an AQM with its parameters, in base units.
        #[derive(Clone, Debug, Serialize, Deserialize)]
        #[serde(tag = "name", rename_all = "kebab-case")]
        pub enum Policy {$($(#[$doc])* $variant($module::$variant),)*}

        /// The names of the list.
        pub const NAMES: &[&str] = &[$(stringify!($module)),*];

        impl Aqm for Policy {
            fn check(&self, link: &Link) -> Result<(), Invalid> {
                match self {$(Policy::$variant(aqm) => aqm.check(link),)*}
            }

            fn states(&self, link: &Link) -> Vec<State> {
                match self {$(Policy::$variant(aqm) => aqm.states(link),)*}
            }

            fn initial(&self, link: &Link) -> Vec<f64> {
                match self {$(Policy::$variant(aqm) => aqm.initial(link),)*}
            }

            fn slopes<S: Scalar>(&self, at: &Sight<'_, S>, out: &mut [S]) {
                match self {$(Policy::$variant(aqm) => aqm.slopes(at, out),)*}
            }

            fn told<S: Scalar>(&self, at: &Sight<'_, S>) -> Told<S> {
                match self {$(Policy::$variant(aqm) => aqm.told(at),)*}
            }

            fn corners(&self) -> usize {
                match self {$(Policy::$variant(aqm) => aqm.corners(),)*}
            }

            fn corner(&self, at: &Sight<'_, f64>, out: &mut [f64]) {
                match self {$(Policy::$variant(aqm) => aqm.corner(at, out),)*}
            }
        }
    };
}

aqms! {
    /// Losses of a full buffer only.
    Droptail: droptail,
    /// See there.
    Red: red,
    /// See there.
    Pi: pi,
    /// See there.
    Rem: rem,
    /// See there.
    Avq: avq,
    /// See there.
    Gkvq: gkvq,
    /// See there.
    Drq: drq,
    /// See there.
    Mkc: mkc,
    /// See there.
    Scaled: scaled,
}
