//! The engine: the state of a run and the event loop.
//!
//! - [`forwarding`]: packets enter and leave links.
//! - [`endpoints`]: senders and receivers; [`rate_based`]: those of rate-based flows.
//! - [`external`]: flows whose ends are outside; [`outside`]: queues that are.
//! - [`flow_lifecycle`]: the start and end of flows.
//! - [`handover`]: packets to and from other threads.
//! - [`prefetching`]: prefetching of what the next events need.
//! - [`schedule`]: all other events.

mod endpoints;
mod external;
mod flow_lifecycle;
mod forwarding;
mod handover;
mod media;
mod outside;
mod prefetching;
mod rate_based;
mod schedule;

pub use handover::Part;

use crate::coming_flows::ComingFlows;
use crate::events::EventQueue;
use crate::external::{ExternalFlow, PacketFate};
use crate::flow::{Flow, FlowKind};
use crate::flow_delays::FlowDelays;
use crate::flow_links::FlowLinks;
use crate::flow_rows::FlowRows;
use crate::impair::Pipe;
use crate::line::Line;
use crate::next_events::NextEvents;
use crate::packet_options::PacketOptions;
use crate::plan::{LinkPlan, Plan};
use crate::resource::Resource;
use crate::result::{CwndResult, FlowTable, MediaTrace, RateTrace, SenderTrace};
use crate::route::Routes;
use crate::slots::Slots;
use crate::timers::Timers;
use crate::traffic::{reuses_slots, slots_for, Arrivals};
use crate::window_meter::WindowMeter;
use crate::wire::Wire;
use marqueue_aqm::Qdisc;
use marqueue_cc::{Config, Options, Segment};
use marqueue_core::{Dscp, Dur, Forms, Head, Packet, Time};
use marqueue_huge_pages::ask_for_huge_pages;
use std::collections::VecDeque;

/// No source.
const NONE: u32 = u32::MAX;
/// Flows from which huge pages pay: with 10^6 they save an eighth of the time, with 10^5 a fiftieth. In large networks, where
/// [`NextEvents`] are prefetched, they save nothing (docs/performance/profile.md).
const HUGE_PAGES_FROM: usize = 200_000;

/// A link.
#[derive(Debug)]
struct Link {
    entrance: Entrance,
    /// Source of the event of its first arrival, and index of the line of packets that will arrive.
    arrival_source: u32,
    /// Source of the event by which its departures must have been computed.
    catch_up_source: u32,
    /// Decides between packets that arrive at the same instant: that of the link with the lower rank comes first.
    rank: u32,
}

/// The entrance of a link.
#[derive(Debug)]
enum Entrance {
    Wire(Wire),
    Merged(Box<Merged>),
    FlowLinks(Box<FlowLinks>),
    Resource(Box<Resource>),
}

/// A merged wire (see [`crate::route`]).
#[derive(Debug)]
struct Merged {
    wire: Wire,
    /// Packets that will enter: time, rank of the link they come from, packet. Sorted by time and rank.
    pending: VecDeque<(Time, u32, Packet)>,
    lead: Dur,
}

/// A source of events that is not the first arrival of a line. Sources are numbered in this order, which decides among
/// events at the same time: arrivals come first, measurements last.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Source {
    /// The first packet on links of single flows arrives.
    FlowLinks(u32),
    /// The departures of a queue, or of a merged wire, must be computed.
    CatchUp(u32),
    /// A traffic group stops.
    Stop,
    /// A transmission from a queue outside ends.
    Outside(u32),
    /// Flow timers.
    Timers,
    /// An arrival process.
    Process(u32),
    /// The end of a period of [`crate::slots`].
    EndOfPeriod,
    /// The sampler.
    Sample,
    /// The end of a measuring window.
    Edge,
}

/// The parts of a plan, checked and built before the run starts.
#[derive(Debug)]
pub struct PreparedRun {
    /// The transport settings.
    pub configs: Vec<Config>,
    /// The queue of each link that has one.
    pub resources: Vec<Option<Resource>>,
    /// The pipe of each link that is impaired.
    pub pipes: Vec<Option<Box<Pipe>>>,
}

