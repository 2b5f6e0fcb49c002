//! The event loop: reads packets from two devices, passes them through the network and writes them when they are due.
//!
//! It runs in one thread. The thread sleeps in epoll until shortly before the next packet is due, then polls the clock
//! and the devices ([`crate::polling`]).

use crate::audit::Audit;
use crate::clock::{pause, preemptions, prepare_thread, thread_cpu_time, to_timespec, Clock};
use crate::header::{write_ecn, Header, Kind};
use crate::network::{packet_time, End, Exit, Network};
use crate::paced_packet::{price_header, read_signals, write_signals};
use crate::packet_pool::PacketPool;
use crate::polling::{Polling, Processor, REST};
use crate::stop_handle::StopHandle;
use crate::tun::Tun;
use marqueue_core::{Dur, Ecn, Flags, Head, Packet, Rng, Time};
use marqueue_sim::plan::Plan;
use marqueue_sim::result::{LinkResult, PipeResult};
use rustix::event::epoll::{self, CreateFlags, EventData, EventFlags};
use rustix::fd::OwnedFd;
use rustix::io::Result;

/// Most packets that are read from one device before the other is read.
const BATCH: usize = 64;
/// The longest sleep. The stop flag is checked at least this often.
const LONGEST_SLEEP: Dur = Dur(500_000_000);
/// Memory for packets, bytes.
const POOL_BYTES: usize = 64 << 20;

/// Settings that the plan does not contain.
#[derive(Clone, Debug)]
pub struct Settings {
    /// The largest packet, bytes.
    pub mtu: usize,
    /// The hosts, by the last 16 bits of their addresses; `None` for a number that is in no use. If empty, all packets
    /// take the only route, and are forwarded as they are but for their ECN field.
    pub hosts: Vec<Option<Host>>,
    /// The longest time before a packet is due in which the thread polls instead of sleeping: about as late as this
    /// machine wakes it up.
    pub longest_poll: Dur,
}

/// What a scenario says of the packets between two hosts whose addresses end in the same number.
#[derive(Clone, Copy, Debug, Default)]
pub struct Host {
    /// Their route.
    pub route: usize,
    /// Their processing class.
    pub class: u8,
    /// Do they enter with ECN field 00 and leave with the field that they came with, if it is not CE? So that senders
    /// which set ECT can send through queues that give the field another meaning (DRQ).
    pub resets_ecn: bool,
}

/// What is known of a packet since it was received.
#[derive(Clone, Copy, Debug)]
struct Received {
    kind: Kind,
    ecn: Ecn,
    resets_ecn: bool,
    /// Where its header for routers begins.
    price_header: Option<usize>,
}

