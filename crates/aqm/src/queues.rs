//! The queues of a discipline that has many, with the counts over all of them.

use crate::buffer::Buffer;
pub use crate::key_index::Class;
use crate::key_index::KeyIndex;
use alloc::vec::Vec;
use marqueue_core::{ring, Packet, Time};

/// A queue with its policy.
#[derive(Debug)]
pub(crate) struct Queue<A> {
    pub(crate) key: u32,
    pub(crate) packets: Buffer,
    pub(crate) policy: A,
}

/// The queues of a discipline.
#[derive(Debug)]
pub struct Queues<A> {
    all: Vec<Option<Queue<A>>>,
    free: Vec<Class>,
    pub(crate) by_key: KeyIndex,
    /// Queues that hold packets.
    pub(crate) busy: u32,
    pub(crate) len: u32,
    pub(crate) bytes: u64,
}

impl<A> Queues<A> {
    /// No queues. Keys are below `bound`, if there is one.
    pub(crate) fn new(bound: Option<u32>) -> Self {
        Queues { all: Vec::new(), free: Vec::new(), by_key: KeyIndex::new(bound), busy: 0, len: 0, bytes: 0 }
    }

    pub(crate) fn get(&self, class: Class) -> &Queue<A> {
        self.all[class].as_ref().expect("a queue that exists")
    }

    pub(crate) fn iter_mut(&mut self) -> impl Iterator<Item = &mut Queue<A>> {
        self.all.iter_mut().flatten()
    }

    pub(crate) fn get_mut(&mut self, class: Class) -> &mut Queue<A> {
        self.all[class].as_mut().expect("a queue that exists")
    }

    /// Prefetches a queue in three steps, 1 to 3: its ends, its middle, and the ends of its packets.
    pub(crate) fn prefetch(&self, class: Class, step: u32) {
        let Some(place) = self.all.get(class) else { return };
        if step == 1 {
            return ring::prefetch_bounds(place);
        }
        let Some(queue) = place else { return };
        match step {
            2 => {
                ring::prefetch_bounds(&queue.packets);
                ring::prefetch_bounds(&queue.policy);
            }
            _ => queue.packets.prefetch_ends(),
        }
    }

    /// Is this queue empty?
    pub fn is_empty(&self, class: Class) -> bool {
        self.get(class).packets.is_empty()
    }

    /// The first packet of this queue.
    pub fn first(&self, class: Class) -> Option<&Packet> {
        self.get(class).packets.first().map(|(_, packet)| packet)
    }

    /// The queue with the most bytes; of equal ones that with the lowest key.
    pub(crate) fn longest(&self) -> Class {
        let exist = self.all.iter().enumerate().filter_map(|(class, queue)| Some((class, queue.as_ref()?)));
        let longest = exist.max_by_key(|(_, queue)| (queue.packets.bytes(), !queue.key));
        longest.expect("a queue with packets").0
    }

    pub(crate) fn push(&mut self, class: Class, now: Time, packet: Packet) {
        self.busy += u32::from(self.is_empty(class));
        self.len += 1;
        self.bytes += u64::from(packet.bytes());
        self.get_mut(class).packets.push(now, packet);
    }

    pub(crate) fn pop(&mut self, class: Class) -> Option<(Time, Packet)> {
        let popped = self.get_mut(class).packets.pop()?;
        self.popped(class, &popped.1);
        Some(popped)
    }

    pub(crate) fn pop_last(&mut self, class: Class) -> Option<(Time, Packet)> {
        let popped = self.get_mut(class).packets.pop_last()?;
        self.popped(class, &popped.1);
        Some(popped)
    }

    fn popped(&mut self, class: Class, packet: &Packet) {
        self.busy -= u32::from(self.is_empty(class));
        self.len -= 1;
        self.bytes -= u64::from(packet.bytes());
    }

    pub(crate) fn open(&mut self, key: u32, policy: A) -> Class {
        let queue = Some(Queue { key, packets: Buffer::default(), policy });
        let class = match self.free.pop() {
            Some(class) => {
                self.all[class] = queue;
                class
            }
            None => {
                self.all.push(queue);
                self.all.len() - 1
            }
        };
        self.by_key.insert(key, class);
        class
    }

    pub(crate) fn close(&mut self, class: Class) {
        if let Some(queue) = self.all[class].take() {
            self.by_key.remove(queue.key);
            self.free.push(class);
        }
    }
}
