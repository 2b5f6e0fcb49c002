//! The control of a run from another thread: its progress, its limits, and how to end it.

use crate::flow_rows::FlowSink;
use crate::watcher::{SoFar, Watcher};
use marqueue_core::Time;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::Arc;

/// Number of events between two checks of the [`Control`].
const EVENTS_PER_CHECK: u32 = 1 << 14;

/// Controls a run from another thread: progress, cancellation, limits, and where rows of flows go meanwhile.
#[derive(Debug, Default)]
pub struct Control {
    cancelled: AtomicBool,
    stopped: AtomicBool,
    /// Simulated time so far, ns.
    done: AtomicU64,
    max_events: Option<u64>,
    flow_sink: Option<Arc<dyn FlowSink>>,
    watcher: Option<Arc<dyn Watcher>>,
    /// Number of processed events at which the watcher looks next.
    next_look: AtomicU64,
}

impl Control {
    /// A control of a run that is cut off after `max_events` events.
    pub fn with_max_events(max_events: Option<u64>) -> Control {
        Control { max_events, ..Control::default() }
    }

    /// The same for a run with very many flows that arrive: if `sink` has got rows, it gets all, and the table of the
    /// result is empty. A run whose flows end outside keeps all rows.
    #[must_use]
    pub fn with_flow_sink(self, sink: Arc<dyn FlowSink>) -> Control {
        Control { flow_sink: Some(sink), ..self }
    }

    /// The same for a run at which `watcher` looks before the first event, when it says, and at the end. It has one thread.
    #[must_use]
    pub fn with_watcher(self, watcher: Arc<dyn Watcher>) -> Control {
        Control { watcher: Some(watcher), ..self }
    }

    /// Where rows of flows go, if not into the result.
    pub fn flow_sink(&self) -> Option<Arc<dyn FlowSink>> {
        self.flow_sink.clone()
    }

    /// Could rows of flows not be handed over?
    pub fn has_lost_rows(&self) -> bool {
        self.flow_sink.as_ref().is_some_and(|sink| sink.has_failed())
    }

    /// Cuts the run off. Its result covers the time so far. A run on several threads goes on.
    pub fn stop(&self) {
        self.stopped.store(true, Ordering::Relaxed);
    }

    /// Ends the run without a result.
    pub fn cancel(&self) {
        self.cancelled.store(true, Ordering::Relaxed);
    }

    /// Simulated time so far, s.
    pub fn done_secs(&self) -> f64 {
        self.done.load(Ordering::Relaxed) as f64 / 1e9
    }

    /// Is the run to end without a result?
    pub fn is_cancelled(&self) -> bool {
        self.cancelled.load(Ordering::Relaxed)
    }

    /// Records how far the run has come.
    pub fn record(&self, now: Time) {
        self.done.store(now.0, Ordering::Relaxed);
    }

    /// Is the run to be cut off after some events, or looked at? Then all events need one order.
    pub fn needs_one_thread(&self) -> bool {
        self.max_events.is_some() || self.watcher.is_some()
    }

    /// Is it time to look at the run after `processed` events?
    pub fn is_look_due(&self, processed: u64) -> bool {
        self.watcher.is_some() && processed >= self.next_look.load(Ordering::Relaxed)
    }

    /// Lets the watcher look.
    pub fn look(&self, so_far: &SoFar) {
        let Some(watcher) = &self.watcher else { return };
        let next = watcher.look(so_far);
        self.next_look.store(next.unwrap_or(u64::MAX), Ordering::Relaxed);
        if next.is_none() {
            self.stop();
        }
    }

    /// Number of events until the next check, after `processed` events.
    pub fn allows(&self, processed: u64) -> u32 {
        if self.stopped.load(Ordering::Relaxed) {
            return 0;
        }
        let next_look = self.watcher.as_ref().map_or(u64::MAX, |_| self.next_look.load(Ordering::Relaxed));
        let left = self.max_events.unwrap_or(u64::MAX).min(next_look).saturating_sub(processed);
        left.min(u64::from(EVENTS_PER_CHECK)) as u32
    }
}
