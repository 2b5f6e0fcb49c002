//! CoDel against a literal transcription of RFC 8289's pseudocode: the same drops, marks and state at the same times.

#[allow(dead_code)]
mod pseudocode;

use marqueue_aqm::{Limit, Signal};
use marqueue_core::{Dur, Rng, Time};
use pseudocode::codel::{CodelQueue, Stored};
use pseudocode::{apply, discipline, number, operations, probes, Event, Op, Shape, Tally, SEQUENCES};

const SHAPE: Shape = Shape { ops: 160, flows: 1, sizes: (40, 2000), gaps: &[1e-4, 1e-3, 5e-3, 2e-2] };
const LIMIT: u32 = 60;

fn transcription(queue: &mut CodelQueue, now: i64, op: Op, seq: u32) -> Vec<Event> {
    match op {
        Op::Enqueue { .. } if queue.packets.len() == LIMIT as usize => queue.events.push(Event::Overflowed { seq }),
        Op::Enqueue { bytes, ect, .. } => queue.enqueue(Stored { seq, bytes, ect, ce: false, tstamp: now }),
        Op::Dequeue => {
            let departed = queue.dequeue(now);
            queue.events.push(departed.map_or(Event::Empty, |p| Event::Departed { seq: p.seq, ce: p.ce }));
        }
    }
    std::mem::take(&mut queue.events)
}

fn compare(signal: Signal, with_ce_threshold: bool) -> Tally {
    let mut tally = Tally::default();
    for sequence in 0..SEQUENCES {
        let mut rng = Rng::named(sequence, "codel");
        let interval = [0.01, 0.03, 0.1][rng.below(3) as usize];
        let target = interval * [0.05, 0.2, 1.0][rng.below(3) as usize];
        let threshold = with_ce_threshold.then_some(target * 0.3);
        let mut params = vec![("target", number(target)), ("interval", number(interval))];
        params.extend(threshold.map(|threshold| ("ce_threshold", number(threshold))));
        let mut queue =
            discipline("codel", &params, Limit::Packets(LIMIT), signal, 1000, Rng::named(sequence, "queue"));
        let mut literal = CodelQueue::new(target, interval, signal == Signal::Ecn, 1000);
        literal.ce_threshold = threshold.map(|threshold| Dur::from_secs(threshold).0 as i64);
        for (seq, (now, op)) in operations(&mut rng, SHAPE).into_iter().enumerate() {
            let Time(ns) = now;
            let expected = transcription(&mut literal, ns as i64, op, seq as u32);
            let got = apply(&mut queue, now, op, seq as u32);
            assert_eq!(got, expected, "sequence {sequence}, operation {seq} at {ns} ns");
            let state = vec![f64::from(u8::from(literal.dropping)), f64::from(literal.count)];
            assert_eq!(probes(&queue, now), state, "sequence {sequence}, state after operation {seq} at {ns} ns");
            tally.add(&got);
        }
    }
    tally
}

#[test]
fn drops_are_those_of_the_pseudocode() {
    let tally = compare(Signal::Drop, false);
    assert!(tally.drops > 50_000 && tally.drops_in_a_row > 5_000, "{tally:?}");
}

#[test]
fn marks_are_those_of_the_pseudocode() {
    let tally = compare(Signal::Ecn, false);
    assert!(tally.drops > 20_000 && tally.marks > 20_000, "{tally:?}");
}

#[test]
fn the_ce_threshold_marks_what_waited_longer() {
    let tally = compare(Signal::Ecn, true);
    assert!(tally.marks > 100_000, "{tally:?}");
}
