//! What the threads of a run share: a clock of each, and boxes of what one hands over to another.
//!
//! Under `--cfg loom` clocks and locks are those of loom, which tries every order of their operations (`make
//! test-orders`).

use marqueue_core::{Dur, Time};

#[cfg(loom)]
use loom::sync::{
    atomic::{AtomicU64, Ordering},
    Mutex, MutexGuard,
};
use std::sync::PoisonError;
#[cfg(not(loom))]
use std::sync::{
    atomic::{AtomicU64, Ordering},
    Mutex, MutexGuard,
};

/// Batches between two parts.
#[derive(Debug, Default)]
struct Mailbox<Batch> {
    full: Vec<Batch>,
    /// Batches to be filled again: their memory is not given back and asked for again each time.
    empty: Vec<Batch>,
}

/// Clocks and boxes of parts, each of which is simulated by one thread.
#[derive(Debug)]
pub struct Mailboxes<Batch> {
    /// For each part, the time before which it has processed all events and handed over all that follows from them, ns.
    clocks: Vec<AtomicU64>,
    /// What was handed over and not accepted, by `from * parts + to`, in the order in which it was sent.
    boxes: Vec<Mutex<Mailbox<Batch>>>,
    /// The shortest time in which anything gets from one part to another, by `from * parts + to`; `None` if nothing does.
    lookahead: Vec<Option<Dur>>,
    /// The longest of these.
    longest: Dur,
}

impl<Batch: Default> Mailboxes<Batch> {
    /// Empty boxes between so many parts, all of which are at the beginning.
    pub fn new(parts: usize, lookahead: Vec<Option<Dur>>) -> Mailboxes<Batch> {
        Mailboxes {
            clocks: (0..parts).map(|_| AtomicU64::new(0)).collect(),
            boxes: (0..parts * parts).map(|_| Mutex::new(Mailbox::default())).collect(),
            longest: lookahead.iter().flatten().copied().max().unwrap_or(Dur(u64::MAX)),
            lookahead,
        }
    }

    /// The time before which nothing can arrive any more at `part` that has not been handed over yet.
    pub fn bound(&self, part: usize) -> Time {
        let from = |other: usize| {
            // A part does not run away from one that it hears nothing of: what it sends there would pile up.
            let lookahead = self.between(other, part).unwrap_or(self.longest);
            self.clocks[other].load(Ordering::Acquire).saturating_add(lookahead.0)
        };
        Time((0..self.clocks.len()).filter(|&other| other != part).map(from).min().unwrap_or(u64::MAX))
    }

    /// Accepts what was handed over to `part`; the batches come back empty.
    pub fn deliver(&self, part: usize, accept: impl FnMut(&mut Batch)) {
        let mut accept = accept;
        for from in 0..self.clocks.len() {
            if self.between(from, part).is_some() {
                let mut batches = std::mem::take(&mut self.mailbox(from, part).full);
                batches.iter_mut().for_each(&mut accept);
                self.mailbox(from, part).empty.append(&mut batches);
            }
        }
    }

    /// Hands over what `part` has sent, by `take`, which is given a part and an empty batch, and then says how far
    /// `part` has come. Returns the time to which all parts have come.
    pub fn publish(&self, part: usize, clock: u64, take: impl FnMut(usize, Batch) -> Batch) -> u64 {
        let mut take = take;
        for to in 0..self.clocks.len() {
            if self.between(part, to).is_some() {
                let mut mailbox = self.mailbox(part, to);
                let empty = mailbox.empty.pop().unwrap_or_default();
                mailbox.full.push(take(to, empty));
            }
        }
        self.clocks[part].store(clock, Ordering::Release);
        self.clocks.iter().map(|clock| clock.load(Ordering::Relaxed)).min().unwrap_or(0)
    }

    fn between(&self, from: usize, to: usize) -> Option<Dur> {
        self.lookahead[from * self.clocks.len() + to]
    }

    fn mailbox(&self, from: usize, to: usize) -> MutexGuard<'_, Mailbox<Batch>> {
        // A thread that panics holds no box.
        self.boxes[from * self.clocks.len() + to].lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(all(test, loom))]
mod tests {
    use super::*;
    use loom::sync::Arc;
    use loom::thread;

    const END: u64 = 2;
    const LOOKAHEAD: Dur = Dur(1);

    /// One part: in each step it sends its number and time to all others. Returns what it has received, by sender, as
    /// times of arrival.
    fn simulate(shared: &Mailboxes<Vec<(usize, u64)>>, part: usize, parts: usize) -> Vec<Vec<u64>> {
        let mut received = vec![Vec::new(); parts];
        let mut clock = 0;
        while clock < END {
            let bound = shared.bound(part).0.min(clock + LOOKAHEAD.0).min(END);
            if bound <= clock {
                thread::yield_now();
                continue;
            }
            shared.deliver(part, |batch| {
                for (from, at) in batch.drain(..) {
                    assert!(at >= clock, "part {part} is at {clock}, and something arrives at {at}");
                    received[from].push(at);
                }
            });
            for from in (0..parts).filter(|&from| from != part) {
                let expected: Vec<u64> = (LOOKAHEAD.0..bound).collect();
                let found = received[from].iter().copied().filter(|&at| at < bound).collect::<Vec<_>>();
                assert_eq!(found, expected, "all that arrives before the bound is there, in order");
            }
            shared.publish(part, bound, |_, mut batch| {
                assert!(batch.is_empty());
                batch.extend((clock..bound).map(|now| (part, now + LOOKAHEAD.0)));
                batch
            });
            clock = bound;
        }
        received
    }

    /// Three threads that wait for each other have more orders than loom can count.
    fn in_any_order(parts: usize, preemptions: usize) {
        let mut model = loom::model::Builder::new();
        model.preemption_bound = Some(preemptions);
        model.check(move || {
            let lookahead = (0..parts * parts).map(|i| (i / parts != i % parts).then_some(LOOKAHEAD)).collect();
            let shared = Arc::new(Mailboxes::new(parts, lookahead));
            let others: Vec<_> = (1..parts)
                .map(|part| {
                    let shared = Arc::clone(&shared);
                    thread::spawn(move || simulate(&shared, part, parts))
                })
                .collect();
            simulate(&shared, 0, parts);
            others.into_iter().for_each(|other| drop(other.join().expect("it ends")));
        });
    }

    #[test]
    fn nothing_arrives_late_between_two_threads() {
        in_any_order(2, 3);
    }
}
