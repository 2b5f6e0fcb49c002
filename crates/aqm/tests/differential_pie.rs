//! PIE against a literal transcription of RFC 8033's appendices: the same drops, marks and state at the same times.

#[allow(dead_code)]
mod pseudocode;

use marqueue_aqm::{Limit, Signal};
use marqueue_core::{Rng, Time, Value};
use pseudocode::pie::{Latency, Pie, Variant};
use pseudocode::{apply, choice, discipline, number, operations, probes, LiteralPie, Shape, Tally, SEQUENCES};

const SHAPE: Shape = Shape { ops: 192, flows: 1, sizes: (40, 1500), gaps: &[1e-4, 1e-3, 3e-3] };
/// Of [`discipline`]'s link, bytes a second.
const RATE: u32 = 1_000_000;
const MEAN_PKTSIZE: u64 = 500;

/// Appendix A: no optional element.
const APPENDIX_A: Variant = Variant {
    latency: Latency::Timestamps,
    low_delay_decay: false,
    derandomization: false,
    cap_adjustment: false,
    accumulate_in_burst: false,
    activation: false,
    ecn: false,
    byte_mode: false,
};

/// Appendix B: all of them.
const APPENDIX_B: Variant = Variant {
    latency: Latency::DequeueRate,
    low_delay_decay: true,
    derandomization: true,
    cap_adjustment: true,
    accumulate_in_burst: true,
    activation: true,
    ecn: true,
    byte_mode: false,
};

/// The defaults: section 4 and its options.
const DEFAULTS: Variant = Variant {
    latency: Latency::Known(RATE),
    low_delay_decay: false,
    accumulate_in_burst: false,
    activation: false,
    ..APPENDIX_B
};

fn params(variant: &Variant, gain: f64, qdelay_ref: f64, max_burst: f64) -> Vec<(&'static str, Value)> {
    let latency = match variant.latency {
        Latency::Timestamps => "timestamps",
        Latency::DequeueRate => "dequeue_rate",
        Latency::Known(_) => "link_rate",
    };
    vec![
        ("alpha", number(0.125 * gain)),
        ("beta", number(1.25 * gain)),
        ("delay_ref", number(qdelay_ref)),
        ("max_burst", number(max_burst)),
        ("delay_estimate", choice(latency)),
        ("decay", choice(if variant.low_delay_decay { "low_delay" } else { "zero_delay" })),
        ("derandomization", Value::Flag(variant.derandomization)),
        ("cap_adjustment", Value::Flag(variant.cap_adjustment)),
        ("accumulate_in_burst", Value::Flag(variant.accumulate_in_burst)),
        ("activation", number(if variant.activation { 1.0 / 3.0 } else { 0.0 })),
        ("mode", choice(if variant.byte_mode { "bytes" } else { "packets" })),
    ]
}

/// Short references and bursts and high gains let a short sequence reach every branch.
fn compare(variant: Variant, shape: Shape) -> Tally {
    let mut tally = Tally::default();
    for sequence in 0..SEQUENCES {
        let mut rng = Rng::named(sequence, "pie");
        let qdelay_ref = [1e-5, 1e-3, 0.015][rng.below(3) as usize];
        let gain = [1.0, 64.0, 4096.0][rng.below(3) as usize];
        let max_burst = [0.0, 0.03, 0.15][rng.below(3) as usize];
        let tail_drop = [15_000, 30_000, 60_000][rng.below(3) as usize];
        let signal = if variant.ecn { Signal::Ecn } else { Signal::Drop };
        let stream = Rng::named(sequence, "queue");
        let max_ecnth = [0.1, 0.5, 1.0][rng.below(3) as usize];
        let mut params = params(&variant, gain, qdelay_ref, max_burst);
        params.push(("mark_ecnth", number(max_ecnth)));
        let mut queue =
            discipline("pie", &params, Limit::Bytes(tail_drop), signal, MEAN_PKTSIZE, Rng::named(sequence, "queue"));
        let mut literal = Pie::new(variant, qdelay_ref, max_burst, tail_drop, MEAN_PKTSIZE, stream);
        (literal.alpha, literal.beta, literal.max_ecnth) = (0.125 * gain, 1.25 * gain, max_ecnth);
        for (seq, (now, op)) in operations(&mut rng, shape).into_iter().enumerate() {
            let Time(ns) = now;
            let expected = literal.apply(ns as i64, op, seq as u32);
            let got = apply(&mut queue, now, op, seq as u32);
            assert_eq!(got, expected, "sequence {sequence}, operation {seq} at {ns} ns");
            let state = [literal.drop_prob, literal.qdelay_old, literal.burst_allowance];
            assert_eq!(probes(&queue, now), state, "sequence {sequence}, state after operation {seq} at {ns} ns");
            tally.add(&got);
        }
    }
    tally
}

#[test]
fn basic_pie_is_appendix_a() {
    let tally = compare(APPENDIX_A, SHAPE);
    assert!(tally.drops > 5_000 && tally.overflows > 5_000, "{tally:?}");
}

#[test]
fn pie_with_all_options_is_appendix_b() {
    // DQ_THRESHOLD bytes must depart several times.
    let tally = compare(APPENDIX_B, Shape { ops: 256, sizes: (1000, 1500), gaps: &[1e-4, 2e-3, 4e-3], ..SHAPE });
    assert!(tally.drops > 5_000 && tally.marks > 200, "{tally:?}");
}

#[test]
fn pie_by_default_has_a_known_rate_and_is_always_active() {
    let tally = compare(DEFAULTS, SHAPE);
    assert!(tally.drops > 5_000 && tally.marks > 1_000, "{tally:?}");
}

#[test]
fn probabilities_in_proportion_to_size_are_bounded() {
    let tally = compare(Variant { byte_mode: true, ..DEFAULTS }, SHAPE);
    assert!(tally.drops > 5_000 && tally.marks > 1_000, "{tally:?}");
}
