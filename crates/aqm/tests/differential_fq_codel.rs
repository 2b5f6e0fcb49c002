//! FQ-CoDel against a literal transcription of RFC 8290's steps: the same departures, drops and marks at the same
//! times.

#[allow(dead_code)]
mod pseudocode;

use marqueue_aqm::{Discipline, Limit, Qdisc, Signal};
use marqueue_core::{Packet, Rng, Time};
use pseudocode::codel::{CodelQueue, Stored};
use pseudocode::fq_codel::{FqCodel, Half};
use pseudocode::{apply, choice, discipline, number, operations, probes, Event, Op, Shape, Tally, SEQUENCES};
use std::cmp::Ordering;

const FLOWS: u32 = 5;
const MTU: u64 = 1500;
const SHAPE: Shape = Shape { ops: 160, flows: FLOWS, sizes: (40, 1500), gaps: &[1e-4, 1e-3, 5e-3, 2e-2] };

fn fq_codel(limit: u32, signal: Signal, params: &[(&str, marqueue_core::Value)]) -> Discipline {
    // With this salt no two of the flows share a queue.
    let params = [&[("queues", number(1024.0))], params].concat();
    discipline("fq_codel", &params, Limit::Packets(limit), signal, MTU, Rng::named(1, "salt"))
}

/// The flows in the order in which they are dropped from if their queues are equally long.
fn tie_order() -> Vec<usize> {
    let mut flows: Vec<usize> = (0..FLOWS as usize).collect();
    flows.sort_by(|&a, &b| {
        let mut queue = fq_codel(1, Signal::Drop, &[]);
        queue.enqueue(Time::ZERO, Packet::data(a as u32, a as u32, 100));
        queue.enqueue(Time::ZERO, Packet::data(b as u32, b as u32, 100));
        let dropped: Vec<_> = queue.drain_dropped().map(|(packet, _)| packet.seq() as usize).collect();
        match (a == b, dropped == [a]) {
            (true, _) => Ordering::Equal,
            (false, true) => Ordering::Less,
            (false, false) => Ordering::Greater,
        }
    });
    flows
}

fn transcription(queue: &mut FqCodel, now: i64, op: Op, seq: u32) -> Vec<Event> {
    match op {
        Op::Enqueue { flow, bytes, ect } => {
            queue.enqueue(flow as usize, Stored { seq, bytes, ect, ce: false, tstamp: now });
        }
        Op::Dequeue => {
            let departed = queue.dequeue(now);
            queue.events.push(departed.map_or(Event::Empty, |p| Event::Departed { seq: p.seq, ce: p.ce }));
        }
    }
    std::mem::take(&mut queue.events)
}

fn compare(signal: Signal, half: Half, total_occupancy: bool) -> Tally {
    let tie = tie_order();
    let mut tally = Tally::default();
    for sequence in 0..SEQUENCES {
        let mut rng = Rng::named(sequence, "fq_codel");
        let interval = [0.01, 0.03, 0.1][rng.below(3) as usize];
        let target = interval * [0.05, 0.2][rng.below(2) as usize];
        let quantum = [100.0, 300.0, 1514.0, 6000.0][rng.below(4) as usize];
        let limit = [8, 20, 1000][rng.below(3) as usize];
        let params = [
            ("target", number(target)),
            ("interval", number(interval)),
            ("quantum", number(quantum)),
            ("occupancy", choice(if total_occupancy { "total" } else { "per_queue" })),
            ("overflow_unit", choice(if half == Half::OfPackets { "packets" } else { "bytes" })),
        ];
        let mut queue = fq_codel(limit, signal, &params);
        let codels = (0..FLOWS).map(|_| CodelQueue::new(target, interval, signal == Signal::Ecn, MTU)).collect();
        let mut literal = FqCodel::new(codels, limit as usize, quantum as i64, half, total_occupancy);
        literal.tie.clone_from(&tie);
        for (seq, (now, op)) in operations(&mut rng, SHAPE).into_iter().enumerate() {
            let Time(ns) = now;
            let expected = transcription(&mut literal, ns as i64, op, seq as u32);
            let got = apply(&mut queue, now, op, seq as u32);
            assert_eq!(got, expected, "sequence {sequence}, operation {seq} at {ns} ns");
            assert_eq!(probes(&queue, now), [literal.busy() as f64], "sequence {sequence}, operation {seq}");
            tally.add(&got);
        }
    }
    tally
}

#[test]
fn drops_are_those_of_the_steps_with_the_occupancy_of_all_queues() {
    let tally = compare(Signal::Drop, Half::OfPackets, true);
    assert!(tally.drops > 50_000 && tally.drops_in_a_row > 1_000 && tally.overflows > 50_000, "{tally:?}");
}

#[test]
fn marks_are_those_of_the_steps_with_the_occupancy_of_each_queue() {
    let tally = compare(Signal::Ecn, Half::OfBytes, false);
    assert!(tally.drops > 5_000 && tally.marks > 5_000 && tally.overflows > 50_000, "{tally:?}");
}
