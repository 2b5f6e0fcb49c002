//! The interface of loss models.

use marqueue_core::params::{ParamError, ParamSet};
use marqueue_core::Rng;

/// A model of losses on a pipe.
pub trait LossModel: Sized {
    /// Its name in scenarios.
    const NAME: &'static str;
    /// One line on what it does.
    const SUMMARY: &'static str;
    /// Its source.
    const SOURCE: &'static str;
    /// Its parameters.
    type Params: ParamSet;

    /// The model at the start of a run.
    ///
    /// # Errors
    /// Names a missing or inconsistent parameter.
    fn new(params: &Self::Params) -> Result<Self, ParamError>;

    /// Is the next packet lost?
    fn is_lost(&mut self, rng: &mut Rng) -> bool;
}
