//! A ring in a guest's memory that the guest writes as it likes, between any two uses of the ring.
#![no_main]

#[path = "../../crates/uml/tests/common/mod.rs"]
mod common;

use arbitrary::{Result, Unstructured};
use common::{descriptor, is_untouched, machine, poke, AVAILABLE, DESCRIPTORS, GUEST, MEMORY, PAGE, USER};
use libfuzzer_sys::fuzz_target;
use marqueue_fuzz::{magnitude, one_of};
use marqueue_uml::ring::{GuestMemory, Ring, LONGEST, NET_HEADER};
use marqueue_uml::shared_memory::SharedMemory;

/// Longest frame that is given to the guest: the largest of IP, with its Ethernet header.
const LONGEST_GIVEN: usize = 65_549;

/// The machine, and what it takes to read the ring a second time.
struct Machine {
    memory: GuestMemory,
    /// The guest's memory with the pages around it.
    whole: SharedMemory,
    ring: Ring,
    size: u32,
    /// Address of the descriptors in the guest's process.
    descriptors: u64,
}

/// What the guest's memory contains.
fn contents(whole: &SharedMemory) -> Vec<u8> {
    let mut bytes = vec![0; MEMORY];
    whole.read(PAGE, &mut bytes).expect("within the file");
    bytes
}

/// `n` bytes at an address, in the memory that begins at `base`.
fn slice(contents: &[u8], base: u64, address: u64, n: usize) -> Option<&[u8]> {
    let from = usize::try_from(address.checked_sub(base)?).ok()?;
    contents.get(from..from.checked_add(n)?)
}

/// The chain from `head` on, with its header, as section 2.7.5 of Virtual I/O Device 1.2 has it.
fn chain(machine: &Machine, contents: &[u8], head: u16) -> Option<Vec<u8>> {
    let (mut bytes, mut index) = (Vec::new(), u64::from(head));
    for _ in 0..machine.size {
        let entry = slice(contents, USER, machine.descriptors.checked_add(16 * index)?, 16)?;
        let number = |from: usize, n: usize| entry[from..from + n].iter().rev().fold(0, |a, &b| a << 8 | u64::from(b));
        bytes.extend(slice(contents, GUEST, number(0, 8), number(8, 4) as usize)?);
        if number(12, 2) & 1 == 0 {
            return Some(bytes);
        }
        index = number(14, 2);
    }
    None
}

/// An address in the memory that begins at `base`, near one of its edges, or any at all.
fn address(u: &mut Unstructured<'_>, base: u64) -> Result<u64> {
    let end = base + MEMORY as u64;
    Ok(match u.int_in_range(0..=7)? {
        0..=4 => base + u.int_in_range(0..=MEMORY as u64)?,
        5 => base.wrapping_sub(magnitude(u, 32)?),
        6 => end.wrapping_sub(magnitude(u, 70_000)?),
        _ => u.arbitrary()?,
    })
}

fn part(u: &mut Unstructured<'_>, machine: &Machine) -> Result<()> {
    let (index, to) = (u.int_in_range(0..=8)?, address(u, GUEST)?);
    let len = magnitude(u, u32::MAX.into())? as u32;
    let flags = if u.ratio(1, 16)? { u.arbitrary()? } else { u.int_in_range(0..=3)? };
    descriptor(&machine.whole, index, to, len, flags, u.int_in_range(0..=9)?);
    Ok(())
}

/// Offers one buffer near the end of the memory, and uses it.
fn use_edge(u: &mut Unstructured<'_>, machine: &mut Machine, frame: &mut Vec<u8>) -> Result<bool> {
    let (given, at) = (u.arbitrary()?, GUEST + MEMORY as u64 - magnitude(u, 128)?);
    let len = u.int_in_range(NET_HEADER as u32..=256)?;
    descriptor(&machine.whole, 0, at, len, if given { 2 } else { 0 }, 0);
    poke(&machine.whole, AVAILABLE, &[0, 0, 1, 0, 0, 0]);
    machine.ring.set_base(0);
    if given {
        return Ok(machine.ring.give_frame(&machine.memory, &vec![0x5A; magnitude(u, 128)? as usize]).is_ok());
    }
    Ok(take(machine, frame))
}

fn take(machine: &mut Machine, frame: &mut Vec<u8>) -> bool {
    let before = contents(&machine.whole);
    let taken = machine.ring.take_frame(&machine.memory, frame);
    assert!(before == contents(&machine.whole), "taking a frame writes");
    let Ok(Some(head)) = taken else { return taken.is_ok() };
    assert!(u32::from(head) < machine.size && frame.len() + NET_HEADER <= LONGEST, "a frame too long");
    let expected = chain(machine, &before, head).expect("a frame from outside the guest's memory");
    assert!(expected[NET_HEADER..] == frame[..], "a frame other than the guest's");
    machine.ring.give_back(&machine.memory, head, 0).is_ok()
}

/// One thing that the guest or the device does. Returns whether the ring was not refused.
fn apply(u: &mut Unstructured<'_>, machine: &mut Machine, frame: &mut Vec<u8>) -> Result<bool> {
    match u.int_in_range(0..=12)? {
        0..=2 => part(u, machine)?,
        3 => {
            let (at, bytes) = (u.int_in_range(0..=MEMORY - 8)?, u.arbitrary::<[u8; 8]>()?);
            poke(&machine.whole, at as u64, &bytes);
        }
        4..=5 => {
            let (entry, head) = (u.int_in_range(0..=7)?, u.int_in_range::<u16>(0..=8)?);
            poke(&machine.whole, AVAILABLE + 4 + 2 * entry, &head.to_le_bytes());
            poke(&machine.whole, AVAILABLE + 2, &u.int_in_range::<u16>(0..=16)?.to_le_bytes());
        }
        6..=7 => return Ok(take(machine, frame)),
        8 => {
            let given = vec![0x5A; magnitude(u, LONGEST_GIVEN as u64)? as usize];
            return Ok(machine.ring.give_frame(&machine.memory, &given).is_ok());
        }
        9 => return Ok(machine.ring.wants_call(&machine.memory).is_ok()),
        10 => {
            let size = one_of(u, &[0, 1, 2, 3, 8, 16, 256, 32_768, 65_536, u32::MAX])?;
            if machine.ring.set_size(size).is_ok() {
                machine.size = size;
            }
        }
        11 => return use_edge(u, machine, frame),
        _ => {
            machine.descriptors = address(u, USER)?;
            machine.ring.set_addresses(machine.descriptors, address(u, USER)?, address(u, USER)?);
            machine.ring.set_base(u.arbitrary()?);
        }
    }
    Ok(true)
}

fn run(u: &mut Unstructured<'_>) -> Result<()> {
    let (memory, whole, _file) = machine();
    let ring = common::ring();
    let mut machine = Machine { memory, whole, ring, size: common::RING_SIZE, descriptors: USER + DESCRIPTORS };
    let mut frame = Vec::new();
    let mut steps = 0;
    while !u.is_empty() && steps < 200 {
        // A ring that is refused ends a run; whatever is done with it after that stays within its memory, too.
        apply(u, &mut machine, &mut frame)?;
        steps += 1;
    }
    assert!(is_untouched(&machine.whole), "written outside the guest's memory");
    Ok(())
}

fuzz_target!(|data: &[u8]| {
    // The sequence ends when the bytes are used up.
    let _ = run(&mut Unstructured::new(data));
});
