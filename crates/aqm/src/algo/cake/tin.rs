//! A tin: 1024 queues with COBALT in each, served by DRR++, sparse ones first.
//!
//! Linux's sch_cake. A queue that becomes busy is sparse until it has used up a quantum; then it is bulk, and counts as a
//! busy flow of its hosts. An empty queue decays until its COBALT is at rest.

use alloc::vec::Vec;
use super::ack_filter::{superfluous, AckFilter};
use super::chain::{Chains, List};
use super::framing::duration;
use super::isolation::{Classifier, Hashes, Table, QUEUES};
use crate::algo::cobalt::{Decision, Settings, State};
use crate::buffer::Buffer;
use marqueue_core::{Bytes, Dur, Packet, Rng, Time};

/// What the settings of a tin depend on.
#[derive(Clone, Copy, Debug)]
pub struct Rates {
    /// The tin's share of the shaper's rate, bit/s; `None` without a shaper.
    pub rate: Option<f64>,
    /// The largest usual packet.
    pub mtu: Bytes,
    /// Target and interval, s.
    pub target: f64,
    pub rtt: f64,
}

/// How a queue is counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Set {
    /// In no list.
    None,
    Sparse,
    /// Counted as sparse, but in turn with the bulk ones: it was empty when its quantum was used up.
    SparseWait,
    Bulk,
    Decaying,
}

#[derive(Debug)]
struct Queue {
    packets: Buffer,
    cobalt: State,
    deficit: i64,
    set: Set,
}

/// A tin.
#[derive(Debug)]
pub struct Tin {
    /// Made with the first packet: most tins have none.
    queues: Vec<Queue>,
    /// Bytes of each queue, in one place for the search of the longest.
    backlogs: Vec<u32>,
    chains: Chains,
    table: Table,
    cobalt: Settings,
    /// Time of one packet of the largest usual size.
    mtu_time: Dur,
    quantum: i64,
    tin_quantum: i64,
    rate: Option<f64>,
    sparse: u32,
    bulk: u32,
    /// Byte credits without a shaper.
    pub deficit: i64,
    /// When the tin has used up its share of the shaper's rate.
    pub next: Time,
}

/// Byte credits of a queue: 1514, less on slow links so that sparse flows do not wait.
fn flow_quantum(rate: Option<f64>) -> i64 {
    rate.map_or(1514, |rate| ((rate / 8.0 / 4096.0) as i64).clamp(300, 1514))
}

/// COBALT's settings: a slow link needs a target of 1.5 packets, and an interval of twice the target.
fn settings(rates: &Rates, mtu_time: Dur) -> Settings {
    let target = rates.target.max(1.5 * mtu_time.secs());
    let interval = (rates.rtt + target - rates.target).max(2.0 * target);
    Settings {
        target: Dur::from_secs(target),
        interval: Dur::from_secs(interval),
        increment: 1.0 / 256.0,
        decrement: 1.0 / 4096.0,
        blue_threshold: Dur(u64::MAX),
    }
}

impl Tin {
    /// An empty tin. `tin_quantum` is its weight without a shaper.
    pub fn new(rates: &Rates, tin_quantum: i64, classifier: &Classifier) -> Tin {
        let mtu_time = rates.rate.map_or(Dur::ZERO, |rate| duration(rates.mtu.0 as u32, rate));
        Tin {
            queues: Vec::new(),
            backlogs: Vec::new(),
            chains: Chains::new(QUEUES),
            table: Table::new(classifier),
            cobalt: settings(rates, mtu_time),
            mtu_time,
            quantum: flow_quantum(rates.rate),
            tin_quantum: tin_quantum.max(1),
            rate: rates.rate,
            sparse: 0,
            bulk: 0,
            deficit: 0,
            next: Time::ZERO,
        }
    }

    /// Are there queues that may hold packets?
    pub fn has_busy_queues(&self) -> bool {
        self.sparse + self.bulk > 0
    }

    /// Number of sparse queues.
    pub fn sparse_flows(&self) -> u32 {
        self.sparse
    }

    /// Number of bulk queues.
    pub fn bulk_flows(&self) -> u32 {
        self.bulk
    }

    /// Is this queue empty?
    pub fn is_empty(&self, queue: usize) -> bool {
        self.queues[queue].packets.is_empty()
    }

    /// Bytes in the longest queue.
    pub fn most_bytes(&self) -> u32 {
        self.backlogs.iter().copied().max().unwrap_or(0)
    }

    /// Another turn of the tin has come.
    pub fn replenish(&mut self) {
        if self.deficit <= 0 {
            self.deficit += self.tin_quantum;
        }
    }

    /// The quantum of a queue: that of the tin, divided among the busy flows of its host, and rounded at random.
    fn quantum(&self, queue: usize, rng: &mut Rng) -> i64 {
        match self.table.host_load(queue) {
            1 => self.quantum,
            load => (self.quantum as f64 / f64::from(load) + rng.uniform()) as i64,
        }
    }

    /// Adds a packet. Returns its queue.
    pub fn enqueue(&mut self, now: Time, packet: Packet, hashes: Hashes, rng: &mut Rng) -> usize {
        if !self.has_busy_queues() {
            self.next = self.next.max(now);
        }
        if self.queues.is_empty() {
            self.make_queues(now);
        }
        let queues = &self.queues;
        let chosen = self.table.queue(hashes, |q| queues[q].set != Set::None, |q| queues[q].set == Set::Bulk);
        self.queues[chosen].packets.push(now, packet);
        self.backlogs[chosen] += packet.bytes();
        match self.queues[chosen].set {
            Set::None | Set::Decaying => {
                self.chains.move_to_end(chosen, List::New);
                self.queues[chosen].set = Set::Sparse;
                self.queues[chosen].deficit = self.quantum(chosen, rng);
                self.sparse += 1;
            }
            Set::SparseWait => {
                self.sparse -= 1;
                self.make_bulk(chosen);
            }
            Set::Sparse | Set::Bulk => {}
        }
        chosen
    }

