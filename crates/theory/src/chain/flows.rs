//! The flows of one round-trip time, as numbers of flows by window.

use super::marks::{Grid, Marks, Weights};
use marqueue_core::Rng;
use rand_distr::{Binomial, Distribution};

/// Flows whose round trip takes the same number of slots.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Class {
    /// Number of flows.
    pub flows: u64,
    /// Slots in a round trip. As many groups of flows end theirs at different slots.
    pub slots: u32,
}

/// The flows of a class whose round trips begin in the same slot.
#[derive(Clone, Debug)]
struct Group {
    /// How many have window w, at w - 1.
    count: Vec<u64>,
    /// ln of the probability that none of w packets' share was marked since the round trip began.
    unmarked: Vec<f64>,
}

/// The state of a class.
#[derive(Clone, Debug)]
pub(super) struct Flows {
    groups: Vec<Group>,
    marks: Marks,
    /// Of the present slot, by window.
    marked: Vec<f64>,
    next: Vec<u64>,
    draws: Rng,
}

impl Flows {
    pub(super) fn new(class: Class, grid: &Grid, start: &[f64], draws: Rng) -> Flows {
        let slots = u64::from(class.slots);
        let windows = start.len();
        let groups = (0..slots).map(|g| Group {
            count: spread(class.flows / slots + u64::from(g < class.flows % slots), start),
            unmarked: vec![0.0; windows],
        });
        Flows {
            groups: groups.collect(),
            marks: grid.marks((1..=windows).map(|w| w as f64 / slots as f64)),
            marked: vec![0.0; windows],
            next: vec![0; windows],
            draws,
        }
    }

    /// The sum of all windows, and that of each window's flows added to `count`.
    pub(super) fn windows(&self, count: &mut [u64]) -> u64 {
        count.fill(0);
        for group in &self.groups {
            count.iter_mut().zip(&group.count).for_each(|(sum, n)| *sum += n);
        }
        count.iter().zip(1..).map(|(n, w)| n * w).sum()
    }

    /// A slot with this queue; without a law, all packets are marked. Flows whose round trip ends then
    /// change their windows.
    pub(super) fn step(&mut self, slot: u64, weights: Option<&Weights>) {
        match weights {
            Some(weights) => self.marks.probabilities(weights, &mut self.marked),
            None => self.marked.fill(1.0),
        }
        self.marked.iter_mut().for_each(|p| *p = (-*p).ln_1p());
        for group in &mut self.groups {
            group.unmarked.iter_mut().zip(&self.marked).for_each(|(sum, ln)| *sum += ln);
        }
        let slots = self.groups.len() as u64;
        let ending = &mut self.groups[(slot % slots) as usize];
        ending.round_trip(&mut self.next, &mut self.draws);
    }
}

impl Group {
    /// W + 1, at most the greatest, unless marked; else the half, at least 1. Flows of one window are alike:
    /// how many of them are marked is binomial.
    fn round_trip(&mut self, next: &mut Vec<u64>, draws: &mut Rng) {
        next.fill(0);
        let greatest = next.len() - 1;
        for (at, &n) in self.count.iter().enumerate().filter(|(_, &n)| n > 0) {
            let p = -self.unmarked[at].exp_m1();
            #[allow(clippy::expect_used)] // 1 - e^x of x <= 0.
            let marked = Binomial::new(n, p).expect("a probability").sample(draws);
            // Of window at + 1 the half, rounded down, is that of at rounded up.
            next[at.div_ceil(2).max(1) - 1] += marked;
            next[(at + 1).min(greatest)] += n - marked;
        }
        std::mem::swap(&mut self.count, next);
        self.unmarked.fill(0.0);
    }
}

/// Splits `flows` into whole numbers in proportion to `shares`.
fn spread(flows: u64, shares: &[f64]) -> Vec<u64> {
    let total: f64 = shares.iter().sum();
    let (mut sum, mut given) = (0.0, 0);
    let parts = shares.iter().map(|share| {
        sum += share / total;
        let upto = ((sum * flows as f64).round() as u64).min(flows);
        upto - std::mem::replace(&mut given, upto)
    });
    let mut counts: Vec<u64> = parts.collect();
    // What rounding left over.
    let left = flows - counts.iter().sum::<u64>();
    counts[0] += left;
    counts
}
