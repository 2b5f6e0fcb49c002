//! Queue protection and the dual queue of Low Latency DOCSIS, with it and without, against slow transcriptions of their
//! pseudocode: the same judgements, departures, drops, marks and state at the same times.

#[allow(dead_code)]
mod pseudocode;

use marqueue_aqm::queue_protection::{Judgement, Params, QueueProtection};
use marqueue_aqm::{Discipline, Limit, Qdisc, Signal};
use marqueue_core::params::ParamSet;
use marqueue_core::{Dur, Ecn, Packet, ParamValues, Rng, Time};
use pseudocode::codel::Stored;
use pseudocode::docsis_dualq::DualQ;
use pseudocode::docsis_pie::{DocsisPie, State};
use pseudocode::queue_protection::QProtect;
use pseudocode::{discipline, number, operations, probes, Event, Op, Shape, Tally, SEQUENCES};
use std::collections::VecDeque;

const FIELDS: [Ecn; 4] = [Ecn::NotEct, Ecn::Ect0, Ecn::Ect1, Ecn::Ce];
const MTU: u64 = 1000;
/// Sequences of the whole queue, of 192 operations.
const DUAL_SEQUENCES: u64 = 3_000;

/// Flows by the hundred, for more than the buckets; few, for scores that grow.
#[test]
fn queue_protection_is_its_pseudocode() {
    let (mut sanctions, mut passes, mut shared, mut capped) = (0_u64, 0_u64, 0, 0_u64);
    for sequence in 0..SEQUENCES {
        let mut rng = Rng::named(sequence, "queue_protection");
        let flows = [1, 10, 200][rng.below(3) as usize];
        let lg_aging = [1, 14, 19, 25][rng.below(4) as usize];
        let critical_ql = [0.0, 0.0005, 0.001][rng.below(3) as usize];
        let critical_score = [0.0, 0.001, 0.004, 0.065][rng.below(4) as usize];
        let given: ParamValues = [
            ("critical_delay".to_string(), number(critical_ql)),
            ("critical_score".to_string(), number(critical_score)),
            ("lg_aging".to_string(), number(f64::from(lg_aging))),
        ]
        .into();
        let stream = Rng::named(sequence, "queue");
        let params = Params::from_values(&given).unwrap();
        let mut buckets = QueueProtection::new(&params, &mut stream.clone()).unwrap();
        let ns = |s: f64| Dur::from_secs(s).0 as i64;
        let mut literal = QProtect::new(&mut stream.clone(), lg_aging, ns(critical_ql), ns(critical_score));
        let mut now = 0;
        for packet in 0..200 {
            // Several packets may have the same time.
            now += i64::from(rng.below(3) * rng.below(400_000));
            let (flow, bytes) = (rng.below(flows), 40 + rng.below(1461));
            let qdelay = i64::from(rng.below(3_000_000));
            let native = (rng.uniform() * 2.0 - 0.5).clamp(0.0, 1.0);
            let (score, sanctioned) = literal.qprotect(now, flow, bytes, qdelay, native);
            let got = buckets.judge(Time(now as u64), flow, bytes, Dur(qdelay as u64), native, Dur(1));
            let expected = Judgement { score: Dur(score as u64), sanctioned };
            assert_eq!(got, expected, "sequence {sequence}, packet {packet} at {now} ns");
            *(if sanctioned { &mut sanctions } else { &mut passes }) += 1;
            capped += u64::from(score == 5_000_000_000);
        }
        shared += literal.default_used;
    }
    assert!(sanctions > 100_000 && passes > 100_000 && shared > 100_000 && capped > 10_000);
}

fn apply(queue: &mut Discipline, now: Time, op: Op, seq: u32) -> Vec<Event> {
    while queue.next_timer() <= now {
        let due = queue.next_timer();
        queue.on_timer(due);
    }
    let departed = match op {
        Op::Enqueue { flow, bytes, .. } => {
            queue.enqueue(now, Packet::data(flow, seq, bytes).with_ecn(FIELDS[flow as usize % 4]));
            None
        }
        Op::Dequeue => Some(queue.dequeue(now).map(|(packet, _)| packet)),
    };
    let dropped = queue.drain_dropped().map(|(packet, reason)| match reason.name() {
        "overflow" => Event::Overflowed { seq: packet.seq() },
        _ => Event::DroppedEarly { seq: packet.seq() },
    });
    let mut events: Vec<Event> = dropped.collect();
    let event = |p: Packet| Event::Departed { seq: p.seq(), ce: p.ecn() == Ecn::Ce };
    events.extend(departed.map(|departed| departed.map_or(Event::Empty, event)));
    events
}

fn transcription(literal: &mut DualQ, now: i64, op: Op, seq: u32) -> Vec<Event> {
    literal.run_updates(now);
    match op {
        Op::Enqueue { flow, bytes, .. } => {
            let ecn = FIELDS[flow as usize % 4];
            let packet = Stored { seq, bytes, ect: ecn != Ecn::NotEct, ce: ecn == Ecn::Ce, tstamp: now };
            literal.enqueue(now, flow, packet, ecn);
        }
        Op::Dequeue => {
            let event = literal.dequeue().map_or(Event::Empty, |p| Event::Departed { seq: p.seq, ce: p.ce });
            literal.pie.events.push(event);
        }
    }
    std::mem::take(&mut literal.pie.events)
}

