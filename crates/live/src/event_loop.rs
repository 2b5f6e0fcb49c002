//! The event loop: reads packets from two devices, passes them through the network and writes them when they are due.
//!
//! It runs in one thread. The thread sleeps in epoll until shortly before the next packet is due, then polls the clock
//! and the devices. Linux stops a real-time thread that never sleeps for 50 ms of every second. Polling is therefore
//! limited: to half a packet time before each packet, and to a share of each [`SPIN_PERIOD`].

use crate::audit::Audit;
use crate::clock::{preemptions, prepare_thread, thread_cpu_time, to_timespec, Clock};
use crate::header::{write_ecn, Header, Kind};
use crate::network::{packet_time, End, Exit, Network};
use crate::packet_pool::PacketPool;
use crate::tun::Tun;
use marqueue_core::{Dur, Ecn, Flags, Head, Packet, Rng, Time};
use marqueue_sim::plan::Plan;
use marqueue_sim::result::{LinkResult, PipeResult};
use rustix::event::epoll::{self, CreateFlags, EventData, EventFlags};
use rustix::event::{eventfd, EventfdFlags};
use rustix::fd::OwnedFd;
use rustix::io::Result;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::Arc;

/// Most packets that are read from one device before the other is read.
const BATCH: usize = 64;
/// The longest time before a packet is due in which the thread polls.
const LONGEST_SPIN: Dur = Dur(40_000);
/// The period over which polling is limited.
const SPIN_PERIOD: Dur = Dur(10_000_000);
/// The longest time spent polling in one period.
const SPIN_BUDGET: Dur = Dur(4_000_000);
/// The longest sleep. The stop flag is checked at least this often.
const LONGEST_SLEEP: Dur = Dur(500_000_000);
/// Memory for packets, bytes.
const POOL_BYTES: usize = 64 << 20;

/// Settings that the plan does not contain.
#[derive(Clone, Debug)]
pub struct Settings {
    /// The largest packet, bytes.
    pub mtu: usize,
    /// The route of each host at the far end, by the last 16 bits of its address. If empty, all packets take the only
    /// route.
    pub hosts: Vec<u16>,
}

/// The result of a run.
#[derive(Debug)]
pub struct Outcome {
    /// Measurements of the managed queues.
    pub links: Vec<LinkResult>,
    /// Measurements of the impaired pipes.
    pub pipes: Vec<PipeResult>,
    /// When the run ended.
    pub ended: Time,
    /// Whether the machine kept up.
    pub audit: Audit,
    /// The devices, so that their counters can still be read.
    pub tuns: [Tun; 2],
}

/// Stops the event loop from another thread. Clones stop the same loop.
#[derive(Clone, Debug)]
pub struct StopHandle(Arc<(AtomicBool, OwnedFd)>);

impl StopHandle {
    /// A handle for one loop.
    ///
    /// # Errors
    /// If the system has no file descriptors left.
    pub fn new() -> Result<StopHandle> {
        Ok(StopHandle(Arc::new((AtomicBool::new(false), eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK)?))))
    }

    /// Stops the loop.
    pub fn stop(&self) {
        self.0 .0.store(true, Ordering::Relaxed);
        // Wakes the thread from epoll. If the write fails, the flag is seen after the present sleep.
        let _ = rustix::io::write(&self.0 .1, &1u64.to_ne_bytes());
    }

    fn is_set(&self) -> bool {
        self.0 .0.load(Ordering::Relaxed)
    }
}

/// The event loop with its network, devices and packets.
#[derive(Debug)]
pub struct EventLoop {
    network: Network,
    tuns: [Tun; 2],
    pool: PacketPool,
    /// For each slot of the pool: kind and ECN field of its packet on arrival.
    received: Vec<(Kind, Ecn)>,
    settings: Settings,
    /// Salt of the flow hash.
    salt: u64,
    clock: Clock,
    audit: Audit,
    spin: SpinBudget,
    stop: StopHandle,
    epoll: OwnedFd,
}

impl EventLoop {
    /// A loop that carries packets between two devices through `network`. Its clock starts at zero now.
    ///
    /// # Errors
    /// If the system has no file descriptors left.
    pub fn new(
        plan: &Plan,
        network: Network,
        tuns: [Tun; 2],
        settings: Settings,
        seed: u64,
        stop: StopHandle,
    ) -> Result<EventLoop> {
        let epoll = epoll::create(CreateFlags::CLOEXEC)?;
        for tun in &tuns {
            epoll::add(&epoll, tun, EventData::new_u64(0), EventFlags::IN)?;
        }
        epoll::add(&epoll, &stop.0 .1, EventData::new_u64(0), EventFlags::IN)?;
        let half_a_packet = packet_time(plan).map_or(LONGEST_SPIN, |s| Dur::from_secs(s / 2.0));
        Ok(EventLoop {
            network,
            tuns,
            pool: PacketPool::new(settings.mtu, POOL_BYTES),
            received: Vec::new(),
            settings,
            salt: Rng::named(seed, "live/flows").bits(),
            clock: Clock::start(),
            audit: Audit::default(),
            spin: SpinBudget { longest: half_a_packet.min(LONGEST_SPIN), period_start: Time::ZERO, left: SPIN_BUDGET },
            stop,
            epoll,
        })
    }

    /// Resets the clock to zero and returns it.
    pub fn restart_clock(&mut self) -> Clock {
        self.clock = Clock::start();
        self.clock
    }

