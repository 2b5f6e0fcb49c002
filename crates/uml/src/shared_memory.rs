//! Memory that is shared with another process, which may write it at any time.
//!
//! All access to a guest's memory, and to the page of the time protocol, is through [`SharedMemory`]. Offsets are
//! checked against the length of the mapping, and values are copied: no reference to shared memory exists, so that
//! nothing depends on it staying the same between two reads.
#![allow(unsafe_code, reason = "a mapping of a file, and copies from and to it, have no safe form")]

use rustix::io::Errno;
use rustix::mm::{mmap, munmap, MapFlags, ProtFlags};
use rustix::thread::futex;
use std::io;
use std::os::fd::BorrowedFd;
use std::ptr::NonNull;
use std::sync::atomic::{AtomicU16, AtomicU32, AtomicU64, Ordering};
use std::time::Duration;

/// An access beyond the mapping, or to an unaligned number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OutOfBounds;

/// A mapping of a part of a file, for reading and writing.
#[derive(Debug)]
pub struct SharedMemory {
    base: NonNull<u8>,
    /// Bytes that may be accessed.
    len: usize,
    /// Bytes in front of them, because mappings begin at a page.
    lead: usize,
}

// SAFETY: the mapping belongs to this value alone, and no other thread of this process refers to it.
unsafe impl Send for SharedMemory {}

/// Mappings begin at a multiple of this, which is a multiple of the page size of all machines.
const PAGE: u64 = 65_536;

impl SharedMemory {
    /// Maps `len` bytes of a file from `offset` on.
    ///
    /// # Errors
    /// If the file is shorter, or the mapping is refused.
    pub fn map(file: BorrowedFd<'_>, offset: u64, len: usize) -> io::Result<SharedMemory> {
        let size = rustix::fs::fstat(file)?.st_size as u64;
        let end = offset.checked_add(len as u64).filter(|&end| len > 0 && end <= size);
        let Some(_) = end else {
            return Err(io::Error::new(io::ErrorKind::InvalidInput, "a mapping beyond the end of its file"));
        };
        let lead = (offset % PAGE) as usize;
        let (prot, flags) = (ProtFlags::READ | ProtFlags::WRITE, MapFlags::SHARED);
        // SAFETY: a new mapping at an address that the kernel chooses overlaps no memory in use.
        let start = unsafe { mmap(std::ptr::null_mut(), len + lead, prot, flags, file, offset - lead as u64)? };
        // SAFETY: `lead` lies within the mapping.
        let base = NonNull::new(unsafe { start.cast::<u8>().add(lead) });
        let base = base.ok_or_else(|| io::Error::other("a mapping at address zero"))?;
        Ok(SharedMemory { base, len, lead })
    }

    /// The length in bytes.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Is it empty? A mapping never is.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// The address of `n` bytes at `at`, aligned to `align`.
    #[inline]
    fn address(&self, at: usize, n: usize, align: usize) -> Result<*mut u8, OutOfBounds> {
        let end = at.checked_add(n).ok_or(OutOfBounds)?;
        if end > self.len {
            return Err(OutOfBounds);
        }
        // SAFETY: `at` is within the mapping, as was just checked.
        let address = unsafe { self.base.as_ptr().add(at) };
        if !(address as usize).is_multiple_of(align) {
            return Err(OutOfBounds);
        }
        Ok(address)
    }

    /// Copies bytes from `at` on.
    #[inline]
    pub fn read(&self, at: usize, to: &mut [u8]) -> Result<(), OutOfBounds> {
        let from = self.address(at, to.len(), 1)?;
        // SAFETY: the range is within the mapping and cannot overlap `to`, which is this process's own. The other
        // process may write meanwhile: then the bytes are old or new ones, and every value of a byte is valid.
        unsafe { std::ptr::copy_nonoverlapping(from, to.as_mut_ptr(), to.len()) };
        Ok(())
    }

    /// Copies bytes to `at`.
    #[inline]
    pub fn write(&self, at: usize, from: &[u8]) -> Result<(), OutOfBounds> {
        let to = self.address(at, from.len(), 1)?;
        // SAFETY: as in `read`; this process holds no reference into the mapping.
        unsafe { std::ptr::copy_nonoverlapping(from.as_ptr(), to, from.len()) };
        Ok(())
    }

