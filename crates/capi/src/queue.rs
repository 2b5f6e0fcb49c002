//! A queue or a link, and the packets that go in and come out.
#![allow(unsafe_code, reason = "pointers from C are read and written, and functions have names that C knows")]
#![allow(clippy::missing_safety_doc, reason = "the rules are the same for all functions: at the top of the crate")]

use crate::config::Config;
use crate::failure::{behind, behind_mut, call, Failure, Status};
use marqueue_aqm::{Bottleneck, Counters, Dropped, Dscp, Ecn, EnqueueOutcome, Header, PacketQueue, Rate, Reason, Time};
use std::collections::VecDeque;

/// What marqueue_next_event returns if nothing is to come.
pub const MARQUEUE_NEVER: u64 = u64::MAX;

/// Not ECN-capable.
pub const MARQUEUE_NOT_ECT: u8 = 0;
/// ECT(1): ECN-capable, asks for the L4S service.
pub const MARQUEUE_ECT1: u8 = 1;
/// ECT(0): ECN-capable.
pub const MARQUEUE_ECT0: u8 = 2;
/// Congestion experienced.
pub const MARQUEUE_CE: u8 = 3;

/// A packet. A program fills in the first five for marqueue_enqueue.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
pub struct Packet {
    /// The program's own number or pointer; comes back unchanged.
    pub id: u64,
    /// Its size on the wire: 1 to 2097152.
    pub bytes: u32,
    /// The flow that it belongs to: a number or a hash of addresses and ports.
    pub flow: u32,
    /// Its ECN field: MARQUEUE_NOT_ECT, MARQUEUE_ECT1, MARQUEUE_ECT0 or MARQUEUE_CE, as in the IP header. May come back as
    /// MARQUEUE_CE.
    pub ecn: u8,
    /// The six bits of its code point.
    pub dscp: u8,
    /// Comes back: nanoseconds that it waited in the queue. 0 if it was dropped.
    pub sojourn: u64,
    /// Comes back from a link: when it arrived at the far end. 0 from a queue, and if it was dropped.
    pub arrived: u64,
}

/// What has become of an arriving packet. A queue may also drop packets later, or others to make room:
/// marqueue_take_dropped.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// It was queued.
    Queued = 0,
    /// It was queued and marked CE.
    Marked = 1,
    /// It was dropped.
    Dropped = 2,
}

/// Counts since the start.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
pub struct Counts {
    /// Packets that arrived.
    pub arrivals: u64,
    /// Packets that left the queue.
    pub departures: u64,
    /// Packets that were dropped.
    pub drops: u64,
    /// Packets that were marked CE.
    pub marks: u64,
    /// Packets in the queue now.
    pub packets: u64,
    /// Bytes in the queue now.
    pub bytes: u64,
}

/// A queue or a link. One thread at a time may use it.
#[derive(Debug)]
pub struct Handle {
    kind: Kind,
    dropped: VecDeque<Dropped<u64>>,
    /// A call has panicked: its state may be anything.
    broken: bool,
}

#[derive(Debug)]
enum Kind {
    Queue(PacketQueue<u64>),
    Link(Bottleneck<u64>),
}

/// Runs a call on a handle that changes it. If the call panics, the handle is broken from then on.
unsafe fn on(handle: *mut Handle, body: impl FnOnce(&mut Handle) -> Result<Status, Failure>) -> Status {
    call(|| {
        // SAFETY: the rules of the crate.
        let handle = unsafe { behind_mut(handle, "queue")? };
        if std::mem::replace(&mut handle.broken, true) {
            return Err(Failure::panicked("a call before this one has panicked"));
        }
        let done = body(handle);
        handle.broken = false;
        done
    })
}

/// Builds into `place` what `build` makes of the description.
unsafe fn build(
    config: *const Config,
    place: *mut *mut Handle,
    build: impl FnOnce(&marqueue_aqm::Config) -> Result<Kind, Failure>,
) -> Status {
    call(|| {
        // SAFETY: the rules of the crate.
        let (config, place) = unsafe { (behind(config, "config")?, behind_mut(place, "queue")?) };
        *place = std::ptr::null_mut();
        let kind = build(&config.0)?;
        *place = Box::into_raw(Box::new(Handle { kind, dropped: VecDeque::new(), broken: false }));
        Ok(Status::Ok)
    })
}

/// Builds an empty queue: the program takes a packet when it can send one. Free it with marqueue_free.
#[no_mangle]
pub unsafe extern "C" fn marqueue_new_queue(config: *const Config, queue: *mut *mut Handle) -> Status {
    // SAFETY: the rules of the crate.
    unsafe { build(config, queue, |c| Ok(Kind::Queue(c.queue()?))) }
}

