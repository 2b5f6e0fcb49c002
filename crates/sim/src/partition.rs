//! The partition of a network over threads: which part of a plan each thread simulates, and how long a packet needs from
//! one to another.
//!
//! A *place* is what has its state to itself: a link, the senders of a route, or the receivers of a route. Where a
//! packet arrives at a place by an event it has been on its way for at least a propagation delay: the *lookahead*, by
//! which the thread of the place it left knows what arrives (K. M. Chandy, J. Misra, "Distributed simulation: a case
//! study in design and verification of distributed programs", IEEE Trans. Softw. Eng. SE-5(5), 1979).
//!
//! Wires and receivers that are chained to a link (see [`crate::route`]) have no events: all that they need is the order
//! in which packets leave that link, their root. They can be apart from the root, but not from each other.

mod balance;
mod one_thread;

use crate::load::{capacity, loads};
use crate::plan::{LinkPlan, Plan};
use crate::route::{Routes, Stage};
use crate::slots::PERIOD;
use crate::traffic::reuses_slots;
use balance::{Division, Groups};
use marqueue_core::{Dur, Time};

pub use one_thread::{obstacle, OneThread};

/// A partition is as good as another if its thread with the most work has at most this times as much as that one's.
const AS_GOOD: f64 = 1.05;
/// Packets, each through one queue, in the shortest lookahead with which two threads are faster than one: below it they
/// wait for each other more than they work. Measured (docs/performance/threads.md).
const PAYS_FROM: f64 = 100.0;
/// The lookahead between parts that nothing connects.
const FOREVER: Dur = Dur(u64::MAX);
/// Number of lookaheads among which the shortest is chosen.
const MOST_TRIED: usize = 16;
/// Among so many of the last ways of a link an equal one is looked for at once, among all others in the end.
const LOOKED_BACK: usize = 16;

/// Work for a packet at a sender, ns: as data and as acknowledgement, with timers. This and the following were measured
/// with parts that take turns (docs/performance/threads.md); what counts is how they compare.
const SENDER_WORK: f64 = 43.0;
/// The same at a receiver.
const RECEIVER_WORK: f64 = 12.0;
/// The same at a queue.
const QUEUE_WORK: f64 = 50.0;
/// The same at a wire that packets enter by events.
const WIRE_WORK: f64 = 15.0;
/// The same at a wire without events.
const CHAINED_WORK: f64 = 4.0;
/// Work of each of two threads for a packet that one hands over to the other.
const HANDOVER_WORK: f64 = 8.0;

/// Which part each place belongs to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Partition {
    /// Number of parts.
    pub parts: usize,
    /// The part of each stage of the routes: where a packet with this next stage arrives.
    pub of_stage: Vec<u32>,
    /// The part of each link.
    pub of_link: Vec<u32>,
    /// The part of the senders of each route.
    pub of_senders: Vec<u32>,
    /// The part of the receivers of each route.
    pub of_receivers: Vec<u32>,
    /// The shortest time in which anything gets from one part to another, by `from * parts + to`; `None` if nothing does.
    pub lookahead: Vec<Option<Dur>>,
    /// The shortest of these.
    pub shortest: Dur,
    /// The longest of these.
    pub longest: Dur,
    /// The links of each part from which packets go to another part.
    pub borders: Vec<Vec<u32>>,
}

/// A way of packets from a link to another place from which it can be apart.
#[derive(Clone, Copy, Debug)]
struct Way {
    link: u32,
    to: usize,
    lookahead: Dur,
    /// Packets a second.
    load: f64,
}

impl Way {
    /// What ways of several routes have in common.
    fn ends(&self) -> (u32, usize, Dur) {
        (self.link, self.to, self.lookahead)
    }
}

