//! The packet simulator.
//!
//! The way of a packet, in six files: [`traffic`] (who sends) → [`flow`] (sender) → [`route`] (which
//! stage comes next) → [`resource`] (queue and server, a link or a [`cpu`]) or [`wire`], behind it perhaps [`impair`] →
//! [`engine`] (arrival at the next stage) → [`flow`] (receiver, and the acknowledgement's way back).

pub mod attachment;
mod cpu;
mod cwnd;
mod engine;
mod events;
mod flow;
pub mod impair;
pub mod meter;
pub mod opportunities;
pub mod plan;
pub mod resource;
pub mod result;
mod route;
pub mod run;
pub mod trace;
mod traffic;
pub mod wire;

pub use run::{check, check_links, queue_of, run, Control, RunError};
