//! Prefetching of what flows have outside themselves, in runs with many flows.
//!
//! A modern host keeps the state of its loss recovery, of its window law and of quick acknowledgements in boxes, and what it
//! knows of segments in buffers of these. When a packet comes, each of them is outside the cache, and where it is stands in
//! the one before. So they are prefetched in steps while the packet comes near: first its flow and its options, its boxes
//! some arrivals later, and the buffers some arrivals after that. A run's result does not depend on this.

use super::Engine;
use crate::flow::FlowKind;
use crate::route::Stage;
use marqueue_cc::{Config, Sender};
use prefetch_index::prefetch_index;

/// Flows from which it pays: fewer stay in the cache.
const FROM: usize = 5000;

/// Arrivals from one step to the next. In between, what was prefetched comes.
const STEP: usize = 4;

/// The flows of packets that will arrive soon.
#[derive(Debug)]
pub struct ComingFlows {
    is_on: bool,
    /// At senders, the latest before `sender`, in a circle.
    senders: [u32; 2 * STEP],
    sender: usize,
    /// At receivers, likewise.
    receivers: [u32; STEP],
    receiver: usize,
}

impl ComingFlows {
    /// For a run with at most so many flows at a time.
    pub fn new(configs: &[Config], flows: usize) -> ComingFlows {
        let is_on = flows >= FROM && configs.iter().any(Sender::has_parts);
        ComingFlows { is_on, senders: [0; 2 * STEP], sender: 0, receivers: [0; STEP], receiver: 0 }
    }

    /// Is anything prefetched?
    #[inline(always)]
    pub fn is_on(&self) -> bool {
        self.is_on
    }

    /// Adds a flow at whose sender a packet will arrive. Returns those that were added one and two steps ago.
    fn add_sender(&mut self, flow: u32) -> (u32, u32) {
        let at = self.sender;
        let before = (self.senders[(at + STEP) % self.senders.len()], self.senders[at]);
        self.senders[at] = flow;
        self.sender = (at + 1) % self.senders.len();
        before
    }

    /// Adds a flow at whose receiver a packet will arrive. Returns the one that was added a step ago.
    fn add_receiver(&mut self, flow: u32) -> u32 {
        let before = std::mem::replace(&mut self.receivers[self.receiver], flow);
        self.receiver = (self.receiver + 1) % self.receivers.len();
        before
    }
}

impl Engine {
    /// A packet arrives at a stage, and the next packet from the same source will probably arrive at the same kind of stage.
    /// It is one of `flow`.
    #[inline(never)]
    pub(super) fn fetch_coming(&mut self, source: u32, stage: u32, flow: u32) {
        match self.routes.stages[stage as usize] {
            Stage::Sender => {
                let slot = self.lines[source as usize].first_options() as usize;
                // The last bytes of a slot are just before the next one.
                prefetch_index(&self.option_slots, slot);
                prefetch_index(&self.option_slots, slot + 1);
                let (near, nearer) = self.coming_flows.add_sender(flow);
                if let FlowKind::Tcp(tcp) = &self.flows[near as usize].kind {
                    tcp.sender.prefetch_parts();
                }
                if let FlowKind::Tcp(tcp) = &self.flows[nearer as usize].kind {
                    tcp.sender.prefetch_segments();
                }
            }
            Stage::Receive => {
                self.flows[flow as usize].fetch_sender();
                let near = self.coming_flows.add_receiver(flow);
                if let FlowKind::Tcp(tcp) = &self.flows[near as usize].kind {
                    tcp.receiver.prefetch_parts();
                }
            }
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn flows_come_back_one_and_two_steps_after_they_were_added() {
        let mut coming = ComingFlows::new(&[], 0);
        for flow in 0..100 {
            let before = (coming.add_sender(flow), coming.add_receiver(flow));
            let ago = |arrivals: usize| flow.saturating_sub(arrivals as u32);
            assert_eq!(before, ((ago(STEP), ago(2 * STEP)), ago(STEP)));
        }
    }
}
