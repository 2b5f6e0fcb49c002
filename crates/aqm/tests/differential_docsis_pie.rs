//! DOCSIS-PIE against a literal transcription of RFC 8034, appendix A: the same drops and state at the same times.

#[allow(dead_code)]
mod pseudocode;

use marqueue_aqm::{Limit, Signal};
use marqueue_core::{Rng, Time};
use pseudocode::docsis_pie::{DocsisPie, State};
use pseudocode::{apply, discipline, number, operations, probes, LiteralPie, Shape, Tally, SEQUENCES};
use std::collections::{BTreeSet, VecDeque};

const SHAPE: Shape = Shape { ops: 256, flows: 1, sizes: (40, 1500), gaps: &[1e-4, 1e-3, 5e-3] };

/// Short targets and bursts and high gains let a short sequence reach every branch.
#[test]
fn docsis_pie_is_appendix_a() {
    let (mut tally, mut states) = (Tally::default(), BTreeSet::new());
    for sequence in 0..SEQUENCES {
        let mut rng = Rng::named(sequence, "docsis_pie");
        let latency_target = [1e-5, 1e-3, 0.01][rng.below(3) as usize];
        let gain = [1.0, 64.0, 4096.0][rng.below(3) as usize];
        let max_burst = [0.0, 0.02, 0.142][rng.below(3) as usize];
        let burst_reset_timeout = [0.03, 1.0][rng.below(2) as usize];
        let buffer_size = [9_000, 30_000, 60_000][rng.below(3) as usize];
        let (a, b, interval) = (0.25 * gain, 2.5 * gain, 0.016);
        let params = [
            ("latency_target", number(latency_target)),
            ("a", number(a)),
            ("b", number(b)),
            ("max_burst", number(max_burst)),
            ("burst_reset_timeout", number(burst_reset_timeout)),
        ];
        let stream = Rng::named(sequence, "queue");
        let mut queue = discipline("docsis_pie", &params, Limit::Bytes(buffer_size), Signal::Ecn, 1000, stream.clone());
        let mut literal = DocsisPie {
            latency_target,
            a,
            b,
            interval,
            max_burst,
            burst_reset_timeout,
            msr: 1e6,
            buffer_size,
            queue: VecDeque::new(),
            rng: stream,
            events: Vec::new(),
            drop_prob: 0.0,
            qdelay_old: 0.0,
            burst_allowance: 0.0,
            aqm_state: State::Inactive,
            burst_reset: 0.0,
            accu_prob: 0.0,
            last_update: 0,
        };
        for (seq, (now, op)) in operations(&mut rng, SHAPE).into_iter().enumerate() {
            let Time(ns) = now;
            let before = literal.aqm_state;
            let expected = literal.apply(ns as i64, op, seq as u32);
            let got = apply(&mut queue, now, op, seq as u32);
            assert_eq!(got, expected, "sequence {sequence}, operation {seq} at {ns} ns");
            let active = match literal.aqm_state {
                State::Inactive => 0.0,
                State::Quiescent => 0.5,
                State::Active => 1.0,
            };
            let state = [literal.drop_prob, literal.qdelay_old, literal.burst_allowance, active];
            assert_eq!(probes(&queue, now), state, "sequence {sequence}, state after operation {seq} at {ns} ns");
            tally.add(&got);
            states.insert((before as u8, literal.aqm_state as u8));
        }
    }
    assert!(tally.drops > 5_000 && tally.overflows > 5_000 && tally.marks == 0, "{tally:?}");
    // Inactive to quiescent, quiescent to active and inactive, active to quiescent.
    assert!([(0, 1), (1, 2), (1, 0), (2, 1)].iter().all(|change| states.contains(change)), "{states:?}");
}
