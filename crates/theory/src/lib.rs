//! Numerical kernels of the analytical models. The models themselves are written in Python; these parts are too slow
//! there.
//!
//! - [`fluid`]: fluid models of networks, as delay differential equations.
//! - [`rate_maps`]: discrete maps of source rates with delayed feedback.
//! - [`chain`]: a Markov chain of TCP windows under marking.
//! - [`packet_level_chain`]: the same flows packet by packet.

pub mod chain;
pub mod fluid;
pub mod packet_level_chain;
pub mod rate_maps;
