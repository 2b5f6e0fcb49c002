//! Compares the programs in the kernel with their references in Rust bit for bit, on the vectors of AVQ in `crates/aqm`
//! and on random packets. BPF_PROG_TEST_RUN runs a program with given times, queues and random numbers and without
//! sending packets.
#![cfg(programs)]

use libbpf_rs::{Object, ProgramInput};
use marqueue_aqm::Signal;
use marqueue_bpf::algorithm::{Law, Shaper, State};
use marqueue_bpf::arrival::{Arrival, Fate};
use marqueue_bpf::avq::{Avq, AvqParams};
use marqueue_bpf::fixed_point::FRACTION;
use marqueue_bpf::{program, Counters, Hook, Setup};
use marqueue_core::params::PolicySpec;
use proptest::prelude::*;
use proptest::test_runner::{Config, TestRunner};
use serde_json::{json, Value};

mod context;

const PASSED: u32 = u32::MAX; // TC_ACT_UNSPEC
const LOST: u32 = 2; // TC_ACT_SHOT

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Header {
    Ipv4(u8),
    Ipv6(u8),
    Arp,
}

impl Header {
    fn frame(self, bytes: u64) -> Vec<u8> {
        let mut frame = vec![0; bytes.clamp(40, 60) as usize];
        match self {
            Header::Ipv4(ecn) => {
                frame[12..16].copy_from_slice(&[0x08, 0x00, 0x45, 0xb8 | ecn]);
                frame[24] = 0x12; // A checksum, which CE must change with the field.
            }
            Header::Ipv6(ecn) => frame[12..16].copy_from_slice(&[0x86, 0xdd, 0x6b, 0x80 | ecn << 4]),
            Header::Arp => frame[12..14].copy_from_slice(&[0x08, 0x06]),
        }
        frame
    }

    /// The ECN field; `None` without IP.
    fn ecn(self) -> Option<u8> {
        match self {
            Header::Ipv4(ecn) | Header::Ipv6(ecn) => Some(ecn),
            Header::Arp => None,
        }
    }

    fn loses(self, signal: Signal) -> bool {
        match signal {
            Signal::Drop => self.ecn().is_some(),
            Signal::Ecn => self.ecn() == Some(0),
            Signal::EcnOnly => false,
        }
    }
}

/// The program and its reference.
struct ProgramAndReference {
    setup: Setup,
    kernel: Object,
    reference: State,
    expected: Counters,
}

impl ProgramAndReference {
    fn new(law: Law, signal: Signal) -> ProgramAndReference {
        let reference = law.start();
        let setup = Setup { law, signal, clsact: false };
        let kernel = program::load(&format!("{}_at", setup.law.name()), &setup).expect("a kernel that takes it");
        ProgramAndReference { setup, kernel, reference, expected: Counters::default() }
    }

    /// Passes a packet to both, and compares verdicts, packets and states.
    fn arrival(&mut self, arriving: Arriving) -> Fate {
        let Arriving { now, bytes, segments, header, queue, random } = arriving;
        let loses = header.loses(self.setup.signal);
        let packet = Arrival { now, bytes, segments, loses, queue: queue.into(), random };
        let fate = self.reference.fate(&self.setup.law, packet).expect("an AQM that marks or drops");
        let lost = fate != Fate::Pass && loses || fate == Fate::Loss && header.ecn().is_some();
        self.count(&arriving, fate, lost);

        let frame = header.frame(bytes);
        let mut context = arriving.context();
        let mut out = vec![0; frame.len()];
        let input = ProgramInput {
            context_in: Some(&mut context),
            data_in: Some(&frame),
            data_out: Some(&mut out),
            ..ProgramInput::default()
        };
        let name = format!("{}_at", self.setup.law.name());
        let program = self.kernel.progs_mut().find(|each| each.name() == name.as_str()).expect("a program");
        let action = program.test_run(input).expect("a run").return_value;
        assert_eq!(action, if lost { LOST } else { PASSED }, "{arriving:?} with {:?}", self.setup.law);
        assert_eq!(out, expected_frame(&frame, header, fate != Fate::Pass && !lost));
        assert_eq!(self.state(), self.reference, "{arriving:?} with {:?}", self.setup.law);
        fate
    }

    fn count(&mut self, arriving: &Arriving, fate: Fate, lost: bool) {
        let Arriving { bytes, segments, header, .. } = *arriving;
        let sum = &mut self.expected;
        sum.packets += segments;
        sum.bytes += bytes;
        sum.segmented += u64::from(segments > 1);
        if fate != Fate::Pass {
            let counter = match header.ecn() {
                _ if lost => &mut sum.dropped,
                Some(3) => &mut sum.already_ce,
                Some(1 | 2) => &mut sum.marked,
                _ => &mut sum.unmarked,
            };
            *counter += segments;
        }
    }

    fn state(&self) -> State {
        program::read_state(&program::map(&self.kernel, "state"), self.setup.law.name()).expect("a state")
    }

