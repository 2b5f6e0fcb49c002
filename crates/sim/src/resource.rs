//! A queue under a discipline with its server: a transmitter, a delivery trace, a medium or a CPU.
//!
//! Departures are computed lazily. Before anything else happens to the queue at `t`, everything due by `t` is processed
//! in order of time: timers, departures, idleness ([`Resource::next_departure`]). So a departure needs no event of its
//! own; it must only be known before the packet arrives at the far end of the link.

mod medium;

pub use medium::Medium;

use crate::cpu::Cpu;
use crate::delivery_trace::DeliveryTrace;
use crate::meter::Meter;
use crate::trace::Trace;
use marqueue_aqm::qdisc::QueueStatus;
use marqueue_aqm::{Discipline, EnqueueOutcome, Qdisc};
use marqueue_core::units::Transmitter;
use marqueue_core::{Dur, Ecn, Packet, Rate, Time};
use prefetch_index::prefetch_index;
use std::slice::from_ref;

/// The server of a queue.
#[derive(Debug)]
pub enum Server {
    /// The transmitter of a link.
    Link(Transmitter),
    /// A link that sends at the instants of a trace.
    DeliveryTrace(Box<DeliveryTrace>),
    /// A link whose sender waits for opportunities.
    Medium(Box<Medium>),
    /// A CPU.
    Cpu(Box<Cpu>),
}

/// A cache line, bytes.
const LINE: usize = 64;
/// Bytes of a [`Resource`] that are prefetched: all before the queue, and of the queue what one under one policy takes.
const PREFETCHED: usize = 1024;

/// Packets of a queue for whose departures is prefetched, at most: more leave it only if no other arrives for long.
const MOST_PREFETCHED: usize = 16;

/// A queue and its server.
#[derive(Debug)]
#[repr(C)]
pub struct Resource {
    /// When the next departure, timer or rate change is due. The first field, for [`Resource::prefetch`]; what a packet does
    /// not need is behind.
    due: Time,
    delay: Dur,
    /// When the server, or its first free core, becomes or became free.
    free: Time,
    /// True once the server has found the queue empty.
    idle: bool,
    /// Whether a medium has packets that have not crossed it.
    holds: bool,
    /// Rate changes to come, the next one last.
    schedule: Vec<(Time, Rate)>,
    /// Packets in the queue.
    waiting: u32,
    /// The flow of the packet that will probably be served next.
    next_flow: u32,
    /// When the discipline's timer is due.
    timer: Time,
    server: Server,
    /// Packets dropped that the engine has not released yet.
    pub lost: Vec<Packet>,
    /// Packet trace, if requested.
    pub trace: Option<Box<Trace>>,
    /// Measurements.
    pub meter: Meter,
    /// The queue.
    pub qdisc: Discipline,
}

impl Resource {
    /// An idle resource.
    pub fn new(qdisc: Discipline, server: Server, delay: Dur, schedule: &[(Time, Rate)], meter: Meter) -> Resource {
        let mut resource = Resource {
            qdisc,
            meter,
            trace: None,
            lost: Vec::new(),
            server,
            delay,
            free: Time::ZERO,
            idle: true,
            holds: false,
            schedule: schedule.iter().rev().copied().collect(),
            waiting: 0,
            next_flow: QueueStatus::NO_FLOW,
            timer: Time::NEVER,
            due: Time::NEVER,
        };
        resource.update_due(resource.qdisc.status());
        resource
    }

    /// A warning about the parameters of its discipline.
    pub fn warning(&self) -> Option<String> {
        self.qdisc.warning()
    }

    /// Prefetches what an arrival or a departure reads here.
    #[inline]
    pub fn prefetch(&self) {
        for line in 0..PREFETCHED / LINE {
            prefetch_index(from_ref(&self.due), line * LINE / size_of::<Time>());
        }
    }

    /// Prefetches what an arrival or a departure reads elsewhere: packets of the queue, and where it is measured.
    #[inline]
    pub fn prefetch_packets(&self) {
        self.qdisc.prefetch();
        self.meter.prefetch_length(self.waiting);
    }

    /// Calls `found` with each packet that will probably be served by `until`, and prefetches where its delay is counted.
    #[inline]
    pub fn prefetch_departures(&self, until: Time, mut found: impl FnMut(&Packet)) {
        let packets = self.qdisc.oldest();
        let Some((_, first)) = packets.first() else { return self.meter.prefetch_delay(Dur::ZERO) };
        let each = (f64::from(first.bytes()) * 8e9 / self.speed()) as u64;
        let mut served = self.free;
        for (arrived, packet) in packets.iter().take(MOST_PREFETCHED) {
            self.meter.prefetch_delay(served.since(*arrived));
            found(packet);
            served = Time(served.0.saturating_add(each));
            if served > until {
                break;
            }
        }
    }

