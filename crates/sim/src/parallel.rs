//! One run on several threads: each simulates a part of the network (see [`crate::partition`]), and none gets so far
//! ahead that a packet of another could still arrive in its past.
//!
//! The result is that of one thread, bit for bit. Events are ordered by time and source, not by when they were
//! scheduled; a source has the same number in each part; and what happens in one part changes nothing in another but by
//! a packet that arrives there. So each part sees its events in the order in which one thread would process them.

mod exchange;
mod row_merger;
mod team;

use crate::control::Control;
use crate::partition::{obstacle, OneThread, Partition};
use crate::plan::{Plan, TrafficKind};
use crate::plan_check::check_plan;
use crate::prepare::{prepare, refuse_external};
use crate::programs::NoPrograms;
use crate::result::RunResult;
use crate::route::Routes;
use crate::run::{run, RunError};
use exchange::{result_of, Exchange};
use marqueue_core::Time;
use team::Team;

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

/// On how many threads, at most `most`, this plan runs faster than on one: on all of them, or half as many, and so on.
///
/// # Errors
/// Names the first invalid value.
pub fn threads_that_pay(plan: &Plan, most: usize) -> Result<usize, RunError> {
    let mut most = most;
    while let Ok(partition) = partition_of(plan, most)? {
        if partition.pays(plan) {
            return Ok(partition.parts);
        }
        most = partition.parts.div_ceil(2);
    }
    Ok(1)
}

/// Runs `plan` with `seed` to its end, on at most this many threads. The result does not depend on their number, but
/// for [`RunResult::events`].
///
/// # Errors
/// If the plan is invalid or the run was cancelled.
pub fn run_on(plan: &Plan, seed: u64, control: &Control, threads: usize) -> Result<RunResult, RunError> {
    // What cuts a run off after some events, or at an instant of the user's, needs all events in one order.
    if control.needs_one_thread() {
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
        engines.push(exchange.engine(plan, seed, part)?);
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
    let results = engines.into_iter().map(|engine| result_of(plan, engine)).collect();
    let wall = reached.into_iter().max().unwrap_or(0);
    Ok(Some(Rehearsal { result: merge(plan, partition, results), work, meetings, wall }))
}

/// Runs `plan` with `seed` to its end as [`run_on`] does, but on one thread, on which the parts go on in any order. `next` draws
/// one of so many parts, and that part takes a step if the others allow it; it has to draw each again and again. What
/// threads do by chance thus happens in the same way each time. `None` if there is but one part.
///
/// # Errors
/// If the plan is invalid or the run was cancelled.
pub fn run_in_order(
    plan: &Plan,
    seed: u64,
    control: &Control,
    threads: usize,
    next: &mut dyn FnMut(usize) -> usize,
) -> Result<Option<RunResult>, RunError> {
    let Ok(partition) = &partition_of(plan, threads)? else { return Ok(None) };
    let exchange = Exchange::new(partition, control);
    let engines = (0..partition.parts).map(|part| exchange.engine(plan, seed, part));
    let mut engines = engines.collect::<Result<Vec<_>, _>>()?;
    while !(0..partition.parts).all(|part| exchange.has_ended(part)) {
        let part = next(partition.parts);
        if let Some(bound) = exchange.bound(part).filter(|_| !exchange.has_ended(part)) {
            exchange.advance(part, &mut engines[part], bound)?;
        }
    }
    let results = engines.into_iter().map(|engine| result_of(plan, engine)).collect();
    Ok(Some(merge(plan, partition, results)))
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

/// Runs the parts of a plan, each on a thread.
fn run_parts(plan: &Plan, seed: u64, control: &Control, partition: &Partition) -> Result<RunResult, RunError> {
    let results = Team::new(plan, seed, Exchange::new(partition, control)).run();
    if control.has_lost_rows() {
        return Err(RunError::FlowSinkFailed);
    }
    let results = results?;
    control.record(plan.duration);
    Ok(merge(plan, partition, results))
}

/// One result from those of all parts: each thing from the part that it belongs to.
fn merge(plan: &Plan, partition: &Partition, mut results: Vec<RunResult>) -> RunResult {
    let of_link = |l: usize| partition.of_link[l] as usize;
    let of_group = |group: usize| match plan.traffic[group].kind {
        TrafficKind::Tcp { route, .. } => partition.of_senders[route] as usize,
        _ => 0,
    };
    let mut merged = results.remove(0);
    for (part, result) in (1..).zip(results) {
        replace(&mut merged.links, result.links, |link| of_link(link.link) == part);
        replace(&mut merged.pipes, result.pipes, |pipe| of_link(pipe.link) == part);
        // Those of senders in other parts are empty.
        replace(&mut merged.senders, result.senders, |trace| !trace.rows.is_empty());
        replace(&mut merged.rate_traces, result.rate_traces, |trace| !trace.rows.is_empty());
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::digest;
    use serde_json::{from_value, json};

    /// A chain of three queues, with flows over each.
    fn chain() -> Plan {
        let queue = json!({"policy": {"name": "red", "params": {"min_th": 5.0, "max_th": 15.0}},
            "limit": {"packets": 30}, "signal": "ecn", "mean_packet": 1500});
        let link = |name: String| json!({"name": name, "rate": 10_000_000, "delay": 4_000_000, "queue": queue});
        let links: Vec<_> =
            (0..3).flat_map(|hop| [link(format!("there {hop}")), link(format!("back {hop}"))]).collect();
        let routes: Vec<_> = (0..3).map(|hop| json!({"forward": [2 * hop], "reverse": [2 * hop + 1]})).collect();
        let tcp = |route| {
            json!({"route": route, "count": 3, "transport": 0, "start": 0, "stop": null, "jitter": 100_000_000,
                "size": null, "trace": false})
        };
        let traffic: Vec<_> =
            (0..3).map(|hop| json!({"name": format!("flows {hop}"), "dscp": 0, "kind": {"tcp": tcp(hop)}})).collect();
        let plan = json!({"duration": 2_000_000_000, "boundaries": [1_000_000_000], "sample": 0, "links": links,
            "routes": routes, "transports": [{"preset": "rfc", "params": {}}], "traffic": traffic});
        from_value(plan).expect("it is a plan")
    }

    #[test]
    fn a_thread_takes_the_steps_of_others_that_do_not_run() {
        let (plan, control) = (chain(), Control::default());
        let partition = partition_of(&plan, 3).expect("the plan is valid").expect("it has several parts");
        assert_eq!(partition.parts, 3);
        let team = Team::new(&plan, 1, Exchange::new(&partition, &control));
        // One after the other, on this thread: the first can end only if it does what the others must have done before.
        for own in 0..3 {
            team.work(own).expect("nobody cancels it");
        }
        let alone = run(&plan, 1, &control).expect("nobody cancels it");
        assert_eq!(digest(&merge(&plan, &partition, team.results())), digest(&alone));
    }
}
