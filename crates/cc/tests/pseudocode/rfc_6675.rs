//! RFC 6675, sections 2, 4, 5 and 5.1, an octet being a segment: SMSS is 1.
//!
//! Outside loss recovery the sender sends by RFC 5681, section 2: nothing beyond HighACK + min(cwnd, rwnd). After a
//! timeout it fills in what is missing from HighACK on (section 5.1 leaves the algorithm open).

use super::path::{Call, Pseudocode};
use marqueue_cc::config::FlightSize;
use marqueue_cc::Ack;
use std::collections::BTreeSet;

pub struct Rfc6675 {
    pub dup_thresh: i64,
    pub high_ack: i64,
    pub high_data: i64,
    pub high_rxt: i64,
    pub rescue_rxt: Option<i64>,
    pub recovery_point: i64,
    pub dup_acks: i64,
    pub pipe: i64,
    /// The scoreboard: what is SACKed and not cumulatively acknowledged.
    pub sacked: BTreeSet<i64>,
    pub in_loss_recovery: bool,
    /// A timeout has set RecoveryPoint.
    pub after_timeout: bool,
    /// Segments sent by limited transmit since the last cumulative acknowledgement.
    pub limited_transmit: i64,
    /// After a timeout, the next segment to send again; HighData + 1 otherwise.
    pub next: i64,
    /// The last segment of data there is.
    pub last: i64,
    pub rwnd: i64,
}

impl Rfc6675 {
    /// Nothing but the SYN, segment 0, has been sent.
    pub fn new(dup_thresh: i64, last: i64, rwnd: i64) -> Rfc6675 {
        Rfc6675 {
            dup_thresh,
            high_ack: -1,
            high_data: 0,
            high_rxt: -1,
            rescue_rxt: None,
            recovery_point: -1,
            dup_acks: 0,
            pipe: 0,
            sacked: BTreeSet::new(),
            in_loss_recovery: false,
            after_timeout: false,
            limited_transmit: 0,
            next: 1,
            last,
            rwnd,
        }
    }

    /// Update() for the SACK blocks. Returns true for a duplicate acknowledgement by the definition of section 2.
    pub fn update(&mut self, blocks: &[(u32, u32)]) -> bool {
        let mut news = false;
        for octet in blocks.iter().flat_map(|&(start, end)| i64::from(start)..i64::from(end)) {
            news |= octet > self.high_ack && octet <= self.high_data && self.sacked.insert(octet);
        }
        news
    }

    pub fn is_lost(&self, seq_num: i64) -> bool {
        let above: Vec<i64> = self.sacked.range(seq_num + 1..).copied().collect();
        let sequences = above.iter().filter(|&&octet| !above.contains(&(octet - 1))).count() as i64;
        let smss = 1;
        sequences >= self.dup_thresh || above.len() as i64 > (self.dup_thresh - 1) * smss
    }

    pub fn set_pipe(&mut self) {
        self.pipe = 0;
        for s1 in self.high_ack + 1..=self.high_data {
            if self.sacked.contains(&s1) {
                continue;
            }
            if !self.is_lost(s1) {
                self.pipe += 1; // (a)
            }
            if s1 <= self.high_rxt {
                self.pipe += 1; // (b)
            }
        }
    }

    fn unsacked_above_high_rxt(&self) -> Option<i64> {
        let highest_sacked = *self.sacked.last()?;
        (self.high_ack + 1..=self.high_data)
            .find(|s2| !self.sacked.contains(s2) && *s2 > self.high_rxt && *s2 < highest_sacked)
    }

    pub fn may_send_new(&self) -> bool {
        self.high_data < self.last && self.high_data < self.high_ack + self.rwnd
    }

    /// NextSeg(): the segment and the rule that returns it.
    pub fn next_seg(&mut self, may_send_new: bool, rescue: bool) -> Option<(i64, u32)> {
        let s2 = (self.high_ack + 1..=self.high_data)
            .find(|s2| !self.sacked.contains(s2) && *s2 > self.high_rxt && self.is_lost(*s2));
        if let Some(s2) = s2.filter(|s2| self.sacked.last().is_some_and(|highest| s2 < highest)) {
            return Some((s2, 1));
        }
        if may_send_new {
            return Some((self.high_data + 1, 2));
        }
        if let Some(s3) = self.unsacked_above_high_rxt() {
            return Some((s3, 3));
        }
        let highest = (self.high_ack + 1..=self.high_data).rev().find(|s4| !self.sacked.contains(s4));
        if rescue && highest.is_some() && self.rescue_rxt.is_none_or(|rescue_rxt| self.high_ack > rescue_rxt) {
            self.rescue_rxt = Some(self.recovery_point);
            return highest.map(|s4| (s4, 4));
        }
        None
    }

