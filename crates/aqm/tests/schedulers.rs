//! Bounds that the papers prove for schedulers, checked on running disciplines.

use marqueue_aqm::{Discipline, Env, Limit, Qdisc, Signal};
use marqueue_core::{Bytes, Dscp, Dur, Head, Packet, PolicySpec, Rate, Rng, Time, Value};
use proptest::prelude::*;
use std::collections::{BTreeMap, BTreeSet};

/// Bytes a second.
const C: f64 = 1e6;
const NS: f64 = 1e-9;
const WEIGHTS: [f64; 4] = [1.0, 1.5, 2.0, 4.0];

fn queue(name: &str, params: &[(&str, Value)], limit: Limit) -> Discipline {
    let env = Env {
        rate: Rate(8_000_000),
        mean_packet: Bytes(1000),
        limit,
        delay: Dur::ZERO,
        signal: Signal::Drop,
        densities: None,
    };
    let params = params.iter().map(|(k, v)| (k.to_string(), v.clone())).collect();
    Discipline::build(&PolicySpec { name: name.into(), params }, env, Rng::named(3, "schedulers"))
        .expect("valid parameters")
}

/// The code point that stands for a weight.
fn dscp(weight: usize) -> Dscp {
    Dscp::from_bits(8 * (weight as u8 + 1))
}

fn weights() -> Value {
    Value::Table((0..WEIGHTS.len()).map(|i| (dscp(i).value().to_string(), WEIGHTS[i])).collect())
}

fn packet(flow: u32, seq: u32, bytes: u32) -> Packet {
    Packet::data(flow, seq, bytes).with_head(Head::new(dscp(flow as usize % WEIGHTS.len()), 0))
}

fn weight(flow: u32) -> f64 {
    WEIGHTS[flow as usize % WEIGHTS.len()]
}

/// An arrival: nanoseconds since the one before, flow, bytes.
type Arrival = (u64, u32, u32);

/// When generalized processor sharing finishes each packet, in seconds. It serves all backlogged flows at once, in
/// proportion to their weights.
fn fluid_finishes(arrivals: &[Arrival]) -> Vec<f64> {
    let mut finishes = vec![0.0; arrivals.len()];
    let mut backlog: BTreeMap<u32, Vec<(usize, f64)>> = BTreeMap::new();
    let (mut now, mut next, mut at) = (0.0, 0, 0u64);
    loop {
        backlog.retain(|_, packets| !packets.is_empty());
        let total: f64 = backlog.keys().map(|&flow| weight(flow)).sum();
        let head = |(&flow, packets): (&u32, &Vec<(usize, f64)>)| packets[0].1 / (C * weight(flow) / total);
        let until_finish = backlog.iter().map(head).fold(f64::INFINITY, f64::min);
        let until_arrival = arrivals.get(next).map_or(f64::INFINITY, |a| (at + a.0) as f64 * NS - now);
        let step = until_finish.min(until_arrival);
        if step == f64::INFINITY {
            return finishes;
        }
        now += step;
        for (&flow, packets) in &mut backlog {
            packets[0].1 -= step * C * weight(flow) / total;
            if packets[0].1 <= 1e-6 {
                finishes[packets.remove(0).0] = now;
            }
        }
        if until_arrival <= until_finish {
            let (gap, flow, bytes) = arrivals[next];
            at += gap;
            backlog.entry(flow).or_default().push((next, f64::from(bytes)));
            next += 1;
        }
    }
}

/// When a link behind `queue` has sent each packet, in seconds.
fn sent_at(queue: &mut Discipline, arrivals: &[Arrival]) -> Vec<f64> {
    let mut sent = vec![0.0; arrivals.len()];
    let (mut at, mut free) = (0u64, 0u64);
    let mut serve = |queue: &mut Discipline, free: &mut u64, until: u64| {
        while *free <= until && !queue.is_empty() {
            let (packet, _) = queue.dequeue(Time(*free)).expect("a packet");
            *free += u64::from(packet.bytes()) * 1000;
            sent[packet.seq() as usize] = *free as f64 * NS;
        }
    };
    for (seq, &(gap, flow, bytes)) in arrivals.iter().enumerate() {
        at += gap;
        if gap > 0 {
            serve(queue, &mut free, at - 1);
        }
        free = free.max(at);
        queue.enqueue(Time(at), packet(flow, seq as u32, bytes));
    }
    serve(queue, &mut free, u64::MAX / 2);
    sent
}

