//! RFC 8289, sections 5.2 to 5.6, line by line. Names are the RFC's. Marks, which the RFC does not have, are those of
//! Linux's codel: instead of a drop a packet is marked and returned, and the next drop time is computed at once.

use super::Event;
use marqueue_core::Dur;
use std::collections::VecDeque;

#[derive(Clone, Copy, Debug)]
pub struct Stored {
    pub seq: u32,
    pub bytes: u32,
    pub ect: bool,
    pub ce: bool,
    pub tstamp: i64,
}

struct DodequeueResult {
    p: Option<Stored>,
    ok_to_drop: bool,
}

pub struct CodelQueue {
    pub target: i64,
    pub interval: i64,
    pub ecn: bool,
    pub ce_threshold: Option<i64>,
    pub maxpacket: u64,
    pub packets: VecDeque<Stored>,
    /// Bytes of other queues that share the link (section 4.4).
    pub other_bytes: u64,
    pub events: Vec<Event>,
    pub dropping: bool,
    pub count: u32,
    lastcount: u32,
    first_above_time: i64,
    drop_next: i64,
}

impl CodelQueue {
    pub fn new(target: f64, interval: f64, ecn: bool, maxpacket: u64) -> CodelQueue {
        CodelQueue {
            target: Dur::from_secs(target).0 as i64,
            interval: Dur::from_secs(interval).0 as i64,
            ecn,
            ce_threshold: None,
            maxpacket,
            packets: VecDeque::new(),
            other_bytes: 0,
            events: Vec::new(),
            dropping: false,
            count: 0,
            lastcount: 0,
            first_above_time: 0,
            drop_next: 0,
        }
    }

    pub fn bytes(&self) -> u64 {
        self.packets.iter().map(|p| u64::from(p.bytes)).sum()
    }

    pub fn enqueue(&mut self, packet: Stored) {
        // Section 4.1: the MTU may be the largest packet seen so far.
        self.maxpacket = self.maxpacket.max(u64::from(packet.bytes));
        self.packets.push_back(packet);
    }

    fn control_law(&self, t: i64, count: u32) -> i64 {
        t + Dur::from_secs(Dur(self.interval as u64).secs() / f64::from(count).sqrt()).0 as i64
    }

    fn dodequeue(&mut self, now: i64) -> DodequeueResult {
        let mut r = DodequeueResult { p: self.packets.pop_front(), ok_to_drop: false };
        let Some(p) = r.p else {
            self.first_above_time = 0;
            return r;
        };
        let sojourn_time = now - p.tstamp;
        if sojourn_time < self.target || self.bytes() + self.other_bytes <= self.maxpacket {
            self.first_above_time = 0;
        } else if self.first_above_time == 0 {
            self.first_above_time = now + self.interval;
        } else if now >= self.first_above_time {
            r.ok_to_drop = true;
        }
        r
    }

    /// Drops the packet, or marks it. Was it marked?
    fn drop_or_mark(&mut self, r: &mut DodequeueResult) -> bool {
        let p = r.p.as_mut().expect("a packet is dropped");
        if self.ecn && p.ect {
            p.ce = true;
            return true;
        }
        self.events.push(Event::DroppedEarly { seq: p.seq });
        false
    }

    pub fn dequeue(&mut self, now: i64) -> Option<Stored> {
        let mut r = self.codel_dequeue(now);
        if let (Some(p), Some(threshold)) = (&mut r, self.ce_threshold) {
            p.ce |= p.ect && now - p.tstamp > threshold;
        }
        r
    }

    fn codel_dequeue(&mut self, now: i64) -> Option<Stored> {
        let mut r = self.dodequeue(now);
        if self.dropping {
            if !r.ok_to_drop {
                self.dropping = false;
            }
            while now >= self.drop_next && self.dropping {
                let marked = self.drop_or_mark(&mut r);
                self.count += 1;
                if marked {
                    self.drop_next = self.control_law(self.drop_next, self.count);
                    return r.p;
                }
                r = self.dodequeue(now);
                if !r.ok_to_drop {
                    self.dropping = false;
                } else {
                    self.drop_next = self.control_law(self.drop_next, self.count);
                }
            }
        } else if r.ok_to_drop {
            if !self.drop_or_mark(&mut r) {
                r = self.dodequeue(now);
            }
            self.dropping = true;
            let delta = self.count - self.lastcount;
            self.count = 1;
            if delta > 1 && now - self.drop_next < 16 * self.interval {
                self.count = delta;
            }
            self.drop_next = self.control_law(now, self.count);
            self.lastcount = self.count;
        }
        r.p
    }
}
