//! State that only some senders have, behind one pointer: with very many flows each pointer counts.

use super::window_use::WindowUse;
use crate::accecn::SenderCounters;
use crate::slow_start::SlowStartMonitor;
use marqueue_core::ring::prefetch_bounds;

/// State that only some senders have; nothing is stored for those that have none of it.
#[derive(Clone, Debug, Default)]
pub(super) struct Extras(Option<Box<Parts>>);

#[derive(Clone, Debug, Default)]
struct Parts {
    window_use: Option<Box<WindowUse>>,
    slow_start_monitor: Option<Box<SlowStartMonitor>>,
    counters: Option<Box<SenderCounters>>,
}

impl Extras {
    /// What a sender has from the start.
    pub(super) fn new(window_use: Option<Box<WindowUse>>, slow_start_monitor: Option<Box<SlowStartMonitor>>) -> Extras {
        let has_any = window_use.is_some() || slow_start_monitor.is_some();
        Extras(has_any.then(|| Box::new(Parts { window_use, slow_start_monitor, counters: None })))
    }

    /// Prefetches it.
    pub(super) fn prefetch(&self) {
        if let Some(parts) = &self.0 {
            prefetch_bounds(&**parts);
        }
    }

    /// The use of the window, where that is remembered.
    #[inline]
    pub(super) fn window_use(&mut self) -> Option<&mut WindowUse> {
        self.0.as_deref_mut()?.window_use.as_deref_mut()
    }

    /// The same, remembered from now on.
    pub(super) fn remember_window_use(&mut self) -> &mut WindowUse {
        self.parts().window_use.get_or_insert_default()
    }

    /// The algorithm that may end slow start, while there is one.
    #[inline]
    pub(super) fn slow_start_monitor(&mut self) -> Option<&mut SlowStartMonitor> {
        self.0.as_deref_mut()?.slow_start_monitor.as_deref_mut()
    }

    /// Takes that algorithm away if it is for the first slow start only, which has ended.
    pub(super) fn end_first_slow_start(&mut self) {
        if let Some(parts) = &mut self.0 {
            parts.slow_start_monitor.take_if(|monitor| monitor.is_for_the_first());
        }
    }

    /// What AccECN has reported, on a connection that has it.
    #[inline]
    pub(super) fn counters(&self) -> Option<&SenderCounters> {
        self.0.as_deref()?.counters.as_deref()
    }

    /// The same, counted from now on if it was not before.
    pub(super) fn count(&mut self) -> &mut SenderCounters {
        self.parts().counters.get_or_insert_default()
    }

    /// The connection has AccECN.
    pub(super) fn set_counters(&mut self, counters: SenderCounters) {
        self.parts().counters = Some(Box::new(counters));
    }

    fn parts(&mut self) -> &mut Parts {
        self.0.get_or_insert_default()
    }
}
