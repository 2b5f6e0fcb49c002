//! A guest's memory with a ring in it, in the middle of a file whose edges show whether anything beyond was written.
#![allow(dead_code, reason = "each user takes a part")]

use marqueue_uml::ring::{GuestMemory, Ring};
use marqueue_uml::shared_memory::SharedMemory;
use rustix::fs::{ftruncate, memfd_create, MemfdFlags};
use std::os::fd::{AsFd, OwnedFd};

/// Where the guest sees its memory.
pub const GUEST: u64 = 0x10_0000;
/// Where its process sees it.
pub const USER: u64 = 0x7000_0000;
/// A page of the host's file, then the guest's memory, then another page of the host's file.
pub const PAGE: usize = 4096;
/// Bytes of the guest's memory.
pub const MEMORY: usize = 4 * PAGE;
/// Descriptors of the ring.
pub const RING_SIZE: u32 = 8;
/// Where the parts of the ring are in the guest's memory.
pub const DESCRIPTORS: u64 = 0;
/// The ring of buffers that the guest offers.
pub const AVAILABLE: u64 = 0x100;
/// The ring of buffers that it gets back.
pub const USED: u64 = 0x200;
/// A place for buffers.
pub const BUFFERS: u64 = 0x1000;

/// A file with the guest's memory in its middle, and two mappings: the guest's, and one of the whole file.
pub fn machine() -> (GuestMemory, SharedMemory, OwnedFd) {
    let file = memfd_create("guest", MemfdFlags::CLOEXEC).expect("a memory file");
    ftruncate(&file, (MEMORY + 2 * PAGE) as u64).expect("a size");
    let whole = SharedMemory::map(file.as_fd(), 0, MEMORY + 2 * PAGE).expect("a mapping");
    for at in (0..PAGE).chain(PAGE + MEMORY..MEMORY + 2 * PAGE) {
        whole.write(at, &[0xA5]).expect("in bounds");
    }
    let mut memory = GuestMemory::default();
    memory.add(GUEST, USER, SharedMemory::map(file.as_fd(), PAGE as u64, MEMORY).expect("a mapping"));
    (memory, whole, file)
}

/// The ring, ready.
pub fn ring() -> Ring {
    let mut ring = Ring::default();
    ring.set_size(RING_SIZE).expect("a power of two");
    ring.set_addresses(USER + DESCRIPTORS, USER + USED, USER + AVAILABLE);
    ring.enabled = true;
    ring
}

/// Are the pages in front of and behind the guest's memory as they were?
pub fn is_untouched(whole: &SharedMemory) -> bool {
    let mut page = [0; PAGE];
    [0, PAGE + MEMORY].into_iter().all(|at| {
        whole.read(at, &mut page).expect("in bounds");
        page.iter().all(|&byte| byte == 0xA5)
    })
}

/// Writes into the guest's memory.
pub fn poke(whole: &SharedMemory, at: u64, bytes: &[u8]) {
    whole.write(PAGE + at as usize, bytes).expect("in bounds");
}

/// Writes a descriptor.
pub fn descriptor(whole: &SharedMemory, index: u64, address: u64, len: u32, flags: u16, next: u16) {
    let mut bytes = [0; 16];
    bytes[..8].copy_from_slice(&address.to_le_bytes());
    bytes[8..12].copy_from_slice(&len.to_le_bytes());
    bytes[12..14].copy_from_slice(&flags.to_le_bytes());
    bytes[14..].copy_from_slice(&next.to_le_bytes());
    poke(whole, DESCRIPTORS + 16 * index, &bytes);
}
