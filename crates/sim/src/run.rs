//! Builds the queues of a plan and runs it.

use crate::cpu::Cpu;
use crate::delivery_trace::DeliveryTrace;
use crate::engine::{Engine, FinishedRun, PreparedRun, Progress};
use crate::external::{ExternalFlow, Reached};
use crate::flow_rows::FlowSink;
use crate::impair::Pipe;
use crate::medium::AnyMedium;
use crate::meter::Meter;
use crate::plan::{LinkPlan, Plan, QueuePlan, TrafficKind, TransportPlan};
use crate::plan_check::check_plan;
use crate::programs::{NoPrograms, Programs, UncheckedPrograms};
use crate::resource::{Medium, Resource, Server};
use crate::result::{PipeResult, RunResult};
use crate::trace::MAX_ROWS;
use marqueue_aqm::{Discipline, Env, Outside, SingleQueue};
use marqueue_cc::program::{program_of, PREFIX};
use marqueue_cc::Config;
use marqueue_core::params::ParamError;
use marqueue_core::units::Transmitter;
use marqueue_core::{Rate, Rng, Time};
use std::fmt;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::Arc;

/// Number of events between two checks of the [`Control`].
const EVENTS_PER_CHECK: u32 = 1 << 14;

/// Controls a run from another thread: progress, cancellation, limits, and where rows of flows go meanwhile.
#[derive(Debug, Default)]
pub struct Control {
    cancelled: AtomicBool,
    stopped: AtomicBool,
    /// Simulated time so far, ns.
    done: AtomicU64,
    max_events: Option<u64>,
    flow_sink: Option<Arc<dyn FlowSink>>,
}

impl Control {
    /// A control of a run that is cut off after `max_events` events.
    pub fn with_max_events(max_events: Option<u64>) -> Control {
        Control { max_events, ..Control::default() }
    }

    /// The same for a run with very many flows that arrive: if `sink` has got rows, it gets all, and the table of the
    /// result is empty. A run on several threads, and one whose flows end outside, keep all rows.
    #[must_use]
    pub fn with_flow_sink(self, sink: Arc<dyn FlowSink>) -> Control {
        Control { flow_sink: Some(sink), ..self }
    }

    /// Could rows of flows not be handed over?
    fn has_lost_rows(&self) -> bool {
        self.flow_sink.as_ref().is_some_and(|sink| sink.has_failed())
    }

    /// Cuts the run off. Its result covers the time so far. A run on several threads goes on.
    pub fn stop(&self) {
        self.stopped.store(true, Ordering::Relaxed);
    }

    /// Ends the run without a result.
    pub fn cancel(&self) {
        self.cancelled.store(true, Ordering::Relaxed);
    }

    /// Simulated time so far, s.
    pub fn done_secs(&self) -> f64 {
        self.done.load(Ordering::Relaxed) as f64 / 1e9
    }

    /// Is the run to end without a result?
    pub fn is_cancelled(&self) -> bool {
        self.cancelled.load(Ordering::Relaxed)
    }

    /// Records how far the run has come.
    pub fn record(&self, now: Time) {
        self.done.store(now.0, Ordering::Relaxed);
    }

    /// Is the run to be cut off after some events?
    pub fn has_limit(&self) -> bool {
        self.max_events.is_some()
    }

    /// Number of events until the next check, after `processed` events.
    pub fn allows(&self, processed: u64) -> u32 {
        if self.stopped.load(Ordering::Relaxed) {
            return 0;
        }
        let left = self.max_events.map_or(u64::MAX, |most| most.saturating_sub(processed));
        left.min(u64::from(EVENTS_PER_CHECK)) as u32
    }
}

/// Why a run has no result.
#[derive(Clone, Debug, PartialEq)]
pub enum RunError {
    /// The plan is invalid; the path names the offending value.
    Invalid(ParamError),
    /// The run was cancelled.
    Cancelled,
    /// A program of the user's broke off; who made it knows why.
    ProgramFailed,
    /// The rows of flows could not be handed over; the sink knows why.
    FlowSinkFailed,
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
            RunError::ProgramFailed => f.write_str("a program failed"),
            RunError::FlowSinkFailed => f.write_str("rows of flows could not be handed over"),
            RunError::TraceFull { at } => {
                let at = at.secs();
                write!(f, "got more than {MAX_ROWS} rows by {at:.3} s, expected a shorter run or fewer traced links")
            }
        }
    }
}

