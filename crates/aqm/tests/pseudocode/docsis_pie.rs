//! RFC 8034, appendix A, line by line. Names are the RFC's; a trailing underscore is left out.

use super::codel::Stored;
use super::{Event, LiteralPie};
use marqueue_core::{Dur, Rng};
use std::collections::VecDeque;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum State {
    Inactive,
    Quiescent,
    Active,
}

pub struct DocsisPie {
    pub latency_target: f64,
    pub a: f64,
    pub b: f64,
    pub interval: f64,
    pub max_burst: f64,
    pub burst_reset_timeout: f64,
    /// Bytes a second; no tokens for another rate.
    pub msr: f64,
    pub buffer_size: u64,
    pub queue: VecDeque<Stored>,
    pub rng: Rng,
    pub events: Vec<Event>,
    pub drop_prob: f64,
    pub qdelay_old: f64,
    pub burst_allowance: f64,
    pub aqm_state: State,
    pub burst_reset: f64,
    pub accu_prob: f64,
    pub last_update: i64,
}

const MEAN_PKTSIZE: f64 = 1024.0;
const MIN_PKTSIZE: f64 = 64.0;
const PROB_LOW: f64 = 0.85;
const PROB_HIGH: f64 = 8.5;
const LATENCY_LOW: f64 = 0.005;
const LATENCY_HIGH: f64 = 0.2;

impl DocsisPie {
    pub fn byte_length(&self) -> u64 {
        self.queue.iter().map(|p| u64::from(p.bytes)).sum()
    }

    pub fn calculate_drop_prob(&mut self) {
        let qdelay = self.byte_length() as f64 / self.msr;
        if self.burst_allowance > 0.0 {
            self.drop_prob = 0.0;
            self.burst_allowance = f64::max(0.0, self.burst_allowance - self.interval);
        } else {
            let mut p = self.a * (qdelay - self.latency_target) + self.b * (qdelay - self.qdelay_old);
            if self.drop_prob < 0.000_001 {
                p /= 2048.0;
            } else if self.drop_prob < 0.000_01 {
                p /= 512.0;
            } else if self.drop_prob < 0.000_1 {
                p /= 128.0;
            } else if self.drop_prob < 0.001 {
                p /= 32.0;
            } else if self.drop_prob < 0.01 {
                p /= 8.0;
            } else if self.drop_prob < 0.1 {
                p /= 2.0;
            } else if self.drop_prob < 1.0 {
                p /= 0.5;
            } else if self.drop_prob < 10.0 {
                p /= 0.125;
            } else {
                p /= 0.03125;
            }
            if self.drop_prob >= 0.1 && p > 0.02 {
                p = 0.02;
            }
            self.drop_prob += p;
            if qdelay < LATENCY_LOW && self.qdelay_old < LATENCY_LOW {
                self.drop_prob *= 0.98;
            } else if qdelay > LATENCY_HIGH {
                self.drop_prob += 0.02;
            }
            self.drop_prob = f64::max(0.0, self.drop_prob);
            self.drop_prob = f64::min(self.drop_prob, PROB_LOW * MEAN_PKTSIZE / MIN_PKTSIZE);
        }
        let quiet = qdelay < 0.5 * self.latency_target
            && self.qdelay_old < 0.5 * self.latency_target
            && self.drop_prob == 0.0
            && self.burst_allowance == 0.0;
        if self.aqm_state == State::Active && quiet {
            self.aqm_state = State::Quiescent;
            self.burst_reset = 0.0;
        } else if self.aqm_state == State::Quiescent {
            if quiet {
                self.burst_reset += self.interval;
                if self.burst_reset > self.burst_reset_timeout {
                    self.burst_reset = 0.0;
                    self.aqm_state = State::Inactive;
                }
            } else {
                self.burst_reset = 0.0;
            }
        }
        self.qdelay_old = qdelay;
    }

    pub fn drop_early(&mut self, packet: &Stored) -> bool {
        if self.burst_allowance > 0.0 {
            return false;
        }
        if self.drop_prob == 0.0 {
            self.accu_prob = 0.0;
        }
        if self.aqm_state == State::Inactive {
            if (self.byte_length() as f64) < self.buffer_size as f64 / 3.0 {
                return false;
            }
            self.aqm_state = State::Quiescent;
        }
        let mut p1 = self.drop_prob * f64::from(packet.bytes) / MEAN_PKTSIZE;
        p1 = f64::min(p1, PROB_LOW);
        self.accu_prob += p1;
        if (self.qdelay_old < 0.5 * self.latency_target && self.drop_prob < 0.2)
            || self.byte_length() as f64 <= 2.0 * MEAN_PKTSIZE
        {
            return false;
        }
        if self.accu_prob < PROB_LOW {
            return false;
        } else if self.accu_prob < PROB_HIGH {
            let u = self.rng.uniform();
            if u > p1 {
                return false;
            }
        }
        self.accu_prob = 0.0;
        if self.aqm_state == State::Quiescent {
            self.aqm_state = State::Active;
            self.burst_allowance = self.max_burst;
        }
        true
    }
}

impl LiteralPie for DocsisPie {
    fn run_updates(&mut self, now: i64) {
        let interval = Dur::from_secs(self.interval).0 as i64;
        while now - self.last_update >= interval {
            self.last_update += interval;
            self.calculate_drop_prob();
        }
    }

    fn enque(&mut self, packet: Stored, _: i64) {
        if self.byte_length() + u64::from(packet.bytes) > self.buffer_size {
            self.events.push(Event::Overflowed { seq: packet.seq });
            self.accu_prob = 0.0;
        } else if self.drop_early(&packet) {
            self.events.push(Event::DroppedEarly { seq: packet.seq });
        } else {
            self.queue.push_back(packet);
        }
    }

    fn deque(&mut self, _: i64) -> Option<Stored> {
        self.queue.pop_front()
    }

    fn events(&mut self) -> &mut Vec<Event> {
        &mut self.events
    }
}
