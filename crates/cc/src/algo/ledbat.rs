//! LEDBAT: Shalunov, Hazel, Iyengar and Kuehlewind, "Low Extra Delay Background Transport (LEDBAT)", RFC 6817. A sender for
//! background traffic: it keeps the queue at a target, and yields to flows that fill it further.
//!
//! With the queueing delay q = min(latest delays) - min(base delays), an acknowledgement of n segments does
//! cwnd <- cwnd + gain (1 - q/target) n/cwnd, to at most what was outstanding and `ledbat_allowed_increase`, and to at least
//! two segments (2.4.2). The base delays are the minima of the latest ten minutes. A loss halves the window.
//! Sees: the latest round-trip time at each acknowledgement in congestion avoidance. Defaults: section 2.5, and a filter
//! of four samples.
//!
//! Departures:
//! - The delay is the round-trip time, not the one-way delay that 3.1 wants: acknowledgements do not carry the receiver's
//!   time. A queue on the way back counts too. Without timestamps there is one sample a round trip.
//! - The filter is a minimum of a fixed number of samples. 2.5 wants none older than a round trip; with few segments
//!   outstanding some are. A delay from before a pause may be below the base delay: there is no queueing delay then.
//! - After a timeout, slow start leads to ssthresh as under the other laws, and there and in loss recovery no delays are
//!   noted. A flow begins without slow start, with two segments.
//! - A window that was not used is kept, as under the other laws; the text lowers it to what was outstanding.

use super::reno::Reno;
use crate::config::{Config, LEDBAT_LEAST_WINDOW};
use crate::queueing_delay::{Memory, QueueingDelay};
use crate::window_law::{AckedSegments, Signal, Window, WindowLaw};

/// The delays of a flow.
#[derive(Clone, Debug, Default)]
pub struct Ledbat {
    delays: QueueingDelay,
}

/// BASE_HISTORY and the length of the filter.
pub(super) fn remembered(config: &Config) -> Memory {
    Memory { minutes: config.ledbat_base_history, samples: config.ledbat_filter }
}

impl WindowLaw for Ledbat {
    fn on_ack(&mut self, window: &mut Window, acked: &AckedSegments<'_>) {
        let config = acked.config;
        if let Some(delay) = acked.rto.latest() {
            self.delays.note(remembered(config), acked.now, delay);
        }
        let off_target = 1.0 - self.delays.queueing().secs() / config.ledbat_target.secs();
        let most = acked.outstanding + config.ledbat_allowed_increase;
        let cwnd = window.cwnd + config.ledbat_gain * off_target * acked.segments / window.cwnd;
        window.cwnd = cwnd.min(most).max(LEDBAT_LEAST_WINDOW);
        // Congestion avoidance goes on below the window that the latest loss left.
        window.ssthresh = window.ssthresh.min(window.cwnd);
    }

    fn decrease(&mut self, config: &Config, cwnd: f64, signal: Signal) -> f64 {
        Reno.decrease(config, cwnd, signal)
    }
}
