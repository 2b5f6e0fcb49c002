//! Tests of CPUs on a path: processing times, order of packets, and equal results of all event schemes.

#![allow(clippy::disallowed_methods, reason = "tests may use the platform's functions")]

mod common;

use common::*;
use marqueue_aqm::Signal;
use marqueue_core::params::ParamValues;
use marqueue_core::{Bytes, Dur, Hz, MicroCycles, Rate, Time};
use marqueue_sim::plan::*;
use marqueue_sim::result::RunResult;
use marqueue_sim::trace::TraceKind;

fn work(per_bit: f64, per_packet: f64) -> WorkPlan {
    let micro = |cycles: f64| MicroCycles((cycles * 1e6) as u64);
    WorkPlan { per_bit: micro(per_bit), per_packet: micro(per_packet), density: per_bit }
}

/// A traced CPU with a mean density of 1 cycle a bit.
fn cpu(name: &str, clock: u64, cores: u32, work: &[WorkPlan], queue: QueuePlan) -> LinkPlan {
    let cpu = CpuPlan { clock: Hz(clock), cores, work: work.to_vec(), lambda: None };
    let rate = clock * u64::from(cores);
    LinkPlan { trace: true, cpu: Some(cpu), ..link(name, rate, Dur::ZERO, Some(queue)) }
}

fn droptail(limit: u32) -> QueuePlan {
    queue("droptail", ParamValues::new(), limit, Signal::Drop)
}

/// Packets of constant size at constant gaps.
fn cbr(name: &str, class: u8, rate: u64, packet: u64, start: Time, stop: Time) -> TrafficPlan {
    let (packet, rate) = (Bytes(packet), Rate(rate));
    let kind = TrafficKind::Cbr {
        route: 0,
        count: 1,
        rate,
        packet,
        start,
        jitter: Dur::ZERO,
        stop: Some(stop),
        ecn: Default::default(),
    };
    TrafficPlan { name: name.into(), dscp: 0, class, kind }
}

fn plan(links: Vec<LinkPlan>, traffic: Vec<TrafficPlan>, duration: f64) -> Plan {
    Plan {
        duration: secs(duration),
        boundaries: Vec::new(),
        sample: Dur::ZERO,
        routes: vec![RoutePlan { forward: (0..links.len()).collect(), reverse: Vec::new() }],
        links,
        transports: Vec::new(),
        traffic,
        reuse_slots_above: Plan::reuse_slots_above(),
    }
}

/// The arrivals at the queue of the `l`-th traced link: time, flow, sequence number.
fn arrivals(r: &RunResult, l: usize) -> Vec<(u64, u32, u32)> {
    let rows = r.traces[l].1.rows.iter().filter(|row| row.kind == TraceKind::Arrive);
    rows.map(|row| (row.t.0, row.packet.flow(), row.packet.seq())).collect()
}

#[test]
fn processing_times_of_a_busy_period_are_exact() {
    // 1000 bytes at 0.25 cycles a bit and 1000 cycles a packet are 3000 cycles: 428 571 3/7 ns at 7 Mcycles/s. Packets
    // arrive every 100 us, so the CPU is never idle, and the n-th leaves after n * 3000/7e6 s, rounded down to ns.
    let cpu = cpu("cpu", 7_000_000, 1, &[work(0.25, 1000.0)], droptail(1000));
    let behind = LinkPlan { trace: true, ..link("behind", 1_000_000_000, Dur::ZERO, Some(droptail(10))) };
    let traffic = vec![cbr("cbr", 0, 80_000_000, 1000, Time::ZERO, secs(0.05))];
    let r = go(&plan(vec![cpu, behind], traffic, 1.0), 1);
    let times = arrivals(&r, 1);
    assert_eq!(times.len(), 500);
    for (i, &(t, _, seq)) in times.iter().enumerate() {
        let exact = (i as u64 + 1) * 3_000_000_000_000 / 7_000_000;
        assert_eq!((t, seq), (exact, i as u32));
    }
    let w = &r.links[0].windows[0];
    assert!((w.used - 500.0 * 3000.0).abs() < 1e-3, "cycles spent: {}", w.used);
    assert!((w.capacity - 7e6).abs() < 1e-3);
    assert_eq!(w.used_by_class, [w.used]);
    assert_eq!(r.links[1].windows[0].used_by_class, [500.0 * 8000.0], "bits at the link");
}

