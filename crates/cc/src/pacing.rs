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
}

impl Pacing {
    /// Of a flow whose first `quantum` segments are not paced.
    pub(crate) fn new(quantum: u32) -> Pacing {
        Pacing { next: Time::ZERO, due: Time::NEVER, rate: None, quantum }
    }

    /// A segment leaves at `now`, at `rate` segments/s.
    pub(crate) fn sent(&mut self, now: Time, rate: f64) {
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