impl Partition {
    /// Spreads the places of a plan over at most `most` parts.
    ///
    /// # Errors
    /// If there is but one part.
    pub fn new(plan: &Plan, routes: &Routes, most: usize) -> Result<Partition, OneThread> {
        let map = Map::new(plan, routes);
        let mut lookaheads: Vec<Dur> = map.ways.iter().map(|way| way.lookahead).collect();
        lookaheads.sort_unstable();
        lookaheads.dedup();
        let mut tried = lookaheads.iter().step_by(lookaheads.len().div_ceil(MOST_TRIED).max(1));
        // The shorter the lookahead, the finer the work can be spread; the longer, the more rarely threads wait for each
        // other. So the longest with which it is spread about as well as with the shortest is looked for by halving.
        let (finest, mut found) = map.spread(*tried.next().ok_or(OneThread::NoDelay)?, most)?;
        let mut longer: Vec<Dur> = tried.copied().collect();
        while !longer.is_empty() {
            let rest = longer.split_off(longer.len() / 2);
            match map.spread(rest[0], most) {
                Ok((work, spread)) if work <= finest * AS_GOOD => {
                    found = spread;
                    longer = rest[1..].to_vec();
                }
                _ => {}
            }
        }
        let most = if reuses_slots(plan) { PERIOD } else { FOREVER };
        Ok(map.partition(&found, most))
    }

    /// When the parts meet after `clock`: they cannot know of each other's events more than the shortest lookahead ahead.
    pub fn next_meeting(&self, clock: Time) -> Time {
        Time(clock.0.saturating_add(self.shortest.0))
    }

    /// Does anything get from one part straight to the other?
    pub fn sends(&self, from: usize, to: usize) -> bool {
        self.lookahead[from * self.parts + to].is_some()
    }

    /// Is there so much to do between two meetings of the threads that several are faster than one?
    pub fn pays(&self, plan: &Plan) -> bool {
        let fastest = plan.links.iter().filter_map(capacity).fold(0.0, f64::max);
        // What a network has to do is shared by all threads, what one queue has to do is not.
        let of_two = packets_of_all(plan) * 2.0 / self.parts as f64;
        fastest.max(of_two) * self.shortest.secs() >= PAYS_FROM
    }
}

/// The places of a plan: links, then the senders of each route, then the receivers of each route.
#[derive(Debug)]
struct Map {
    links: usize,
    routes: usize,
    /// The place at which a packet with this next stage arrives.
    place_of_stage: Vec<usize>,
    /// Places that share state or the order of packets, as pairs.
    joined: Vec<(usize, usize)>,
    ways: Vec<Way>,
    /// An estimate of the work at each place, ns/s.
    work: Vec<f64>,
}

impl Map {
    fn new(plan: &Plan, routes: &Routes) -> Map {
        let (links, count) = (plan.links.len(), plan.routes.len());
        let mut map = Map {
            links,
            routes: count,
            place_of_stage: vec![0; routes.stages.len()],
            joined: Vec::new(),
            ways: Vec::new(),
            work: vec![0.0; links + 2 * count],
        };
        let mut ways_of_link = vec![Vec::new(); links];
        for (route, load) in loads(plan).into_iter().enumerate() {
            map.walk(plan, routes, route, load, &mut ways_of_link);
        }
        map.ways = ways_of_link.concat();
        map.ways.sort_by_key(Way::ends);
        map.ways.dedup_by(|way, kept| {
            let is_same = way.ends() == kept.ends();
            kept.load += if is_same { way.load } else { 0.0 };
            is_same
        });
        map
    }

    fn senders(&self, route: usize) -> usize {
        self.links + route
    }

    fn receivers(&self, route: usize) -> usize {
        self.links + self.routes + route
    }

