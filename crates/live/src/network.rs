//! The network of a plan between two ends, with time as an argument.
//!
//! It connects the queues, transmitters and impairments of the simulator ([`Resource`], [`Wire`], [`Pipe`]) along the
//! routes of the plan. [`Network::advance`] processes everything that is due, in order of time. Results are therefore
//! exact to the nanosecond, however late it is called.
//!
//! The `options` of a packet are the slot of its bytes in the packet pool, its `stage` is the index of its next stage.

use crate::sample_feed::{SampleFeed, SharedSamples};
use marqueue_aqm::Qdisc;
use marqueue_core::params::ParamError;
use marqueue_core::{Flags, Packet, Price, Signals, Time};
use marqueue_sim::impair::Pipe;
use marqueue_sim::plan::{LinkPlan, Plan, QueuePlan};
use marqueue_sim::programs::Programs;
use marqueue_sim::resource::Resource;
use marqueue_sim::result::{LinkResult, PipeResult};
use marqueue_sim::wire::Wire;
use marqueue_sim::{build_resource, check_links};
use std::collections::VecDeque;

/// An end of the network.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    /// The start of the plan's routes.
    Near,
    /// Their end.
    Far,
}

impl End {
    /// Both ends.
    pub const BOTH: [End; 2] = [End::Near, End::Far];

    /// The other end.
    pub fn other(self) -> End {
        match self {
            End::Near => End::Far,
            End::Far => End::Near,
        }
    }
}

/// A stage of a route.
#[derive(Clone, Copy, Debug)]
enum Stage {
    /// The packet enters a link.
    Link(u32),
    /// The packet leaves the network.
    Exit(End),
}

/// The first part of a link: a queue, or a wire without one.
#[derive(Debug)]
enum Entrance {
    Queue(Box<Resource>),
    Wire(Wire),
}

#[derive(Debug)]
struct Link {
    entrance: Entrance,
    pipe: Option<Box<Pipe>>,
    /// The packets on their way to the far end, in the order in which they arrive. Few links reorder, so that they are
    /// added and taken at the ends, which a cache holds however many there are.
    in_transit: VecDeque<InTransit>,
    /// True if its measurements are part of the result.
    metered: bool,
}

/// A packet on its way to the far end of a link.
#[derive(Clone, Copy, Debug)]
struct InTransit {
    /// When it arrives.
    at: Time,
    /// How many had left a transmitter before it: that decides between arrivals at the same instant.
    number: u64,
    packet: Packet,
}

/// A packet that has crossed the network.
#[derive(Clone, Copy, Debug)]
pub struct Exit {
    /// When it is due to leave.
    pub due: Time,
    /// The end at which it leaves.
    pub end: End,
    /// The packet, with its ECN field as the network set it.
    pub packet: Packet,
}

/// The network with its state.
#[derive(Debug)]
pub struct Network {
    links: Vec<Link>,
    stages: Vec<Stage>,
    /// For each route its first stage from the near end and from the far end.
    first_stages: Vec<(u32, u32)>,
    /// How many packets have left a transmitter.
    departed: u64,
    /// Packets that have crossed the network, in order of time.
    pub exits: VecDeque<Exit>,
    /// Packets dropped or lost that the caller has not drained yet.
    pub lost: Vec<Packet>,
    /// The header for routers of the packet in each slot that has one.
    signals: Vec<Signals>,
    /// The ends of the measuring windows.
    edges: Vec<Time>,
    next_edge: usize,
    sample_interval: Time,
    next_sample: Time,
    feed: Option<SampleFeed>,
}