#[test]
fn cores_serve_one_queue_and_short_packets_overtake_long_ones() {
    // Two cores: a packet of 10 ms at t = 0, then packets of 2 ms every millisecond. The second core serves these alone
    // until the first is free at 10 ms.
    let cpu = cpu("cpu", 1_000_000, 2, &[work(0.0, 10_000.0), work(0.0, 2000.0)], droptail(1000));
    let behind = LinkPlan { trace: true, ..link("behind", 1_000_000_000, Dur::ZERO, Some(droptail(10))) };
    let traffic = vec![
        cbr("long", 0, 8_000, 1000, Time::ZERO, Time(1)),
        cbr("short", 1, 8_000_000, 1000, Time(1_000_000), Time(12_000_001)),
    ];
    let r = go(&plan(vec![cpu, behind], traffic, 1.0), 1);
    let got: Vec<_> = arrivals(&r, 1).into_iter().map(|(t, flow, seq)| (t / 1_000_000, flow, seq)).collect();
    let shorts = [3, 5, 7, 9, 11, 12, 13, 14, 15, 16, 17, 18];
    let mut expected: Vec<_> = shorts.iter().enumerate().map(|(i, &ms)| (ms, 1, i as u32)).collect();
    expected.insert(4, (10, 0, 0));
    assert_eq!(got, expected);
    let cycles = r.links[0].windows[0].used;
    assert!((cycles - (10_000.0 + 12.0 * 2000.0)).abs() < 1e-6);
}

/// M/M/c: the mean number of waiting packets by Erlang's formula C.
#[test]
fn waiting_at_several_cores_follows_erlang_c() {
    let (cores, load) = (3.0_f64, 2.4_f64);
    let kind = TrafficKind::Packets {
        route: 0,
        rate: 300.0 * load,
        packet: Bytes(4000),
        size: SizeLaw::Exponential,
        start: Time::ZERO,
        stop: None,
        ecn: Default::default(),
    };
    let traffic = vec![TrafficPlan { name: "packets".into(), dscp: 0, class: 0, kind }];
    // A mean of 32000 cycles a packet at 9.6 Mcycles/s: 300 packets a second for each core.
    let mut cpu = cpu("cpu", 9_600_000, 3, &[work(1.0, 0.0)], droptail(u32::MAX));
    cpu.trace = false;
    let mut plan = plan(vec![cpu], traffic, 155.0);
    plan.boundaries = vec![secs(5.0)];
    let powers = [1.0, load, load * load / 2.0];
    let last = load.powi(3) / 6.0 * cores / (cores - load);
    let waiting = last / (powers.iter().sum::<f64>() + last) * load / (cores - load);
    // Standard error of the mean of M/M/1-like queues (Whitt 1989): about L sqrt(4/(n (1-rho)^2)) for n
    // services: 2.6 * sqrt(4/(1.1e5 * 0.04)) = 0.08. Four are allowed. One fast server would have 3.2 waiting.
    let got = mean_queue(&go(&plan, 1).links[0].windows[1]);
    assert!((got - waiting).abs() < 0.32, "{got} packets wait, Erlang C says {waiting}");
}

/// RED in front of a CPU of several classes, traced.
fn red_cpu(name: &str, clock: u64, cores: u32) -> LinkPlan {
    let queue = queue("drq", values(&[("min_th", 3.0), ("max_th", 15.0), ("w_q", 0.1)]), 40, Signal::Ecn);
    cpu(name, clock, cores, &[work(0.5, 0.0), work(2.0, 100.0), work(0.0, 0.0)], queue)
}

