//! A queue that is outside the simulator, such as the qdisc of a Linux kernel.
//!
//! A packet that arrives is handed out with a number ([`Outside::take_entered`]). The program outside says by this number
//! when the packet is dropped, or when it is ready to be sent. The server takes ready packets in that order, and reports
//! each transmission that has ended ([`Outside::take_sent`]), because the network card of a kernel must know it.
//!
//! The length of the queue is that of all packets that have arrived and are neither dropped nor in transmission, whether
//! they are ready or not; the sojourn time is that from arrival to transmission.

use crate::accounting::{Accounting, Counters, Reason};
use crate::policy::Env;
use crate::qdisc::{EnqueueOutcome, Qdisc};
use alloc::collections::VecDeque;
use alloc::vec::Vec;
use marqueue_core::{Dur, Ecn, Packet, Price, Time};

/// The queue outside.
#[derive(Debug)]
pub struct Outside {
    env: Env,
    /// Packets by their numbers, with the times of their arrival.
    held: Vec<Option<(Time, Packet)>>,
    /// Numbers that no packet has.
    free: Vec<u32>,
    /// Numbers of packets that have arrived and were not handed out.
    entered: Vec<u32>,
    /// Numbers of packets that are ready to be sent, in this order.
    ready: VecDeque<u32>,
    /// Is a packet in transmission?
    is_sending: bool,
    /// Transmissions that have ended and were not reported.
    sent: u32,
    len: u32,
    bytes: u64,
    accounting: Accounting,
}

impl Outside {
    /// A queue without packets.
    pub fn new(env: Env) -> Outside {
        Outside {
            env,
            held: Vec::new(),
            free: Vec::new(),
            entered: Vec::new(),
            ready: VecDeque::new(),
            is_sending: false,
            sent: 0,
            len: 0,
            bytes: 0,
            accounting: Accounting::default(),
        }
    }

    /// Is there anything to take?
    pub fn has_news(&self) -> bool {
        self.sent > 0 || !self.entered.is_empty()
    }

    /// Appends the packets that have arrived since the last call, with their numbers.
    pub fn take_entered(&mut self, to: &mut Vec<(u32, Packet)>) {
        let held = &self.held;
        to.extend(self.entered.drain(..).filter_map(|number| Some((number, held[number as usize]?.1))));
    }

    /// The number of transmissions that have ended since the last call.
    pub fn take_sent(&mut self) -> u32 {
        core::mem::take(&mut self.sent)
    }

    /// A packet is ready to be sent, marked CE or not. Returns it; `None` if no packet that waits has this number.
    pub fn make_ready(&mut self, number: u32, marked: bool) -> Option<Packet> {
        let (_, packet) = self.held.get_mut(number as usize)?.as_mut()?;
        // A copy of a packet may come out twice.
        if self.ready.contains(&number) {
            return None;
        }
        if marked && packet.ecn() != Ecn::Ce {
            *packet = packet.with_ecn(Ecn::Ce);
            self.accounting.counters.marks[Reason::Kernel as usize] += 1;
        }
        self.ready.push_back(number);
        Some(*packet)
    }

    /// A packet has been dropped. Returns false if no packet that waits has this number.
    pub fn drop_packet(&mut self, number: u32) -> bool {
        if self.ready.contains(&number) {
            return false;
        }
        let Some((_, packet)) = self.remove(number) else { return false };
        self.accounting.drop(packet, Reason::Kernel);
        true
    }

    fn remove(&mut self, number: u32) -> Option<(Time, Packet)> {
        let (arrived, packet) = self.held.get_mut(number as usize)?.take()?;
        self.free.push(number);
        self.len -= 1;
        self.bytes -= u64::from(packet.bytes());
        Some((arrived, packet))
    }
}

impl Qdisc for Outside {
    fn enqueue(&mut self, now: Time, packet: Packet) -> EnqueueOutcome {
        self.accounting.on_arrival(&packet);
        let number = self.free.pop().unwrap_or_else(|| {
            self.held.push(None);
            self.held.len() as u32 - 1
        });
        self.held[number as usize] = Some((now, packet));
        self.entered.push(number);
        self.len += 1;
        self.bytes += u64::from(packet.bytes());
        EnqueueOutcome::Queued
    }

    /// The server asks for the next packet when it has finished the last one.
    fn dequeue(&mut self, now: Time) -> Option<(Packet, Dur)> {
        self.sent += u32::from(core::mem::take(&mut self.is_sending));
        let number = self.ready.pop_front()?;
        let (arrived, packet) = self.remove(number)?;
        self.accounting.on_departure(&packet);
        self.is_sending = true;
        Some((packet, now.since(arrived)))
    }

    fn next_timer(&self) -> Time {
        Time::NEVER
    }

    fn on_timer(&mut self, _: Time) {}

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

    fn probe(&self, _: Time, _: &mut Vec<f64>) {}
}
