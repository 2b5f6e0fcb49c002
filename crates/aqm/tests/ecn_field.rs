//! The ECN field in queues: RFC 3168, section 5, as far as routers are concerned. DRQ is left out, because it gives the
//! field another meaning.

use marqueue_aqm::{catalogue, Discipline, EnqueueOutcome, Env, Limit, Qdisc, Signal};
use marqueue_core::{Bytes, Dur, Ecn, Packet, PolicySpec, Rate, Rng, Time, Value};

const FIELDS: [Ecn; 4] = [Ecn::NotEct, Ecn::Ect0, Ecn::Ect1, Ecn::Ce];

fn queue(name: &str, params: &[(&str, f64)], packets: u32, signal: Signal) -> Discipline {
    let env = Env {
        rate: Rate(8_000_000),
        mean_packet: Bytes(1000),
        limit: Limit::Packets(packets),
        delay: Dur::ZERO,
        signal,
        densities: None,
    };
    let params = params.iter().map(|(k, v)| (k.to_string(), Value::Number(*v))).collect();
    Discipline::build(&PolicySpec { name: name.into(), params }, env, Rng::named(1, "ecn")).expect("valid parameters")
}

fn algorithms() -> impl Iterator<Item = &'static str> {
    catalogue().into_iter().map(|entry| entry.name).filter(|&name| name != "drq")
}

#[test]
fn only_ect_packets_are_marked_and_ce_stays() {
    for name in algorithms() {
        for signal in [Signal::Drop, Signal::Ecn, Signal::EcnOnly] {
            let (mut queue, mut rng) = (queue(name, &[], 50, signal), Rng::named(2, name));
            let (mut now, mut sent) = (Time::ZERO, Vec::new());
            for seq in 0..5_000 {
                now += Dur(rng.below(1_500_000).into());
                while queue.next_timer() <= now {
                    let due = queue.next_timer();
                    queue.on_timer(due);
                }
                let field = FIELDS[rng.below(4) as usize];
                sent.push(field);
                queue.enqueue(now, Packet::data(seq % 5, seq, 1000).with_ecn(field));
                if rng.below(20) > 0 {
                    if let Some((packet, _)) = queue.dequeue(now) {
                        let before = sent[packet.seq() as usize];
                        let marked = before.is_ect() && packet.ecn() == Ecn::Ce && signal != Signal::Drop;
                        assert!(packet.ecn() == before || marked, "{name}: {before:?} became {:?}", packet.ecn());
                    }
                }
            }
        }
    }
}

#[test]
fn a_full_queue_drops_ect_packets_too() {
    for name in algorithms() {
        let mut queue = queue(name, &[], 4, Signal::Ecn);
        let outcomes: Vec<_> =
            (0..5).map(|seq| queue.enqueue(Time::ZERO, Packet::data(0, seq, 1000).with_ecn(Ecn::Ect0))).collect();
        assert!(queue.len() <= 4 && queue.counters().dropped() >= 1, "{name}: {outcomes:?}");
    }
}

/// A packet that an AQM chooses to signal is dropped if it is not ECN-capable, marked if it is, and passes if it has CE.
#[test]
fn a_signal_drops_not_ect_marks_ect_and_passes_ce() {
    let expected = [EnqueueOutcome::Dropped, EnqueueOutcome::Marked, EnqueueOutcome::Marked, EnqueueOutcome::Marked];
    for (field, outcome) in FIELDS.into_iter().zip(expected) {
        // A virtual buffer of no packets signals every arrival.
        let mut queue = queue("avq", &[("buffer", 0.0)], 4, Signal::Ecn);
        assert_eq!(queue.enqueue(Time::ZERO, Packet::data(0, 0, 1000).with_ecn(field)), outcome, "{field:?}");
        let departed = queue.dequeue(Time::ZERO).map(|(packet, _)| packet.ecn());
        assert_eq!(departed, (field != Ecn::NotEct).then_some(Ecn::Ce), "{field:?}");
        assert_eq!(queue.counters().marked(), u64::from(field.is_ect()), "{field:?}: only new marks are counted");
    }
}
