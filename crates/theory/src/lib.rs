//! Numerical kernels of the analytical models. The models themselves are written in Python; these parts are too slow
//! there.
//!
//! - [`fluid`]: fluid models of networks, as delay differential equations.
//! - [`linear`]: fluid models near their equilibrium: stability and margins.
//! - [`rate_maps`]: discrete maps of source rates with delayed feedback.
//! - [`chain`]: a Markov chain of TCP windows under marking.
//! - [`packet_level_chain`]: the same flows packet by packet.
//! - [`square_root_law`]: rates of TCP flows that cross several bottlenecks.
//! - [`shortest_routes`]: routes of least delay in a graph.

#![cfg_attr(test, allow(clippy::disallowed_methods, reason = "tests may use the platform's functions"))]

pub mod chain;
pub mod fluid;
pub mod linear;
pub mod packet_level_chain;
pub mod rate_maps;
pub mod shortest_routes;
pub mod square_root_law;
