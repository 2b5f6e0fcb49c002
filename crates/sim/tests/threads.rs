//! One run on several threads: the digest of one thread, for each kind of traffic and of link that can be separated.

mod common;

use common::parts::*;
use common::*;
use marqueue_aqm::Signal;
use marqueue_core::params::{PolicySpec, Value};
use marqueue_core::{Bytes, Dur, Rate, Rng, Time};
use marqueue_sim::delay_law::DelayLaw;
use marqueue_sim::plan::*;
use marqueue_sim::{digest, rehearse, run_on, threads_for, Control, OneThread, RunError};

fn cbr(name: &str, route: usize, rate: u64) -> TrafficPlan {
    let kind = TrafficKind::Cbr {
        route,
        count: 2,
        rate: Rate(rate),
        packet: Bytes(500),
        start: Time::ZERO,
        jitter: ms(300.0),
        stop: Some(secs(5.0)),
        ecn: EcnField::default(),
    };
    TrafficPlan { name: name.into(), dscp: 0, class: 0, kind }
}

fn packets(name: &str, route: usize) -> TrafficPlan {
    let kind = TrafficKind::Packets {
        route,
        rate: 200.0,
        packet: Bytes(400),
        size: SizeLaw::Exponential,
        start: Time::ZERO,
        stop: None,
        ecn: EcnField::default(),
    };
    TrafficPlan { name: name.into(), dscp: 0, class: 0, kind }
}

fn paced(name: &str, law: &str, route: usize) -> TrafficPlan {
    let kind = TrafficKind::Paced {
        control: policy(law, values(&[])),
        route,
        count: 2,
        rate: Rate(125_000),
        packet: Bytes(200),
        ecn: false,
        start: Time::ZERO,
        jitter: ms(500.0),
        stop: None,
        trace: true,
    };
    TrafficPlan { name: name.into(), dscp: 0, class: 0, kind }
}

#[test]
fn flows_of_each_recovery_and_with_delayed_acknowledgements() {
    for recovery in ["newreno", "sack"] {
        for delayed_ack in [0.0, 0.1] {
            let mut plan = dumbbell(recovery, red());
            plan.transports[0].params.insert("delayed_ack".into(), Value::Number(delayed_ack));
            same_on_all(&plan, 3, 2);
        }
    }
}

#[test]
fn traces_of_senders_and_samples_of_windows_come_from_the_part_of_the_sender() {
    let mut plan = dumbbell("sack", red());
    for traffic in &mut plan.traffic {
        let TrafficKind::Tcp { trace, sample_cwnd, .. } = &mut traffic.kind else { unreachable!("tcp() makes TCP") };
        (*trace, *sample_cwnd) = (true, true);
    }
    same_on_all(&plan, 5, 2);
}

#[test]
fn constant_rates_and_random_packets_and_applications_that_write_in_pieces() {
    let mut plan = dumbbell("newreno", red());
    plan.traffic.extend([cbr("udp", 0, 400_000), cbr("more udp", 2, 300_000), packets("random", 1)]);
    write_in_pieces(&mut plan.traffic[1], Gaps::Exponential);
    same_on_all(&plan, 7, 2);
}

#[test]
fn rate_based_flows_with_headers_for_routers() {
    for law in ["emkc", "emkc_naive"] {
        let mkc = queue("mkc", values(&[("delta", 0.05)]), 200, Signal::Drop);
        let mut plan = parking_lot(3, &QueuePlan { mean_packet: Bytes(200), ..mkc });
        plan.traffic = (0..plan.routes.len()).map(|r| paced(&format!("flows {r}"), law, r)).collect();
        same_on_all(&plan, 2, 3);
    }
}

#[test]
fn a_chain_of_queues_in_both_directions() {
    for policy in ["droptail", "codel", "pie"] {
        same_on_all(&parking_lot(4, &queue(policy, values(&[]), 50, Signal::Drop)), 11, 4);
    }
}

#[test]
fn pipes_that_lose_delay_and_reorder() {
    let mut plan = parking_lot(3, &red());
    plan.links[0].pipe.loss = Some(policy("random", values(&[("probability", 0.02)])));
    plan.links[2].pipe.jitter = Some(values(&[("mean", 0.002)]));
    plan.links[4].pipe.reorder = Some(values(&[("probability", 0.05), ("delay", 0.01)]));
    if let Err(RunError::Invalid(e)) = threads_for(&plan, 2) {
        panic!("{e}");
    }
    same_on_all(&plan, 13, 2);
}

