//! Plans that are too large to run are refused before anything is built.

mod common;

use common::*;
use marqueue_aqm::Signal;
use marqueue_core::params::ParamValues;
use marqueue_core::{Bytes, Dur, Rate, Time};
use marqueue_sim::plan::*;
use marqueue_sim::{check, run, Control, RunError};

fn plan() -> Plan {
    let mut plan = Dumbbell {
        rate: 5_000_000,
        access: 100_000_000,
        bottleneck_delay: 5.0,
        destination_delay: 1.0,
        rtts: vec![40.0],
        queue: queue("red", ParamValues::new(), 60, Signal::Ecn),
    }
    .plan(10.0);
    plan.transports = vec![ns2("sack", true)];
    plan.traffic = vec![tcp("long", 0, 2, 1.0)];
    plan
}

fn packets(rate: f64) -> TrafficPlan {
    let kind = TrafficKind::Packets {
        route: 0,
        rate,
        packet: Bytes(1000),
        size: SizeLaw::Constant,
        start: Time::ZERO,
        stop: None,
        ecn: Default::default(),
    };
    TrafficPlan { name: "packets".into(), dscp: 0, class: 0, kind }
}

#[test]
fn values_out_of_range_are_refused_with_their_path() {
    type Change = fn(&mut Plan);
    let cases: [(&str, &str, Change); 10] = [
        ("links[1].rate", "got 0 bit/s", |p| p.links[1].rate = Rate(0)),
        ("links[1].rate", "expected 1 to 1000000000000000", |p| p.links[1].rate = Rate(u64::MAX)),
        ("links[0].schedule[0]", "got 0 bit/s", |p| p.links[0].schedule = vec![(Time(1), Rate(0))]),
        ("links[2].delay", "got 18446744073 s", |p| p.links[2].delay = Dur(u64::MAX)),
        ("links[0].queue.mean_packet", "got 18446744073709551615 bytes", |p| {
            p.links[0].queue.as_mut().unwrap().mean_packet = Bytes(u64::MAX);
        }),
        ("traffic[1].rate", "at most 1000000000", |p| p.traffic.push(packets(1e10))),
        ("traffic[1].rate", "got NaN", |p| p.traffic.push(packets(f64::NAN))),
        ("traffic", "got 4294967297 flows in all", |p| {
            p.traffic = vec![tcp("a", 0, u32::MAX, 1.0), tcp("b", 0, 2, 1.0)];
        }),
        ("boundaries", "got 101 windows for 1000000 flows", |p| {
            p.traffic = vec![tcp("many", 0, 1_000_000, 1.0)];
            p.boundaries = (1..=100).map(Time).collect();
        }),
        ("sample", "expected at least", |p| p.sample = Dur(1)),
    ];
    for (path, said, change) in cases {
        let mut changed = plan();
        change(&mut changed);
        let Err(RunError::Invalid(error)) = check(&changed) else { panic!("{path} should be refused") };
        assert_eq!(error.path, path);
        assert!(error.message.contains(said), "{error}");
    }
}

#[test]
fn the_suggested_sampling_interval_is_accepted() {
    let mut plan = plan();
    plan.sample = Dur(10_000_000_000 / 100_000_000 + 1);
    assert_eq!(check(&plan), Ok(Vec::new()));
}

#[test]
fn delays_longer_than_any_run_do_not_overflow() {
    let mut plan = plan();
    for link in &mut plan.links {
        link.delay = Dur(1 << 62);
    }
    assert_eq!(run(&plan, 1, &Control::default()).expect("it runs").flows.delivered, [0, 0]);
}
