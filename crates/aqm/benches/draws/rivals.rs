//! The rivals of the queue's own way to make m draws.

use marqueue_core::{Packet, Rng, Time};

/// How many draws are made at once.
const LANES: usize = 16;

/// A place in the queue: when a packet arrived, and the packet.
pub type Place = (Time, Packet);

/// One after the other (Wen, Fang and Sun 2009, figure 1).
#[inline]
pub fn serial(places: &[Place], rng: &mut Rng, flow: u32, draws: u32) -> Option<usize> {
    (0..draws).map(|_| rng.below(places.len() as u32) as usize).find(|&place| places[place].1.flow() == flow)
}

/// In parallel (section 5.2): all places are chosen first, then all flows compared without a branch; the first match.
#[inline]
pub fn gathered(places: &[Place], rng: &mut Rng, flow: u32, draws: u32) -> Option<usize> {
    let mut left = draws as usize;
    while left > 0 {
        let n = left.min(LANES);
        let mut chosen = [0usize; LANES];
        chosen[..n].fill_with(|| rng.below(places.len() as u32) as usize);
        let matches =
            chosen.iter().enumerate().fold(0u32, |m, (lane, &c)| m | (u32::from(places[c].1.flow() == flow) << lane));
        let matches = matches & (u32::MAX >> (32 - n));
        if matches != 0 {
            return Some(chosen[matches.trailing_zeros() as usize]);
        }
        left -= n;
    }
    None
}
