//! Random and mutated frames through every program: only what a program may write changes, and every frame counts.
//!
//! `MARQUEUE_FRAMES` is the number of frames for each program (`make frames` for ten million in all).
#![cfg(programs)]

use libbpf_rs::ProgramInput;
use marqueue_aqm::Signal;
use marqueue_bpf::algorithm::{self, Law, Shaper, State};
use marqueue_bpf::{program, Hook, Setup};
use marqueue_core::params::PolicySpec;
use marqueue_core::Rng;

/// A program of tc gets no frame without payload.
const SHORTEST: usize = 15;
const LONGEST: usize = 200;

/// Frames to start from: UDP with a header for prices over IPv4 with options and over IPv6, and TCP over IPv4.
fn seeds() -> Vec<Vec<u8>> {
    let udp = |ip: usize| {
        let mut frame = vec![0; 14 + ip + 8 + 8 + 20 + 30];
        frame[14 + ip + 8..14 + ip + 12].copy_from_slice(b"MQD\x01");
        frame[14 + ip + 16 + 8..14 + ip + 16 + 12].copy_from_slice(&f32::NEG_INFINITY.to_bits().to_be_bytes());
        frame
    };
    let (mut options, mut v6, mut tcp) = (udp(28), udp(40), vec![0; 80]);
    options[12..16].copy_from_slice(&[0x08, 0x00, 0x47, 0x01]);
    options[23] = 17;
    v6[12..16].copy_from_slice(&[0x86, 0xdd, 0x60, 0x20]);
    v6[20] = 17;
    tcp[12..16].copy_from_slice(&[0x08, 0x00, 0x45, 0x02]);
    tcp[23] = 6;
    vec![options, v6, tcp]
}

/// Random bytes, or a frame of `seeds` of which some bytes have changed and the end is missing.
fn frame(rng: &mut Rng, seeds: &[Vec<u8>]) -> Vec<u8> {
    if rng.below(4) == 0 {
        let length = SHORTEST + rng.below((LONGEST - SHORTEST) as u32) as usize;
        return (0..length).map(|_| rng.bits() as u8).collect();
    }
    let mut frame = seeds[rng.below(seeds.len() as u32) as usize].clone();
    for _ in 0..rng.below(4) {
        let at = rng.below(frame.len() as u32) as usize;
        frame[at] = rng.bits() as u8;
    }
    if rng.below(3) == 0 {
        frame.truncate(SHORTEST.max(rng.below(frame.len() as u32) as usize));
    }
    frame
}

/// The frame, made so long that BPF_PROG_TEST_RUN takes it: it refuses those that end within the header of IP.
fn whole(mut frame: Vec<u8>) -> Vec<u8> {
    let least = match frame[12..14] {
        [0x08, 0x00] => 14 + 20,
        [0x86, 0xdd] => 14 + 40,
        _ => SHORTEST,
    };
    if frame.len() < least {
        frame.resize(least, 0);
    }
    frame
}

/// Where a program may write: the ECN field and, in IPv4, its checksum; MKC the checksum of UDP and the price.
fn may_change(aqm: &str, frame: &[u8]) -> Vec<usize> {
    let v4 = frame[12..14] == [0x08, 0x00];
    match (aqm, frame.get(14)) {
        ("mkc", Some(first)) => {
            let udp = 14 + if v4 { usize::from(first & 0xf) * 4 } else { 40 };
            (udp + 6..udp + 8).chain(udp + 16..udp + 32).collect()
        }
        (_, Some(_)) if v4 => vec![15, 24, 25],
        _ => vec![15],
    }
}

#[test]
fn only_what_a_program_may_write_changes() {
    if let Some(what) = marqueue_bpf::missing() {
        eprintln!("SKIPPED: {what}");
        return;
    }
    #[allow(clippy::disallowed_methods, reason = "how many frames, not what becomes of them")]
    let frames: u64 = std::env::var("MARQUEUE_FRAMES").map_or(4000, |text| text.parse().expect("a number of frames"));
    let seeds = seeds();
    // Those for ingress take the time from the kernel, so what they decide is another each time.
    let at = algorithm::at(Hook::Egress).map(|aqm| (aqm, "at"));
    for (aqm, hook) in at.chain(algorithm::at(Hook::Ingress).map(|aqm| (aqm, "ingress"))) {
        let name = format!("{aqm}_{hook}");
        let mut rng = Rng::named(1, &format!("frames/{name}"));
        let mut spec = PolicySpec { name: aqm.into(), params: Default::default() };
        if aqm == "pi" {
            // Its defaults are too slow for a few thousand packets.
            let params = [("q_ref", 10.0), ("a", 0.002), ("b", 0.0019)];
            spec.params = params.map(|(name, value)| (name.into(), value.into())).into();
        }
        if aqm == "drq" {
            let params = [("min_th", 1.0), ("max_th", 40.0), ("w_q", 0.1)];
            spec.params = params.map(|(name, value)| (name.into(), value.into())).into();
        }
        // So slow that queues are long and prices are above those of the packets.
        let law =
            Law::read(&spec, Shaper { rate: Some(100_000), packet: 1514, buffer: 3000 }, Hook::Egress).expect("a law");
        let kernel = program::load(&name, &Setup { law, signal: Signal::Ecn, clsact: false });
        let kernel = kernel.expect("a kernel that takes it");
        let program = kernel.progs_mut().find(|each| each.name() == name.as_str()).expect("a program");
        let (mut now, mut changed, mut packets) = (1_000_000u64, 0u64, 0u64);
        for _ in 0..frames {
            now += u64::from(rng.below(3_000_000));
            let sent = whole(frame(&mut rng, &seeds));
            let mut context = [0; 192];
            context[48..52].copy_from_slice(&rng.below(60_000).to_ne_bytes());
            context[52..56].copy_from_slice(&(rng.bits() as u32).to_ne_bytes());
            context[152..160].copy_from_slice(&now.to_ne_bytes());
            context[160..164].copy_from_slice(&(sent.len() as u32).to_ne_bytes());
            // gso_segs: at ingress the headers of segments are looked for.
            let segments = if hook == "ingress" { 1 + rng.below(3) } else { 1 };
            context[164..168].copy_from_slice(&segments.to_ne_bytes());
            packets += u64::from(segments);
            let mut out = vec![0; sent.len()];
            let input = ProgramInput {
                context_in: Some(&mut context),
                data_in: Some(&sent),
                data_out: Some(&mut out),
                ..ProgramInput::default()
            };
            let ran = program.test_run(input).unwrap_or_else(|error| panic!("{sent:x?}: {error}"));
            let action = ran.return_value;
            assert!(action == u32::MAX || action == 2, "{action} for {sent:x?}");
            if out != sent {
                changed += u64::from(segments);
                let allowed = may_change(aqm, &sent);
                let wrong = (0..sent.len()).find(|at| out[*at] != sent[*at] && !allowed.contains(at));
                assert_eq!(wrong, None, "{aqm}: {sent:x?} became {out:x?}");
            }
        }
        let counted = program::read_counters(&program::map(&kernel, "counters")).expect("counters");
        assert_eq!(counted.packets, packets, "{name}");
        // DRQ counts apart what it has not marked yet.
        let signalled = match program::read_state(&program::map(&kernel, "state"), aqm).expect("a state") {
            State::Drq(state) => state.signalled,
            _ => 0,
        };
        assert_eq!(counted.marked + signalled, changed, "{name}");
        assert!(changed > 0 || name == "mkc_ingress", "{name} has changed no frame of {frames}");
    }
}
