//! Runs one plan and prints what it took: `once SEED [THREADS] < plan.json`.
//!
//! It serves to time or profile the engine without Python. `make bench-peers` and `make bench-scale` use it.

#![allow(clippy::disallowed_types, clippy::disallowed_methods, reason = "what a run costs is what this measures")]

use marqueue_sim::{digest, run_on, Control};
use std::error::Error;
use std::fs::read_to_string;
use std::time::Instant;

/// CPU time of this process so far, s.
fn cpu() -> Result<f64, Box<dyn Error>> {
    let spent = read_to_string("/proc/self/schedstat")?;
    Ok(spent.split(' ').next().ok_or("an empty schedstat")?.parse::<f64>()? / 1e9)
}

fn main() -> Result<(), Box<dyn Error>> {
    let seed = std::env::args().nth(1).ok_or("expected a seed")?.parse()?;
    let threads = std::env::args().nth(2).map_or(Ok(1), |threads| threads.parse())?;
    let plan = serde_json::from_reader(std::io::stdin())?;
    let setup = cpu()?;
    let start = Instant::now();
    let result = run_on(&plan, seed, &Control::default(), threads)?;
    let wall = start.elapsed().as_secs_f64();
    let engine = cpu()? - setup;
    let events = result.events;
    let packets: u64 = result.links.iter().flat_map(|l| &l.windows).map(|w| w.counters.departures).sum();
    let last = result.links.first().and_then(|l| l.windows.last()).ok_or("expected a link with a queue")?;
    let utilization = last.used / last.capacity;
    let status = read_to_string("/proc/self/status")?;
    let peak = status.lines().find_map(|l| l.strip_prefix("VmHWM:")).ok_or("no VmHWM")?.trim().trim_end_matches(" kB");
    println!(
        r#"{{"packets": {packets}, "events": {events}, "utilization": {utilization}, "setup": {setup}, "engine": {engine}, "wall": {wall}, "peak_kb": {peak}, "digest": "{}"}}"#,
        digest(&result)
    );
    Ok(())
}
