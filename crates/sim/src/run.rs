//! Checks and runs a plan.

use crate::cpu::Cpu;
use crate::delivery_trace::DeliveryTrace;
use crate::engine::{Engine, FinishedRun, PreparedRun};
use crate::events::EventQueue;
use crate::impair::Pipe;
use crate::meter::Meter;
use crate::plan::{CpuPlan, FlowSizes, LinkPlan, Plan, SizeLaw, TrafficKind, TrafficPlan};
use crate::resource::{Resource, Server};
use crate::result::{PipeResult, RunResult};
use crate::trace::MOST_ROWS;
use marqueue_aqm::{Discipline, Env};
use marqueue_cc::rate_based::AnyRateLaw;
use marqueue_cc::Config;
use marqueue_core::params::ParamError;
use marqueue_core::units::Transmitter;
use marqueue_core::{Dur, Rate, Rng, Signals, Time};
use std::fmt;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

/// The fastest link or source, bit/s: a thousand terabits.
const FASTEST: u64 = 1_000_000_000_000_000;
/// The longest propagation delay: 146 years, of which sums are still times.
const LONGEST_DELAY: Dur = Dur(1 << 62);
/// The largest usual packet, bytes.
const LARGEST_PACKET: u64 = 1_000_000_000;
/// The most cores of a CPU.
const MOST_CORES: u32 = 1024;
/// The most cycles a bit that a queue can be told.
const DENSEST: f64 = 1e9;
/// The smallest packet that carries signals, bytes: headers of IP and UDP, and the header for routers.
const LEAST_WITH_SIGNALS: u64 = 28 + Signals::BYTES as u64;
/// Most arrivals a second of a random process: the clock counts nanoseconds.
const MOST_ARRIVALS: f64 = 1e9;
/// Most flows that are there from the start.
const MOST_FLOWS: u64 = 10_000_000;
/// Most numbers that a result may hold in one kind of table: flows by windows, links by samples.
const MOST_CELLS: u64 = 100_000_000;

/// Number of events between two checks of the [`Control`].
const EVENTS_A_LOOK: u32 = 1 << 14;

/// Controls a run from another thread: progress, cancellation, limits.
#[derive(Debug, Default)]
pub struct Control {
    cancelled: AtomicBool,
    stopped: AtomicBool,
    /// Simulated nanoseconds done.
    done: AtomicU64,
    max_events: Option<u64>,
}

impl Control {
    /// A control of a run that is cut off after `max_events` events.
    pub fn with_max_events(max_events: Option<u64>) -> Control {
        Control { max_events, ..Control::default() }
    }

    /// Cuts the run off. Its result covers the time so far.
    pub fn stop(&self) {
        self.stopped.store(true, Ordering::Relaxed);
    }

    /// Ends the run without a result.
    pub fn cancel(&self) {
        self.cancelled.store(true, Ordering::Relaxed);
    }

    /// Simulated seconds done so far.
    pub fn done_secs(&self) -> f64 {
        self.done.load(Ordering::Relaxed) as f64 / 1e9
    }

    /// Number of events until the next check, after `processed` events.
    fn allows(&self, processed: u64) -> u32 {
        if self.stopped.load(Ordering::Relaxed) {
            return 0;
        }
        let left = self.max_events.map_or(u64::MAX, |most| most.saturating_sub(processed));
        left.min(u64::from(EVENTS_A_LOOK)) as u32
    }
}

/// Why a run has no result.
#[derive(Clone, Debug, PartialEq)]
pub enum RunError {
    /// The plan cannot be run; the path leads to the offending value.
    Invalid(ParamError),
    /// The run was cancelled.
    Cancelled,
    /// The packet traces exceeded the limit at this time.
    TraceFull {
        /// Simulated time.
        at: Time,
    },
}

impl fmt::Display for RunError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            RunError::Invalid(e) => e.fmt(f),
            RunError::Cancelled => f.write_str("cancelled"),
            RunError::TraceFull { at } => {
                let at = at.secs();
                write!(f, "got more than {MOST_ROWS} rows by {at:.3} s, expected a shorter run or fewer traced links")
            }
        }
    }
}

impl std::error::Error for RunError {}

/// Checks a plan. Returns warnings about the parameters of its queues.
///
/// # Errors
/// Names the first value that cannot be right.
pub fn check(plan: &Plan) -> Result<Vec<String>, RunError> {
    let prepared = check_plan(plan).and_then(|()| prepare(plan, 0)).map_err(RunError::Invalid)?;
    let said = plan.links.iter().zip(&prepared.resources).filter_map(|(link, resource)| {
        let warning = resource.as_ref()?.warning()?;
        Some(format!("{}: {warning}.", link.name))
    });
    Ok(said.collect())
}

