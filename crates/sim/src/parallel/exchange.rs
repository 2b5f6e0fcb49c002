//! What the parts of a run share, and each of them: its engine, a step, its result.

use super::row_merger::RowMerger;
use crate::batch::Batch;
use crate::control::Control;
use crate::engine::{Engine, Part, Progress};
use crate::mailboxes::Mailboxes;
use crate::partition::Partition;
use crate::plan::Plan;
use crate::prepare::prepare;
use crate::programs::NoPrograms;
use crate::result::RunResult;
use crate::run::{collect, edges, measured, RunError};
use marqueue_core::Time;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::Arc;

/// Number of events between two looks at the control.
const EVENTS_PER_CHECK: u32 = 1 << 14;

/// What the parts of a run share.
#[derive(Debug)]
pub struct Exchange<'a> {
    pub partition: &'a Partition,
    control: &'a Control,
    mailboxes: Mailboxes<Batch>,
    /// Where rows of flows leave to.
    rows: Option<Arc<RowMerger>>,
    /// A thread has panicked.
    broken_off: AtomicBool,
}

impl<'a> Exchange<'a> {
    pub fn new(partition: &'a Partition, control: &'a Control) -> Exchange<'a> {
        let mailboxes = Mailboxes::new(partition.parts, partition.lookahead.clone(), partition.longest);
        let rows = control.flow_sink().map(|sink| Arc::new(RowMerger::new(partition, sink)));
        Exchange { partition, control, mailboxes, rows, broken_off: AtomicBool::new(false) }
    }

    /// The engine of `part`.
    pub fn engine(&self, plan: &Plan, seed: u64, part: usize) -> Result<Engine, RunError> {
        let prepared = prepare(plan, seed, &NoPrograms).map_err(RunError::Invalid)?;
        let mut engine = Engine::new(plan, seed, prepared, Some(Part::new(self.partition, part)));
        if let Some(rows) = &self.rows {
            engine.let_rows_leave(rows.of_part(part));
        }
        Ok(engine)
    }

    /// To what time `part` may be simulated next, unless it has to wait for others.
    pub fn bound(&self, part: usize) -> Option<Time> {
        let clock = self.mailboxes.clock(part);
        // In short steps, although the bound may be later: the other parts can go on as soon as a clock is published.
        let bound = self.mailboxes.bound(part).min(self.partition.next_meeting(clock));
        (bound > clock).then_some(bound)
    }

    /// Has `part` been simulated to the end?
    pub fn has_ended(&self, part: usize) -> bool {
        self.mailboxes.clock(part) == Time(u64::MAX)
    }

    /// Simulates `part` up to `bound`, before which nothing can arrive there that has not been handed over. Returns
    /// whether the run has ended.
    pub fn advance(&self, part: usize, engine: &mut Engine, bound: Time) -> Result<bool, RunError> {
        // Steps may have few events, and a part that never waits is not asked elsewhere.
        if self.control.is_cancelled() {
            return Err(RunError::Cancelled);
        }
        // All that arrives before the bound was in the boxes before the clocks that it comes from were set.
        self.mailboxes.deliver(part, |from, batch| engine.accept(from, batch));
        loop {
            match engine.advance_until(Time(bound.0 - 1), EVENTS_PER_CHECK) {
                Progress::Reached => break,
                Progress::Spent if self.is_over() => return Err(RunError::Cancelled),
                Progress::Spent => {}
                Progress::Ended => {
                    self.publish(part, engine, u64::MAX);
                    return Ok(true);
                }
            }
        }
        engine.settle_borders(Time(bound.0 - 1));
        self.publish(part, engine, bound.0);
        Ok(false)
    }

    /// Hands over what `part` has sent, and then says how far it has come.
    fn publish(&self, part: usize, engine: &mut Engine, clock: u64) {
        let slowest = self.mailboxes.publish(part, clock, engine.out());
        if slowest != u64::MAX {
            self.control.record(Time(slowest));
        }
    }

    /// Is there no use in going on?
    pub fn is_over(&self) -> bool {
        self.control.is_cancelled() || self.control.has_lost_rows() || self.broken_off.load(Ordering::Relaxed)
    }

    /// A thread has panicked: others need not wait for it.
    pub fn break_off(&self) {
        self.broken_off.store(true, Ordering::Relaxed);
    }
}

/// The result of one part whose engine has ended.
pub fn result_of(plan: &Plan, engine: Engine) -> RunResult {
    collect(engine.finish(), edges(plan), plan.duration, &measured(plan))
}
