//! The routes through the network as one table of stages. Stages that need no event of their own are marked as such.
//!
//! A wire that is entered from one other link only is *chained* to it. Packets enter it in the order in which they
//! leave that link, so the time at which a packet leaves the wire is known as soon as the time at which it leaves the
//! link. The same holds for a receiver without delayed
//! acknowledgements.
//!
//! A wire that is entered from several links, all of them chained to the same link (its *root*), is *merged*. Packets
//! may reach it in another order than they left the root. Once a packet leaves the root at `e`, no later one can reach
//! the wire before `e` plus the shortest delay between (the *lead*), so the order of all earlier arrivals is final.
//!
//! Links may be chained and merged behind a pipe that loses packets or delays them in order, since no delay gets
//! shorter, but neither behind a pipe that reorders packets nor behind a CPU of several cores.

use crate::impair::Pipe;
use crate::plan::{Plan, TrafficKind};
use marqueue_cc::Config;
use marqueue_core::Dur;

/// The next thing that happens to a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stage {
    /// It enters a link.
    Link(u32),
    /// It enters a wire that is chained to the link it comes from.
    Chained(u32),
    /// It enters a merged wire.
    Merged(u32),
    /// It enters the link of its flow.
    FlowLink(u32),
    /// It passes the impaired pipe of the link it comes from, which keeps the order.
    Pipe(u32),
    /// It passes the impaired pipe of the link it comes from, which may reorder packets.
    ReorderingPipe(u32),
    /// It leaves a CPU of several cores, where it may have overtaken others.
    Cores(u32),
    /// It arrives at its receiver.
    Receive,
    /// It arrives at its receiver on a route on which some receivers are external.
    ReceiveOrHandOut,
    /// It arrives at its receiver, whose acknowledgement is chained to the link it comes from.
    ReceiveChained,
    /// The acknowledgement arrives at the sender.
    Sender,
    /// It goes on in this other part of the network, which another thread simulates.
    Elsewhere(u32),
}

impl Stage {
    /// Does a packet get here by an event of its own, unless it comes from the link of its flow?
    pub fn is_by_event(self) -> bool {
        match self {
            Stage::Link(_) | Stage::Receive | Stage::ReceiveOrHandOut | Stage::Sender => true,
            Stage::Chained(_)
            | Stage::Merged(_)
            | Stage::FlowLink(_)
            | Stage::ReceiveChained
            | Stage::Pipe(_)
            | Stage::ReorderingPipe(_)
            | Stage::Cores(_)
            | Stage::Elsewhere(_) => false,
        }
    }
}

/// All routes.
#[derive(Clone, Debug)]
pub struct Routes {
    /// The stages of all routes, concatenated.
    pub stages: Vec<Stage>,
    /// Index of the first stage of each route.
    pub first: Vec<u32>,
    /// For each link, its lead if it is a merged wire.
    pub lead: Vec<Option<Dur>>,
    /// The links of single flows.
    pub flow_links: Vec<u32>,
}

/// The sources of packets that enter a link.
#[derive(Clone, Debug, Default)]
struct Feeders {
    /// A host sends into it.
    host: bool,
    /// Links that feed it, each once.
    links: Vec<usize>,
}

/// How packets enter a link.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Entry {
    /// By events.
    Events,
    /// In the order in which packets leave this link.
    Chained(usize),
    /// In an order that is final once packets leave the root.
    Merged,
    /// In the order of each flow.
    FlowLink,
}

