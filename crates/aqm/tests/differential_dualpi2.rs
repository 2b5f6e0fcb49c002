//! DualPI2 against a literal transcription of RFC 9332, appendix A: the same departures, drops, marks and state at the
//! same times.

#[allow(dead_code)]
mod pseudocode;

use marqueue_aqm::{Discipline, Limit, Qdisc, Signal};
use marqueue_core::{Dur, Ecn, Packet, Rng, Time};
use pseudocode::dualpi2::{Dualpi2, Pkt, Queue, Scheduler};
use pseudocode::{choice, discipline, number, operations, probes, Event, Op, Shape, Tally, SEQUENCES};

const FIELDS: [Ecn; 4] = [Ecn::NotEct, Ecn::Ect0, Ecn::Ect1, Ecn::Ce];
const SHAPE: Shape = Shape { ops: 192, flows: 4, sizes: (40, 1500), gaps: &[1e-4, 1e-3, 3e-3] };
const MTU: u64 = 1000;

/// The ECN field of a packet is that of its flow.
fn apply(queue: &mut Discipline, now: Time, op: Op, seq: u32) -> Vec<Event> {
    while queue.next_timer() <= now {
        let due = queue.next_timer();
        queue.on_timer(due);
    }
    let departed = match op {
        Op::Enqueue { flow, bytes, .. } => {
            queue.enqueue(now, Packet::data(flow, seq, bytes).with_ecn(FIELDS[flow as usize]));
            None
        }
        Op::Dequeue => Some(queue.dequeue(now).map(|(packet, _)| packet)),
    };
    let mut events: Vec<Event> = queue
        .drain_dropped()
        .map(|(packet, reason)| match reason.name() {
            "overflow" => Event::Overflowed { seq: packet.seq() },
            _ => Event::DroppedEarly { seq: packet.seq() },
        })
        .collect();
    events.extend(
        departed.map(|departed| {
            departed.map_or(Event::Empty, |p| Event::Departed { seq: p.seq(), ce: p.ecn() == Ecn::Ce })
        }),
    );
    events
}

fn transcription(literal: &mut Dualpi2, now: i64, op: Op, seq: u32) -> Vec<Event> {
    literal.run_updates(now);
    match op {
        Op::Enqueue { flow, bytes, .. } => {
            literal.enqueue(Pkt { seq, bytes, ecn: FIELDS[flow as usize], tstamp: now });
        }
        Op::Dequeue => {
            let departed = literal.dequeue(now);
            let event = departed.map_or(Event::Empty, |p| Event::Departed { seq: p.seq, ce: p.ecn == Ecn::Ce });
            literal.events.push(event);
        }
    }
    std::mem::take(&mut literal.events)
}

/// Short targets and high gains let a short sequence reach every branch.
fn compare(scheduler: Scheduler, random: bool) -> Tally {
    let mut tally = Tally::default();
    for sequence in 0..SEQUENCES {
        let mut rng = Rng::named(sequence, "dualpi2");
        let target = [1e-3, 5e-3, 0.015][rng.below(3) as usize];
        let gain = [1.0, 8.0, 64.0][rng.below(3) as usize];
        let k = [1.0, 2.0, 4.0][rng.below(3) as usize];
        let range = [0.0, 4e-4, 4e-3][rng.below(3) as usize];
        let th_len = rng.below(3);
        let weight = [0.0625, 0.1, 0.5][rng.below(3) as usize];
        let tshift = [0.001, 0.01][rng.below(2) as usize];
        let limit = [15_000, 60_000][rng.below(2) as usize];
        let t_update = 0.004;
        let params = [
            ("target", number(target)),
            ("t_update", number(t_update)),
            ("alpha", number(0.15 * gain)),
            ("beta", number(3.0 * gain)),
            ("k", number(k)),
            ("range", number(range)),
            ("th_len", number(f64::from(th_len))),
            ("scheduler", choice(if scheduler == Scheduler::Wrr { "wrr" } else { "ts_fifo" })),
            ("c_protection", number(weight)),
            ("tshift", number(tshift)),
            ("likelihood", choice(if random { "random" } else { "recurrent" })),
        ];
        let stream = Rng::named(sequence, "queue");
        let mut queue = discipline("dualpi2", &params, Limit::Bytes(limit), Signal::Ecn, MTU, stream.clone());
        let mut literal = Dualpi2 {
            lq: Queue::default(),
            cq: Queue::default(),
            limit,
            k,
            target,
            t_update: Dur::from_secs(t_update).0 as i64,
            alpha: 0.15 * gain,
            beta: 3.0 * gain,
            min_th: 800_000,
            range,
            th_len: th_len as usize,
            scheduler,
            weight,
            tshift: Dur::from_secs(tshift).0 as i64,
            rng: random.then_some(stream),
            p_prime: 0.0,
            p_cl: 0.0,
            p_c: 0.0,
            prevq: 0.0,
            credit: 0.0,
            mtu: MTU as f64,
            last_update: 0,
            events: Vec::new(),
        };
        literal.restart_credit();
        for (seq, (now, op)) in operations(&mut rng, SHAPE).into_iter().enumerate() {
            let Time(ns) = now;
            let expected = transcription(&mut literal, ns as i64, op, seq as u32);
            let got = apply(&mut queue, now, op, seq as u32);
            assert_eq!(got, expected, "sequence {sequence}, operation {seq} at {ns} ns");
            let state = [literal.p_prime, literal.p_c, literal.p_cl.min(1.0), literal.prevq];
            assert_eq!(probes(&queue, now)[..4], state, "sequence {sequence}, state after operation {seq} at {ns} ns");
            tally.add(&got);
        }
    }
    tally
}

#[test]
fn weighted_round_robin_with_even_signals_is_appendix_a() {
    let tally = compare(Scheduler::Wrr, false);
    assert!(tally.drops > 20_000 && tally.marks > 50_000 && tally.overflows > 5_000, "{tally:?}");
}

#[test]
fn time_shifted_fifo_with_random_signals_is_appendix_a() {
    let tally = compare(Scheduler::TsFifo, true);
    assert!(tally.drops > 20_000 && tally.marks > 50_000 && tally.overflows > 5_000, "{tally:?}");
}
