//! The flows of one round-trip time, as the number of flows at each window.

use super::marks::{MarkTable, QuadratureGrid, QueueWeights};
use marqueue_core::{math, Rng};
use rand_distr::{Binomial, Distribution};

/// Flows whose round trips take the same number of slots.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Class {
    /// Number of flows.
    pub flows: u64,
    /// Slots in a round trip. The flows form as many groups, whose round trips end in different slots.
    pub slots: u32,
}

/// The flows of a class whose round trips begin in the same slot.
#[derive(Clone, Debug)]
struct Group {
    /// The number of flows with window w, at index w - 1.
    count: Vec<u64>,
    /// For each window: ln of the probability that a flow was not marked since its round trip began.
    ln_unmarked: Vec<f64>,
}

/// The state of a class.
#[derive(Clone, Debug)]
pub(super) struct ClassState {
    groups: Vec<Group>,
    marks: MarkTable,
    /// Scratch space: the values of the present slot, by window.
    slot_values: Vec<f64>,
    /// Scratch space: the next counts of a group.
    next: Vec<u64>,
    draws: Rng,
}

impl ClassState {
    pub(super) fn new(class: Class, grid: &QuadratureGrid, start: &[f64], draws: Rng) -> ClassState {
        let slots = u64::from(class.slots);
        let windows = start.len();
        let groups = (0..slots).map(|g| Group {
            count: apportion(class.flows / slots + u64::from(g < class.flows % slots), start),
            ln_unmarked: vec![0.0; windows],
        });
        ClassState {
            groups: groups.collect(),
            marks: grid.mark_table((1..=windows).map(|w| w as f64 / slots as f64)),
            slot_values: vec![0.0; windows],
            next: vec![0; windows],
            draws,
        }
    }

    /// Writes the number of flows at each window to `count`. Returns the sum of windows.
    pub(super) fn windows(&self, count: &mut [u64]) -> u64 {
        count.fill(0);
        for group in &self.groups {
            count.iter_mut().zip(&group.count).for_each(|(sum, n)| *sum += n);
        }
        count.iter().zip(1..).map(|(n, w)| n * w).sum()
    }

    /// Advances by one slot with the given weights of queue lengths; without weights, all packets are marked. The flows
    /// whose round trip ends change their windows.
    pub(super) fn step(&mut self, slot: u64, weights: Option<&QueueWeights>) {
        match weights {
            Some(weights) => self.marks.probabilities(weights, &mut self.slot_values),
            None => self.slot_values.fill(1.0),
        }
        self.slot_values.iter_mut().for_each(|p| *p = math::ln_1p(-*p));
        for group in &mut self.groups {
            group.ln_unmarked.iter_mut().zip(&self.slot_values).for_each(|(sum, ln)| *sum += ln);
        }
        let slots = self.groups.len() as u64;
        let ending = &mut self.groups[(slot % slots) as usize];
        ending.end_round_trip(&mut self.next, &mut self.draws);
    }
}

impl Group {
    /// Ends a round trip: unmarked flows go to W + 1, at most the largest window, marked ones to floor(W/2), at least
    /// 1. The number of marked flows at a window is binomial.
    fn end_round_trip(&mut self, next: &mut Vec<u64>, draws: &mut Rng) {
        next.fill(0);
        let largest = next.len() - 1;
        for (at, &n) in self.count.iter().enumerate().filter(|(_, &n)| n > 0) {
            let p = -math::exp_m1(self.ln_unmarked[at]);
            #[allow(clippy::expect_used)] // 1 - e^x with x <= 0.
            let marked = Binomial::new(n, p).expect("a probability").sample(draws);
            // The window is at + 1, and its half rounded down is the half of at rounded up.
            next[at.div_ceil(2).max(1) - 1] += marked;
            next[(at + 1).min(largest)] += n - marked;
        }
        std::mem::swap(&mut self.count, next);
        self.ln_unmarked.fill(0.0);
    }
}

/// Splits `flows` into whole numbers in proportion to `shares`.
fn apportion(flows: u64, shares: &[f64]) -> Vec<u64> {
    let total: f64 = shares.iter().sum();
    let (mut sum, mut assigned) = (0.0, 0);
    let parts = shares.iter().map(|share| {
        sum += share / total;
        let up_to = ((sum * flows as f64).round() as u64).min(flows);
        up_to - std::mem::replace(&mut assigned, up_to)
    });
    let mut counts: Vec<u64> = parts.collect();
    // The remainder of rounding.
    let left = flows - counts.iter().sum::<u64>();
    counts[0] += left;
    counts
}
