//! One run on several threads: each simulates a part of the network (see [`crate::partition`]), and none gets so far
//! ahead that a packet of another could still arrive in its past.
//!
//! The result is that of one thread, bit for bit. Events are ordered by time and source, not by when they were
//! scheduled; a source has the same number in each part; and what happens in one part changes nothing in another but by
//! a packet that arrives there. So each part sees its events in the order in which one thread would process them.

use crate::batch::Batch;
use crate::engine::{Engine, Part, Progress};
use crate::mailboxes::Mailboxes;
use crate::partition::{obstacle, OneThread, Partition};
use crate::plan::{Plan, TrafficKind};
use crate::plan_check::check_plan;
use crate::programs::NoPrograms;
use crate::result::{FlowTable, RunResult};
use crate::route::Routes;
use crate::run::{collect, edges, measured, prepare, refuse_external, run, Control, RunError};
use marqueue_core::Time;
use std::hint::spin_loop;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

/// Number of events between two looks at the control.
const EVENTS_PER_CHECK: u32 = 1 << 14;
/// How often a thread that waits looks at the clocks of others before it lets other threads of the machine run.
const SPINS: u32 = 1 << 10;
/// How long a thread sleeps that seems to have no processor to itself.
const SLEEP: Duration = Duration::from_micros(50);
/// Meetings between two such sleeps, at least: where there is no other processor, sleeping is of no use.
const MEETINGS_PER_SLEEP: u32 = 64;

/// On how many threads, at most `most`, this plan runs, and why on no more if it is one.
///
/// # Errors
/// Names the first invalid value.
pub fn threads_for(plan: &Plan, most: usize) -> Result<(usize, Option<OneThread>), RunError> {
    Ok(match partition_of(plan, most)? {
        Ok(partition) => (partition.parts, None),
        Err(reason) => (1, Some(reason).filter(|_| most > 1)),
    })
}

/// On how many threads, at most `most`, this plan runs faster than on one.
///
/// # Errors
/// Names the first invalid value.
pub fn threads_that_pay(plan: &Plan, most: usize) -> Result<usize, RunError> {
    Ok(partition_of(plan, most)?.map_or(1, |partition| if partition.pays(plan) { partition.parts } else { 1 }))
}

/// Runs `plan` with `seed` to its end, on at most this many threads. The result does not depend on their number, but
/// for [`RunResult::events`].
///
/// # Errors
/// If the plan is invalid or the run was cancelled.
pub fn run_on(plan: &Plan, seed: u64, control: &Control, threads: usize) -> Result<RunResult, RunError> {
    // What cuts a run off after some events, or at an instant of the user's, needs all events in one order.
    if control.has_limit() {
        return run(plan, seed, control);
    }
    match partition_of(plan, threads)? {
        Ok(partition) => run_parts(plan, seed, control, &partition),
        Err(_) => run(plan, seed, control),
    }
}

/// A run on one thread whose parts took turns: what each would have cost a thread of its own.
#[derive(Debug)]
pub struct Rehearsal {
    /// The result, which is that of one thread.
    pub result: RunResult,
    /// What each part took, by the clock that was given.
    pub work: Vec<u64>,
    /// How often each part met the others.
    pub meetings: u64,
    /// What the run would take on processors of their own that do not slow each other down, by the same clock.
    pub wall: u64,
}

