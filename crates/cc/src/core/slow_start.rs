//! What watches the first slow start is asked at every acknowledgement of it.

use super::{Core, Tx};
use crate::slow_start::{Seen, Verdict};

impl Core {
    /// By what share of itself the window grows in slow start; by nothing if it is found to be over.
    pub(super) fn watched(&mut self, tx: &Tx<'_>) -> f64 {
        let (una, max, cwnd, rtt) = (self.una, self.max, self.window.cwnd, self.rto.latest());
        let Some((watch, rtt)) = self.watch.as_mut().zip(rtt) else { return 1.0 };
        match watch.on_ack(&Seen { now: tx.now, rtt, timed: tx.config.timestamps, una, max, cwnd }) {
            Verdict::Grow(share) => share,
            Verdict::End => {
                self.watch = None;
                self.window.ssthresh = cwnd;
                0.0
            }
        }
    }
}
