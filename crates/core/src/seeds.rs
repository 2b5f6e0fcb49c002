//! Seeds of replications, as numpy's `SeedSequence` derives them: results keep their seeds, and anybody with numpy can
//! compute them.
//!
//! Source: M. E. O'Neill, "Developing a seed_seq alternative" (2015). The words of what is given are hashed into a pool of
//! four, each word of the pool is mixed into every other, and the output is a hash of the pool. The constants are numpy's.

const POOL: usize = 4;

/// The engine's seed of a replication, counted from 0: the first 64-bit word that `SeedSequence([seed, replication])`
/// generates.
pub fn replication_seed(seed: u64, replication: u64) -> u64 {
    let pool = pool(words(seed).into_iter().chain(words(replication)));
    let mut hash = Hash { key: 0x8b51_f9dd, step: 0x58f3_8ded };
    let (low, high) = (hash.of(pool[0]), hash.of(pool[1]));
    u64::from(high) << 32 | u64::from(low)
}

/// The 32-bit words of a number, the lowest first, without zeros at its end: one or two.
fn words(number: u64) -> impl IntoIterator<Item = u32> {
    let high = (number >> 32) as u32;
    core::iter::once(number as u32).chain((high > 0).then_some(high))
}

/// The pool of at most four words.
fn pool(mut given: impl Iterator<Item = u32>) -> [u32; POOL] {
    let mut hash = Hash { key: 0x43b0_d7e5, step: 0x931e_8875 };
    let mut pool = [0; POOL].map(|none| hash.of(given.next().unwrap_or(none)));
    for from in 0..POOL {
        for to in (0..POOL).filter(|&to| to != from) {
            pool[to] = mixed(pool[to], hash.of(pool[from]));
        }
    }
    pool
}

/// A hash of words whose key changes with each.
struct Hash {
    key: u32,
    step: u32,
}

impl Hash {
    fn of(&mut self, word: u32) -> u32 {
        let keyed = word ^ self.key;
        self.key = self.key.wrapping_mul(self.step);
        shifted(keyed.wrapping_mul(self.key))
    }
}

fn mixed(into: u32, from: u32) -> u32 {
    shifted(into.wrapping_mul(0xca01_f9dd).wrapping_sub(from.wrapping_mul(0x4973_f715)))
}

fn shifted(word: u32) -> u32 {
    word ^ word >> 16
}
