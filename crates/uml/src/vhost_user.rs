//! One network device of a guest, as a vhost-user backend (qemu, docs/interop/vhost-user.rst): the messages by which a
//! guest sets it up, its two rings, and interrupts.
//!
//! Offered are VIRTIO_F_VERSION_1 and a MAC address, neither checksums nor segmentation, so that frames are those of a
//! wire. Kicks and interrupts are messages with replies (in-band notifications), so that they happen at a point of time.

use crate::error::Fault;
use crate::ring::{GuestMemory, Ring, RingError};
use crate::shared_memory::SharedMemory;
use rustix::net::{RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags};
use std::io::{IoSliceMut, Read, Write};
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::net::UnixStream;

/// Requests of the guest.
const GET_FEATURES: u32 = 1;
const SET_FEATURES: u32 = 2;
const SET_OWNER: u32 = 3;
const SET_MEM_TABLE: u32 = 5;
const SET_VRING_NUM: u32 = 8;
const SET_VRING_ADDR: u32 = 9;
const SET_VRING_BASE: u32 = 10;
const SET_VRING_KICK: u32 = 12;
const SET_VRING_CALL: u32 = 13;
const GET_PROTOCOL_FEATURES: u32 = 15;
const SET_PROTOCOL_FEATURES: u32 = 16;
const SET_VRING_ENABLE: u32 = 18;
const SET_BACKEND_REQ_FD: u32 = 21;
const GET_CONFIG: u32 = 24;
const VRING_KICK: u32 = 35;
/// Request of the backend.
const BACKEND_VRING_CALL: u32 = 4;

/// Flags of a message: the version, a reply, a reply is wanted.
const VERSION: u32 = 1;
const REPLY: u32 = 4;
const NEED_REPLY: u32 = 8;

/// VIRTIO_F_VERSION_1, VHOST_USER_F_PROTOCOL_FEATURES, VIRTIO_NET_F_MAC.
const FEATURES: u64 = 1 << 32 | 1 << 30 | 1 << 5;
/// REPLY_ACK, BACKEND_REQ, CONFIG, INBAND_NOTIFICATIONS.
const PROTOCOL_FEATURES: u64 = 1 << 3 | 1 << 5 | 1 << 9 | 1 << 14;

const HEADER: usize = 12;
/// Longest payload that is accepted: that of eight regions of memory is 264 bytes.
const LONGEST_PAYLOAD: usize = 512;
const MOST_REGIONS: usize = 8;
/// Size of the configuration space of a network device, of which only the address is filled.
const CONFIG: usize = 64;

/// The ring on which the guest receives, and that on which it sends.
const RECEIVE: usize = 0;
const SEND: usize = 1;

/// What a message of the guest asked for beyond its reply.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Served {
    /// Nothing.
    SetUp,
    /// Frames may wait on the ring on which it sends; [`Device::reply_to_kick`] is due after they are taken.
    Kick {
        /// Whether it waits for a reply.
        wants_reply: bool,
    },
}

/// The buffer of a frame that was taken from a guest.
#[derive(Debug)]
#[must_use]
pub struct Taken(u16);

/// A network device.
#[derive(Debug)]
pub struct Device {
    messages: UnixStream,
    /// For interrupts, once the guest has given it.
    interrupts: Option<UnixStream>,
    mac: [u8; 6],
    memory: GuestMemory,
    rings: [Ring; 2],
    /// Buffers of frames that were taken and not given back.
    taken: u16,
}

/// A message of the guest.
struct Request {
    number: u32,
    flags: u32,
    payload: Vec<u8>,
    files: Vec<OwnedFd>,
}

impl Request {
    fn u32_at(&self, at: usize) -> Result<u32, Fault> {
        let bytes = self.payload.get(at..at + 4).and_then(|b| b.try_into().ok());
        bytes.map(u32::from_ne_bytes).ok_or_else(|| self.too_short())
    }

    fn u64_at(&self, at: usize) -> Result<u64, Fault> {
        let bytes = self.payload.get(at..at + 8).and_then(|b| b.try_into().ok());
        bytes.map(u64::from_ne_bytes).ok_or_else(|| self.too_short())
    }

    fn too_short(&self) -> Fault {
        Fault(format!("message {} of its network device is too short", self.number))
    }
}

impl Device {
    /// A device whose guest has connected.
    pub fn new(messages: UnixStream, mac: [u8; 6]) -> Device {
        Device { messages, interrupts: None, mac, memory: GuestMemory::default(), rings: Default::default(), taken: 0 }
    }

