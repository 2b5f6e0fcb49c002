//! Compares the headers that MKC's program writes with those of its reference, and with the checksum of UDP.
#![cfg(programs)]

use libbpf_rs::ProgramInput;
use marqueue_aqm::Signal;
use marqueue_bpf::algorithm::{Law, Shaper, State};
use marqueue_bpf::arrival::Arrival;
use marqueue_bpf::{program, Hook, Setup};
use marqueue_core::params::PolicySpec;
use proptest::prelude::*;
use proptest::test_runner::{Config, TestRunner};
use serde_json::json;
use std::cell::Cell;

const ETHERNET: usize = 14;
const UDP: usize = 8;
/// Where the header for routers begins in the payload.
const BEFORE: usize = 8;
const ALL_ROUTERS: u32 = u32::MAX - 1;
/// The device of BPF_PROG_TEST_RUN.
const LOOPBACK: u32 = 1;

#[derive(Clone, Debug)]
struct Sent {
    /// Nanoseconds since the previous packet.
    gap: u64,
    ipv6: bool,
    /// Words of options in the header of IPv4.
    options: usize,
    checksum: bool,
    kind: [u8; 4],
    router: u32,
    price: f32,
    padding: usize,
}

impl Sent {
    fn udp_at(&self) -> usize {
        ETHERNET + if self.ipv6 { 40 } else { 20 + 4 * self.options }
    }

    /// The header for routers begins here.
    fn price_at(&self) -> usize {
        self.udp_at() + UDP + BEFORE
    }

    fn frame(&self) -> Vec<u8> {
        let (udp, length) = (self.udp_at(), UDP + BEFORE + 20 + self.padding);
        let mut frame = vec![0x5a; udp + length];
        if self.ipv6 {
            frame[12..16].copy_from_slice(&[0x86, 0xdd, 0x60, 0]);
            frame[20] = 17;
        } else {
            frame[12..16].copy_from_slice(&[0x08, 0x00, 0x45 + self.options as u8, 0]);
            frame[20..22].copy_from_slice(&[0x40, 0]);
            frame[23] = 17;
        }
        frame[udp + UDP..udp + UDP + 4].copy_from_slice(&self.kind);
        let at = self.price_at();
        for (place, word) in frame[at..at + 20].chunks_exact_mut(4).zip([self.router, 7, self.price.to_bits(), 9, 99]) {
            place.copy_from_slice(&word.to_be_bytes());
        }
        frame[udp + 6..udp + 8].fill(0);
        if self.checksum {
            let sum = checksum(&frame[udp..]);
            frame[udp + 6..udp + 8].copy_from_slice(&(if sum == 0 { 0xffff } else { sum }).to_be_bytes());
        }
        frame
    }

    /// The packet as it must leave, with the price that there is.
    fn expected(&self, seq: u32, price: Option<f32>, delta: u32) -> Vec<u8> {
        let mut frame = self.frame();
        let takes = |price: f32| self.kind == *b"MQD\x01" && self.router != ALL_ROUTERS && price > self.price;
        if let Some(price) = price.filter(|price| takes(*price)) {
            let at = self.price_at();
            let words = [LOOPBACK, seq, price.to_bits(), delta];
            for (place, word) in frame[at..at + 16].chunks_exact_mut(4).zip(words) {
                place.copy_from_slice(&word.to_be_bytes());
            }
            if self.checksum {
                let udp = self.udp_at();
                frame[udp + 6..udp + 8].fill(0);
                let sum = checksum(&frame[udp..]);
                frame[udp + 6..udp + 8].copy_from_slice(&(if sum == 0 { 0xffff } else { sum }).to_be_bytes());
            }
        }
        frame
    }
}

/// The checksum of RFC 768 over the datagram. The pseudo-header is left out on both sides: it does not change.
fn checksum(datagram: &[u8]) -> u16 {
    let words = datagram.chunks(2).map(|w| u32::from(w[0]) << 8 | u32::from(*w.get(1).unwrap_or(&0)));
    let mut sum: u32 = words.sum();
    while sum > 0xffff {
        sum = (sum & 0xffff) + (sum >> 16);
    }
    !(sum as u16)
}