    /// Steps (C.1) to (C.5).
    fn step_c(&mut self, call: &Call<'_>, sent: &mut Vec<u32>) {
        while call.after.window.cwnd - self.pipe as f64 >= 1.0 {
            let new = self.may_send_new();
            let Some((seq, rule)) = self.next_seg(new, call.config.rescue) else { return };
            sent.push(seq as u32);
            if rule == 1 || rule == 3 {
                self.high_rxt = seq;
            }
            self.high_data = self.high_data.max(seq);
            self.next = self.next.max(seq + 1);
            self.pipe += 1;
        }
    }

    /// Steps (3.1) to (3.3).
    fn step_3(&mut self, call: &Call<'_>, sent: &mut Vec<u32>) {
        // A departure: not while something remains to be sent again after a timeout.
        if !call.config.limited_transmit || self.next <= self.high_data {
            return;
        }
        self.high_rxt = self.high_ack;
        loop {
            self.set_pipe();
            if call.after.window.cwnd - (self.pipe as f64) < 1.0 || !self.may_send_new() {
                return;
            }
            self.high_data += 1;
            self.next = self.high_data + 1;
            self.limited_transmit += 1;
            sent.push(self.high_data as u32);
        }
    }

    /// Steps (4.1) to (4.5).
    fn step_4(&mut self, call: &Call<'_>, sent: &mut Vec<u32>) {
        self.in_loss_recovery = true;
        self.after_timeout = false;
        self.recovery_point = self.high_data;
        let flight_size = (self.high_data - self.high_ack - self.limited_transmit) as f64;
        let half = (flight_size / 2.0).max(2.0);
        let window = call.after.window;
        match call.config.flight_size {
            FlightSize::Outstanding => assert_eq!((window.ssthresh, window.cwnd), (half, half), "(4.2)"),
            FlightSize::Cwnd => unreachable!("RFC 6675 takes FlightSize"),
            FlightSize::Window => assert!(window.ssthresh <= half && window.cwnd == window.ssthresh, "(4.2)"),
        }
        sent.push((self.high_ack + 1) as u32);
        self.high_rxt = self.high_ack + 1;
        self.rescue_rxt = Some(self.high_ack + 1);
        self.set_pipe();
        self.step_c(call, sent);
    }

    fn send_by_window(&mut self, call: &Call<'_>, sent: &mut Vec<u32>) {
        let end = self.high_ack + (call.after.window.cwnd.floor() as i64).min(self.rwnd);
        loop {
            while self.sacked.contains(&self.next) {
                self.next += 1;
            }
            if self.next > end.min(self.last) {
                return;
            }
            sent.push(self.next as u32);
            self.high_data = self.high_data.max(self.next);
            self.next += 1;
        }
    }
}

impl Pseudocode for Rfc6675 {
    fn on_ack(&mut self, call: &Call<'_>, ack: &Ack<'_>) -> Vec<u32> {
        let mut sent = Vec::new();
        let cumulative = i64::from(ack.ack) - 1 > self.high_ack;
        if cumulative {
            self.high_ack = i64::from(ack.ack) - 1;
            self.dup_acks = 0;
            self.limited_transmit = 0;
            self.next = self.next.max(self.high_ack + 1);
            self.sacked.retain(|octet| *octet > self.high_ack);
        }
        let duplicate = self.update(ack.sack);
        if self.in_loss_recovery {
            if self.high_ack >= self.recovery_point {
                self.in_loss_recovery = false; // (A)
                self.send_by_window(call, &mut sent);
            } else {
                self.set_pipe(); // (B)
                self.step_c(call, &mut sent);
            }
            return sent;
        }
        self.dup_acks += i64::from(duplicate);
        let lost = duplicate && (self.dup_acks >= self.dup_thresh || self.is_lost(self.high_ack + 1));
        let banned = self.after_timeout && self.high_ack < self.recovery_point;
        if lost && !banned {
            self.step_4(call, &mut sent);
            return sent;
        }
        if cumulative {
            self.send_by_window(call, &mut sent);
        }
        if duplicate && !lost {
            self.step_3(call, &mut sent);
        }
        sent
    }

    /// The retransmission timer: section 5.1. The scoreboard is expunged (RFC 2018, section 8).
    fn on_timer(&mut self, call: &Call<'_>) -> Vec<u32> {
        self.recovery_point = self.high_data;
        self.in_loss_recovery = false;
        self.after_timeout = true;
        self.sacked.clear();
        self.dup_acks = 0;
        self.limited_transmit = 0;
        self.next = self.high_ack + 1;
        let mut sent = Vec::new();
        self.send_by_window(call, &mut sent);
        sent
    }
}
