//! Which queue a flow gets, and the number of busy flows of each host.
//!
//! Set-associative hashing (Linux's sch_cake): a flow's hash names one of 1024 queues. If another flow is using it, the seven
//! others of its set of eight are tried, so that few flows share a queue.

use alloc::vec::Vec;
use crate::flow_hash::FlowHash;
use marqueue_core::{Packet, Rng};

/// Queues of a tin.
pub const QUEUES: usize = 1024;
/// Queues of a set.
const WAYS: usize = 8;

marqueue_core::choice! {
    /// What gets a fair share.
    pub enum Isolation {
        /// Nothing: all packets share a queue.
        Flowblind = "flowblind",
        /// Source hosts.
        Srchost = "srchost",
        /// Destination hosts.
        Dsthost = "dsthost",
        /// Pairs of hosts.
        Hosts = "hosts",
        /// Flows.
        Flows = "flows",
        /// Source hosts, and flows of each.
        DualSrchost = "dual_srchost",
        /// Destination hosts, and flows of each.
        DualDsthost = "dual_dsthost",
        /// Source and destination hosts, and flows of each.
        TripleIsolate = "triple_isolate",
    }
}

marqueue_core::choice! {
    /// Which packets are of one host.
    pub enum HostKey {
        /// Those of one flow.
        Flow = "flow",
        /// Those of one code point.
        Dscp = "dscp",
        /// All.
        All = "all",
    }
}

impl HostKey {
    fn key(self, packet: &Packet) -> u32 {
        match self {
            HostKey::Flow => packet.flow(),
            HostKey::Dscp => u32::from(packet.dscp().value()),
            HostKey::All => 0,
        }
    }
}

/// The hashes of a packet.
#[derive(Clone, Copy, Debug)]
pub struct Hashes {
    queue: u32,
    source: u32,
    destination: u32,
}

/// The hash functions of all tins.
#[derive(Debug)]
pub struct Classifier {
    isolation: Isolation,
    source: HostKey,
    destination: HostKey,
    flows: FlowHash,
    sources: FlowHash,
    destinations: FlowHash,
}

impl Classifier {
    /// Hash functions with salts from `rng`.
    pub fn new(isolation: Isolation, source: HostKey, destination: HostKey, rng: &mut Rng) -> Classifier {
        let mut hash = || FlowHash::new(1, rng);
        Classifier { isolation, source, destination, flows: hash(), sources: hash(), destinations: hash() }
    }

    /// The hashes of a packet.
    #[inline]
    pub fn hashes(&self, packet: &Packet) -> Hashes {
        let of = |hash: &FlowHash, key| (hash.bits(key) >> 32) as u32;
        let source = of(&self.sources, self.source.key(packet));
        let destination = of(&self.destinations, self.destination.key(packet));
        let queue = match self.isolation {
            Isolation::Flowblind => 0,
            Isolation::Srchost => source,
            Isolation::Dsthost => destination,
            Isolation::Hosts => source ^ destination,
            Isolation::Flows | Isolation::DualSrchost | Isolation::DualDsthost | Isolation::TripleIsolate => {
                of(&self.flows, packet.flow())
            }
        };
        Hashes { queue, source, destination }
    }

    /// Are the busy flows of source and of destination hosts counted?
    pub fn counts(&self) -> (bool, bool) {
        let triple = self.isolation == Isolation::TripleIsolate;
        (triple || self.isolation == Isolation::DualSrchost, triple || self.isolation == Isolation::DualDsthost)
    }
}

/// Hosts of one side, by hash, with the number of their busy flows.
#[derive(Debug)]
struct Hosts {
    counted: bool,
    tags: Vec<u32>,
    busy: Vec<u16>,
}

impl Hosts {
    fn new(counted: bool) -> Hosts {
        let size = if counted { QUEUES } else { 0 };
        Hosts { counted, tags: vec![0; size], busy: vec![0; size] }
    }

    /// The place of a host: that with its tag, or one without busy flows, or the first of its set.
    fn place(&mut self, hash: u32) -> usize {
        let mut ways = ways(hash);
        let free = |place: &usize| self.busy[*place] == 0;
        let found = ways.clone().find(|&place| self.tags[place] == hash);
        let place = found.or_else(|| ways.clone().find(free)).unwrap_or_else(|| ways.next().expect("eight ways"));
        self.tags[place] = hash;
        place
    }

    fn count(&mut self, place: u16, busy: bool) {
        if self.counted {
            let count = &mut self.busy[usize::from(place)];
            *count = if busy { (*count + 1).min(QUEUES as u16) } else { count.saturating_sub(1) };
        }
    }

    fn load(&self, place: u16) -> u16 {
        if self.counted {
            self.busy[usize::from(place)]
        } else {
            0
        }
    }
}

