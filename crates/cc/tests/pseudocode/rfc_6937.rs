//! RFC 6937, section 3, in segments.

/// The version of the Reduction Bound.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Bound {
    /// PRR-CRB.
    Conservative,
    /// PRR-SSRB.
    SlowStart,
}

pub struct Rfc6937 {
    pub ssthresh: f64,
    pub recover_fs: f64,
    pub prr_delivered: f64,
    pub prr_out: f64,
}

impl Rfc6937 {
    pub fn new(ssthresh: f64, recover_fs: f64) -> Rfc6937 {
        Rfc6937 { ssthresh, recover_fs, prr_delivered: 0.0, prr_out: 0.0 }
    }

    /// On every ACK during recovery: sndcnt.
    pub fn sndcnt(&mut self, delivered_data: f64, pipe: f64, bound: Bound) -> f64 {
        let mss = 1.0;
        self.prr_delivered += delivered_data;
        if pipe > self.ssthresh {
            (self.prr_delivered * self.ssthresh / self.recover_fs).ceil() - self.prr_out
        } else {
            let limit = match bound {
                Bound::Conservative => self.prr_delivered - self.prr_out,
                Bound::SlowStart => (self.prr_delivered - self.prr_out).max(delivered_data) + mss,
            };
            (self.ssthresh - pipe).min(limit)
        }
    }
}
