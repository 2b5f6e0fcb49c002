//! Where packets stand while they are on their way: slots of one size, of which there are only so many.

/// Slots that are made at a time.
const CHUNK: usize = 64;

/// A pool of packets.
#[derive(Debug)]
pub struct Pool {
    /// The largest packet, bytes.
    slot: usize,
    most: usize,
    chunks: Vec<Box<[u8]>>,
    lengths: Vec<u32>,
    free: Vec<u32>,
}

impl Pool {
    /// An empty pool of packets of up to `largest` bytes each, which never takes more than `bytes`, but
    /// has room for some packets.
    pub fn new(largest: usize, bytes: usize) -> Pool {
        let most = (bytes / largest).max(CHUNK) / CHUNK * CHUNK;
        Pool { slot: largest, most, chunks: Vec::new(), lengths: Vec::new(), free: Vec::new() }
    }

    /// A slot, and room for a packet to be written there; none if all are taken.
    pub fn take(&mut self) -> Option<(u32, &mut [u8])> {
        if self.free.is_empty() {
            let made = self.lengths.len();
            if made >= self.most {
                return None;
            }
            self.chunks.push(vec![0; CHUNK * self.slot].into_boxed_slice());
            self.lengths.resize(made + CHUNK, 0);
            self.free.extend((made as u32..(made + CHUNK) as u32).rev());
        }
        let slot = self.free.pop()?;
        let at = slot as usize % CHUNK * self.slot;
        Some((slot, &mut self.chunks[slot as usize / CHUNK][at..at + self.slot]))
    }

    /// Says how long the packet in `slot` is.
    pub fn set_length(&mut self, slot: u32, bytes: usize) {
        debug_assert!(bytes <= self.slot, "it was written into the slot");
        self.lengths[slot as usize] = bytes as u32;
    }

    /// The packet in `slot`.
    pub fn packet(&mut self, slot: u32) -> &mut [u8] {
        let at = slot as usize % CHUNK * self.slot;
        let length = self.lengths[slot as usize] as usize;
        &mut self.chunks[slot as usize / CHUNK][at..at + length]
    }

    /// Gives a slot back.
    pub fn give(&mut self, slot: u32) {
        self.free.push(slot);
    }

    /// How many packets are in it.
    pub fn taken(&self) -> usize {
        self.lengths.len() - self.free.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn packets_stay_what_they_are_and_memory_is_bounded() {
        let mut pool = Pool::new(100, 1);
        let mut slots = Vec::new();
        while let Some((slot, room)) = pool.take() {
            room[..2].copy_from_slice(&(slot as u16).to_be_bytes());
            pool.set_length(slot, 2);
            slots.push(slot);
        }
        assert_eq!((slots.len(), pool.taken()), (CHUNK, CHUNK));
        for &slot in &slots {
            assert_eq!(pool.packet(slot), &(slot as u16).to_be_bytes());
        }
        pool.give(slots[5]);
        assert_eq!(pool.take().map(|(slot, _)| slot), Some(slots[5]));
        assert!(pool.take().is_none());
    }
}
