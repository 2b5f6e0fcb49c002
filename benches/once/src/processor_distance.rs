//! How far two processors are from each other: `processor-distance` prints the ns in which a cache line goes there and back between
//! two threads.
//!
//! Processors of a virtual machine may share a cache or not, and the host may exchange them at any time.

#![allow(clippy::disallowed_types, clippy::disallowed_methods, reason = "what a run costs is what this measures")]

use std::hint::spin_loop;
use std::sync::atomic::{AtomicU32, Ordering};
use std::thread;
use std::time::Instant;

/// Times that the line goes there and back: of a block, whose time is taken, and blocks. In the first threads may still be
/// on one processor.
const TURNS: u32 = 2000;
const BLOCKS: u32 = 9;

/// Waits until the line has come, and sends it on.
fn turn(line: &AtomicU32, number: u32) {
    while line.load(Ordering::Acquire) != number {
        spin_loop();
    }
    line.store(number + 1, Ordering::Release);
}

fn main() {
    let line = AtomicU32::new(0);
    let mut blocks: Vec<f64> = thread::scope(|scope| {
        scope.spawn(|| (0..BLOCKS * TURNS).for_each(|i| turn(&line, 2 * i + 1)));
        (0..BLOCKS)
            .map(|block| {
                let started = Instant::now();
                (block * TURNS..(block + 1) * TURNS).for_each(|i| turn(&line, 2 * i));
                started.elapsed().as_secs_f64() / f64::from(TURNS) * 1e9
            })
            .collect()
    });
    blocks.sort_by(f64::total_cmp);
    println!("{:.0}", blocks[blocks.len() / 2]);
}
