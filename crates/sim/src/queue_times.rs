//! How long a queue had which length, in memory that is bounded whatever the length.

use prefetch_index::prefetch_index;
use std::fmt;

/// Time by the number of packets in a queue. Lengths below 65,536 are told apart. Longer ones are in bins whose width is
/// at most a 32,768th of the length, so a queue of 10^8 packets takes 3.5 MB instead of 800.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct QueueTimes {
    /// ns, by bin.
    ns: Vec<u64>,
}

/// Lengths with fewer bits have a bin each, and so many bins are added by each further bit, halved.
const EXACT_BITS: u32 = 16;

/// The bin of a length.
#[inline]
fn bin(len: u32) -> usize {
    if len < 1 << EXACT_BITS {
        return len as usize;
    }
    let dropped = u32::BITS - EXACT_BITS - len.leading_zeros();
    ((dropped as usize) << (EXACT_BITS - 1)) + (len >> dropped) as usize
}

/// The length in the middle of a bin.
fn middle(bin: usize) -> u32 {
    let dropped = (bin >> (EXACT_BITS - 1)).saturating_sub(1) as u32;
    let lowest = (bin - ((dropped as usize) << (EXACT_BITS - 1))) as u32;
    (lowest << dropped) + ((1 << dropped) - 1) / 2
}

impl QueueTimes {
    /// The queue had `len` packets for another `ns`.
    #[inline]
    pub fn add(&mut self, len: u32, ns: u64) {
        match self.ns.get_mut(len as usize) {
            Some(time) if len < 1 << EXACT_BITS => *time += ns,
            _ => self.add_longer(len, ns),
        }
    }

    /// Prefetches the time of this length.
    #[inline(always)]
    pub fn prefetch(&self, len: u32) {
        prefetch_index(&self.ns, bin(len));
    }

    #[inline(never)]
    fn add_longer(&mut self, len: u32, ns: u64) {
        let bin = bin(len);
        if bin >= self.ns.len() {
            self.ns.resize(bin + 1, 0);
        }
        self.ns[bin] += ns;
    }

    /// Lengths in ascending order, those in the middle of bins, each with its time, ns. Most times are zero.
    pub fn iter(&self) -> impl Iterator<Item = (u32, u64)> + '_ {
        self.ns.iter().enumerate().map(|(bin, &ns)| (middle(bin), ns))
    }

    /// The longest length that was there.
    pub fn longest(&self) -> u32 {
        self.ns.len().checked_sub(1).map_or(0, middle)
    }

    /// The time of this length, ns.
    pub fn at(&self, len: u32) -> u64 {
        self.ns.get(bin(len)).copied().unwrap_or(0)
    }

    /// Bytes for a queue that is never longer than `longest`.
    pub fn bytes(longest: u32) -> usize {
        (bin(longest) + 1) * size_of::<u64>()
    }

    /// The time of all lengths, ns.
    pub fn total(&self) -> u64 {
        self.ns.iter().sum()
    }

    /// The integral of the length over time, packets times ns.
    pub fn area(&self) -> f64 {
        self.iter().map(|(len, ns)| f64::from(len) * ns as f64).sum()
    }
}

impl fmt::Debug for QueueTimes {
    /// As the list of times.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.ns.fmt(f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn bins_follow_each_other_without_gaps() {
        let mut previous = 0;
        for len in 0..1 << 19 {
            let next = bin(len);
            assert!(next == previous || next == previous + 1, "{len}");
            assert!(len >= 1 << EXACT_BITS || next == len as usize && middle(next) == len);
            previous = next;
        }
        assert!(QueueTimes::bytes(100_000_000) < 3_700_000);
    }

    proptest! {
        #[test]
        fn a_length_is_in_the_middle_of_its_bin_within_a_32768th(len: u32) {
            let found = middle(bin(len));
            prop_assert_eq!(bin(found), bin(len));
            prop_assert!(f64::from(found.abs_diff(len)) <= f64::from(len) / 32768.0);
        }

        #[test]
        fn times_add_up(lengths in prop::collection::vec((any::<u32>(), 0u32..32, 0u64..1000), 1..50)) {
            let mut times = QueueTimes::default();
            let lengths: Vec<_> = lengths.into_iter().map(|(len, shift, ns)| (len >> shift, ns)).collect();
            lengths.iter().for_each(|&(len, ns)| times.add(len, ns));
            prop_assert_eq!(times.total(), lengths.iter().map(|&(_, ns)| ns).sum::<u64>());
            let longest = lengths.iter().map(|&(len, _)| len).max().unwrap();
            prop_assert_eq!(bin(times.longest()), bin(longest));
            let area: f64 = lengths.iter().map(|&(len, ns)| f64::from(len) * ns as f64).sum();
            prop_assert!((times.area() - area).abs() <= area / 32768.0);
        }
    }
}