    /// A packet arrives. Everything due by `now` has been processed.
    #[inline(always)]
    pub fn enqueue(&mut self, now: Time, packet: Packet) {
        self.meter.integrate_queue(self.waiting, now);
        if let Some(trace) = &mut self.trace {
            // A copy, so that the packet itself need not be in memory.
            trace.record_arrival(now, &{ packet }, self.waiting);
        }
        let (fate, status) = self.qdisc.enqueue_with_status(now, packet);
        match fate {
            EnqueueOutcome::Dropped | EnqueueOutcome::Queued => {}
            EnqueueOutcome::Marked => {
                if let Some(trace) = &mut self.trace {
                    trace.record_mark(now, &packet.with_ecn(Ecn::Ce), self.waiting, self.qdisc.counters());
                }
            }
        }
        if status.has_dropped {
            self.collect_dropped(now, self.waiting);
        }
        self.update_due(status);
    }

    /// Is anything due by `until`?
    #[inline(always)]
    pub fn is_due(&self, until: Time) -> bool {
        self.due <= until
    }

    /// Must the engine release dropped packets, or resolve rows of the trace?
    #[inline(always)]
    pub fn needs_release(&self) -> bool {
        self.trace.is_some() || !self.lost.is_empty()
    }

    /// The flow of the packet that will probably be served next.
    #[inline(always)]
    pub fn next_flow(&self) -> Option<u32> {
        (self.next_flow != QueueStatus::NO_FLOW).then_some(self.next_flow)
    }

    /// Processes what is due by `until`, up to and including the next departure. Returns the packet with its time of
    /// arrival at the far end; `None` when nothing more is due.
    #[inline]
    pub fn next_departure(&mut self, until: Time) -> Option<(Packet, Time)> {
        while self.is_due(until) {
            if let Some(departure) = self.process_due() {
                return Some(departure);
            }
        }
        None
    }

    /// Processes what is due next. At equal times a rate change comes first, then a timer, then a departure.
    #[inline(always)]
    fn process_due(&mut self) -> Option<(Packet, Time)> {
        let due = self.due;
        if self.schedule.last().is_some_and(|change| change.0 == due) {
            self.change_rate();
        } else if self.timer == due {
            self.meter.integrate_queue(self.waiting, due);
            self.qdisc.on_timer(due);
        } else {
            return self.serve(due);
        }
        self.update_due(self.qdisc.status());
        None
    }

    /// Updates the length of the queue and the time when something is due next.
    #[inline]
    fn update_due(&mut self, status: QueueStatus) {
        (self.waiting, self.timer, self.next_flow) = (status.len, status.next_timer, status.next_flow);
        let departure = if self.idle && self.waiting == 0 { Time::NEVER } else { self.free };
        let change = self.schedule.last().map_or(Time::NEVER, |c| c.0);
        self.due = departure.min(self.timer).min(change);
    }

    /// The server takes the next packet at `now`; returns it with its time of arrival at the far
    /// end. A packet keeps the rate it started with.
    #[inline(always)]
    fn serve(&mut self, now: Time) -> Option<(Packet, Time)> {
        if matches!(self.server, Server::Medium(_)) {
            return self.serve_medium(now);
        }
        self.meter.integrate_queue(self.waiting, now);
        // Read in place: moving it at once would stall on store forwarding.
        let got = self.qdisc.dequeue_with_status(now);
        let (next, status) = (&got.0, got.1);
        if status.has_dropped {
            self.collect_dropped(now, self.waiting.saturating_sub(1));
        }
        self.idle = next.is_none();
        let mut done = now;
        if let Some((packet, sojourn)) = next {
            let work = match &mut self.server {
                Server::Link(transmitter) => {
                    done = now + transmitter.transmit(packet.bytes());
                    self.free = done;
                    f64::from(packet.bytes()) * 8.0
                }
                Server::DeliveryTrace(trace) => {
                    (done, self.free) = trace.send(packet.bytes());
                    f64::from(packet.bytes()) * 8.0
                }
                Server::Cpu(cpu) => {
                    let served = cpu.process(now, packet, self.qdisc.env_mut());
                    (done, self.free) = (served.done, served.free);
                    served.cycles
                }
                Server::Medium(_) => unreachable!("a medium takes packets itself"),
            };
            self.meter.record_departure(*sojourn, work, packet.class());
            if let Some(trace) = &mut self.trace {
                trace.record_departure(now, packet, *sojourn, status.len, self.qdisc.counters());
            }
        } else {
            if let Server::Link(transmitter) = &mut self.server {
                transmitter.restart();
            }
            if status.len > 0 {
                self.wait_for_shaper(status.next_timer);
            }
        }
        self.update_due(status);
        next.as_ref().map(|&(packet, _)| (packet, done + self.delay))
    }

    /// The discipline holds packets that it releases at its timer, and not earlier.
    #[inline(never)]
    fn wait_for_shaper(&mut self, timer: Time) {
        self.free = match &mut self.server {
            Server::DeliveryTrace(trace) => trace.first_from(timer),
            Server::Link(_) | Server::Cpu(_) | Server::Medium(_) => timer,
        };
    }