/// Runs `plan` with `seed`, to its end or until the control cuts it off.
///
/// # Errors
/// If the plan is invalid or the run was cancelled.
pub fn run(plan: &Plan, seed: u64, control: &Control) -> Result<RunResult, RunError> {
    check_plan(plan).map_err(RunError::Invalid)?;
    let prepared = prepare(plan, seed).map_err(RunError::Invalid)?;
    let traces = plan.links.iter().any(|l| l.trace);
    let mut engine = Engine::new(plan, seed, prepared);
    let ended = loop {
        let events = control.allows(engine.processed());
        if events == 0 {
            engine.cut_off();
            break engine.now();
        }
        if !engine.advance(events) {
            break plan.duration;
        }
        control.done.store(engine.now().0, Ordering::Relaxed);
        if control.cancelled.load(Ordering::Relaxed) {
            return Err(RunError::Cancelled);
        }
        if traces && engine.traced() > MOST_ROWS {
            return Err(RunError::TraceFull { at: engine.now() });
        }
    };
    control.done.store(ended.0, Ordering::Relaxed);
    let FinishedRun { resources, pipes, flows, senders, rate_traces, cwnds, events } = engine.finish();
    let edges = std::iter::once(Time::ZERO).chain(plan.boundaries.iter().copied()).chain([plan.duration]).collect();
    let (mut links, mut traces) = (Vec::new(), Vec::new());
    for (l, resource) in resources.into_iter().enumerate() {
        let Some(resource) = resource else { continue };
        traces.extend(resource.trace.map(|trace| (l, *trace)));
        // Figures are of links with a managed queue alone.
        if plan.links[l].queue.is_some() {
            links.push(resource.meter.into_result(l));
        }
    }
    let pipes = pipes
        .into_iter()
        .enumerate()
        .filter_map(|(link, pipe)| Some(PipeResult { link, windows: pipe?.into_windows() }))
        .collect();
    Ok(RunResult { edges, ended, links, pipes, traces, flows, senders, rate_traces, cwnds, events })
}

/// Builds the transport settings, queues and impaired pipes of a plan.
fn prepare(plan: &Plan, seed: u64) -> Result<PreparedRun, ParamError> {
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
        .map(|(i, link)| queue_of(plan, link, seed).map_err(|e| e.within(&format!("links[{i}].queue.policy"))))
        .collect::<Result<_, _>>()?;
    let windows = plan.boundaries.len() + 1;
    let pipes = plan
        .links
        .iter()
        .enumerate()
        .map(|(i, link)| Pipe::of(link, windows, seed).map_err(|e| e.within(&format!("links[{i}].pipe"))))
        .collect::<Result<_, _>>()?;
    Ok(PreparedRun { configs, resources, pipes })
}

/// The queue of `link` with its server, if it has one.
///
/// # Errors
/// If the AQM is unknown or refuses its parameters.
pub fn queue_of(plan: &Plan, link: &LinkPlan, seed: u64) -> Result<Option<Resource>, ParamError> {
    let queue = match &link.queue {
        Some(queue) => queue.clone(),
        None if link.has_queue() => crate::plan::QueuePlan::endless(),
        None => return Ok(None),
    };
    let env = Env {
        rate: link.rate,
        mean_packet: queue.mean_packet,
        limit: queue.limit,
        delay: link.delay,
        signal: queue.signal,
        densities: link.cpu.as_ref().map(|cpu| Box::new(cpu.densities(link.rate))),
    };
    let rng = Rng::named(seed, &format!("link/{}", link.name));
    let discipline = Discipline::build(&queue.policy, env, rng)?;
    let meter = Meter::new(discipline.probes(), plan.classes());
    let server = match &link.cpu {
        Some(cpu) => Server::Cpu(Box::new(Cpu::new(cpu))),
        None if !link.opportunities.is_empty() => {
            Server::DeliveryTrace(Box::new(DeliveryTrace::new(link.opportunities.clone())))
        }
        None => Server::Link(Transmitter::new(link.rate)),
    };
    let mut resource = Resource::new(discipline, server, link.delay, &link.schedule, meter);
    resource.trace = link.trace.then(Box::default);
    Ok(Some(resource))
}

