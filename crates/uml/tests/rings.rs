//! Rings of a guest with arbitrary contents: nothing outside its memory is read or written, and no walk is endless.

mod common;

use common::{descriptor, is_untouched, machine, poke, ring, AVAILABLE, BUFFERS, GUEST, MEMORY, PAGE, USED, USER};
use marqueue_uml::ring::{RingError, LONGEST, NET_HEADER};
use marqueue_uml::shared_memory::{OutOfBounds, SharedMemory};
use proptest::prelude::*;
use rustix::fs::{ftruncate, memfd_create, MemfdFlags};
use std::os::fd::AsFd;

/// Offers the chains that begin at these descriptors.
fn offer(whole: &SharedMemory, heads: &[u16]) {
    for (i, head) in heads.iter().enumerate() {
        poke(whole, AVAILABLE + 4 + 2 * i as u64, &head.to_le_bytes());
    }
    poke(whole, AVAILABLE + 2, &(heads.len() as u16).to_le_bytes());
}

#[test]
fn a_frame_in_two_parts_is_taken_whole_and_its_buffer_given_back() {
    let (memory, whole, _file) = machine();
    let mut ring = ring();
    poke(&whole, BUFFERS, &[0; NET_HEADER]);
    poke(&whole, BUFFERS + 0x100, b"frame");
    descriptor(&whole, 3, GUEST + BUFFERS, NET_HEADER as u32, 1, 5);
    descriptor(&whole, 5, GUEST + BUFFERS + 0x100, 5, 0, 0);
    offer(&whole, &[3]);
    let mut frame = Vec::new();
    assert_eq!(ring.take_frame(&memory, &mut frame), Ok(Some(3)));
    assert_eq!(frame, b"frame");
    ring.give_back(&memory, 3, 0).expect("in bounds");
    assert_eq!(ring.take_frame(&memory, &mut frame), Ok(None));
    let mut used = [0; 12];
    whole.read(PAGE + USED as usize, &mut used).expect("in bounds");
    assert_eq!(used, [0, 0, 1, 0, 3, 0, 0, 0, 0, 0, 0, 0]);
}

#[test]
fn a_frame_is_given_with_its_header_and_never_without_a_buffer() {
    let (memory, whole, _file) = machine();
    let mut ring = ring();
    assert_eq!(ring.give_frame(&memory, b"hello"), Ok(false));
    descriptor(&whole, 0, GUEST + BUFFERS, 64, 2, 0);
    offer(&whole, &[0]);
    assert_eq!(ring.give_frame(&memory, b"hello"), Ok(true));
    let mut got = [0; 17];
    whole.read(PAGE + BUFFERS as usize, &mut got).expect("in bounds");
    assert_eq!(got, *b"\0\0\0\0\0\0\0\0\0\0\x01\0hello");
    assert_eq!(ring.give_frame(&memory, b"hello"), Ok(false));
}

#[test]
fn a_hostile_ring_is_refused_with_what_is_wrong() {
    let refused = |prepare: &dyn Fn(&SharedMemory)| {
        let (memory, whole, _file) = machine();
        prepare(&whole);
        ring().take_frame(&memory, &mut Vec::new()).expect_err("refused")
    };
    let one = |address, len, flags, next| {
        refused(&|whole| {
            descriptor(whole, 0, address, len, flags, next);
            offer(whole, &[0]);
        })
    };
    assert_eq!(one(GUEST - 1, 64, 0, 0), RingError::Address);
    assert_eq!(one(GUEST + MEMORY as u64 - 63, 64, 0, 0), RingError::Address);
    assert_eq!(one(u64::MAX - 3, 64, 0, 0), RingError::Address);
    assert_eq!(one(GUEST, LONGEST as u32 + 1, 0, 0), RingError::Length(LONGEST + 1));
    assert_eq!(one(GUEST, u32::MAX, 0, 0), RingError::Length(u32::MAX as usize));
    assert_eq!(one(GUEST, 4, 0, 0), RingError::Length(4));
    assert_eq!(one(GUEST, 64, 2, 0), RingError::Flags(2));
    assert_eq!(one(GUEST, 64, 4, 0), RingError::Flags(4));
    assert_eq!(one(GUEST, 16, 1, 0), RingError::Loop);
    assert_eq!(one(GUEST, 16, 1, 8), RingError::Descriptor(8));
    assert_eq!(refused(&|whole| offer(whole, &[9])), RingError::Descriptor(9));
    let too_many = |whole: &SharedMemory| poke(whole, AVAILABLE + 2, &9u16.to_le_bytes());
    assert_eq!(refused(&too_many), RingError::Available(9));
}

#[test]
fn a_mapping_ends_where_its_file_ends() {
    let file = memfd_create("guest", MemfdFlags::CLOEXEC).expect("a memory file");
    ftruncate(&file, PAGE as u64).expect("a size");
    for (offset, len) in [(0, PAGE + 1), (PAGE as u64, 1), (u64::MAX, 1), (0, 0)] {
        SharedMemory::map(file.as_fd(), offset, len).expect_err("refused");
    }
    let page = SharedMemory::map(file.as_fd(), 0, PAGE).expect("a mapping");
    assert_eq!(page.load_u64(PAGE - 8), Ok(0));
    assert_eq!(page.load_u64(PAGE - 7), Err(OutOfBounds));
    assert_eq!(page.load_u16(1), Err(OutOfBounds));
    assert_eq!(page.read(usize::MAX, &mut [0]), Err(OutOfBounds));
    assert_eq!(page.write(PAGE, &[0]), Err(OutOfBounds));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(512))]

    /// Whatever is in the guest's memory and wherever it says that its ring is.
    #[test]
    fn nothing_outside_the_guest_is_touched(
        contents in prop::collection::vec(any::<u8>(), 0x400),
        near in any::<bool>(),
        addresses in prop::array::uniform3(any::<u64>()),
        lengths in prop::collection::vec(0u32..200_000, 8),
        frame_len in 0usize..3000,
    ) {
        let (memory, whole, _file) = machine();
        poke(&whole, 0, &contents);
        let mut ring = ring();
        if near {
            // Descriptors whose addresses are near the edges of the memory.
            for (i, len) in lengths.iter().enumerate() {
                let at = (addresses[i % 3] >> i) % (MEMORY as u64 + 64);
                descriptor(&whole, i as u64, GUEST + at - 32, *len, contents[i].into(), u16::from(contents[i + 8]) % 9);
            }
            poke(&whole, AVAILABLE + 2, &[contents[20] % 10, 0]);
        } else {
            let [a, b, c] = addresses.map(|address| USER.wrapping_add(address % (2 * MEMORY as u64)) - PAGE as u64);
            ring.set_addresses(a, b, c);
        }
        let mut frame = Vec::new();
        for _ in 0..20 {
            match ring.take_frame(&memory, &mut frame) {
                Ok(Some(head)) => {
                    prop_assert!(frame.len() <= LONGEST);
                    let _ = ring.give_back(&memory, head, 0);
                }
                Ok(None) | Err(_) => break,
            }
        }
        for _ in 0..20 {
            if !matches!(ring.give_frame(&memory, &vec![7; frame_len]), Ok(true)) {
                break;
            }
        }
        let _ = ring.wants_call(&memory);
        prop_assert!(is_untouched(&whole));
    }
}
