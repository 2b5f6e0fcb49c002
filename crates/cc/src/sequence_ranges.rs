//! A set of sequence numbers as sorted, disjoint, half-open ranges: the out-of-order segments of a receiver, and a
//! sender's knowledge of them by SACK.

/// Of so few ranges that a search begins with the first. Most receivers and senders have no more than three.
const FEW: usize = 8;

/// A set of sequence numbers as ranges `[start, end)`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SequenceRanges(Vec<(u32, u32)>);

impl SequenceRanges {
    /// The ranges, ascending.
    pub fn as_slice(&self) -> &[(u32, u32)] {
        &self.0
    }

    /// Is it empty?
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Removes everything and frees the memory: most of the time a flow needs none.
    pub fn clear(&mut self) {
        self.0 = Vec::new();
    }

    /// Number of sequence numbers.
    pub fn count(&self) -> u32 {
        self.0.iter().map(|(s, e)| e - s).sum()
    }

    /// One past the largest number.
    pub fn end(&self) -> Option<u32> {
        self.0.last().map(|&(_, e)| e)
    }

    /// The range that contains `seq`.
    pub fn find(&self, seq: u32) -> Option<(u32, u32)> {
        let i = self.count_while(|&(_, e)| e <= seq);
        self.0.get(i).copied().filter(|&(s, _)| s <= seq)
    }

    /// Adds `[start, end)`. Returns whether any of it was new.
    pub fn add(&mut self, start: u32, end: u32) -> bool {
        if start >= end {
            return false;
        }
        // All ranges that overlap or touch the new one.
        let lo = self.count_while(|&(_, e)| e < start);
        let touching = self.0[lo..].iter().take_while(|&&(s, _)| s <= end).count();
        let Some(last) = (lo + touching).checked_sub(1).filter(|_| touching > 0) else {
            self.0.insert(lo, (start, end));
            return true;
        };
        let merged = (start.min(self.0[lo].0), end.max(self.0[last].1));
        if touching == 1 && merged == self.0[lo] {
            return false;
        }
        self.0[lo] = merged;
        self.0.drain(lo + 1..=last);
        true
    }

    /// Number of the first ranges for which `is_before` holds, which it does for none behind one for which it does not.
    #[inline]
    fn count_while(&self, is_before: impl Fn(&(u32, u32)) -> bool) -> usize {
        if self.0.len() <= FEW {
            self.0.iter().take_while(|&range| is_before(range)).count()
        } else {
            self.0.partition_point(is_before)
        }
    }

    /// Removes everything below `seq`.
    pub fn trim_below(&mut self, seq: u32) {
        let gone = self.count_while(|&(_, e)| e <= seq);
        self.0.drain(..gone);
        if let Some(first) = self.0.first_mut() {
            first.0 = first.0.max(seq);
        }
        if self.0.is_empty() {
            self.clear();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeSet;

    proptest! {
        #[test]
        fn it_is_a_set(ops in prop::collection::vec((0u32..60, 1u32..9, any::<bool>()), 1..60)) {
            let (mut ranges, mut set) = (SequenceRanges::default(), BTreeSet::new());
            for (start, len, trim) in ops {
                if trim {
                    ranges.trim_below(start);
                    set = set.split_off(&start);
                } else {
                    let before = set.len();
                    set.extend(start..start + len);
                    prop_assert_eq!(ranges.add(start, start + len), set.len() > before);
                }
                prop_assert_eq!(ranges.count() as usize, set.len());
                let listed: Vec<u32> = ranges.as_slice().iter().flat_map(|&(s, e)| s..e).collect();
                prop_assert_eq!(listed, set.iter().copied().collect::<Vec<_>>());
                prop_assert!(ranges.as_slice().windows(2).all(|w| w[0].1 < w[1].0));
                for seq in 0..70 {
                    prop_assert_eq!(ranges.find(seq).is_some(), set.contains(&seq));
                }
            }
        }
    }
}
