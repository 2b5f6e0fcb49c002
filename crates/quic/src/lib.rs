//! QUIC connections of quinn-proto as end hosts of the packet simulator.
//!
//! quinn-proto is a QUIC library without input, output or clock: it is given datagrams and times, and returns datagrams
//! and times. [`ends`] plays the two ends of a connection with it, [`run`] the loop over the calendar of the simulator
//! and their timers, and [`session`] stands in place of TLS. A result is a function of plan, seed and version: all
//! random numbers of a connection come from a stream with its name.

#![cfg_attr(test, allow(clippy::disallowed_methods, reason = "tests may use the platform's functions"))]

mod application;
mod clock;
mod control;
mod ends;
mod reports;
mod run;
mod session;

pub use run::{check, run};
