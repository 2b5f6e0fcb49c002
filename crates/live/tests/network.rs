//! The network with time as an argument: it gives the simulator's results for the same packets, and survives malformed
//! ones.

use marqueue_core::params::{ParamValues, PolicySpec, Value};
use marqueue_core::{Bytes, Dur, Ecn, Flags, Head, Hz, MicroCycles, Packet, Rate, Rng, Signals, Time};
use marqueue_live::header::{write_ecn, Header, Kind};
use marqueue_live::network::{End, Network};
use marqueue_live::packet_pool::PacketPool;
use marqueue_sim::plan::{CpuPlan, LinkPlan, PipePlan, Plan, QueuePlan, RoutePlan, TrafficKind, TrafficPlan, WorkPlan};
use marqueue_sim::programs::NoPrograms;
use marqueue_sim::{run, Control};

const SECOND: u64 = 1_000_000_000;

fn policy(name: &str, params: &[(&str, f64)]) -> PolicySpec {
    let params: ParamValues = params.iter().map(|&(k, v)| (k.to_string(), Value::Number(v))).collect();
    PolicySpec { name: name.into(), params }
}

fn link(name: &str, rate: u64, delay: u64, aqm: Option<&str>) -> LinkPlan {
    LinkPlan {
        name: name.into(),
        rate: Rate(rate),
        delay: Dur(delay),
        queue: aqm.map(|aqm| QueuePlan {
            policy: policy(aqm, &[]),
            limit: marqueue_aqm::Limit::Packets(50),
            signal: marqueue_aqm::Signal::Ecn,
            mean_packet: Bytes(1000),
            router: None,
        }),
        schedule: Vec::new(),
        delivery_opportunities: Vec::new(),
        medium: None,
        trace: false,
        pipe: PipePlan::default(),
        cpu: None,
        per_flow: None,
        model: None,
    }
}

/// Two queues in series forward, a wire back.
fn plan(aqm: &str) -> Plan {
    Plan {
        duration: Time(2 * SECOND),
        boundaries: vec![Time(SECOND / 2)],
        sample: Dur(SECOND / 10),
        links: vec![
            link("first", 10_000_000, 3_000_000, Some(aqm)),
            link("second", 9_000_000, 0, Some(aqm)),
            link("back", 10_000_000, 5_000_000, None),
        ],
        routes: vec![RoutePlan { forward: vec![0, 1], reverse: vec![2] }],
        transports: Vec::new(),
        traffic: Vec::new(),
        reuse_slots_above: Plan::reuse_slots_above(),
    }
}

/// The arrivals at the first link in the simulator: time and bytes.
fn first_link_arrivals(plan: &Plan) -> Vec<(Time, u32)> {
    let mut traced = plan.clone();
    traced.links[0].trace = true;
    let result = run(&traced, 7, &Control::default()).expect("a plan that runs");
    let arrives = marqueue_sim::trace::TraceKind::Arrive as u8;
    let rows = &result.traces[0].1.rows;
    rows.iter().filter(|r| r.kind as u8 == arrives).map(|r| (r.t, r.packet.bytes())).collect()
}

#[test]
fn measurements_equal_those_of_the_simulator() {
    for entry in marqueue_aqm::catalogue() {
        let mut plan = plan(entry.name);
        if Network::new(&plan, 7, &NoPrograms).is_err() {
            continue; // An AQM with required parameters.
        }
        plan.links[1].pipe.jitter = Some(policy("", &[("mean", 0.002)]).params);
        let kind = TrafficKind::Packets {
            route: 0,
            rate: 1250.0,
            packet: Bytes(1000),
            size: marqueue_sim::plan::SizeLaw::Constant,
            start: Time::ZERO,
            stop: None,
            ecn: Default::default(),
        };
        let group = TrafficPlan { name: "p".into(), dscp: 0, class: 0, kind };
        let simulated = Plan { traffic: vec![group], ..plan.clone() };
        let expected = run(&simulated, 7, &Control::default()).unwrap();
        let mut network = Network::new(&plan, 7, &NoPrograms).unwrap();
        for (t, bytes) in first_link_arrivals(&simulated) {
            network.enter(t, End::Near, 0, Packet::data(0, 0, bytes));
        }
        let (links, pipes) = network.finish(plan.duration);
        assert_eq!(links.len(), 2);
        for (l, (ours, theirs)) in links.iter().zip(&expected.links).enumerate() {
            for (a, b) in ours.windows.iter().zip(&theirs.windows) {
                assert_eq!(a.counters, b.counters, "{} at {l}", entry.name);
                assert_eq!(a.queue_times, b.queue_times, "{} at {l}", entry.name);
                assert_eq!(a.delay_sum, b.delay_sum, "{} at {l}", entry.name);
            }
            assert_eq!(ours.series.queue, theirs.series.queue, "{} at {l}", entry.name);
        }
        assert_eq!(pipes[0].windows, expected.pipes[0].windows, "{}", entry.name);
    }
}