    /// A 16-bit number, with all that the other process wrote before it.
    #[inline]
    pub fn load_u16(&self, at: usize) -> Result<u16, OutOfBounds> {
        let from = self.address(at, 2, 2)?;
        // SAFETY: in bounds and aligned, and accessed atomically only.
        Ok(unsafe { AtomicU16::from_ptr(from.cast()) }.load(Ordering::SeqCst))
    }

    /// Writes a 16-bit number, after all that this process wrote before.
    #[inline]
    pub fn store_u16(&self, at: usize, value: u16) -> Result<(), OutOfBounds> {
        let to = self.address(at, 2, 2)?;
        // SAFETY: as in `load_u16`.
        unsafe { AtomicU16::from_ptr(to.cast()) }.store(value, Ordering::SeqCst);
        Ok(())
    }

    /// A 32-bit number.
    #[inline]
    pub fn load_u32(&self, at: usize) -> Result<u32, OutOfBounds> {
        let from = self.address(at, 4, 4)?;
        // SAFETY: as in `load_u16`.
        Ok(unsafe { AtomicU32::from_ptr(from.cast()) }.load(Ordering::SeqCst))
    }

    /// Writes a 32-bit number.
    #[inline]
    pub fn store_u32(&self, at: usize, value: u32) -> Result<(), OutOfBounds> {
        let to = self.address(at, 4, 4)?;
        // SAFETY: as in `load_u16`.
        unsafe { AtomicU32::from_ptr(to.cast()) }.store(value, Ordering::SeqCst);
        Ok(())
    }

    /// Wakes a process that waits for a change of the 32-bit number at `at` (a futex).
    pub fn wake(&self, at: usize) -> Result<(), OutOfBounds> {
        let word = self.address(at, 4, 4)?;
        // SAFETY: as in `load_u16`; an atomic number may change at any time.
        let word = unsafe { AtomicU32::from_ptr(word.cast()) };
        // No one waits, or one process was woken: the word itself says what has happened.
        let _ = futex::wake(word, futex::Flags::empty(), 1);
        Ok(())
    }

    /// Waits while the 32-bit number at `at` is `value` (a futex). Returns false if it still is after `patience`.
    pub fn wait_while(&self, at: usize, value: u32, patience: Duration) -> Result<bool, OutOfBounds> {
        let address = self.address(at, 4, 4)?;
        // SAFETY: as in `wake`.
        let word = unsafe { AtomicU32::from_ptr(address.cast()) };
        let limit = futex::Timespec { tv_sec: patience.as_secs() as i64, tv_nsec: i64::from(patience.subsec_nanos()) };
        while word.load(Ordering::SeqCst) == value {
            match futex::wait(word, futex::Flags::empty(), value, Some(&limit)) {
                Ok(()) | Err(Errno::AGAIN | Errno::INTR) => {}
                // Another error than that of time would come again at once.
                Err(_) => return Ok(word.load(Ordering::SeqCst) != value),
            }
        }
        Ok(true)
    }

    /// A 64-bit number.
    #[inline]
    pub fn load_u64(&self, at: usize) -> Result<u64, OutOfBounds> {
        let from = self.address(at, 8, 8)?;
        // SAFETY: as in `load_u16`.
        Ok(unsafe { AtomicU64::from_ptr(from.cast()) }.load(Ordering::SeqCst))
    }

    /// Writes a 64-bit number.
    #[inline]
    pub fn store_u64(&self, at: usize, value: u64) -> Result<(), OutOfBounds> {
        let to = self.address(at, 8, 8)?;
        // SAFETY: as in `load_u16`.
        unsafe { AtomicU64::from_ptr(to.cast()) }.store(value, Ordering::SeqCst);
        Ok(())
    }
}

impl Drop for SharedMemory {
    fn drop(&mut self) {
        // SAFETY: this is the mapping that `map` made, and nothing refers to it any more. An error would leave memory
        // mapped, which harms nobody.
        let _ = unsafe { munmap(self.base.as_ptr().sub(self.lead).cast(), self.len + self.lead) };
    }
}