/// Checks everything that deserialization does not check.
fn check_plan(plan: &Plan) -> Result<(), ParamError> {
    let bad = |path: String, message: String| Err(ParamError::new(path, message));
    if plan.duration == Time::ZERO {
        return bad("duration".into(), "got 0, expected more".into());
    }
    // Each link has at most two sources of events, each traffic group one; there are four more.
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
    check_links(plan)?;
    if plan.traffic.is_empty() {
        return bad("traffic".into(), "got none, expected at least one flow".into());
    }
    plan.traffic
        .iter()
        .enumerate()
        .try_for_each(|(i, t)| check_traffic(plan, &t.kind).map_err(|e| e.within(&format!("traffic[{i}]"))))?;
    check_sizes(plan)
}

/// Checks links and routes, beyond what deserialization checks.
///
/// # Errors
/// Names the first value that cannot be right.
pub fn check_links(plan: &Plan) -> Result<(), ParamError> {
    let bad = |path: String, message: String| Err(ParamError::new(path, message));
    for (i, link) in plan.links.iter().enumerate() {
        check_rate(link.rate, &format!("links[{i}].rate"))?;
        for (j, &(_, rate)) in link.schedule.iter().enumerate() {
            check_rate(rate, &format!("links[{i}].schedule[{j}]"))?;
        }
        let times = &link.opportunities;
        if times.windows(2).any(|w| w[0] > w[1]) || times.last() == Some(&Dur::ZERO) {
            return bad(format!("links[{i}].opportunities"), "expected times that do not decrease, above zero".into());
        }
        if !times.is_empty() && (!link.schedule.is_empty() || link.cpu.is_some()) {
            return bad(format!("links[{i}].opportunities"), "expected neither schedule nor cpu beside them".into());
        }
        if link.schedule.windows(2).any(|w| w[0].0 >= w[1].0) {
            return bad(format!("links[{i}].schedule"), "expected increasing times".into());
        }
        if link.delay > LONGEST_DELAY {
            let message =
                format!("got {} s, expected at most {} s", link.delay.0 / 1_000_000_000, LONGEST_DELAY.secs());
            return bad(format!("links[{i}].delay"), message);
        }
        if let Some(cpu) = &link.cpu {
            check_cpu(plan, link, cpu).map_err(|e| e.within(&format!("links[{i}]")))?;
        }
        if let Some(size) =
            link.queue.as_ref().map(|q| q.mean_packet.0).filter(|size| !(1..=LARGEST_PACKET).contains(size))
        {
            let message = format!("got {size} bytes, expected 1 to {LARGEST_PACKET}");
            return bad(format!("links[{i}].queue.mean_packet"), message);
        }
    }
    for (i, route) in plan.routes.iter().enumerate() {
        if route.forward.is_empty() || route.forward.iter().chain(&route.reverse).any(|&l| l >= plan.links.len()) {
            return bad(format!("routes[{i}]"), "expected at least one link, and links that exist".into());
        }
    }
    Ok(())
}

/// Checks sizes that determine memory whatever happens in the run.
fn check_sizes(plan: &Plan) -> Result<(), ParamError> {
    let flows = plan.flows();
    if flows > MOST_FLOWS {
        return Err(ParamError::new("traffic", format!("got {flows} flows in all, expected at most {MOST_FLOWS}")));
    }
    let windows = plan.boundaries.len() as u64 + 1;
    if flows * windows > MOST_CELLS {
        let message =
            format!("got {windows} windows for {flows} flows, expected at most {MOST_CELLS} of both multiplied");
        return Err(ParamError::new("boundaries", message));
    }
    let queues = plan.links.iter().filter(|l| l.queue.is_some()).count() as u64;
    let sampled = |t: &&TrafficPlan| matches!(t.kind, TrafficKind::Tcp { sample_cwnd: true, .. });
    let series = queues + plan.traffic.iter().filter(sampled).count() as u64;
    let samples = plan.duration.0.checked_div(plan.sample.0).unwrap_or(0);
    if samples.saturating_mul(series) > MOST_CELLS {
        let least = Dur((plan.duration.0 / MOST_CELLS + 1).saturating_mul(series));
        let message = format!("got {} s, expected at least {} s in so long a run", plan.sample.secs(), least.secs());
        return Err(ParamError::new("sample", message));
    }
    Ok(())
}