/// The parts of a run that has ended, from which results are taken.
#[derive(Debug)]
pub struct FinishedRun {
    /// The queue of each link that has one.
    pub resources: Vec<Option<Resource>>,
    /// The pipe of each link that is impaired.
    pub pipes: Vec<Option<Box<Pipe>>>,
    /// All flows.
    pub flows: FlowTable,
    /// Traces of TCP senders.
    pub senders: Vec<SenderTrace>,
    /// Traces of rate-based senders.
    pub rate_traces: Vec<RateTrace>,
    /// Media flows.
    pub media: Vec<MediaTrace>,
    /// Sampled windows of groups of TCP flows.
    pub cwnds: Vec<CwndResult>,
    /// Events processed.
    pub events: u64,
}

/// How far a run was advanced.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Progress {
    /// To the end.
    Ended,
    /// To the given time.
    Reached,
    /// By the given number of events.
    Spent,
}

/// The state of a run.
#[derive(Debug)]
pub struct Engine {
    now: Time,
    events: EventQueue,
    /// Packets on links whose arrival at the next stage is an event, by source. These sources are the first.
    lines: Vec<Line>,
    /// The forms of packets on lines.
    forms: Forms,
    /// All other sources, numbered after the lines.
    sources: Vec<Source>,
    links: Vec<Link>,
    /// For each link, its pipe if it is impaired.
    pipes: Vec<Option<Box<Pipe>>>,
    /// The links whose queues are outside.
    outside: Vec<u32>,
    routes: Routes,
    flows: Vec<Flow>,
    /// Slots of flows that have ended, if flows that arrive get them.
    slots: Option<Box<Slots>>,
    /// Packets of flows whose slots are others' now: those that entered the network here less those that left it here. None
    /// of them is in the network.
    retired: i64,
    /// Flows that have arrived, those ahead of the clock included.
    created: u64,
    timers: Timers,
    timers_source: u32,
    arrivals: Vec<Arrivals>,
    /// The delays of flows with links of their own.
    flow_delays: FlowDelays,
    configs: Vec<Config>,
    /// For each transport, whether its flows are external.
    external_transports: Vec<bool>,
    /// Code points and processing classes of the traffic groups.
    heads: Vec<Head>,
    /// Ends of the measuring windows; the last is the duration.
    edges: Vec<Time>,
    next_edge: usize,
    sample: Dur,
    next_sample: Time,
    /// Future stops of traffic groups, the next one last.
    stops: Vec<(Time, u32)>,
    /// The pool of packet options, by slot.
    option_slots: Vec<PacketOptions>,
    free_option_slots: Vec<u32>,
    /// Buffer for the segments of the sender that is called.
    segments: Vec<Segment>,
    /// Buffer for the options of the receiver that is called.
    ack_options: Options,
    rows: FlowRows,
    senders: Vec<SenderTrace>,
    rate_traces: Vec<RateTrace>,
    media: Vec<MediaTrace>,
    cwnds: Vec<WindowMeter>,
    /// Flows whose ends are outside, in the order of their slots.
    external_flows: Vec<ExternalFlow>,
    /// What became of the packets of external endpoints, until it is taken.
    fates: Vec<PacketFate>,
    /// The part of the network that it simulates, if other threads simulate others.
    part: Option<Box<Part>>,
    processed: u64,
    next_events: NextEvents,
    coming_flows: ComingFlows,
}

