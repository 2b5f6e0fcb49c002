//! CAKE: common applications kept enhanced.
//!
//! Høiland-Jørgensen, Täht and Morton, "Piece of CAKE: A Comprehensive Queue Management Solution for Home Gateways", IEEE
//! LANMAN 2018; Linux's sch_cake and tc-cake(8).
//!
//! Packets are sorted into tins by code point (`tins.rs`), and in a tin into 1024 queues by flow (`isolation.rs`). Queues are
//! served by DRR++, the quantum of each divided by the number of busy flows of its host, so that hosts get equal shares.
//! Each queue has a COBALT (`cobalt.rs`). With `bandwidth` a shaper releases packets at that rate, by their size with
//! overhead (`framing.rs`); tins have priority up to their share of it. Without it, tins share the link by weights.
//!
//! Input: code points, flows, sizes, sojourn times. Output: the packet to serve; marks and drops at departure as COBALT; when
//! the buffer overflows, drops from the head of the queue with most bytes; drops of superfluous acknowledgements
//! (`ack_filter.rs`), of reason `matched`.
//!
//! Hosts: packets here have no addresses. `source_host` and `destination_host` say which packets are of one host: those of a
//! flow, as in captures (docs/traces.md), those of a code point, or all. On live links too, a host is a flow by default.
//! Departures: quanta of a host's flows are rounded at random by a fraction, not by 16 bits. The buffer is the link's, and not
//! computed from the rate. The longest queue is found by a search in place of a heap. Ingress mode, autorate, wash,
//! NAT look-up and firewall marks are absent.
//! Defaults: Linux's sch_cake.

use alloc::{string::String, vec::Vec};
mod ack_filter;
mod chain;
mod framing;
mod isolation;
mod tin;
mod tins;

use crate::accounting::{Accounting, Counters, Reason};
use crate::algorithm::Algorithm;
use crate::policy::{Env, Signal, Verdict};
use crate::qdisc::{apply_verdict, EnqueueOutcome, Qdisc};
use ack_filter::AckFilter;
use framing::{duration, Framing, Overhead};
use isolation::{Classifier, HostKey, Isolation};
use marqueue_core::params::ParamError;
use marqueue_core::{Dur, Ecn, Packet, Price, Rng, Time};
use tin::{Rates, Tin};
use tins::Diffserv;

use super::cobalt::Decision;

marqueue_core::params! {
    /// Parameters of CAKE.
    pub struct Params {
        /// Rate of the shaper.
        bandwidth: Option<f64> { unit: BitsPerSecond, range: 512.0 => 1e15, default: None, auto: "unlimited: the link's rate, without a shaper", source: "tc-cake(8) bandwidth" },
        /// Which code points share a tin.
        diffserv: Diffserv { default: Diffserv::Diffserv3, source: "tc-cake(8)" },
        /// What gets a fair share.
        isolation: Isolation { default: Isolation::TripleIsolate, source: "tc-cake(8)" },
        /// Which packets are of one source host.
        source_host: HostKey { default: HostKey::Flow, source: "none: packets have no addresses" },
        /// Which packets are of one destination host.
        destination_host: HostKey { default: HostKey::Flow, source: "none: packets have no addresses" },
        /// COBALT's interval; about the longest RTT.
        rtt: f64 { unit: Seconds, range: 1e-6 => 100.0, default: 0.1, source: "tc-cake(8) rtt" },
        /// COBALT's target; at least 1.5 packets at the rate of the tin.
        target: Option<f64> { unit: Seconds, range: 1e-6 => 100.0, default: None, auto: "rtt / 20", source: "tc-cake(8): 5 % of rtt" },
        /// Bytes that the link adds to each packet; negative to take some away.
        overhead: f64 { unit: Bytes, range: -64.0 => 256.0, default: 0.0, source: "tc-cake(8) overhead" },
        /// Smallest size of a packet on the link.
        mpu: f64 { unit: Bytes, range: 0.0 => 256.0, default: 0.0, source: "tc-cake(8) mpu" },
        /// How the link frames packets.
        framing: Framing { default: Framing::None, source: "tc-cake(8) noatm, atm, ptm" },
        /// Which superfluous acknowledgements are dropped.
        ack_filter: AckFilter { default: AckFilter::Off, source: "tc-cake(8) ack-filter" },
    }
}

/// A shaper, which releases packets at a rate.
#[derive(Debug)]
struct Shaper {
    /// bit/s.
    rate: f64,
    /// When the next packet may be released.
    next: Time,
    /// When a packet that was asked for too early can be released; [`Time::NEVER`] if none was.
    wake: Time,
}

