//! A queue with checks: after every operation packets and bytes are conserved, packets leave in order, and signals are
//! marks or drops as the environment says. Used by tests and by the fuzzer.

use marqueue_aqm::qdisc::QueueStatus;
use marqueue_aqm::{Discipline, EnqueueOutcome, Limit, Qdisc, Signal};
use marqueue_core::{Dscp, Dur, Ecn, Flags, Head, Packet, Rate, Time};
use std::collections::BTreeMap;

/// An operation on a queue.
#[derive(Clone, Debug)]
pub enum Op {
    Enqueue { flow: u32, dscp: Dscp, bytes: u32, ecn: Ecn },
    Burst { count: u32, flows: u32 },
    Dequeue,
    Drain,
    Wait { ns: u64 },
    Rate { bits_per_sec: u64 },
}

/// Largest number of timers in one [`Op::Wait`]; the wait ends with the last of them.
const TIMERS_A_WAIT: u32 = 1_000;

/// Disciplines that keep the order of each flow only.
const SCHEDULERS: [&str; 7] = ["sfq", "drr", "wfq", "fq_codel", "fq_pie", "drr_mkc", "cake"];

/// Disciplines that keep the order of the packets in the low-latency queue, and of the others.
const COUPLED: [&str; 4] = ["dualpi2", "curvy_red", "docsis_dualq_unprotected", "docsis_dualq"];

/// A queue and the expectations about it.
pub struct Watch {
    pub queue: Discipline,
    pub now: Time,
    pub arrived: u32,
    /// Whether each packet joined the low-latency queue of a coupled discipline.
    low_latency: Vec<bool>,
    /// Lower bound of the next departure's number; under a scheduler by flow and code point.
    next: BTreeMap<(u32, Dscp), u32>,
    lost: u64,
}

impl Watch {
    pub fn new(queue: Discipline) -> Watch {
        Watch { queue, now: Time::ZERO, arrived: 0, low_latency: Vec::new(), next: BTreeMap::new(), lost: 0 }
    }

    /// Packets with the same key leave in the order of their arrival.
    fn order(&self, packet: &Packet) -> (u32, Dscp) {
        match self.queue.name() {
            name if SCHEDULERS.contains(&name) => (packet.flow(), packet.dscp()),
            name if COUPLED.contains(&name) => (self.low_latency[packet.seq() as usize].into(), Dscp::default()),
            _ => (0, Dscp::default()),
        }
    }

    /// Packets in the low-latency queue, if there is one.
    fn low_latency_length(&self) -> f64 {
        let mut values = Vec::new();
        self.queue.probe(self.now, &mut values);
        let mut named = self.queue.probes().iter().zip(values);
        named.find(|(probe, _)| probe.0 == "l_queue").map_or(0.0, |(_, length)| length)
    }

    fn enqueue(&mut self, flow: u32, dscp: Dscp, bytes: u32, ecn: Ecn) {
        let signal = self.queue.env_mut().signal;
        // ECN as in RFC 3168. Flows are assigned to three classes in turn.
        let flags = if ecn == Ecn::NotEct { Flags::NONE } else { Flags::ANSWERS_CE };
        let packet = Packet::data(flow, self.arrived, bytes)
            .with_head(Head::new(dscp, (flow % 3) as u8).with(flags).with_ecn(ecn));
        self.arrived += 1;
        let before = self.low_latency_length();
        let fate = self.queue.enqueue(self.now, packet);
        self.low_latency.push(self.low_latency_length() > before);
        let may_mark = signal != Signal::Drop && ecn != Ecn::NotEct;
        assert!(fate != EnqueueOutcome::Marked || may_mark, "{signal:?} marked {ecn:?}");
        match self.queue.env_mut().limit {
            Limit::Packets(n) => assert!(self.queue.len() <= n, "more packets than the buffer holds"),
            Limit::Bytes(n) => assert!(self.queue.bytes() <= n, "more bytes than the buffer holds"),
        }
        self.collect();
    }

    fn dequeue(&mut self) -> bool {
        let (said, lost) = (self.queue.status().next_flow, self.queue.counters().dropped());
        let next = self.queue.oldest().first();
        assert_eq!(said, next.map_or(QueueStatus::NO_FLOW, |(_, packet)| packet.flow()));
        let departed = self.queue.dequeue(self.now);
        if let Some((p, sojourn)) = departed {
            // A policy may drop packets as they leave.
            if ![&SCHEDULERS[..], &COUPLED].concat().contains(&self.queue.name())
                && self.queue.counters().dropped() == lost
            {
                assert_eq!(said, p.flow(), "the first packet leaves first");
            }
            let next = self.next.insert(self.order(&p), p.seq() + 1).unwrap_or(0);
            assert!(p.seq() >= next && p.seq() < self.arrived, "packet {} left out of order", p.seq());
            assert!(sojourn <= self.now - Time::ZERO, "it waited for longer than there has been time");
        }
        self.collect();
        departed.is_some()
    }

    fn collect(&mut self) {
        self.lost += self.queue.drain_dropped().count() as u64;
        assert_eq!(self.lost, self.queue.counters().dropped());
        assert!(self.queue.conserves());
        assert_eq!(self.queue.is_empty(), self.queue.bytes() == 0);
    }

    fn wait(&mut self, ns: u64) {
        let until = self.now + Dur(ns);
        for _ in 0..TIMERS_A_WAIT {
            let due = self.queue.next_timer();
            if due > until {
                self.now = until;
                return;
            }
            self.now = due;
            self.queue.on_timer(due);
            assert!(self.queue.next_timer() > due, "a timer that does not move on");
        }
    }

    pub fn apply(&mut self, op: &Op) {
        match *op {
            Op::Enqueue { flow, dscp, bytes, ecn } => self.enqueue(flow, dscp, bytes, ecn),
            Op::Burst { count, flows } => {
                (0..count).for_each(|i| self.enqueue(i % flows, Dscp::default(), 1000, Ecn::Ect0));
            }
            Op::Dequeue => drop(self.dequeue()),
            Op::Drain => while self.dequeue() {},
            Op::Wait { ns } => self.wait(ns),
            Op::Rate { bits_per_sec } => self.queue.env_mut().rate = Rate(bits_per_sec),
        }
        let mut values = Vec::new();
        self.queue.probe(self.now, &mut values);
        assert_eq!(values.len(), self.queue.probes().len());
        let probes = self.queue.probes();
        // Only a price may be negative: it is while the link has spare capacity.
        let sane = |(name, v): (&str, f64)| v.is_finite() && (v >= 0.0 || name == "price");
        let mut named = probes.iter().map(|probe| probe.0).zip(values.iter().copied());
        assert!(named.all(sane), "{probes:?} = {values:?}");
    }

    /// Removes the remaining packets. Then every packet that arrived has departed or was dropped.
    pub fn finish(&mut self) {
        loop {
            while self.dequeue() {}
            if self.queue.is_empty() {
                break;
            }
            // A shaper holds them until its timer.
            self.now = self.queue.next_timer();
            self.queue.on_timer(self.now);
        }
        let c = self.queue.counters();
        assert_eq!(c.arrivals, u64::from(self.arrived));
        assert_eq!(c.arrivals, c.departures + c.dropped());
    }
}
