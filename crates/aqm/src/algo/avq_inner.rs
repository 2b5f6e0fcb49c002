//! AVQ with any AQM in the virtual queue.
//!
//! Kunniyur and Srikant, "An Adaptive Virtual Queue (AVQ) Algorithm for Active Queue Management", IEEE/ACM ToN 12(2),
//! 2004, section III, Experiment 6, note (there with RED).
//!
//! C~ adapts as in AVQ. Each packet that the inner AQM drops from the virtual queue is a signal to the real queue.
//!
//! Input: arrivals; through the inner AQM, departures and timers of the virtual queue. Output: a mark.
//!
//! The virtual queue holds a copy of every arrival and serves it at C~. Marks of the inner AQM are drops there, because
//! AVQ discards what it signals. A drop at an arrival signals that packet. A drop at a virtual departure signals the
//! next real arrival; each arrival takes one such signal, and the others are pending. The virtual queue is simulated at
//! real arrivals only: each first processes the departures and timers since the last one, in the order of their times.
//!
//! Departures: the packet in virtual service has left the virtual queue, as a packet in transmission has left the real
//! one. So with drop-tail inside this is AVQ with one more packet of buffer.
//! Defaults: those of AVQ; inside RED, as in the paper, with RED's own defaults.

use alloc::{boxed::Box, vec::Vec};
use super::avq::{self, counts_as_arrival};
use crate::policy::{Aqm, Context, Env, Limit, Reason, Signal, Verdict};
use crate::qdisc::{EnqueueOutcome, FromSpec};
use crate::virtual_queue::VirtualCapacity;
use marqueue_core::params::{ParamError, ParamValues, PolicySpec};
use marqueue_core::{Dur, Ecn, Packet, Rate, Rng, Time};
use alloc::collections::VecDeque;

marqueue_core::params! {
    /// Additions to AVQ's parameters.
    pub struct InnerParams {
        /// The AQM in the virtual queue.
        inner: PolicySpec { default: PolicySpec { name: "red".into(), params: ParamValues::new() }, source: "Kunniyur and Srikant 2004, section III, Experiment 6" },
    }
}

/// Parameters: AVQ's and the inner AQM.
pub type Params = (avq::Params, InnerParams);

/// The virtual queue: packets served at C~ under the inner AQM.
#[derive(Debug)]
struct VirtualQueue<D> {
    discipline: Box<D>,
    /// Time up to which it has been simulated.
    now: Time,
    /// Remaining bytes of the packet in service; zero when the server is idle.
    in_service: f64,
}

impl<D: FromSpec> VirtualQueue<D> {
    /// When the service of the present packet ends.
    fn served(&self, capacity: f64) -> Time {
        if self.in_service > 0.0 && capacity > 0.0 {
            self.now + Dur::from_secs(self.in_service / capacity)
        } else {
            Time::NEVER
        }
    }

    fn serve_next(&mut self) {
        self.in_service = self.discipline.dequeue(self.now).map_or(0.0, |(p, _)| f64::from(p.bytes()));
    }

    /// Simulates departures and timers up to `until`, at `capacity` bytes/s.
    fn simulate_until(&mut self, until: Time, capacity: f64) {
        self.discipline.env_mut().rate = Rate(((8.0 * capacity) as u64).max(1));
        loop {
            let (served, timer) = (self.served(capacity), self.discipline.next_timer());
            let next = served.min(timer);
            if next > until {
                break;
            }
            self.advance(next, capacity);
            if timer <= served {
                self.discipline.on_timer(next);
                // A shaper has held packets until its timer.
                if self.in_service == 0.0 && !self.discipline.is_empty() {
                    self.serve_next();
                }
            } else {
                self.serve_next();
            }
        }
        self.advance(until, capacity);
    }