impl Network {
    /// The empty network of `plan`, with the programs that it names as AQMs. Its AQMs and impairments draw from `seed`; a
    /// link without a queue is a wire.
    ///
    /// # Errors
    /// Names the first invalid value. Packet traces are refused: sequence numbers are not read.
    pub fn new(plan: &Plan, seed: u64, programs: &impl Programs) -> Result<Network, ParamError> {
        check_links(plan)?;
        let mut links = Vec::new();
        for (i, link) in plan.links.iter().enumerate() {
            if link.router().is_some() {
                let message = "got the qdisc of a simulated kernel, expected an AQM of the simulator";
                return Err(ParamError::new(format!("links[{i}].queue.policy"), message));
            }
            links.push(build_link(plan, link, seed, programs).map_err(|e| e.within(&format!("links[{i}]")))?);
        }
        let (mut stages, mut first_stages) = (Vec::new(), Vec::new());
        for route in &plan.routes {
            let mut add_stages = |links: &[usize], end| {
                let first = stages.len() as u32;
                stages.extend(links.iter().map(|&l| Stage::Link(l as u32)).chain([Stage::Exit(end)]));
                first
            };
            first_stages.push((add_stages(&route.forward, End::Far), add_stages(&route.reverse, End::Near)));
        }
        let sample_interval = Time(plan.sample.0);
        Ok(Network {
            links,
            stages,
            first_stages,
            departed: 0,
            exits: VecDeque::new(),
            lost: Vec::new(),
            signals: Vec::new(),
            edges: plan.boundaries.iter().copied().chain([plan.duration]).collect(),
            next_edge: 0,
            sample_interval,
            next_sample: if sample_interval == Time::ZERO { Time::NEVER } else { sample_interval },
            feed: None,
        })
    }

    /// Passes samples to another thread from now on. They are then no part of the result.
    pub fn share_samples(&mut self) -> SharedSamples {
        self.feed.insert(SampleFeed::new(self.links.len())).shared()
    }

    /// Number of routes.
    pub fn route_count(&self) -> usize {
        self.first_stages.len()
    }

    /// Sets the header for routers of the packet in `slot`, which has [`Flags::SIGNALS`].
    pub fn set_signals(&mut self, slot: u32, signals: Signals) {
        if self.signals.len() <= slot as usize {
            self.signals.resize(slot as usize + 1, Signals::for_max_price(0));
        }
        self.signals[slot as usize] = signals;
    }

    /// The header for routers of the packet in `slot`, with the prices of the queues that it has passed.
    pub fn signals(&self, slot: u32) -> Signals {
        self.signals[slot as usize]
    }

    /// A packet enters `route` at `end`. Everything due before `now` is processed first.
    pub fn enter(&mut self, now: Time, end: End, route: usize, packet: Packet) {
        self.advance(now);
        let (forward, reverse) = self.first_stages[route];
        let stage = if end == End::Near { forward } else { reverse };
        self.enter_stage(now, packet.with_stage(stage));
    }

    /// Processes everything that is due by `now`. At the same instant measurements come first, then arrivals, then
    /// departures.
    pub fn advance(&mut self, now: Time) {
        loop {
            let (arrival, _, from) = self.next_arrival();
            let (deadline, l) = self.next_deadline();
            let measurement = self.next_measurement();
            if arrival.min(deadline).min(measurement) > now {
                return;
            }
            if measurement <= arrival.min(deadline) {
                self.measure_due(measurement);
            } else if deadline < arrival {
                self.catch_up(l, deadline);
            } else if let Some(arrived) = self.links[from].in_transit.pop_front() {
                self.enter_stage(arrived.at, arrived.packet);
            }
        }
    }

    /// The time at which something is due next.
    pub fn next_due(&self) -> Time {
        self.next_arrival().0.min(self.next_deadline().0).min(self.next_measurement())
    }

    /// Has the last measuring window ended?
    pub fn has_ended(&self) -> bool {
        self.next_edge == self.edges.len()
    }

