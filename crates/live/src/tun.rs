//! A TUN device: raw IP packets of one network namespace, one a read.
//!
//! No IFF_VNET_HDR: with it Linux would hand over segments of 64 KB with checksums still to be made, and
//! what the queue holds would be no packets.

use rustix::fd::{AsFd, BorrowedFd, OwnedFd};
use rustix::fs::{open, Mode, OFlags};
use rustix::io::{read, write, Errno, Result};
use rustix::ioctl::{ioctl, Setter};
use rustix::thread::{move_into_link_name_space, LinkNameSpaceType};
use std::path::Path;

/// The longest name of a device, with the zero behind it.
const NAME: usize = 16;
/// `TUNSETIFF`, and its flags: IP packets, nothing before them (linux/if_tun.h).
const TUNSETIFF: rustix::ioctl::Opcode = rustix::ioctl::opcode::write::<i32>(b'T', 202);
const IFF_TUN: u16 = 0x0001;
const IFF_NO_PI: u16 = 0x1000;

/// `struct ifreq`, as far as TUNSETIFF reads it.
#[repr(C)]
struct Request {
    name: [u8; NAME],
    flags: u16,
    unused: [u8; 22],
}

/// An open device. It vanishes when it is closed, and so with the process.
#[derive(Debug)]
pub struct Tun(OwnedFd);

impl Tun {
    /// A new device called `name` in the network namespace that the file `namespace` stands for; without
    /// one, in that of the calling thread.
    ///
    /// # Errors
    /// If the namespace or the device cannot be opened: no permission, no such file, no TUN in the
    /// kernel, a name that is taken.
    pub fn open(name: &str, namespace: Option<&Path>) -> Result<Tun> {
        let Some(path) = namespace else { return Tun::open_here(name) };
        let file = open(path, OFlags::RDONLY | OFlags::CLOEXEC, Mode::empty())?;
        // A thread of its own: a namespace is a thread's, and this one goes to its grave with it.
        let made = std::thread::scope(|scope| {
            let there = || {
                move_into_link_name_space(file.as_fd(), Some(LinkNameSpaceType::Network))?;
                Tun::open_here(name)
            };
            scope.spawn(there).join()
        });
        made.expect("nothing there panics")
    }

    fn open_here(name: &str) -> Result<Tun> {
        if name.is_empty() || name.len() >= NAME {
            return Err(Errno::INVAL);
        }
        let fd = open("/dev/net/tun", OFlags::RDWR | OFlags::NONBLOCK | OFlags::CLOEXEC, Mode::empty())?;
        let mut request = Request { name: [0; NAME], flags: IFF_TUN | IFF_NO_PI, unused: [0; 22] };
        request.name[..name.len()].copy_from_slice(name.as_bytes());
        set_interface(fd.as_fd(), request)?;
        Ok(Tun(fd))
    }

    /// Reads a packet into `room`; none if there is none.
    ///
    /// # Errors
    /// If the device is gone.
    pub fn read(&self, room: &mut [u8]) -> Result<Option<usize>> {
        match read(&self.0, room) {
            Ok(bytes) => Ok(Some(bytes)),
            Err(Errno::AGAIN | Errno::INTR) => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Hands a packet to the system; false if it would not take it.
    ///
    /// # Errors
    /// If the device is gone.
    pub fn write(&self, packet: &[u8]) -> Result<bool> {
        match write(&self.0, packet) {
            Ok(_) => Ok(true),
            Err(Errno::BADFD | Errno::BADF) => Err(Errno::BADFD),
            Err(_) => Ok(false),
        }
    }
}

impl AsFd for Tun {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}

/// The one call that no safe library has.
#[allow(unsafe_code)]
fn set_interface(fd: BorrowedFd<'_>, request: Request) -> Result<()> {
    // SAFETY: TUNSETIFF reads a struct ifreq (its opcode says int, for history's sake), and `Request` has
    // the size of one, 40 bytes.
    unsafe { ioctl(fd, Setter::<TUNSETIFF, Request>::new(request)) }
}
