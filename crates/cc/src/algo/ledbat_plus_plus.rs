//! LEDBAT++: Balasubramanian, Ertugay, Havey and Bagnulo, "LEDBAT++: Congestion Control for Background Traffic",
//! draft-irtf-iccrg-ledbat-plus-plus (version 01). What LEDBAT ([`super::ledbat`]) lacked: late-comers that take the
//! queue of the others for a part of the path, and a delay that drifts upwards.
//!
//! With the queueing delay q and the least delay b, GAIN = 1/min(16, ceil(2 target/b)), and in a round trip
//! W <- W + GAIN                                            where q <= target,
//! W <- W + max(GAIN - W (q/target - 1), -W/2)              where it is longer,
//! to at least two segments. An acknowledgement of n segments does n/W of it. Slow start opens the window by GAIN a segment;
//! the first one ends where q > 3/4 target. Two round trips after it comes a slowdown: ssthresh <- W, two segments for
//! two round trips, slow start to ssthresh. The next one comes nine times as long after its end as it took, so that at most a
//! tenth of the time is lost. A loss halves the window.
//! Sees: the latest round-trip time at each acknowledgement outside loss recovery. Defaults: the draft's; base delays and
//! filter as in LEDBAT.
//!
//! Departures:
//! - A loss in slow start ends it, and the slowdown is scheduled as if delay had ended it; the draft has no rule.
//! - After a timeout slow start leads to ssthresh with this gain, and the schedule is kept.
//! - An application that writes in pieces has its window kept, as under the other laws; while it is not used, no delays are
//!   noted and no slowdown begins.
//! - A flow begins with two segments, the INIT_CWND of RFC 6817.

use super::ledbat::remembered;
use super::reno::Reno;
use crate::config::{Config, LEDBAT_LEAST_WINDOW};
use crate::queueing_delay::QueueingDelay;
use crate::window_law::{AckedSegments, Signal, Window, WindowLaw};
use marqueue_core::{Dur, Time};

/// GAIN is at least 1/16.
const GREATEST_DIVISOR: f64 = 16.0;
/// The first slow start ends above this share of the target.
const SLOW_START_SHARE: f64 = 0.75;
/// Round trips from the end of the first slow start to the first slowdown, and round trips at two segments.
const ROUND_TRIPS: f64 = 2.0;
/// The time to the next slowdown, as a multiple of what one took.
const SPACING: u64 = 9;

/// When slowdowns are.
#[derive(Clone, Copy, Debug, Default)]
enum Phase {
    /// The first slow start.
    #[default]
    Begin,
    /// Between slowdowns.
    Steady {
        /// The next slowdown.
        until: Time,
    },
    /// A slowdown, up to the end of its slow start.
    Slowdown {
        /// Its beginning.
        since: Time,
        /// The window is two segments up to then.
        frozen_until: Time,
    },
}

/// Delays and slowdowns of a flow.
#[derive(Clone, Debug, Default)]
pub struct LedbatPlusPlus {
    delays: QueueingDelay,
    phase: Phase,
}

impl LedbatPlusPlus {
    /// GAIN, segments a round trip.
    fn gain(&self, target: Dur) -> f64 {
        let divisor = self.delays.base().map_or(GREATEST_DIVISOR, |base| (2.0 * target.secs() / base.secs()).ceil());
        1.0 / divisor.clamp(1.0, GREATEST_DIVISOR)
    }

    /// The next phase, once slow start is over; a slowdown begins when its time has come.
    fn advance(&mut self, window: &mut Window, acked: &AckedSegments<'_>) {
        let soon = acked.now + Dur::from_secs(ROUND_TRIPS * acked.rto.srtt(acked.config));
        self.phase = match self.phase {
            Phase::Begin => Phase::Steady { until: soon },
            Phase::Slowdown { since, .. } => Phase::Steady { until: acked.now + Dur(SPACING * (acked.now - since).0) },
            Phase::Steady { until } if until <= acked.now => {
                *window = Window { cwnd: LEDBAT_LEAST_WINDOW, ssthresh: window.cwnd };
                Phase::Slowdown { since: acked.now, frozen_until: soon }
            }
            waiting @ Phase::Steady { .. } => waiting,
        };
    }
}

impl WindowLaw for LedbatPlusPlus {
    fn on_ack(&mut self, window: &mut Window, acked: &AckedSegments<'_>) {
        if let Some(delay) = acked.rto.latest() {
            self.delays.note(remembered(acked.config), acked.now, delay);
        }
        if matches!(self.phase, Phase::Slowdown { frozen_until, .. } if acked.now < frozen_until) {
            return;
        }
        let target = acked.config.ledbatpp_target;
        let (gain, queueing) = (self.gain(target), self.delays.queueing().secs() / target.secs());
        if window.in_slow_start() && matches!(self.phase, Phase::Begin) && queueing > SLOW_START_SHARE {
            window.ssthresh = window.cwnd;
        }
        if window.in_slow_start() {
            window.cwnd = (window.cwnd + gain * acked.segments).min(window.ssthresh);
        } else {
            let decrease = if queueing > 1.0 { window.cwnd * (queueing - 1.0) } else { 0.0 };
            let change = (gain - decrease).max(-window.cwnd / 2.0);
            window.cwnd = (window.cwnd + change * acked.segments / window.cwnd).max(LEDBAT_LEAST_WINDOW);
            // Congestion avoidance goes on below the window that slow start led to.
            window.ssthresh = window.ssthresh.min(window.cwnd);
        }
        if !window.in_slow_start() {
            self.advance(window, acked);
        }
    }

    fn decrease(&mut self, config: &Config, cwnd: f64, signal: Signal) -> f64 {
        Reno.decrease(config, cwnd, signal)
    }
}