    /// Follows the packets of a route, and adds its ways to those of their links.
    fn walk(&mut self, plan: &Plan, routes: &Routes, route: usize, load: f64, ways_of_link: &mut [Vec<Way>]) {
        let (senders, receivers) = (self.senders(route), self.receivers(route));
        self.work[senders] += SENDER_WORK * load;
        self.work[receivers] += RECEIVER_WORK * load;
        // The place of the packet, the link it is on, and the least time since it got there from another place.
        let (mut at, mut link, mut lookahead) = (senders, None::<u32>, Dur::ZERO);
        // Has it come straight from a root, does the pipe reorder, is it on the link of its flow?
        let (mut behind_root, mut reorders, mut on_flow_link) = (false, false, false);
        for stage in routes.first[route] as usize.. {
            let next = match routes.stages[stage] {
                Stage::Link(l) | Stage::Chained(l) | Stage::Merged(l) | Stage::FlowLink(l) => l as usize,
                Stage::Receive | Stage::ReceiveOrHandOut | Stage::ReceiveChained => receivers,
                Stage::Sender => senders,
                Stage::Pipe(_) | Stage::ReorderingPipe(_) | Stage::Cores(_) | Stage::Elsewhere(_) => at,
            };
            self.place_of_stage[stage] = next;
            let by_event = match routes.stages[stage] {
                Stage::Pipe(_) => continue,
                // Who overtakes whom is counted among all packets of the pipe.
                Stage::ReorderingPipe(_) | Stage::Cores(_) => {
                    reorders = true;
                    continue;
                }
                Stage::FlowLink(_) => false,
                other => on_flow_link || other.is_by_event(),
            };
            match link {
                Some(link) if (by_event || behind_root) && !reorders && lookahead > Dur::ZERO => {
                    add(&mut ways_of_link[link as usize], Way { link, to: next, lookahead, load });
                }
                // A host sends into its first link at once.
                _ => self.joined.push((at, next)),
            }
            // A merged wire sends packets on by events of its own.
            if by_event || behind_root || matches!(routes.stages[stage], Stage::Merged(_)) {
                lookahead = Dur::ZERO;
            }
            behind_root = matches!(routes.stages[stage], Stage::Link(_) | Stage::Merged(_));
            on_flow_link = matches!(routes.stages[stage], Stage::FlowLink(_));
            reorders = false;
            at = next;
            match routes.stages[stage] {
                Stage::Link(l) | Stage::Chained(l) | Stage::FlowLink(l) | Stage::Merged(l) => {
                    let plan = &plan.links[l as usize];
                    self.work[l as usize] += load * work_at(routes.stages[stage], plan);
                    (link, lookahead) = (Some(l), lookahead + plan.delay);
                }
                Stage::Receive | Stage::ReceiveOrHandOut => link = None,
                Stage::ReceiveChained
                | Stage::Pipe(_)
                | Stage::ReorderingPipe(_)
                | Stage::Cores(_)
                | Stage::Elsewhere(_) => {}
                Stage::Sender => return,
            }
        }
    }

    /// Spreads the places over at most `most` parts, none of which is nearer to another than `least`. Returns the largest
    /// part's work and the part of each place, or why all places are in one part.
    fn spread(&self, least: Dur, most: usize) -> Result<(f64, Vec<u32>), OneThread> {
        let mut sets = Sets::new(self.work.len());
        for &(a, b) in &self.joined {
            sets.join(a, b);
        }
        for way in self.ways.iter().filter(|way| way.lookahead < least) {
            sets.join(way.link as usize, way.to);
        }
        let roots: Vec<usize> = (0..self.work.len()).map(|place| sets.root(place)).collect();
        let (group_of, groups) = numbered(&roots, self.work.len());
        let groups = self.groups(&group_of, groups);
        if groups.work.iter().filter(|&&work| work > 0.0).count() < 2 {
            return Err(OneThread::NoDelay);
        }
        let Division { most_work, part_of } = groups.divide(most);
        let parts: Vec<usize> = group_of.iter().map(|&group| part_of[group]).collect();
        let (numbers, parts) = numbered(&parts, most);
        if parts < 2 {
            return Err(OneThread::LittleToShare);
        }
        Ok((most_work, numbers.into_iter().map(|part| part as u32).collect()))
    }

    /// The groups of places that stay together.
    fn groups(&self, group_of: &[usize], count: usize) -> Groups {
        let mut groups = Groups { work: vec![0.0; count], between: vec![Vec::new(); count] };
        for (&group, work) in group_of.iter().zip(&self.work) {
            groups.work[group] += work;
        }
        for way in &self.ways {
            let (a, b) = (group_of[way.link as usize], group_of[way.to]);
            if a != b {
                groups.between[a].push((b, HANDOVER_WORK * way.load));
                groups.between[b].push((a, HANDOVER_WORK * way.load));
            }
        }
        groups
    }