    fn avq(&self) -> (AvqParams, Avq) {
        match (&self.setup.law, self.state()) {
            (Law::Avq(law), State::Avq(state)) => (*law, state),
            (law, _) => panic!("{law:?} is not of AVQ"),
        }
    }

    fn finish(&self) {
        let counted = program::read_counters(&program::map(&self.kernel, "counters")).expect("counters");
        assert_eq!(counted, self.expected);
    }
}

/// CE changes the field and, in IPv4, the checksum (RFC 1624); nothing else changes.
fn expected_frame(frame: &[u8], header: Header, signalled: bool) -> Vec<u8> {
    let mut frame = frame.to_vec();
    match header {
        Header::Ipv4(ecn @ 1..=2) if signalled => {
            frame[15] |= 3;
            let sum = u32::from(!u16::from_be_bytes([frame[24], frame[25]])) + u32::from(3 - ecn);
            let folded = !((sum & 0xffff) + (sum >> 16)) as u16;
            frame[24..26].copy_from_slice(&folded.to_be_bytes());
        }
        Header::Ipv6(1..=2) if signalled => frame[15] |= 0x30,
        _ => {}
    }
    frame
}

/// A packet, and what the program is told beside it.
#[derive(Clone, Copy, Debug)]
struct Arriving {
    now: u64,
    bytes: u64,
    segments: u64,
    header: Header,
    queue: u32,
    random: u32,
}

impl Arriving {
    fn context(&self) -> [u8; 192] {
        context::context(self.now, self.bytes, self.segments, self.queue, self.random)
    }
}

/// Prints a note and returns true if no program can be loaded.
fn skipped() -> bool {
    let missing = marqueue_bpf::missing();
    if let Some(what) = &missing {
        eprintln!("SKIPPED: {what}");
    }
    missing.is_some()
}

fn vectors() -> Vec<Value> {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../aqm/vectors/avq.jsonl");
    let text = std::fs::read_to_string(path).expect("the vectors of AVQ");
    text.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect()
}

/// The program of a case, and how many bytes every packet counts as in packet mode.
fn case(line: &Value) -> (ProgramAndReference, Option<u64>) {
    let (params, env) = (&line["policy"]["params"], &line["env"]);
    let number = |name: &str, default: f64| params[name].as_f64().unwrap_or(default);
    let whole = |value: &Value| value.as_u64().expect("a whole number");
    let packet = whole(&env["mean_packet"]);
    let buffer = number("buffer", env["limit"]["packets"].as_f64().expect("a limit in packets")) as u64 * packet;
    let law = law(whole(&env["rate"]), params, buffer);
    let signal = serde_json::from_value(env["signal"].clone()).expect("a signal");
    (ProgramAndReference::new(law, signal), (params["mode"] == "packets").then_some(packet))
}

fn law(rate: u64, params: &Value, buffer: u64) -> Law {
    let number = |name: &str, default: f64| params[name].as_f64().unwrap_or(default);
    let law = AvqParams::new(rate, number("gamma", 0.98), number("alpha", 0.15), number("initial", 1.0), buffer);
    Law::Avq(law.expect("a law"))
}

#[test]
fn program_equals_reference_on_the_vectors() {
    if skipped() {
        return;
    }
    let mut seen = 0;
    let mut replay: Option<(ProgramAndReference, Option<u64>, Value)> = None;
    // The program does not know the real buffer. If marks are drops, overflowing packets count here but not in the
    // vectors.
    let mut counts_differ = false;
    for line in vectors() {
        if line["about"].is_string() {
            let (twins, counts_as) = case(&line);
            replay = Some((twins, counts_as, line));
            counts_differ = false;
            continue;
        }
        let (twins, counts_as, case) = replay.as_mut().expect("a case comes first");
        match line["op"].as_str().expect("an operation") {
            "enqueue" => {
                let header = if line["ecn"] == "ect" { Header::Ipv4(2) } else { Header::Ipv4(0) };
                let bytes = counts_as.unwrap_or_else(|| line["bytes"].as_u64().expect("a size"));
                let overflows = line["dropped"] == "overflow";
                counts_differ |= overflows && twins.setup.signal == Signal::Drop;
                for _ in 0..line["times"].as_u64().unwrap_or(1) {
                    seen += 1;
                    let now = line["t"].as_u64().expect("a time");
                    let fate = twins.arrival(Arriving { now, bytes, segments: 1, header, queue: 0, random: 0 });
                    assert!(overflows || (fate != Fate::Pass) == (line["outcome"] != "queued"), "{line}");
                }
            }
            "rate" => {
                let rate = line["rate"].as_u64().expect("a rate");
                twins.setup.law = law(rate, &case["policy"]["params"], twins.avq().0.buffer >> FRACTION);
                program::write_setup(&program::map(&twins.kernel, "setup"), &twins.setup).expect("it is told");
            }
            "probe" if !counts_differ => {
                let unit = f64::from(1u32 << FRACTION);
                let ((law, state), values) = (twins.avq(), &line["values"]);
                let capacity = 8.0 * state.virtual_capacity.min(law.capacity) as f64 / unit;
                let queue = state.level as f64 / unit / case["env"]["mean_packet"].as_f64().expect("a size");
                let off = |name: &str, got: f64| (got - values[name].as_f64().expect("a value")).abs();
                assert!(off("virtual_capacity", capacity) < 0.1, "{line}: {capacity}");
                assert!(off("virtual_queue", queue) < 1e-6, "{line}: {queue}");
            }
            _ => {}
        }
    }
    assert!(seen > 30, "only {seen} packets");
    replay.expect("cases").0.finish();
}