impl std::error::Error for RunError {}

/// Checks a plan. Returns warnings about the parameters of its queues.
///
/// # Errors
/// Names the first invalid value.
pub fn check(plan: &Plan) -> Result<Vec<String>, RunError> {
    let prepared = check_plan(plan).and_then(|()| prepare(plan, 0, &UncheckedPrograms)).map_err(RunError::Invalid)?;
    let warnings = plan.links.iter().zip(&prepared.resources).filter_map(|(link, resource)| {
        let warning = resource.as_ref()?.warning()?;
        Some(format!("{}: {warning}.", link.name))
    });
    Ok(warnings.collect())
}

/// Runs `plan` with `seed`, to its end or until the control cuts it off.
///
/// # Errors
/// If the plan is invalid or the run was cancelled.
pub fn run(plan: &Plan, seed: u64, control: &Control) -> Result<RunResult, RunError> {
    run_with(plan, seed, control, &NoPrograms)
}

/// The same with programs of the user's.
///
/// # Errors
/// If the plan is invalid, the run was cancelled or a program has failed.
pub fn run_with(plan: &Plan, seed: u64, control: &Control, programs: &impl Programs) -> Result<RunResult, RunError> {
    let is_traced = plan.links.iter().any(|l| l.trace);
    refuse_external(plan).map_err(RunError::Invalid)?;
    let mut run = Run::build(plan, seed, programs)?;
    if let Some(sink) = &control.flow_sink {
        run.engine.let_rows_leave(sink.clone());
    }
    loop {
        let events = control.allows(run.engine.processed());
        let goes_on = events > 0 && run.advance(events);
        if programs.have_failed() {
            return Err(RunError::ProgramFailed);
        }
        if !goes_on {
            break;
        }
        control.record(run.engine.now());
        if control.is_cancelled() {
            return Err(RunError::Cancelled);
        }
        if control.has_lost_rows() {
            return Err(RunError::FlowSinkFailed);
        }
        if is_traced && run.engine.trace_rows() > MAX_ROWS {
            return Err(RunError::TraceFull { at: run.engine.now() });
        }
    }
    let result = run.finish();
    if control.has_lost_rows() {
        return Err(RunError::FlowSinkFailed);
    }
    control.record(result.ended);
    Ok(result)
}

/// A run that its caller advances and watches.
#[derive(Debug)]
pub struct Run {
    engine: Engine,
    /// The edges of the measuring windows: 0, the boundaries, the duration.
    edges: Vec<Time>,
    /// For each link, whether it has a managed queue: only these are measured.
    measured: Vec<bool>,
    has_ended: bool,
}

impl Run {
    /// A run at time zero.
    ///
    /// # Errors
    /// If the plan is invalid, or has flows whose ends, or queues that, are outside.
    pub fn new(plan: &Plan, seed: u64) -> Result<Run, RunError> {
        refuse_external(plan).map_err(RunError::Invalid)?;
        Run::with_external_ends(plan, seed)
    }

    /// A run at time zero, whose caller plays the ends of some flows (see [`crate::external`]).
    ///
    /// # Errors
    /// If the plan is invalid.
    pub fn with_external_ends(plan: &Plan, seed: u64) -> Result<Run, RunError> {
        Run::build(plan, seed, &NoPrograms)
    }

    fn build(plan: &Plan, seed: u64, programs: &impl Programs) -> Result<Run, RunError> {
        check_plan(plan).map_err(RunError::Invalid)?;
        let prepared = prepare(plan, seed, programs).map_err(RunError::Invalid)?;
        Ok(Run {
            engine: Engine::new(plan, seed, prepared, None),
            edges: edges(plan),
            measured: measured(plan),
            has_ended: false,
        })
    }

    /// Processes up to this many of the events up to and including `until`, until the fate of a packet of an external
    /// endpoint is known or something happens at a queue outside.
    pub fn advance_to_fate(&mut self, until: Time, events: u32) -> Reached {
        if self.has_ended {
            return Reached::End;
        }
        let reached = self.engine.advance_to_fate(until, events);
        self.has_ended = reached == Reached::End;
        reached
    }

    /// The engine, for external endpoints.
    pub fn engine(&mut self) -> &mut Engine {
        &mut self.engine
    }

