//! The clock of all guests: messages over a socket, and a page of memory (include/uapi/linux/um_timetravel.h).
//!
//! A guest that waits has a request in the page: the time at which it wants to run next. The controller writes the time
//! and how far the guest may go by itself (`free_until`), and says RUN. Requests, times and the end of a step are in
//! the page; few messages are left.
//!
//! A kernel with our change (`shm_notify.patch`) needs none of them once the scenario has begun: RUN and WAIT are two
//! counters in the page, and interrupts and kicks of its network devices are bits there. The processes wait for changes
//! of the counters (futex).

use crate::error::Fault;
use crate::shared_memory::SharedMemory;
use rustix::fs::{memfd_create, MemfdFlags};
use rustix::net::{SendAncillaryBuffer, SendAncillaryMessage, SendFlags};
use std::io::{self, IoSlice, Read, Write};
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::time::Duration;

/// The operations that a guest sends or receives here (enum um_timetravel_ops).
pub const ACK: u32 = 0;
/// A guest is there; its time is its number.
pub const START: u32 = 1;
/// A guest waits.
pub const WAIT: u32 = 3;
/// A guest runs.
pub const RUN: u32 = 6;
/// A guest asks for the time of day.
pub const GET_TOD: u32 = 8;

/// Version of the page.
const VERSION: u32 = 2;
/// Offsets in the page: version, length, free_until, current_time, running_id, max_clients.
const FREE_UNTIL: usize = 8;
const CURRENT_TIME: usize = 16;
const RUNNING_ID: usize = 24;
const MAX_CLIENTS: usize = 26;
/// Clients follow the header: capabilities, flags, time of the request; with our change whether the client is to do without
/// messages, how often it was told to run, how often it waited, a bit for each ring that interrupts it, and the bit of the ring for whose kick it waits.
const CLIENTS: usize = 4096;
const CLIENT: usize = 128;
const CAPABILITIES: usize = 0;
const FLAGS: usize = 4;
const REQUEST_TIME: usize = 8;
const NOTIFY: usize = 24;
const RUNS: usize = 28;
const WAITS: usize = 32;
const CALLS: usize = 36;
const KICKS: usize = 40;
/// Flag of a client: it has a request.
const HAS_REQUEST: u32 = 1;
/// Capability of a client: it shares the time.
const SHARES_TIME: u32 = 1;
/// Capability of a client: it runs, waits, kicks and is interrupted without messages.
const NEEDS_NO_MESSAGES: u32 = 2;
/// How long a guest is waited for before it is looked whether it has ended or sent a message.
pub const LOOK: Duration = Duration::from_millis(100);

/// The bit of a ring in the page: two rings a device, that on which it receives and that on which it sends. A guest has at
/// most three devices, and there are bits for sixteen.
pub fn ring_bit(device: usize, sends: bool) -> u32 {
    1 << (2 * device + usize::from(sends))
}

/// Most guests of a run.
pub const MOST_GUESTS: usize = 254;

/// A message of the time protocol.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Message {
    /// The operation.
    pub op: u32,
    /// Its number, which an acknowledgement repeats.
    pub seq: u32,
    /// Nanoseconds, or something else by operation.
    pub time: u64,
}

impl Message {
    /// Reads a message.
    pub fn receive(mut from: &UnixStream) -> Result<Message, Fault> {
        let mut b = [0; 16];
        from.read_exact(&mut b)?;
        let word = |i: usize| u32::from_ne_bytes([b[i], b[i + 1], b[i + 2], b[i + 3]]);
        let time = u64::from_ne_bytes([b[8], b[9], b[10], b[11], b[12], b[13], b[14], b[15]]);
        Ok(Message { op: word(0), seq: word(4), time })
    }

    fn bytes(&self) -> [u8; 16] {
        let mut b = [0; 16];
        b[..4].copy_from_slice(&self.op.to_ne_bytes());
        b[4..8].copy_from_slice(&self.seq.to_ne_bytes());
        b[8..].copy_from_slice(&self.time.to_ne_bytes());
        b
    }

    /// Writes the message.
    pub fn send(&self, mut to: &UnixStream) -> Result<(), Fault> {
        Ok(to.write_all(&self.bytes())?)
    }

    /// Writes the message with file descriptors.
    pub fn send_with(&self, to: &UnixStream, files: &[BorrowedFd<'_>]) -> Result<(), Fault> {
        let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(2))];
        let mut control = SendAncillaryBuffer::new(&mut space);
        control.push(SendAncillaryMessage::ScmRights(files));
        let bytes = self.bytes();
        let sent = rustix::net::sendmsg(to, &[IoSlice::new(&bytes)], &mut control, SendFlags::NOSIGNAL)?;
        if sent < bytes.len() {
            return Err(Fault("it does not read its messages".into()));
        }
        Ok(())
    }
}