#[test]
fn a_cpu_processes_packets_by_class_as_in_the_simulator() {
    let mut plan = plan("drq");
    let work = |per_bit, density| WorkPlan { per_bit: MicroCycles(per_bit), per_packet: MicroCycles(0), density };
    // At 1250 packets of 8000 bits a second, 5 of 10 Mcycles/s for class 0 and as much again for class 1.
    plan.links[0].cpu = Some(CpuPlan {
        clock: Hz(10_000_000),
        cores: 1,
        work: vec![work(500_000, 0.5), work(1_000_000, 1.0)],
        lambda: None,
    });
    plan.links[0].delay = Dur::ZERO;
    let group = |name: &str, class, rate| TrafficPlan {
        name: name.into(),
        dscp: 0,
        class,
        kind: TrafficKind::Packets {
            route: 0,
            rate,
            packet: Bytes(1000),
            size: marqueue_sim::plan::SizeLaw::Constant,
            start: Time::ZERO,
            stop: None,
            ecn: Default::default(),
        },
    };
    plan.traffic = vec![group("light", 0, 1250.0), group("heavy", 1, 625.0)];
    let mut traced = plan.clone();
    traced.links[0].trace = true;
    let expected = run(&traced, 7, &Control::default()).expect("a plan that runs");
    let mut network = Network::new(&plan, 7, &NoPrograms).unwrap();
    for row in &expected.traces[0].1.rows {
        if row.kind as u8 == marqueue_sim::trace::TraceKind::Arrive as u8 {
            let (packet, class) = (row.packet, row.packet.class());
            let packet = Packet::data(0, 0, packet.bytes()).with_head(Head::new(packet.dscp(), class));
            network.enter(row.t, End::Near, 0, packet);
        }
    }
    let (links, _) = network.finish(plan.duration);
    for (a, b) in links[0].windows.iter().zip(&expected.links[0].windows) {
        assert_eq!(a.counters, b.counters);
        assert_eq!(a.delay_sum, b.delay_sum);
        assert_eq!(a.used_by_class, b.used_by_class);
        assert_eq!(a.used_by_class.len(), 2);
    }
}

#[test]
fn prices_are_written_for_packets_that_have_room_for_them() {
    let mut plan = plan("droptail");
    plan.links[1].queue.as_mut().unwrap().policy = policy("mkc", &[("delta", 0.1)]);
    let mut network = Network::new(&plan, 1, &NoPrograms).unwrap();
    let packet = Packet::data(0, 0, 1000).with_head(Head::default().with(Flags::SIGNALS));
    let sent = Signals::for_max_price(17);
    for n in 0..1000u64 {
        let slot = (n % 4) as u32;
        network.set_signals(slot, sent);
        network.enter(Time(n * 1_000_000), End::Near, 0, packet.with_options(slot));
    }
    network.advance(Time(2 * SECOND));
    // 8 Mbit/s at a link of 9: p = (X - C)/X after each interval; the first queue has no price.
    let Signals { price, usr } = network.signals(3);
    assert_eq!((price.router, price.delta, usr), (1, 0.1, 17));
    assert!((price.p + 0.125).abs() < 0.02, "{price:?}");
}

