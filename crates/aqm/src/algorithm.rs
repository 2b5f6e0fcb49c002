//! What a queue discipline has so that it can be registered in the list of algorithms ([`crate::algo`]).

use crate::policy::Env;
use crate::qdisc::Qdisc;
use marqueue_core::params::{ParamError, ParamSet};
use marqueue_core::Rng;

/// A discipline that can be registered in the list.
pub trait Algorithm: Qdisc + Sized {
    /// Its name in scenarios.
    const NAME: &'static str;
    /// One line on what it does.
    const SUMMARY: &'static str;
    /// The paper or RFC that defines it.
    const SOURCE: &'static str;
    /// Names of the internal variables that [`Qdisc::probe`] reports, with units.
    const PROBES: &'static [(&'static str, &'static str)] = &[];
    /// Does it report a price of the link?
    const PRICES: bool;
    /// Its parameters.
    type Params: ParamSet;

    /// An empty queue in `env`.
    ///
    /// # Errors
    /// If the parameters contradict each other or the environment.
    fn build(params: &Self::Params, env: Env, rng: Rng) -> Result<Self, ParamError>;
}
