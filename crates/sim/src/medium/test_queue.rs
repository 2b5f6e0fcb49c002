//! A queue without an AQM, for tests of models of medium access by themselves.

use super::Backlog;
use marqueue_core::Packet;
use std::collections::VecDeque;

/// Packets that wait.
pub(super) struct Waiting(VecDeque<Packet>);

impl Waiting {
    /// `n` packets of `bytes`, of flows 0, 1 and so on.
    pub fn packets(n: u32, bytes: u32) -> Waiting {
        Waiting((0..n).map(|flow| Packet::data(flow, 0, bytes)).collect())
    }
}

impl Backlog for Waiting {
    fn take(&mut self) -> Option<Packet> {
        self.0.pop_front()
    }

    fn bytes(&self) -> u64 {
        self.0.iter().map(|packet| u64::from(packet.bytes())).sum()
    }

    fn packets(&self) -> u64 {
        self.0.len() as u64
    }
}
