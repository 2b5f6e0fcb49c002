//! Runs a plan on one thread.

use crate::control::Control;
use crate::engine::{Engine, FinishedRun, Progress};
use crate::external::{ExternalFlow, Reached};
use crate::plan::Plan;
use crate::plan_check::check_plan;
use crate::prepare::{prepare, refuse_external};
use crate::programs::{NoPrograms, Programs, UncheckedPrograms};
use crate::resource::Resource;
use crate::result::{PipeResult, RunResult};
use crate::trace::MAX_ROWS;
use marqueue_core::params::ParamError;
use marqueue_core::Time;
use std::fmt;

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
    if let Some(sink) = control.flow_sink() {
        run.engine.let_rows_leave(sink);
    }
    loop {
        run.let_look(control);
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
    run.let_look(control);
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

    /// Lets the watcher of `control` look if it is time, or the run has ended. The result does not depend on it.
    pub fn let_look(&mut self, control: &Control) {
        if control.is_look_due(if self.has_ended { u64::MAX } else { self.events() }) {
            let mut so_far = self.engine.so_far();
            so_far.links.retain(|each| self.measured[each.link]);
            control.look(&so_far);
        }
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