#[test]
fn packets_leave_exactly_when_they_are_due() {
    let mut network = Network::new(&plan("droptail"), 1, &NoPrograms).unwrap();
    network.enter(Time(100), End::Near, 0, Packet::data(0, 0, 1000));
    network.enter(Time(100), End::Far, 0, Packet::data(0, 0, 500));
    // 800 us at 10 Mbit/s, 3 ms, and 8000/9 us at 9 Mbit/s, rounded down.
    let due = [Time(100 + 400_000 + 5_000_000), Time(100 + 800_000 + 3_000_000 + 888_888)];
    let mut seen = Vec::new();
    while network.in_flight() > 0 {
        let next = network.next_due();
        network.advance(Time(next.0 - 1));
        assert!(network.exits.is_empty(), "before it was due");
        network.advance(next);
        seen.extend(network.exits.drain(..).map(|exit| (exit.due, exit.end)));
    }
    seen.sort_by_key(|s| s.0);
    assert_eq!(seen, [(due[1], End::Far), (due[0], End::Near)]);
}

#[test]
fn packets_leave_at_delivery_opportunities() {
    let mut plan = plan("droptail");
    plan.links[1] = LinkPlan {
        delay: Dur(7),
        delivery_opportunities: vec![Dur(20_000_000), Dur(50_000_000)],
        ..plan.links[1].clone()
    };
    let mut network = Network::new(&plan, 1, &NoPrograms).unwrap();
    (0..3).for_each(|n| network.enter(Time(n), End::Near, 0, Packet::data(0, 0, 1000)));
    network.advance(Time(SECOND));
    // The second packet takes the last 504 bytes of the first instant and 496 of the second; the third fits into the
    // rest.
    let due: Vec<_> = network.exits.iter().map(|exit| exit.due).collect();
    assert_eq!(due, [Time(20_000_007), Time(50_000_007), Time(50_000_007)]);
}

/// Bytes at the start of a packet that are random; the rest is what the buffer held before.
const HEADERS: usize = 72;

/// Writes random bytes, or a header with some valid fields. Returns the length.
fn malformed_packet(rng: &mut Rng, buffer: &mut [u8]) -> usize {
    let bytes = (rng.bits() as usize >> 8) % buffer.len() + 1;
    for chunk in buffer[..bytes.min(HEADERS)].chunks_mut(8) {
        let n = chunk.len();
        chunk.copy_from_slice(&rng.bits().to_le_bytes()[..n]);
    }
    match rng.bits() >> 61 {
        0..=2 => buffer[0] = 0x40 | (buffer[0] & 0xf),
        3..=5 => buffer[0] = 0x60 | (buffer[0] & 0xf),
        _ => {}
    }
    if rng.bits() >> 63 == 0 && bytes >= 20 {
        (buffer[0], buffer[2], buffer[3]) = (0x45, (bytes >> 8) as u8, bytes as u8);
    }
    if rng.bits() >> 63 == 0 && bytes >= 48 && buffer[0] >> 4 == 6 {
        buffer[4..6].copy_from_slice(&((bytes - 40) as u16).to_be_bytes());
        buffer[6] = [0, 43, 44, 51, 60, 6, 17][rng.bits() as usize % 7];
    }
    bytes
}

