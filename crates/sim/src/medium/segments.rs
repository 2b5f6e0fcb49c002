//! Packets as a string of bytes: what media do that grant bytes and not packets.

use super::Backlog;
use marqueue_core::Packet;

/// The packet at the head of a sender, of which a part has been sent.
#[derive(Debug)]
struct Head {
    packet: Packet,
    /// Bytes that have not been sent, with those of the headers.
    left: u64,
}

/// A sender that may divide packets. Each packet has `overhead` bytes of headers beside its own.
#[derive(Debug)]
pub(super) struct Segments {
    overhead: u64,
    head: Option<Head>,
}

/// What a sender has put into an opportunity.
#[derive(Debug)]
pub(super) struct Segment {
    /// Number of bytes.
    pub bytes: u64,
    /// The packet whose last byte is among them.
    pub complete: Option<Packet>,
}

impl Segments {
    /// A sender without packets.
    pub fn new(overhead: u64) -> Segments {
        Segments { overhead, head: None }
    }

    /// Bytes that wait: of the queue and of the packet that is partly sent.
    pub fn waiting(&self, queue: &impl Backlog) -> u64 {
        queue.bytes() + self.overhead * queue.packets() + self.head.as_ref().map_or(0, |head| head.left)
    }

    /// Takes at most `room` bytes, at least one, of one packet. `None` if the queue gives no packet.
    pub fn take(&mut self, room: u64, queue: &mut impl Backlog) -> Option<Segment> {
        let mut head = match self.head.take() {
            Some(head) => head,
            None => {
                let packet = queue.take()?;
                Head { left: u64::from(packet.bytes()) + self.overhead, packet }
            }
        };
        let bytes = head.left.min(room);
        head.left -= bytes;
        if head.left == 0 {
            return Some(Segment { bytes, complete: Some(head.packet) });
        }
        self.head = Some(head);
        Some(Segment { bytes, complete: None })
    }

    /// Number of packets that are partly sent.
    pub fn held(&self) -> usize {
        usize::from(self.head.is_some())
    }

    /// Of the bytes that a packet of `bytes` takes, the share that are its own.
    pub fn efficiency(&self, bytes: u64) -> f64 {
        bytes as f64 / (bytes + self.overhead) as f64
    }
}
