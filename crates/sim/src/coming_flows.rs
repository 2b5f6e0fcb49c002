//! The flows whose packets will arrive soon, in runs with many flows. What they point to is prefetched before it is needed
//! (`engine/prefetching.rs`).

use marqueue_cc::{Config, Sender};

/// Flows that send at a time from which it pays: fewer stay in the cache. Debug builds always prefetch, so that tests see
/// whether it changes anything.
const FROM: u32 = if cfg!(debug_assertions) { 1 } else { 5000 };

/// Arrivals from one step to the next. In between, what was prefetched comes.
const STEP: usize = 4;

/// The flows of packets that will arrive soon.
#[derive(Debug)]
pub struct ComingFlows {
    /// TCP flows whose senders are here, have started and not ended.
    active: u32,
    /// As many of them as prefetching pays for; more than there can be, if these flows point to nothing.
    from: u32,
    /// At senders, the latest before `sender`, in a circle.
    senders: [u32; 2 * STEP],
    sender: usize,
    /// At receivers, likewise.
    receivers: [u32; STEP],
    receiver: usize,
}

impl ComingFlows {
    /// For flows with such settings.
    pub fn new(configs: &[Config]) -> ComingFlows {
        let from = if configs.iter().any(Sender::has_parts) { FROM } else { u32::MAX };
        ComingFlows { active: 0, from, senders: [0; 2 * STEP], sender: 0, receivers: [0; STEP], receiver: 0 }
    }

    /// A flow begins to send.
    pub fn add_active(&mut self) {
        self.active += 1;
    }

    /// A flow that has begun to send has ended.
    pub fn remove_active(&mut self) {
        self.active -= 1;
    }

    /// Is anything prefetched?
    #[inline(always)]
    pub fn is_on(&self) -> bool {
        self.active >= self.from
    }

    /// Adds a flow at whose sender a packet will arrive. Returns those that were added one and two steps ago.
    pub fn add_sender(&mut self, flow: u32) -> (u32, u32) {
        let at = self.sender;
        let before = (self.senders[(at + STEP) % self.senders.len()], self.senders[at]);
        self.senders[at] = flow;
        self.sender = (at + 1) % self.senders.len();
        before
    }

    /// Adds a flow at whose receiver a packet will arrive. Returns the one that was added a step ago.
    pub fn add_receiver(&mut self, flow: u32) -> u32 {
        let before = std::mem::replace(&mut self.receivers[self.receiver], flow);
        self.receiver = (self.receiver + 1) % self.receivers.len();
        before
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn flows_come_back_one_and_two_steps_after_they_were_added() {
        let mut coming = ComingFlows::new(&[]);
        for flow in 0..100 {
            let before = (coming.add_sender(flow), coming.add_receiver(flow));
            let ago = |arrivals: usize| flow.saturating_sub(arrivals as u32);
            assert_eq!(before, ((ago(STEP), ago(2 * STEP)), ago(STEP)));
        }
    }
}