/// The page of the clock. Client 0 is the controller, the others are the guests in order.
#[derive(Debug)]
pub struct Clock {
    page: SharedMemory,
    file: OwnedFd,
    /// Where guests may log their messages.
    log: OwnedFd,
    guests: usize,
}

impl Clock {
    /// A clock at zero for this many guests, each with a request at zero.
    ///
    /// # Errors
    /// If the host refuses shared memory.
    pub fn new(guests: usize) -> io::Result<Clock> {
        let len = CLIENTS + CLIENT * (guests + 1);
        let file = memfd_create("marqueue-clock", MemfdFlags::CLOEXEC)?;
        rustix::fs::ftruncate(&file, len as u64)?;
        let log = memfd_create("marqueue-clock-log", MemfdFlags::CLOEXEC)?;
        let page = SharedMemory::map(file.as_fd(), 0, len)?;
        let clock = Clock { page, file, log, guests };
        clock.set_up(len).map_err(|_| io::Error::other("the page of the clock is too short"))?;
        Ok(clock)
    }

    /// From its next step on a guest, which waits, sends no messages if its kernel can do without.
    pub fn end_messages(&self, guest: usize) -> Result<(), Fault> {
        let can = self.page.load_u32(client(guest) + CAPABILITIES)? & NEEDS_NO_MESSAGES != 0;
        Ok(self.page.store_u32(client(guest) + NOTIFY, u32::from(can))?)
    }

    /// Will a guest that is told to run now say in the page that it waits again?
    pub fn needs_no_message(&self, guest: usize) -> Result<bool, Fault> {
        Ok(self.page.load_u32(client(guest) + NOTIFY)? != 0)
    }

    /// How often a guest has waited without a message.
    pub fn waits(&self, guest: usize) -> Result<u32, Fault> {
        Ok(self.page.load_u32(client(guest) + WAITS)?)
    }

    /// Tells a guest, which waits without a message, to run as [`Clock::release`] has said.
    pub fn wake(&self, guest: usize) -> Result<(), Fault> {
        let runs = client(guest) + RUNS;
        self.page.store_u32(runs, self.page.load_u32(runs)?.wrapping_add(1))?;
        Ok(self.page.wake(runs)?)
    }

    /// Waits until a guest has waited more often than `before`. Returns false if it has not after [`LOOK`].
    pub fn wait_for(&self, guest: usize, before: u32) -> Result<bool, Fault> {
        Ok(self.page.wait_while(client(guest) + WAITS, before, LOOK)?)
    }

    /// Interrupts a guest, which waits without a message, for these rings at `now`: it wants to run then.
    pub fn interrupt(&self, guest: usize, rings: u32, now: u64) -> Result<(), Fault> {
        let at = client(guest);
        self.page.store_u32(at + CALLS, self.page.load_u32(at + CALLS)? | rings)?;
        if self.request(guest)?.is_none_or(|time| now < time) {
            self.page.store_u64(at + REQUEST_TIME, now)?;
            self.page.store_u32(at + FLAGS, self.page.load_u32(at + FLAGS)? | HAS_REQUEST)?;
        }
        Ok(())
    }

    /// The rings for whose kick a guest waits; none if it waits for its next step.
    pub fn take_kicks(&self, guest: usize) -> Result<u32, Fault> {
        let at = client(guest) + KICKS;
        let kicks = self.page.load_u32(at)?;
        if kicks != 0 {
            self.page.store_u32(at, 0)?;
        }
        Ok(kicks)
    }

    fn set_up(&self, len: usize) -> Result<(), crate::shared_memory::OutOfBounds> {
        self.page.store_u32(0, VERSION)?;
        self.page.store_u32(4, len as u32)?;
        self.page.store_u16(MAX_CLIENTS, (self.guests + 1) as u16)?;
        self.page.store_u32(CLIENTS, SHARES_TIME)?;
        for guest in 0..self.guests {
            self.page.store_u64(client(guest) + REQUEST_TIME, 0)?;
            self.page.store_u32(client(guest) + FLAGS, HAS_REQUEST)?;
        }
        Ok(())
    }

    /// The files that a guest is given.
    pub fn files(&self) -> [BorrowedFd<'_>; 2] {
        [self.file.as_fd(), self.log.as_fd()]
    }

    /// The time.
    pub fn now(&self) -> Result<u64, Fault> {
        Ok(self.page.load_u64(CURRENT_TIME)?)
    }

    /// When a guest wants to run next.
    pub fn request(&self, guest: usize) -> Result<Option<u64>, Fault> {
        let has = self.page.load_u32(client(guest) + FLAGS)? & HAS_REQUEST != 0;
        Ok(if has { Some(self.page.load_u64(client(guest) + REQUEST_TIME)?) } else { None })
    }

