//! A split virtqueue in a guest's memory (Virtual I/O Device 1.2, section 2.7), seen from the device.
//!
//! The guest may write anything into its rings. Whatever it writes, an access is within its memory, a chain has at most
//! as many parts as the ring has descriptors, and a frame at most [`LONGEST`] bytes; otherwise the ring is refused.

use crate::shared_memory::{OutOfBounds, SharedMemory};
use std::fmt;

/// Length of the header in front of each frame (struct virtio_net_hdr_v1).
pub const NET_HEADER: usize = 12;
/// Longest frame with its header, bytes.
pub const LONGEST: usize = 65_536 + NET_HEADER;
/// Most descriptors of a ring.
const MOST_DESCRIPTORS: u32 = 32_768;

const DESCRIPTOR: u64 = 16;
/// VIRTQ_DESC_F_NEXT, VIRTQ_DESC_F_WRITE.
const NEXT: u16 = 1;
const WRITABLE: u16 = 2;
/// VIRTQ_AVAIL_F_NO_INTERRUPT.
const NO_INTERRUPT: u16 = 1;

/// What is wrong with a ring.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RingError {
    /// An address outside the guest's memory, or unaligned.
    Address,
    /// A size that is no power of two up to 32768.
    Size(u32),
    /// More buffers at once than the ring has.
    Available(u16),
    /// A descriptor that the ring does not have.
    Descriptor(u16),
    /// A descriptor with unexpected flags.
    Flags(u16),
    /// A chain that is longer than the ring.
    Loop,
    /// A frame that is too long, or too short for its header.
    Length(usize),
}

impl From<OutOfBounds> for RingError {
    fn from(_: OutOfBounds) -> RingError {
        RingError::Address
    }
}

impl fmt::Display for RingError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            RingError::Address => f.write_str("an address outside its memory"),
            RingError::Size(n) => write!(f, "a ring of {n} descriptors"),
            RingError::Available(n) => write!(f, "{n} buffers at once, more than the ring has"),
            RingError::Descriptor(n) => write!(f, "descriptor {n}, which the ring does not have"),
            RingError::Flags(n) => write!(f, "a descriptor with flags {n:#x}"),
            RingError::Loop => f.write_str("a chain of descriptors that is longer than the ring"),
            RingError::Length(n) => write!(f, "a buffer of {n} bytes"),
        }
    }
}

/// A part of a guest's memory.
#[derive(Debug)]
struct Region {
    /// Its address in the guest.
    guest: u64,
    /// Its address in the process of the guest.
    user: u64,
    memory: SharedMemory,
}

/// A guest's memory, found by address.
#[derive(Debug, Default)]
pub struct GuestMemory {
    regions: Vec<Region>,
}

/// The kind of an address.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Address {
    /// Of the guest: that of a buffer.
    Guest(u64),
    /// Of the guest's process: that of a ring.
    User(u64),
}

impl GuestMemory {
    /// Adds a region.
    pub fn add(&mut self, guest: u64, user: u64, memory: SharedMemory) {
        self.regions.push(Region { guest, user, memory });
    }

    /// The memory at an address, if `n` bytes from there are within one region, and the offset there.
    #[inline]
    fn find(&self, address: Address, n: usize) -> Result<(&SharedMemory, usize), RingError> {
        for region in &self.regions {
            let offset = match address {
                Address::Guest(at) => at.checked_sub(region.guest),
                Address::User(at) => at.checked_sub(region.user),
            };
            let len = region.memory.len() as u64;
            if let Some(offset) = offset.filter(|&o| o <= len && n as u64 <= len - o) {
                return Ok((&region.memory, offset as usize));
            }
        }
        Err(RingError::Address)
    }

    fn read(&self, at: Address, to: &mut [u8]) -> Result<(), RingError> {
        let (memory, offset) = self.find(at, to.len())?;
        Ok(memory.read(offset, to)?)
    }

    fn write(&self, at: Address, from: &[u8]) -> Result<(), RingError> {
        let (memory, offset) = self.find(at, from.len())?;
        Ok(memory.write(offset, from)?)
    }
}

/// A ring. Its addresses are those of the guest's process.
#[derive(Clone, Debug, Default)]
pub struct Ring {
    size: u16,
    descriptors: u64,
    available: u64,
    used: u64,
    /// Index of the next buffer to take.
    next_available: u16,
    /// Index of the next buffer to give back.
    next_used: u16,
    /// Whether it may be used.
    pub enabled: bool,
}

/// A part of a chain.
#[derive(Clone, Copy, Debug)]
struct Part {
    address: u64,
    len: u32,
    flags: u16,
    next: u16,
}

impl Ring {
    /// Sets the number of descriptors.
    pub fn set_size(&mut self, size: u32) -> Result<(), RingError> {
        if size == 0 || size > MOST_DESCRIPTORS || !size.is_power_of_two() {
            return Err(RingError::Size(size));
        }
        self.size = size as u16;
        Ok(())
    }

    /// The number of descriptors.
    pub fn size(&self) -> u16 {
        self.size
    }

    /// Sets where its three parts are, in the guest's process.
    pub fn set_addresses(&mut self, descriptors: u64, used: u64, available: u64) {
        (self.descriptors, self.used, self.available) = (descriptors, used, available);
    }

    /// Sets the index of the first buffer.
    pub fn set_base(&mut self, base: u32) {
        self.next_available = base as u16;
    }

    /// Is it set up?
    pub fn is_ready(&self) -> bool {
        self.enabled && self.size > 0 && self.descriptors > 0
    }

