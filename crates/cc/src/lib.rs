//! TCP without a network: a sender and a receiver that are told what arrives and say what to send.
//!
//! The way of an acknowledgement: [`sender::Sender::on_ack`] → [`recovery`] (whose rules) →
//! [`core::Core`] (what all share) → [`algo`] (the window law) → segments in a buffer that the caller
//! sends.
//! Sequence numbers count segments; 0 is the SYN.

pub mod algo;
pub mod config;
pub mod control;
pub mod core;
pub mod law_list;
pub mod paced;
pub mod preset;
pub mod ranges;
pub mod receiver;
pub mod recovery;
pub mod rto;
mod segment;
pub mod sender;
pub mod slow_start;

pub use self::core::Shown;
pub use config::Config;
pub use receiver::{Options, Received, Receiver};
pub use segment::{Ack, Segment};
pub use sender::Sender;