    /// The guest that wants to run first, and when. Of several that of the lowest number.
    pub fn first_request(&self) -> Result<Option<(u64, usize)>, Fault> {
        let mut first = None;
        for guest in 0..self.guests {
            if let Some(at) = self.request(guest)? {
                if first.is_none_or(|(earliest, _)| at < earliest) {
                    first = Some((at, guest));
                }
            }
        }
        Ok(first)
    }

    /// When the first of the other guests wants to run.
    pub fn first_request_beside(&self, guest: usize) -> Result<u64, Fault> {
        let mut first = u64::MAX >> 1;
        for other in (0..self.guests).filter(|&other| other != guest) {
            first = first.min(self.request(other)?.unwrap_or(u64::MAX));
        }
        Ok(first)
    }

    /// The network takes over at `now`: no guest runs.
    pub fn hold(&self, now: u64) -> Result<(), Fault> {
        self.page.store_u16(RUNNING_ID, 0)?;
        self.page.store_u64(CURRENT_TIME, now)?;
        Ok(self.page.store_u64(FREE_UNTIL, now)?)
    }

    /// A guest begins to run at `now` and may go on until `free_until` by itself.
    pub fn release(&self, guest: usize, now: u64, free_until: u64) -> Result<(), Fault> {
        let flags = client(guest) + FLAGS;
        self.page.store_u32(flags, self.page.load_u32(flags)? & !HAS_REQUEST)?;
        self.page.store_u64(CURRENT_TIME, now)?;
        self.page.store_u64(FREE_UNTIL, free_until)?;
        Ok(self.page.store_u16(RUNNING_ID, (guest + 1) as u16)?)
    }

    /// The running guest may go until `time` at most, if it might go further now.
    pub fn limit(&self, time: u64) -> Result<(), Fault> {
        if time < self.page.load_u64(FREE_UNTIL)? {
            self.page.store_u64(FREE_UNTIL, time)?;
        }
        Ok(())
    }
}

fn client(guest: usize) -> usize {
    CLIENTS + CLIENT * (guest + 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What a guest with our change does when it takes the page.
    fn introduce(clock: &Clock, guest: usize) {
        clock.page.store_u32(client(guest) + CAPABILITIES, SHARES_TIME | NEEDS_NO_MESSAGES).unwrap();
    }

    #[test]
    fn a_guest_whose_kernel_cannot_do_without_goes_on_to_send_messages() {
        let clock = Clock::new(2).unwrap();
        introduce(&clock, 1);
        for guest in 0..2 {
            assert!(!clock.needs_no_message(guest).unwrap());
            clock.end_messages(guest).unwrap();
        }
        assert!(!clock.needs_no_message(0).unwrap());
        assert!(clock.needs_no_message(1).unwrap());
    }

    #[test]
    fn an_interrupted_guest_wants_to_run_at_once_but_not_later_than_it_wanted() {
        let clock = Clock::new(2).unwrap();
        // It asked for no time at all.
        clock.release(0, 0, 0).unwrap();
        clock.interrupt(0, ring_bit(0, false), 50).unwrap();
        assert_eq!(clock.request(0).unwrap(), Some(50));
        clock.interrupt(0, ring_bit(1, true), 70).unwrap();
        assert_eq!(clock.request(0).unwrap(), Some(50));
        assert_eq!(clock.page.load_u32(client(0) + CALLS).unwrap(), 0b1001);
        // The other asked for time 0 and is not touched.
        assert_eq!(clock.first_request().unwrap(), Some((0, 1)));
    }

    #[test]
    fn both_wait_for_counters_that_the_other_changes() {
        let clock = Clock::new(1).unwrap();
        introduce(&clock, 0);
        clock.end_messages(0).unwrap();
        assert!(!clock.wait_for(0, 0).unwrap(), "no guest has waited");
        let (runs, waits, kicks) = (client(0) + RUNS, client(0) + WAITS, client(0) + KICKS);
        let page = SharedMemory::map(clock.file.as_fd(), 0, clock.page.len()).unwrap();
        let guest = std::thread::spawn(move || {
            // It is told to run, kicks, goes on, and waits.
            for (step, kick) in [(0, ring_bit(0, true)), (1, 0)] {
                while !page.wait_while(runs, step, LOOK).unwrap() {}
                page.store_u32(kicks, kick).unwrap();
                page.store_u32(waits, step + 1).unwrap();
                page.wake(waits).unwrap();
            }
        });
        for (before, kick) in [(0, ring_bit(0, true)), (1, 0)] {
            clock.wake(0).unwrap();
            while !clock.wait_for(0, before).unwrap() {}
            assert_eq!(clock.take_kicks(0).unwrap(), kick);
            assert_eq!(clock.take_kicks(0).unwrap(), 0);
        }
        guest.join().unwrap();
    }
}