    /// An idle server takes a packet that has just arrived.
    #[inline]
    pub fn start(&mut self, now: Time) -> Option<(Packet, Time)> {
        if !self.idle || self.waiting == 0 {
            return None;
        }
        self.free = self.free.max(now);
        if let Server::Medium(medium) = &mut self.server {
            // Several packets may leave at an opportunity, so even one at `now` is left to `next_departure`.
            self.free = medium.first_from(self.free);
            self.idle = false;
            self.update_due(self.qdisc.status());
            return None;
        }
        if let Server::DeliveryTrace(trace) = &mut self.server {
            self.free = trace.first_from(self.free);
            if self.free > now {
                self.idle = false;
                self.update_due(self.qdisc.status());
                return None;
            }
        }
        self.serve(now)
    }

    /// When [`Resource::next_departure`] must be called at the latest: the next packet cannot arrive at the far end
    /// earlier.
    #[inline]
    pub fn deadline(&self) -> Time {
        if self.waiting == 0 && !self.holds {
            Time::NEVER
        } else {
            self.free + self.delay
        }
    }

    /// The queue outside has made a packet ready to be sent at `now`, marked CE or not. Returns whether it waited here,
    /// and the packet with its time of arrival at the far end if its transmission begins at once.
    pub fn make_ready(&mut self, now: Time, number: u32, marked: bool) -> (bool, Option<(Packet, Time)>) {
        let Some(outside) = self.qdisc.outside() else { unreachable!("a queue outside") };
        let Some(packet) = outside.make_ready(number, marked) else { return (false, None) };
        if let Some(trace) = self.trace.as_mut().filter(|_| marked) {
            trace.record_mark(now, &packet, self.waiting, self.qdisc.counters());
        }
        if !self.idle {
            return (true, None);
        }
        self.free = now;
        (true, self.serve(now))
    }

    /// The queue outside has dropped a packet at `now`. Returns whether it waited here.
    pub fn drop_outside(&mut self, now: Time, number: u32) -> bool {
        self.meter.integrate_queue(self.waiting, now);
        let Some(outside) = self.qdisc.outside() else { unreachable!("a queue outside") };
        let dropped = outside.drop_packet(number);
        if dropped {
            self.collect_dropped(now, self.waiting.saturating_sub(1));
        }
        self.update_due(self.qdisc.status());
        dropped
    }

    /// When the server finishes the packet that it sends; `Time::NEVER` if it sends none.
    pub fn busy_until(&self) -> Time {
        if self.idle {
            Time::NEVER
        } else {
            self.free
        }
    }

    /// Speed of the server: bits a second (the mean of a delivery trace or of a busy medium), or cycles a second.
    pub fn speed(&self) -> f64 {
        match &self.server {
            Server::Link(transmitter) => transmitter.rate().0 as f64,
            Server::DeliveryTrace(trace) => trace.mean_rate(),
            Server::Medium(medium) => medium.capacity(),
            Server::Cpu(cpu) => cpu.speed(),
        }
    }

    /// Work that is left at `now` for packets in service: bits or cycles.
    pub fn ahead(&self, now: Time) -> f64 {
        match &self.server {
            _ if self.idle => 0.0,
            Server::Link(transmitter) => transmitter.rate().0 as f64 * self.free.since(now).secs(),
            // A delivery takes no time; an opportunity counts where it begins.
            Server::DeliveryTrace(_) | Server::Medium(_) => 0.0,
            Server::Cpu(cpu) => cpu.ahead(now),
        }
    }

    fn change_rate(&mut self) {
        let speed = self.speed();
        if let (Some((at, rate)), Server::Link(transmitter)) = (self.schedule.pop(), &mut self.server) {
            self.meter.integrate_capacity(speed, at);
            transmitter.set_rate(rate);
            self.qdisc.env_mut().rate = rate;
        }
    }

    /// Collects the packets that the discipline has just dropped, the first of them with `queue` others in the queue.
    fn collect_dropped(&mut self, now: Time, queue: u32) {
        collect_dropped(&mut self.qdisc, &mut self.trace, &mut self.lost, now, queue);
    }
}

/// Moves the packets that `qdisc` has just dropped to `lost`, the first of them with `queue` others in the queue. If
/// there are several, they were taken from the head of the queue one after the other.
fn collect_dropped(
    qdisc: &mut Discipline,
    trace: &mut Option<Box<Trace>>,
    lost: &mut Vec<Packet>,
    now: Time,
    mut queue: u32,
) {
    for (packet, reason) in qdisc.drain_dropped() {
        lost.push(packet);
        if let Some(trace) = trace {
            trace.record_drop(now, &packet, queue, reason);
            queue = queue.saturating_sub(1);
        }
    }
}
