//! Plans that pass `check` run without a panic.
//!
//! Input that begins with a brace is parsed as JSON. Other input is decoded into plans that are mostly valid.
#![no_main]

use arbitrary::Unstructured;
use libfuzzer_sys::fuzz_target;
use marqueue_fuzz::plan::{plan, shortened};
use marqueue_sim::plan::Plan;
use marqueue_sim::{run, Control, RunError};

/// Runs the first events of a plan that passes `check`.
fn try_out(plan: Plan, seed: u64) {
    let Some(plan) = shortened(plan) else { return };
    // A run checks its control every few thousand events. Cancelled before it starts, it ends at the first check.
    let control = Control::default();
    control.cancel();
    match run(&plan, seed, &control) {
        Ok(_) | Err(RunError::Cancelled) => {}
        Err(e) => panic!("the plan has passed the check: {e}"),
    }
}

fuzz_target!(|data: &[u8]| {
    if data.first() == Some(&b'{') {
        if let Ok(plan) = serde_json::from_slice(data) {
            try_out(plan, 1);
        }
    } else if let Ok(plan) = plan(&mut Unstructured::new(data)) {
        try_out(plan, data.len() as u64);
    }
});