impl Engine {
    /// An engine at time zero, of a whole network or of one part of it.
    pub fn new(plan: &Plan, seed: u64, prepared: PreparedRun, part: Option<Part>) -> Engine {
        let PreparedRun { configs, resources, pipes } = prepared;
        let routes = Routes::new(plan, &configs, &pipes);
        let entrance = plan.links.iter().zip(resources).zip(&routes.lead);
        let links = entrance
            .map(|((l, resource), &lead)| Link {
                entrance: entrance_of(l, resource, lead),
                arrival_source: NONE,
                catch_up_source: NONE,
                rank: NONE,
            })
            .collect::<Vec<_>>();
        // Allocated at once: growing would copy all flows and fragment memory.
        let mut flows = Vec::with_capacity(slots_for(plan) as usize);
        let queues = links.iter().filter(|link| matches!(link.entrance, Entrance::Resource(_))).count();
        let has_flow_queues =
            |link: &&Link| matches!(&link.entrance, Entrance::Resource(r) if r.qdisc.has_flow_queues());
        let next_events = NextEvents::new(queues, links.iter().filter(has_flow_queues).count(), flows.capacity());
        let coming_flows = ComingFlows::new(&configs);
        if flows.capacity() >= HUGE_PAGES_FROM && !next_events.is_on() {
            ask_for_huge_pages(flows.spare_capacity_mut());
        }
        let slots = reuses_slots(plan).then(|| {
            let (me, parts) = part.as_ref().map_or((0, 1), Part::number_of);
            Box::new(Slots::new(me, parts))
        });
        let mut engine = Engine {
            now: Time::ZERO,
            events: EventQueue::new(0),
            lines: Vec::new(),
            forms: Forms::default(),
            sources: Vec::new(),
            links,
            pipes,
            outside: (0u32..).zip(&plan.links).filter(|(_, link)| link.router().is_some()).map(|(l, _)| l).collect(),
            routes,
            flows,
            slots,
            retired: 0,
            created: 0,
            timers: Timers::default(),
            timers_source: NONE,
            arrivals: Vec::new(),
            flow_delays: FlowDelays::new(plan, seed),
            configs,
            external_transports: plan.transports.iter().map(|t| t.stack.is_some()).collect(),
            heads: plan
                .traffic
                .iter()
                .map(|t| Head::new(Dscp::from_bits(t.dscp), t.class).with_ecn(t.kind.ecn()))
                .collect(),
            edges: plan.boundaries.iter().copied().chain([plan.duration]).collect(),
            next_edge: 0,
            sample: plan.sample,
            next_sample: if plan.sample == Dur::ZERO { Time::NEVER } else { Time::ZERO + plan.sample },
            stops: Vec::new(),
            option_slots: Vec::new(),
            free_option_slots: Vec::new(),
            segments: Vec::new(),
            ack_options: Options::NONE,
            rows: FlowRows::new(plan.boundaries.len() + 1),
            senders: Vec::new(),
            rate_traces: Vec::new(),
            media: Vec::new(),
            cwnds: Vec::new(),
            external_flows: Vec::new(),
            fates: Vec::new(),
            part: part.map(Box::new),
            processed: 0,
            next_events,
            coming_flows,
        };
        engine.number_sources(plan);
        engine.restrict();
        engine.add_traffic(plan, seed);
        engine.leave_arrivals_to_others();
        engine.schedule_all();
        engine
    }

    /// The time of the last event.
    pub fn now(&self) -> Time {
        self.now
    }

    /// Events so far.
    pub fn processed(&self) -> u64 {
        self.processed
    }

    /// Processes up to `n` events; `false` when the run has ended.
    pub fn advance(&mut self, n: u32) -> bool {
        for _ in 0..n {
            let Some((time, source)) = self.events.first() else { return false };
            if !self.process(time, source) {
                return false;
            }
        }
        true
    }

    /// Processes up to `n` of the events up to and including `until`.
    pub fn advance_until(&mut self, until: Time, n: u32) -> Progress {
        for _ in 0..n {
            match self.events.first() {
                Some((time, _)) if time > until => return Progress::Reached,
                Some((time, source)) if self.process(time, source) => {}
                _ => return Progress::Ended,
            }
        }
        Progress::Spent
    }

    /// Processes the next event; `false` when it ends the run.
    #[inline(always)]
    fn process(&mut self, time: Time, source: u32) -> bool {
        debug_assert!(time >= self.now, "time runs backwards");
        self.now = time;
        self.processed += 1;
        if self.processed == self.next_events.at {
            self.prefetch_next();
        }
        if (source as usize) < self.lines.len() {
            self.arrival(source);
            return true;
        }
        self.dispatch(self.sources[source as usize - self.lines.len()])
    }

