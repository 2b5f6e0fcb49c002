//! The network of a plan between two ends, with time as an argument: the same queues, transmitters and
//! impairments as the simulator's ([`Resource`], [`Wire`], [`Pipe`]), behind each other as the routes of
//! the plan say. What happens is exact to the nanosecond whenever one looks: [`Network::advance`] lets
//! everything happen that was due, in the order of time.
//!
//! A packet carries the slot of its bytes as `options`, and as `stage` what comes next on its way.

use crate::watch::{Looks, Watch};
use marqueue_aqm::Qdisc;
use marqueue_core::params::ParamError;
use marqueue_core::{Packet, Time};
use marqueue_sim::impair::Pipe;
use marqueue_sim::plan::{LinkPlan, Plan, QueuePlan};
use marqueue_sim::resource::Resource;
use marqueue_sim::result::{LinkResult, PipeResult};
use marqueue_sim::wire::Wire;
use marqueue_sim::{check_links, queue_of};
use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};

/// An end of the network.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    /// Where the routes of the plan begin.
    Near,
    /// Where they lead.
    Far,
}

impl End {
    /// Both ends.
    pub const BOTH: [End; 2] = [End::Near, End::Far];

    /// The other one.
    pub fn other(self) -> End {
        match self {
            End::Near => End::Far,
            End::Far => End::Near,
        }
    }
}

/// What comes next on a way.
#[derive(Clone, Copy, Debug)]
enum Stage {
    Link(u32),
    Out(End),
}

/// What a packet enters a link by.
#[derive(Debug)]
enum Entrance {
    Queue(Box<Resource>),
    Wire(Wire),
}

#[derive(Debug)]
struct Link {
    entrance: Entrance,
    pipe: Option<Box<Pipe>>,
    /// Of a pipe that reorders: when the packets in it will arrive.
    arriving: VecDeque<Time>,
    metered: bool,
}

/// A packet on its way to the far end of a link: when it arrives, in what order it came, which link.
type Arrival = Reverse<(Time, u64, u32, OnWay)>;

/// A packet; its order among arrivals is that of what stands before it.
#[derive(Clone, Copy, Debug)]
struct OnWay(Packet);

impl PartialEq for OnWay {
    fn eq(&self, _: &OnWay) -> bool {
        true
    }
}
impl Eq for OnWay {}
impl PartialOrd for OnWay {
    fn partial_cmp(&self, other: &OnWay) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}
impl Ord for OnWay {
    fn cmp(&self, _: &OnWay) -> std::cmp::Ordering {
        std::cmp::Ordering::Equal
    }
}

/// A packet that has crossed the network.
#[derive(Clone, Copy, Debug)]
pub struct Exit {
    /// When it was to leave.
    pub due: Time,
    /// By which end.
    pub end: End,
    /// The packet, as the network has left it.
    pub packet: Packet,
}

/// See the head of this file.
#[derive(Debug)]
pub struct Network {
    links: Vec<Link>,
    stages: Vec<Stage>,
    /// Of each route its first stage from the near end, and from the far end.
    first: Vec<(u32, u32)>,
    arrivals: BinaryHeap<Arrival>,
    count: u64,
    /// Packets that have crossed the network, in the order of time.
    pub exits: VecDeque<Exit>,
    /// Packets that the network has lost since somebody looked.
    pub lost: Vec<Packet>,
    /// The ends of the measuring windows.
    edges: Vec<Time>,
    next_edge: usize,
    sample: Time,
    next_sample: Time,
    watch: Option<Watch>,
}

impl Network {
    /// The empty network of `plan`, whose AQMs and impairments draw from `seed`. A link without a queue
    /// is a wire.
    ///
    /// # Errors
    /// Names what cannot be right, or is no part of a network that real packets cross: a CPU does not
    /// know their class, a trace of packets their sequence numbers.
    pub fn new(plan: &Plan, seed: u64) -> Result<Network, ParamError> {
        check_links(plan)?;
        let mut links = Vec::new();
        for (i, link) in plan.links.iter().enumerate() {
            links.push(link_of(plan, link, seed).map_err(|e| e.within(&format!("links[{i}]")))?);
        }
        let (mut stages, mut first) = (Vec::new(), Vec::new());
        for route in &plan.routes {
            let mut way = |links: &[usize], end| {
                let begins = stages.len() as u32;
                stages.extend(links.iter().map(|&l| Stage::Link(l as u32)).chain([Stage::Out(end)]));
                begins
            };
            first.push((way(&route.forward, End::Far), way(&route.reverse, End::Near)));
        }
        let sample = Time(plan.sample.0);
        Ok(Network {
            links,
            stages,
            first,
            arrivals: BinaryHeap::new(),
            count: 0,
            exits: VecDeque::new(),
            lost: Vec::new(),
            edges: plan.boundaries.iter().copied().chain([plan.duration]).collect(),
            next_edge: 0,
            sample,
            next_sample: if sample == Time::ZERO { Time::NEVER } else { sample },
            watch: None,
        })
    }

