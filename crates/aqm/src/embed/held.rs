//! A discipline that holds the program's own packets: each is stored in a slot, and the discipline's packet carries its number.

use crate::accounting::Reason;
use crate::algo::Discipline;
use crate::qdisc::{EnqueueOutcome, Qdisc};
use alloc::vec::Vec;
use marqueue_core::{Dscp, Dur, Ecn, Flags, Head, Packet, Time};

/// What an AQM reads of a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Header {
    /// Its size on the wire: 1 to [`Header::MAX_BYTES`].
    pub bytes: u32,
    /// The flow that it belongs to: a number or a hash of addresses and ports.
    pub flow: u32,
    /// Its ECN field.
    pub ecn: Ecn,
    /// Its code point; CAKE, RIO and the DOCSIS queues read it.
    pub dscp: Dscp,
}

impl Header {
    /// The largest packet: 2 MiB, more than any offload makes.
    pub const MAX_BYTES: u32 = 1 << 21;

    /// The header of a packet of `bytes` of this flow, with the default code point.
    pub fn new(bytes: u32, flow: u32, ecn: Ecn) -> Header {
        Header { bytes, flow, ecn, dscp: Dscp::default() }
    }

    /// The same with another code point.
    #[must_use]
    pub fn with_dscp(self, dscp: Dscp) -> Header {
        Header { dscp, ..self }
    }

    fn of(packet: &Packet) -> Header {
        Header { bytes: packet.bytes(), flow: packet.flow(), ecn: packet.ecn(), dscp: packet.dscp() }
    }
}

/// A packet that has left the queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Departure<T> {
    /// What the program queued.
    pub payload: T,
    /// Its header, with the ECN field as the queue has set it.
    pub header: Header,
    /// How long it waited.
    pub sojourn: Dur,
}

/// A packet that the queue has dropped: on arrival, while it waited, or when it was to leave.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Dropped<T> {
    /// What the program queued, or was about to.
    pub payload: T,
    /// Its header.
    pub header: Header,
    /// Why.
    pub reason: Reason,
}

/// The discipline with the program's packets.
#[derive(Debug)]
pub(super) struct Held<T> {
    pub(super) discipline: Discipline,
    slots: Vec<Option<T>>,
    free: Vec<u32>,
    /// The number of the next packet, by which CAKE tells packets of a flow apart.
    next_number: u32,
    /// Packets dropped, if the program asked for them.
    pub(super) dropped: Option<Vec<Dropped<T>>>,
}

impl<T> Held<T> {
    pub(super) fn new(discipline: Discipline, keeps_dropped: bool) -> Held<T> {
        let dropped = keeps_dropped.then(Vec::new);
        Held { discipline, slots: Vec::new(), free: Vec::new(), next_number: 0, dropped }
    }

    /// # Panics
    /// If the packet has no bytes, or more than [`Header::MAX_BYTES`].
    pub(super) fn enqueue(&mut self, now: Time, header: Header, payload: T) -> EnqueueOutcome {
        let Header { bytes, flow, ecn, dscp } = header;
        assert!((1..=Header::MAX_BYTES).contains(&bytes), "got a packet of {bytes} bytes, expected 1 to 2 MiB");
        let slot = self.free.pop().unwrap_or(self.slots.len() as u32);
        match self.slots.get_mut(slot as usize) {
            Some(place) => *place = Some(payload),
            None => self.slots.push(Some(payload)),
        }
        let flags = if ecn == Ecn::NotEct { Flags::NONE } else { Flags::ANSWERS_CE };
        let packet = Packet::data(flow, self.next_number, bytes)
            .with_head(Head::new(dscp, 0).with(flags).with_ecn(ecn))
            .with_options(slot);
        self.next_number = self.next_number.wrapping_add(1);
        let outcome = self.discipline.enqueue(now, packet);
        self.collect_dropped();
        outcome
    }

    pub(super) fn dequeue(&mut self, now: Time) -> Option<Departure<T>> {
        let left = self.discipline.dequeue(now);
        self.collect_dropped();
        let (packet, sojourn) = left?;
        let payload = self.release(packet.options())?;
        Some(Departure { payload, header: Header::of(&packet), sojourn })
    }

    pub(super) fn on_timer(&mut self, now: Time) {
        self.discipline.on_timer(now);
        self.collect_dropped();
    }

    fn collect_dropped(&mut self) {
        if !self.discipline.has_dropped() {
            return;
        }
        for (packet, reason) in self.discipline.drain_dropped() {
            // As `release`, which would borrow the discipline too.
            let Some(payload) = self.slots[packet.options() as usize].take() else { continue };
            self.free.push(packet.options());
            if let Some(dropped) = &mut self.dropped {
                dropped.push(Dropped { payload, header: Header::of(&packet), reason });
            }
        }
    }

    fn release(&mut self, slot: u32) -> Option<T> {
        let payload = self.slots[slot as usize].take();
        self.free.push(slot);
        payload
    }

    pub(super) fn take_dropped(&mut self) -> Vec<Dropped<T>> {
        self.dropped.as_mut().map(core::mem::take).unwrap_or_default()
    }

    pub(super) fn variables(&self, now: Time) -> Vec<(&'static str, &'static str, f64)> {
        let mut values = Vec::new();
        self.discipline.probe(now, &mut values);
        self.discipline.probes().iter().zip(values).map(|(&(name, unit), value)| (name, unit, value)).collect()
    }
}
