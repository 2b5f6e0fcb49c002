//! Drop-tail: no active queue management. A packet is dropped when the buffer is full.
//!
//! Input: none. Output: none; the discipline drops packets that do not fit.

use crate::policy::{Aqm, Context, Env, Verdict};
use marqueue_core::params::ParamError;
use marqueue_core::{Packet, Rng, Time};

marqueue_core::params! {
    /// None.
    pub struct Params {}
}

/// No policy.
#[derive(Debug)]
pub struct DropTail;

impl Aqm for DropTail {
    const NAME: &'static str = "droptail";
    const SUMMARY: &'static str = "First in, first out; drops packets that do not fit into the buffer";
    const SOURCE: &'static str = "the baseline of every comparison";
    type Params = Params;

    fn new(_: &Params, _: &Env, _: &Rng, _: Time) -> Result<Self, ParamError> {
        Ok(DropTail)
    }

    fn on_arrival(&mut self, _: &mut Context<'_>, _: &Packet) -> Verdict {
        Verdict::Pass
    }
}
