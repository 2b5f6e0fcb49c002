//! Slow start, and the algorithm that may end it.

use super::{Core, SendContext};
use crate::config::RttSamples;
use crate::slow_start::{AckSample, SlowStartDecision};

impl Core {
    /// By how much an acknowledgement of `acked` segments opens the window in slow start (RFC 5681, section 3.1; RFC
    /// 3465, section 2.2). May end slow start.
    pub(super) fn slow_start_growth(&mut self, tx: &SendContext<'_>, acked: f64) -> f64 {
        let (una, max, cwnd, rtt) = (self.una, self.max, self.window.cwnd, self.rto.latest());
        let limited = acked.min(tx.config.abc_limit);
        let Some((slow_start_monitor, rtt)) = self.extras.slow_start_monitor().zip(rtt) else { return limited };
        let timed = tx.config.timestamps || tx.config.rtt_samples == RttSamples::Segments;
        let sample = AckSample { now: tx.now, rtt, timed, una, max, cwnd, paced: tx.config.pacing.is_some() };
        let limited = acked.min(slow_start_monitor.limit(tx.config));
        match slow_start_monitor.on_ack(&sample) {
            SlowStartDecision::Grow(share) => limited * share,
            SlowStartDecision::End(share) => {
                self.end_first_slow_start();
                self.window.ssthresh = cwnd + limited * share;
                limited * share
            }
        }
    }

    /// The first slow start ends, by whatever reason.
    pub(super) fn end_first_slow_start(&mut self) {
        self.extras.end_first_slow_start();
    }
}
