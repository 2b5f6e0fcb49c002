//! Running a plan.

use crate::engine::{Engine, Prepared, Remains};
use crate::events::EventQueue;
use crate::impair::Pipe;
use crate::meter::Meter;
use crate::plan::{LinkPlan, Plan, SizeLaw, TrafficKind};
use crate::resource::Resource;
use crate::result::{PipeResult, RunResult};
use marqueue_aqm::{Discipline, Env};
use marqueue_cc::Config;
use marqueue_core::params::ParamError;
use marqueue_core::{Rate, Rng, Time};
use std::fmt;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

/// Events between two looks at the [`Control`].
const EVENTS_A_LOOK: u32 = 1 << 14;

/// The line between a run and whoever watches it from another thread.
#[derive(Debug, Default)]
pub struct Control {
    cancelled: AtomicBool,
    /// Simulated nanoseconds done.
    done: AtomicU64,
}

impl Control {
    /// Asks the run to stop.
    pub fn cancel(&self) {
        self.cancelled.store(true, Ordering::Relaxed);
    }

    /// Simulated seconds done so far.
    pub fn done_secs(&self) -> f64 {
        self.done.load(Ordering::Relaxed) as f64 / 1e9
    }
}

/// Why a run did not yield a result.
#[derive(Clone, Debug, PartialEq)]
pub enum RunError {
    /// The plan cannot be run; the path leads to the offending value.
    Invalid(ParamError),
    /// Someone asked it to stop.
    Cancelled,
}

impl fmt::Display for RunError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            RunError::Invalid(e) => e.fmt(f),
            RunError::Cancelled => f.write_str("cancelled"),
        }
    }
}

impl std::error::Error for RunError {}

/// Can this plan be run?
///
/// # Errors
/// Names the first value that cannot be right.
pub fn check(plan: &Plan) -> Result<(), RunError> {
    check_plan(plan).and_then(|()| prepare(plan, 0).map(drop)).map_err(RunError::Invalid)
}

/// Runs `plan` with `seed`.
///
/// # Errors
/// If the plan is invalid or the run was cancelled.
pub fn run(plan: &Plan, seed: u64, control: &Control) -> Result<RunResult, RunError> {
    check_plan(plan).map_err(RunError::Invalid)?;
    let prepared = prepare(plan, seed).map_err(RunError::Invalid)?;
    let mut engine = Engine::new(plan, seed, prepared);
    while engine.advance(EVENTS_A_LOOK) {
        control.done.store(engine.now().0, Ordering::Relaxed);
        if control.cancelled.load(Ordering::Relaxed) {
            return Err(RunError::Cancelled);
        }
    }
    control.done.store(plan.duration.0, Ordering::Relaxed);
    let Remains { resources, pipes, flows, cwnd, events } = engine.finish();
    let edges = std::iter::once(Time::ZERO).chain(plan.boundaries.iter().copied()).chain([plan.duration]).collect();
    let links = resources
        .into_iter()
        .enumerate()
        .filter_map(|(l, r)| {
            let r = r?;
            // A link that has a queue only because its rate changes is not one that was asked about.
            plan.links[l].queue.as_ref()?;
            Some(r.meter.into_result(l, r.trace))
        })
        .collect();
    let pipes = pipes
        .into_iter()
        .enumerate()
        .filter_map(|(link, pipe)| Some(PipeResult { link, windows: pipe?.into_windows() }))
        .collect();
    Ok(RunResult { edges, links, pipes, flows, cwnd, events })
}

/// The transport settings, and what each link has of a queue and an impaired pipe.
fn prepare(plan: &Plan, seed: u64) -> Result<Prepared, ParamError> {
    let configs = plan
        .transports
        .iter()
        .enumerate()
        .map(|(i, t)| Config::with_preset(&t.preset, &t.params).map_err(|e| e.within(&format!("transports[{i}]"))))
        .collect::<Result<_, _>>()?;
    let resources = plan
        .links
        .iter()
        .enumerate()
        .map(|(i, link)| queue_of(link, seed).map_err(|e| e.within(&format!("links[{i}].queue.policy"))))
        .collect::<Result<_, _>>()?;
    let windows = plan.boundaries.len() + 1;
    let pipes = plan
        .links
        .iter()
        .enumerate()
        .map(|(i, link)| Pipe::of(link, windows, seed).map_err(|e| e.within(&format!("links[{i}].pipe"))))
        .collect::<Result<_, _>>()?;
    Ok(Prepared { configs, resources, pipes })
}

fn queue_of(link: &LinkPlan, seed: u64) -> Result<Option<Resource>, ParamError> {
    let queue = match &link.queue {
        Some(queue) => queue.clone(),
        None if link.schedule.is_empty() => return Ok(None),
        None => crate::plan::QueuePlan::endless(),
    };
    let env = Env {
        rate: link.rate,
        mean_packet: queue.mean_packet,
        limit: queue.limit,
        delay: link.delay,
        signal: queue.signal,
    };
    let rng = Rng::named(seed, &format!("link/{}", link.name));
    let discipline = Discipline::build(&queue.policy, env, rng)?;
    let meter = Meter::new(discipline.probes());
    let mut resource = Resource::new(discipline, link.rate, link.delay, &link.schedule, meter);
    resource.trace = link.trace.then(Vec::new);
    Ok(Some(resource))
}

