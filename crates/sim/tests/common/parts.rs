//! Plans whose networks have several parts, and flows that end.

use super::*;
use marqueue_core::Rng;
use marqueue_sim::{digest, run_in_order, run_on, threads_for};

pub const THREADS: [usize; 3] = [2, 3, 4];

/// Steps that one part takes at most while others seldom take any.
const LEAD: u32 = 6;

/// Checks that the plan has at least `least` parts, and gives the same on any number of threads, also where some parts get as
/// far ahead of others as these allow.
pub fn same_on_all(plan: &Plan, seed: u64, least: usize) {
    let (parts, _) = threads_for(plan, 4).expect("the plan is valid");
    assert!(parts >= least, "got {parts} parts, expected at least {least}");
    let alone = digest(&go(plan, seed));
    for threads in THREADS {
        let result = run_on(plan, seed, &Control::default(), threads).expect("the plan is valid");
        assert_eq!(digest(&result), alone, "{threads} threads");
        same_in_any_order(plan, seed, threads, &alone);
    }
}

/// Checks that parts on one thread that take turns in a random order give the result with this digest.
pub fn same_in_any_order(plan: &Plan, seed: u64, threads: usize, alone: &str) {
    let mut order = order(seed);
    let turns = run_in_order(plan, seed, &Control::default(), threads, &mut order).expect("the plan is valid");
    if let Some(result) = turns {
        assert_eq!(digest(&result), alone, "{threads} parts in a random order");
    }
}

/// A random order of parts: one of them after the other takes every second step for a while.
fn order(seed: u64) -> impl FnMut(usize) -> usize {
    let mut rng = Rng::named(seed, "an order of parts");
    let (mut ahead, mut left) = (0, 0);
    move |parts| {
        if left == 0 {
            (ahead, left) = (rng.below(parts as u32), 1 + rng.below(LEAD));
        }
        left -= 1;
        let any = rng.below(parts as u32);
        (if rng.below(2) == 0 { ahead } else { any }) as usize
    }
}

pub fn dumbbell(recovery: &str, queue: QueuePlan) -> Plan {
    let mut plan = Dumbbell {
        rate: 5_000_000,
        access: 100_000_000,
        bottleneck_delay: 5.0,
        destination_delay: 1.0,
        rtts: vec![20.0, 40.0, 70.0],
        queue,
    }
    .plan(6.0);
    plan.transports = vec![ns2(recovery, true)];
    plan.traffic = vec![tcp("near", 0, 5, 1.0), tcp("middle", 1, 5, 1.0), tcp("far", 2, 5, 1.0)];
    plan.boundaries = vec![secs(2.0), secs(4.0)];
    plan.sample = ms(10.0);
    plan
}

pub fn red() -> QueuePlan {
    queue("red", values(&[("min_th", 10.0), ("max_th", 30.0)]), 60, Signal::Ecn)
}

/// A chain of queues with flows over all of them and over each alone, in both directions.
pub fn parking_lot(hops: usize, queue: &QueuePlan) -> Plan {
    let mut plan = dumbbell("sack", red());
    plan.links.clear();
    plan.routes.clear();
    for hop in 0..hops {
        let delay = ms(4.0 + hop as f64);
        plan.links.push(link(&format!("there {hop}"), 4_000_000, delay, Some(queue.clone())));
        plan.links.push(link(&format!("back {hop}"), 4_000_000, delay, Some(queue.clone())));
    }
    let there: Vec<usize> = (0..hops).map(|hop| 2 * hop).collect();
    let back: Vec<usize> = (0..hops).rev().map(|hop| 2 * hop + 1).collect();
    plan.routes.push(RoutePlan { forward: there.clone(), reverse: back.clone() });
    plan.routes.push(RoutePlan { forward: back, reverse: there });
    plan.routes.extend((0..hops).map(|hop| RoutePlan { forward: vec![2 * hop], reverse: vec![2 * hop + 1] }));
    plan.traffic = (0..plan.routes.len()).map(|r| tcp(&format!("flows {r}"), r, 3, 1.0)).collect();
    plan
}

/// Gives the TCP flows of a group a size in packets, and a time at which they stop, where there is one.
pub fn end(traffic: &mut TrafficPlan, packets: Option<u32>, at: Option<Time>) {
    let TrafficKind::Tcp { size, stop, .. } = &mut traffic.kind else { unreachable!("tcp() makes TCP") };
    (*size, *stop) = (packets, at);
}

/// Makes the applications of a group write in pieces.
pub fn write_in_pieces(traffic: &mut TrafficPlan, gaps: Gaps) {
    let TrafficKind::Tcp { write, .. } = &mut traffic.kind else { unreachable!("tcp() makes TCP") };
    *write = Some(WritePlan { packets: 7, every: ms(80.0), gaps, first: None });
}

/// Flows that end: by their size, at a stop, by either, and short ones of which one starts when others stop.
pub fn with_ends(mut plan: Plan) -> Plan {
    // At this instant a measuring window ends and a sample is taken too.
    let stops = Some(secs(2.0));
    end(&mut plan.traffic[0], Some(200), None);
    end(&mut plan.traffic[1], None, stops);
    end(&mut plan.traffic[2], Some(400), stops);
    plan.traffic.extend((0..3).map(|route| tcp(&format!("short {route}"), route, 4, 3.0)));
    (3..6).for_each(|i| end(&mut plan.traffic[i], Some(5), None));
    let TrafficKind::Tcp { start, jitter, .. } = &mut plan.traffic[4].kind else { unreachable!("tcp() makes TCP") };
    (*start, *jitter) = (secs(2.0), Dur::ZERO);
    write_in_pieces(&mut plan.traffic[2], Gaps::Constant);
    write_in_pieces(&mut plan.traffic[5], Gaps::Exponential);
    plan
}

/// Flows that arrive at `rate` a second from `start` on, on any of `routes`.
pub fn arriving(name: &str, routes: Vec<usize>, rate: f64, start: Time) -> TrafficPlan {
    let (weights, law) = (vec![1.0; routes.len()], FlowSizes::Pareto { shape: 1.2 });
    let kind = TrafficKind::Poisson { transport: 0, routes, weights, rate, start, stop: secs(5.5), size: 6, law };
    TrafficPlan { name: name.into(), dscp: 0, class: 0, kind }
}