/// A million malformed packets: each leaves unchanged but for its mark, or is lost and counted. Each slot of the pool
/// holds exactly one packet of the network.
#[test]
fn malformed_packets_are_forwarded_or_counted() {
    let mut plan = plan("avq");
    plan.links[0].rate = Rate(1_000_000_000);
    plan.links[1].rate = Rate(500_000_000);
    plan.links[2].rate = Rate(1_000_000_000);
    plan.links[0].pipe.loss = Some(policy("random", &[("probability", 0.01)]));
    plan.duration = Time(1 << 62);
    let mut network = Network::new(&plan, 3, &NoPrograms).unwrap();
    let (mut pool, mut rng) = (PacketPool::new(1500, 600 * 1500), Rng::named(3, "nonsense"));
    let mut kinds = vec![(Kind::Other, Ecn::NotEct, 0u64); 1024];
    let (mut received, mut sent, mut lost, mut full, mut marked, mut ip) = (0u64, 0u64, 0u64, 0u64, 0u64, 0u64);
    let sum = |bytes: &[u8]| {
        bytes[..bytes.len().min(HEADERS)].iter().fold(bytes.len() as u64, |s, &b| s.wrapping_mul(31) ^ u64::from(b))
    };
    for n in 0..1_000_000u64 {
        let now = Time(n * 7_000);
        if let Some((slot, buffer)) = pool.allocate() {
            let bytes = malformed_packet(&mut rng, buffer);
            let header = Header::read(&buffer[..bytes], 1);
            kinds[slot as usize] = (header.kind, header.ecn, sum(&buffer[..bytes]));
            pool.set_length(slot, bytes);
            ip += u64::from(header.kind != Kind::Other);
            let head = Head::new(header.dscp, 0).with_ecn(header.ecn);
            let packet = Packet::data(header.flow, 0, bytes as u32).with_head(head).with_options(slot);
            let end = if n % 3 == 0 { End::Far } else { End::Near };
            network.enter(now, end, 0, packet);
            received += 1;
        } else {
            network.advance(now);
            full += 1;
        }
        for exit in network.exits.drain(..) {
            let (slot, packet) = (exit.packet.options(), exit.packet);
            let (kind, ecn, before) = kinds[slot as usize];
            assert!(exit.due <= now);
            if packet.ecn() == ecn {
                assert_eq!(sum(pool.packet_mut(slot)), before);
            } else {
                write_ecn(pool.packet_mut(slot), kind, packet.ecn());
                assert_eq!((Header::read(pool.packet_mut(slot), 1).ecn, kind == Kind::Other), (Ecn::Ce, false));
                marked += 1;
            }
            pool.free(slot);
            sent += 1;
        }
        for packet in network.lost.drain(..) {
            pool.free(packet.options());
            lost += 1;
        }
        if n % 1000 == 0 {
            assert_eq!(pool.used(), network.in_flight(), "each used slot holds a packet of the network");
        }
    }
    assert_eq!(received, sent + lost + network.in_flight() as u64);
    assert_eq!(received + full, 1_000_000);
    assert!(lost > 1000 && marked > 1000 && full > 0 && ip > 100_000, "{lost} {marked} {ip} {full}");
}

/// Every sample is shared once, with the delays of the packets since the previous one.
#[test]
fn shared_samples_cover_the_run_and_leave_the_result() {
    let plan = plan("red");
    let mut network = Network::new(&plan, 7, &NoPrograms).expect("a plan that runs");
    let shared = network.share_samples();
    // One packet a millisecond for half a second. The service times are 0.8 ms and 0.89 ms, so no packet waits.
    for ms in 0..500u64 {
        let packet = Packet::data(1, 0, 1000);
        network.enter(Time(ms * 1_000_000), End::Near, 0, packet);
    }
    network.advance(Time(SECOND));
    let samples = std::mem::take(&mut *shared.lock().expect("nobody panicked"));
    let first: Vec<_> = samples.iter().filter(|sample| sample.link == 0).collect();
    assert_eq!((samples.len(), first.len()), (20, 10));
    for (n, sample) in first.iter().enumerate() {
        assert_eq!(sample.series.t, [(n + 1) as f64 / 10.0]);
        let (rate, delay) = if n < 5 { (8e6, Some([0.0, 0.0])) } else { (0.0, None) };
        // One packet more or less, by where the interval is cut.
        assert!((sample.rate - rate).abs() <= 80e3, "{sample:?}");
        assert_eq!(sample.delay, delay, "{sample:?}");
    }
    network.advance(Time(SECOND * 3 / 2));
    let (links, _) = network.finish(Time(SECOND * 3 / 2));
    assert_eq!(shared.lock().expect("nobody panicked").len(), 10);
    assert!(links.iter().all(|link| link.series.t.is_empty()));
}
