//! The event loop: reads packets from two devices, passes them through the network and writes them when they are due.
//!
//! It runs in one thread. The thread sleeps in epoll until shortly before the next packet is due, then polls the clock
//! and the devices ([`crate::polling`]).

use crate::audit::Audit;
use crate::clock::{pause, preemptions, prepare_thread, prepare_thread_of_own_processor};
use crate::clock::{thread_cpu_time, to_timespec, Clock};
use crate::coalescing::Group;
use crate::header::{write_ecn, Header, Kind};
use crate::network::{packet_time, End, Exit, Network};
use crate::offload::{complete_checksum, Pending, Segments, Transport, HEADER_BYTES};
use crate::paced_packet::{price_header, read_signals, write_signals};
use crate::packet_pool::PacketPool;
use crate::polling::{Polling, Processor, REST};
use crate::stop_handle::StopHandle;
use crate::tun::Tun;
use arrayvec::ArrayVec;
use marqueue_core::{Dur, Ecn, Flags, Head, Packet, Rng, Time};
use marqueue_sim::plan::Plan;
use marqueue_sim::result::{LinkResult, PipeResult};
use rustix::event::epoll::{self, CreateFlags, EventData, EventFlags};
use rustix::fd::OwnedFd;
use rustix::io::Result;
use std::io::IoSlice;

/// As soon as so many packets were read from one device, the other is read.
const BATCH: usize = 64;
/// Batches from each device that are read at the end: as many packets as wait there at most.
const LAST_BATCHES: usize = 10_000usize.div_ceil(BATCH);
/// Most packets that are written together.
const MOST_TOGETHER: usize = 64;
/// The longest sleep. The stop flag is checked at least this often.
const LONGEST_SLEEP: Dur = Dur(500_000_000);
/// The largest packet of a device before it is cut.
const LARGEST_UNCUT: usize = 65_575;
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
    /// Is the processor of the thread isolated for it? Then it polls all the time.
    pub own_processor: bool,
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
    flow: u32,
    resets_ecn: bool,
    /// Where its header for routers begins.
    price_header: Option<usize>,
    /// May it be written together with others? Its checksum was computed here, and so is right.
    joinable: bool,
}

impl Received {
    const NOTHING: Received = Received {
        kind: Kind::Other,
        ecn: Ecn::NotEct,
        flow: 0,
        resets_ecn: false,
        price_header: None,
        joinable: false,
    };
}

/// Packets that are written together.
#[derive(Debug)]
struct Outgoing {
    end: End,
    flow: u32,
    /// The slot of the first of them.
    first: u32,
    group: Group,
}

