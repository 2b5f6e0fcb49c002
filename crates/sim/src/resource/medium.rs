//! A queue whose server is a medium: packets leave it at the opportunities of a model of medium access.

use super::{Resource, Server};
use crate::medium::{AnyMedium, Backlog};
use crate::meter::Meter;
use crate::trace::Trace;
use marqueue_aqm::{Discipline, Qdisc};
use marqueue_core::{Packet, Time};
use std::collections::VecDeque;

/// A medium as the server of a queue.
#[derive(Debug)]
pub struct Medium {
    model: AnyMedium,
    /// Mean rate with a queue that is never empty, bit/s.
    capacity: f64,
    /// Packets of the current opportunity, with the time when they have crossed the medium.
    left: VecDeque<(Packet, Time)>,
    /// The opportunity after the current one.
    next: Time,
}

impl Medium {
    /// A medium without packets, whose capacity is `capacity` bit/s.
    pub fn new(model: AnyMedium, capacity: f64) -> Medium {
        Medium { model, capacity, left: VecDeque::new(), next: Time::ZERO }
    }

    /// Mean rate with a queue that is never empty, bit/s.
    pub fn capacity(&self) -> f64 {
        self.capacity
    }

    /// When a sender without packets that has one from `now` on may send it.
    pub fn first_from(&mut self, now: Time) -> Time {
        self.model.first_from(now)
    }

    /// Number of packets that have left the queue and not the medium.
    pub fn held(&self) -> usize {
        self.model.held() + self.left.len()
    }
}

/// The queue at an opportunity: what a model takes is measured.
struct Opportunity<'a> {
    now: Time,
    qdisc: &'a mut Discipline,
    meter: &'a mut Meter,
    trace: &'a mut Option<Box<Trace>>,
    lost: &'a mut Vec<Packet>,
    waiting: &'a mut u32,
    /// Whether the queue gave no packet when it was asked.
    refused: bool,
}

impl Backlog for Opportunity<'_> {
    fn take(&mut self) -> Option<Packet> {
        self.meter.integrate_queue(*self.waiting, self.now);
        let (next, status) = self.qdisc.dequeue_with_status(self.now);
        if status.has_dropped {
            super::collect_dropped(self.qdisc, self.trace, self.lost, self.now, self.waiting.saturating_sub(1));
        }
        *self.waiting = status.len;
        let Some((packet, sojourn)) = next else {
            self.refused = true;
            return None;
        };
        self.meter.record_departure(sojourn, f64::from(packet.bytes()) * 8.0, packet.class());
        if let Some(trace) = self.trace {
            trace.record_departure(self.now, &packet, sojourn, status.len, self.qdisc.counters());
        }
        Some(packet)
    }

    fn bytes(&self) -> u64 {
        self.qdisc.bytes()
    }

    fn packets(&self) -> u64 {
        u64::from(*self.waiting)
    }
}

impl Resource {
    /// An opportunity of the medium at `now`: each call returns one of the packets that leave at it.
    #[inline(never)]
    pub(super) fn serve_medium(&mut self, now: Time) -> Option<(Packet, Time)> {
        let Server::Medium(medium) = &mut self.server else { unreachable!("a medium") };
        let mut refused = false;
        if medium.left.is_empty() {
            let mut queue = Opportunity {
                now,
                qdisc: &mut self.qdisc,
                meter: &mut self.meter,
                trace: &mut self.trace,
                lost: &mut self.lost,
                waiting: &mut self.waiting,
                refused,
            };
            medium.next = medium.model.send(now, &mut queue, &mut medium.left);
            refused = queue.refused;
        }
        let departure = medium.left.pop_front();
        let status = self.qdisc.status();
        self.holds = medium.held() > 0;
        self.free = if medium.left.is_empty() { medium.next } else { now };
        // At an opportunity that changed nothing the sender has become idle, or its shaper holds all packets.
        let nothing = medium.next == now && departure.is_none() && !self.holds;
        self.idle = nothing && status.len == 0;
        if nothing && refused && status.len > 0 {
            self.free = medium.model.first_from(status.next_timer);
        }
        self.update_due(status);
        departure.map(|(packet, done)| (packet, done + self.delay))
    }

    /// Number of packets that have left the queue and not the medium.
    pub fn held(&self) -> usize {
        match &self.server {
            Server::Medium(medium) => medium.held(),
            Server::Link(_) | Server::DeliveryTrace(_) | Server::Cpu(_) => 0,
        }
    }
}
