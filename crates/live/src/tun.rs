//! A TUN device: raw IP packets of one network namespace, one for each read, after a header of virtio
//! ([`crate::offload`]).

use crate::namespace::inside;
use crate::offload::HEADER_BYTES;
use rustix::fd::{AsFd, BorrowedFd, OwnedFd};
use rustix::fs::{open, Mode, OFlags};
use rustix::io::{readv, writev, Errno, IoSliceMut, Result};
use rustix::ioctl::{ioctl, IntegerSetter, Setter};
use std::io::IoSlice;
use std::path::Path;

/// Bytes of a device name with its terminating zero.
const NAME_BYTES: usize = 16;
/// `TUNSETIFF` and its flags: IP packets without a header before them (linux/if_tun.h).
const TUNSETIFF: rustix::ioctl::Opcode = rustix::ioctl::opcode::write::<i32>(b'T', 202);
const IFF_TUN: u16 = 0x0001;
const IFF_NO_PI: u16 = 0x1000;
const IFF_VNET_HDR: u16 = 0x4000;
/// `TUNSETOFFLOAD`, and what the reader of the device can do: fill in checksums, and cut TCP and UDP.
const TUNSETOFFLOAD: rustix::ioctl::Opcode = rustix::ioctl::opcode::write::<u32>(b'T', 208);
const CHECKSUMS: usize = 0x01;
const TCP_SEGMENTS: usize = 0x02 | 0x04 | 0x08;
const UDP_SEGMENTS: usize = 0x20 | 0x40;

/// The part of `struct ifreq` that TUNSETIFF reads.
#[repr(C)]
struct InterfaceRequest {
    name: [u8; NAME_BYTES],
    flags: u16,
    unused: [u8; 22],
}

/// An open device. The kernel removes it when it is closed, so at the latest when the process ends.
#[derive(Debug)]
pub struct Tun {
    fd: OwnedFd,
    /// Does Linux hand over and take UDP that is to be cut?
    takes_udp_segments: bool,
}

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
        let mut request =
            InterfaceRequest { name: [0; NAME_BYTES], flags: IFF_TUN | IFF_NO_PI | IFF_VNET_HDR, unused: [0; 22] };
        request.name[..name.len()].copy_from_slice(name.as_bytes());
        set_interface(fd.as_fd(), request)?;
        // Linux takes UDP since 6.2.
        let takes_udp_segments = set_offload(fd.as_fd(), CHECKSUMS | TCP_SEGMENTS | UDP_SEGMENTS).is_ok();
        if !takes_udp_segments {
            set_offload(fd.as_fd(), CHECKSUMS | TCP_SEGMENTS)?;
        }
        Ok(Tun { fd, takes_udp_segments })
    }

    /// Does Linux hand over and take UDP that is to be cut?
    pub fn takes_udp_segments(&self) -> bool {
        self.takes_udp_segments
    }

    /// Reads virtio's header and a packet into `header` and `packet`. Returns the packet's length; `None` if no packet
    /// waits.
    ///
    /// # Errors
    /// If the device is gone.
    pub fn read(&self, header: &mut [u8; HEADER_BYTES], packet: &mut [u8]) -> Result<Option<usize>> {
        match readv(&self.fd, &mut [IoSliceMut::new(header), IoSliceMut::new(packet)]) {
            Ok(bytes) => Ok(Some(bytes.saturating_sub(HEADER_BYTES))),
            Err(Errno::AGAIN | Errno::INTR) => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Writes virtio's header and a packet, in pieces. Returns false if the kernel refuses it.
    ///
    /// # Errors
    /// If the device is gone.
    pub fn write(&self, pieces: &[IoSlice<'_>]) -> Result<bool> {
        match writev(&self.fd, pieces) {
            Ok(_) => Ok(true),
            Err(Errno::BADFD | Errno::BADF) => Err(Errno::BADFD),
            Err(_) => Ok(false),
        }
    }
}

impl AsFd for Tun {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.fd.as_fd()
    }
}

/// rustix has no safe wrapper of TUNSETIFF.
#[allow(unsafe_code)]
fn set_interface(fd: BorrowedFd<'_>, request: InterfaceRequest) -> Result<()> {
    // SAFETY: TUNSETIFF reads a struct ifreq (though its opcode is declared with int), and `InterfaceRequest` has the
    // size of one, 40 bytes.
    unsafe { ioctl(fd, Setter::<TUNSETIFF, InterfaceRequest>::new(request)) }
}

/// rustix has no safe wrapper of TUNSETOFFLOAD.
#[allow(unsafe_code)]
fn set_offload(fd: BorrowedFd<'_>, flags: usize) -> Result<()> {
    // SAFETY: TUNSETOFFLOAD takes its argument by value.
    unsafe { ioctl(fd, IntegerSetter::<TUNSETOFFLOAD>::new_usize(flags)) }
}
