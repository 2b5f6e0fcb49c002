//! The order in which flow queues are served: DRR, with queues that have just become busy first (DRR++).
//!
//! RFC 8290, sections 4.1 and 4.2. Each queue has a quantum of byte credits. When they are used up, it gets another quantum
//! and moves to the end of the old queues, which are served in turn.

use crate::scheduler::Class;
use alloc::collections::VecDeque;
use alloc::vec::Vec;
use marqueue_core::ring;

/// The list that a queue is in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum List {
    None,
    New,
    Old,
}

/// The lists of new and old queues.
#[derive(Debug)]
pub struct SparseFirst {
    quantum: i64,
    new: VecDeque<Class>,
    old: VecDeque<Class>,
    /// By queue: its list and its byte credits.
    state: Vec<(List, i64)>,
}

impl SparseFirst {
    /// No queue is busy. `quantum` is in bytes.
    pub fn new(quantum: i64) -> SparseFirst {
        SparseFirst { quantum, new: VecDeque::new(), old: VecDeque::new(), state: Vec::new() }
    }

    /// A queue was created.
    pub fn on_open(&mut self, class: Class) {
        if self.state.len() <= class {
            self.state.resize(class + 1, (List::None, 0));
        }
    }

    /// A packet joined a queue.
    pub fn on_enqueue(&mut self, class: Class) {
        if self.state[class].0 == List::None {
            self.state[class] = (List::New, self.quantum);
            self.new.push_back(class);
        }
    }

    /// Prefetches the ends of the lists.
    pub fn prefetch_upcoming(&self) {
        ring::prefetch_ends(&self.new);
        ring::prefetch_ends(&self.old);
    }

    /// The queue that will be served next, unless its credits are used up.
    pub fn upcoming(&self) -> Option<Class> {
        self.new.front().or_else(|| self.old.front()).copied()
    }

    /// Prefetches the list and the credits of a queue.
    pub fn prefetch(&self, class: Class) {
        if let Some(state) = self.state.get(class) {
            ring::prefetch_bounds(state);
        }
    }

    /// The queue to serve next.
    pub fn next(&mut self) -> Option<Class> {
        let mut passed_over = 0;
        loop {
            if self.new.is_empty() && passed_over > self.old.len() {
                self.skip_rounds();
                passed_over = 0;
            }
            passed_over += 1;
            let list = if self.new.is_empty() { &mut self.old } else { &mut self.new };
            let &class = list.front()?;
            if self.state[class].1 > 0 {
                return Some(class);
            }
            list.pop_front();
            self.state[class].1 += self.quantum;
            self.make_old(class);
        }
    }

    /// The queue was served a packet of this cost, in bytes; `None` if it had none.
    pub fn on_service(&mut self, class: Class, cost: Option<i64>) {
        if let Some(cost) = cost {
            self.state[class].1 -= cost;
            return;
        }
        // The queue is empty. A new one becomes the last old one, so that flows whose packets arrive one by one do not
        // starve the old queues (section 4.2). An old one leaves its list.
        match self.state[class].0 {
            List::New => {
                self.new.pop_front();
                self.make_old(class);
            }
            List::Old | List::None => {
                self.old.pop_front();
                self.state[class].0 = List::None;
            }
        }
    }

    /// Adds a queue to the end of the old ones.
    fn make_old(&mut self, class: Class) {
        self.state[class].0 = List::Old;
        self.old.push_back(class);
    }

    /// Grants at once the quanta of all rounds in which no queue would be served. A quantum may be much smaller than a
    /// packet.
    fn skip_rounds(&mut self) {
        let rounds = self.old.iter().map(|&class| (-self.state[class].1 / self.quantum).max(0)).min().unwrap_or(0);
        for &class in &self.old {
            self.state[class].1 += rounds * self.quantum;
        }
    }
}
