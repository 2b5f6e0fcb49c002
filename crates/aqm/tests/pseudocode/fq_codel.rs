//! RFC 8290, sections 4.1 and 4.2, step by step, with the CoDel of RFC 8289 in each queue. Credits are used up at zero,
//! as in section 3.

use super::codel::{CodelQueue, Stored};
use super::Event;
use std::collections::VecDeque;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Half {
    OfPackets,
    OfBytes,
}

struct FlowQueue {
    codel: CodelQueue,
    credits: i64,
}

pub struct FqCodel {
    pub limit: usize,
    pub quantum: i64,
    pub half: Half,
    /// Does CoDel look at the bytes of all queues?
    pub total_occupancy: bool,
    /// Which of two equally long queues is dropped from: the RFC leaves it open.
    pub tie: Vec<usize>,
    queues: Vec<FlowQueue>,
    new: VecDeque<usize>,
    old: VecDeque<usize>,
    pub events: Vec<Event>,
}

impl FqCodel {
    pub fn new(codels: Vec<CodelQueue>, limit: usize, quantum: i64, half: Half, total_occupancy: bool) -> FqCodel {
        let queues = codels.into_iter().map(|codel| FlowQueue { codel, credits: 0 }).collect();
        FqCodel {
            limit,
            quantum,
            half,
            total_occupancy,
            tie: Vec::new(),
            queues,
            new: VecDeque::new(),
            old: VecDeque::new(),
            events: Vec::new(),
        }
    }

    /// Section 4.1.
    pub fn enqueue(&mut self, flow: usize, packet: Stored) {
        self.queues[flow].codel.enqueue(packet);
        if !self.new.contains(&flow) && !self.old.contains(&flow) {
            self.new.push_back(flow);
            self.queues[flow].credits = self.quantum;
        }
        let total: usize = self.queues.iter().map(|q| q.codel.packets.len()).sum();
        if total > self.limit {
            self.drop_from_largest();
        }
    }

    fn drop_from_largest(&mut self) {
        let bytes: Vec<u64> = self.queues.iter().map(|q| q.codel.bytes()).collect();
        let largest = *bytes.iter().max().expect("queues");
        let flow = *self.tie.iter().find(|&&flow| bytes[flow] == largest).expect("every flow has a rank");
        let queue = &mut self.queues[flow].codel.packets;
        let (packets, mut dropped, mut dropped_bytes) = (queue.len(), 0, 0);
        loop {
            let packet = queue.pop_front().expect("the largest queue is not empty");
            self.events.push(Event::Overflowed { seq: packet.seq });
            dropped += 1;
            dropped_bytes += u64::from(packet.bytes);
            let enough = match self.half {
                Half::OfPackets => dropped >= packets / 2,
                Half::OfBytes => dropped_bytes >= largest / 2,
            };
            if enough || dropped == 64 {
                return;
            }
        }
    }

    /// Section 4.2.
    pub fn dequeue(&mut self, now: i64) -> Option<Stored> {
        loop {
            let from_new = !self.new.is_empty();
            let list = if from_new { &mut self.new } else { &mut self.old };
            let &flow = list.front()?;
            if self.queues[flow].credits <= 0 {
                self.queues[flow].credits += self.quantum;
                list.pop_front();
                self.old.push_back(flow);
                continue;
            }
            let all: u64 = self.queues.iter().map(|q| q.codel.bytes()).sum();
            let queue = &mut self.queues[flow];
            queue.codel.other_bytes = if self.total_occupancy { all - queue.codel.bytes() } else { 0 };
            let packet = queue.codel.dequeue(now);
            self.events.append(&mut queue.codel.events);
            let Some(packet) = packet else {
                if from_new {
                    self.new.pop_front();
                    self.old.push_back(flow);
                } else {
                    self.old.pop_front();
                }
                continue;
            };
            queue.credits -= i64::from(packet.bytes);
            return Some(packet);
        }
    }

    /// Queues that hold packets.
    pub fn busy(&self) -> usize {
        self.queues.iter().filter(|q| !q.codel.packets.is_empty()).count()
    }
}
