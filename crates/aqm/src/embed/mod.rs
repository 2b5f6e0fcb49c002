//! Queues for other programs: a packet is whatever the program sends, and time is whatever its clock says.
//!
//! - [`Config`]: which algorithm, its parameters, the buffer and the rate.
//! - [`PacketQueue`]: a queue whose server is the program. It asks for the next packet when it can send one.
//! - [`Bottleneck`]: a queue, its transmitter and a propagation delay: an emulated link.
//!
//! Both are the discipline ([`crate::Discipline`]) that the simulator runs, with a place for the program's own packets and a
//! translation of its clock. `crates/sim/tests/bottleneck.rs` checks that a [`Bottleneck`] sends the same packets at the same
//! nanoseconds as a link of the simulator.

mod bottleneck;
mod clock;
mod config;
mod held;
mod queue;
mod rate;

pub use bottleneck::{Bottleneck, Delivery};
pub use config::Config;
pub use held::{Departure, Dropped, Header};
pub use queue::PacketQueue;