    /// Processes an event other than an arrival; `false` when the run has ended.
    #[inline(never)]
    fn dispatch(&mut self, source: Source) -> bool {
        match source {
            Source::FlowLinks(l) => self.flow_link_arrival(l),
            Source::CatchUp(l) => self.catch_up_due(l),
            Source::Outside(l) => self.transmission_ends(l),
            Source::Stop => self.stop_group(),
            Source::Timers => self.fire_timer(),
            Source::Process(i) => self.random_arrival(i as usize),
            Source::EndOfPeriod => self.end_period(),
            Source::Sample => self.take_sample(),
            Source::Edge => return self.end_window(),
        }
        true
    }

    /// The queue of a link, if it has one.
    pub fn queue(&mut self, link: usize) -> Option<&mut Resource> {
        match &mut self.links.get_mut(link)?.entrance {
            Entrance::Resource(r) => Some(r),
            Entrance::Wire(_) | Entrance::Merged(_) | Entrance::FlowLinks(_) => None,
        }
    }

    /// The window in packets, if it is TCP and sends, and the payload bytes delivered so far, of a flow that exists from
    /// the start. `row` is its row in the flow table, and was its slot then.
    pub fn flow(&self, row: u32) -> Option<(Option<f64>, u64)> {
        let settled = self.rows.settled(row)?;
        // The slot of a flow that has ended may have another.
        let Some(flow) = self.flows.get(row as usize).filter(|flow| flow.row == row) else {
            return Some((None, settled));
        };
        let cwnd = match &flow.kind {
            FlowKind::Tcp(tcp) if tcp.started => Some(tcp.sender.core().window.cwnd),
            _ => None,
        };
        Some((cwnd, settled + flow.delivered))
    }

    /// Number of rows in the traces of all links.
    pub fn trace_rows(&self) -> usize {
        let rows = |link: &Link| match &link.entrance {
            Entrance::Resource(r) => r.trace.as_ref().map_or(0, |t| t.rows.len()),
            Entrance::Wire(_) | Entrance::Merged(_) | Entrance::FlowLinks(_) => 0,
        };
        self.links.iter().map(rows).sum()
    }

    /// Ends the run and returns its parts.
    pub fn finish(mut self) -> FinishedRun {
        // Packets on their way and the timers leave their room to the rows of flows.
        drop((self.lines, self.timers));
        let resources = self
            .links
            .into_iter()
            .map(|link| match link.entrance {
                Entrance::Resource(r) => Some(*r),
                Entrance::Wire(_) | Entrance::Merged(_) | Entrance::FlowLinks(_) => None,
            })
            .collect();
        FinishedRun {
            resources,
            pipes: self.pipes,
            flows: self.rows.finish(&mut self.flows),
            senders: self.senders,
            rate_traces: self.rate_traces,
            media: self.media,
            cwnds: self.cwnds.into_iter().map(WindowMeter::into_result).collect(),
            events: self.processed,
        }
    }
}

fn entrance_of(link: &LinkPlan, resource: Option<Resource>, lead: Option<Dur>) -> Entrance {
    if link.per_flow.is_some() {
        return Entrance::FlowLinks(Box::new(FlowLinks::new(link.rate)));
    }
    let wire = Wire::new(link.rate, link.delay);
    match (resource, lead) {
        (Some(r), _) => Entrance::Resource(Box::new(r)),
        (None, Some(lead)) => Entrance::Merged(Box::new(Merged { wire, pending: VecDeque::new(), lead })),
        (None, None) => Entrance::Wire(wire),
    }
}

/// The resource of a link that has one.
#[inline]
fn resource(links: &mut [Link], l: u32) -> &mut Resource {
    match &mut links[l as usize].entrance {
        Entrance::Resource(r) => r,
        Entrance::Wire(_) | Entrance::Merged(_) | Entrance::FlowLinks(_) => unreachable!("a wire has no queue"),
    }
}
