//! Rings that waste little.

use std::collections::VecDeque;

/// Adds `item` at the end of a ring, which grows by an eighth when it is full. As it turns, all of it is touched,
/// so that what it has to spare is memory spent: doubling would spend up to twice what is needed.
#[inline]
pub fn push_back<T>(ring: &mut VecDeque<T>, item: T) {
    if ring.len() == ring.capacity() {
        grow(ring);
    }
    ring.push_back(item);
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
    fn a_ring_has_little_to_spare_and_keeps_its_order() {
        let mut ring = VecDeque::new();
        // It turns as it grows: three in, one out.
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