    /// Where messages arrive.
    pub fn messages(&self) -> &UnixStream {
        &self.messages
    }

    /// Where replies to interrupts arrive.
    pub fn interrupts(&self) -> Option<&UnixStream> {
        self.interrupts.as_ref()
    }

    /// Reads and answers one message.
    pub fn serve(&mut self) -> Result<Served, Fault> {
        let request = self.receive()?;
        let wants_reply = request.flags & NEED_REPLY != 0;
        match request.number {
            GET_FEATURES => return self.reply(request.number, FEATURES),
            GET_PROTOCOL_FEATURES => return self.reply(request.number, PROTOCOL_FEATURES),
            GET_CONFIG => return self.reply_config(&request),
            VRING_KICK if request.u32_at(0)? == SEND as u32 => return Ok(Served::Kick { wants_reply }),
            VRING_KICK | SET_FEATURES | SET_PROTOCOL_FEATURES | SET_OWNER | SET_VRING_KICK | SET_VRING_CALL => {}
            SET_MEM_TABLE => self.set_memory(&request)?,
            SET_VRING_NUM => {
                let size = request.u32_at(4)?;
                if let Some(ring) = self.ring(&request)? {
                    ring.set_size(size)?;
                }
            }
            SET_VRING_ADDR => {
                let (descriptors, used, available) = (request.u64_at(8)?, request.u64_at(16)?, request.u64_at(24)?);
                if let Some(ring) = self.ring(&request)? {
                    ring.set_addresses(descriptors, used, available);
                }
            }
            SET_VRING_BASE => {
                let base = request.u32_at(4)?;
                if let Some(ring) = self.ring(&request)? {
                    ring.set_base(base);
                }
            }
            SET_VRING_ENABLE => {
                let enabled = request.u32_at(4)? != 0;
                if let Some(ring) = self.ring(&request)? {
                    ring.enabled = enabled;
                }
            }
            SET_BACKEND_REQ_FD => {
                let Some(file) = request.files.into_iter().next() else {
                    return Err(Fault("its network device gives no way for interrupts".into()));
                };
                self.interrupts = Some(file.into());
            }
            other => return Err(Fault(format!("its network device sends message {other}, which is not known"))),
        }
        if wants_reply {
            self.reply(request.number, 0)?;
        }
        Ok(Served::SetUp)
    }

    /// Answers a kick.
    pub fn reply_to_kick(&mut self) -> Result<(), Fault> {
        self.reply(VRING_KICK, 0).map(|_| ())
    }

    /// The ring that a message is for. A third one, for control, is not used.
    fn ring(&mut self, request: &Request) -> Result<Option<&mut Ring>, Fault> {
        Ok(self.rings.get_mut(request.u32_at(0)? as usize))
    }

    fn set_memory(&mut self, request: &Request) -> Result<(), Fault> {
        let count = request.u32_at(0)? as usize;
        if count > MOST_REGIONS || request.files.len() != count {
            return Err(Fault(format!("its network device has {count} regions of memory")));
        }
        let mut memory = GuestMemory::default();
        for (i, file) in request.files.iter().enumerate() {
            let at = 8 + 32 * i;
            let (guest, size) = (request.u64_at(at)?, request.u64_at(at + 8)?);
            let (user, offset) = (request.u64_at(at + 16)?, request.u64_at(at + 24)?);
            let size = usize::try_from(size).map_err(|_| Fault("its memory is too large".into()))?;
            memory.add(guest, user, SharedMemory::map(file.as_fd(), offset, size)?);
        }
        self.memory = memory;
        Ok(())
    }