fn sent() -> impl Strategy<Value = Vec<Sent>> {
    let gap = prop_oneof![6 => 0..2_000_000u64, 2 => Just(0u64), 1 => 0..5_000_000_000u64];
    let kind = prop_oneof![8 => Just(*b"MQD\x01"), 1 => Just(*b"MQD\x00"), 1 => any::<[u8; 4]>()];
    let router = prop_oneof![6 => Just(u32::MAX), 1 => Just(ALL_ROUTERS), 2 => any::<u32>()];
    let price = prop_oneof![
        3 => Just(f32::NEG_INFINITY),
        3 => -5.0..1.0f32,
        1 => any::<u32>().prop_map(f32::from_bits),
    ];
    let packet = (gap, any::<bool>(), 0..=10usize, any::<bool>(), kind, router, price, 0..1400usize);
    let packet = packet.prop_map(|(gap, ipv6, options, checksum, kind, router, price, padding)| Sent {
        gap,
        ipv6,
        options,
        checksum,
        kind,
        router,
        price,
        padding,
    });
    prop::collection::vec(packet, 100..300)
}

#[test]
fn packets_take_the_price_where_theirs_is_lower() {
    if let Some(what) = marqueue_bpf::missing() {
        eprintln!("SKIPPED: {what}");
        return;
    }
    let written = Cell::new(0);
    let link = (1e5..1e9, prop_oneof![1e-4..1e-2, 1e-2..1.0]);
    // Few cases of many packets: loading takes longer than running.
    let cases = 8;
    let mut runner = TestRunner::new(Config { cases, failure_persistence: None, ..Config::default() });
    let run = |((rate, delta), packets): ((f64, f64), Vec<Sent>)| {
        let params = serde_json::from_value(json!({ "delta": delta })).expect("parameters");
        let shaper = Shaper { rate: Some(rate as u64), packet: 1514, buffer: 0 };
        let law =
            Law::read(&PolicySpec { name: "mkc".into(), params }, shaper, Hook::Egress).expect("within the integers");
        let mut reference = law.start();
        let setup = Setup { law, signal: Signal::Ecn, clsact: false };
        let kernel = program::load("mkc_at", &setup).expect("a kernel that takes it");
        let mut now = 1_000_000u64;
        let mut taken = 0;
        for packet in packets {
            now += packet.gap;
            let frame = packet.frame();
            let bytes = frame.len() as u64;
            let arrival = Arrival { now, bytes, segments: 1, loses: false, queue: 0, random: 0 };
            let _ = reference.fate(&setup.law, arrival);
            let State::Mkc(state) = reference else { unreachable!("of this law") };
            let mut context = [0; 192];
            context[152..160].copy_from_slice(&now.to_ne_bytes());
            context[160..164].copy_from_slice(&(bytes as u32).to_ne_bytes());
            let mut out = vec![0; frame.len()];
            let input = ProgramInput {
                context_in: Some(&mut context),
                data_in: Some(&frame),
                data_out: Some(&mut out),
                ..ProgramInput::default()
            };
            let program = kernel.progs_mut().find(|each| each.name() == "mkc_at").expect("a program");
            assert_eq!(program.test_run(input).expect("a run").return_value, u32::MAX);
            let expected = packet.expected(state.seq as u32, state.price(), (delta as f32).to_bits());
            taken += u64::from(expected != frame);
            assert_eq!(out, expected, "{packet:?} with {:?}", state.price());
            let got = program::read_state(&program::map(&kernel, "state"), "mkc").expect("a state");
            assert_eq!(got, reference);
        }
        let counted = program::read_counters(&program::map(&kernel, "counters")).expect("counters");
        assert_eq!(counted.marked, taken);
        written.set(written.get() + taken);
        Ok(())
    };
    runner.run(&(link, sent()), run).unwrap_or_else(|error| panic!("{error}"));
    assert!(written.get() > 100, "only {} packets took a price", written.get());
}