/// High gains and small frames let a short sequence reach every branch. Returns also the number of sanctions.
fn compare(name: &str, protected: bool) -> (Tally, u64) {
    let (mut tally, mut sanctions) = (Tally::default(), 0);
    for sequence in 0..DUAL_SEQUENCES {
        let mut rng = Rng::named(sequence, "docsis_dualq");
        let flows = [4, 40, 400][rng.below(3) as usize];
        let shape = Shape { ops: 192, flows, sizes: (40, 1500), gaps: &[1e-4, 1e-3, 3e-3] };
        let max_th = [0.0005, 0.001, 0.005][rng.below(3) as usize];
        let lg_range = [10, 19, 22][rng.below(3) as usize];
        let max_frame = [100.0, 1000.0, 2000.0][rng.below(3) as usize];
        let l_buffer = [0.0, 0.01, 0.1][rng.below(3) as usize];
        let k = [1.0, 2.0, 4.0][rng.below(3) as usize];
        let weight = [1.0, 128.0, 230.0][rng.below(3) as usize];
        let gain = [64.0, 4096.0, 65_536.0][rng.below(3) as usize];
        let latency_target = [1e-5, 1e-3, 0.01][rng.below(3) as usize];
        let interval = [0.002, 0.016][rng.below(2) as usize];
        let max_burst = [0.0, 0.02][rng.below(2) as usize];
        let (lg_aging, critical_score) = ([14, 19][rng.below(2) as usize], [0.001, 0.004][rng.below(2) as usize]);
        let limit = [9_000, 60_000][rng.below(2) as usize];
        let mut params = vec![
            ("max_th", number(max_th)),
            ("lg_range", number(f64::from(lg_range))),
            ("max_frame", number(max_frame)),
            ("l_buffer", number(l_buffer)),
            ("k", number(k)),
            ("scheduling_weight", number(weight)),
            ("latency_target", number(latency_target)),
            ("interval", number(interval)),
            ("a", number(0.25 * gain)),
            ("b", number(2.5 * gain)),
            ("max_burst", number(max_burst)),
        ];
        if protected {
            params.extend([("lg_aging", number(f64::from(lg_aging))), ("critical_score", number(critical_score))]);
        }
        let mut stream = Rng::named(sequence, "queue");
        let mut queue = discipline(name, &params, Limit::Bytes(limit), Signal::EcnOnly, MTU, stream.clone());
        let score = Dur::from_secs(critical_score).0 as i64;
        let qp = protected.then(|| QProtect::new(&mut stream, lg_aging, 0, score));
        let rate = 1e6;
        let mut literal = DualQ {
            ql: VecDeque::new(),
            pie: DocsisPie {
                latency_target,
                a: 0.25 * gain,
                b: 2.5 * gain,
                interval,
                max_burst,
                burst_reset_timeout: 1.0,
                msr: rate,
                buffer_size: limit,
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
            },
            qp,
            rate,
            limit,
            max_th: Dur::from_secs(max_th).0 as i64,
            lg_range,
            max_frame_size: max_frame,
            config_buffer_size: f64::max(l_buffer * rate, 20.0 * max_frame),
            k,
            weight: weight / 256.0,
            count: 0.0,
            prob_cl: 0.0,
            prob_native: 0.0,
            interval_bytes_l: 0,
            qdelay_c: 0.0,
            credit: 0.0,
            mtu: MTU as f64,
            sanctions: 0,
        };
        literal.restart_credit();
        for (seq, (now, op)) in operations(&mut rng, shape).into_iter().enumerate() {
            let Time(ns) = now;
            let expected = transcription(&mut literal, ns as i64, op, seq as u32);
            let got = apply(&mut queue, now, op, seq as u32);
            assert_eq!(got, expected, "sequence {sequence}, operation {seq} at {ns} ns");
            let state = [literal.pie.drop_prob, literal.prob_cl, literal.prob_native, literal.qdelay_c];
            let lengths = [literal.ql.len() as f64, literal.pie.queue.len() as f64];
            let values = probes(&queue, now);
            assert_eq!(values[..4], state, "sequence {sequence}, state after operation {seq} at {ns} ns");
            assert_eq!(values[values.len() - 2..], lengths, "sequence {sequence}, operation {seq} at {ns} ns");
            tally.add(&got);
        }
        sanctions += literal.sanctions;
    }
    (tally, sanctions)
}

#[test]
fn the_dual_queue_is_its_pseudocode() {
    let (tally, _) = compare("docsis_dualq_unprotected", false);
    assert!(tally.drops > 1_000 && tally.marks > 20_000 && tally.overflows > 5_000, "{tally:?}");
}

#[test]
fn the_protected_dual_queue_is_its_pseudocode() {
    let (tally, sanctions) = compare("docsis_dualq", true);
    assert!(tally.drops > 1_000 && tally.marks > 20_000 && tally.overflows > 5_000, "{tally:?}");
    assert!(sanctions > 10_000, "{sanctions}");
}