/// Builds a link: an empty queue, a transmitter of the rate and the propagation delay. Packets come out when they have
/// arrived at the far end. Free it with marqueue_free.
#[no_mangle]
pub unsafe extern "C" fn marqueue_new_link(config: *const Config, link: *mut *mut Handle) -> Status {
    // SAFETY: the rules of the crate.
    unsafe { build(config, link, |c| Ok(Kind::Link(c.bottleneck()?))) }
}

/// Frees a queue or a link with its packets. Null is allowed.
#[no_mangle]
pub unsafe extern "C" fn marqueue_free(queue: *mut Handle) {
    if !queue.is_null() {
        // SAFETY: it comes from marqueue_new_queue or marqueue_new_link and was not freed.
        drop(unsafe { Box::from_raw(queue) });
    }
}

/// A packet arrives at `now`, in nanoseconds of any clock: an earlier time counts as the last one, and a silence of more than
/// an hour as an hour. `verdict` may be null.
#[no_mangle]
pub unsafe extern "C" fn marqueue_enqueue(
    queue: *mut Handle,
    now: u64,
    packet: *const Packet,
    verdict: *mut Verdict,
) -> Status {
    let body = |handle: &mut Handle| {
        // SAFETY: the rules of the crate.
        let packet = unsafe { behind(packet, "packet")? };
        let header = header(packet)?;
        let outcome = match &mut handle.kind {
            Kind::Queue(queue) => queue.enqueue(Time(now), header, packet.id),
            Kind::Link(link) => link.send(Time(now), header, packet.id),
        };
        // SAFETY: the rules of the crate.
        if let Some(place) = unsafe { verdict.as_mut() } {
            *place = match outcome {
                EnqueueOutcome::Queued => Verdict::Queued,
                EnqueueOutcome::Marked => Verdict::Marked,
                EnqueueOutcome::Dropped => Verdict::Dropped,
            };
        }
        Ok(Status::Ok)
    };
    // SAFETY: the rules of the crate.
    unsafe { on(queue, body) }
}

/// Takes the packet to send at `now`; from a link, the next one that has arrived at the far end by `now`. EMPTY if there is
/// none: marqueue_next_event says when to ask again.
#[no_mangle]
pub unsafe extern "C" fn marqueue_dequeue(queue: *mut Handle, now: u64, packet: *mut Packet) -> Status {
    let body = |handle: &mut Handle| {
        // SAFETY: the rules of the crate.
        let place = unsafe { behind_mut(packet, "packet")? };
        let (arrived, left) = match &mut handle.kind {
            Kind::Queue(queue) => (0, queue.dequeue(Time(now))),
            Kind::Link(link) => link.receive(Time(now)).map_or((0, None), |d| (d.at.0, Some(d.packet))),
        };
        let Some(left) = left else { return Ok(Status::Empty) };
        *place = Packet { sojourn: left.sojourn.0, arrived, ..to_c(left.payload, left.header) };
        Ok(Status::Ok)
    };
    // SAFETY: the rules of the crate.
    unsafe { on(queue, body) }
}

/// When to call marqueue_dequeue next. A link: when its next packet arrives at the far end. A queue: if the last
/// marqueue_dequeue got nothing although packets wait, when a shaper releases one; otherwise when the program can send.
/// MARQUEUE_NEVER if nothing is to come, and for a null pointer.
#[no_mangle]
pub unsafe extern "C" fn marqueue_next_event(queue: *const Handle) -> u64 {
    let mut event = MARQUEUE_NEVER;
    call(|| {
        // SAFETY: the rules of the crate.
        let handle = unsafe { behind(queue, "queue")? };
        let next = match &handle.kind {
            Kind::Queue(queue) => queue.next_event(),
            Kind::Link(link) => link.next_event(),
        };
        event = next.filter(|_| !handle.broken).map_or(MARQUEUE_NEVER, |at| at.0);
        Ok(Status::Ok)
    });
    event
}

/// Takes one of the packets that were dropped, the first one first; EMPTY if there is none. They are kept until they are
/// taken. `reason` may be null; else it gets a name such as "overflow", which is not to be freed.
#[no_mangle]
pub unsafe extern "C" fn marqueue_take_dropped(
    queue: *mut Handle,
    packet: *mut Packet,
    reason: *mut *const std::ffi::c_char,
) -> Status {
    let body = |handle: &mut Handle| {
        // SAFETY: the rules of the crate.
        let place = unsafe { behind_mut(packet, "packet")? };
        if handle.dropped.is_empty() {
            handle.dropped.extend(match &mut handle.kind {
                Kind::Queue(queue) => queue.take_dropped(),
                Kind::Link(link) => link.take_dropped(),
            });
        }
        let Some(dropped) = handle.dropped.pop_front() else { return Ok(Status::Empty) };
        *place = to_c(dropped.payload, dropped.header);
        // SAFETY: the rules of the crate.
        if let Some(place) = unsafe { reason.as_mut() } {
            *place = reason_name(dropped.reason).as_ptr();
        }
        Ok(Status::Ok)
    };
    // SAFETY: the rules of the crate.
    unsafe { on(queue, body) }
}