    /// An entry after the two numbers at the head of a ring.
    fn entry(&self, base: u64, index: u16, size: u64) -> Result<Address, RingError> {
        let offset = 4 + size * u64::from(index & (self.size - 1));
        base.checked_add(offset).map(Address::User).ok_or(RingError::Address)
    }

    fn load(&self, memory: &GuestMemory, at: Address) -> Result<u16, RingError> {
        let (memory, offset) = memory.find(at, 2)?;
        Ok(memory.load_u16(offset)?)
    }

    /// The first descriptor of the next buffer, if there is one.
    fn next_head(&self, memory: &GuestMemory) -> Result<Option<u16>, RingError> {
        let index = self.available.checked_add(2).map(Address::User).ok_or(RingError::Address)?;
        let waiting = self.load(memory, index)?.wrapping_sub(self.next_available);
        if waiting > self.size {
            return Err(RingError::Available(waiting));
        }
        if waiting == 0 {
            return Ok(None);
        }
        Ok(Some(self.load(memory, self.entry(self.available, self.next_available, 2)?)?))
    }

    fn part(&self, memory: &GuestMemory, index: u16) -> Result<Part, RingError> {
        if index >= self.size {
            return Err(RingError::Descriptor(index));
        }
        let at = self.descriptors.checked_add(DESCRIPTOR * u64::from(index)).ok_or(RingError::Address)?;
        let mut b = [0; DESCRIPTOR as usize];
        memory.read(Address::User(at), &mut b)?;
        Ok(Part {
            address: u64::from_le_bytes([b[0], b[1], b[2], b[3], b[4], b[5], b[6], b[7]]),
            len: u32::from_le_bytes([b[8], b[9], b[10], b[11]]),
            flags: u16::from_le_bytes([b[12], b[13]]),
            next: u16::from_le_bytes([b[14], b[15]]),
        })
    }

    /// Calls `use_part` for each part of the chain that begins at `head`, until it returns false or the chain ends.
    fn walk(
        &self,
        memory: &GuestMemory,
        head: u16,
        writable: bool,
        mut use_part: impl FnMut(&Part) -> Result<bool, RingError>,
    ) -> Result<(), RingError> {
        let mut index = head;
        for _ in 0..self.size {
            let part = self.part(memory, index)?;
            if part.flags & !(NEXT | WRITABLE) != 0 || (part.flags & WRITABLE != 0) != writable {
                return Err(RingError::Flags(part.flags));
            }
            if !use_part(&part)? || part.flags & NEXT == 0 {
                return Ok(());
            }
            index = part.next;
        }
        Err(RingError::Loop)
    }

    /// Takes the next frame that the guest sends, without its header, into `frame`. Returns the buffer, which
    /// [`Ring::give_back`] wants; `None` if there is no frame.
    pub fn take_frame(&mut self, memory: &GuestMemory, frame: &mut Vec<u8>) -> Result<Option<u16>, RingError> {
        let Some(head) = self.next_head(memory)? else { return Ok(None) };
        frame.clear();
        self.walk(memory, head, false, |part| {
            let (from, len) = (frame.len(), part.len as usize);
            if len > LONGEST - from {
                return Err(RingError::Length(from.saturating_add(len)));
            }
            frame.resize(from + len, 0);
            memory.read(Address::Guest(part.address), &mut frame[from..])?;
            Ok(true)
        })?;
        if frame.len() < NET_HEADER {
            return Err(RingError::Length(frame.len()));
        }
        frame.drain(..NET_HEADER);
        self.next_available = self.next_available.wrapping_add(1);
        Ok(Some(head))
    }

    /// Gives a frame to the guest. Returns false if it has no buffer free.
    pub fn give_frame(&mut self, memory: &GuestMemory, frame: &[u8]) -> Result<bool, RingError> {
        let Some(head) = self.next_head(memory)? else { return Ok(false) };
        // One buffer: num_buffers is 1.
        let mut bytes = vec![0; NET_HEADER + frame.len()];
        bytes[10] = 1;
        bytes[NET_HEADER..].copy_from_slice(frame);
        let mut done = 0;
        self.walk(memory, head, true, |part| {
            let n = (part.len as usize).min(bytes.len() - done);
            memory.write(Address::Guest(part.address), &bytes[done..done + n])?;
            done += n;
            Ok(done < bytes.len())
        })?;
        if done < bytes.len() {
            return Err(RingError::Length(done));
        }
        self.next_available = self.next_available.wrapping_add(1);
        self.give_back(memory, head, bytes.len() as u32)?;
        Ok(true)
    }

    /// Gives a buffer back to the guest, with the number of bytes written into it.
    pub fn give_back(&mut self, memory: &GuestMemory, head: u16, written: u32) -> Result<(), RingError> {
        let mut entry = [0; 8];
        entry[..4].copy_from_slice(&u32::from(head).to_le_bytes());
        entry[4..].copy_from_slice(&written.to_le_bytes());
        memory.write(self.entry(self.used, self.next_used, 8)?, &entry)?;
        self.next_used = self.next_used.wrapping_add(1);
        let index = self.used.checked_add(2).map(Address::User).ok_or(RingError::Address)?;
        let (memory, offset) = memory.find(index, 2)?;
        Ok(memory.store_u16(offset, self.next_used)?)
    }

    /// Does the guest want an interrupt after buffers were given back?
    pub fn wants_call(&self, memory: &GuestMemory) -> Result<bool, RingError> {
        Ok(self.load(memory, Address::User(self.available))? & NO_INTERRUPT == 0)
    }
}