    fn advance(&mut self, to: Time, capacity: f64) {
        // Not zero, which means an idle server. Times are whole nanoseconds, so the rest may be less than one of them.
        let served = capacity * (to - self.now).secs();
        self.in_service = if self.in_service > 0.0 { (self.in_service - served).max(f64::MIN_POSITIVE) } else { 0.0 };
        self.now = to;
    }

    fn arrive(&mut self, packet: Packet) -> EnqueueOutcome {
        let fate = self.discipline.enqueue(self.now, packet);
        if self.in_service == 0.0 {
            self.serve_next();
        }
        fate
    }
}

/// State of AVQ with an inner AQM, whose queue is a discipline `D`.
#[derive(Debug)]
pub struct AvqInner<D> {
    params: avq::Params,
    capacity: VirtualCapacity,
    queue: VirtualQueue<D>,
    /// Signals of virtual departures that are pending until a real packet arrives.
    pending: VecDeque<Reason>,
}

impl<D: FromSpec> AvqInner<D> {
    /// The environment of the virtual queue.
    fn virtual_env(params: &avq::Params, env: &Env) -> Env {
        Env { limit: Limit::Bytes(params.buffer_bytes(env) as u64), signal: Signal::Drop, ..env.clone() }
    }

    /// Collects the signals of virtual departures since the last arrival.
    fn collect_pending(&mut self) {
        self.pending.extend(self.queue.discipline.drain_dropped().map(|(_, reason)| reason));
    }
}

impl<D: FromSpec> Aqm for AvqInner<D> {
    const NAME: &'static str = "avq_inner";
    const SUMMARY: &'static str = "AVQ whose virtual queue is managed by any other AQM";
    const SOURCE: &'static str = "Kunniyur and Srikant, IEEE/ACM ToN 12(2), 2004, section III, Experiment 6";
    const PROBES: &'static [(&'static str, &'static str)] =
        &[("virtual_capacity", "bit/s"), ("virtual_capacity_share", "fraction"), ("virtual_queue", "packets")];
    type Params = Params;

    fn new((avq, inner): &Params, env: &Env, rng: &Rng, now: Time) -> Result<Self, ParamError> {
        let discipline = D::from_spec(&inner.inner, Self::virtual_env(avq, env), rng.child("inner"))
            .map_err(|e| e.within("inner"))?;
        let queue = VirtualQueue { discipline: Box::new(discipline), now, in_service: 0.0 };
        Ok(AvqInner { params: avq.clone(), capacity: avq.capacity(env), queue, pending: VecDeque::new() })
    }

    fn on_arrival(&mut self, cx: &mut Context<'_>, packet: &Packet) -> Verdict {
        let c = cx.env.rate.bytes_per_sec();
        let size = self.params.mode.size(packet, cx.env.mean_packet);
        self.capacity.bound(c);
        self.queue.simulate_until(cx.now, self.capacity.get());
        self.collect_pending();

        let copy = packet.with_ecn(Ecn::NotEct).with_bytes(size as u32);
        let fate = self.queue.arrive(copy);
        let mut dropped = self.queue.discipline.drain_dropped().map(|(_, reason)| reason);
        // If the arrival is dropped, it is the last of the packets that it made the queue drop.
        let own = if fate == EnqueueOutcome::Dropped { dropped.next_back() } else { None };
        self.pending.extend(dropped);
        let signal = own.or_else(|| self.pending.pop_front());
        if counts_as_arrival(cx, packet, signal.is_some()) {
            self.capacity.admit(cx.now, c, size);
        }
        match signal {
            // The buffer that overflowed is the virtual one.
            Some(Reason::Overflow) => Verdict::Mark(Reason::Virtual),
            Some(reason) => Verdict::Mark(reason),
            None => Verdict::Pass,
        }
    }

    fn probe(&self, _: Time, env: &Env, out: &mut Vec<f64>) {
        let capacity = self.capacity.get();
        let queue = self.queue.discipline.bytes() as f64 / env.mean_packet.0 as f64;
        out.extend([8.0 * capacity, capacity / env.rate.bytes_per_sec(), queue]);
    }
}
