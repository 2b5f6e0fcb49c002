//! The loop: packets in by two devices, through the network, out by the other when they are due.
//!
//! One thread. It sleeps in epoll until shortly before something is due, then looks at the clock until it
//! is, and reads meanwhile. Linux takes the processor away from a real-time thread that uses all of it,
//! 50 ms every second, so the looking is bounded: it is at most half a packet time before each packet, and at
//! most a part of each span of time.

use crate::audit::Audit;
use crate::header::{write_ecn, Header, Kind};
use crate::network::{packet_time, End, Exit, Network};
use crate::pool::Pool;
use crate::realtime::{interrupted, prepare_thread, thread_time, timeout, Clock};
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

/// Packets that are read from one device before the other has its turn.
const BATCH: usize = 64;
/// The longest look at the clock.
const LONGEST_SPIN: Dur = Dur(40_000);
/// In each span of so long,
const SPAN: Dur = Dur(10_000_000);
/// so much may be spent looking at the clock.
const SPIN_A_SPAN: Dur = Dur(4_000_000);
/// The longest sleep: as often the thread looks whether it is to end, whatever else happens.
const LONGEST_SLEEP: Dur = Dur(500_000_000);
/// Memory for packets, bytes.
const MEMORY: usize = 64 << 20;

/// What packets there are, and where they go.
#[derive(Clone, Debug)]
pub struct Settings {
    /// The largest packet, bytes.
    pub mtu: usize,
    /// The route of each pair of hosts, by the last 16 bits of the address at the far end; if empty, all
    /// packets take the only route.
    pub hosts: Vec<u16>,
}

/// What came out.
#[derive(Debug)]
pub struct Outcome {
    /// The metered links.
    pub links: Vec<LinkResult>,
    /// The impaired pipes.
    pub pipes: Vec<PipeResult>,
    /// When it ended.
    pub ended: Time,
    /// Whether it kept up.
    pub audit: Audit,
    /// The devices, whose counters can still be read.
    pub tuns: [Tun; 2],
}

/// Ends the loop, from any thread.
#[derive(Clone, Debug)]
pub struct Stop(Arc<(AtomicBool, OwnedFd)>);

impl Stop {
    /// One that has not been used.
    ///
    /// # Errors
    /// If the system has no file descriptors left.
    pub fn new() -> Result<Stop> {
        Ok(Stop(Arc::new((AtomicBool::new(false), eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK)?))))
    }

    /// Ends the loop.
    pub fn stop(&self) {
        self.0 .0.store(true, Ordering::Relaxed);
        // The flag is what counts; this only wakes the thread.
        let _ = rustix::io::write(&self.0 .1, &1u64.to_ne_bytes());
    }

    fn is_set(&self) -> bool {
        self.0 .0.load(Ordering::Relaxed)
    }
}

/// The loop and what it holds.
#[derive(Debug)]
pub struct Engine {
    network: Network,
    tuns: [Tun; 2],
    pool: Pool,
    /// What each packet in the pool was when it came in.
    came: Vec<(Kind, Ecn)>,
    settings: Settings,
    salt: u64,
    clock: Clock,
    audit: Audit,
    spin: Spin,
    stop: Stop,
    epoll: OwnedFd,
}

impl Engine {
    /// The engine of `network` between two devices, its clock at zero now.
    ///
    /// # Errors
    /// If the system has no file descriptors left.
    pub fn new(
        plan: &Plan,
        network: Network,
        tuns: [Tun; 2],
        settings: Settings,
        seed: u64,
        stop: Stop,
    ) -> Result<Engine> {
        let epoll = epoll::create(CreateFlags::CLOEXEC)?;
        for tun in &tuns {
            epoll::add(&epoll, tun, EventData::new_u64(0), EventFlags::IN)?;
        }
        epoll::add(&epoll, &stop.0 .1, EventData::new_u64(0), EventFlags::IN)?;
        let half_a_packet = packet_time(plan).map_or(LONGEST_SPIN, |s| Dur::from_secs(s / 2.0));
        Ok(Engine {
            network,
            tuns,
            pool: Pool::new(settings.mtu, MEMORY),
            came: Vec::new(),
            settings,
            salt: Rng::named(seed, "live/flows").bits(),
            clock: Clock::start(),
            audit: Audit::default(),
            spin: Spin { window: half_a_packet.min(LONGEST_SPIN), begun: Time::ZERO, left: SPIN_A_SPAN },
            stop,
            epoll,
        })
    }

    /// Sets its clock to zero, and gives it.
    pub fn set_clock(&mut self) -> Clock {
        self.clock = Clock::start();
        self.clock
    }

