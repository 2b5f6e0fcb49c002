//! A bounded pool of buffers for the bytes of packets that are in the network.

/// Slots that are allocated at a time.
const CHUNK: usize = 64;

/// Slots of equal size, each for one packet.
#[derive(Debug)]
pub struct PacketPool {
    /// Size of a slot, bytes.
    slot_bytes: usize,
    /// Most slots.
    capacity: usize,
    chunks: Vec<Box<[u8]>>,
    /// Length of the packet in each slot, bytes.
    lengths: Vec<u32>,
    free: Vec<u32>,
}

impl PacketPool {
    /// An empty pool for packets of up to `largest` bytes. It takes at most `bytes` of memory, or a chunk of slots if
    /// that is more.
    pub fn new(largest: usize, bytes: usize) -> PacketPool {
        let capacity = (bytes / largest).max(CHUNK) / CHUNK * CHUNK;
        PacketPool { slot_bytes: largest, capacity, chunks: Vec::new(), lengths: Vec::new(), free: Vec::new() }
    }

    /// Takes a free slot. Returns its number and its buffer; `None` if all slots are in use.
    pub fn allocate(&mut self) -> Option<(u32, &mut [u8])> {
        if self.free.is_empty() {
            let slots = self.lengths.len();
            if slots >= self.capacity {
                return None;
            }
            self.chunks.push(vec![0; CHUNK * self.slot_bytes].into_boxed_slice());
            self.lengths.resize(slots + CHUNK, 0);
            self.free.extend((slots as u32..(slots + CHUNK) as u32).rev());
        }
        let slot = self.free.pop()?;
        let at = slot as usize % CHUNK * self.slot_bytes;
        Some((slot, &mut self.chunks[slot as usize / CHUNK][at..at + self.slot_bytes]))
    }

    /// Sets the length of the packet in `slot`.
    pub fn set_length(&mut self, slot: u32, bytes: usize) {
        debug_assert!(bytes <= self.slot_bytes, "the packet fits into its slot");
        self.lengths[slot as usize] = bytes as u32;
    }

    /// The packet in `slot`.
    pub fn packet(&self, slot: u32) -> &[u8] {
        let at = slot as usize % CHUNK * self.slot_bytes;
        &self.chunks[slot as usize / CHUNK][at..at + self.lengths[slot as usize] as usize]
    }

    /// The packet in `slot`, to be changed.
    pub fn packet_mut(&mut self, slot: u32) -> &mut [u8] {
        let at = slot as usize % CHUNK * self.slot_bytes;
        let length = self.lengths[slot as usize] as usize;
        &mut self.chunks[slot as usize / CHUNK][at..at + length]
    }

    /// Frees a slot.
    pub fn free(&mut self, slot: u32) {
        self.free.push(slot);
    }

    /// Number of slots in use.
    pub fn used(&self) -> usize {
        self.lengths.len() - self.free.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slots_keep_their_packets_and_memory_is_bounded() {
        let mut pool = PacketPool::new(100, 1);
        let mut slots = Vec::new();
        while let Some((slot, buffer)) = pool.allocate() {
            buffer[..2].copy_from_slice(&(slot as u16).to_be_bytes());
            pool.set_length(slot, 2);
            slots.push(slot);
        }
        assert_eq!((slots.len(), pool.used()), (CHUNK, CHUNK));
        for &slot in &slots {
            assert_eq!(pool.packet_mut(slot), &(slot as u16).to_be_bytes());
        }
        pool.free(slots[5]);
        assert_eq!(pool.allocate().map(|(slot, _)| slot), Some(slots[5]));
        assert!(pool.allocate().is_none());
    }
}
