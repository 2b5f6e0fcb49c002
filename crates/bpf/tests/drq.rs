//! Compares DRQ's program with its reference bit for bit on random packets, and the reference with the probabilities of
//! the paper.

use marqueue_bpf::algorithm::{Law, Shaper};
use marqueue_bpf::arrival::Arrival;
use marqueue_bpf::drq::{Drq, DrqParams, Step};
use marqueue_bpf::fixed_point::{FRACTION, ONE};
use marqueue_bpf::Hook;
use marqueue_core::params::PolicySpec;
use serde_json::{json, Value};

#[cfg(programs)]
mod context;

const PACKET: u64 = 1514;

fn law(params: Value) -> DrqParams {
    let spec = PolicySpec { name: "drq".into(), params: serde_json::from_value(params).expect("parameters") };
    match Law::read(&spec, Shaper { rate: Some(10_000_000), packet: PACKET, buffer: 0 }, Hook::Egress).expect("a law") {
        Law::Drq(law) => law,
        other => panic!("{other:?}"),
    }
}

/// Shares of packets that become 10 and 11, of those with a field and a code point, where phi is `phi`.
fn shares(law: &DrqParams, phi: f64, field: u8, dscp: u8) -> [f64; 2] {
    let trials = 40_000u32;
    // Between min_th and max_th phi is linear.
    let (from, to) = (law.red.min_th as f64, law.red.max_th as f64);
    let avg = from + (to - from) * phi / (law.red.max_p as f64 / ONE as f64);
    let mut counts = [0u32; 2];
    for trial in 0..trials {
        let mut state = Drq::default();
        state.red.avg = avg as u64;
        let random = trial.wrapping_mul(0x9e37_79b1) ^ 0x5bd1_e995;
        let queue = state.red.avg >> FRACTION;
        let packet = Arrival { now: 1, bytes: PACKET, segments: 1, loses: false, queue, random };
        match state.arrival(law, packet, Some(field), dscp) {
            Step::Signalled => counts[0] += 1,
            Step::Congested => counts[1] += 1,
            Step::Stays => {}
        }
    }
    counts.map(|count| f64::from(count) / f64::from(trials))
}

/// With u = phi / weight: 11 with probability u^2, and of the others 10 from 00, or 11 from 10, with sqrt(2) u.
#[test]
fn fields_change_with_the_probabilities_of_the_paper() {
    let law = law(json!({"min_th": 5.0, "max_th": 50.0, "max_p": 0.5, "w_q": 1e-6, "weights": {"8": 2.0}}));
    for (phi, dscp) in [(0.1, 0), (0.3, 0), (0.45, 0), (0.3, 8), (0.01, 0)] {
        let u = if dscp == 8 { phi / 2.0 } else { phi };
        let (delta, epsilon): (f64, f64) = (u * u, 2f64.sqrt() * u);
        let close = |share: f64, expected: f64| {
            let deviation = (expected * (1.0 - expected) / 40_000.0).sqrt();
            assert!((share - expected).abs() <= 4.0 * deviation + 1e-4, "phi {phi}: {share} for {expected}");
        };
        let [signalled, congested] = shares(&law, phi, 0, dscp);
        close(signalled, (1.0 - delta) * epsilon);
        close(congested, delta);
        let [signalled, congested] = shares(&law, phi, 2, dscp);
        assert_eq!(signalled, 0.0);
        close(congested, delta + (1.0 - delta) * epsilon);
        assert_eq!(shares(&law, phi, 3, dscp), [0.0, 0.0]);
    }
}

/// The edge has no shaper; at a link DRQ's average goes by the rate of one.
#[test]
fn only_a_link_needs_a_rate() {
    let read = |hook, params: Value| {
        let spec = PolicySpec { name: "drq".into(), params: serde_json::from_value(params).expect("parameters") };
        Law::read(&spec, Shaper { rate: None, packet: PACKET, buffer: 0 }, hook)
    };
    let edge = read(Hook::Ingress, json!({"weights": {"8": 2.0}})).expect("a law without a rate");
    assert_eq!(edge.rate(), None);
    assert_eq!(Law::from_words("drq", &edge.words()), Some(edge));
    assert!(read(Hook::Egress, json!({})).expect_err("no rate").starts_with("rate: missing"));
    let wrong = json!({"min_th": 9.0, "max_th": 5.0});
    assert!(read(Hook::Ingress, wrong).expect_err("thresholds in the wrong order").starts_with("max_th: got"));
}

#[cfg(programs)]
mod in_the_kernel {
    use super::context::context;
    use super::*;
    use libbpf_rs::ProgramInput;
    use marqueue_aqm::Signal;
    use marqueue_bpf::algorithm::State;
    use marqueue_bpf::{program, Setup};
    use proptest::prelude::*;
    use proptest::test_runner::{Config, TestRunner};

    /// Gap in ns, IPv6, field, code point, segments, queue, random.
    type Packet = (u64, bool, u8, u8, u64, u32, u32);