    /// From now on samples are for others to take, and are no part of what was measured.
    pub fn watched(&mut self) -> Looks {
        self.watch.insert(Watch::new(self.links.len())).looks()
    }

    /// How many routes there are.
    pub fn routes(&self) -> usize {
        self.first.len()
    }

    /// A packet comes in by `end` at `now` for `route`, once everything due before has happened.
    pub fn enter(&mut self, now: Time, end: End, route: usize, packet: Packet) {
        self.advance(now);
        let (forward, reverse) = self.first[route];
        let stage = if end == End::Near { forward } else { reverse };
        self.go_on(now, packet.with_stage(stage));
    }

    /// Lets everything happen that is due by `now`: of what is due at the same instant first what is measured,
    /// then arrivals, then departures.
    pub fn advance(&mut self, now: Time) {
        loop {
            let arrival = self.arrivals.peek().map_or(Time::NEVER, |a| a.0 .0);
            let (deadline, l) = self.next_deadline();
            let agenda = self.next_agenda();
            if arrival.min(deadline).min(agenda) > now {
                return;
            }
            if agenda <= arrival.min(deadline) {
                self.look(agenda);
            } else if deadline < arrival {
                self.catch_up(l, deadline);
            } else if let Some(Reverse((at, _, from, OnWay(packet)))) = self.arrivals.pop() {
                self.links[from as usize].arriving.pop_front();
                self.go_on(at, packet);
            }
        }
    }

    /// When something will be due next.
    pub fn next_due(&self) -> Time {
        let arrival = self.arrivals.peek().map_or(Time::NEVER, |a| a.0 .0);
        arrival.min(self.next_deadline().0).min(self.next_agenda())
    }

    /// Has the last measuring window ended?
    pub fn is_measured(&self) -> bool {
        self.next_edge == self.edges.len()
    }

