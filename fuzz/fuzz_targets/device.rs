//! Messages by which a guest sets up a network device, in any order and with any values, among frames in both directions.
#![no_main]

#[path = "../../crates/uml/tests/common/mod.rs"]
mod common;

use arbitrary::{Result, Unstructured};
use common::{descriptor, is_untouched, machine, poke, AVAILABLE, DESCRIPTORS, GUEST, MEMORY, PAGE, USED, USER};
use libfuzzer_sys::fuzz_target;
use marqueue_fuzz::{magnitude, one_of};
use marqueue_uml::ring::{LONGEST, NET_HEADER};
use marqueue_uml::shared_memory::SharedMemory;
use marqueue_uml::vhost_user::Device;
use rustix::net::{sendmsg, SendAncillaryBuffer, SendAncillaryMessage, SendFlags};
use std::io::{IoSlice, Write};
use std::mem::MaybeUninit;
use std::net::Shutdown;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::net::UnixStream;

/// Messages of the guest: those that it has, and one that there is not.
const NUMBERS: [u32; 16] = [1, 2, 3, 5, 8, 9, 10, 12, 13, 15, 16, 18, 21, 24, 35, 99];
const SET_MEM_TABLE: u32 = 5;
/// Most files beside a message: one more than a device accepts.
const MOST_FILES: usize = 9;
/// Replies, which nobody reads here, have room in the socket.
const LONGEST_REST: usize = 600;

/// The guest's side.
struct Guest {
    socket: UnixStream,
    whole: SharedMemory,
    file: OwnedFd,
    /// Sent in place of a way for interrupts; what is written there nobody reads.
    interrupts: (UnixStream, UnixStream),
}

fn words(words: &[u64]) -> Vec<u8> {
    words.iter().flat_map(|word| word.to_ne_bytes()).collect()
}

impl Guest {
    fn send(&self, number: u32, size: u32, payload: &[u8], files: &[BorrowedFd<'_>]) {
        let header: Vec<u8> = [number, 9, size].iter().flat_map(|word| word.to_ne_bytes()).collect();
        let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(MOST_FILES))];
        let mut control = SendAncillaryBuffer::new(&mut space);
        if !files.is_empty() {
            assert!(control.push(SendAncillaryMessage::ScmRights(files)), "room for all files");
        }
        let parts = [IoSlice::new(&header), IoSlice::new(payload)];
        let sent = sendmsg(&self.socket, &parts, &mut control, SendFlags::NOSIGNAL).expect("sent");
        assert_eq!(sent, header.len() + payload.len());
    }

    /// Sends a message that is complete, and serves it.
    fn say(&self, device: &mut Device, number: u32, payload: &[u8], files: &[BorrowedFd<'_>]) -> bool {
        self.send(number, payload.len() as u32, payload, files);
        device.serve().is_ok()
    }

    /// What a kernel does: its memory, and two rings, which share their parts here.
    fn set_up(&self, device: &mut Device) {
        let region = words(&[1, GUEST, MEMORY as u64, USER, PAGE as u64]);
        assert!(self.say(device, SET_MEM_TABLE, &region, &[self.file.as_fd()]));
        assert!(self.say(device, 21, &[0; 8], &[self.interrupts.0.as_fd()]));
        for ring in 0..2 {
            assert!(self.say(device, 8, &words(&[ring | 8 << 32]), &[]));
            let addresses = [ring, USER + DESCRIPTORS, USER + USED, USER + AVAILABLE, 0];
            assert!(self.say(device, 9, &words(&addresses), &[]));
            assert!(self.say(device, 18, &words(&[ring | 1 << 32]), &[]));
        }
    }

    /// A message with words that mean something somewhere.
    fn any_message(&self, u: &mut Unstructured<'_>, device: &mut Device, number: u32) -> Result<bool> {
        let mut payload = Vec::new();
        for _ in 0..u.int_in_range(0..=6)? {
            let any = [0, 1, 8, 1 << 32, 8 << 32, PAGE as u64, MEMORY as u64, GUEST, USER, u64::MAX];
            let word = if u.ratio(1, 4)? { magnitude(u, u64::MAX)? } else { one_of(u, &any)? };
            payload.extend(word.to_ne_bytes());
        }
        payload.truncate(payload.len().saturating_sub(u.int_in_range(0..=7)?));
        let files = vec![self.file.as_fd(); if u.arbitrary()? { 1 } else { u.int_in_range(0..=MOST_FILES)? }];
        Ok(self.say(device, number, &payload, &files))
    }

    fn offer(&self, u: &mut Unstructured<'_>) -> Result<()> {
        let (index, at) = (u.int_in_range(0..=7)?, GUEST.wrapping_sub(32) + magnitude(u, MEMORY as u64 + 64)?);
        let (len, flags) = (magnitude(u, 200_000)? as u32, u.int_in_range(0..=3)?);
        descriptor(&self.whole, index, at, len, flags, u.int_in_range(0..=8)?);
        poke(&self.whole, AVAILABLE + 4 + 2 * index, &u.int_in_range::<u16>(0..=8)?.to_le_bytes());
        poke(&self.whole, AVAILABLE + 2, &u.int_in_range::<u16>(0..=16)?.to_le_bytes());
        Ok(())
    }
}

fn run(u: &mut Unstructured<'_>) -> Result<()> {
    let (_memory, whole, file) = machine();
    let (socket, ours) = UnixStream::pair().expect("a pair of sockets");
    let guest = Guest { socket, whole, file, interrupts: UnixStream::pair().expect("a pair of sockets") };
    let mut device = Device::new(ours, [2, 0, 0, 0, 0, 0]);
    if u.ratio(3, 4)? {
        guest.set_up(&mut device);
    }
    let mut frame = Vec::new();
    // A device that refuses a message ends the run of its guest.
    let mut refused = false;
    // Another part of the file as its memory: its edges may then be written.
    let mut moved = false;
    for _ in 0..60 {
        if u.is_empty() || refused {
            break;
        }
        refused = match u.int_in_range(0..=6)? {
            0..=1 => {
                guest.offer(u)?;
                false
            }
            2..=3 => {
                let number = one_of(u, &NUMBERS)?;
                moved |= number == SET_MEM_TABLE;
                !guest.any_message(u, &mut device, number)?
            }
            4 => {
                let taken = device.take_frame(&mut frame);
                assert!(frame.len() + NET_HEADER <= LONGEST || taken.is_err(), "a frame too long");
                match taken {
                    // Some buffers are kept, as those of frames that wait for a link are.
                    Ok(Some(buffer)) if u.ratio(1, 2)? => device.give_back(buffer).is_err(),
                    taken => taken.is_err(),
                }
            }
            5 => device.give_frame(&vec![0x5A; magnitude(u, 3000)? as usize]).is_err(),
            _ => device.wants_sent_interrupt().is_err() | device.wants_received_interrupt().is_err(),
        };
    }
    if !refused {
        // Anything at all, in which a message may be whole, and then the guest hangs up.
        let rest = u.bytes(u.len().min(LONGEST_REST))?;
        (&guest.socket).write_all(rest).expect("written");
        guest.socket.shutdown(Shutdown::Write).expect("open");
        while device.serve().is_ok() {}
    }
    assert!(moved || is_untouched(&guest.whole), "written outside the guest's memory");
    Ok(())
}

fuzz_target!(|data: &[u8]| {
    // The sequence ends when the bytes are used up.
    let _ = run(&mut Unstructured::new(data));
});