    /// Ends the run at `now`, and with it the current measuring window. Returns the measurements.
    pub fn finish(mut self, now: Time) -> (Vec<LinkResult>, Vec<PipeResult>) {
        self.advance(now);
        if !self.has_ended() {
            self.close_windows(now);
        }
        if let Some(feed) = self.feed {
            feed.finish();
        }
        let (mut links, mut pipes) = (Vec::new(), Vec::new());
        for (i, link) in self.links.into_iter().enumerate() {
            if let (true, Entrance::Queue(resource)) = (link.metered, link.entrance) {
                links.push(resource.meter.into_result(i));
            }
            pipes.extend(link.pipe.map(|pipe| PipeResult { link: i, windows: pipe.into_windows() }));
        }
        (links, pipes)
    }

    /// Number of packets in the network, with exits that were not taken yet.
    pub fn in_flight(&self) -> usize {
        let within = |link: &Link| match &link.entrance {
            Entrance::Queue(resource) => resource.qdisc.len() as usize + link.in_transit.len(),
            Entrance::Wire(_) => link.in_transit.len(),
        };
        self.exits.len() + self.links.iter().map(within).sum::<usize>()
    }

    /// A packet enters its next stage at `now`.
    fn enter_stage(&mut self, now: Time, packet: Packet) {
        let stage = self.stages[packet.stage() as usize];
        let packet = packet.with_stage(packet.stage() + 1);
        let l = match stage {
            Stage::Exit(end) => return self.exits.push_back(Exit { due: now, end, packet }),
            Stage::Link(l) => l,
        };
        // An arrival precedes a departure at the same instant, as in the simulator.
        if now > Time::ZERO {
            self.catch_up(l, Time(now.0 - 1));
        }
        let departure = match &mut self.links[l as usize].entrance {
            Entrance::Wire(wire) => Some((packet, wire.transit(now, packet.bytes()))),
            Entrance::Queue(resource) => {
                resource.enqueue(now, packet);
                if packet.has(Flags::SIGNALS) {
                    if let Some(price) = resource.qdisc.price(&packet) {
                        self.signals[packet.options() as usize].add_price(Price { router: l, ..price });
                    }
                }
                let started = resource.start(now);
                self.lost.append(&mut resource.lost);
                started
            }
        };
        if let Some((packet, at)) = departure {
            self.leave(l, packet, at);
        }
    }

    /// Processes everything that is due at the queue of link `l` by `until`.
    fn catch_up(&mut self, l: u32, until: Time) {
        while let Entrance::Queue(resource) = &mut self.links[l as usize].entrance {
            let departure = resource.next_departure(until);
            self.lost.append(&mut resource.lost);
            let Some((packet, at)) = departure else { return };
            self.leave(l, packet, at);
        }
    }

    /// A packet leaves the transmitter of link `l`. Without impairments it arrives at the far end at `due`.
    fn leave(&mut self, l: u32, packet: Packet, due: Time) {
        let link = &mut self.links[l as usize];
        let mut at = due;
        if let Some(pipe) = &mut link.pipe {
            match pipe.pass(due, &self.edges) {
                Some(arrival) => at = arrival,
                None => return self.lost.push(packet),
            }
        }
        let others = link.in_transit.len();
        let later = link.in_transit.iter().rev().take_while(|other| other.at > at).count();
        link.in_transit.insert(others - later, InTransit { at, number: self.departed, packet });
        self.departed += 1;
        if let Some(pipe) = link.pipe.as_mut().filter(|pipe| !pipe.keeps_order()) {
            pipe.record_overtaking(later, others);
        }
    }

    /// The next arrival at the far end of a link: its time, its number and the link.
    fn next_arrival(&self) -> (Time, u64, usize) {
        let first = |(l, link): (usize, &Link)| link.in_transit.front().map(|first| (first.at, first.number, l));
        self.links.iter().enumerate().filter_map(first).min().unwrap_or((Time::NEVER, 0, 0))
    }

