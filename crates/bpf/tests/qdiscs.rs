//! Compares queue disciplines in BPF with their references in Rust, bit for bit, on random arrivals and departures, and
//! the references with the formulas of their papers. BPF_PROG_TEST_RUN runs the decisions on a kernel that has no
//! qdiscs in BPF, too.

use marqueue_bpf::cgroup::CgroupWeight;
use marqueue_bpf::chokew::{ChokeWParams, Outcome, Queue, QueuedPacket};
use marqueue_bpf::fixed_point::ONE;
use marqueue_bpf::Hook;

const RATE: u64 = 10_000_000;

fn law(l_th: f64, p_plus: f64, weight: f64, limit: u64) -> ChokeWParams {
    let text = serde_json::json!({
        "name": "chokew",
        "params": {
            "l_th": l_th, "l_minus": l_th + 2.0, "l_plus": l_th + 4.0, "p_plus": p_plus, "p_minus": p_plus / 2.0,
            "weights": {"8": weight}
        }
    });
    let spec: marqueue_core::params::PolicySpec = serde_json::from_value(text).expect("a policy");
    let shaper = marqueue_bpf::algorithm::Shaper { rate: Some(RATE), packet: 1514, buffer: limit * 1514 };
    match marqueue_bpf::algorithm::Law::read(&spec, shaper, Hook::Egress).expect("a law") {
        marqueue_bpf::algorithm::Law::ChokeW(law) => law,
        other => panic!("{other:?}"),
    }
}

fn packet(flow: u32, dscp: u8, cgroups: &[u64]) -> QueuedPacket<'_> {
    QueuedPacket { flow, bytes: 1000, dscp, cgroups }
}

/// A queue of `packets` packets, of which every fourth is of flow 1, that has drawing factor `p0`.
fn filled(law: &ChokeWParams, packets: u32, p0: f64) -> Queue {
    let mut queue = Queue::default();
    for each in 0..packets {
        let flow = if each % 4 == 0 { 1 } else { 100 + each };
        queue.arrive(law, packet(flow, 0, &[]), 0, u32::MAX);
    }
    queue.state.p0 = (p0 * ONE as f64) as u64;
    queue
}

/// An arrival with factor p0 and weight w draws p0/w packets on average, and each is of its flow with probability 1/4: for
/// a whole number m it is dropped with 1 - (3/4)^m, and between two whole numbers with the mean of both by the fraction.
#[test]
fn chokew_drops_as_often_as_its_draws_match() {
    // Nothing changes p0 at a queue of 101 with the arrival.
    let mut law = law(98.0, 0.0, 2.0, 4000);
    law.cgroups = vec![CgroupWeight { id: 70, weight: 4 << 20 }, CgroupWeight { id: 7, weight: 8 << 20 }];
    let none: &[u64] = &[];
    let cases = [
        (1.0, 0, none, 1.0),
        (2.5, 0, none, 2.5),
        (4.0, 0, none, 4.0),
        (4.0, 8, none, 2.0),
        (3.0, 8, none, 1.5),
        (0.0, 0, none, 0.0f64),
        // The weight of the lowest cgroup that has one is in the place of the code point's.
        (4.0, 8, &[70, 7], 1.0),
        (4.0, 0, &[71, 7], 0.5),
        (4.0, 8, &[71, 1], 2.0),
    ];
    for (p0, dscp, cgroups, m) in cases {
        let full = filled(&law, 100, p0);
        let trials = 20_000u32;
        let matched = (0..trials).filter(|trial| {
            let mut queue = full.clone();
            let random = trial.wrapping_mul(0x9e37_79b1) ^ 0x5bd1_e995;
            matches!(queue.arrive(&law, packet(1, dscp, cgroups), 0, random), Outcome::Matched(_))
        });
        let share = matched.count() as f64 / f64::from(trials);
        let none = |draws: f64| marqueue_core::math::powf(0.75, draws);
        let part = m - m.floor();
        let expected = 1.0 - (1.0 - part) * none(m.floor()) - part * none(m.ceil());
        let deviation = (expected * (1.0 - expected) / f64::from(trials)).sqrt();
        assert!(
            (share - expected).abs() <= 4.0 * deviation,
            "p0 {p0}, code point {dscp}, {cgroups:?}: {share} for {expected}"
        );
    }
}

/// Packets leave in the order in which they came, at the rate of the link, whatever was dropped between them.
#[test]
fn a_queue_is_first_in_first_out_at_its_rate() {
    let law = law(0.0, 0.5, 1.0, 4000);
    let mut queue = Queue::default();
    let (mut waiting, mut matches) = (Vec::new(), 0);
    for each in 0..50_000u32 {
        let random = each.wrapping_mul(0x9e37_79b1);
        match queue.arrive(&law, packet(random >> 29, 0, &[]), 0, random) {
            Outcome::Queued(place) => waiting.push(place),
            Outcome::Matched(place) => {
                matches += 1;
                let before = waiting.len();
                waiting.retain(|each| *each != place);
                assert_eq!(waiting.len() + 1, before);
            }
            Outcome::Overflow => {}
        }
        assert_eq!(waiting.len() as u64, queue.state.packets);
        if each % 3 == 0 && !waiting.is_empty() {
            let free = queue.state.free;
            assert_eq!(queue.depart(&law, free), waiting.remove(0));
            // 1000 bytes at 10 Mbit/s
            assert_eq!(queue.state.free - free, 800_000);
        }
    }
    assert!(matches > 1000, "{matches} matches");
}