/// So long that packets of a batch arrive seconds apart.
#[test]
fn delays_of_seconds_beside_delays_of_milliseconds() {
    let mut plan = dumbbell("newreno", red());
    for &l in plan.routes[2].forward.iter().chain(&plan.routes[2].reverse).filter(|&&l| l > 1) {
        plan.links[l].delay = ms(2600.0);
    }
    plan.duration = secs(20.0);
    plan.boundaries = vec![secs(8.0), secs(16.0)];
    plan.traffic[1].kind = cbr("udp", 1, 400_000).kind;
    plan.traffic.push(cbr("far udp", 2, 400_000));
    same_on_all(&plan, 17, 2);
}

#[test]
fn links_of_single_flows() {
    let mut plan = dumbbell("newreno", red());
    let per_flow = |name: &str, stream: &str, delay: DelayLaw| {
        let least = delay.least();
        LinkPlan { per_flow: Some(PerFlowPlan { delay, stream: stream.into() }), ..link(name, 10_000_000, least, None) }
    };
    let near = || DelayLaw::Uniform { least: ms(2.0), most: ms(60.0) };
    plan.links.truncate(2);
    plan.links.extend([
        per_flow("source", "source", near()),
        per_flow("sink", "sink", DelayLaw::Constant { delay: ms(2.0) }),
        per_flow("sink back", "sink", DelayLaw::Constant { delay: ms(2.0) }),
        per_flow("source back", "source", near()),
    ]);
    plan.routes = vec![RoutePlan { forward: vec![2, 0, 3], reverse: vec![4, 1, 5] }];
    plan.traffic = vec![tcp("flows", 0, 40, 1.0)];
    for delayed_ack in [0.0, 0.1] {
        plan.transports[0].params.insert("delayed_ack".into(), Value::Number(delayed_ack));
        same_on_all(&plan, 17, 2);
    }
}

/// At most so many links, routes, and links of a route in each direction.
struct Size {
    links: u32,
    routes: u32,
    hops: u32,
}

/// A network with random delays, some links with queues, and random traffic on random routes.
fn random_plan(seed: u64, size: &Size) -> Plan {
    let mut rng = Rng::named(seed, "a plan for threads");
    let mut plan = dumbbell(["newreno", "sack"][rng.below(2) as usize], red());
    plan.duration = secs(1.5);
    plan.boundaries = vec![secs(0.7)];
    plan.transports[0].params.insert("delayed_ack".into(), Value::Number(f64::from(rng.below(2)) * 0.1));
    let links = 2 + rng.below(size.links - 1) as usize;
    plan.links = (0..links)
        .map(|l| {
            let policies = ["droptail", "red", "codel", "pie", "avq"];
            let policy = policies[rng.below(policies.len() as u32) as usize];
            let managed = (rng.below(3) > 0).then(|| queue(policy, values(&[]), 20 + rng.below(60), Signal::Ecn));
            // Equal delays make packets meet at the same instant.
            let delay = ms(f64::from(rng.below(4)) * 2.0);
            let mut link = link(&format!("link {l}"), 2_000_000 + 1_000_000 * u64::from(rng.below(4)), delay, managed);
            if rng.below(4) == 0 {
                link.pipe.jitter = Some(values(&[("mean", 0.001)]));
            }
            if rng.below(4) == 0 {
                link.pipe.loss = Some(rare_loss());
            }
            link
        })
        .collect();
    let path = |rng: &mut Rng| -> Vec<usize> {
        (0..1 + rng.below(size.hops)).map(|_| rng.below(links as u32) as usize).collect()
    };
    plan.routes = (0..1 + rng.below(size.routes))
        .map(|_| RoutePlan { forward: path(&mut rng), reverse: path(&mut rng) })
        .collect();
    plan.traffic = (0..plan.routes.len())
        .map(|route| match rng.below(5) {
            0 => cbr(&format!("udp {route}"), route, 200_000),
            1 => packets(&format!("packets {route}"), route),
            _ => {
                let mut flows = tcp(&format!("tcp {route}"), route, 1 + rng.below(6), 0.5);
                // Some stop when a measuring window ends.
                let stops = [None, Some(secs(0.7)), Some(secs(0.9))][rng.below(3) as usize];
                end(&mut flows, (rng.below(2) > 0).then(|| 1 + rng.below(60)), stops);
                if rng.below(3) == 0 {
                    write_in_pieces(&mut flows, Gaps::Exponential);
                }
                flows
            }
        })
        .collect();
    if rng.below(3) == 0 {
        let routes = (0..plan.routes.len()).collect();
        plan.traffic.push(arriving("arriving", routes, 60.0, Time::ZERO));
        if rng.below(2) > 0 {
            plan.reuse_slots_above = 0;
        }
    }
    plan
}