/// Runs `plan` with `seed` to its end as [`run_on`] does, but on one thread, on which the parts take turns. `clock` tells
/// the time, and a thread needs `meeting` more to see what another has handed over. `None` if there is but one part.
///
/// # Errors
/// If the plan is invalid or the run was cancelled.
pub fn rehearse(
    plan: &Plan,
    seed: u64,
    control: &Control,
    threads: usize,
    meeting: u64,
    clock: &mut dyn FnMut() -> u64,
) -> Result<Option<Rehearsal>, RunError> {
    let Ok(partition) = &partition_of(plan, threads)? else { return Ok(None) };
    let (exchange, parts) = (Exchange::new(partition, control), partition.parts);
    let (mut engines, mut work) = (Vec::new(), Vec::new());
    for part in 0..parts {
        let began = clock();
        engines.push(engine_of(plan, seed, partition, part)?);
        work.push(clock() - began);
    }
    let (mut bound, mut meetings) = (partition.next_meeting(Time::ZERO), 0);
    // When each part would have come to this meeting.
    let mut reached = work.clone();
    let mut ended = false;
    while !ended {
        let before = reached.clone();
        for (part, engine) in engines.iter_mut().enumerate() {
            let began = clock();
            ended = exchange.advance(part, engine, bound)?;
            let took = clock() - began;
            work[part] += took;
            let others = (0..parts).filter(|&other| other != part && partition.sends(other, part));
            let may_begin = others.map(|other| before[other] + meeting).max().unwrap_or(0);
            reached[part] = before[part].max(may_begin) + took;
        }
        bound = partition.next_meeting(bound);
        meetings += 1;
    }
    control.record(plan.duration);
    let results =
        engines.into_iter().map(|e| collect(e.finish(), edges(plan), plan.duration, &measured(plan))).collect();
    let wall = reached.into_iter().max().unwrap_or(0);
    Ok(Some(Rehearsal { result: merge(plan, partition, results), work, meetings, wall }))
}

/// The partition of a plan over at most this many threads, or why there is none.
fn partition_of(plan: &Plan, most: usize) -> Result<Result<Partition, OneThread>, RunError> {
    if most < 2 {
        return Ok(Err(OneThread::NoDelay));
    }
    if let Some(reason) = obstacle(plan) {
        return Ok(Err(reason));
    }
    refuse_external(plan).and_then(|()| check_plan(plan)).map_err(RunError::Invalid)?;
    let prepared = prepare(plan, 0, &NoPrograms).map_err(RunError::Invalid)?;
    Ok(Partition::new(plan, &Routes::new(plan, &prepared.configs, &prepared.pipes), most))
}

/// What the threads of a run share.
#[derive(Debug)]
struct Exchange<'a> {
    partition: &'a Partition,
    control: &'a Control,
    mailboxes: Mailboxes<Batch>,
    /// A thread has ended without a result.
    broken_off: AtomicBool,
}

impl<'a> Exchange<'a> {
    fn new(partition: &'a Partition, control: &'a Control) -> Exchange<'a> {
        let mailboxes = Mailboxes::new(partition.parts, partition.lookahead.clone());
        Exchange { partition, control, mailboxes, broken_off: AtomicBool::new(false) }
    }

    /// Hands over what `part` has sent, and then says how far it has come.
    fn publish(&self, part: usize, engine: &mut Engine, clock: u64) {
        let slowest = self.mailboxes.publish(part, clock, engine.out());
        if slowest != u64::MAX {
            self.control.record(Time(slowest));
        }
    }

    /// Simulates `part` up to `bound`, before which nothing can arrive there that has not been handed over. Returns
    /// whether the run has ended.
    fn advance(&self, part: usize, engine: &mut Engine, bound: Time) -> Result<bool, RunError> {
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

    fn is_over(&self) -> bool {
        self.control.is_cancelled() || self.broken_off.load(Ordering::Relaxed)
    }
}

/// Tells other threads not to wait when this one panics.
struct BreaksOff<'a>(&'a AtomicBool);

impl Drop for BreaksOff<'_> {
    fn drop(&mut self) {
        if thread::panicking() {
            self.0.store(true, Ordering::Relaxed);
        }
    }
}

