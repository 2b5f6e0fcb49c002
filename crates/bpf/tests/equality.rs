//! Compares the program in the kernel with the reference in Rust bit for bit, on the vectors of `crates/aqm` and on
//! random packets. BPF_PROG_TEST_RUN runs the program with given times and without sending packets.
#![cfg(programs)]

use libbpf_rs::{Object, ProgramInput};
use marqueue_aqm::Signal;
use marqueue_bpf::fixed_point::{Arrival, Avq, AvqParams, FRACTION};
use marqueue_bpf::{program, Counters, Setup};
use proptest::prelude::*;
use proptest::test_runner::{Config, TestRunner};
use serde_json::Value;

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
    reference: Avq,
    expected: Counters,
}

impl ProgramAndReference {
    fn new(law: AvqParams, signal: Signal) -> ProgramAndReference {
        let setup = Setup { law, signal, clsact: false };
        let kernel = program::load("avq_at", &setup).expect("a kernel that takes it");
        ProgramAndReference { setup, kernel, reference: Avq::default(), expected: Counters::default() }
    }

    /// Passes a packet to both, and compares verdicts, packets and states. Returns true if it is marked or dropped.
    fn arrival(&mut self, now: u64, bytes: u64, segments: u64, header: Header) -> bool {
        let loses = header.loses(self.setup.signal);
        let signalled = self.reference.arrival(&self.setup.law, Arrival { now, bytes, segments, loses });
        self.count(bytes, segments, header, signalled);

        let frame = header.frame(bytes);
        let mut context = context(now, bytes, segments);
        let mut out = vec![0; frame.len()];
        let input = ProgramInput {
            context_in: Some(&mut context),
            data_in: Some(&frame),
            data_out: Some(&mut out),
            ..ProgramInput::default()
        };
        let program = self.kernel.progs_mut().find(|each| each.name() == "avq_at").expect("a program");
        let action = program.test_run(input).expect("a run").return_value;
        assert_eq!(action, if signalled && loses { LOST } else { PASSED });
        assert_eq!(out, expected_frame(&frame, header, signalled && !loses));
        assert_eq!(self.state(), self.reference, "at {now} ns");
        signalled
    }

    fn count(&mut self, bytes: u64, segments: u64, header: Header, signalled: bool) {
        let sum = &mut self.expected;
        sum.packets += segments;
        sum.bytes += bytes;
        sum.segmented += u64::from(segments > 1);
        if signalled {
            let fate = match header.ecn() {
                _ if header.loses(self.setup.signal) => &mut sum.dropped,
                Some(3) => &mut sum.already_ce,
                Some(1 | 2) => &mut sum.marked,
                _ => &mut sum.unmarked,
            };
            *fate += segments;
        }
    }

    fn state(&self) -> Avq {
        program::read_state(&program::map(&self.kernel, "state")).expect("a state")
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

/// struct __sk_buff: tstamp, wire_len, gso_segs, gso_size.
fn context(now: u64, bytes: u64, segments: u64) -> [u8; 192] {
    let mut context = [0; 192];
    context[152..160].copy_from_slice(&now.to_ne_bytes());
    context[160..164].copy_from_slice(&(bytes as u32).to_ne_bytes());
    if segments > 1 {
        context[164..168].copy_from_slice(&(segments as u32).to_ne_bytes());
        context[176..180].copy_from_slice(&1448u32.to_ne_bytes());
    }
    context
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

fn law(rate: u64, params: &Value, buffer: u64) -> AvqParams {
    let number = |name: &str, default: f64| params[name].as_f64().unwrap_or(default);
    AvqParams::new(rate, number("gamma", 0.98), number("alpha", 0.15), number("initial", 1.0), buffer).expect("a law")
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
                    let signalled = twins.arrival(line["t"].as_u64().expect("a time"), bytes, 1, header);
                    assert!(overflows || signalled == (line["outcome"] != "queued"), "{line}");
                }
            }
            "rate" => {
                let rate = line["rate"].as_u64().expect("a rate");
                twins.setup.law = law(rate, &case["policy"]["params"], twins.setup.law.buffer >> FRACTION);
                program::write_setup(&program::map(&twins.kernel, "setup"), &twins.setup).expect("it is told");
            }
            "probe" if !counts_differ => {
                let unit = f64::from(1u32 << FRACTION);
                let (state, values) = (twins.state(), &line["values"]);
                let capacity = 8.0 * state.virtual_capacity.min(twins.setup.law.capacity) as f64 / unit;
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

/// Nanoseconds since the previous packet, negative at times as between two CPUs; number of segments; bytes of each.
fn packets() -> impl Strategy<Value = Vec<(i64, u64, u64, Header)>> {
    let gap = prop_oneof![6 => 0..200_000i64, 2 => 0..100i64, 1 => -2000..0i64, 1 => 0..20_000_000_000i64];
    let segments = prop_oneof![4 => Just(1u64), 1 => 2..44u64];
    prop::collection::vec((gap, segments, 60..1500u64, header()), 1..60)
}

#[test]
fn program_equals_reference_on_random_packets() {
    if skipped() {
        return;
    }
    let signal = prop_oneof![Just(Signal::Drop), Just(Signal::Ecn), Just(Signal::EcnOnly)];
    let link = (1e5..1e11, 0.0..=1.0, 0.0..20.0, 0.0..=1.0, 1500..300_000u64, signal);
    let mut runner = TestRunner::new(Config { cases: 64, failure_persistence: None, ..Config::default() });
    let run = |((rate, gamma, alpha, initial, buffer, signal), packets): (_, Vec<(i64, u64, u64, Header)>)| {
        let rate: f64 = rate;
        let law = AvqParams::new(rate as u64, gamma, alpha, initial, buffer).expect("within the integers");
        let mut twins = ProgramAndReference::new(law, signal);
        let mut now = 1_000_000i64;
        for (gap, segments, each, header) in packets {
            now = (now + gap).max(1);
            twins.arrival(now as u64, (segments * each).min(65_000), segments, header);
        }
        twins.finish();
        Ok(())
    };
    runner.run(&(link, packets()), run).unwrap_or_else(|error| panic!("{error}"));
}