    /// Forwards packets until the stop handle is used.
    ///
    /// # Errors
    /// If a device is gone.
    pub fn run(mut self) -> Result<Outcome> {
        self.audit.realtime = prepare_thread();
        let (preemptions_before, cpu_before) = (preemptions(), thread_cpu_time());
        while !self.stop.is_set() {
            let more = self.read_all()?;
            let now = self.clock.now();
            self.network.advance(now);
            self.release()?;
            if !more {
                self.wait()?;
            }
        }
        self.audit.preemptions = preemptions().zip(preemptions_before).map(|(after, before)| after - before);
        self.audit.cpu = Dur(thread_cpu_time().0 - cpu_before.0);
        let ended = self.clock.now();
        let (links, pipes) = self.network.finish(ended);
        Ok(Outcome { links, pipes, ended, audit: self.audit, tuns: self.tuns })
    }

    /// Reads up to [`BATCH`] packets from each device. Returns true if there may be more.
    fn read_all(&mut self) -> Result<bool> {
        let mut more = false;
        for end in End::BOTH {
            let mut n = 0;
            while n < BATCH && self.read_one(end)? {
                n += 1;
            }
            more |= n == BATCH;
        }
        Ok(more)
    }

    /// Reads one packet at `end` into the network. Returns false if there is none.
    fn read_one(&mut self, end: End) -> Result<bool> {
        let Some((slot, buffer)) = self.pool.allocate() else { return self.discard_one(end) };
        let Some(bytes) = self.tuns[end as usize].read(buffer)? else {
            self.pool.free(slot);
            return Ok(false);
        };
        let header = Header::read(&buffer[..bytes], self.salt);
        self.pool.set_length(slot, bytes);
        let counts = self.audit.counts_mut(end);
        counts.received += 1;
        counts.malformed += u64::from(header.kind == Kind::Other);
        let Some(route) = route(&self.settings.hosts, end, &header).filter(|&r| r < self.network.route_count()) else {
            counts.no_route += 1;
            self.pool.free(slot);
            return Ok(true);
        };
        if self.received.len() <= slot as usize {
            self.received.resize(slot as usize + 1, (Kind::Other, Ecn::NotEct));
        }
        self.received[slot as usize] = (header.kind, header.ecn);
        // A sender that sets ECT reacts to CE.
        let flags = if header.ecn == Ecn::NotEct { Flags::NONE } else { Flags::ANSWERS_CE };
        let data = Packet::data(header.flow, 0, bytes as u32);
        let head = Head::new(header.dscp, 0).with(flags).with_ecn(header.ecn);
        let packet = data.with_head(head).with_options(slot);
        self.network.enter(self.clock.now(), end, route, packet);
        Ok(true)
    }

    /// Reads and drops one packet at `end`, because the pool is full. Returns false if there is none.
    fn discard_one(&mut self, end: End) -> Result<bool> {
        let read = self.tuns[end as usize].read(&mut [0; 1])?.is_some();
        let counts = self.audit.counts_mut(end);
        counts.received += u64::from(read);
        counts.no_memory += u64::from(read);
        Ok(read)
    }

    /// Writes the packets that have left the network, and frees those that it has dropped or lost.
    fn release(&mut self) -> Result<()> {
        while let Some(Exit { due, end, packet }) = self.network.exits.pop_front() {
            let slot = packet.options();
            let (kind, received) = self.received[slot as usize];
            let bytes = self.pool.packet_mut(slot);
            if packet.ecn() != received {
                write_ecn(bytes, kind, packet.ecn());
            }
            if !self.network.has_ended() {
                self.audit.record_release(self.clock.now().since(due));
            }
            if self.tuns[end as usize].write(bytes)? {
                self.audit.record_sent(end, received, packet.ecn());
            } else {
                self.audit.counts_mut(end).refused += 1;
            }
            self.pool.free(slot);
        }
        for packet in self.network.lost.drain(..) {
            self.pool.free(packet.options());
        }
        Ok(())
    }

    /// Waits until something is due in the network or a packet arrives.
    fn wait(&mut self) -> Result<()> {
        let due = self.network.next_due();
        let now = self.clock.now();
        let spin = self.spin.allowed(now);
        let sleep = due.since(now + spin);
        if sleep > Dur::ZERO {
            let mut events = [epoll::Event { flags: EventFlags::empty(), data: EventData::new_u64(0) }];
            match epoll::wait(&self.epoll, &mut events, Some(&to_timespec(sleep.min(LONGEST_SLEEP)))) {
                Ok(_) | Err(rustix::io::Errno::INTR) => return Ok(()),
                Err(error) => return Err(error),
            }
        }
        // Packets are read while polling: they must not wait for the one that is due.
        while self.clock.now() < due && !self.read_all()? && due <= self.network.next_due() {}
        let spun = self.clock.now().since(now);
        self.audit.busy_wait_ns += spun.0;
        self.spin.spend(spun);
        Ok(())
    }
}

/// The route of a packet that arrives at `end`.
fn route(hosts: &[u16], end: End, header: &Header) -> Option<usize> {
    if hosts.is_empty() {
        return Some(0);
    }
    let (source, destination) = header.host_numbers;
    let far_host = if end == End::Near { destination } else { source };
    hosts.get(usize::from(far_host)).map(|&route| usize::from(route))
}

/// Limits the time spent polling.
#[derive(Debug)]
struct SpinBudget {
    /// The longest time before a packet is due in which the thread polls.
    longest: Dur,
    /// Start of the current period.
    period_start: Time,
    /// What is left of the budget of the current period.
    left: Dur,
}

impl SpinBudget {
    /// How long before a packet is due the thread may start to poll.
    fn allowed(&mut self, now: Time) -> Dur {
        if now.since(self.period_start) >= SPIN_PERIOD {
            (self.period_start, self.left) = (now, SPIN_BUDGET);
        }
        self.longest.min(self.left)
    }

    fn spend(&mut self, spun: Dur) {
        self.left = Dur(self.left.0.saturating_sub(spun.0));
    }
}
