//! RFC 8257, sections 3.2 and 3.3, transcribed step by step under the RFC's names.

use std::collections::BTreeSet;

/// An acknowledgement: the next segment expected, and ECE.
pub type SentAck = (u32, bool);

/// Section 3.2, with acknowledgements delayed as by RFC 5681, section 4.2: every second segment in order.
#[derive(Debug, Default)]
pub struct Receiver {
    /// DCTCP.CE.
    ce: bool,
    rcv_nxt: u32,
    out_of_order: BTreeSet<u32>,
    /// Segments that wait for an acknowledgement.
    pub pending: u32,
    /// The optional second acknowledgement of a change.
    two_acks: bool,
}

impl Receiver {
    pub fn new(two_acks: bool) -> Receiver {
        Receiver { two_acks, ..Receiver::default() }
    }

    /// A segment that is not the SYN, with or without CE. Returns what is sent at once.
    pub fn on_segment(&mut self, seq: u32, ce: bool) -> Vec<SentAck> {
        let mut sent = Vec::new();
        // RFC 3168, section 6.1.5, asks to ignore the ECN field of a segment that is not in the window.
        let changes = seq >= self.rcv_nxt && ce != self.ce;
        if changes {
            if self.pending > 0 && self.two_acks {
                sent.push((self.rcv_nxt, self.ce));
            }
            self.ce = ce; // steps 1 and 2
        }
        let gap = !self.out_of_order.is_empty();
        let in_order = seq == self.rcv_nxt && !gap;
        if seq >= self.rcv_nxt {
            self.out_of_order.insert(seq);
        }
        while self.out_of_order.remove(&self.rcv_nxt) {
            self.rcv_nxt += 1;
        }
        if in_order {
            self.pending += 1;
        }
        if changes || !in_order || self.pending == 2 {
            sent.push((self.rcv_nxt, self.ce));
            self.pending = 0;
        }
        sent
    }

    /// The SYN, of which CE is ignored (section 3.6).
    pub fn on_syn(&mut self) {
        self.rcv_nxt = 1;
    }

    /// The delay is over.
    pub fn on_timer(&mut self) -> SentAck {
        self.pending = 0;
        (self.rcv_nxt, self.ce)
    }

    pub fn rcv_nxt(&self) -> u32 {
        self.rcv_nxt
    }
}

/// Section 3.3, in bytes.
#[derive(Clone, Debug)]
pub struct Sender {
    g: f64,
    pub alpha: f64,
    window_end: u64,
    bytes_acked: u64,
    bytes_marked: u64,
}

impl Sender {
    pub fn new(g: f64, snd_una: u64) -> Sender {
        Sender { g, alpha: 1.0, window_end: snd_una, bytes_acked: 0, bytes_marked: 0 }
    }

    /// An acceptable acknowledgement: steps 1 to 8.
    pub fn on_ack(&mut self, seg_ack: u64, snd_una: u64, snd_nxt: u64, ece: bool) {
        let bytes_acked = seg_ack - snd_una;
        self.bytes_acked += bytes_acked;
        if ece {
            self.bytes_marked += bytes_acked;
        }
        if seg_ack <= self.window_end {
            return;
        }
        let m = self.bytes_marked as f64 / self.bytes_acked as f64;
        self.alpha = self.alpha * (1.0 - self.g) + self.g * m;
        self.window_end = snd_nxt;
        self.bytes_acked = 0;
        self.bytes_marked = 0;
    }

    /// Step 9.
    pub fn reduced(&self, cwnd: f64) -> f64 {
        cwnd * (1.0 - self.alpha / 2.0)
    }
}
