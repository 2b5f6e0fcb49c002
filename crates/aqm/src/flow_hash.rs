//! Hashes flows to a fixed number of queues.

use marqueue_core::Rng;

/// A salted hash: which flows collide differs from run to run.
#[derive(Debug)]
pub struct FlowHash {
    salt: u64,
    count: u32,
}

impl FlowHash {
    /// `count` buckets, at least one.
    pub fn new(count: u32, rng: &mut Rng) -> FlowHash {
        FlowHash { salt: rng.bits(), count }
    }

    /// The number of buckets.
    pub fn count(&self) -> u32 {
        self.count
    }

    /// The bucket of a flow.
    #[inline]
    pub fn bucket(&self, flow: u32) -> u32 {
        (((self.bits(flow) >> 32) * u64::from(self.count)) >> 32) as u32
    }

    /// The hash of a flow.
    #[inline]
    pub fn bits(&self, flow: u32) -> u64 {
        // The finalizer of SplitMix64 (Steele, Lea and Flood 2014).
        let mut x = self.salt ^ u64::from(flow);
        x = (x ^ (x >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        x = (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        x ^ (x >> 31)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn flows_spread_evenly() {
        let hash = FlowHash::new(10, &mut Rng::named(1, "hash"));
        let mut counts = [0u32; 10];
        (0..100_000).for_each(|flow| counts[hash.bucket(flow) as usize] += 1);
        // Chi-square with 9 degrees of freedom: 0.1% point 27.88.
        let chi: f64 = counts.iter().map(|&c| (f64::from(c) - 1e4).powi(2) / 1e4).sum();
        assert!(chi < 27.88, "{chi}");
    }
}