impl Routes {
    /// Lays out the routes of a plan. `configs` are its transport settings; `pipes[l]` is the pipe of link `l`, if
    /// it is impaired.
    pub fn new(plan: &Plan, configs: &[Config], pipes: &[Option<Box<Pipe>>]) -> Routes {
        let acks_at_once = acks_at_once(plan, configs);
        let feeders = feeders(plan, &acks_at_once, pipes);
        let mut entries: Vec<Entry> = (0..plan.links.len())
            .map(|l| match (is_plain(plan, l), feeders[l].host, feeders[l].links.as_slice()) {
                _ if plan.links[l].per_flow.is_some() => Entry::FlowLink,
                (true, false, &[only]) => Entry::Chained(only),
                _ => Entry::Events,
            })
            .collect();
        let lead: Vec<Option<Dur>> = (0..plan.links.len()).map(|l| lead(plan, &entries, &feeders[l], l)).collect();
        for l in (0..plan.links.len()).filter(|&l| lead[l].is_some()) {
            entries[l] = Entry::Merged;
        }
        let stage = |l: usize| match entries[l] {
            Entry::Events => Stage::Link(l as u32),
            Entry::Chained(_) => Stage::Chained(l as u32),
            Entry::Merged => Stage::Merged(l as u32),
            Entry::FlowLink => Stage::FlowLink(l as u32),
        };
        let pipe_stage = |l: usize| match &pipes[l] {
            Some(pipe) if pipe.keeps_order() => Some(Stage::Pipe(l as u32)),
            Some(_) => Some(Stage::ReorderingPipe(l as u32)),
            None => plan.links[l].overtakes().then_some(Stage::Cores(l as u32)),
        };
        let flow_links = (0..plan.links.len()).filter(|&l| plan.links[l].per_flow.is_some()).map(|l| l as u32);
        let mut routes = Routes { stages: Vec::new(), first: Vec::new(), lead, flow_links: flow_links.collect() };
        let has_external = has_external(plan);
        for ((route, at_once), has_external) in plan.routes.iter().zip(acks_at_once).zip(has_external) {
            routes.first.push(routes.stages.len() as u32);
            let stages = |links: &[usize]| -> Vec<Stage> {
                links.iter().flat_map(|&l| [Some(stage(l)), pipe_stage(l)]).flatten().collect()
            };
            routes.stages.extend(stages(&route.forward));
            let ack_entry = route.reverse.first().map(|&l| stage(l));
            // The order of the acknowledgements of one flow is known, and its link needs no other.
            let is_chained = match ack_entry {
                Some(Stage::Chained(_) | Stage::Merged(_)) => true,
                Some(Stage::FlowLink(_)) => at_once,
                _ => false,
            };
            routes.stages.push(match is_chained {
                true => Stage::ReceiveChained,
                false if has_external => Stage::ReceiveOrHandOut,
                false => Stage::Receive,
            });
            routes.stages.extend(stages(&route.reverse));
            routes.stages.push(Stage::Sender);
        }
        routes
    }

    /// Leaves to others all stages that are not in part `me`, given the part of each.
    pub fn leave_to_others(&mut self, me: u32, of_stage: &[u32]) {
        for (stage, &part) in self.stages.iter_mut().zip(of_stage).filter(|(_, part)| **part != me) {
            *stage = Stage::Elsewhere(part);
        }
    }

    /// The first stage of acknowledgements of data that starts at `stage`.
    pub fn ack_stage(&self, stage: u32) -> u32 {
        let receives = |s: &Stage| matches!(s, Stage::Receive | Stage::ReceiveOrHandOut | Stage::ReceiveChained);
        let ahead = self.stages[stage as usize..].iter().position(receives);
        stage + ahead.expect("every route has a receiver") as u32 + 1
    }
}

/// For each route, whether the receivers of some flows lie outside.
fn has_external(plan: &Plan) -> Vec<bool> {
    let mut external = vec![false; plan.routes.len()];
    for traffic in &plan.traffic {
        match &traffic.kind {
            TrafficKind::Tcp { transport, route, .. } => {
                external[*route] |= plan.transports[*transport].stack.is_some();
            }
            TrafficKind::Poisson { transport, routes, .. } => {
                for &route in routes {
                    external[route] |= plan.transports[*transport].stack.is_some();
                }
            }
            TrafficKind::Quic(quic) => external[quic.route] = true,
            TrafficKind::Cbr { .. }
            | TrafficKind::Recorded { .. }
            | TrafficKind::Paced { .. }
            | TrafficKind::Packets { .. }
            | TrafficKind::Media(_) => {}
        }
    }
    external
}

