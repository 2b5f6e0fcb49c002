//! Compares event queues in the hold model: take the earliest event and enter the next one of the same source, with
//! 10^2 to 10^6 pending events. Prints a table of CPU time for both operations together, ns.
//!
//! The alternatives are binary and 4-ary heaps, a radix heap (monotone: no event before the last one taken), a timing
//! wheel with slots fitted to the load, and a balanced tree as in ns-3 and htsim.

#![allow(clippy::disallowed_methods, reason = "tests may use the platform's functions")]

use dary_heap::QuaternaryHeap;
use events::EventQueue;
use marqueue_core::{Dur, Rng, Time};
use radix_heap::RadixHeapMap;
use std::cmp::Reverse;
use std::collections::{BTreeSet, BinaryHeap};
use std::fs::read_to_string;
use std::hint::black_box;

#[path = "../src/events.rs"]
#[allow(dead_code, unused_imports, reason = "the engine's module as it is; the bench uses the queue")]
mod events;

/// Number of gaps that are drawn in advance and used in turn.
const GAPS: usize = 1 << 16;
/// Mean time to the next event of a source, ns.
const MEAN: f64 = 1e6;
/// Number of timings of each queue. The minimum counts.
const ROUNDS: usize = 3;

/// A set of pending events, one for each source.
trait Pending {
    /// An empty set for `n` sources.
    fn new(n: usize) -> Self;
    /// Enters the first event of a source.
    fn enter(&mut self, time: u64, source: u32);
    /// Takes the earliest event and enters the next of its source, `gap` later.
    fn hold(&mut self, gap: u64);
}

impl Pending for EventQueue {
    fn new(n: usize) -> Self {
        EventQueue::new(n)
    }
    fn enter(&mut self, time: u64, source: u32) {
        self.set(source, Time(time));
    }
    fn hold(&mut self, gap: u64) {
        if let Some((time, source)) = self.first() {
            self.set(source, time + Dur(gap));
        }
    }
}

/// Time and source.
type Entry = (u64, u32);

impl Pending for BinaryHeap<Reverse<Entry>> {
    fn new(_: usize) -> Self {
        BinaryHeap::new()
    }
    fn enter(&mut self, time: u64, source: u32) {
        self.push(Reverse((time, source)));
    }
    fn hold(&mut self, gap: u64) {
        if let Some(mut first) = self.peek_mut() {
            first.0 .0 += gap;
        }
    }
}

impl Pending for QuaternaryHeap<Reverse<Entry>> {
    fn new(_: usize) -> Self {
        QuaternaryHeap::new()
    }
    fn enter(&mut self, time: u64, source: u32) {
        self.push(Reverse((time, source)));
    }
    fn hold(&mut self, gap: u64) {
        if let Some(mut first) = self.peek_mut() {
            first.0 .0 += gap;
        }
    }
}

impl Pending for RadixHeapMap<Reverse<u64>, u32> {
    fn new(_: usize) -> Self {
        RadixHeapMap::new()
    }
    fn enter(&mut self, time: u64, source: u32) {
        self.push(Reverse(time), source);
    }
    fn hold(&mut self, gap: u64) {
        if let Some((Reverse(time), source)) = self.pop() {
            self.push(Reverse(time + gap), source);
        }
    }
}

impl Pending for BTreeSet<Entry> {
    fn new(_: usize) -> Self {
        BTreeSet::new()
    }
    fn enter(&mut self, time: u64, source: u32) {
        self.insert((time, source));
    }
    fn hold(&mut self, gap: u64) {
        if let Some((time, source)) = self.pop_first() {
            self.insert((time + gap, source));
        }
    }
}

/// A timing wheel (Varghese and Lauck, SOSP 1987): one event a slot on average, in order within a slot.
struct Wheel {
    /// Bits of a slot's width.
    width: u32,
    /// The slot of the last event taken.
    slot: u64,
    /// First source of each slot.
    heads: Vec<u32>,
    /// The next source in the same slot, for each source.
    next: Vec<u32>,
    times: Vec<u64>,
}

/// No source.
const NONE: u32 = u32::MAX;

impl Pending for Wheel {
    fn new(n: usize) -> Self {
        let width = (MEAN / n as f64).log2().max(0.0) as u32;
        // Twenty mean gaps; no gap is longer.
        let slots = (20.0 * MEAN) as usize >> width;
        Wheel { width, slot: 0, heads: vec![NONE; slots.next_power_of_two()], next: vec![NONE; n], times: vec![0; n] }
    }
    fn enter(&mut self, time: u64, source: u32) {
        let slot = (time >> self.width) as usize & (self.heads.len() - 1);
        self.times[source as usize] = time;
        let (mut before, mut after) = (NONE, self.heads[slot]);
        while after != NONE && self.times[after as usize] <= time {
            (before, after) = (after, self.next[after as usize]);
        }
        self.next[source as usize] = after;
        match before {
            NONE => self.heads[slot] = source,
            _ => self.next[before as usize] = source,
        }
    }
    fn hold(&mut self, gap: u64) {
        let mask = self.heads.len() - 1;
        while self.heads[self.slot as usize & mask] == NONE {
            self.slot += 1;
        }
        let slot = self.slot as usize & mask;
        let source = self.heads[slot];
        self.heads[slot] = self.next[source as usize];
        self.enter(self.times[source as usize] + gap, source);
    }
}

/// CPU time of this process so far, ns.
fn cpu() -> f64 {
    let spent = read_to_string("/proc/self/schedstat").unwrap_or_default();
    spent.split(' ').next().and_then(|ns| ns.parse().ok()).expect("Linux tells CPU time")
}

/// CPU time to take one event and enter one, ns.
fn cost<P: Pending>(n: usize, gaps: &[u64]) -> f64 {
    let mut pending = P::new(n);
    for source in 0..n {
        pending.enter(gaps[source % GAPS], source as u32);
    }
    // The initial times are not typical.
    let mut each = gaps.iter().cycle();
    let mut hold = |times: usize| each.by_ref().take(times).for_each(|&gap| pending.hold(black_box(gap)));
    hold(4 * n);
    let holds = (2 * n).max(1_000_000);
    let round = |_| {
        let start = cpu();
        hold(holds);
        (cpu() - start) / holds as f64
    };
    (0..ROUNDS).map(round).fold(f64::INFINITY, f64::min)
}

fn main() {
    let mut rng = Rng::named(1, "gaps");
    let gaps: Vec<u64> = (0..GAPS).map(|_| (rng.exponential(MEAN) as u64).clamp(1, (19.0 * MEAN) as u64)).collect();
    type Cost = fn(usize, &[u64]) -> f64;
    let rows: [(&str, Cost); 6] = [
        ("tournament (ours)", cost::<EventQueue>),
        ("binary heap", cost::<BinaryHeap<Reverse<Entry>>>),
        ("4-ary heap", cost::<QuaternaryHeap<Reverse<Entry>>>),
        ("radix heap", cost::<RadixHeapMap<Reverse<u64>, u32>>),
        ("timing wheel", cost::<Wheel>),
        ("balanced tree", cost::<BTreeSet<Entry>>),
    ];
    println!("| pending events, ns a pop and push | 10^2 | 10^3 | 10^4 | 10^5 | 10^6 |\n|---|---|---|---|---|---|");
    for (name, cost) in rows {
        let cells: Vec<String> = (2..=6).map(|e| format!("{:.0}", cost(10usize.pow(e), &gaps))).collect();
        println!("| {name} | {} |", cells.join(" | "));
    }
}
