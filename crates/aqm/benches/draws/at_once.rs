//! Draws made in parallel (Wen, Fang and Sun 2009, section 5.2): the rivals of the serial draw.

use marqueue_core::{Packet, Rng, Time};

/// How many draws are made at once.
const LANES: usize = 16;

/// A place in the queue: when a packet arrived, and the packet.
pub type Place = (Time, Packet);

/// All places are chosen first, then all flows compared without a branch; the first match.
#[inline]
pub fn gathered(places: &[Place], rng: &mut Rng, flow: u32, draws: u32) -> Option<usize> {
    let mut left = draws as usize;
    while left > 0 {
        let n = left.min(LANES);
        let mut chosen = [0usize; LANES];
        chosen[..n].fill_with(|| rng.below(places.len() as u32) as usize);
        let matches =
            chosen.iter().enumerate().fold(0u32, |m, (lane, &c)| m | (u32::from(places[c].1.flow == flow) << lane));
        let matches = matches & (u32::MAX >> (32 - n));
        if matches != 0 {
            return Some(chosen[matches.trailing_zeros() as usize]);
        }
        left -= n;
    }
    None
}

/// Every place is compared: k of n match, so one of m draws does with chance 1 - (1 - k/n)^m, and it is equally
/// likely to be any of the k.
#[inline]
pub fn counted(places: &[Place], rng: &mut Rng, flow: u32, draws: u32) -> Option<usize> {
    let k = places.iter().map(|(_, packet)| u32::from(packet.flow == flow)).sum::<u32>();
    if k == 0 {
        return None;
    }
    let miss = (1.0 - f64::from(k) / places.len() as f64).powf(f64::from(draws));
    if rng.uniform() < miss {
        return None;
    }
    let which = rng.below(k) as usize;
    places.iter().enumerate().filter(|(_, (_, packet))| packet.flow == flow).nth(which).map(|(place, _)| place)
}
