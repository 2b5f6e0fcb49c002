//! When the segments of a paced sender leave. What a sender does with it is in `core/pacing.rs`.

use marqueue_core::{Dur, Time};

/// State of a paced sender.
#[derive(Clone, Debug)]
pub struct Pacing {
    /// The earliest time at which the next segment may leave.
    pub(crate) next: Time,
    /// When a segment leaves that is waiting; never, if none is.
    pub(crate) due: Time,
    /// The rate that a model of the path has set, segments/s.
    pub(crate) rate: Option<f64>,
    /// Segments that still leave without pacing.
    pub(crate) quantum: u32,
    /// The latest burst, if segments leave in bursts.
    pub(crate) burst: Burst,
}

/// Segments that leave back to back: of one buffer that the network card divides (TSO, GSO).
#[derive(Clone, Copy, Debug)]
pub(crate) struct Burst {
    /// When it leaves.
    at: Time,
    /// Segments that may still leave with it.
    left: u32,
}

/// How long a burst takes at the pacing rate, at most (Linux, sk_pacing_shift of 10: 1/1024 s), and the segments of one
/// that is shorter (tcp_min_tso_segs).
const BURST_SECS: f64 = 1.0 / 1024.0;
const LEAST_BURST: u32 = 2;

impl Burst {
    /// Does a segment that leaves at `now` belong to it?
    pub(crate) fn takes(&self, now: Time) -> bool {
        self.left > 0 && self.at == now
    }

    /// A segment leaves at `now`, at `rate` segments/s, with this burst or the next one, of `most` segments at most.
    fn sent(&mut self, now: Time, rate: f64, most: u32) {
        if !self.takes(now) {
            let autosized = ((rate * BURST_SECS) as u32).max(LEAST_BURST);
            *self = Burst { at: now, left: autosized.min(most) };
        }
        self.left -= 1;
    }
}

impl Pacing {
    /// Of a flow whose first `quantum` segments are not paced.
    pub(crate) fn new(quantum: u32) -> Pacing {
        let burst = Burst { at: Time::ZERO, left: 0 };
        Pacing { next: Time::ZERO, due: Time::NEVER, rate: None, quantum, burst }
    }

    /// A segment leaves at `now`, at `rate` segments/s, in a burst of `most` segments at most.
    pub(crate) fn sent(&mut self, now: Time, rate: f64, most: u32) {
        self.burst.sent(now, rate, most);
        self.due = Time::NEVER;
        let since = now - self.next.min(now);
        self.next = self.next.max(now);
        if self.quantum > 0 {
            self.quantum -= 1;
        } else if rate > 0.0 {
            let gap = Dur::from_secs(1.0 / rate);
            self.next += Dur(gap.0 - since.0.min(gap.0 / 2));
        }
    }
}