    /// The flows whose ends are outside.
    pub fn external_flows(&self) -> &[ExternalFlow] {
        self.engine.external_flows()
    }

    /// The time of the next event.
    pub fn next_event(&self) -> Option<Time> {
        self.engine.next_event()
    }

    /// Is this flow TCP?
    pub fn is_tcp(&self, flow: u32) -> bool {
        self.engine.is_tcp(flow)
    }

    /// Number of rows in the packet traces.
    pub fn trace_rows(&self) -> usize {
        self.engine.trace_rows()
    }

    /// Processes up to this many events; `false` when the run has ended.
    pub fn advance(&mut self, events: u32) -> bool {
        self.has_ended = self.has_ended || !self.engine.advance(events);
        !self.has_ended
    }

    /// Processes up to this many of the events up to and including `until`.
    pub fn advance_until(&mut self, until: Time, events: u32) -> Progress {
        if self.has_ended {
            return Progress::Ended;
        }
        let progress = self.engine.advance_until(until, events);
        self.has_ended = progress == Progress::Ended;
        progress
    }

    /// The time of the last event.
    pub fn now(&self) -> Time {
        self.engine.now()
    }

    /// Events so far.
    pub fn events(&self) -> u64 {
        self.engine.processed()
    }

    /// The queue of a link, if it has one, with its meter and its packet trace. What the caller takes from these is no
    /// part of the result.
    pub fn queue(&mut self, link: usize) -> Option<&mut Resource> {
        self.engine.queue(link)
    }

    /// The window in packets, if it is TCP and sends, and the payload bytes delivered so far, of a flow that exists from
    /// the start, by its row in the flow table.
    pub fn flow(&self, row: u32) -> Option<(Option<f64>, u64)> {
        self.engine.flow(row)
    }

    /// The result. A run that has not ended is cut off here.
    pub fn finish(mut self) -> RunResult {
        if !self.has_ended {
            self.engine.cut_off();
        }
        let ended = if self.has_ended { self.edges[self.edges.len() - 1] } else { self.engine.now() };
        collect(self.engine.finish(), self.edges, ended, &self.measured)
    }
}

/// The edges of the measuring windows: 0, the boundaries, the duration.
pub(crate) fn edges(plan: &Plan) -> Vec<Time> {
    std::iter::once(Time::ZERO).chain(plan.boundaries.iter().copied()).chain([plan.duration]).collect()
}

/// For each link, whether it has a managed queue: only these are measured.
pub(crate) fn measured(plan: &Plan) -> Vec<bool> {
    plan.links.iter().map(|link| link.queue.is_some()).collect()
}

/// Refuses flows whose ends are outside, and queues there: nothing would move their packets.
pub(crate) fn refuse_external(plan: &Plan) -> Result<(), ParamError> {
    if let Some(i) = plan.transports.iter().position(|t| t.stack.is_some()) {
        return Err(ParamError::new(format!("transports[{i}].stack"), "got a kernel, expected a model in this run"));
    }
    if let Some(i) = plan.traffic.iter().position(|t| matches!(t.kind, TrafficKind::Quic(_))) {
        let message = "got quic, expected another kind of traffic here: the QUIC library is not part of this program";
        return Err(ParamError::new(format!("traffic[{i}].kind"), message));
    }
    match plan.links.iter().position(|link| link.router().is_some()) {
        None => Ok(()),
        Some(i) => {
            let message = "got the qdisc of a kernel, expected an AQM of the simulator in this run";
            Err(ParamError::new(format!("links[{i}].queue.policy"), message))
        }
    }
}

/// The result from the parts of a run that has ended.
pub(crate) fn collect(finished: FinishedRun, edges: Vec<Time>, ended: Time, measured: &[bool]) -> RunResult {
    let FinishedRun { resources, pipes, flows, senders, rate_traces, media, cwnds, events } = finished;
    let (mut links, mut traces) = (Vec::new(), Vec::new());
    for (l, resource) in resources.into_iter().enumerate() {
        let Some(resource) = resource else { continue };
        traces.extend(resource.trace.map(|trace| (l, *trace)));
        if measured[l] {
            links.push(resource.meter.into_result(l));
        }
    }
    let pipes = pipes
        .into_iter()
        .enumerate()
        .filter_map(|(link, pipe)| Some(PipeResult { link, windows: pipe?.into_windows() }))
        .collect();
    let queue_reports = Vec::new();
    RunResult { edges, ended, links, pipes, traces, flows, senders, rate_traces, media, cwnds, queue_reports, events }
}

