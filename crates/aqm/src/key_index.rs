//! Finds the queue of a key.

use alloc::vec::Vec;
use hashbrown::HashMap;
use marqueue_core::ring;
use rustc_hash::FxBuildHasher;

/// The index of a queue. A queue exists while it holds packets or its scheduler keeps it
/// ([`crate::Scheduler::keeps_empty`]).
pub type Class = usize;

/// The queue of each key. It is never iterated over, so the order of its entries decides nothing.
#[derive(Debug)]
pub enum KeyIndex {
    /// Of keys below a number that is known: a place for each.
    Bounded(Vec<u32>),
    /// Of any keys.
    Any(HashMap<u32, u32, FxBuildHasher>),
}

/// No queue.
const NONE: u32 = u32::MAX;

impl KeyIndex {
    /// Without queues. Keys are below `bound`, if there is one.
    pub fn new(bound: Option<u32>) -> KeyIndex {
        match bound {
            Some(bound) => KeyIndex::Bounded(alloc::vec![NONE; bound as usize]),
            None => KeyIndex::Any(HashMap::with_hasher(FxBuildHasher)),
        }
    }

    /// The queue of a key, if there is one.
    #[inline]
    pub fn get(&self, key: u32) -> Option<Class> {
        let class = match self {
            KeyIndex::Bounded(classes) => classes[key as usize],
            KeyIndex::Any(classes) => *classes.get(&key)?,
        };
        (class != NONE).then_some(class as Class)
    }

    /// From now on the key has this queue.
    pub fn insert(&mut self, key: u32, class: Class) {
        let class = class as u32;
        match self {
            KeyIndex::Bounded(classes) => classes[key as usize] = class,
            KeyIndex::Any(classes) => drop(classes.insert(key, class)),
        }
    }

    /// From now on the key has no queue.
    pub fn remove(&mut self, key: u32) {
        match self {
            KeyIndex::Bounded(classes) => classes[key as usize] = NONE,
            KeyIndex::Any(classes) => drop(classes.remove(&key)),
        }
    }

    /// Prefetches what [`KeyIndex::get`] reads, if it is known where that is.
    #[inline]
    pub fn prefetch(&self, key: u32) {
        if let KeyIndex::Bounded(classes) = self {
            ring::prefetch_after(&classes[key as usize], 0);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::collections::BTreeMap;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn it_is_a_map(changes in prop::collection::vec((0u32..20, prop::option::of(0usize..1000)), 0..200)) {
            let mut map = BTreeMap::new();
            let mut indices = [KeyIndex::new(Some(20)), KeyIndex::new(None)];
            for (key, class) in changes {
                for index in &mut indices {
                    match class {
                        Some(class) => index.insert(key, class),
                        None => index.remove(key),
                    }
                }
                match class {
                    Some(class) => map.insert(key, class),
                    None => map.remove(&key),
                };
                for (index, key) in indices.iter().flat_map(|index| (0..20).map(move |key| (index, key))) {
                    prop_assert_eq!(index.get(key), map.get(&key).copied());
                }
            }
        }
    }
}