    /// The partition in which each place is in this part. No lookahead is longer than `most`.
    fn partition(&self, part_of: &[u32], most: Dur) -> Partition {
        let parts = part_of.iter().max().map_or(1, |&last| last as usize + 1);
        let mut lookahead = vec![None; parts * parts];
        let mut borders = vec![Vec::new(); parts];
        for way in &self.ways {
            let (from, to) = (part_of[way.link as usize] as usize, part_of[way.to] as usize);
            if from == to {
                continue;
            }
            let shortest: &mut Option<Dur> = &mut lookahead[from * parts + to];
            *shortest = Some(way.lookahead.min(shortest.unwrap_or(most)));
            // Ways are in the order of their links.
            if borders[from].last() != Some(&way.link) {
                borders[from].push(way.link);
            }
        }
        Partition {
            parts,
            of_stage: self.place_of_stage.iter().map(|&place| part_of[place]).collect(),
            of_link: part_of[..self.links].to_vec(),
            of_senders: part_of[self.links..][..self.routes].to_vec(),
            of_receivers: part_of[self.links + self.routes..].to_vec(),
            shortest: lookahead.iter().flatten().copied().min().unwrap_or(most),
            longest: lookahead.iter().flatten().copied().max().unwrap_or(most),
            lookahead,
            borders,
        }
    }
}

/// Adds a way to those of its link. Most routes over a link have few ways in common, but in a large network there are a hundred
/// times as many routes with their ways as there are ways.
fn add(ways: &mut Vec<Way>, way: Way) {
    let same = ways.iter_mut().rev().take(LOOKED_BACK).find(|kept| kept.ends() == way.ends());
    match same {
        Some(kept) => kept.load += way.load,
        None => ways.push(way),
    }
}

/// Numbers from 0 on for values below `most`, in the order in which they come first, and how many there are.
fn numbered(values: &[usize], most: usize) -> (Vec<usize>, usize) {
    let (mut number_of, mut count) = (vec![None; most], 0);
    let number = |&value: &usize| {
        *number_of[value].get_or_insert_with(|| {
            count += 1;
            count - 1
        })
    };
    let numbers = values.iter().map(number).collect();
    (numbers, count)
}

/// Sets of places.
#[derive(Debug)]
struct Sets(Vec<usize>);

impl Sets {
    fn new(places: usize) -> Sets {
        Sets((0..places).collect())
    }

    fn root(&mut self, mut place: usize) -> usize {
        while self.0[place] != place {
            self.0[place] = self.0[self.0[place]];
            place = self.0[place];
        }
        place
    }

    fn join(&mut self, a: usize, b: usize) {
        let (a, b) = (self.root(a), self.root(b));
        self.0[b] = a;
    }
}

/// Packets a second through the queues of a network that are as much work as all of its packets, each of which passes
/// several of them.
fn packets_of_all(plan: &Plan) -> f64 {
    let (mut offered, mut sent) = (vec![0.0; plan.links.len()], 0.0);
    for (route, load) in plan.routes.iter().zip(loads(plan)) {
        sent += load;
        for &link in route.forward.iter().chain(&route.reverse) {
            offered[link] += load;
        }
    }
    let queues = || plan.links.iter().zip(&offered).filter_map(|(link, &offered)| Some((capacity(link)?, offered)));
    let through: f64 = queues().map(|(most, offered)| offered.min(most)).sum();
    let passed = queues().map(|(_, offered)| offered).sum::<f64>() / sent.max(f64::MIN_POSITIVE);
    let at_ends = (SENDER_WORK + RECEIVER_WORK) / passed.max(1.0);
    through * (QUEUE_WORK + at_ends) / (QUEUE_WORK + SENDER_WORK + RECEIVER_WORK)
}

/// Work for a packet at a link.
fn work_at(stage: Stage, link: &LinkPlan) -> f64 {
    match stage {
        _ if link.has_queue() => QUEUE_WORK,
        Stage::Chained(_) | Stage::Merged(_) => CHAINED_WORK,
        _ => WIRE_WORK,
    }
}
