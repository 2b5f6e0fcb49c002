//! Runs one plan in parts that take turns on one thread, and prints what each took: `rehearse SEED PARTS MEETING <
//! plan.json`.
//!
//! It tells what a run on several threads could gain on processors that do not slow each other down. `MEETING` is the
//! time, in ns, that a thread needs to see what another has handed over. `make bench-threads` uses it.

#![allow(clippy::disallowed_types, reason = "what a run costs is what this measures")]

use marqueue_sim::{digest, rehearse, Control, Rehearsal};
use std::error::Error;
use std::time::Instant;

fn main() -> Result<(), Box<dyn Error>> {
    let given: Vec<u64> = std::env::args().skip(1).map(|n| n.parse()).collect::<Result<_, _>>()?;
    let [seed, parts, meeting] = given[..] else {
        return Err("expected a seed, parts and the time of a meeting".into());
    };
    let plan = serde_json::from_reader(std::io::stdin())?;
    let start = Instant::now();
    let mut clock = || start.elapsed().as_nanos() as u64;
    let rehearsed = rehearse(&plan, seed, &Control::default(), parts as usize, meeting, &mut clock)?;
    let Rehearsal { result, work, meetings, wall } = rehearsed.ok_or("the plan has one part")?;
    println!(
        r#"{{"parts": {}, "work": {:?}, "meetings": {meetings}, "wall": {}, "digest": "{}"}}"#,
        work.len(),
        work.iter().map(|&ns| ns as f64 / 1e9).collect::<Vec<_>>(),
        wall as f64 / 1e9,
        digest(&result)
    );
    Ok(())
}
