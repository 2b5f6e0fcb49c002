//! RFC 9332, appendix A, figures 3, 5, 7 and 8, line by line. Names are the RFC's, with p' as p_prime.
//!
//! The known departures and readings (header of `dualpi2.rs`) are marked. The RFC leaves scheduler() open: it is that of
//! figure 10 (TS-FIFO), or weighted round robin with the credit that appendix A.1 describes for Linux.

use super::Event;
use marqueue_core::{Dur, Ecn, Rng};
use std::collections::VecDeque;

#[derive(Clone, Copy, Debug)]
pub struct Pkt {
    pub seq: u32,
    pub bytes: u32,
    pub ecn: Ecn,
    pub tstamp: i64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scheduler {
    Wrr,
    TsFifo,
}

#[derive(Default)]
pub struct Queue {
    packets: VecDeque<Pkt>,
    count: f64,
}

impl Queue {
    fn byt(&self) -> u64 {
        self.packets.iter().map(|p| u64::from(p.bytes)).sum()
    }

    fn time(&self, now: i64) -> i64 {
        self.packets.front().map_or(0, |p| now - p.tstamp)
    }
}

pub struct Dualpi2 {
    pub lq: Queue,
    pub cq: Queue,
    pub limit: u64,
    pub k: f64,
    pub target: f64,
    pub t_update: i64,
    pub alpha: f64,
    pub beta: f64,
    pub min_th: i64,
    pub range: f64,
    pub th_len: usize,
    pub scheduler: Scheduler,
    pub weight: f64,
    pub tshift: i64,
    /// Random instead of recur().
    pub rng: Option<Rng>,
    pub p_prime: f64,
    pub p_cl: f64,
    pub p_c: f64,
    pub prevq: f64,
    pub credit: f64,
    pub mtu: f64,
    pub last_update: i64,
    pub events: Vec<Event>,
}

const P_LMAX: f64 = 1.0;

impl Dualpi2 {
    /// Figure 3.
    pub fn enqueue(&mut self, pkt: Pkt) {
        // Departure: the packet must fit, in place of one MTU.
        if self.lq.byt() + self.cq.byt() + u64::from(pkt.bytes) > self.limit {
            self.events.push(Event::Overflowed { seq: pkt.seq });
        } else if pkt.ecn as u8 % 2 == 1 {
            self.lq.packets.push_back(pkt);
        } else {
            self.cq.packets.push_back(pkt);
        }
    }

    fn serves_lq(&self, now: i64) -> bool {
        if self.lq.packets.is_empty() || self.cq.packets.is_empty() {
            return self.cq.packets.is_empty();
        }
        match self.scheduler {
            Scheduler::Wrr => self.credit <= 0.0,
            Scheduler::TsFifo => self.lq.time(now) + self.tshift >= self.cq.time(now),
        }
    }

    /// Figure 7.
    pub fn dequeue(&mut self, now: i64) -> Option<Pkt> {
        while self.lq.byt() + self.cq.byt() > 0 {
            let contended = !self.lq.packets.is_empty() && !self.cq.packets.is_empty();
            let from_lq = self.serves_lq(now);
            let mut pkt;
            if from_lq {
                // Reading: the departing packet counts, in its delay and in the length of the queue.
                let (len, time) = (self.lq.packets.len(), self.lq.time(now));
                pkt = self.lq.packets.pop_front().expect("a packet");
                if self.p_cl < P_LMAX {
                    let native = if len > self.th_len { self.laqm(time) } else { 0.0 };
                    let p_l = native.max(self.p_cl);
                    if self.recur(true, p_l) {
                        pkt.ecn = Ecn::Ce;
                    }
                } else {
                    if self.recur(true, self.p_c) {
                        self.events.push(Event::DroppedEarly { seq: pkt.seq });
                        continue;
                    }
                    // Departure: at most 1.
                    if self.recur(true, self.p_cl.min(1.0)) {
                        pkt.ecn = Ecn::Ce;
                    }
                }
            } else {
                pkt = self.cq.packets.pop_front().expect("a packet");
                if self.recur(false, self.p_c) {
                    let p_cmax = (1.0 / (self.k * self.k)).min(1.0);
                    if pkt.ecn == Ecn::NotEct || self.p_c >= p_cmax {
                        self.events.push(Event::DroppedEarly { seq: pkt.seq });
                        continue;
                    }
                    pkt.ecn = Ecn::Ce;
                }
            }
            if contended {
                let bytes = f64::from(pkt.bytes);
                self.credit += if from_lq { self.weight * bytes } else { -(1.0 - self.weight) * bytes };
            }
            return Some(pkt);
        }
        self.restart_credit();
        None
    }

    pub fn restart_credit(&mut self) {
        self.credit = self.mtu * (2.0 * self.weight - 1.0);
    }

    /// Figure 4, lines 23 to 30.
    fn recur(&mut self, lq: bool, likelihood: f64) -> bool {
        if let Some(rng) = &mut self.rng {
            return likelihood > 0.0 && rng.uniform() < likelihood;
        }
        let q = if lq { &mut self.lq } else { &mut self.cq };
        q.count += likelihood;
        if q.count > 1.0 {
            q.count -= 1.0;
            return true;
        }
        false
    }

    /// Figure 5.
    fn laqm(&self, qdelay: i64) -> f64 {
        let above = |qdelay: i64| Dur((qdelay - self.min_th) as u64).secs();
        if qdelay > self.min_th && above(qdelay) >= self.range {
            1.0
        } else if qdelay > self.min_th {
            above(qdelay) / self.range
        } else {
            0.0
        }
    }

    /// Figure 8, as often as it is due by `now`.
    pub fn run_updates(&mut self, now: i64) {
        while now - self.last_update >= self.t_update {
            self.last_update += self.t_update;
            let at = self.last_update;
            let curq = Dur(self.cq.time(at).max(self.lq.time(at)) as u64).secs();
            self.p_prime += self.alpha * (curq - self.target) + self.beta * (curq - self.prevq);
            self.p_prime = self.p_prime.clamp(0.0, 1.0);
            self.p_cl = self.p_prime * self.k;
            self.p_c = self.p_prime * self.p_prime;
            self.prevq = curq;
        }
    }
}
