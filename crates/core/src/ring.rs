//! Ring buffers with little spare capacity, and prefetching in them.

use alloc::collections::VecDeque;

/// Adds `item` at the end of a ring, which grows by an eighth when it is full. The contents move through the whole
/// capacity over time, so doubling would take up to twice the memory. With many rings, the end of each has left the
/// cache when the next item arrives, so the place after it is prefetched.
#[inline]
pub fn push_back<T>(ring: &mut VecDeque<T>, item: T) {
    if ring.len() == ring.capacity() {
        grow(ring);
    }
    ring.push_back(item);
    if let Some(last) = ring.back() {
        prefetch_after(last, per_cache_line::<T>());
    }
}

/// Items in a cache line of 64 bytes.
#[inline(always)]
pub fn per_cache_line<T>() -> usize {
    (64 / size_of::<T>().max(1)).max(1)
}

/// Prefetches the memory `n` places after `item`. This is harmless at the end of the ring's memory. Without the feature
/// `std` it does nothing.
#[inline(always)]
pub fn prefetch_after<T>(item: &T, n: usize) {
    #[cfg(feature = "std")]
    prefetch_index::prefetch_index(core::slice::from_ref(item), n);
    #[cfg(not(feature = "std"))]
    let _ = (item, n);
}

/// Prefetches the cache lines in which an item begins and ends: all of an item of up to two lines.
#[inline(always)]
pub fn prefetch_bounds<T>(item: &T) {
    prefetch_after(item, 0);
    prefetch_after(item, 1);
}

/// Prefetches the first item of a ring and the place behind the last.
#[inline(always)]
pub fn prefetch_ends<T>(ring: &VecDeque<T>) {
    if let (Some(first), Some(last)) = (ring.front(), ring.back()) {
        prefetch_after(first, 0);
        prefetch_after(last, 1);
    }
}

#[cold]
#[inline(never)]
fn grow<T>(ring: &mut VecDeque<T>) {
    ring.reserve_exact((ring.len() / 8).max(4));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_ring_has_little_spare_capacity_and_keeps_its_order() {
        let mut ring = VecDeque::new();
        // Three items in, one out: the ring wraps around as it grows.
        for i in 0..30_000 {
            push_back(&mut ring, i);
            if i % 3 == 2 {
                assert_eq!(ring.pop_front(), Some(i / 3));
            }
            assert!(ring.capacity() <= ring.len() + (ring.len() / 8).max(4) + 1);
        }
        assert!(ring.into_iter().eq(10_000..30_000));
    }
}
