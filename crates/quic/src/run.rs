//! A run with QUIC flows: the loop over the calendar of the simulator and the timers of connections.
//!
//! At equal times the events of the simulator come first, then connections by their numbers, then samples.

use crate::clock::Clock;
use crate::connection::{Connection, Datagram, End, Progress};
use crate::library::open;
use crate::reports::{record, Windows};
use marqueue_core::params::ParamError;
use marqueue_core::{Dur, Flags, Rng, Time};
use marqueue_sim::external::{Direction, ExternalFlow, ExternalPacket, Fate, PacketFate, Reached};
use marqueue_sim::plan::{Plan, QuicPlan, TrafficKind, TrafficPlan, UDP_HEADER};
use marqueue_sim::result::{RunResult, SenderTrace};
use marqueue_sim::trace::MAX_ROWS;
use marqueue_sim::{Control, Run, RunError};
use std::collections::BTreeSet;

/// Checks what a plan asks of QUIC.
///
/// # Errors
/// If kernels take part: their clock and that of QUIC flows are not joined.
pub fn check(plan: &Plan) -> Result<(), ParamError> {
    let first = plan.traffic.iter().position(|traffic| matches!(traffic.kind, TrafficKind::Quic(_)));
    match first.filter(|_| plan.has_kernels()) {
        None => Ok(()),
        Some(i) => {
            let message = "got quic beside a Linux kernel, expected one of them in a scenario";
            Err(ParamError::new(format!("traffic[{i}].kind"), message))
        }
    }
}

/// Runs `plan` with `seed`, to its end or until the control cuts it off.
///
/// # Errors
/// If the plan is invalid or the run was cancelled.
pub fn run(plan: &Plan, seed: u64, control: &Control) -> Result<RunResult, RunError> {
    check(plan).map_err(RunError::Invalid)?;
    let is_traced = plan.links.iter().any(|link| link.trace);
    let mut network = Network::new(plan, seed)?;
    loop {
        network.run.let_look(control);
        let events = control.allows(network.run.events());
        if events == 0 || network.advance(events) {
            break;
        }
        let now = network.run.now();
        control.record(now);
        if control.is_cancelled() {
            return Err(RunError::Cancelled);
        }
        if is_traced && network.run.trace_rows() > MAX_ROWS {
            return Err(RunError::TraceFull { at: now });
        }
    }
    network.run.let_look(control);
    let result = network.finish();
    control.record(result.ended);
    Ok(result)
}

/// How many steps are made between two looks at the control.
const STEPS: u32 = 1 << 14;

/// A flow with what is known of it. Its ends exist while it has something to do.
#[derive(Debug)]
struct Flow {
    external: ExternalFlow,
    ends: Option<Box<dyn Connection>>,
    /// The time under which it is among the next.
    wakes: Time,
    trace: Option<SenderTrace>,
}

/// The simulator with all connections.
struct Network<'a> {
    plan: &'a Plan,
    seed: u64,
    clock: Clock,
    run: Run,
    flows: Vec<Flow>,
    /// Flows by the times at which they have something to do.
    next: BTreeSet<(Time, usize)>,
    /// Datagrams in the network, by their numbers there.
    datagrams: Vec<Option<Datagram>>,
    fates: Vec<PacketFate>,
    windows: Vec<(Windows, Vec<usize>)>,
    next_sample: Time,
    edges: Vec<Time>,
    progress: Progress,
}

