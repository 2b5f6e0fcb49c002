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
pub mod paced;
pub mod preset;
pub mod ranges;
pub mod receiver;
pub mod recovery;
pub mod rto;
pub mod sender;
pub mod slow_start;

pub use self::core::Shown;
pub use config::Config;
pub use receiver::{Options, Received, Receiver};
pub use sender::{Ack, Sender};

use marqueue_core::Flags;

/// A segment that the sender wants on the wire.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Segment {
    /// Its number; 0 is the SYN.
    pub seq: u32,
    /// SYN, ECE, CWR, RETRANSMIT.
    pub flags: Flags,
    /// Sent as ECN-capable.
    pub ect: bool,
}
