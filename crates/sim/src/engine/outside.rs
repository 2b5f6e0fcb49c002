//! Queues that are outside: see [`crate::external`].

use super::{resource, Engine};
use crate::external::QueueNews;
use crate::flow::FlowKind;
use marqueue_aqm::Discipline;
use marqueue_core::Time;

impl Engine {
    /// Has anything happened at a queue outside since the last call of [`Engine::take_queue_news`]?
    pub(super) fn has_queue_news(&mut self) -> bool {
        let Engine { links, outside, .. } = self;
        outside.iter().any(|&l| resource(links, l).qdisc.outside().is_some_and(|queue| queue.has_news()))
    }

    /// Is this flow TCP?
    pub fn is_tcp(&self, flow: u32) -> bool {
        matches!(self.flows[flow as usize].kind, FlowKind::Tcp(_) | FlowKind::External(_))
    }

    /// Takes what has happened at queues outside: at each link packets that have arrived, and transmissions that ended.
    pub fn take_queue_news(&mut self, to: &mut Vec<QueueNews>) {
        let Engine { links, outside, .. } = self;
        let mut entered = Vec::new();
        for &link in outside.iter() {
            let Discipline::Outside(queue) = &mut resource(links, link).qdisc else { continue };
            queue.take_entered(&mut entered);
            to.extend((0..queue.take_sent()).map(|_| QueueNews::Sent { link }));
            to.extend(entered.drain(..).map(|(number, packet)| QueueNews::Entered { link, number, packet }));
        }
    }

    /// The queue outside of `link` has made the packet with this number ready to be sent at `at`, marked CE or not. The
    /// time is neither before the clock nor after the next event. Returns false if no such packet waits.
    pub fn make_ready(&mut self, at: Time, link: u32, number: u32, marked: bool) -> bool {
        self.pass_to(at);
        let (waited, departure) = resource(&mut self.links, link).make_ready(at, number, marked);
        if let Some((packet, arrival)) = departure {
            self.leave(link, packet, packet.stage(), arrival);
        }
        self.await_transmission(link);
        waited
    }

    /// The queue outside of `link` has dropped the packet with this number at `at`, as above.
    pub fn drop_outside(&mut self, at: Time, link: u32, number: u32) -> bool {
        self.pass_to(at);
        let dropped = resource(&mut self.links, link).drop_outside(at, number);
        self.release_dropped(link);
        dropped
    }

    /// The event of a queue outside: a transmission ends.
    pub(super) fn transmission_ends(&mut self, link: u32) {
        self.catch_up(link, self.now);
        self.release_dropped(link);
        self.await_transmission(link);
    }

    fn await_transmission(&mut self, link: u32) {
        let ends = resource(&mut self.links, link).busy_until();
        self.events.set(self.links[link as usize].catch_up_source, ends);
    }
}
