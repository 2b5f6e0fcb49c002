//! The rows of the flow table while a run goes on.
//!
//! A host that gives a [`FlowSink`] gets the rows of flows that arrived long ago, in blocks, and memory holds the newest
//! rows and those of flows that have not ended. Without one all rows stay until the end.

use crate::flow::{fill_row, push_row, settle_window, Flow};
use crate::result::FlowTable;
use marqueue_core::{Dur, Time};
use std::fmt::Debug;
use std::sync::Arc;

/// Rows that leave at once.
pub const BLOCK: usize = 1 << 16;
/// Rows in memory before the first ones leave: a power of two, as the columns double when they grow.
pub const MOST: usize = 4 * BLOCK;
/// Rows of ended flows among those of living ones before they are removed.
const MOST_GONE: usize = 1 << 10;

/// Takes the rows of flows from a run, for example into a file. A sink that has failed remembers why; the run then has
/// no result.
pub trait FlowSink: Debug + Send + Sync {
    /// Takes the next rows, all of `table`. Those of flows that have not ended are replaced later.
    fn append(&self, table: &FlowTable);
    /// In the row of this number, which it has, replaces what the sender counts by that of the row at place `at` of `table`
    /// ([`FlowTable::copy_sent`]).
    fn replace_sent(&self, row: u32, table: &FlowTable, at: usize);
    /// The same of what the receiver counts ([`FlowTable::copy_delivered`]).
    fn replace_delivered(&self, row: u32, table: &FlowTable, at: usize);
    /// Could it not take what it was given?
    fn has_failed(&self) -> bool;
}

/// The rows that are in memory.
#[derive(Debug)]
pub struct FlowRows {
    /// Measuring windows of each.
    windows: usize,
    /// Those from row `first` on.
    table: FlowTable,
    first: u32,
    leaving: Option<Leaving>,
}

/// What is known of rows that leave.
#[derive(Debug)]
struct Leaving {
    sink: Arc<dyn FlowSink>,
    /// For each row of the table, whether its flow has ended.
    ended: Vec<bool>,
    /// Rows that have left although their flows had not ended, in order.
    left: Vec<u32>,
    /// The same rows as they are now.
    living: FlowTable,
    /// For each of these, whether its flow has ended since.
    gone: Vec<bool>,
    number_gone: usize,
}

impl FlowRows {
    /// No rows, each of which will have this many measuring windows.
    pub fn new(windows: usize) -> FlowRows {
        FlowRows { windows, table: FlowTable::default(), first: 0, leaving: None }
    }

    /// From now on rows leave to `sink`.
    pub fn leave_to(&mut self, sink: Arc<dyn FlowSink>) {
        self.leaving = Some(Leaving {
            sink,
            ended: vec![false; self.table.len()],
            left: Vec::new(),
            living: FlowTable::default(),
            gone: Vec::new(),
            number_gone: 0,
        });
    }

    /// The number of rows so far, and so that of the next.
    pub fn len(&self) -> u32 {
        self.first + self.table.len() as u32
    }

    /// Adds the row of a new flow. Returns its number.
    pub fn add(&mut self, group: u32, route: u32, start: Time, size: u32) -> u32 {
        let row = self.len();
        push_row(&mut self.table, self.windows, group, route, start, size);
        if let Some(leaving) = &mut self.leaving {
            leaving.ended.push(false);
        }
        row
    }

    /// Notes the propagation delay of the newest flow.
    pub fn add_propagation(&mut self, propagation: Dur) {
        self.table.propagation.push(propagation);
    }

    /// Lets the oldest rows leave, if there are many and a sink takes them.
    #[inline]
    pub fn make_room(&mut self) {
        if self.table.len() >= MOST {
            self.let_block_leave();
        }
    }

    #[cold]
    fn let_block_leave(&mut self) {
        let Some(leaving) = &mut self.leaving else { return };
        let block = self.table.take_front(BLOCK);
        for (at, ended) in leaving.ended.drain(..BLOCK).enumerate() {
            if !ended {
                leaving.left.push(self.first + at as u32);
                leaving.living.push_from(&block, at);
                leaving.gone.push(false);
            }
        }
        leaving.sink.append(&block);
        self.first += BLOCK as u32;
    }