/// Builds the transport settings, queues and impaired pipes of a plan.
pub(crate) fn prepare(plan: &Plan, seed: u64, programs: &impl Programs) -> Result<PreparedRun, ParamError> {
    let configs = plan
        .transports
        .iter()
        .enumerate()
        .map(|(i, t)| build_config(t, programs).map_err(|e| e.within(&format!("transports[{i}]"))))
        .collect::<Result<_, _>>()?;
    let classes = plan.class_count();
    let resources = plan
        .links
        .iter()
        .enumerate()
        .map(|(i, link)| build_resource(link, classes, seed, programs).map_err(|e| e.within(&format!("links[{i}]"))))
        .collect::<Result<_, _>>()?;
    let windows = plan.boundaries.len() + 1;
    let pipes = plan
        .links
        .iter()
        .enumerate()
        .map(|(i, link)| Pipe::build(link, windows, seed).map_err(|e| e.within(&format!("links[{i}].pipe"))))
        .collect::<Result<_, _>>()?;
    Ok(PreparedRun { configs, resources, pipes })
}

/// The settings of a transport, with the program that controls it, if it names one.
fn build_config(transport: &TransportPlan, programs: &impl Programs) -> Result<Config, ParamError> {
    let mut config = Config::with_preset(&transport.preset, &transport.params)?;
    config.program = match program_of(&transport.params) {
        Some(spec) => programs.laws(spec).map_err(|e| e.within("control"))?,
        None => None,
    };
    Ok(config)
}

/// The queue of `link` with its server, if it has one. `classes` is the number of processing classes
/// ([`Plan::class_count`]).
///
/// # Errors
/// If the AQM is unknown or refuses its parameters.
pub fn build_resource(
    link: &LinkPlan,
    classes: usize,
    seed: u64,
    programs: &impl Programs,
) -> Result<Option<Resource>, ParamError> {
    let queue = match &link.queue {
        Some(queue) => queue.clone(),
        None if link.has_queue() => QueuePlan::unlimited(),
        None => return Ok(None),
    };
    let medium = link.medium.as_ref().map(|spec| {
        let rng = Rng::named(seed, &format!("link/{}/medium", link.name));
        AnyMedium::build(spec, link.rate, rng).map_err(|e| e.within("medium"))
    });
    let medium = medium.transpose()?.map(|model| {
        let capacity = model.capacity(queue.mean_packet);
        Box::new(Medium::new(model, capacity))
    });
    let env = Env {
        // Of a medium, AQMs are told what packets of usual size get of it.
        rate: medium.as_ref().map_or(link.rate, |medium| Rate((medium.capacity().round() as u64).max(1))),
        mean_packet: queue.mean_packet,
        limit: queue.limit,
        delay: link.delay,
        signal: queue.signal,
        densities: link.cpu.as_ref().map(|cpu| Box::new(cpu.densities(link.rate))),
    };
    let rng = Rng::named(seed, &format!("link/{}", link.name));
    let discipline = match queue.router {
        Some(_) => Discipline::Outside(Outside::new(env)),
        None if queue.policy.name.starts_with(PREFIX) => {
            let program = programs.policy(&queue.policy, &env).map_err(|e| e.within("queue.policy"))?;
            Discipline::Program(SingleQueue::of_program(program, env, rng))
        }
        None => Discipline::build(&queue.policy, env, rng).map_err(|e| e.within("queue.policy"))?,
    };
    let meter = Meter::new(discipline.probes(), classes);
    let server = match (&link.cpu, medium) {
        (Some(cpu), _) => Server::Cpu(Box::new(Cpu::new(cpu))),
        (None, Some(medium)) => Server::Medium(medium),
        (None, None) if !link.delivery_opportunities.is_empty() => {
            Server::DeliveryTrace(Box::new(DeliveryTrace::new(link.delivery_opportunities.clone())))
        }
        (None, None) => Server::Link(Transmitter::new(link.rate)),
    };
    let mut resource = Resource::new(discipline, server, link.delay, &link.schedule, meter);
    resource.trace = link.trace.then(Box::default);
    Ok(Some(resource))
}
