//! The clock of all guests: messages over a socket, and a page of memory (include/uapi/linux/um_timetravel.h).
//!
//! A guest that waits has a request in the page: the time at which it wants to run next. The controller writes the time
//! and how far the guest may go by itself (`free_until`), and says RUN. Requests, times and the end of a step are in
//! the page; few messages are left.

use crate::error::Fault;
use crate::shared_memory::SharedMemory;
use rustix::fs::{memfd_create, MemfdFlags};
use rustix::net::{SendAncillaryBuffer, SendAncillaryMessage, SendFlags};
use std::io::{self, IoSlice, Read, Write};
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::net::UnixStream;

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
/// Clients follow the header: capabilities, flags, time of the request.
const CLIENTS: usize = 4096;
const CLIENT: usize = 128;
const FLAGS: usize = 4;
const REQUEST_TIME: usize = 8;
/// Flag of a client: it has a request.
const HAS_REQUEST: u32 = 1;
/// Capability of a client: it shares the time.
const SHARES_TIME: u32 = 1;

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
