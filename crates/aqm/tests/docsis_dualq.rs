//! What the dual queue of Low Latency DOCSIS is for: shares of both queues, and the delay of the low-latency queue beside
//! a flow that ignores its marks.

use marqueue_aqm::{Discipline, Env, Limit, Qdisc, Signal};
use marqueue_core::{Bytes, Dur, Ecn, Packet, PolicySpec, Rate, Rng, Time};

fn queue(name: &str) -> Discipline {
    let env = Env {
        rate: Rate(10_000_000),
        mean_packet: Bytes(1000),
        limit: Limit::Packets(10_000),
        delay: Dur::ZERO,
        signal: Signal::Ecn,
        densities: None,
    };
    let spec = PolicySpec { name: name.into(), params: Default::default() };
    Discipline::build(&spec, env, Rng::named(3, "docsis")).expect("the defaults are valid")
}

/// Packets of both queues arrive as fast as they depart, in pairs, so that both always hold some.
#[test]
fn the_low_latency_queue_has_230_of_256_parts() {
    let mut queue = queue("docsis_dualq_unprotected");
    let (mut seq, mut classic) = (0, 0);
    for sent in 0..4_000 {
        // Ten packets of each are less than the low-latency queue's 20 frames of 2000 bytes and the Classic third.
        let probes = |queue: &Discipline| {
            let mut values = Vec::new();
            queue.probe(Time::ZERO, &mut values);
            [values[4], values[5]]
        };
        for (side, ecn) in [Ecn::Ect1, Ecn::NotEct].into_iter().enumerate() {
            while probes(&queue)[side] < 10.0 {
                queue.enqueue(Time::ZERO, Packet::data(side as u32, seq, 1000).with_ecn(ecn));
                seq += 1;
            }
        }
        let (packet, _) = queue.dequeue(Time::ZERO).expect("both hold packets");
        classic += u32::from(packet.flow() == 1);
        assert!(classic.abs_diff((sent + 1) * 26 / 256) <= 2, "{classic} of {sent}");
    }
}

/// The largest sojourn time of a flow of 0.4 Mbit/s beside one of 12 Mbit/s, both ECT(1), at 10 Mbit/s for 4 s, and how many
/// packets it lost.
fn beside_a_flood(name: &str) -> (Dur, u32) {
    let mut queue = queue(name);
    let (mut worst, mut lost, mut arrivals) = (Dur::ZERO, 0, Vec::new());
    arrivals.extend((0..6_000_u64).map(|i| (Time(i * 666_667), 1)));
    arrivals.extend((0..200_u64).map(|i| (Time(i * 20_000_000 + 5), 2)));
    arrivals.sort_unstable_by_key(|&(at, flow)| (at, flow));
    let mut free = Time::ZERO;
    for (seq, (now, flow)) in arrivals.into_iter().enumerate() {
        while free <= now {
            while queue.next_timer() <= free {
                let due = queue.next_timer();
                queue.on_timer(due);
            }
            match queue.dequeue(free) {
                Some((packet, sojourn)) if packet.flow() == 2 => worst = worst.max(sojourn),
                Some(_) => {}
                // The next departure is after this arrival.
                None => free = now,
            }
            free += Dur(800_000);
        }
        queue.enqueue(now, Packet::data(flow, seq as u32, 1000).with_ecn(Ecn::Ect1));
        lost += queue.drain_dropped().filter(|(packet, _)| packet.flow() == 2).count() as u32;
    }
    (worst, lost)
}

/// MAXTH is 2 x 2000 B x 8 / 10 Mbit/s + 2^19 ns = 3.724 ms here.
#[test]
fn a_flood_of_l4s_packets_delays_others_only_without_protection() {
    let (protected, lost) = beside_a_flood("docsis_dualq");
    assert!(protected < Dur(2 * 3_724_288) && lost == 0, "{protected:?}, {lost} lost");
    // Without it the queue is as long as its buffer of 40000 B allows: 32 ms less the frame that it keeps free.
    let (unprotected, _) = beside_a_flood("docsis_dualq_unprotected");
    assert!(unprotected > Dur(25_000_000) && unprotected < Dur(32_000_000), "{unprotected:?}");
}
