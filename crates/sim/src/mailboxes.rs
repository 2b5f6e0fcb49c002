//! What the threads of a run share: a clock of each, and boxes of what one hands over to another.
//!
//! Under `--cfg loom` clocks and locks are those of loom, which tries every order of their operations (`make
//! test-orders`).

use marqueue_core::{Dur, Time};

#[cfg(loom)]
use loom::sync::{
    atomic::{AtomicBool, AtomicU64, Ordering},
    Mutex, MutexGuard,
};
use std::sync::PoisonError;
#[cfg(not(loom))]
use std::sync::{
    atomic::{AtomicBool, AtomicU64, Ordering},
    Mutex, MutexGuard,
};

/// What one part hands over to another.
pub trait Handover: Default {
    /// Is there nothing in it?
    fn is_empty(&self) -> bool;
}

/// What one thread writes and others read, alone in what processors pass to each other (two cache lines: some fetch the
/// next one along).
#[derive(Debug)]
#[repr(align(128))]
pub struct Apart<T>(pub T);

/// Batches from one part to another.
#[derive(Debug)]
struct Mailbox<Batch> {
    /// Is there anything in it? Set before the sender's clock, and read after it.
    is_full: AtomicBool,
    batches: Mutex<Batches<Batch>>,
}

#[derive(Debug)]
struct Batches<Batch> {
    full: Vec<Batch>,
    /// Batches to be filled again: their memory is not given back and asked for again each time.
    empty: Vec<Batch>,
}

/// Clocks and boxes of parts, each of which is simulated by one thread at a time.
#[derive(Debug)]
pub struct Mailboxes<Batch> {
    /// For each part, the time before which it has processed all events and handed over all that follows from them, ns.
    clocks: Vec<Apart<AtomicU64>>,
    /// What was handed over and not accepted, by `from * parts + to`, in the order in which it was sent.
    boxes: Vec<Apart<Mailbox<Batch>>>,
    /// The shortest time in which anything gets from one part to another, by `from * parts + to`; `None` if nothing does.
    lookahead: Vec<Option<Dur>>,
    /// How far a part may be ahead of one that it hears nothing of.
    longest: Dur,
}

impl<Batch: Handover> Mailboxes<Batch> {
    /// Empty boxes between so many parts, all of which are at the beginning.
    pub fn new(parts: usize, lookahead: Vec<Option<Dur>>, longest: Dur) -> Mailboxes<Batch> {
        Mailboxes {
            clocks: (0..parts).map(|_| Apart(AtomicU64::new(0))).collect(),
            boxes: (0..parts * parts).map(|_| Apart(Mailbox::new())).collect(),
            longest,
            lookahead,
        }
    }

    /// The time to which `part` has come.
    pub fn clock(&self, part: usize) -> Time {
        Time(self.clocks[part].0.load(Ordering::Relaxed))
    }

    /// The time before which nothing can arrive any more at `part` that has not been handed over yet.
    pub fn bound(&self, part: usize) -> Time {
        let from = |other: usize| {
            // A part does not run away from one that it hears nothing of: what it sends there would pile up.
            let lookahead = self.between(other, part).unwrap_or(self.longest);
            self.clocks[other].0.load(Ordering::Acquire).saturating_add(lookahead.0)
        };
        Time((0..self.clocks.len()).filter(|&other| other != part).map(from).min().unwrap_or(u64::MAX))
    }

    /// Accepts what was handed over to `part`, with the number of the part that it comes from; the batches come back empty.
    pub fn deliver(&self, part: usize, mut accept: impl FnMut(usize, &mut Batch)) {
        for from in 0..self.clocks.len() {
            let mailbox = self.mailbox(from, part);
            // Who sees the flag sees the batches: only then is the lock of use, which costs both threads.
            if mailbox.is_full.load(Ordering::Relaxed) && mailbox.is_full.swap(false, Ordering::Acquire) {
                let mut batches = std::mem::take(&mut mailbox.locked().full);
                batches.iter_mut().for_each(|batch| accept(from, batch));
                mailbox.locked().empty.append(&mut batches);
            }
        }
    }

    /// Hands over what `part` has for each part and gets empty batches for it, and then says how far `part` has come.
    /// Returns the time to which all parts have come.
    pub fn publish(&self, part: usize, clock: u64, out: &mut [Batch]) -> u64 {
        for (to, batch) in out.iter_mut().enumerate().filter(|(_, batch)| !batch.is_empty()) {
            let mailbox = self.mailbox(part, to);
            {
                let mut batches = mailbox.locked();
                let empty = batches.empty.pop().unwrap_or_default();
                batches.full.push(std::mem::replace(batch, empty));
            }
            mailbox.is_full.store(true, Ordering::Release);
        }
        self.clocks[part].0.store(clock, Ordering::Release);
        self.clocks.iter().map(|clock| clock.0.load(Ordering::Relaxed)).min().unwrap_or(0)
    }

