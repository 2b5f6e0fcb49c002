//! Rows of flows that leave a run on several threads: of each flow what its sender counts comes from one part, and what its
//! receiver counts from another.

use crate::flow_rows::FlowSink;
use crate::partition::Partition;
use crate::result::FlowTable;
use std::collections::VecDeque;
use std::sync::{Arc, Mutex, PoisonError};

/// Merges the rows of all parts, and hands them over to one sink.
#[derive(Debug)]
pub struct RowMerger {
    sink: Arc<dyn FlowSink>,
    /// The part of the senders of each route.
    of_senders: Vec<u32>,
    /// The part of the receivers of each route.
    of_receivers: Vec<u32>,
    waiting: Mutex<Waiting>,
}

/// Blocks of rows that some parts have handed over and others have not. All parts divide the rows into the same blocks.
#[derive(Debug)]
struct Waiting {
    /// Rows that the sink has.
    merged: u32,
    /// The blocks after these of each part, in order.
    blocks: Vec<VecDeque<FlowTable>>,
}

/// Takes the rows of one part.
#[derive(Debug)]
struct RowsOfPart {
    part: usize,
    merger: Arc<RowMerger>,
}

impl RowMerger {
    pub fn new(partition: &Partition, sink: Arc<dyn FlowSink>) -> RowMerger {
        let blocks = vec![VecDeque::new(); partition.parts];
        RowMerger {
            sink,
            of_senders: partition.of_senders.clone(),
            of_receivers: partition.of_receivers.clone(),
            waiting: Mutex::new(Waiting { merged: 0, blocks }),
        }
    }

    /// What takes the rows of `part`.
    pub fn of_part(self: &Arc<RowMerger>, part: usize) -> Arc<dyn FlowSink> {
        Arc::new(RowsOfPart { part, merger: Arc::clone(self) })
    }

    fn sends(&self, part: usize, route: u32) -> bool {
        self.of_senders[route as usize] as usize == part
    }

    fn receives(&self, part: usize, route: u32) -> bool {
        self.of_receivers[route as usize] as usize == part
    }

    /// Calls `waits` with the block and the place of a row of `part` that is not merged, or else `is_merged`.
    fn change(&self, part: usize, row: u32, waits: impl FnOnce(&mut FlowTable, usize), is_merged: impl FnOnce()) {
        // A thread that panics holds no lock.
        let waiting = &mut *self.waiting.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(after) = row.checked_sub(waiting.merged) else { return is_merged() };
        let mut place = after as usize;
        for block in &mut waiting.blocks[part] {
            if place < block.len() {
                return waits(block, place);
            }
            place -= block.len();
        }
        unreachable!("a row is replaced that was not handed over");
    }
}

impl FlowSink for RowsOfPart {
    fn append(&self, table: &FlowTable) {
        let merger = &*self.merger;
        let waiting = &mut *merger.waiting.lock().unwrap_or_else(PoisonError::into_inner);
        waiting.blocks[self.part].push_back(table.clone());
        while waiting.blocks.iter().all(|of_part| !of_part.is_empty()) {
            let mut blocks = waiting.blocks.iter_mut().filter_map(VecDeque::pop_front);
            let Some(mut merged) = blocks.next() else { return };
            for (part, block) in (1..).zip(blocks) {
                let (sends, receives) = (|route| merger.sends(part, route), |route| merger.receives(part, route));
                merged.take_ends(&block, sends, receives);
            }
            merger.sink.append(&merged);
            waiting.merged += merged.len() as u32;
        }
    }

    fn replace_sent(&self, row: u32, table: &FlowTable, at: usize) {
        if self.merger.sends(self.part, table.route[at]) {
            let waits = |block: &mut FlowTable, place| block.copy_sent(place, table, at);
            self.merger.change(self.part, row, waits, || self.merger.sink.replace_sent(row, table, at));
        }
    }

    fn replace_delivered(&self, row: u32, table: &FlowTable, at: usize) {
        if self.merger.receives(self.part, table.route[at]) {
            let waits = |block: &mut FlowTable, place| block.copy_delivered(place, table, at);
            self.merger.change(self.part, row, waits, || self.merger.sink.replace_delivered(row, table, at));
        }
    }

    fn has_failed(&self) -> bool {
        self.merger.sink.has_failed()
    }
}
