//! TCP, rate-based transport and media as state machines, without a network or a clock.
//!
//! The caller passes in segments, acknowledgements, timers and the time; the state machines return what to send.
//! The path of an acknowledgement: [`Sender::on_ack`] → [`recovery`] (loss recovery) → [`core::Core`] (state that
//! all senders share) → [`algo`] (the window law) → segments in a buffer, which the caller sends.
//!
//! Sequence numbers count segments, not bytes. Segment 0 is the SYN.

#![cfg_attr(test, allow(clippy::disallowed_methods, reason = "tests may use the platform's functions"))]

pub mod accecn;
pub mod algo;
pub mod config;
pub mod core;
pub mod delivery_rate;
pub mod law_list;
pub mod media;
mod pacing;
pub mod path_model;
pub mod preset;
pub mod program;
pub mod program_law;
mod queueing_delay;
mod quick_acks;
pub mod rate_based;
pub mod receiver;
pub mod recovery;
pub mod rto;
pub mod segment;
pub mod sender;
pub mod sequence_ranges;
pub mod slow_start;
pub mod window;
pub mod window_law;

pub use self::core::SenderInfo;
pub use config::Config;
pub use receiver::{Options, Receiver, SegmentOutcome};
pub use segment::{Ack, Segment};
pub use sender::Sender;