/// The rate changes at `now`. A link's packet in transmission keeps the rate that it started with.
#[no_mangle]
pub unsafe extern "C" fn marqueue_set_rate(queue: *mut Handle, now: u64, rate: u64) -> Status {
    let body = |handle: &mut Handle| {
        match &mut handle.kind {
            Kind::Queue(queue) => queue.set_rate(Time(now), Rate(rate))?,
            Kind::Link(link) => link.set_rate(Time(now), Rate(rate))?,
        }
        Ok(Status::Ok)
    };
    // SAFETY: the rules of the crate.
    unsafe { on(queue, body) }
}

/// Counts since the start.
#[no_mangle]
pub unsafe extern "C" fn marqueue_count(queue: *mut Handle, counts: *mut Counts) -> Status {
    let body = |handle: &mut Handle| {
        // SAFETY: the rules of the crate.
        let place = unsafe { behind_mut(counts, "counts")? };
        *place = match &handle.kind {
            Kind::Queue(queue) => count(queue.counters(), queue.len(), queue.bytes()),
            Kind::Link(link) => count(link.counters(), link.queue_len(), link.queue_bytes()),
        };
        Ok(Status::Ok)
    };
    // SAFETY: the rules of the crate.
    unsafe { on(queue, body) }
}

fn count(counters: &Counters, packets: u32, bytes: u64) -> Counts {
    let (drops, marks) = (counters.dropped(), counters.marked());
    Counts {
        arrivals: counters.arrivals,
        departures: counters.departures,
        drops,
        marks,
        packets: packets.into(),
        bytes,
    }
}

fn header(packet: &Packet) -> Result<Header, Failure> {
    if !(1..=Header::MAX_BYTES).contains(&packet.bytes) {
        return Err(Failure::invalid(format!("bytes: got {}, expected 1 to {}", packet.bytes, Header::MAX_BYTES)));
    }
    let ecn = match packet.ecn {
        MARQUEUE_NOT_ECT => Ecn::NotEct,
        MARQUEUE_ECT1 => Ecn::Ect1,
        MARQUEUE_ECT0 => Ecn::Ect0,
        MARQUEUE_CE => Ecn::Ce,
        other => return Err(Failure::invalid(format!("ecn: got {other}, expected 0 to 3"))),
    };
    if packet.dscp > 63 {
        return Err(Failure::invalid(format!("dscp: got {}, expected 0 to 63", packet.dscp)));
    }
    Ok(Header::new(packet.bytes, packet.flow, ecn).with_dscp(Dscp::from_bits(packet.dscp)))
}

fn to_c(id: u64, header: Header) -> Packet {
    let Header { bytes, flow, ecn, dscp } = header;
    Packet { id, bytes, flow, ecn: ecn as u8, dscp: dscp.value(), ..Packet::default() }
}

/// [`Reason::name`] with a zero byte at its end.
fn reason_name(reason: Reason) -> &'static std::ffi::CStr {
    match reason {
        Reason::Overflow => c"overflow",
        Reason::Early => c"early",
        Reason::Forced => c"forced",
        Reason::Virtual => c"virtual",
        Reason::Sojourn => c"sojourn",
        Reason::Matched => c"matched",
        Reason::Kernel => c"kernel",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reasons_have_the_names_that_results_have() {
        assert!(Reason::ALL.into_iter().all(|reason| reason_name(reason).to_str() == Ok(reason.name())));
    }

    #[test]
    fn a_queue_that_has_panicked_refuses_calls() {
        let config = marqueue_aqm::Config::new("codel", Rate(1_000_000));
        let mut handle = Handle { kind: Kind::Queue(config.queue().unwrap()), dropped: VecDeque::new(), broken: false };
        // SAFETY: the handle lives on.
        let statuses = unsafe { [on(&mut handle, |_| panic!("a bug")), on(&mut handle, |_| Ok(Status::Ok))] };
        assert_eq!(statuses, [Status::Panicked; 2]);
        // SAFETY: as above.
        assert_eq!(unsafe { marqueue_next_event(&handle) }, MARQUEUE_NEVER);
    }
}
