//! A TUN device: raw IP packets of one network namespace, one for each read.
//!
//! IFF_VNET_HDR is not used. With it Linux passes segments of up to 64 KB without checksums, and the queue would not
//! hold packets as they are on the wire.

use crate::namespace::inside;
use rustix::fd::{AsFd, BorrowedFd, OwnedFd};
use rustix::fs::{open, Mode, OFlags};
use rustix::io::{read, write, Errno, Result};
use rustix::ioctl::{ioctl, Setter};
use std::path::Path;

/// Bytes of a device name with its terminating zero.
const NAME_BYTES: usize = 16;
/// `TUNSETIFF` and its flags: IP packets without a header before them (linux/if_tun.h).
const TUNSETIFF: rustix::ioctl::Opcode = rustix::ioctl::opcode::write::<i32>(b'T', 202);
const IFF_TUN: u16 = 0x0001;
const IFF_NO_PI: u16 = 0x1000;

/// The part of `struct ifreq` that TUNSETIFF reads.
#[repr(C)]
struct InterfaceRequest {
    name: [u8; NAME_BYTES],
    flags: u16,
    unused: [u8; 22],
}

/// An open device. The kernel removes it when it is closed, so at the latest when the process ends.
#[derive(Debug)]
pub struct Tun(OwnedFd);

impl Tun {
    /// Creates the device `name` in the network namespace of the file `namespace`, by default in that of the calling
    /// thread.
    ///
    /// # Errors
    /// If the namespace or the device cannot be opened: no permission, no such file, no TUN in the kernel, or the name
    /// is in use.
    pub fn open(name: &str, namespace: Option<&Path>) -> Result<Tun> {
        inside(namespace, || Tun::open_here(name))
    }

    fn open_here(name: &str) -> Result<Tun> {
        if name.is_empty() || name.len() >= NAME_BYTES {
            return Err(Errno::INVAL);
        }
        let fd = open("/dev/net/tun", OFlags::RDWR | OFlags::NONBLOCK | OFlags::CLOEXEC, Mode::empty())?;
        let mut request = InterfaceRequest { name: [0; NAME_BYTES], flags: IFF_TUN | IFF_NO_PI, unused: [0; 22] };
        request.name[..name.len()].copy_from_slice(name.as_bytes());
        set_interface(fd.as_fd(), request)?;
        Ok(Tun(fd))
    }

    /// Reads a packet into `buffer`. Returns its length; `None` if no packet waits.
    ///
    /// # Errors
    /// If the device is gone.
    pub fn read(&self, buffer: &mut [u8]) -> Result<Option<usize>> {
        match read(&self.0, buffer) {
            Ok(bytes) => Ok(Some(bytes)),
            Err(Errno::AGAIN | Errno::INTR) => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Writes a packet. Returns false if the kernel refuses it.
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

/// rustix has no safe wrapper of TUNSETIFF.
#[allow(unsafe_code)]
fn set_interface(fd: BorrowedFd<'_>, request: InterfaceRequest) -> Result<()> {
    // SAFETY: TUNSETIFF reads a struct ifreq (though its opcode is declared with int), and `InterfaceRequest` has the
    // size of one, 40 bytes.
    unsafe { ioctl(fd, Setter::<TUNSETIFF, InterfaceRequest>::new(request)) }
}