/// For each route, whether all its receivers acknowledge every segment at once.
fn acks_at_once(plan: &Plan, configs: &[Config]) -> Vec<bool> {
    let mut at_once = vec![true; plan.routes.len()];
    // An external receiver answers when it likes.
    let answers = |t: usize| plan.transports[t].stack.is_none() && configs[t].delayed_ack == Dur::ZERO;
    for traffic in &plan.traffic {
        match &traffic.kind {
            TrafficKind::Tcp { transport, route, .. } => {
                at_once[*route] &= answers(*transport);
            }
            TrafficKind::Poisson { transport, routes, .. } => {
                for &route in routes {
                    at_once[route] &= answers(*transport);
                }
            }
            TrafficKind::Quic(quic) => at_once[quic.route] = false,
            TrafficKind::Media(media) => at_once[media.route] = false,
            TrafficKind::Cbr { .. }
            | TrafficKind::Recorded { .. }
            | TrafficKind::Paced { .. }
            | TrafficKind::Packets { .. } => {}
        }
    }
    at_once
}

/// The sources of packets that enter each link.
fn feeders(plan: &Plan, acks_at_once: &[bool], pipes: &[Option<Box<Pipe>>]) -> Vec<Feeders> {
    // After a pipe that reorders, a CPU of several cores, or links of single flows, the order of packets is not known
    // in advance. They count as packets from a host.
    let in_order = |l: usize| {
        let link = &plan.links[l];
        let keeps_order =
            pipes[l].as_ref().is_none_or(|pipe| pipe.keeps_order()) && !link.overtakes() && link.per_flow.is_none();
        keeps_order.then_some(l)
    };
    let mut feeders = vec![Feeders::default(); plan.links.len()];
    let mut feed = |link: usize, by: Option<usize>| {
        let f = &mut feeders[link];
        match by {
            None => f.host = true,
            Some(l) if !f.links.contains(&l) => f.links.push(l),
            Some(_) => {}
        }
    };
    for (route, &at_once) in plan.routes.iter().zip(acks_at_once) {
        let mut by = None;
        for &link in &route.forward {
            feed(link, by);
            by = in_order(link);
        }
        by = by.filter(|_| at_once);
        for &link in &route.reverse {
            feed(link, by);
            by = in_order(link);
        }
    }
    feeders
}

/// A wire whose exit times are known when packets enter.
fn is_plain(plan: &Plan, l: usize) -> bool {
    !plan.links[l].has_queue() && plan.links[l].per_flow.is_none()
}

/// The lead of link `l`, if it can be merged: it has several feeders, all chained to the same root other than `l`.
fn lead(plan: &Plan, entries: &[Entry], feeders: &Feeders, l: usize) -> Option<Dur> {
    if !is_plain(plan, l) || feeders.host || feeders.links.len() < 2 {
        return None;
    }
    let mut root = None;
    let mut lead = Dur(u64::MAX);
    for &feeder in &feeders.links {
        let (feeder_root, delay) = root_of(plan, entries, feeder)?;
        if *root.get_or_insert(feeder_root) != feeder_root || feeder_root == l {
            return None;
        }
        lead = lead.min(delay);
    }
    Some(lead)
}

/// The root of `l`, and the propagation delay from the far end of the root to that of `l`; `None` for a ring.
fn root_of(plan: &Plan, entries: &[Entry], mut l: usize) -> Option<(usize, Dur)> {
    let mut delay = Dur::ZERO;
    for _ in 0..=entries.len() {
        match entries[l] {
            Entry::Chained(by) => {
                delay = delay + plan.links[l].delay;
                l = by;
            }
            _ => return Some((l, delay)),
        }
    }
    None
}
