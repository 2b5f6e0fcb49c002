//! QUIC connections of quinn-proto or noq-proto as end hosts of the packet simulator.
//!
//! These libraries have no input, output or clock: they are given datagrams and times, and return datagrams and times.
//! `shared/ends.rs` plays the two ends of a connection, [`run`] the loop over the calendar of the simulator and their
//! timers, and [`handshake`] stands in place of TLS. What the libraries do in different ways is in [`quinn`] and [`noq`]. A
//! result is a function of plan, seed and version: all random numbers of a connection come from a stream with its name.

#![expect(
    clippy::duplicate_mod,
    reason = "shared/ends.rs is compiled for each library: their interfaces differ in a few calls"
)]
#![cfg_attr(test, allow(clippy::disallowed_methods, reason = "tests may use the platform's functions"))]

mod application;
mod clock;
mod connection;
mod handshake;
mod library;
mod noq;
mod quinn;
mod reports;
mod run;

pub use run::{check, run};