fn run_parts(plan: &Plan, seed: u64, control: &Control, partition: &Partition) -> Result<RunResult, RunError> {
    let parts = partition.parts;
    let exchange = &Exchange::new(partition, control);
    let results = thread::scope(|scope| {
        let others: Vec<_> = (1..parts).map(|part| scope.spawn(move || run_part(plan, seed, exchange, part))).collect();
        let mut results = vec![run_part(plan, seed, exchange, 0)];
        results.extend(others.into_iter().map(|thread| match thread.join() {
            Ok(result) => result,
            Err(panic) => std::panic::resume_unwind(panic),
        }));
        results
    });
    let results = results.into_iter().collect::<Result<Vec<_>, _>>()?;
    control.record(plan.duration);
    Ok(merge(plan, partition, results))
}

/// Simulates one part to the end.
fn run_part(plan: &Plan, seed: u64, exchange: &Exchange<'_>, part: usize) -> Result<RunResult, RunError> {
    let _guard = BreaksOff(&exchange.broken_off);
    let mut engine = engine_of(plan, seed, exchange.partition, part)?;
    let (mut clock, mut waited, mut meetings) = (Time::ZERO, 0, MEETINGS_PER_SLEEP);
    loop {
        // In short steps, although the bound may be later: the other threads can go on as soon as a clock is published.
        let bound = exchange.mailboxes.bound(part).min(exchange.partition.next_meeting(clock));
        if bound <= clock {
            waited += 1;
            if waited % SPINS == 0 {
                if exchange.is_over() {
                    return Err(RunError::Cancelled);
                }
                thread::yield_now();
                // What this one waited for happened just when it let others run: they share a processor. The operating
                // system gives a thread that wakes up an idle one, where it leaves two that are busy for long together.
                if meetings >= MEETINGS_PER_SLEEP && exchange.mailboxes.bound(part) > clock {
                    thread::sleep(SLEEP);
                    meetings = 0;
                }
            }
            spin_loop();
            continue;
        }
        waited = 0;
        if exchange.advance(part, &mut engine, bound)? {
            return Ok(collect(engine.finish(), edges(plan), plan.duration, &measured(plan)));
        }
        clock = bound;
        meetings = meetings.saturating_add(1);
    }
}

/// The engine of one part.
fn engine_of(plan: &Plan, seed: u64, partition: &Partition, part: usize) -> Result<Engine, RunError> {
    let prepared = prepare(plan, seed, &NoPrograms).map_err(RunError::Invalid)?;
    Ok(Engine::new(plan, seed, prepared, Some(Part::new(partition, part))))
}

/// One result from those of all parts: each thing from the part that it belongs to.
fn merge(plan: &Plan, partition: &Partition, mut results: Vec<RunResult>) -> RunResult {
    let of_link = |l: usize| partition.of_link[l] as usize;
    let of_row = |table: &FlowTable, row: u32| partition.of_senders[table.route[row as usize] as usize] as usize;
    let of_group = |group: usize| match plan.traffic[group].kind {
        TrafficKind::Tcp { route, .. } => partition.of_senders[route] as usize,
        _ => 0,
    };
    let mut merged = results.remove(0);
    for (part, result) in (1..).zip(results) {
        replace(&mut merged.links, result.links, |link| of_link(link.link) == part);
        replace(&mut merged.pipes, result.pipes, |pipe| of_link(pipe.link) == part);
        replace(&mut merged.senders, result.senders, |trace| of_row(&merged.flows, trace.flow) == part);
        replace(&mut merged.rate_traces, result.rate_traces, |trace| of_row(&merged.flows, trace.flow) == part);
        replace(&mut merged.cwnds, result.cwnds, |cwnds| of_group(cwnds.group) == part);
        let sends = |route: u32| partition.of_senders[route as usize] as usize == part;
        let receives = |route: u32| partition.of_receivers[route as usize] as usize == part;
        merged.flows.take_ends(&result.flows, sends, receives);
        merged.events += result.events;
    }
    merged
}

/// Replaces the elements that `is_theirs`.
fn replace<T>(ours: &mut [T], theirs: Vec<T>, is_theirs: impl Fn(&T) -> bool) {
    for (our, their) in ours.iter_mut().zip(theirs).filter(|(_, their)| is_theirs(their)) {
        *our = their;
    }
}