    fn between(&self, from: usize, to: usize) -> Option<Dur> {
        self.lookahead[from * self.clocks.len() + to]
    }

    fn mailbox(&self, from: usize, to: usize) -> &Mailbox<Batch> {
        &self.boxes[from * self.clocks.len() + to].0
    }
}

impl<Batch> Mailbox<Batch> {
    fn new() -> Mailbox<Batch> {
        let batches = Batches { full: Vec::new(), empty: Vec::new() };
        Mailbox { is_full: AtomicBool::new(false), batches: Mutex::new(batches) }
    }

    fn locked(&self) -> MutexGuard<'_, Batches<Batch>> {
        // A thread that panics holds no box.
        self.batches.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(all(test, loom))]
mod tests {
    use super::*;
    use loom::sync::Arc;
    use loom::thread;

    impl Handover for Vec<(usize, u64)> {
        fn is_empty(&self) -> bool {
            Vec::is_empty(self)
        }
    }

    const END: u64 = 2;
    const LOOKAHEAD: Dur = Dur(1);

    /// What a part is simulated with.
    struct Part {
        clock: u64,
        /// What it has received, by sender, as times of arrival.
        received: Vec<Vec<u64>>,
        out: Vec<Vec<(usize, u64)>>,
    }

    impl Part {
        fn new(parts: usize) -> Part {
            Part { clock: 0, received: vec![Vec::new(); parts], out: vec![Vec::new(); parts] }
        }

        /// Takes a step, in which the part sends its number and time to all others. Returns whether it could.
        fn step(&mut self, shared: &Mailboxes<Vec<(usize, u64)>>, me: usize) -> bool {
            let (clock, parts) = (self.clock, self.out.len());
            assert_eq!(shared.clock(me).0, clock, "who holds the part knows its clock");
            let bound = shared.bound(me).0.min(clock + LOOKAHEAD.0).min(END);
            if bound <= clock {
                return false;
            }
            shared.deliver(me, |_, batch| {
                for (from, at) in batch.drain(..) {
                    assert!(at >= clock, "part {me} is at {clock}, and something arrives at {at}");
                    self.received[from].push(at);
                }
            });
            for from in (0..parts).filter(|&from| from != me) {
                let expected: Vec<u64> = (LOOKAHEAD.0..bound).collect();
                let found = self.received[from].iter().copied().filter(|&at| at < bound).collect::<Vec<_>>();
                assert_eq!(found, expected, "all that arrives before the bound is there, in order");
            }
            for (_, batch) in self.out.iter_mut().enumerate().filter(|(to, _)| *to != me) {
                assert!(batch.is_empty());
                batch.extend((clock..bound).map(|now| (me, now + LOOKAHEAD.0)));
            }
            shared.publish(me, bound, &mut self.out);
            self.clock = bound;
            true
        }
    }

    const PARTS: usize = 2;

    /// What two threads share.
    struct Shared {
        mailboxes: Mailboxes<Vec<(usize, u64)>>,
        parts: [Mutex<Part>; PARTS],
    }

    impl Shared {
        fn new() -> Shared {
            let lookahead = (0..PARTS * PARTS).map(|i| (i / PARTS != i % PARTS).then_some(LOOKAHEAD)).collect();
            let parts = [Mutex::new(Part::new(PARTS)), Mutex::new(Part::new(PARTS))];
            Shared { mailboxes: Mailboxes::new(PARTS, lookahead, LOOKAHEAD), parts }
        }

        fn step(&self, part: usize) -> bool {
            self.parts[part].try_lock().is_ok_and(|mut held| held.step(&self.mailboxes, part))
        }

        /// One thread: takes the steps of its own part, and, if it `helps`, of the other where its own has none to take.
        fn work(&self, own: usize, helps: bool) {
            while self.mailboxes.clock(own).0 < END {
                if !self.step(own) && !(helps && self.step(1 - own)) {
                    thread::yield_now();
                }
            }
        }
    }

    fn in_any_order(helps: bool, preemptions: usize) {
        let mut model = loom::model::Builder::new();
        model.preemption_bound = Some(preemptions);
        model.check(move || {
            let shared = Arc::new(Shared::new());
            let other = Arc::clone(&shared);
            let other = thread::spawn(move || other.work(1, helps));
            shared.work(0, helps);
            other.join().expect("it ends");
        });
    }

    #[test]
    fn nothing_arrives_late_between_two_threads() {
        in_any_order(false, 3);
    }

    #[test]
    fn nothing_arrives_late_where_a_thread_takes_steps_of_the_other() {
        in_any_order(true, 3);
    }
}
