//! Plans that pass `check` give the same result in several parts, as on several threads, in whatever order these go on.
#![no_main]

use arbitrary::Unstructured;
use libfuzzer_sys::fuzz_target;
use marqueue_core::{Dur, Rng};
use marqueue_fuzz::plan::{plan, shortened};
use marqueue_sim::delay_law::DelayLaw;
use marqueue_sim::plan::Plan;
use marqueue_sim::{digest, run, run_in_order, threads_for, Control, RunError};
use std::ops::RangeInclusive;

/// Longer runs are left out.
const MAX_EVENTS: u64 = 1 << 14;

/// Delays of links. Without any there is but one part.
const DELAYS: RangeInclusive<Dur> = Dur(1_000_000)..=Dur(50_000_000);

/// The plan with a delay at each link and without traces of packets: nearly all others need one thread.
fn separable(mut plan: Plan) -> Plan {
    for link in &mut plan.links {
        link.trace = false;
        link.delay = link.delay.clamp(*DELAYS.start(), *DELAYS.end());
        if let Some(flows) = &mut link.per_flow {
            link.delay = *DELAYS.start();
            flows.delay = DelayLaw::Uniform { least: link.delay, most: *DELAYS.end() };
        }
    }
    plan
}

fn compare(plan: &Plan, seed: u64) {
    if threads_for(plan, 2).expect("the plan has passed the check").0 < 2 {
        return;
    }
    let alone = match run(plan, seed, &Control::with_max_events(Some(MAX_EVENTS))) {
        Ok(result) if result.events < MAX_EVENTS => digest(&result),
        Ok(_) | Err(RunError::TraceFull { .. }) => return,
        Err(e) => panic!("the plan has passed the check: {e}"),
    };
    for threads in 2..=4 {
        let mut rng = Rng::named(seed, "an order of parts");
        let mut next = |parts: usize| rng.below(parts as u32) as usize;
        let result = run_in_order(plan, seed, &Control::default(), threads, &mut next).expect("it has run before");
        let result = result.expect("it has several parts");
        assert_eq!(digest(&result), alone, "{threads} threads");
    }
}

fuzz_target!(|data: &[u8]| {
    if let Some(plan) = plan(&mut Unstructured::new(data)).map(separable).ok().and_then(shortened) {
        compare(&plan, data.len() as u64);
    }
});