/// Checks a CPU: it needs a queue, nothing behind it, and an entry for each processing class.
fn check_cpu(plan: &Plan, link: &LinkPlan, cpu: &CpuPlan) -> Result<(), ParamError> {
    let refuse = |path: &str, message: String| Err(ParamError::new(path, message));
    if link.queue.is_none() || link.delay > Dur::ZERO || !link.schedule.is_empty() || link.pipe.is_any() {
        return refuse("cpu", "expected a queue, and neither delay, schedule nor pipe".into());
    }
    if !(1..=FASTEST).contains(&cpu.clock.0) {
        return refuse("cpu.clock", format!("got {} cycles/s, expected 1 to {FASTEST}", cpu.clock.0));
    }
    if !(1..=MOST_CORES).contains(&cpu.cores) {
        return refuse("cpu.cores", format!("got {}, expected 1 to {MOST_CORES}", cpu.cores));
    }
    if cpu.work.len() < plan.classes() {
        return refuse("cpu.work", format!("got {} classes, expected {}", cpu.work.len(), plan.classes()));
    }
    for (i, work) in cpu.work.iter().enumerate() {
        if !(0.0..=DENSEST).contains(&work.density) {
            let message = format!("got {} cycles/bit, expected 0 to {DENSEST}", work.density);
            return refuse(&format!("cpu.work[{i}].density"), message);
        }
    }
    match cpu.lambda {
        Some(lambda) if !(lambda > 0.0 && lambda < 1.0) => {
            refuse("cpu.lambda", format!("got {lambda}, expected more than 0 and less than 1"))
        }
        _ => Ok(()),
    }
}

/// Below one bit a second a packet would take longer than any run.
fn check_rate(rate: Rate, path: &str) -> Result<(), ParamError> {
    if !(1..=FASTEST).contains(&rate.0) {
        return Err(ParamError::new(path, format!("got {} bit/s, expected 1 to {FASTEST}", rate.0)));
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
    let arrivals = |x: f64, what: &str| {
        let message = format!("got {x}, expected {what} a second, more than 0 and at most {MOST_ARRIVALS}");
        expect(x > 0.0 && x <= MOST_ARRIVALS, "rate", &message)
    };
    match kind {
        TrafficKind::Tcp { transport, route, size, write, .. } => {
            expect(*transport < plan.transports.len(), "transport", "expected one that exists")?;
            expect(answered(route), "route", "expected one that exists and leads back")?;
            expect(*size != Some(0), "size", "got 0 packets, expected at least 1")?;
            let Some(write) = write else { return Ok(()) };
            let every = Dur(1)..=Dur(plan.duration.0);
            expect(write.packets > 0, "write", "got 0 packets, expected at least 1")?;
            expect(every.contains(&write.every), "every", "expected a time above zero, at most the duration of the run")
        }
        TrafficKind::Poisson { transport, routes, rate, size, law, .. } => {
            expect(*transport < plan.transports.len(), "transport", "expected one that exists")?;
            expect(!routes.is_empty() && routes.iter().all(answered), "routes", "expected some that lead back")?;
            arrivals(*rate, "flows")?;
            if let FlowSizes::Pareto { shape } = law {
                expect(shape.is_finite() && *shape > 1.0, "law.shape", "expected more than 1")?;
            }
            expect(*size > 0, "size", "got 0 packets, expected at least 1")
        }
        TrafficKind::Cbr { route, rate, packet, .. } => {
            expect(route_ok(route), "route", "expected one that exists")?;
            check_rate(*rate, "rate")?;
            expect((1..=65_535).contains(&packet.0), "packet", "expected 1 to 65535 bytes")
        }
        TrafficKind::Paced { control, route, rate, packet, .. } => {
            let law = AnyRateLaw::build(control, *packet).map_err(|e| e.within("control"))?;
            expect(answered(route), "route", "expected one that exists and leads back")?;
            check_rate(*rate, "rate")?;
            expect((1..=65_535).contains(&packet.0), "packet", "expected 1 to 65535 bytes")?;
            let message = format!("expected at least {LEAST_WITH_SIGNALS} bytes, which the headers take");
            expect(!law.uses_router_feedback() || packet.0 >= LEAST_WITH_SIGNALS, "packet", &message)
        }
        TrafficKind::Packets { route, rate, packet, size, .. } => {
            expect(route_ok(route), "route", "expected one that exists")?;
            arrivals(*rate, "packets")?;
            if let SizeLaw::Hyperexponential { scv } = size {
                expect(scv.is_finite() && *scv >= 1.0, "size.scv", "expected at least 1")?;
            }
            expect((1..=65_535).contains(&packet.0), "packet", "expected 1 to 65535 bytes")
        }
    }
}