/// State of CAKE.
#[derive(Debug)]
pub struct Cake {
    diffserv: Diffserv,
    ack_filter: AckFilter,
    overhead: Overhead,
    classifier: Classifier,
    tins: Vec<Tin>,
    /// The tin that is served, without a shaper.
    current: usize,
    shaper: Option<Shaper>,
    len: u32,
    bytes: u64,
    env: Env,
    rng: Rng,
    accounting: Accounting,
}

impl Cake {
    fn removed(&mut self, packet: &Packet) {
        self.len -= 1;
        self.bytes -= u64::from(packet.bytes());
    }

    /// Drops packets from the heads of the longest queues until the others fit into the buffer. Returns whether `arrival`
    /// stays.
    fn push_out(&mut self, now: Time, arrival: &Packet) -> bool {
        let mut stays = true;
        while self.env.limit.is_exceeded(self.len, self.bytes) {
            let longest = (0..self.tins.len()).max_by_key(|&tin| (self.tins[tin].most_bytes(), self.tins.len() - tin));
            let victim = self.tins[longest.expect("there is a tin")].drop_from_longest(now);
            stays &= victim.seq() != arrival.seq() || victim.flow() != arrival.flow();
            self.removed(&victim);
            self.accounting.drop(victim, Reason::Overflow);
        }
        stays
    }

    fn filter_acks(&mut self, tin: usize, queue: usize, newest: &Packet) {
        if let Some(ack) = self.tins[tin].take_superfluous(self.ack_filter, queue, newest) {
            self.removed(&ack);
            self.accounting.drop(ack, Reason::Matched);
        }
    }

    /// The tin to serve: without a shaper by weights, with one the highest that is within its share of the rate, or else that
    /// which will be first.
    fn next_tin(&mut self, now: Time) -> Option<usize> {
        if self.shaper.is_some() {
            let busy = (0..self.tins.len()).filter(|&tin| self.tins[tin].has_busy_queues());
            let key = |&tin: &usize| (self.tins[tin].next.since(now), self.tins.len() - tin);
            return busy.min_by_key(key);
        }
        if !self.tins.iter().any(Tin::has_busy_queues) {
            return None;
        }
        while self.tins[self.current].deficit < 0 || !self.tins[self.current].has_busy_queues() {
            self.tins[self.current].replenish();
            self.current = (self.current + 1) % self.tins.len();
        }
        Some(self.current)
    }

    /// Asks COBALT about a packet that leaves `queue`. Returns it unless it was dropped.
    fn apply_aqm(&mut self, now: Time, tin: usize, queue: usize, packet: Packet, sojourn: Dur) -> Option<Packet> {
        let drops = match self.env.signal {
            Signal::Drop => true,
            Signal::Ecn => packet.ecn() == Ecn::NotEct,
            Signal::EcnOnly => false,
        };
        let decision = self.tins[tin].decide(queue, &mut self.rng, now, sojourn, drops);
        let verdict = match decision {
            Decision::Pass => Verdict::Pass,
            // The last packet of a queue may be marked but is not dropped.
            Decision::Drop | Decision::Signal if self.tins[tin].is_empty(queue) && (drops || decision == Decision::Drop) => {
                Verdict::Pass
            }
            Decision::Signal => Verdict::Mark(Reason::Sojourn),
            Decision::Drop => Verdict::Drop(Reason::Early),
        };
        apply_verdict(verdict, self.env.signal, &mut self.accounting, packet).map(|(packet, _)| packet)
    }

    /// The next packet of a tin; `None` if its busy queues turned out to be empty. One decaying queue is visited first.
    fn serve_tin(&mut self, now: Time, tin: usize, visit_decaying: &mut bool) -> Option<(Packet, Dur)> {
        let queue = self.tins[tin].next_queue(core::mem::take(visit_decaying), &mut self.rng)?;
        loop {
            let Some((arrived, packet)) = self.tins[tin].pop(queue) else {
                self.tins[tin].on_empty(queue, now);
                return None;
            };
            self.removed(&packet);
            let sojourn = now.since(arrived);
            if let Some(packet) = self.apply_aqm(now, tin, queue, packet, sojourn) {
                let size = self.overhead.size(packet.bytes());
                self.tins[tin].served(queue, now, size);
                if let Some(shaper) = &mut self.shaper {
                    shaper.next += duration(size, shaper.rate);
                }
                return Some((packet, sojourn));
            }
        }
    }
}