fn rare_loss() -> PolicySpec {
    policy("random", values(&[("probability", 0.01)]))
}

#[test]
fn random_networks() {
    let (mut separated, mut reasons) = (0, Vec::new());
    for seed in 0..200 {
        let plan = random_plan(seed, &Size { links: 8, routes: 5, hops: 3 });
        let (threads, reason) = threads_for(&plan, 4).expect("the plan is valid");
        separated += usize::from(threads > 1);
        assert_eq!(reason.is_none(), threads > 1);
        reasons.extend(reason);
        same_on_all(&plan, seed, 1);
    }
    assert!(separated > 100, "only {separated} of 200 networks have several parts");
    assert!(reasons.contains(&OneThread::LittleToShare), "{reasons:?}");
}

#[test]
fn larger_random_networks_in_up_to_eight_parts() {
    let mut separated = 0;
    for seed in 0..30 {
        let plan = random_plan(seed, &Size { links: 120, routes: 40, hops: 8 });
        let alone = digest(&go(&plan, seed));
        for threads in [3, 5, 8] {
            same_in_any_order(&plan, seed, threads, &alone);
        }
        separated += usize::from(threads_for(&plan, 8).expect("the plan is valid").0 == 8);
    }
    assert!(separated > 15, "only {separated} of 30 networks have eight parts");
}

#[test]
fn what_cannot_be_separated_has_one_thread_and_a_reason() {
    let reason = |change: fn(&mut Plan)| {
        let mut plan = dumbbell("newreno", red());
        change(&mut plan);
        let (threads, reason) = threads_for(&plan, 2).expect("the plan is valid");
        assert_eq!(threads, 1);
        assert_eq!(digest(&run_on(&plan, 1, &Control::default(), 2).expect("it runs")), digest(&go(&plan, 1)));
        reason
    };
    assert_eq!(reason(|plan| plan.links[0].trace = true), Some(OneThread::PacketTrace));
    assert_eq!(reason(|plan| plan.links.iter_mut().for_each(|l| l.delay = Dur::ZERO)), Some(OneThread::NoDelay));
    assert_eq!(threads_for(&dumbbell("newreno", red()), 1).expect("the plan is valid"), (1, None));
}

/// A clock that is asked before and after each step of a part makes every step as long as any other.
#[test]
fn parts_that_take_turns_give_the_same_and_tell_what_processors_of_their_own_would_take() {
    let plan = with_ends(parking_lot(4, &red()));
    let alone = digest(&go(&plan, 1));
    for (threads, meeting) in [(2, 0), (3, 5), (4, 0), (4, 5)] {
        let mut asked = 0;
        let mut clock = || {
            asked += 1;
            asked
        };
        let rehearsal = rehearse(&plan, 1, &Control::default(), threads, meeting, &mut clock).expect("it is valid");
        let rehearsal = rehearsal.expect("several parts");
        assert_eq!(digest(&rehearsal.result), alone, "{threads} parts");
        // Delays are 4 to 7 ms.
        let meetings = |delay: f64| plan.duration.0 / ms(delay).0 + 1;
        assert!((meetings(7.0)..=meetings(4.0)).contains(&rehearsal.meetings), "{} meetings", rehearsal.meetings);
        // One step more builds the part.
        let steps = rehearsal.meetings + 1;
        assert_eq!(rehearsal.work, vec![steps; threads]);
        assert_eq!(rehearsal.wall, steps + rehearsal.meetings * meeting);
    }
    let mut clock = || 0;
    assert!(rehearse(&plan, 1, &Control::default(), 1, 0, &mut clock).expect("it is valid").is_none());
}

#[test]
fn a_limit_of_events_keeps_the_order_of_one_thread_and_a_cancelled_run_ends() {
    let plan = dumbbell("newreno", red());
    let limited =
        |threads| digest(&run_on(&plan, 1, &Control::with_max_events(Some(5_000)), threads).expect("it is cut off"));
    assert_eq!(limited(1), limited(2));
    let control = Control::default();
    control.cancel();
    assert_eq!(run_on(&plan, 1, &control, 2).err(), Some(RunError::Cancelled));
}

#[test]
fn an_invalid_plan_is_refused_with_its_place() {
    let mut plan = dumbbell("newreno", red());
    plan.links[3].rate = Rate(0);
    let Err(RunError::Invalid(error)) = run_on(&plan, 1, &Control::default(), 2) else { panic!("it has run") };
    assert_eq!(error.path, "links[3].rate");
}
