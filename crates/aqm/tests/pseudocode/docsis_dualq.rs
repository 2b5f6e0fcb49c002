//! The dual queue of Low Latency DOCSIS, step by step: annexes M, N and O of DOCSIS 3.1's MULPI specification, as
//! `cablelabs/docsis-ns3` takes them from there. PIE is RFC 8034's.
//!
//! Known departures (header of `docsis_dualq_unprotected.rs`) are marked.

use super::codel::Stored;
use super::docsis_pie::DocsisPie;
use super::queue_protection::QProtect;
use super::Event;
use marqueue_core::{Dur, Ecn};
use std::collections::VecDeque;

const MAX_FLOOR: i64 = 65_535_000;

pub struct DualQ {
    pub ql: VecDeque<(Stored, Ecn)>,
    /// The Classic queue is PIE's.
    pub pie: DocsisPie,
    pub qp: Option<QProtect>,
    /// AMSR, bytes a second.
    pub rate: f64,
    pub limit: u64,
    pub max_th: i64,
    pub lg_range: u32,
    pub max_frame_size: f64,
    pub config_buffer_size: f64,
    pub k: f64,
    /// Scheduling weight over 256.
    pub weight: f64,
    pub count: f64,
    pub prob_cl: f64,
    pub prob_native: f64,
    pub interval_bytes_l: u64,
    pub qdelay_c: f64,
    pub credit: f64,
    pub mtu: f64,
    pub sanctions: u64,
}

impl DualQ {
    fn l_byte_length(&self) -> u64 {
        self.ql.iter().map(|(p, _)| u64::from(p.bytes)).sum()
    }

    fn thresholds(&self) -> (i64, i64) {
        let floor = MAX_FLOOR.min(Dur::from_secs(2.0 * self.max_frame_size / self.rate).0 as i64);
        let range = 1_i64 << self.lg_range;
        let min_th = i64::max(self.max_th - range, floor);
        (min_th, MAX_FLOOR.min(min_th + range))
    }

    fn calc_prob_native(&self, qdelay: i64) -> f64 {
        let (min_th, max_th) = self.thresholds();
        if qdelay >= max_th {
            1.0
        } else if qdelay > min_th {
            (qdelay - min_th) as f64 / (max_th - min_th) as f64
        } else {
            0.0
        }
    }

    fn recur(&mut self, likelihood: f64) -> bool {
        self.count += likelihood;
        if self.count > 1.0 {
            self.count -= 1.0;
            return true;
        }
        false
    }

    pub fn enqueue(&mut self, now: i64, uflw: u32, mut packet: Stored, ecn: Ecn) {
        let full = self.l_byte_length() + self.pie.byte_length() + u64::from(packet.bytes) > self.limit;
        if !matches!(ecn, Ecn::Ect1 | Ecn::Ce) {
            self.classic_enqueue(packet, full);
            return;
        }
        // Departure: the delay of the bytes in the queue.
        let bytes = self.l_byte_length() + u64::from(packet.bytes);
        let qdelay = Dur::from_secs(bytes as f64 / self.rate).0 as i64;
        self.prob_native = self.calc_prob_native(qdelay);
        if self.recur(self.prob_native.max(self.prob_cl.min(1.0))) {
            packet.ce = true;
        }
        let (_, max_th) = self.thresholds();
        if let Some(qp) = &mut self.qp {
            qp.critical_ql = max_th;
            let (_, sanctioned) = qp.qprotect(now, uflw, packet.bytes, qdelay, self.prob_native);
            if sanctioned {
                self.sanctions += 1;
                self.classic_enqueue(packet, full);
                return;
            }
        }
        // Departure: the link's buffer is shared by both queues.
        if full || self.l_byte_length() as f64 >= self.config_buffer_size - self.max_frame_size {
            self.pie.events.push(Event::Overflowed { seq: packet.seq });
        } else {
            self.ql.push_back((packet, ecn));
        }
    }

    fn classic_enqueue(&mut self, packet: Stored, full: bool) {
        if full {
            self.pie.accu_prob = 0.0;
            self.pie.events.push(Event::Overflowed { seq: packet.seq });
        } else if self.pie.drop_early(&packet) {
            self.pie.events.push(Event::DroppedEarly { seq: packet.seq });
        } else {
            self.pie.queue.push_back(packet);
        }
    }

    pub fn run_updates(&mut self, now: i64) {
        let interval = Dur::from_secs(self.pie.interval).0 as i64;
        while now - self.pie.last_update >= interval {
            self.pie.last_update += interval;
            // qdelayCoupledC().
            let mut r_l = self.weight * self.rate;
            r_l = r_l.min(self.interval_bytes_l as f64 / self.pie.interval);
            self.interval_bytes_l = 0;
            self.pie.msr = self.rate - r_l;
            self.qdelay_c = self.pie.byte_length() as f64 / self.pie.msr;
            self.pie.calculate_drop_prob();
            let base_prob = self.pie.drop_prob.sqrt();
            self.prob_cl = f64::min(self.k * base_prob, 1.0);
        }
    }

    /// Departure: the scheduler is weighted round robin with a credit.
    pub fn dequeue(&mut self) -> Option<Stored> {
        if self.ql.is_empty() && self.pie.queue.is_empty() {
            self.restart_credit();
            return None;
        }
        let contended = !self.ql.is_empty() && !self.pie.queue.is_empty();
        let from_l = if contended { self.credit <= 0.0 } else { self.pie.queue.is_empty() };
        let packet = if from_l {
            let (packet, _) = self.ql.pop_front().expect("a packet");
            self.interval_bytes_l += u64::from(packet.bytes);
            packet
        } else {
            self.pie.queue.pop_front().expect("a packet")
        };
        if contended {
            let bytes = f64::from(packet.bytes);
            self.credit += if from_l { (1.0 - self.weight) * bytes } else { -self.weight * bytes };
        }
        Some(packet)
    }

    pub fn restart_credit(&mut self) {
        self.credit = self.mtu * (2.0 * (1.0 - self.weight) - 1.0);
    }
}