impl Algorithm for Cake {
    const NAME: &'static str = "cake";
    const SUMMARY: &'static str = "Shapes, sorts by code point, isolates hosts and flows, with COBALT in each queue";
    const SOURCE: &'static str = "Hoeiland-Joergensen, Taeht and Morton, IEEE LANMAN 2018; Linux sch_cake";
    const PROBES: &'static [(&'static str, &'static str)] = &[("sparse_flows", "1"), ("bulk_flows", "1")];
    const PRICES: bool = false;
    type Params = Params;

    fn build(p: &Params, env: Env, rng: Rng) -> Result<Self, ParamError> {
        let target = p.target.unwrap_or(p.rtt / 20.0);
        if target > p.rtt {
            return Err(ParamError::new("target", format!("got {target} s, expected at most rtt = {} s", p.rtt)));
        }
        let classifier = Classifier::new(p.isolation, p.source_host, p.destination_host, &mut rng.child("hashes"));
        let tin = |share: tins::Share| {
            let rates = Rates { rate: p.bandwidth.map(|rate| rate * share.rate), mtu: env.mean_packet, target, rtt: p.rtt };
            Tin::new(&rates, share.quantum, &classifier)
        };
        Ok(Cake {
            diffserv: p.diffserv,
            ack_filter: p.ack_filter,
            overhead: Overhead { overhead: p.overhead as i64, mpu: p.mpu as i64, framing: p.framing },
            tins: p.diffserv.shares().into_iter().map(tin).collect(),
            classifier,
            current: 0,
            shaper: p.bandwidth.map(|rate| Shaper { rate, next: Time::ZERO, wake: Time::NEVER }),
            len: 0,
            bytes: 0,
            env,
            rng,
            accounting: Accounting::default(),
        })
    }
}

impl Qdisc for Cake {
    #[inline(never)]
    fn enqueue(&mut self, now: Time, packet: Packet) -> EnqueueOutcome {
        self.accounting.on_arrival(&packet);
        let tin = usize::from(self.diffserv.tin(packet.dscp()));
        if let Some(shaper) = self.shaper.as_mut().filter(|_| self.len == 0) {
            shaper.next = shaper.next.max(now);
        }
        let queue = self.tins[tin].enqueue(now, packet, self.classifier.hashes(&packet), &mut self.rng);
        self.len += 1;
        self.bytes += u64::from(packet.bytes());
        self.filter_acks(tin, queue, &packet);
        let stays = self.push_out(now, &packet);
        debug_assert!(self.conserves());
        if stays {
            EnqueueOutcome::Queued
        } else {
            EnqueueOutcome::Dropped
        }
    }

    #[inline(never)]
    fn dequeue(&mut self, now: Time) -> Option<(Packet, Dur)> {
        if let Some(shaper) = self.shaper.as_mut().filter(|shaper| self.len > 0 && shaper.next > now) {
            shaper.wake = shaper.next;
            return None;
        }
        let mut visit_decaying = true;
        while self.len > 0 {
            let tin = self.next_tin(now)?;
            if let Some((packet, sojourn)) = self.serve_tin(now, tin, &mut visit_decaying) {
                self.accounting.on_departure(&packet);
                debug_assert!(self.conserves());
                return Some((packet, sojourn));
            }
        }
        None
    }

    fn next_timer(&self) -> Time {
        self.shaper.as_ref().map_or(Time::NEVER, |shaper| shaper.wake)
    }

    fn on_timer(&mut self, _: Time) {
        if let Some(shaper) = &mut self.shaper {
            shaper.wake = Time::NEVER;
        }
    }

    fn len(&self) -> u32 {
        self.len
    }

    fn bytes(&self) -> u64 {
        self.bytes
    }

    fn counters(&self) -> &Counters {
        &self.accounting.counters
    }

    fn has_dropped(&self) -> bool {
        !self.accounting.dropped.is_empty()
    }

    fn drain_dropped(&mut self) -> alloc::vec::Drain<'_, (Packet, Reason)> {
        self.accounting.dropped.drain(..)
    }

    fn env_mut(&mut self) -> &mut Env {
        &mut self.env
    }

    fn price(&self, _: &Packet) -> Option<Price> {
        None
    }

    fn warning(&self) -> Option<String> {
        let (rate, link) = (self.shaper.as_ref()?.rate, self.env.rate.0 as f64);
        (rate > link).then(|| format!("bandwidth: got {rate} bit/s, expected at most the link's {link} bit/s"))
    }

    fn probe(&self, _: Time, out: &mut Vec<f64>) {
        let sum = |of: fn(&Tin) -> u32| f64::from(self.tins.iter().map(of).sum::<u32>());
        out.extend([sum(Tin::sparse_flows), sum(Tin::bulk_flows)]);
    }
}