/// The places of a hash's set, from that which the hash names.
fn ways(hash: u32) -> impl Iterator<Item = usize> + Clone {
    let first = hash as usize % QUEUES;
    let (set, way) = (first - first % WAYS, first % WAYS);
    (0..WAYS).map(move |i| set + (way + i) % WAYS)
}

/// The queues of a tin by hash, and its hosts.
#[derive(Debug)]
pub struct Table {
    tags: Vec<u32>,
    /// Of each queue, the places of its hosts.
    host_places: Vec<(u16, u16)>,
    sources: Hosts,
    destinations: Hosts,
}

impl Table {
    /// No queue is in use.
    pub fn new(classifier: &Classifier) -> Table {
        let (sources, destinations) = classifier.counts();
        Table {
            tags: vec![0; QUEUES],
            host_places: vec![(0, 0); QUEUES],
            sources: Hosts::new(sources),
            destinations: Hosts::new(destinations),
        }
    }

    /// The queue of a packet. `is_used` and `is_busy` say of a queue whether it is in a list, and whether it counts as a
    /// busy flow of its hosts.
    #[inline]
    pub fn queue(&mut self, hashes: Hashes, is_used: impl Fn(usize) -> bool, is_busy: impl Fn(usize) -> bool) -> usize {
        let direct = hashes.queue as usize % QUEUES;
        if self.tags[direct] == hashes.queue && is_used(direct) {
            return direct;
        }
        self.allocate(hashes, is_used, is_busy)
    }

    fn allocate(&mut self, hashes: Hashes, is_used: impl Fn(usize) -> bool, is_busy: impl Fn(usize) -> bool) -> usize {
        let own = ways(hashes.queue).find(|&queue| self.tags[queue] == hashes.queue);
        if let Some(queue) = own {
            if is_used(queue) {
                return queue;
            }
        }
        let free = || ways(hashes.queue).find(|&queue| !is_used(queue));
        let queue = own.or_else(free).unwrap_or(hashes.queue as usize % QUEUES);
        // A queue in use is shared from now on, and counts for the hosts of its latest flow.
        if is_busy(queue) {
            self.count(queue, false);
        }
        self.tags[queue] = hashes.queue;
        if self.sources.counted {
            self.host_places[queue].0 = self.sources.place(hashes.source) as u16;
        }
        if self.destinations.counted {
            self.host_places[queue].1 = self.destinations.place(hashes.destination) as u16;
        }
        if is_busy(queue) {
            self.count(queue, true);
        }
        queue
    }

    /// A queue begins or ends to count as a busy flow of its hosts.
    pub fn count(&mut self, queue: usize, busy: bool) {
        let (source, destination) = self.host_places[queue];
        self.sources.count(source, busy);
        self.destinations.count(destination, busy);
    }

    /// The number of flows that a queue's share is divided by: the busy flows of that of its hosts which has most.
    pub fn host_load(&self, queue: usize) -> u16 {
        let (source, destination) = self.host_places[queue];
        self.sources.load(source).max(self.destinations.load(destination)).max(1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn flows_that_are_busy_together_hardly_share_queues() {
        // Linux's claim: with 8 ways, a hundred flows collide with probability below 1e-3 each. Plain hashing would have
        // about 100 99 / (2 1024) = 5 pairs.
        let mut shared = 0;
        for seed in 0..100 {
            let classifier =
                Classifier::new(Isolation::Flows, HostKey::Flow, HostKey::Flow, &mut Rng::named(seed, "cake"));
            let (mut table, mut used) = (Table::new(&classifier), vec![false; QUEUES]);
            for flow in 0..100 {
                let hashes = classifier.hashes(&Packet::data(flow, 0, 1000));
                let queue = table.queue(hashes, |queue| used[queue], |_| false);
                shared += u32::from(used[queue]);
                used[queue] = true;
            }
        }
        assert!(shared <= 10, "{shared} of 10000");
    }

    #[test]
    fn a_flow_keeps_its_queue_while_it_is_used() {
        let classifier =
            Classifier::new(Isolation::TripleIsolate, HostKey::All, HostKey::Flow, &mut Rng::named(1, "cake"));
        let (mut table, used) = (Table::new(&classifier), core::cell::RefCell::new(vec![false; QUEUES]));
        let mut queue_of = |flow| {
            let hashes = classifier.hashes(&Packet::data(flow, 0, 1000));
            let queue = table.queue(hashes, |queue| used.borrow()[queue], |_| false);
            used.borrow_mut()[queue] = true;
            queue
        };
        let queues: Vec<usize> = (0..100).map(&mut queue_of).collect();
        assert_eq!((0..100).map(&mut queue_of).collect::<Vec<_>>(), queues);
        // One source host: its load is the number of busy flows.
        for &queue in &queues[..7] {
            table.count(queue, true);
        }
        assert_eq!(table.host_load(queues[0]), 7);
    }
}
