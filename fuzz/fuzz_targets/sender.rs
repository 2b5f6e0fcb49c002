//! Passes any sequence of acknowledgements, valid or not, to senders with every loss recovery and window law and any
//! settings. Checks the SACK scoreboard, windows and timers.
#![no_main]

#[path = "../../crates/cc/tests/common/sender_watch.rs"]
mod sender_watch;

use arbitrary::{Result, Unstructured};
use libfuzzer_sys::fuzz_target;
use marqueue_core::Dur;
use marqueue_fuzz::{config, magnitude};
use sender_watch::Watch;

const MAX_STEPS: u32 = 400;

/// A sequence number near the oldest outstanding segment, or anywhere.
fn number(u: &mut Unstructured<'_>, una: u32) -> Result<u32> {
    Ok(match u.int_in_range(0..=7)? {
        0..=2 => una.saturating_add(u.int_in_range(0..=7)?),
        3..=4 => una.saturating_add(u.int_in_range(0..=63)?),
        5 => una.saturating_add(magnitude(u, 100_000)? as u32),
        6 => una.saturating_sub(u.int_in_range(0..=15)?),
        _ => magnitude(u, u32::MAX.into())? as u32,
    })
}

fn step(u: &mut Unstructured<'_>, watch: &mut Watch) -> Result<()> {
    let (una, max) = (watch.sender.core().una, watch.sender.core().max);
    match u.int_in_range(0..=15)? {
        0 => watch.wait(Dur(magnitude(u, 100_000_000_000)?)),
        1 => drop(watch.time_out()),
        2 => watch.ack(max, u.arbitrary()?, &[]),
        3 if u.ratio(1, 8)? => watch.stop(),
        op => {
            let ack = if op < 11 { una } else { number(u, una)? };
            let mut blocks = [(0, 0); 4];
            let n = u.int_in_range(0..=blocks.len())?;
            for block in &mut blocks[..n] {
                let start = number(u, una)?;
                let end = if u.ratio(7, 8)? { start.saturating_add(u.int_in_range(0..=9)?) } else { number(u, una)? };
                *block = (start, end);
            }
            watch.ack(ack, u.ratio(1, 4)?, &blocks[..n]);
        }
    }
    Ok(())
}

fn run(u: &mut Unstructured<'_>) -> Result<()> {
    let config = config(u)?;
    let size = 1 + magnitude(u, 3_000)? as u32;
    let phase = f64::from(u.arbitrary::<u8>()?) / 256.0;
    let mut watch = Watch::new(config, Some(size), phase);
    for _ in 0..MAX_STEPS {
        if u.is_empty() || watch.sender.is_done() {
            break;
        }
        step(u, &mut watch)?;
    }
    watch.finish();
    Ok(())
}

fuzz_target!(|data: &[u8]| {
    // The sequence ends when the bytes are used up.
    let _ = run(&mut Unstructured::new(data));
});