    #[inline(never)]
    fn make_queues(&mut self, now: Time) {
        let queue = || Queue { packets: Buffer::default(), cobalt: State::new(now), deficit: 0, set: Set::None };
        self.queues.resize_with(QUEUES, queue);
        self.backlogs.resize(QUEUES, 0);
    }

    fn make_bulk(&mut self, queue: usize) {
        self.queues[queue].set = Set::Bulk;
        self.bulk += 1;
        self.table.count(queue, true);
    }

    /// The queue to serve next. `decaying`: a decaying one, if there is any.
    pub fn next_queue(&mut self, decaying: bool, rng: &mut Rng) -> Option<usize> {
        if let Some(queue) = self.chains.first(List::Decaying).filter(|_| decaying) {
            return Some(queue);
        }
        loop {
            let first = |list| self.chains.first(list);
            let queue = first(List::New).or_else(|| first(List::Old)).or_else(|| first(List::Decaying))?;
            if self.queues[queue].deficit > 0 || self.queues[queue].set == Set::Decaying {
                return Some(queue);
            }
            if self.queues[queue].set == Set::Sparse {
                if self.is_empty(queue) {
                    self.queues[queue].set = Set::SparseWait;
                } else {
                    self.sparse -= 1;
                    self.make_bulk(queue);
                }
            }
            self.queues[queue].deficit += self.quantum(queue, rng);
            self.chains.move_to_end(queue, List::Old);
        }
    }

    /// Takes the oldest packet of a queue.
    pub fn pop(&mut self, queue: usize) -> Option<(Time, Packet)> {
        let popped = self.queues[queue].packets.pop()?;
        self.backlogs[queue] -= popped.1.bytes();
        Some(popped)
    }

    /// COBALT's decision about a packet that leaves a queue.
    pub fn decide(&mut self, queue: usize, rng: &mut Rng, now: Time, sojourn: Dur, drops: bool) -> Decision {
        let over = sojourn > self.cobalt.target && sojourn.0 > 4 * self.mtu_time.0;
        self.queues[queue].cobalt.decide(&self.cobalt, rng, now, sojourn, over, drops)
    }

    /// A packet of `size` bytes on the link was served.
    pub fn served(&mut self, queue: usize, now: Time, size: u32) {
        self.queues[queue].deficit -= i64::from(size);
        self.deficit -= i64::from(size);
        if let Some(rate) = self.rate {
            let time = duration(size, rate);
            // A tin that is behind its share catches up; one that is ahead does not get further than one packet.
            if self.next < now {
                self.next += time;
            } else if self.next < now + time {
                self.next = now + time;
            }
        }
    }

    /// A queue that was to be served is empty: it decays, or leaves its list if its COBALT is at rest.
    pub fn on_empty(&mut self, queue: usize, now: Time) {
        self.queues[queue].cobalt.on_idle(&self.cobalt, now);
        match self.queues[queue].set {
            Set::Sparse | Set::SparseWait => self.sparse -= 1,
            Set::Bulk => {
                self.bulk -= 1;
                self.table.count(queue, false);
            }
            Set::None | Set::Decaying => {}
        }
        if self.queues[queue].cobalt.is_at_rest(now) {
            self.chains.remove(queue);
            self.queues[queue].set = Set::None;
        } else {
            self.chains.move_to_end(queue, List::Decaying);
            self.queues[queue].set = Set::Decaying;
        }
    }

    /// Drops the oldest packet of the longest queue, because the buffer is full.
    pub fn drop_from_longest(&mut self, now: Time) -> Packet {
        let most = self.most_bytes();
        let longest = self.backlogs.iter().position(|&bytes| bytes == most).expect("a longest queue");
        self.queues[longest].cobalt.on_overflow(&self.cobalt, now);
        self.pop(longest).expect("the longest queue holds packets").1
    }

    /// Takes the acknowledgement that `newest`, which has just joined this queue, makes superfluous.
    pub fn take_superfluous(&mut self, filter: AckFilter, queue: usize, newest: &Packet) -> Option<Packet> {
        let packets = &mut self.queues[queue].packets;
        let ack = packets.take(superfluous(filter, packets, newest)?);
        self.backlogs[queue] -= ack.bytes();
        Some(ack)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slow_tins_have_longer_targets_and_smaller_quanta() {
        let at = |rate| {
            let rates = Rates { rate: Some(rate), mtu: Bytes(1500), target: 0.005, rtt: 0.1 };
            let set = settings(&rates, duration(1500, rate));
            (flow_quantum(rates.rate), set.target, set.interval)
        };
        // 1 Mbit/s: 1500 bytes take 12 ms, so 18 ms and 100 + 13 ms; 125 kB/s / 4096 = 30, at least 300.
        assert_eq!(at(1e6), (300, Dur(18_000_000), Dur(113_000_000)));
        // 20 Mbit/s: 0.6 ms; 2.5 MB/s / 4096 = 610.
        assert_eq!(at(2e7), (610, Dur(5_000_000), Dur(100_000_000)));
        assert_eq!(at(1e8).0, 1514);
        // 64 kbit/s: 187.5 ms, 281.25 ms; 100 + 276.25 ms is less than twice the target.
        assert_eq!(at(64e3), (300, Dur(281_250_000), Dur(562_500_000)));
    }
}