    fn receive(&mut self) -> Result<Request, Fault> {
        let mut header = [0; HEADER];
        let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(MOST_REGIONS))];
        let mut control = RecvAncillaryBuffer::new(&mut space);
        let flags = RecvFlags::WAITALL | RecvFlags::CMSG_CLOEXEC;
        let mut parts = [IoSliceMut::new(&mut header)];
        let got = rustix::net::recvmsg(&self.messages, &mut parts, &mut control, flags)?;
        if got.bytes == 0 {
            return Err(Fault("it has ended".into()));
        }
        if got.bytes < HEADER {
            return Err(Fault("its network device sends a part of a message".into()));
        }
        let mut files = Vec::new();
        for message in control.drain() {
            if let RecvAncillaryMessage::ScmRights(given) = message {
                files.extend(given);
            }
        }
        let word = |i: usize| u32::from_ne_bytes([header[i], header[i + 1], header[i + 2], header[i + 3]]);
        let (number, flags, size) = (word(0), word(4), word(8) as usize);
        if size > LONGEST_PAYLOAD {
            return Err(Fault(format!("its network device sends a message of {size} bytes")));
        }
        let mut payload = vec![0; size];
        self.messages.read_exact(&mut payload)?;
        Ok(Request { number, flags, payload, files })
    }

    fn reply(&mut self, number: u32, value: u64) -> Result<Served, Fault> {
        self.messages.write_all(&message(number, VERSION | REPLY, &value.to_ne_bytes()))?;
        Ok(Served::SetUp)
    }

    /// Answers a read of the configuration space: offset, size, flags, bytes.
    fn reply_config(&mut self, request: &Request) -> Result<Served, Fault> {
        let (offset, size) = (request.u32_at(0)? as usize, request.u32_at(4)? as usize);
        let mut config = [0; CONFIG];
        config[..6].copy_from_slice(&self.mac);
        let asked = offset.checked_add(size).and_then(|end| config.get(offset..end));
        let Some(asked) = asked.filter(|_| request.payload.len() >= 12 + size) else {
            return Err(Fault(format!("its network device reads {size} bytes of its settings at {offset}")));
        };
        let mut payload = request.payload.clone();
        payload[12..12 + size].copy_from_slice(asked);
        self.messages.write_all(&message(GET_CONFIG, VERSION | REPLY, &payload))?;
        Ok(Served::SetUp)
    }

    /// Takes the next frame that the guest sends. Its buffer is due by [`Device::give_back`]. `None` if there is none.
    pub fn take_frame(&mut self, frame: &mut Vec<u8>) -> Result<Option<Taken>, Fault> {
        let ring = &mut self.rings[SEND];
        if !ring.is_ready() {
            return Ok(None);
        }
        let Some(head) = ring.take_frame(&self.memory, frame)? else { return Ok(None) };
        self.taken += 1;
        // A guest that offers a buffer again before it has got it back would do so without end.
        if self.taken > ring.size() {
            return Err(RingError::Available(self.taken).into());
        }
        Ok(Some(Taken(head)))
    }

    /// Gives the buffer of a frame back.
    pub fn give_back(&mut self, Taken(head): Taken) -> Result<(), Fault> {
        self.taken -= 1;
        Ok(self.rings[SEND].give_back(&self.memory, head, 0)?)
    }

    /// Does the guest want to know that frames have left?
    pub fn wants_sent_interrupt(&self) -> Result<bool, Fault> {
        Ok(self.rings[SEND].wants_call(&self.memory)?)
    }

    /// Gives a frame to the guest. Returns false if it has no place for it.
    pub fn give_frame(&mut self, frame: &[u8]) -> Result<bool, Fault> {
        let ring = &mut self.rings[RECEIVE];
        Ok(ring.is_ready() && ring.give_frame(&self.memory, frame)?)
    }

    /// Does the guest want to know that frames have arrived?
    pub fn wants_received_interrupt(&self) -> Result<bool, Fault> {
        Ok(self.rings[RECEIVE].wants_call(&self.memory)?)
    }

    /// Interrupts the guest for one of its rings. The reply is due on [`Device::interrupts`].
    pub fn interrupt(&mut self, sent: bool) -> Result<(), Fault> {
        let Some(to) = &mut self.interrupts else {
            return Err(Fault("its network device gives no way for interrupts".into()));
        };
        let mut state = [0; 8];
        state[0] = if sent { SEND as u8 } else { RECEIVE as u8 };
        Ok(to.write_all(&message(BACKEND_VRING_CALL, VERSION | NEED_REPLY, &state))?)
    }

    /// Reads the reply to an interrupt.
    pub fn finish_interrupt(&mut self) -> Result<(), Fault> {
        let Some(from) = &mut self.interrupts else { return Ok(()) };
        let mut reply = [0; HEADER + 8];
        from.read_exact(&mut reply)?;
        match reply[HEADER..].iter().all(|&b| b == 0) {
            true => Ok(()),
            false => Err(Fault("its network device refuses an interrupt".into())),
        }
    }
}

fn message(number: u32, flags: u32, payload: &[u8]) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(HEADER + payload.len());
    bytes.extend(number.to_ne_bytes());
    bytes.extend(flags.to_ne_bytes());
    bytes.extend((payload.len() as u32).to_ne_bytes());
    bytes.extend(payload);
    bytes
}
