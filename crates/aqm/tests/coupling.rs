//! DualPI2's coupling: Classic packets are signalled with p_C = (p_CL / k)^2, L4S packets with p_CL, measured by many
//! packets (RFC 9332, sections 2.1 and 2.5.1.1), and the share that the scheduler leaves to Classic packets.

use marqueue_aqm::{Discipline, Env, Limit, Qdisc, Signal};
use marqueue_core::{Bytes, Dscp, Dur, Ecn, Head, Packet, PolicySpec, Rate, Rng, Time, Value};

const TICK: Dur = Dur(1_000_000);

fn queue(params: &[(&str, Value)]) -> Discipline {
    let env = Env {
        rate: Rate(24_000_000),
        mean_packet: Bytes(1000),
        limit: Limit::Packets(10_000),
        delay: Dur::ZERO,
        signal: Signal::Ecn,
        densities: None,
    };
    let params = params.iter().map(|(k, v)| (k.to_string(), v.clone())).collect();
    let spec = PolicySpec { name: "dualpi2".into(), params };
    Discipline::build(&spec, env, Rng::named(3, "coupling")).expect("valid parameters")
}

/// No native signals, no overload, and a probability that follows the delay of a standing queue: p' = 30 d.
fn coupled(likelihood: &str, more: &[(&str, Value)]) -> Discipline {
    let given = [
        ("likelihood", Value::Choice(likelihood.into())),
        ("min_th", Value::Number(100.0)),
        ("alpha", Value::Number(0.0)),
        ("beta", Value::Number(30.0)),
        ("c_protection", Value::Number(0.5)),
    ];
    queue(&[&given[..], more].concat())
}

/// What happened to packets of one kind, and the sums of probabilities that they should have met.
#[derive(Clone, Copy, Debug, Default)]
struct Kind {
    packets: f64,
    signalled: f64,
    coupled: f64,
    classic: f64,
}

/// Holds `standing` packets in the queue, of the given kinds in turn, for `rounds` packets of each.
fn measure(queue: &mut Discipline, kinds: &[(Ecn, Dscp)], standing: u32, rounds: u32) -> Vec<Kind> {
    let mut measured = vec![Kind::default(); kinds.len()];
    let (mut now, mut seq) = (Time::ZERO, 0u32);
    for _ in 0..rounds {
        now += TICK;
        while queue.next_timer() <= now {
            let due = queue.next_timer();
            queue.on_timer(due);
        }
        for &(ecn, dscp) in kinds {
            queue.enqueue(now, Packet::data(0, seq, 1000).with_head(Head::new(dscp, 0).with_ecn(ecn)));
            seq += 1;
        }
        while queue.len() > standing {
            let mut p = Vec::new();
            queue.probe(now, &mut p);
            let departed = queue.dequeue(now).map(|(packet, _)| packet);
            let dropped: Vec<Packet> = queue.drain_dropped().map(|(packet, _)| packet).collect();
            for (packet, dropped) in departed.iter().map(|p| (p, false)).chain(dropped.iter().map(|p| (p, true))) {
                let which = packet.seq() as usize % kinds.len();
                let kind = &mut measured[which];
                kind.packets += 1.0;
                kind.signalled += f64::from(u8::from(dropped || packet.ecn() != kinds[which].0));
                kind.classic += p[1];
                kind.coupled += p[2];
            }
        }
    }
    measured
}

/// Are `signals` as many as `expected`, up to five standard deviations of independent draws?
fn assert_close(signals: f64, expected: f64, what: &str) {
    assert!((signals - expected).abs() < 5.0 * expected.sqrt(), "{what}: {signals} signals, expected {expected}");
}

#[test]
fn classic_signals_have_the_square_of_the_coupled_probability() {
    for (likelihood, k) in [("recurrent", 2.0), ("random", 2.0), ("random", 1.0)] {
        let mut queue = coupled(likelihood, &[("k", Value::Number(k))]);
        let kinds = [Ecn::Ect1, Ecn::Ect0, Ecn::NotEct].map(|ecn| (ecn, Dscp::default()));
        let [l4s, ect0, not_ect] = measure(&mut queue, &kinds, 30, 20_000).try_into().unwrap();
        assert!(l4s.signalled > 2_000.0 && not_ect.signalled > 200.0, "{l4s:?} {not_ect:?}");
        assert_close(l4s.signalled, l4s.coupled, "ECT(1)");
        assert_close(ect0.signalled + not_ect.signalled, ect0.classic + not_ect.classic, "Classic");
        // p' hardly changes, so that the square of the mean is the mean of the square, up to 2 %.
        let (p_cl, p_c) = (l4s.coupled / l4s.packets, ect0.classic / ect0.packets);
        let root = p_cl / k;
        assert!((p_c / (root * root) - 1.0).abs() < 0.02, "{p_c} and {p_cl}");
    }
}

#[test]
fn packets_in_the_other_queue_get_the_probability_of_their_field() {
    let (ef, af) = (Dscp::parse("EF").unwrap(), Dscp::parse("AF11").unwrap());
    let sides = Value::Table([("EF".to_string(), 1.0), ("AF11".to_string(), 0.0)].into());
    let mut queue = coupled("random", &[("sides", sides)]);
    let kinds = [(Ecn::Ect0, ef), (Ecn::NotEct, ef), (Ecn::Ect1, af), (Ecn::Ect0, af)];
    let measured = measure(&mut queue, &kinds, 30, 20_000);
    // In the L queue (p_CL / k)^2 = p_C for both, in the C queue p_CL for ECT(1).
    for (kind, what) in [(0, "ECT(0) in L"), (1, "not ECN-capable in L"), (3, "ECT(0) in C")] {
        assert_close(measured[kind].signalled, measured[kind].classic, what);
    }
    assert_close(measured[2].signalled, measured[2].coupled, "ECT(1) in C");
}

#[test]
fn nothing_is_signalled_while_less_than_the_exempt_bytes_are_queued() {
    let mut queue = coupled("random", &[("exempt", Value::Number(100.0))]);
    let kinds = [Ecn::Ect1, Ecn::NotEct].map(|ecn| (ecn, Dscp::default()));
    let measured = measure(&mut queue, &kinds, 30, 2_000);
    assert!(measured[0].coupled > 500.0, "there is a probability: {measured:?}");
    assert_eq!(measured.iter().map(|kind| kind.signalled).sum::<f64>(), 0.0);
}

/// Both queues always hold packets; nothing is dropped by the AQM, whose gains are too small.
#[test]
fn classic_traffic_gets_its_share_beside_a_flood_of_l4s_packets() {
    for weight in [0.0625, 0.1, 0.25] {
        let tiny = Value::Number(1e-9);
        let mut queue = queue(&[("c_protection", Value::Number(weight)), ("alpha", tiny.clone()), ("beta", tiny)]);
        for seq in 0..8_000 {
            let ecn = if seq % 2 == 0 { Ecn::Ect1 } else { Ecn::NotEct };
            queue.enqueue(Time::ZERO, Packet::data(0, seq, 1000).with_ecn(ecn));
        }
        let departed = (0..4_000).filter_map(|_| queue.dequeue(Time::ZERO));
        let classic = departed.filter(|(packet, _)| packet.seq() % 2 == 1).count() as f64;
        // The credit is at most one packet away from its balance.
        assert!((classic - 4_000.0 * weight).abs() <= 2.0, "{classic} of 4000 at a weight of {weight}");
    }
}
