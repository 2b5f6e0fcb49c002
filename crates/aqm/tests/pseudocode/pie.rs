//! RFC 8033, appendices A and B, line by line. Names are the RFC's; a trailing underscore is left out.
//!
//! The known departures (header of `pie.rs`) are marked "departure".

use super::codel::Stored;
use super::{Event, LiteralPie};
use marqueue_core::{Dur, Rng};
use std::collections::VecDeque;

const DQ_THRESHOLD: u64 = 1 << 14;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Latency {
    /// Appendix A.
    Timestamps,
    /// Appendix B.
    DequeueRate,
    /// Section 4.3 with a dequeue rate that is known, in bytes a second.
    Known(u32),
}

/// What the appendices differ in.
#[derive(Clone, Copy, Debug)]
pub struct Variant {
    pub latency: Latency,
    /// Appendix B's condition of the decay, or else appendix A's.
    pub low_delay_decay: bool,
    pub derandomization: bool,
    pub cap_adjustment: bool,
    pub accumulate_in_burst: bool,
    /// Does PIE begin inactive?
    pub activation: bool,
    pub ecn: bool,
    pub byte_mode: bool,
}

pub struct Pie {
    pub variant: Variant,
    pub alpha: f64,
    pub beta: f64,
    pub max_ecnth: f64,
    pub qdelay_ref: f64,
    pub max_burst: f64,
    pub t_update: i64,
    pub tail_drop: u64,
    pub mean_pktsize: u64,
    pub queue: VecDeque<Stored>,
    pub rng: Rng,
    pub events: Vec<Event>,
    pub active: bool,
    pub burst_allowance: f64,
    pub drop_prob: f64,
    accu_prob: f64,
    pub qdelay_old: f64,
    current_qdelay: f64,
    last_timestamp: i64,
    dq_count: u64,
    measurement_start: i64,
    in_measurement: bool,
    avg_dq_time: f64,
}

impl Pie {
    pub fn new(variant: Variant, qdelay_ref: f64, max_burst: f64, tail_drop: u64, mean_pktsize: u64, rng: Rng) -> Pie {
        Pie {
            variant,
            alpha: 0.125,
            beta: 1.25,
            max_ecnth: 0.1,
            qdelay_ref,
            max_burst,
            t_update: 15_000_000,
            tail_drop,
            mean_pktsize,
            queue: VecDeque::new(),
            rng,
            events: Vec::new(),
            active: !variant.activation,
            burst_allowance: max_burst,
            drop_prob: 0.0,
            accu_prob: 0.0,
            qdelay_old: 0.0,
            current_qdelay: 0.0,
            last_timestamp: 0,
            dq_count: 0,
            measurement_start: 0,
            in_measurement: false,
            avg_dq_time: 0.0,
        }
    }

    fn byte_length(&self) -> u64 {
        self.queue.iter().map(|p| u64::from(p.bytes)).sum()
    }

    fn drop(&mut self, packet: &Stored) {
        self.events.push(Event::DroppedEarly { seq: packet.seq });
    }

    /// The two conditions in the order of the appendix: A tests the burst allowance first, B last.
    fn drops_early(&mut self, packet: &Stored) -> bool {
        if self.variant.accumulate_in_burst {
            let early = self.drop_early(packet);
            early && self.burst_allowance == 0.0
        } else {
            self.burst_allowance == 0.0 && self.drop_early(packet)
        }
    }

    fn drop_early(&mut self, packet: &Stored) -> bool {
        if (self.qdelay_old < self.qdelay_ref / 2.0 && self.drop_prob < 0.2)
            || self.byte_length() <= 2 * self.mean_pktsize
        {
            return false;
        }
        let mut p = self.drop_prob;
        if self.variant.byte_mode {
            // RFC 8034, appendix A.3.
            p = (p * f64::from(packet.bytes) / self.mean_pktsize as f64).min(0.85);
        }
        if !self.variant.derandomization {
            let u = self.rng.uniform();
            return u < p;
        }
        if self.drop_prob == 0.0 {
            self.accu_prob = 0.0;
        }
        self.accu_prob += p;
        if self.accu_prob < 0.85 {
            return false;
        }
        if self.accu_prob >= 8.5 {
            return true;
        }
        let u = self.rng.uniform();
        if u < p {
            self.accu_prob = 0.0;
            true
        } else {
            false
        }
    }