impl Received {
    const NOTHING: Received = Received { kind: Kind::Other, ecn: Ecn::NotEct, resets_ecn: false, price_header: None };
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

/// The event loop with its network, devices and packets.
#[derive(Debug)]
pub struct EventLoop {
    network: Network,
    tuns: [Tun; 2],
    pool: PacketPool,
    /// For each slot of the pool: its packet on arrival.
    received: Vec<Received>,
    settings: Settings,
    /// Salt of the flow hash.
    salt: u64,
    clock: Clock,
    audit: Audit,
    polling: Polling,
    /// The time that the fastest queue takes for a packet of mean size; `None` without a queue.
    packet_time: Option<Dur>,
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
        stop.wake(&epoll)?;
        Ok(EventLoop {
            network,
            tuns,
            pool: PacketPool::new(settings.mtu, POOL_BYTES),
            received: Vec::new(),
            polling: Polling::new(settings.longest_poll, None, Processor::Only),
            packet_time: packet_time(plan).map(Dur::from_secs),
            settings,
            salt: Rng::named(seed, "live/flows").bits(),
            clock: Clock::start(),
            audit: Audit::default(),
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
        let granted = prepare_thread();
        self.audit.realtime = granted.realtime;
        self.polling = Polling::new(self.settings.longest_poll, self.packet_time, granted.processor);
        let (preemptions_before, cpu_before) = (preemptions(), thread_cpu_time());
        while !self.stop.is_set() {
            let more = self.read_all()?;
            let now = self.clock.now();
            self.network.advance(now);
            self.release()?;
            if self.polling.must_rest(now) {
                self.rest();
            } else if !more {
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
        let Some(host) = host(&self.settings.hosts, end, &header).filter(|h| h.route < self.network.route_count())
        else {
            counts.no_route += 1;
            self.pool.free(slot);
            return Ok(true);
        };
        if self.received.len() <= slot as usize {
            self.received.resize(slot as usize + 1, Received::NOTHING);
        }
        // A sender that sets ECT reacts to CE.
        let mut flags = if header.ecn == Ecn::NotEct { Flags::NONE } else { Flags::ANSWERS_CE };
        let resets_ecn = host.resets_ecn && header.ecn.is_ect();
        let price_header = if self.settings.hosts.is_empty() { None } else { price_header(self.pool.packet_mut(slot)) };
        if let Some(at) = price_header {
            flags |= Flags::SIGNALS;
            self.network.set_signals(slot, read_signals(&self.pool.packet_mut(slot)[at..]));
        }
        self.received[slot as usize] = Received { kind: header.kind, ecn: header.ecn, resets_ecn, price_header };
        let data = Packet::data(header.flow, 0, bytes as u32);
        let ecn = if resets_ecn { Ecn::NotEct } else { header.ecn };
        let head = Head::new(header.dscp, host.class).with(flags).with_ecn(ecn);
        let packet = data.with_head(head).with_options(slot);
        self.network.enter(self.clock.now(), end, host.route, packet);
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
            let received = self.received[slot as usize];
            let bytes = self.pool.packet_mut(slot);
            let ecn = if received.resets_ecn && packet.ecn() != Ecn::Ce { received.ecn } else { packet.ecn() };
            if ecn != received.ecn {
                write_ecn(bytes, received.kind, ecn);
            }
            if let Some(at) = received.price_header {
                write_signals(bytes, at, &self.network.signals(slot));
            }
            if !self.network.has_ended() {
                self.audit.record_release(self.clock.now().since(due));
            }
            if self.tuns[end as usize].write(bytes)? {
                self.audit.record_sent(end, received.ecn, ecn);
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

    /// Sleeps for a moment, whatever there is to do.
    fn rest(&mut self) {
        let start = self.clock.now();
        pause(REST);
        self.polling.slept(start, self.clock.now());
    }

    /// Waits until something is due in the network or a packet arrives.
    fn wait(&mut self) -> Result<()> {
        let due = self.network.next_due();
        let now = self.clock.now();
        if let Some(sleep) = self.polling.sleep(now, due) {
            let mut events = [epoll::Event { flags: EventFlags::empty(), data: EventData::new_u64(0) }];
            let woken = epoll::wait(&self.epoll, &mut events, Some(&to_timespec(sleep.min(LONGEST_SLEEP))));
            self.polling.slept(now, self.clock.now());
            return match woken {
                Ok(_) | Err(rustix::io::Errno::INTR) => Ok(()),
                Err(error) => Err(error),
            };
        }
        // Packets are read while polling: they must not wait for the one that is due.
        while self.clock.now() < due && !self.read_all()? && due <= self.network.next_due() {}
        self.audit.busy_wait_ns += self.clock.now().since(now).0;
        Ok(())
    }
}

/// The host of a packet that arrives at `end`.
fn host(hosts: &[Option<Host>], end: End, header: &Header) -> Option<Host> {
    if hosts.is_empty() {
        return Some(Host::default());
    }
    let (source, destination) = header.host_numbers;
    let far_host = if end == End::Near { destination } else { source };
    *hosts.get(usize::from(far_host))?
}