fn arrivals() -> impl Strategy<Value = Vec<Arrival>> {
    let gap = prop_oneof![3 => Just(0u64), 5 => 0u64..2_000_000, 1 => 0u64..20_000_000];
    proptest::collection::vec((gap, 0u32..8, 40u32..1500), 1..150)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(100))]

    #[test]
    fn wfq_sends_no_packet_later_than_fluid_sharing_and_one_packet_more(arrivals in arrivals()) {
        // Parekh and Gallager 1993, theorem 1; and theorem 2, the same for the work done.
        let mut q = queue("wfq", &[("weights", weights())], Limit::Packets(1000));
        let (sent, fluid) = (sent_at(&mut q, &arrivals), fluid_finishes(&arrivals));
        let longest = f64::from(arrivals.iter().map(|a| a.2).max().unwrap_or(0)) / C;
        for (seq, (sent, fluid)) in sent.iter().zip(&fluid).enumerate() {
            prop_assert!(*sent > 0.0 && *sent <= fluid + longest + 1e-7, "packet {}: {} s, fluid {} s", seq, sent, fluid);
        }
        prop_assert_eq!(q.counters().dropped(), 0);
    }

    #[test]
    fn wfq_finishes_packets_that_are_all_there_in_the_order_of_fluid_sharing(
        packets in proptest::collection::vec((0u32..8, 40u32..1500), 1..80),
    ) {
        let arrivals: Vec<Arrival> = packets.into_iter().map(|(flow, bytes)| (0, flow, bytes)).collect();
        let mut q = queue("wfq", &[("weights", weights())], Limit::Packets(1000));
        let (sent, fluid) = (sent_at(&mut q, &arrivals), fluid_finishes(&arrivals));
        let mut order: Vec<usize> = (0..arrivals.len()).collect();
        order.sort_by(|&a, &b| sent[a].total_cmp(&sent[b]));
        for pair in order.windows(2) {
            prop_assert!(fluid[pair[0]] <= fluid[pair[1]] + 1e-7, "{:?} are out of order", pair);
        }
    }

    #[test]
    fn drr_serves_backlogged_queues_within_the_bound_of_its_fairness_measure(
        sizes in proptest::collection::vec((0u32..6, 40u32..1500), 200..400),
        quantum in 100.0f64..3000.0,
    ) {
        // Shreedhar and Varghese 1996, theorem 3: in any interval in which two flows are backlogged, what they sent,
        // each by its weight, differs by at most 2 Max + Quantum. All packets are queued at the start, so this holds in
        // every interval until a flow's queue is empty. The extremes of the difference give the largest over all of
        // them.
        let mut q = queue("drr", &[("weights", weights()), ("quantum", Value::Number(quantum))], Limit::Packets(1000));
        let mut left = [0u32; 6];
        for (seq, &(flow, bytes)) in sizes.iter().enumerate() {
            q.enqueue(Time::ZERO, packet(flow, seq as u32, bytes));
            left[flow as usize] += 1;
        }
        let longest = f64::from(sizes.iter().map(|s| s.1).max().unwrap_or(0));
        let mut sent = [0.0f64; 6];
        let mut extremes = [[(0.0f64, 0.0f64); 6]; 6];
        while let Some((packet, _)) = q.dequeue(Time::ZERO) {
            let flow = packet.flow() as usize;
            sent[flow] += f64::from(packet.bytes()) / weight(packet.flow());
            left[flow] -= 1;
            for (i, j) in (0..6).flat_map(|i| (0..6).map(move |j| (i, j))).filter(|&(i, j)| left[i] > 0 && left[j] > 0) {
                let (low, high) = &mut extremes[i][j];
                (*low, *high) = (low.min(sent[i] - sent[j]), high.max(sent[i] - sent[j]));
                prop_assert!(*high - *low <= 2.0 * longest + quantum + 1e-6, "flows {} and {}: {}", i, j, *high - *low);
            }
        }
    }
}

/// Bytes of each flow that pass an overloaded link. In each round flow i sends `share[i]` packets.
fn shares(name: &str, params: &[(&str, Value)], share: &[u32]) -> Vec<u64> {
    let mut q = queue(name, params, Limit::Packets(100));
    let mut served = vec![0; share.len()];
    let mut seq = 0;
    for round in 0..5_000u64 {
        for (flow, &n) in share.iter().enumerate() {
            for _ in 0..n {
                q.enqueue(Time(round * 3_000_000), packet(flow as u32, seq, 1000));
                seq += 1;
            }
        }
        for _ in 0..3 {
            let (packet, _) = q.dequeue(Time(round * 3_000_000)).expect("an overloaded link");
            served[packet.flow() as usize] += u64::from(packet.bytes());
        }
        q.drain_dropped();
    }
    served
}