    /// Runs until it is told to stop.
    ///
    /// # Errors
    /// If a device is gone.
    pub fn run(mut self) -> Result<Outcome> {
        self.audit.realtime = prepare_thread();
        let (before, began) = (interrupted(), thread_time());
        while !self.stop.is_set() {
            let came = self.read_all()?;
            let now = self.clock.now();
            self.network.advance(now);
            self.release()?;
            if !came {
                self.wait()?;
            }
        }
        self.audit.interrupted = interrupted().zip(before).map(|(after, before)| after - before);
        self.audit.cpu = Dur(thread_time().0 - began.0);
        let ended = self.clock.now();
        let (links, pipes) = self.network.finish(ended);
        Ok(Outcome { links, pipes, ended, audit: self.audit, tuns: self.tuns })
    }

    /// Lets come in what is there. Says whether there may be more.
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

    /// Lets a packet come in by `end`, if there is one.
    fn read_one(&mut self, end: End) -> Result<bool> {
        let Some((slot, room)) = self.pool.take() else { return self.lose_one(end) };
        let Some(bytes) = self.tuns[end as usize].read(room)? else {
            self.pool.give(slot);
            return Ok(false);
        };
        let header = Header::read(&room[..bytes], self.salt);
        self.pool.set_length(slot, bytes);
        let counts = self.audit.of(end);
        counts.received += 1;
        counts.malformed += u64::from(header.kind == Kind::Other);
        let Some(route) = route(&self.settings.hosts, end, &header).filter(|&r| r < self.network.routes()) else {
            counts.no_route += 1;
            self.pool.give(slot);
            return Ok(true);
        };
        if self.came.len() <= slot as usize {
            self.came.resize(slot as usize + 1, (Kind::Other, Ecn::NotEct));
        }
        self.came[slot as usize] = (header.kind, header.ecn);
        // Who sets ECT answers CE.
        let flags = if header.ecn == Ecn::NotEct { Flags::NONE } else { Flags::ANSWERS_CE };
        let data = Packet::data(header.flow, 0, bytes as u32);
        let head = Head::new(header.dscp, 0).with(flags).with_ecn(header.ecn);
        let packet = data.with_head(head).with_options(slot);
        self.network.enter(self.clock.now(), end, route, packet);
        Ok(true)
    }

    /// All memory for packets is taken: a packet that comes is lost.
    fn lose_one(&mut self, end: End) -> Result<bool> {
        let came = self.tuns[end as usize].read(&mut [0; 1])?.is_some();
        self.audit.of(end).received += u64::from(came);
        self.audit.of(end).no_memory += u64::from(came);
        Ok(came)
    }

    /// Lets go out what has crossed the network, and forgets what it has lost.
    fn release(&mut self) -> Result<()> {
        while let Some(Exit { due, end, packet }) = self.network.exits.pop_front() {
            let slot = packet.options();
            let (kind, came) = self.came[slot as usize];
            let bytes = self.pool.packet(slot);
            if packet.ecn() != came {
                write_ecn(bytes, kind, packet.ecn());
            }
            if !self.network.is_measured() {
                self.audit.released(self.clock.now().since(due));
            }
            if self.tuns[end as usize].write(bytes)? {
                self.audit.sent(end, came, packet.ecn());
            } else {
                self.audit.of(end).refused += 1;
            }
            self.pool.give(slot);
        }
        for packet in self.network.lost.drain(..) {
            self.pool.give(packet.options());
        }
        Ok(())
    }

    /// Waits until something is due or a packet comes.
    fn wait(&mut self) -> Result<()> {
        let due = self.network.next_due();
        let now = self.clock.now();
        let window = self.spin.window(now);
        let sleep = due.since(now + window);
        if sleep > Dur::ZERO {
            let mut events = [epoll::Event { flags: EventFlags::empty(), data: EventData::new_u64(0) }];
            match epoll::wait(&self.epoll, &mut events, Some(&timeout(sleep.min(LONGEST_SLEEP)))) {
                Ok(_) | Err(rustix::io::Errno::INTR) => return Ok(()),
                Err(error) => return Err(error),
            }
        }
        // Packets that come meanwhile are not to wait for those that are due.
        while self.clock.now() < due && !self.read_all()? && due <= self.network.next_due() {}
        let spun = self.clock.now().since(now);
        self.audit.spun += spun.0;
        self.spin.spent(spun);
        Ok(())
    }
}

/// The route of a packet that comes in by `end`.
fn route(hosts: &[u16], end: End, header: &Header) -> Option<usize> {
    if hosts.is_empty() {
        return Some(0);
    }
    let (source, destination) = header.hosts;
    let far = if end == End::Near { destination } else { source };
    hosts.get(usize::from(far)).map(|&route| usize::from(route))
}

/// How long before something is due the thread does not sleep any more.
#[derive(Debug)]
struct Spin {
    window: Dur,
    begun: Time,
    left: Dur,
}

impl Spin {
    fn window(&mut self, now: Time) -> Dur {
        if now.since(self.begun) >= SPAN {
            (self.begun, self.left) = (now, SPIN_A_SPAN);
        }
        self.window.min(self.left)
    }

    fn spent(&mut self, spun: Dur) {
        self.left = Dur(self.left.0.saturating_sub(spun.0));
    }
}
