//! Any sequence of operations on any discipline with any parameters in their declared ranges.
#![no_main]

#[path = "../../crates/aqm/tests/common/mod.rs"]
mod common;

use arbitrary::{Result, Unstructured};
use common::{Op, Watch};
use libfuzzer_sys::fuzz_target;
use marqueue_aqm::{Densities, Discipline, Env, Limit, Signal};
use marqueue_core::{Bytes, Dscp, Dur, Rate, Rng};
use marqueue_fuzz::{ecn, magnitude, one_of, policy};

/// Larger than any packet of a plan.
const LARGEST_PACKET: u64 = 65_535 * 40;

fn env(u: &mut Unstructured<'_>) -> Result<Env> {
    Ok(Env {
        rate: Rate(1 + magnitude(u, 1_000_000_000_000_000)?),
        mean_packet: Bytes(1 + magnitude(u, 1_000_000_000)?),
        limit: match u.arbitrary()? {
            true => Limit::Packets(magnitude(u, u32::MAX.into())? as u32),
            false => Limit::Bytes(magnitude(u, u64::MAX)?),
        },
        delay: Dur(magnitude(u, 1 << 62)?),
        signal: one_of(u, &[Signal::Drop, Signal::Ecn, Signal::EcnOnly])?,
        densities: if u.arbitrary()? { Some(densities(u)?) } else { None },
    })
}

fn densities(u: &mut Unstructured<'_>) -> Result<Box<Densities>> {
    let any = [0.0, 0.25, 1.0, 8.0, 1e9, 1e-300];
    let by_class = (0..3).map(|_| one_of(u, &any)).collect::<Result<_>>()?;
    Ok(Box::new(Densities::new(by_class, one_of(u, &[1e-15, 1.0, 1e18])?, None)))
}

fn op(u: &mut Unstructured<'_>) -> Result<Op> {
    Ok(match u.int_in_range(0..=9)? {
        0..=2 => Op::Enqueue {
            flow: u.int_in_range(0..=7)?,
            dscp: Dscp::from_bits(one_of(u, &[0, 10, 46])?),
            bytes: 1 + magnitude(u, LARGEST_PACKET)? as u32,
            ecn: ecn(u)?,
        },
        3 => Op::Burst { count: u.int_in_range(1..=100)?, flows: u.int_in_range(1..=8)? },
        4..=5 => Op::Dequeue,
        6 => Op::Drain,
        7..=8 => Op::Wait { ns: magnitude(u, 4_000_000_000)? },
        _ => Op::Rate { bits_per_sec: 1 + magnitude(u, 1_000_000_000_000_000)? },
    })
}

fn run(u: &mut Unstructured<'_>) -> Result<()> {
    let (spec, env, seed) = (policy(u, 2)?, env(u)?, u.arbitrary::<u16>()?);
    let Ok(queue) = Discipline::build(&spec, env, Rng::named(seed.into(), "queue")) else { return Ok(()) };
    let mut watch = Watch::new(queue);
    // All due timers of a virtual queue are processed at the next arrival.
    let horizon = Dur(10_000_000_000);
    while !u.is_empty() && watch.now.since(marqueue_core::Time::ZERO) < horizon && watch.arrived < 5_000 {
        watch.apply(&op(u)?);
    }
    watch.finish();
    Ok(())
}

fuzz_target!(|data: &[u8]| {
    // The sequence ends when the bytes are used up.
    let _ = run(&mut Unstructured::new(data));
});
