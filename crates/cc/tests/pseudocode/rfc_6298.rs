//! RFC 6298, sections 2, 3 and 5: the estimator, and the timer with one timed segment at a time. Times are rounded to the
//! nanoseconds of the crate's clock where the text's become a duration.

use super::path::{Call, Pseudocode};
use marqueue_cc::core::LastCut;
use marqueue_cc::Ack;
use marqueue_core::{Dur, Time};

const ALPHA: f64 = 1.0 / 8.0;
const BETA: f64 = 1.0 / 4.0;
const K: f64 = 4.0;

pub struct Rfc6298 {
    pub srtt: Option<f64>,
    pub rttvar: f64,
    pub rto: Dur,
    /// The clock granularity.
    pub g: Dur,
    pub lower_bound: Dur,
    pub upper_bound: Dur,
}

impl Rfc6298 {
    /// (2.1)
    pub fn new(initial: Dur, g: Dur, lower_bound: Dur, upper_bound: Dur) -> Rfc6298 {
        Rfc6298 { srtt: None, rttvar: 0.0, rto: initial.min(upper_bound), g, lower_bound, upper_bound }
    }

    /// (2.2) to (2.5). `expected` is RFC 7323's ExpectedSamples (appendix G), 1 without timestamps.
    pub fn measure(&mut self, r: f64, expected: f64) {
        let (alpha, beta) = (ALPHA / expected, BETA / expected);
        match self.srtt {
            None => {
                self.srtt = Some(r);
                self.rttvar = r / 2.0;
            }
            Some(srtt) => {
                self.rttvar = (1.0 - beta) * self.rttvar + beta * (srtt - r).abs();
                self.srtt = Some((1.0 - alpha) * srtt + alpha * r);
            }
        }
        self.rto = Dur::from_secs(self.srtt.expect("just set")) + self.g.max(Dur::from_secs(K * self.rttvar));
        self.rto = self.rto.max(self.lower_bound).min(self.upper_bound);
    }

    /// (5.5)
    pub fn back_off(&mut self) {
        self.rto = (self.rto + self.rto).min(self.upper_bound);
    }

    /// (5.7)
    pub fn lost_syn(&mut self) {
        self.rto = Dur::from_secs(3.0);
    }
}

/// A sender's timer. What is sent is taken from the sender; when the timer expires is the text's.
pub struct Timer {
    pub estimator: Rfc6298,
    pub expires: Option<Time>,
    /// The segment that is timed, and when it was sent.
    timed: Option<(u32, Time)>,
    una: u32,
    max: u32,
    syn_timed_out: bool,
}

impl Timer {
    /// The SYN has been sent at time 0.
    pub fn new(estimator: Rfc6298) -> Timer {
        let expires = Some(Time::ZERO + estimator.rto);
        Timer { estimator, expires, timed: Some((0, Time::ZERO)), una: 0, max: 1, syn_timed_out: false }
    }

    /// Loss recovery begins. Departures: the timer restarts, so that the segment that is retransmitted is not sent again
    /// within an RTO (section 5); and nothing is timed, as the acknowledgement would measure the recovery too.
    fn begin_recovery(&mut self, call: &Call<'_>) {
        if call.before.last_cut != LastCut::Loss && call.after.last_cut == LastCut::Loss {
            self.timed = None;
            self.expires = Some(call.now + self.estimator.rto);
        }
    }

    /// What the sender sends.
    fn transmit(&mut self, call: &Call<'_>, seqs: &[u32]) {
        for &seq in seqs {
            if seq >= self.max {
                self.max = seq + 1;
                self.timed = self.timed.or(Some((seq, call.now)));
            } else {
                // Section 3, Karn's algorithm.
                self.timed = self.timed.filter(|timed| timed.0 != seq);
            }
            // (5.1)
            self.expires = self.expires.or(Some(call.now + self.estimator.rto));
        }
    }

    /// An acknowledgement, in answer to which the sender sends `seqs`.
    pub fn acknowledge(&mut self, call: &Call<'_>, ack: u32, seqs: &[u32]) {
        if ack > self.una {
            if self.una == 0 && self.syn_timed_out {
                self.estimator.lost_syn();
            }
            self.una = ack;
            if let Some((_, sent)) = self.timed.filter(|timed| timed.0 < ack) {
                self.timed = None;
                self.estimator.measure((call.now - sent).secs(), 1.0);
            }
            // (5.2) and (5.3)
            self.expires = (self.una < self.max).then(|| call.now + self.estimator.rto);
        }
        self.begin_recovery(call);
        self.transmit(call, seqs);
    }

    /// (5.4) to (5.6). All that is outstanding may be sent again, so that nothing is timed.
    pub fn expire(&mut self, call: &Call<'_>, seqs: &[u32]) {
        assert_eq!(seqs.first(), Some(&self.una), "(5.4)");
        self.syn_timed_out |= self.una == 0;
        self.timed = None;
        self.estimator.back_off();
        self.expires = Some(call.now + self.estimator.rto);
        self.transmit(call, seqs);
    }
}

impl Pseudocode for Timer {
    fn on_ack(&mut self, call: &Call<'_>, ack: &Ack<'_>) -> Vec<u32> {
        self.acknowledge(call, ack.ack, &call.sent);
        call.sent.clone()
    }

    fn on_timer(&mut self, call: &Call<'_>) -> Vec<u32> {
        assert_eq!(self.expires, Some(call.now), "the timer expires when the text's does");
        self.expire(call, &call.sent);
        call.sent.clone()
    }

    fn check(&self, call: &Call<'_>) {
        assert_eq!(self.expires.unwrap_or(Time::NEVER), call.after.deadline, "at {:?}", call.now);
    }
}