impl<'a> Network<'a> {
    fn new(plan: &'a Plan, seed: u64) -> Result<Network<'a>, RunError> {
        let run = Run::with_external_ends(plan, seed)?;
        let flows: Vec<Flow> = run
            .external_flows()
            .iter()
            .map(|&external| Flow {
                external,
                ends: None,
                wakes: external.start,
                trace: external.trace.then(|| SenderTrace { flow: external.row, rows: Vec::new(), models: Vec::new() }),
            })
            .collect();
        let sampled = |(group, traffic): (usize, &TrafficPlan)| {
            let TrafficKind::Quic(QuicPlan { sample_cwnd: true, .. }) = &traffic.kind else { return None };
            let members: Vec<usize> = (0..flows.len()).filter(|&f| flows[f].external.group as usize == group).collect();
            Some((Windows::new(group, members.len()), members))
        };
        let windows: Vec<_> = plan.traffic.iter().enumerate().filter_map(sampled).collect();
        let is_sampled = !windows.is_empty() && plan.sample > Dur::ZERO;
        Ok(Network {
            plan,
            seed,
            clock: Clock::new(),
            run,
            next: flows.iter().enumerate().map(|(f, flow)| (flow.wakes, f)).collect(),
            flows,
            datagrams: Vec::new(),
            fates: Vec::new(),
            windows,
            next_sample: if is_sampled { Time(plan.sample.0) } else { Time::NEVER },
            edges: std::iter::once(Time::ZERO).chain(plan.boundaries.iter().copied()).chain([plan.duration]).collect(),
            progress: Progress::default(),
        })
    }

    /// Advances by some steps. Returns whether the run has ended.
    fn advance(&mut self, events: u32) -> bool {
        for _ in 0..STEPS {
            let (wakes, flow) = self.next.first().copied().unwrap_or((Time::NEVER, usize::MAX));
            let until = wakes.min(self.next_sample);
            match self.run.advance_to_fate(until, events) {
                Reached::Fate => self.deliver(),
                Reached::Spent => return false,
                Reached::End => return true,
                Reached::Time if wakes <= until => self.wake(flow, wakes),
                Reached::Time => self.sample(),
            }
        }
        false
    }

    /// Gives datagrams that have arrived to their ends.
    fn deliver(&mut self) {
        let now = self.run.now();
        let mut fates = std::mem::take(&mut self.fates);
        self.run.engine().take_fates(&mut fates);
        for fate in fates.drain(..) {
            let datagram = self.datagrams[fate.frame as usize].take();
            let index = self.flow_in_slot(fate.flow);
            let flow = &mut self.flows[index];
            let (Some(mut datagram), Some(ends)) = (datagram, &mut flow.ends) else { continue };
            if fate.fate == Fate::Lost {
                continue;
            }
            if fate.marked {
                datagram.ecn = marqueue_core::Ecn::Ce;
            }
            let mut progress = std::mem::take(&mut self.progress);
            ends.receive(datagram, self.clock, now, &mut progress);
            self.progress = progress;
            self.after(index, now);
        }
        self.fates = fates;
    }

    /// Something is due at a flow: it begins, it stops, or a timer fires.
    fn wake(&mut self, index: usize, now: Time) {
        let flow = &mut self.flows[index];
        let external = flow.external;
        if flow.ends.is_none() {
            let traffic = &self.plan.traffic[external.group as usize];
            let TrafficKind::Quic(plan) = &traffic.kind else { unreachable!("all external flows are QUIC") };
            let mut rng = Rng::named(self.seed, &format!("traffic/{}/{}/quic", traffic.name, external.row));
            flow.ends = Some(open(plan, external.size, &mut rng, self.clock, now));
        }
        let Some(ends) = &mut flow.ends else { return };
        if external.stop.is_some_and(|stop| stop <= now) {
            ends.stop();
        }
        let mut progress = std::mem::take(&mut self.progress);
        ends.wake(self.clock, now, &mut progress);
        self.progress = progress;
        self.after(index, now);
    }

    /// Sends what a flow has to send, counts what has happened, and notes when it is next.
    fn after(&mut self, index: usize, now: Time) {
        let slot = self.flows[index].external.slot;
        let mut progress = std::mem::take(&mut self.progress);
        let engine = self.run.engine();
        if progress.delivered > 0 {
            engine.count_delivered(slot, progress.delivered);
        }
        for datagram in progress.sent.drain(..) {
            let direction = match datagram.from {
                End::Server => Direction::Data,
                End::Client => Direction::Acknowledgement,
            };
            let counts = engine.external_counts(slot);
            counts.sent += u64::from(datagram.from == End::Server);
            let packet = ExternalPacket {
                flow: slot,
                direction,
                bytes: datagram.payload.len() as u32 + UDP_HEADER,
                ecn: datagram.ecn,
                flags: Flags::NONE,
                seq: counts.sent as u32,
            };
            let number = engine.inject(now, &packet) as usize;
            if number >= self.datagrams.len() {
                self.datagrams.resize_with(number + 1, || None);
            }
            self.datagrams[number] = Some(datagram);
        }
        let flow = &mut self.flows[index];
        if let (Some(trace), Some(sender)) = (&mut flow.trace, flow.ends.as_ref().and_then(|ends| ends.sender())) {
            record(trace, now, sender);
        }
        if progress.completed {
            engine.complete(slot, now);
            self.count(index);
            // Nothing is left to send but that the connection closes, which a server may do in silence.
            self.flows[index].ends = None;
        }
        progress.delivered = 0;
        progress.completed = false;
        self.progress = progress;
        self.note_next(index, now);
    }

    fn note_next(&mut self, index: usize, now: Time) {
        let flow = &mut self.flows[index];
        let timer = flow.ends.as_mut().map_or(Time::NEVER, |ends| ends.deadline(self.clock));
        let stop = flow.external.stop.filter(|&stop| stop > now && flow.ends.is_some()).unwrap_or(Time::NEVER);
        let wakes = timer.min(stop).max(now);
        if wakes != flow.wakes {
            self.next.remove(&(flow.wakes, index));
            if wakes < Time::NEVER {
                self.next.insert((wakes, index));
            }
            flow.wakes = wakes;
        }
    }

    /// Writes the counts of a sender to its flow.
    fn count(&mut self, index: usize) {
        let flow = &mut self.flows[index];
        let Some(ends) = &mut flow.ends else { return };
        let (lost, ecn_cuts) = (ends.lost(), ends.ecn_cuts());
        let counts = self.run.engine().external_counts(flow.external.slot);
        counts.retransmits = lost;
        counts.ecn_cuts = ecn_cuts;
    }

    fn sample(&mut self) {
        let at = self.next_sample;
        for (windows, members) in &mut self.windows {
            let cwnd = |&f: &usize| self.flows[f].ends.as_ref().and_then(|ends| ends.sender()).map_or(0.0, |s| s.cwnd);
            windows.sample(at, &self.edges, members.iter().map(cwnd));
        }
        self.next_sample =
            if at + self.plan.sample <= self.plan.duration { at + self.plan.sample } else { Time::NEVER };
    }

    /// The flow with this number in the simulator. They were added in this order.
    fn flow_in_slot(&self, slot: u32) -> usize {
        self.flows.binary_search_by_key(&slot, |flow| flow.external.slot).expect("the packet of an external flow")
    }

    fn finish(mut self) -> RunResult {
        for index in 0..self.flows.len() {
            self.count(index);
        }
        let mut result = self.run.finish();
        result.senders.extend(self.flows.into_iter().filter_map(|flow| flow.trace));
        result.senders.sort_by_key(|trace| trace.flow);
        let ended = result.ended;
        result.cwnds.extend(self.windows.into_iter().map(|(windows, _)| windows.finish(&self.edges, ended)));
        result.cwnds.sort_by_key(|cwnds| cwnds.group);
        result
    }
}