    /// What was measured; a window that has begun is cut at `now`.
    pub fn finish(mut self, now: Time) -> (Vec<LinkResult>, Vec<PipeResult>) {
        self.advance(now);
        if !self.is_measured() {
            self.close_windows(now);
        }
        if let Some(watch) = self.watch {
            watch.finish();
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

    /// The packets that are somewhere in the network.
    pub fn inside(&self) -> usize {
        let waiting = |link: &Link| match &link.entrance {
            Entrance::Queue(resource) => resource.qdisc.len() as usize,
            Entrance::Wire(_) => 0,
        };
        self.arrivals.len() + self.exits.len() + self.links.iter().map(waiting).sum::<usize>()
    }

    /// A packet goes on to its next stage at `now`.
    fn go_on(&mut self, now: Time, packet: Packet) {
        let stage = self.stages[packet.stage() as usize];
        let packet = packet.with_stage(packet.stage() + 1);
        let l = match stage {
            Stage::Out(end) => return self.exits.push_back(Exit { due: now, end, packet }),
            Stage::Link(l) => l,
        };
        // Of an arrival and a departure at the same instant the arrival comes first, as in the simulator.
        if now > Time::ZERO {
            self.catch_up(l, Time(now.0 - 1));
        }
        let gone = match &mut self.links[l as usize].entrance {
            Entrance::Wire(wire) => Some((packet, wire.transit(now, packet.bytes()))),
            Entrance::Queue(resource) => {
                resource.enqueue(now, packet);
                let gone = resource.start(now);
                self.lost.append(&mut resource.lost);
                gone
            }
        };
        if let Some((packet, at)) = gone {
            self.leave(l, packet, at);
        }
    }

    /// Lets everything happen at the queue of link `l` that was due by `until`.
    fn catch_up(&mut self, l: u32, until: Time) {
        while let Entrance::Queue(resource) = &mut self.links[l as usize].entrance {
            let gone = resource.next_departure(until);
            self.lost.append(&mut resource.lost);
            let Some((packet, at)) = gone else { return };
            self.leave(l, packet, at);
        }
    }

    /// A packet has left the transmitter of link `l`, and is due at the far end at `due`.
    fn leave(&mut self, l: u32, packet: Packet, due: Time) {
        let link = &mut self.links[l as usize];
        let mut at = due;
        if let Some(pipe) = &mut link.pipe {
            match pipe.pass(due, &self.edges) {
                Some(arrives) => at = arrives,
                None => return self.lost.push(packet),
            }
            if !pipe.keeps_order() {
                let waiting = link.arriving.len();
                let later = link.arriving.iter().rev().take_while(|other| **other > at).count();
                link.arriving.insert(waiting - later, at);
                pipe.overtakes(later, waiting);
            }
        }
        self.arrivals.push(Reverse((at, self.count, l, OnWay(packet))));
        self.count += 1;
    }

    /// By when a queue must be looked at: the packet that it serves next cannot arrive anywhere earlier.
    fn next_deadline(&self) -> (Time, u32) {
        let deadline = |(l, link): (usize, &Link)| match &link.entrance {
            Entrance::Queue(resource) => (resource.deadline(), l as u32),
            Entrance::Wire(_) => (Time::NEVER, l as u32),
        };
        self.links.iter().enumerate().map(deadline).min().unwrap_or((Time::NEVER, 0))
    }

    /// When a measuring window ends or a sample is due.
    fn next_agenda(&self) -> Time {
        match self.edges.get(self.next_edge) {
            Some(&edge) => edge.min(self.next_sample),
            None => Time::NEVER,
        }
    }

    /// Takes a sample and closes windows, whatever is due at `at`.
    fn look(&mut self, at: Time) {
        if at == self.next_sample {
            self.measure(at, |r, speed, ahead| r.meter.sample(at, &r.qdisc, speed, ahead));
            self.show(at);
            self.next_sample = Time(at.0 + self.sample.0);
        }
        if self.edges.get(self.next_edge) == Some(&at) {
            self.close_windows(at);
            self.next_edge += 1;
        }
    }

    /// Shows the sample that has been taken at `at` to those who watch.
    fn show(&mut self, at: Time) {
        let Some(watch) = &mut self.watch else { return };
        for (l, link) in self.links.iter_mut().enumerate() {
            if let (true, Entrance::Queue(resource)) = (link.metered, &mut link.entrance) {
                watch.look(at, l, resource);
            }
        }
        watch.hand_over();
    }

    fn close_windows(&mut self, at: Time) {
        self.measure(at, |r, speed, ahead| {
            assert!(r.qdisc.conserves(), "packets appear or vanish");
            r.meter.close(at, r.qdisc.len(), r.qdisc.counters(), speed, ahead);
        });
    }

    fn measure(&mut self, at: Time, look: impl Fn(&mut Resource, f64, f64)) {
        for l in 0..self.links.len() as u32 {
            self.catch_up(l, at);
            if let Entrance::Queue(r) = &mut self.links[l as usize].entrance {
                let (speed, ahead) = (r.speed(), r.ahead(at));
                look(r, speed, ahead);
            }
        }
    }
}

fn link_of(plan: &Plan, link: &LinkPlan, seed: u64) -> Result<Link, ParamError> {
    if link.cpu.is_some() {
        return Err(ParamError::new("cpu", "got a CPU, expected none: nobody tells the class of a real packet"));
    }
    if link.trace {
        return Err(ParamError::new("trace", "got true, expected false: record real packets by tcpdump"));
    }
    let resource = queue_of(plan, link, seed).map_err(|e| e.within("queue.policy"))?;
    Ok(Link {
        entrance: match resource {
            Some(resource) => Entrance::Queue(Box::new(resource)),
            None => Entrance::Wire(Wire::new(link.rate, link.delay)),
        },
        pipe: Pipe::of(link, plan.boundaries.len() + 1, seed).map_err(|e| e.within("pipe"))?,
        arriving: VecDeque::new(),
        metered: link.queue.is_some(),
    })
}

/// The queue that is served fastest, among those that are managed: how long it takes for a packet of
/// usual size, in seconds.
pub fn packet_time(plan: &Plan) -> Option<f64> {
    let fastest = |link: &LinkPlan| link.schedule.iter().map(|&(_, rate)| rate).chain([link.rate]).max();
    let time = |link: &LinkPlan, queue: &QueuePlan| {
        fastest(link).map(|rate| queue.mean_packet.0 as f64 / rate.bytes_per_sec())
    };
    let times = plan.links.iter().filter_map(|link| time(link, link.queue.as_ref()?));
    times.min_by(f64::total_cmp)
}