/// What serde cannot check.
fn check_plan(plan: &Plan) -> Result<(), ParamError> {
    let bad = |path: String, message: String| Err(ParamError::new(path, message));
    if plan.duration == Time::ZERO {
        return bad("duration".into(), "got 0, expected more".into());
    }
    // Each link has at most two sources of events, each traffic group one; four more look after the rest.
    let horizon = EventQueue::horizon_for(2 * plan.links.len() + plan.traffic.len() + 4);
    if plan.duration > horizon {
        let message =
            format!("got {} s, expected at most {} s with so many links", plan.duration.secs(), horizon.secs());
        return bad("duration".into(), message);
    }
    let mut last = Time::ZERO;
    for (i, &edge) in plan.boundaries.iter().enumerate() {
        if edge <= last || edge >= plan.duration {
            let message = format!("got {} s, expected increasing times inside the run", edge.secs());
            return bad(format!("boundaries[{i}]"), message);
        }
        last = edge;
    }
    for (i, link) in plan.links.iter().enumerate() {
        check_rate(link.rate, &format!("links[{i}].rate"))?;
        for (j, &(_, rate)) in link.schedule.iter().enumerate() {
            check_rate(rate, &format!("links[{i}].schedule[{j}]"))?;
        }
        if link.schedule.windows(2).any(|w| w[0].0 >= w[1].0) {
            return bad(format!("links[{i}].schedule"), "expected increasing times".into());
        }
        if link.queue.as_ref().is_some_and(|q| q.mean_packet.0 == 0) {
            return bad(format!("links[{i}].queue.mean_packet"), "got 0 bytes, expected more".into());
        }
    }
    for (i, route) in plan.routes.iter().enumerate() {
        if route.forward.is_empty() || route.forward.iter().chain(&route.reverse).any(|&l| l >= plan.links.len()) {
            return bad(format!("routes[{i}]"), "expected at least one link, and links that exist".into());
        }
    }
    if plan.traffic.is_empty() {
        return bad("traffic".into(), "got none, expected at least one flow".into());
    }
    plan.traffic
        .iter()
        .enumerate()
        .try_for_each(|(i, t)| check_traffic(plan, &t.kind).map_err(|e| e.within(&format!("traffic[{i}]"))))
}

/// The slowest link: below one bit a second a packet would take longer than any run.
fn check_rate(rate: Rate, path: &str) -> Result<(), ParamError> {
    if rate.0 == 0 {
        return Err(ParamError::new(path, "got 0 bit/s, expected more"));
    }
    Ok(())
}

fn check_traffic(plan: &Plan, kind: &TrafficKind) -> Result<(), ParamError> {
    let expect = |ok: bool, path: &str, message: &str| match ok {
        true => Ok(()),
        false => Err(ParamError::new(path, message)),
    };
    let route_ok = |r: &usize| *r < plan.routes.len();
    let answered = |r: &usize| route_ok(r) && !plan.routes[*r].reverse.is_empty();
    let positive = |x: f64| x.is_finite() && x > 0.0;
    match kind {
        TrafficKind::Tcp { transport, route, size, .. } => {
            expect(*transport < plan.transports.len(), "transport", "expected one that exists")?;
            expect(answered(route), "route", "expected one that exists and leads back")?;
            expect(*size != Some(0), "size", "got 0 packets, expected at least 1")
        }
        TrafficKind::Poisson { transport, routes, rate, size, .. } => {
            expect(*transport < plan.transports.len(), "transport", "expected one that exists")?;
            expect(!routes.is_empty() && routes.iter().all(answered), "routes", "expected some that lead back")?;
            expect(positive(*rate), "rate", "expected flows a second, more than 0")?;
            expect(*size > 0, "size", "got 0 packets, expected at least 1")
        }
        TrafficKind::Cbr { route, rate, packet, .. } => {
            expect(route_ok(route), "route", "expected one that exists")?;
            check_rate(*rate, "rate")?;
            expect((1..=65_535).contains(&packet.0), "packet", "expected 1 to 65535 bytes")
        }
        TrafficKind::Packets { route, rate, packet, size, .. } => {
            expect(route_ok(route), "route", "expected one that exists")?;
            expect(positive(*rate), "rate", "expected packets a second, more than 0")?;
            if let SizeLaw::Hyperexponential { scv } = size {
                expect(scv.is_finite() && *scv >= 1.0, "size.scv", "expected at least 1")?;
            }
            expect((1..=65_535).contains(&packet.0), "packet", "expected 1 to 65535 bytes")
        }
    }
}