#[cfg(programs)]
mod in_the_kernel {
    use super::*;
    use libbpf_rs::ProgramInput;
    use marqueue_aqm::Signal;
    use marqueue_bpf::algorithm::{Law, State};
    use marqueue_bpf::{program, Setup};
    use proptest::prelude::*;
    use proptest::test_runner::{Config, TestRunner};

    #[derive(Clone, Copy, Debug)]
    struct Sent {
        flow: u32,
        bytes: u32,
        dscp: u8,
        cgroups: [u64; 2],
    }

    #[derive(Clone, Copy, Debug)]
    enum Step {
        Arrive(Sent, u32),
        Depart,
    }

    /// Places of `__sk_buff` in a context.
    const MARK: usize = 8;
    const PRIORITY: usize = 32;
    const CB: usize = 48;
    const TSTAMP: usize = 152;
    const WIRE_LEN: usize = 160;

    fn steps() -> impl Strategy<Value = Vec<(u64, Step)>> {
        let dscp = prop_oneof![3 => Just(0u8), 1 => Just(8u8), 1 => 0..64u8];
        let packet = (0..6u32, 60..1515u32, dscp, [0..20u64, 0..20u64]);
        let packet = packet.prop_map(|(flow, bytes, dscp, cgroups)| Sent { flow, bytes, dscp, cgroups });
        let step = prop_oneof![
            5 => (packet, any::<u32>()).prop_map(|(packet, random)| Step::Arrive(packet, random)),
            3 => Just(Step::Depart),
        ];
        prop::collection::vec((prop_oneof![9 => 0..2_000_000u64, 1 => 0..50_000_000u64], step), 1..400)
    }

    #[test]
    fn program_equals_reference_on_random_steps() {
        if let Some(what) = marqueue_bpf::missing() {
            eprintln!("SKIPPED: {what}");
            return;
        }
        let mut runner = TestRunner::new(Config { cases: 64, failure_persistence: None, ..Config::default() });
        // From none to as many as there can be, of which the first is as good as any.
        let cgroups = prop::collection::btree_map(1..20u64, 1..20u64, 0..=16);
        let law = (0..20u32, prop_oneof![0.0..0.1, 0.1..3.0], 1.0..20.0, 5..60u64, cgroups);
        let law = law.prop_map(|(l_th, p_plus, weight, limit, cgroups)| {
            let cgroups = cgroups.into_iter().map(|(id, weight)| CgroupWeight { id, weight: weight << 20 }).collect();
            ChokeWParams { cgroups, ..super::law(l_th.into(), p_plus, weight, limit) }
        });
        let run = |(law, steps): (ChokeWParams, Vec<(u64, Step)>)| {
            let setup = Setup { law: Law::ChokeW(law.clone()), signal: Signal::Drop, clsact: false };
            let kernel = program::load("chokew_at", &setup).expect("a kernel that takes it");
            let mut reference = Queue::default();
            let mut now = 1_000_000;
            for (gap, step) in steps {
                now += gap;
                let mut context = [0; 192];
                let mut put = |at: usize, value: u32| context[at..at + 4].copy_from_slice(&value.to_ne_bytes());
                let expected = match step {
                    Step::Arrive(packet, random) => {
                        put(CB + 4, packet.flow);
                        put(CB + 8, packet.dscp.into());
                        put(CB + 12, random);
                        put(WIRE_LEN, packet.bytes);
                        put(MARK, packet.cgroups[0] as u32);
                        put(PRIORITY, packet.cgroups[1] as u32);
                        let Sent { flow, bytes, dscp, ref cgroups } = packet;
                        let packet = QueuedPacket { flow, bytes, dscp, cgroups };
                        match reference.arrive(&law, packet, now, random) {
                            Outcome::Queued(place) => (0, Some(place)),
                            Outcome::Overflow => (1, None),
                            Outcome::Matched(place) => (2, Some(place)),
                        }
                    }
                    Step::Depart if reference.state.packets > 0 => {
                        put(CB, 1);
                        // The frame is as long as this says.
                        put(WIRE_LEN, 100);
                        (0, Some(reference.depart(&law, now)))
                    }
                    Step::Depart => continue,
                };
                context[TSTAMP..TSTAMP + 8].copy_from_slice(&now.to_ne_bytes());
                let mut after = [0; 192];
                let input = ProgramInput {
                    context_in: Some(&mut context),
                    context_out: Some(&mut after),
                    data_in: Some(&[0; 60]),
                    ..ProgramInput::default()
                };
                let program = kernel.progs_mut().find(|each| each.name() == "chokew_at").expect("a program");
                let outcome = program.test_run(input).expect("a run").return_value;
                let place = u32::from_ne_bytes(after[CB + 16..CB + 20].try_into().expect("4 bytes"));
                prop_assert_eq!(outcome, expected.0, "{:?}", step);
                if let Some(expected) = expected.1 {
                    prop_assert_eq!(place, expected, "{:?}", step);
                }
                let state = program::read_state(&program::map(&kernel, "state"), "chokew").expect("a state");
                prop_assert_eq!(state, State::ChokeW(reference.state), "{:?}", step);
            }
            Ok(())
        };
        runner.run(&(law, steps()), run).unwrap_or_else(|error| panic!("{error}"));
    }
}