#[test]
fn a_flood_takes_no_more_than_its_share_from_flows_that_send_less() {
    // Three packets a round are served. Flow 0 sends ten, the others one each. All of their packets pass, except some
    // that find the buffer full at the start.
    for name in ["sfq", "drr", "wfq", "fq_codel"] {
        let served = shares(name, &[], &[10, 1, 1]);
        for flow in [1, 2] {
            assert!(served[flow] >= 4_990_000, "{name}: flow {flow} got {} bytes through", served[flow]);
        }
    }
    // Under drop-tail the flood has nearly all.
    assert!(shares("droptail", &[], &[10, 1, 1])[0] > 11_250_000);
}

#[test]
fn weights_divide_an_overloaded_link() {
    // Flows 0 to 3 have weights 1, 1.5, 2 and 4.
    for name in ["drr", "wfq"] {
        let served = shares(name, &[("weights", weights())], &[3, 3, 3, 3]);
        let total: u64 = served.iter().sum();
        for (flow, &bytes) in served.iter().enumerate() {
            let expected = WEIGHTS[flow] / 8.5;
            let got = bytes as f64 / total as f64;
            assert!((got - expected).abs() < 1e-3, "{name}: flow {flow} got {got}, expected {expected}");
        }
    }
}

#[test]
fn a_reused_queue_index_starts_with_fresh_state() {
    // Two thousand flows one after the other, each with a queue while it has packets. Indices of queues are reused, and
    // a queue with a reused index starts with fresh state.
    for name in ["sfq", "drr", "wfq", "fq_codel"] {
        let mut q = queue(name, &[], Limit::Packets(1000));
        let mut order = Vec::new();
        for flow in 0..2_000u32 {
            let now = Time(u64::from(flow) * 2_000_000);
            q.enqueue(now, packet(flow, 2 * flow, 700));
            q.enqueue(now, packet(flow, 2 * flow + 1, 700));
            order.extend([q.dequeue(now), q.dequeue(now)].map(|p| p.expect("a packet").0.seq()));
            assert!(q.dequeue(now).is_none());
        }
        assert_eq!(order, (0..4_000).collect::<Vec<_>>(), "{name}");
    }
}

#[test]
fn the_next_flow_of_drr_has_its_turn_when_the_one_being_served_is_pushed_out() {
    let mut q = queue("drr", &[("quantum", Value::Number(1000.0))], Limit::Bytes(2000));
    for (seq, (flow, bytes)) in [(1, 400), (1, 1000), (2, 300), (3, 300)].into_iter().enumerate() {
        q.enqueue(Time(0), packet(flow, seq as u32, bytes));
    }
    let served = |q: &mut Discipline| q.dequeue(Time(0)).map(|(packet, _)| packet.flow());
    assert_eq!(served(&mut q), Some(1));
    // 700 bytes more than fit: the longest queue gives way, which is what flow 1 has left.
    q.enqueue(Time(0), packet(4, 9, 700));
    assert_eq!(q.drain_dropped().map(|(packet, _)| packet.flow()).collect::<Vec<_>>(), [1]);
    assert_eq!([(); 3].map(|()| served(&mut q)), [Some(2), Some(3), Some(4)]);
}

#[test]
fn fq_codel_serves_a_sparse_flow_before_ten_that_are_backlogged() {
    let mut q = queue("fq_codel", &[("queues", Value::Number(1e6))], Limit::Packets(10_000));
    for seq in 0..1000 {
        q.enqueue(Time::ZERO, packet(seq % 10, seq, 1514));
    }
    for _ in 0..30 {
        q.dequeue(Time(1));
    }
    q.enqueue(Time(2), packet(99, 1000, 100));
    assert_eq!(q.dequeue(Time(2)).map(|(p, _)| p.flow()), Some(99));
    let others: BTreeSet<u32> = (0..10).filter_map(|_| q.dequeue(Time(2))).map(|(p, _)| p.flow()).collect();
    assert_eq!(others.len(), 10, "then a turn of all others");
}
