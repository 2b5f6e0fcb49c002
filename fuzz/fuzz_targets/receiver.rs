//! Passes any stream of segments with any flags and marks to a receiver with any settings.
#![no_main]

#[path = "../../crates/cc/tests/common/receiver_model.rs"]
mod receiver_model;

use arbitrary::{Result, Unstructured};
use libfuzzer_sys::fuzz_target;
use marqueue_core::{Dur, Flags};
use marqueue_fuzz::{config, ecn, magnitude, one_of};
use receiver_model::Watch;

/// Limits the time of a run: the model goes through all segments at every step.
const MAX_SEGMENTS: u32 = 300;

/// A sequence number, mostly near the next expected one, sometimes any but the largest.
fn number(u: &mut Unstructured<'_>, next: u32) -> Result<u32> {
    Ok(match u.int_in_range(0..=5)? {
        0..=1 => next,
        2..=3 => next.saturating_add(u.int_in_range(0..=15)?),
        4 => next.saturating_sub(u.int_in_range(0..=15)?),
        _ => magnitude(u, u64::from(u32::MAX - 1))? as u32,
    }
    .min(u32::MAX - 1))
}

fn run(u: &mut Unstructured<'_>) -> Result<()> {
    let mut watch = Watch::new(config(u)?);
    for _ in 0..MAX_SEGMENTS {
        if u.is_empty() {
            break;
        }
        if u.ratio(1, 8)? {
            watch.wait(Dur(magnitude(u, 1_000_000_000)?));
            continue;
        }
        let seq = number(u, watch.next())?;
        let mut flags = Flags::NONE;
        for flag in [Flags::SYN, Flags::ECE, Flags::CWR, Flags::RETRANSMIT] {
            if u.ratio(1, 8)? {
                flags |= flag;
            }
        }
        watch.segment(seq, one_of(u, &[Flags::NONE, flags])?, ecn(u)?);
    }
    Ok(())
}

fuzz_target!(|data: &[u8]| {
    // The stream ends when the bytes are used up.
    let _ = run(&mut Unstructured::new(data));
});