    /// The table that has a row, and the row's place there. None if it has left and its flow has ended.
    #[inline]
    fn place(&mut self, row: u32) -> Option<(&mut FlowTable, usize)> {
        match row.checked_sub(self.first) {
            Some(at) => Some((&mut self.table, at as usize)),
            None => self.leaving.as_mut()?.place(row),
        }
    }

    /// The traffic group of a row that is in memory.
    pub fn group(&mut self, row: u32) -> Option<u32> {
        self.place(row).map(|(table, at)| table.group[at])
    }

    /// Payload bytes that a flow had delivered when its last measuring window ended, by a row that is in memory.
    pub fn settled(&self, row: u32) -> Option<u64> {
        let at = row.checked_sub(self.first)? as usize * self.windows;
        Some(self.table.delivered.get(at..at + self.windows)?.iter().sum())
    }

    /// Adds the bytes that a flow delivered in its measuring window. Most packets end none.
    #[cold]
    pub fn settle_window(&mut self, flow: &mut Flow) {
        let windows = self.windows;
        match self.place(flow.row) {
            Some((table, at)) => settle_window(table, at, windows, flow),
            // A flow that has ended delivers nothing.
            None => debug_assert_eq!(flow.delivered, 0, "a row has left too early"),
        }
    }

    /// A packet of a generator was sent.
    #[inline]
    pub fn count_sent(&mut self, row: u32) {
        if let Some((table, at)) = self.place(row) {
            table.extend_counts(at + 1);
            table.sent[at] += 1;
        }
    }

    /// The last packet of a flow was acknowledged at `time`, which need not end it.
    pub fn complete(&mut self, row: u32, time: Time) {
        if let Some((table, at)) = self.place(row) {
            table.extend_counts(at + 1);
            table.end[at] = time;
        }
    }

    /// A flow has ended at `time`: its row is final.
    pub fn end(&mut self, flow: &mut Flow, time: Time) {
        self.complete(flow.row, time);
        self.fill(flow);
        if let Some(leaving) = &mut self.leaving {
            match flow.row.checked_sub(self.first) {
                Some(at) => leaving.ended[at as usize] = true,
                None => leaving.replace_ended(flow.row),
            }
        }
    }

    /// Writes the counts of a flow to its row.
    fn fill(&mut self, flow: &mut Flow) {
        let windows = self.windows;
        if let Some((table, at)) = self.place(flow.row) {
            fill_row(table, at, windows, flow);
        }
    }

    /// The table at the end of a run, with the counts of all flows. If some rows have left, the others leave too, and the
    /// table is empty.
    pub fn finish(mut self, flows: &mut [Flow]) -> FlowTable {
        flows.iter_mut().for_each(|flow| self.fill(flow));
        self.table.extend_counts(self.table.len());
        match &self.leaving {
            Some(leaving) if self.first > 0 => {
                leaving.replace_living();
                leaving.sink.append(&self.table);
                FlowTable::default()
            }
            _ => self.table,
        }
    }
}

impl Leaving {
    fn index(&self, row: u32) -> Option<usize> {
        self.left.binary_search(&row).ok()
    }

    fn place(&mut self, row: u32) -> Option<(&mut FlowTable, usize)> {
        self.index(row).map(|at| (&mut self.living, at))
    }

    /// Hands over the row of a flow that has ended after the row left.
    fn replace_ended(&mut self, row: u32) {
        let Some(at) = self.index(row) else { return };
        self.replace(row, at);
        self.gone[at] = true;
        self.number_gone += 1;
        if self.number_gone > MOST_GONE.max(self.left.len() / 2) {
            self.forget_gone();
        }
    }

    fn forget_gone(&mut self) {
        let stay: Vec<usize> = (0..self.left.len()).filter(|&at| !self.gone[at]).collect();
        let mut living = FlowTable::default();
        stay.iter().for_each(|&at| living.push_from(&self.living, at));
        self.left = stay.iter().map(|&at| self.left[at]).collect();
        self.gone = vec![false; stay.len()];
        self.living = living;
        self.number_gone = 0;
    }

    /// Hands over the rows of flows that have not ended.
    fn replace_living(&self) {
        for (at, &row) in self.left.iter().enumerate() {
            if !self.gone[at] {
                self.replace(row, at);
            }
        }
    }

    fn replace(&self, row: u32, at: usize) {
        self.sink.replace_sent(row, &self.living, at);
        self.sink.replace_delivered(row, &self.living, at);
    }
}
