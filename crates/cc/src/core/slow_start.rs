//! Calls the algorithm that may end the first slow start, at every acknowledgement in it.

use super::{Core, SendContext};
use crate::slow_start::{AckSample, SlowStartDecision};

impl Core {
    /// The share of the normal growth that slow start applies now; 0 if the algorithm ends slow start.
    pub(super) fn slow_start_growth(&mut self, tx: &SendContext<'_>) -> f64 {
        let (una, max, cwnd, rtt) = (self.una, self.max, self.window.cwnd, self.rto.latest());
        let Some((slow_start_monitor, rtt)) = self.slow_start_monitor.as_mut().zip(rtt) else { return 1.0 };
        match slow_start_monitor.on_ack(&AckSample { now: tx.now, rtt, timed: tx.config.timestamps, una, max, cwnd }) {
            SlowStartDecision::Grow(share) => share,
            SlowStartDecision::End => {
                self.slow_start_monitor = None;
                self.window.ssthresh = cwnd;
                0.0
            }
        }
    }
}