    fn calculate_drop_prob(&mut self) {
        match self.variant.latency {
            Latency::Timestamps => {}
            Latency::DequeueRate => {
                self.current_qdelay = self.byte_length() as f64 * self.avg_dq_time / DQ_THRESHOLD as f64;
            }
            Latency::Known(rate) => self.current_qdelay = self.byte_length() as f64 / f64::from(rate),
        }
        let mut p =
            self.alpha * (self.current_qdelay - self.qdelay_ref) + self.beta * (self.current_qdelay - self.qdelay_old);
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
        }
        if self.variant.cap_adjustment && self.drop_prob >= 0.1 && p > 0.02 {
            p = 0.02;
        }
        self.drop_prob += p;
        let half = self.qdelay_ref / 2.0;
        let decays = if self.variant.low_delay_decay {
            self.current_qdelay < half && self.qdelay_old < half
        } else {
            self.current_qdelay == 0.0 && self.qdelay_old == 0.0
        };
        if decays {
            self.drop_prob *= 0.98;
        }
        self.drop_prob = self.drop_prob.clamp(0.0, 1.0);
        // Departure: here, before the previous sample is overwritten, and not at arrivals.
        let ended = self.drop_prob == 0.0 && self.current_qdelay < half && self.qdelay_old < half;
        self.qdelay_old = self.current_qdelay;
        self.burst_allowance = (self.burst_allowance - Dur(self.t_update as u64).secs()).max(0.0);
        if ended && self.variant.latency != Latency::Timestamps {
            self.burst_allowance = self.max_burst;
        }
        if ended && self.variant.activation {
            self.active = false;
            self.in_measurement = false;
        }
    }
}

impl LiteralPie for Pie {
    fn enque(&mut self, mut packet: Stored, now: i64) {
        if self.variant.latency == Latency::Timestamps
            && self.drop_prob == 0.0
            && self.current_qdelay < self.qdelay_ref / 2.0
            && self.qdelay_old < self.qdelay_ref / 2.0
            && self.active
        {
            self.burst_allowance = self.max_burst;
        }
        if self.byte_length() + u64::from(packet.bytes) > self.tail_drop {
            self.events.push(Event::Overflowed { seq: packet.seq });
            self.accu_prob = 0.0;
        } else if self.active && self.drops_early(&packet) {
            if self.variant.ecn && self.drop_prob < self.max_ecnth && packet.ect {
                packet.ce = true;
                self.queue.push_back(packet);
            } else {
                self.drop(&packet);
            }
            // Departure: also after a mark.
            self.accu_prob = 0.0;
        } else {
            self.queue.push_back(packet);
        }
        if !self.active && self.byte_length() as f64 >= self.tail_drop as f64 / 3.0 {
            self.active = true;
            self.qdelay_old = 0.0;
            self.drop_prob = 0.0;
            self.in_measurement = true;
            self.dq_count = 0;
            self.avg_dq_time = 0.0;
            self.last_timestamp = now;
            self.burst_allowance = self.max_burst;
            self.accu_prob = 0.0;
            self.measurement_start = now;
        }
        // Departure: the test for the end of congestion is in calculate_drop_prob().
    }

    fn deque(&mut self, now: i64) -> Option<Stored> {
        let packet = self.queue.pop_front()?;
        // Departure: the delay of an empty queue is zero.
        if self.variant.latency == Latency::Timestamps {
            let sojourn = Dur((now - packet.tstamp) as u64).secs();
            self.current_qdelay = if self.queue.is_empty() { 0.0 } else { sojourn };
        }
        if self.in_measurement {
            self.dq_count += u64::from(packet.bytes);
            if self.dq_count >= DQ_THRESHOLD {
                let dq_time = Dur((now - self.measurement_start) as u64).secs();
                if self.avg_dq_time == 0.0 {
                    self.avg_dq_time = dq_time;
                } else {
                    let weight = DQ_THRESHOLD as f64 / f64::from(1 << 16);
                    self.avg_dq_time = dq_time * weight + self.avg_dq_time * (1.0 - weight);
                }
                self.in_measurement = false;
            }
        }
        if self.byte_length() >= DQ_THRESHOLD && !self.in_measurement {
            self.in_measurement = true;
            self.measurement_start = now;
            self.dq_count = 0;
        }
        Some(packet)
    }

    fn run_updates(&mut self, now: i64) {
        while self.active && now - self.last_timestamp >= self.t_update {
            self.calculate_drop_prob();
            self.last_timestamp += self.t_update;
        }
    }

    fn events(&mut self) -> &mut Vec<Event> {
        &mut self.events
    }
}