fn header() -> impl Strategy<Value = Header> {
    prop_oneof![(0..4u8).prop_map(Header::Ipv4), (0..4u8).prop_map(Header::Ipv6), Just(Header::Arp)]
}

/// Packets: nanoseconds since the previous one, negative at times as between two CPUs; segments; bytes of each.
fn packets() -> impl Strategy<Value = Vec<Arriving>> {
    let gap = prop_oneof![6 => 0..200_000i64, 2 => 0..100i64, 1 => -2000..0i64, 1 => 0..20_000_000_000i64];
    let segments = prop_oneof![4 => Just(1u64), 1 => 2..44u64];
    // Few random numbers are small, and few queues are empty or longer than any queue.
    let queue = prop_oneof![6 => 0..400_000u32, 2 => Just(0u32), 1 => any::<u32>()];
    let random = prop_oneof![2 => any::<u32>(), 1 => 0..100_000_000u32];
    let packet = (gap, segments, 60..1500u64, header(), queue, random);
    prop::collection::vec(packet, 1..120).prop_map(|packets| {
        let mut clock = 1_000_000i64;
        let arriving = |(gap, segments, each, header, queue, random): (i64, u64, u64, Header, u32, u32)| {
            clock = (clock + gap).max(1);
            Arriving { now: clock as u64, bytes: (segments * each).min(65_000), segments, header, queue, random }
        };
        packets.into_iter().map(arriving).collect()
    })
}

/// A law in the units of scenarios.
fn read(rate: u64, name: &str, params: Value) -> Law {
    let spec = PolicySpec { name: name.into(), params: serde_json::from_value(params).expect("parameters") };
    Law::read(&spec, Shaper { rate: Some(rate), packet: 1514, buffer: 151_400 }, Hook::Egress)
        .expect("within the integers")
}

fn avq() -> impl Strategy<Value = Law> {
    let law = (1e5..1e11, 0.0..=1.0, 0.0..20.0, 0.0..=1.0, 1500..300_000u64);
    law.prop_map(|(rate, gamma, alpha, initial, buffer)| {
        Law::Avq(AvqParams::new(rate as u64, gamma, alpha, initial, buffer).expect("within the integers"))
    })
}

fn red() -> impl Strategy<Value = Law> {
    let thresholds = (0.0..100.0, 0.1..200.0, 0.0..=1.0, prop_oneof![Just(1.0), 0.0..=1.0]);
    let weight = prop_oneof![1e-5..1e-2, 0.0..=1.0];
    let law = (1e5..1e11, thresholds, weight, any::<bool>(), any::<bool>());
    law.prop_map(|(rate, (min_th, more, max_p, mark_p), w_q, gentle, wait)| {
        let params = json!({"min_th": min_th, "max_th": min_th + more, "max_p": max_p, "mark_p": mark_p, "w_q": w_q,
                            "gentle": gentle, "wait": wait});
        read(rate as u64, "red", params)
    })
}

fn pi() -> impl Strategy<Value = Law> {
    let gains = prop_oneof![(1e-5..1e-2, 0.0..0.99), (0.01..=1.0, 0.0..0.99)];
    (gains, 1.0..1e4, 0.0..200.0).prop_map(|((a, part), w, q_ref): ((f64, f64), f64, f64)| {
        read(1_000_000, "pi", json!({"a": a, "b": a * part, "w": w, "q_ref": q_ref}))
    })
}

fn scaled() -> impl Strategy<Value = Law> {
    (0.0..20.0, 0.1..40.0, 0.0..=1.0, 1..300u32).prop_map(|(min_th, more, max_p, flows): (f64, f64, f64, u32)| {
        let curve = format!("red:{min_th}:{}:{max_p}", min_th + more);
        read(1_000_000, "scaled", json!({"curve": curve, "flows": flows}))
    })
}

#[test]
fn program_equals_reference_on_random_packets() {
    if skipped() {
        return;
    }
    let signal = prop_oneof![Just(Signal::Drop), Just(Signal::Ecn), Just(Signal::EcnOnly)];
    let law = prop_oneof![avq(), red(), pi(), scaled()];
    // Loading takes longer than running.
    let mut runner = TestRunner::new(Config { cases: 96, failure_persistence: None, ..Config::default() });
    let run = |(law, signal, packets)| {
        let mut twins = ProgramAndReference::new(law, signal);
        for packet in packets {
            twins.arrival(packet);
        }
        twins.finish();
        Ok(())
    };
    runner.run(&(law, signal, packets()), run).unwrap_or_else(|error| panic!("{error}"));
}