    /// The earliest time by which departures of a queue must be processed, and its link: the next packet of the queue
    /// cannot arrive at the far end earlier.
    fn next_deadline(&self) -> (Time, u32) {
        let deadline = |(l, link): (usize, &Link)| match &link.entrance {
            Entrance::Queue(resource) => (resource.deadline(), l as u32),
            Entrance::Wire(_) => (Time::NEVER, l as u32),
        };
        self.links.iter().enumerate().map(deadline).min().unwrap_or((Time::NEVER, 0))
    }

    /// The next end of a measuring window, or the next sample.
    fn next_measurement(&self) -> Time {
        match self.edges.get(self.next_edge) {
            Some(&edge) => edge.min(self.next_sample),
            None => Time::NEVER,
        }
    }

    /// Takes the sample and closes the window that are due at `at`.
    fn measure_due(&mut self, at: Time) {
        if at == self.next_sample {
            self.measure(at, |r, speed, ahead| r.meter.sample(at, &r.qdisc, speed, ahead));
            self.publish_sample(at);
            self.next_sample = Time(at.0 + self.sample_interval.0);
        }
        if self.edges.get(self.next_edge) == Some(&at) {
            self.close_windows(at);
            self.next_edge += 1;
        }
    }

    /// Passes on the sample that was taken at `at`, if samples are shared.
    fn publish_sample(&mut self, at: Time) {
        let Some(feed) = &mut self.feed else { return };
        for (l, link) in self.links.iter_mut().enumerate() {
            if let (true, Entrance::Queue(resource)) = (link.metered, &mut link.entrance) {
                feed.add(at, l, resource);
            }
        }
        feed.publish();
    }

    fn close_windows(&mut self, at: Time) {
        self.measure(at, |r, speed, ahead| {
            assert!(r.qdisc.conserves(), "packets appear or vanish");
            r.meter.close(at, r.qdisc.len(), r.qdisc.counters(), speed, ahead);
        });
    }

    /// Calls `record` for each queue, once everything due by `at` is processed, with the speed of its server and the
    /// work left for packets in service.
    fn measure(&mut self, at: Time, record: impl Fn(&mut Resource, f64, f64)) {
        for l in 0..self.links.len() as u32 {
            self.catch_up(l, at);
            if let Entrance::Queue(r) = &mut self.links[l as usize].entrance {
                let (speed, ahead) = (r.speed(), r.ahead(at));
                record(r, speed, ahead);
            }
        }
    }
}

fn build_link(plan: &Plan, link: &LinkPlan, seed: u64, programs: &impl Programs) -> Result<Link, ParamError> {
    if link.trace {
        return Err(ParamError::new("trace", "got true, expected false: record real packets with tcpdump"));
    }
    if link.medium.is_some() {
        return Err(ParamError::new("medium", "got a model of medium access, expected rates or a delivery trace"));
    }
    if link.per_flow.is_some() {
        let message = "got a link for each flow, expected one link: which flow a real packet belongs to is not read";
        return Err(ParamError::new("per_flow", message));
    }
    let resource = build_resource(link, plan.class_count(), seed, programs)?;
    Ok(Link {
        entrance: match resource {
            Some(resource) => Entrance::Queue(Box::new(resource)),
            None => Entrance::Wire(Wire::new(link.rate, link.delay)),
        },
        pipe: Pipe::build(link, plan.boundaries.len() + 1, seed).map_err(|e| e.within("pipe"))?,
        in_transit: VecDeque::new(),
        metered: link.queue.is_some(),
    })
}

/// The transmission time of a packet of mean size on the fastest managed queue, s; `None` without a managed queue.
pub fn packet_time(plan: &Plan) -> Option<f64> {
    let fastest = |link: &LinkPlan| link.schedule.iter().map(|&(_, rate)| rate).chain([link.rate]).max();
    let time = |link: &LinkPlan, queue: &QueuePlan| {
        fastest(link).map(|rate| queue.mean_packet.0 as f64 / rate.bytes_per_sec())
    };
    let times = plan.links.iter().filter_map(|link| time(link, link.queue.as_ref()?));
    times.min_by(f64::total_cmp)
}