/// A packet that leaves the link.
#[derive(Debug)]
struct Leaving {
    /// Its group, by number.
    group: usize,
    slot: u32,
    due: Time,
    /// Its ECN field.
    ecn: Ecn,
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
    /// The packet that is being read.
    buffer: Box<[u8]>,
    pool: PacketPool,
    /// For each slot of the pool: its packet on arrival.
    received: Vec<Received>,
    /// What is being written: groups, and their packets.
    groups: Vec<Outgoing>,
    leaving: Vec<Leaving>,
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
            buffer: vec![0; LARGEST_UNCUT].into(),
            pool: PacketPool::new(settings.mtu, POOL_BYTES),
            received: Vec::new(),
            groups: Vec::with_capacity(MOST_TOGETHER),
            leaving: Vec::with_capacity(MOST_TOGETHER),
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
        let granted = if self.settings.own_processor { prepare_thread_of_own_processor() } else { prepare_thread() };
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
        // What waits at the devices has been sent, and is counted. A command that ends at once may have sent all before
        // this thread had a processor.
        for _ in 0..LAST_BATCHES {
            if !self.read_all().unwrap_or(false) {
                break;
            }
        }
        self.audit.preemptions = preemptions().zip(preemptions_before).map(|(after, before)| after - before);
        self.audit.cpu = Dur(thread_cpu_time().0 - cpu_before.0);
        let ended = self.clock.now();
        let (links, pipes) = self.network.finish(ended);
        Ok(Outcome { links, pipes, ended, audit: self.audit, tuns: self.tuns })
    }

    /// Reads about [`BATCH`] packets from each device. Returns true if there may be more.
    fn read_all(&mut self) -> Result<bool> {
        let mut more = false;
        for end in End::BOTH {
            let mut n = 0;
            while n < BATCH {
                match self.read_next(end)? {
                    0 => break,
                    packets => n += packets,
                }
            }
            more |= n >= BATCH;
        }
        Ok(more)
    }

    /// Reads what waits next at `end` into the network. Returns how many packets that were on the wire; zero if nothing
    /// waits.
    fn read_next(&mut self, end: End) -> Result<usize> {
        let mut header = [0; HEADER_BYTES];
        let mut buffer = std::mem::take(&mut self.buffer);
        let read = self.tuns[end as usize].read(&mut header, &mut buffer);
        let packets = read.map(|bytes| bytes.map_or(0, |bytes| self.receive(end, &header, &buffer[..bytes])));
        self.buffer = buffer;
        packets
    }

    /// Takes `packet`, which was read at `end` after virtio's `header`, into the network. Returns how many packets it was
    /// on the wire.
    fn receive(&mut self, end: End, header: &[u8; HEADER_BYTES], packet: &[u8]) -> usize {
        let now = self.clock.now();
        let pending = Pending::read(header, packet);
        if let Pending::Segments(layout, payload) = pending {
            let mut segments = Segments::new(packet, layout, payload);
            let mut packets = 0;
            while segments.remain() {
                packets += 1;
                self.audit.counts_mut(end).received += 1;
                let bytes = segments.next_bytes();
                match self.pool.allocate() {
                    Some((slot, place)) if bytes <= place.len() => {
                        segments.write_next(&mut place[..bytes]);
                        self.enter(now, end, slot, bytes, true);
                    }
                    Some((slot, _)) => {
                        // Not possible with the MTU of the device.
                        self.audit.counts_mut(end).malformed += 1;
                        self.pool.free(slot);
                        segments.skip_next();
                    }
                    None => {
                        self.audit.counts_mut(end).no_memory += 1;
                        segments.skip_next();
                    }
                }
            }
            return packets;
        }
        self.audit.counts_mut(end).received += 1;
        let Some((slot, place)) = self.pool.allocate() else {
            self.audit.counts_mut(end).no_memory += 1;
            return 1;
        };
        let bytes = packet.len().min(place.len());
        place[..bytes].copy_from_slice(&packet[..bytes]);
        let mut joinable = false;
        if let Pending::Checksum { start, offset } = pending {
            complete_checksum(&mut place[..bytes], start, offset);
            joinable = self.tuns[end as usize].takes_udp_segments() || offset == Transport::Tcp.checksum_offset();
        }
        self.enter(now, end, slot, bytes, joinable);
        1
    }

    /// The packet in `slot`, read at `end`, enters the network. `joinable` says that its checksum was computed here.
    fn enter(&mut self, now: Time, end: End, slot: u32, bytes: usize, joinable: bool) {
        self.pool.set_length(slot, bytes);
        let header = Header::read(self.pool.packet(slot), self.salt);
        let counts = self.audit.counts_mut(end);
        counts.malformed += u64::from(header.kind == Kind::Other);
        let Some(host) = host(&self.settings.hosts, end, &header).filter(|h| h.route < self.network.route_count())
        else {
            counts.no_route += 1;
            return self.pool.free(slot);
        };
        if self.received.len() <= slot as usize {
            self.received.resize(slot as usize + 1, Received::NOTHING);
        }
        // A sender that sets ECT reacts to CE.
        let mut flags = if header.ecn == Ecn::NotEct { Flags::NONE } else { Flags::ANSWERS_CE };
        let resets_ecn = host.resets_ecn && header.ecn.is_ect();
        let price_header = if self.settings.hosts.is_empty() { None } else { price_header(self.pool.packet(slot)) };
        if let Some(at) = price_header {
            flags |= Flags::SIGNALS;
            self.network.set_signals(slot, read_signals(&self.pool.packet(slot)[at..]));
        }
        let Header { kind, ecn, flow, .. } = header;
        self.received[slot as usize] = Received { kind, ecn, flow, resets_ecn, price_header, joinable };
        let data = Packet::data(flow, 0, bytes as u32);
        let ecn = if resets_ecn { Ecn::NotEct } else { ecn };
        let head = Head::new(header.dscp, host.class).with(flags).with_ecn(ecn);
        let packet = data.with_head(head).with_options(slot);
        self.network.enter(now, end, host.route, packet);
    }

    /// Writes the packets that have left the network, and frees those that it has dropped or lost.
    fn release(&mut self) -> Result<()> {
        while !self.network.exits.is_empty() {
            let together = self.network.exits.len().min(MOST_TOGETHER);
            for _ in 0..together {
                if let Some(exit) = self.network.exits.pop_front() {
                    self.prepare(exit, together > 1);
                }
            }
            self.write_groups()?;
        }
        for packet in self.network.lost.drain(..) {
            self.pool.free(packet.options());
        }
        Ok(())
    }

    /// Gives a packet that leaves its fields, and adds it to a group of the same flow if it may be one of several.
    fn prepare(&mut self, Exit { due, end, packet }: Exit, several: bool) {
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
        // Linux counts joined packets with CE as one: in what the audit reads, and for AccECN.
        let joinable = several && received.joinable && ecn != Ecn::Ce;
        // Only the last group of a flow: packets of a flow stay in order.
        let same = |(_, other): &(usize, &Outgoing)| other.end == end && other.flow == received.flow;
        let last = if several { self.groups.iter().enumerate().rev().find(same).map(|(g, _)| g) } else { None };
        let joined = last.filter(|&g| {
            let Outgoing { first, group, .. } = &mut self.groups[g];
            joinable && group.add(self.pool.packet(*first), self.pool.packet(slot))
        });
        let group = joined.unwrap_or_else(|| {
            let group = Group::new(self.pool.packet(slot), joinable);
            self.groups.push(Outgoing { end, flow: received.flow, first: slot, group });
            self.groups.len() - 1
        });
        self.leaving.push(Leaving { group, slot, due, ecn });
    }

    /// Writes each group, and frees its packets.
    fn write_groups(&mut self) -> Result<()> {
        for (g, Outgoing { end, first, group, .. }) in self.groups.iter().enumerate() {
            let (header, skipped) = group.join(self.pool.packet_mut(*first));
            let members = || self.leaving.iter().filter(|leaving| leaving.group == g);
            let others = members().skip(1).map(|leaving| IoSlice::new(&self.pool.packet(leaving.slot)[skipped..]));
            let mut pieces = ArrayVec::<_, { MOST_TOGETHER + 1 }>::new();
            pieces.push(IoSlice::new(&header));
            pieces.push(IoSlice::new(self.pool.packet(*first)));
            pieces.extend(others);
            if !self.network.has_ended() {
                let now = self.clock.now();
                members().for_each(|leaving| self.audit.record_release(now.since(leaving.due)));
            }
            let taken = self.tuns[*end as usize].write(&pieces)?;
            for leaving in members() {
                if taken {
                    self.audit.record_sent(*end, self.received[leaving.slot as usize].ecn, leaving.ecn);
                } else {
                    self.audit.counts_mut(*end).refused += 1;
                }
            }
        }
        self.groups.clear();
        for leaving in self.leaving.drain(..) {
            self.pool.free(leaving.slot);
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
        while self.clock.now() < due && !self.stop.is_set() && !self.read_all()? && due <= self.network.next_due() {}
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
