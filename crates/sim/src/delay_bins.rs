//! How many packets had which queueing delay, in bins that are narrow enough for two significant digits.

use prefetch_index::prefetch_index;

/// Number of packets by delay, ns. Delays below 256 ns are told apart. Longer ones are in bins whose width is at most a 128th of
/// the delay. The bins are those of an HdrHistogram of two digits (`hdrhistogram`, which is not used here because it
/// takes more instructions, and because where it counts a delay cannot be prefetched).
#[derive(Clone, Debug, Default)]
pub struct DelayBins {
    counts: Vec<u64>,
}

/// Delays with fewer bits have a bin each, and half as many bins are added by each further bit.
const EXACT_BITS: u32 = 8;

/// The bin of a delay.
#[inline(always)]
fn bin(delay: u64) -> usize {
    let dropped = u64::BITS - EXACT_BITS - (delay | ((1 << EXACT_BITS) - 1)).leading_zeros();
    ((dropped as usize) << (EXACT_BITS - 1)) + (delay >> dropped) as usize
}

/// The longest delay in a bin.
fn longest(bin: usize) -> u64 {
    let dropped = (bin >> (EXACT_BITS - 1)).saturating_sub(1);
    let kept = (bin - (dropped << (EXACT_BITS - 1))) as u64;
    (kept << dropped) + ((1 << dropped) - 1)
}

impl DelayBins {
    /// Counts a packet with this delay.
    #[inline(always)]
    pub fn record(&mut self, delay: u64) {
        let bin = bin(delay);
        match self.counts.get_mut(bin) {
            Some(count) => *count += 1,
            None => self.record_longest(bin),
        }
    }

    #[cold]
    #[inline(never)]
    fn record_longest(&mut self, bin: usize) {
        self.counts.resize(bin + 1, 0);
        self.counts[bin] = 1;
    }

    /// Prefetches the bin of this delay.
    #[inline(always)]
    pub fn prefetch(&self, delay: u64) {
        prefetch_index(&self.counts, bin(delay));
    }

    /// The bins with packets, in ascending order: the longest delay of each, ns, and the number of packets.
    pub fn iter(&self) -> impl Iterator<Item = (u64, u64)> + '_ {
        let bins = self.counts.iter().enumerate().filter(|(_, &count)| count > 0);
        bins.map(|(bin, &count)| (longest(bin), count))
    }

    /// Forgets all packets.
    pub fn clear(&mut self) {
        self.counts.fill(0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use hdrhistogram::Histogram;
    use proptest::prelude::*;

    #[test]
    fn bins_follow_each_other_without_gaps() {
        for bin_before in 0..57 << (EXACT_BITS - 1) {
            assert_eq!(bin(longest(bin_before)), bin_before);
            assert_eq!(bin(longest(bin_before) + 1), bin_before + 1);
        }
        assert_eq!(longest(bin(u64::MAX)), u64::MAX);
    }

    proptest! {
        #[test]
        fn bins_are_those_of_a_histogram_of_two_digits(delays in prop::collection::vec((any::<u64>(), 1u32..64), 0..200)) {
            let (mut bins, mut expected) = (DelayBins::default(), Histogram::<u64>::new(2).unwrap());
            for delay in delays.into_iter().map(|(delay, shift)| delay >> shift) {
                bins.record(delay);
                expected.record(delay).unwrap();
            }
            let expected: Vec<_> = expected.iter_recorded().map(|b| (b.value_iterated_to(), b.count_at_value())).collect();
            prop_assert_eq!(bins.iter().collect::<Vec<_>>(), expected);
            bins.clear();
            prop_assert_eq!(bins.iter().next(), None);
        }
    }
}