/// Two sources at different distances in each direction, over CPUs and links alternately.
fn network(cores: u32, links_between: bool) -> Plan {
    let mut links = vec![red_cpu("first cpu", 4_000_000, cores), red_cpu("second cpu", 5_000_000, 1)];
    let red = queue("red", values(&[("min_th", 5.0), ("max_th", 15.0)]), 40, Signal::Ecn);
    links.push(LinkPlan { trace: true, ..link("link", 4_000_000, ms(2.0), Some(red)) });
    links.push(link("wire", 50_000_000, ms(3.0), None));
    let mut routes = Vec::new();
    for delay in [1.0, 1.0, 9.0, 0.0] {
        let first = links.len();
        for end in ["in", "out", "out back", "in back"] {
            links.push(link(&format!("{end} {first}"), 100_000_000, ms(delay), None));
        }
        let middle = if links_between { vec![0, 3, 1, 2] } else { vec![0, 1, 2] };
        let forward = [first].into_iter().chain(middle).chain([first + 1]).collect();
        // CPUs process the acknowledgements of some flows too.
        let reverse = if delay > 1.0 { vec![first + 2, 1, first + 3] } else { vec![first + 2, first + 3] };
        routes.push(RoutePlan { forward, reverse });
    }
    let traffic = (0..routes.len())
        .map(|r| TrafficPlan { class: (r % 3) as u8, ..tcp(&format!("flows {r}"), r, 4, 0.5) })
        .collect();
    Plan {
        duration: secs(8.0),
        boundaries: vec![secs(2.0)],
        sample: Dur::ZERO,
        links,
        routes,
        transports: vec![ns2("sack", true)],
        traffic,
        reuse_slots_above: Plan::reuse_slots_above(),
    }
}

#[test]
fn merged_and_hop_by_hop_traces_are_equal_with_cpus() {
    for cores in [1, 3] {
        for links_between in [false, true] {
            let plan = network(cores, links_between);
            let merged = go(&plan, 1);
            let apart = go(&hop_by_hop(&plan), 1);
            let departures: u64 = merged.links.iter().map(|l| l.windows[1].counters.departures).sum();
            let marks: u64 = merged.links.iter().map(|l| l.windows[1].counters.marked()).sum();
            assert!(departures > 2000 && marks > 10, "little traffic: {departures} packets, {marks} marks");
            assert!(merged.events < apart.events, "nothing was merged");
            assert!(happened(&merged) == happened(&apart), "merging changes what happens: {cores} cores");
        }
    }
}

#[test]
fn invalid_cpus_are_refused() {
    let base = || plan(vec![red_cpu("cpu", 1_000_000, 1)], vec![cbr("cbr", 1, 8000, 100, Time::ZERO, secs(1.0))], 1.0);
    type Change = fn(&mut Plan);
    let cases: [(&str, Change); 8] = [
        ("links[0].cpu.clock", |p| p.links[0].cpu.as_mut().unwrap().clock = Hz(0)),
        ("links[0].cpu.cores", |p| p.links[0].cpu.as_mut().unwrap().cores = 0),
        ("links[0].cpu.work", |p| p.links[0].cpu.as_mut().unwrap().work.truncate(1)),
        ("links[0].cpu.work[0].density", |p| p.links[0].cpu.as_mut().unwrap().work[0].density = -1.0),
        ("links[0].cpu.lambda", |p| p.links[0].cpu.as_mut().unwrap().lambda = Some(1.0)),
        ("links[0].cpu", |p| p.links[0].queue = None),
        ("links[0].cpu", |p| p.links[0].delay = Dur(1)),
        ("links[0].cpu", |p| p.links[0].schedule = vec![(Time(5), Rate(8))]),
    ];
    assert!(marqueue_sim::check(&base()).is_ok());
    for (path, change) in cases {
        let mut plan = base();
        change(&mut plan);
        match marqueue_sim::check(&plan) {
            Err(marqueue_sim::RunError::Invalid(e)) => assert_eq!(e.path, path),
            other => panic!("{path}: {other:?}"),
        }
    }
}