    fn packets() -> impl Strategy<Value = Vec<Packet>> {
        let segments = prop_oneof![4 => Just(1u64), 1 => 2..44u64];
        let queue = prop_oneof![6 => 0..200_000u32, 1 => Just(0u32)];
        let random = prop_oneof![2 => any::<u32>(), 1 => 0..400_000_000u32];
        let packet = (0..3_000_000u64, any::<bool>(), 0..4u8, 0..64u8, segments, queue, random);
        prop::collection::vec(packet, 1..200)
    }

    fn frame(ipv6: bool, field: u8, dscp: u8) -> Vec<u8> {
        let mut frame = vec![0; 60];
        let class = dscp << 2 | field;
        if ipv6 {
            frame[12..16].copy_from_slice(&[0x86, 0xdd, 0x60 | class >> 4, class << 4 | 0x5]);
        } else {
            frame[12..16].copy_from_slice(&[0x08, 0x00, 0x45, class]);
            frame[22..24].copy_from_slice(&[64, 17]);
            let sum = checksum(&frame[14..34]);
            frame[24..26].copy_from_slice(&sum.to_be_bytes());
        }
        frame
    }

    /// Of a header of IPv4.
    fn checksum(header: &[u8]) -> u16 {
        let words = header.chunks_exact(2).map(|word| u32::from(u16::from_be_bytes([word[0], word[1]])));
        let sum: u32 = words.sum();
        let folded = (sum & 0xffff) + (sum >> 16);
        !((folded & 0xffff) + (folded >> 16)) as u16
    }

    fn skipped() -> bool {
        let missing = marqueue_bpf::missing();
        if let Some(what) = &missing {
            eprintln!("SKIPPED: {what}");
        }
        missing.is_some()
    }

    /// What a program makes of a frame. All of them pass.
    fn passed(kernel: &libbpf_rs::Object, name: &str, frame: &[u8], mut context: [u8; 192]) -> Vec<u8> {
        let mut out = vec![0; frame.len()];
        let input = ProgramInput {
            context_in: Some(&mut context),
            data_in: Some(frame),
            data_out: Some(&mut out),
            ..ProgramInput::default()
        };
        let program = kernel.progs_mut().find(|each| each.name() == name).expect("a program");
        assert_eq!(program.test_run(input).expect("a run").return_value, u32::MAX);
        out
    }

    #[test]
    fn program_equals_reference_on_random_packets() {
        if skipped() {
            return;
        }
        let mut runner = TestRunner::new(Config { cases: 48, failure_persistence: None, ..Config::default() });
        let params = (0.0..30.0, 1.0..60.0, 0.01..=1.0, 1e-3..=1.0, any::<bool>(), 0.01..10.0);
        let law = params.prop_map(|(min_th, more, max_p, w_q, inter, weight): (f64, f64, f64, f64, bool, f64)| {
            super::law(json!({
                "min_th": min_th, "max_th": min_th + more, "max_p": max_p, "w_q": w_q, "inter_resource": inter,
                "weights": {"8": weight}
            }))
        });
        let run = |(law, packets): (DrqParams, Vec<Packet>)| {
            let setup = Setup { law: Law::Drq(law.clone()), signal: Signal::Ecn, clsact: false };
            let kernel = program::load("drq_at", &setup).expect("a kernel that takes it");
            let (mut reference, mut now, mut marked) = (Drq::default(), 1_000_000, 0);
            for (gap, ipv6, field, dscp, segments, queue, random) in packets {
                now += gap;
                let bytes = (segments * 1000).min(65_000);
                let arrival = Arrival { now, bytes, segments, loses: false, queue: queue.into(), random };
                let after = match reference.arrival(&law, arrival, Some(field), dscp) {
                    Step::Stays => field,
                    Step::Signalled => 2,
                    Step::Congested => {
                        marked += segments;
                        3
                    }
                };
                let context = context(now, bytes, segments, queue, random);
                let out = passed(&kernel, "drq_at", &frame(ipv6, field, dscp), context);
                prop_assert_eq!(out, frame(ipv6, after, dscp));
                let state = program::read_state(&program::map(&kernel, "state"), "drq").expect("a state");
                prop_assert_eq!(state, State::Drq(reference));
            }
            let counters = program::read_counters(&program::map(&kernel, "counters")).expect("counters");
            prop_assert_eq!((counters.marked, counters.dropped, counters.unmarked), (marked, 0, 0));
            Ok(())
        };
        runner.run(&(law, packets()), run).unwrap_or_else(|error| panic!("{error}"));
    }

    /// The edge makes 10 and 01 to 00, and leaves 11.
    #[test]
    fn the_edge_begins_fields_anew() {
        if skipped() {
            return;
        }
        let spec = PolicySpec { name: "drq".into(), params: Default::default() };
        let law = Law::read(&spec, Shaper { rate: None, packet: PACKET, buffer: 0 }, Hook::Ingress).expect("a law");
        let setup = Setup { law, signal: Signal::Ecn, clsact: false };
        let kernel = program::load("drq_ingress", &setup).expect("a kernel that takes it");
        for (field, after) in [(0, 0), (1, 0), (2, 0), (3, 3)] {
            for ipv6 in [false, true] {
                let out = passed(&kernel, "drq_ingress", &frame(ipv6, field, 46), context(1, 60, 1, 0, 0));
                assert_eq!(out, frame(ipv6, after, 46));
            }
        }
    }
}
