//! How many packets each route of a plan will have, as far as that can be told before the run.

use crate::delay_law::DelayLaw;
use crate::plan::{LinkPlan, Plan, RoutePlan, TrafficKind};
use marqueue_core::{Bytes, Dur, Rate};

/// The mean congestion window of a TCP flow, packets. How large it is makes no difference where all flows are TCP's.
const WINDOW: f64 = 10.0;
/// Time in queues, which is added to the propagation delays of a round trip: a flow with next to no propagation delay has
/// a finite rate too.
const QUEUEING: Dur = Dur(10_000_000);
/// What a rate-based flow is taken to send. Its real rate comes from the run.
const PACKETS_A_SECOND: f64 = 100.0;

/// How often what limits each route is looked for. In the first pass no link gets more than it lets through, in the next ones
/// routes get what others leave.
const PASSES: usize = 2;

/// Packets a second on each route.
pub fn loads(plan: &Plan) -> Vec<f64> {
    let (mut elastic, mut fixed) = offered(plan);
    for _ in 0..PASSES {
        let mut at = vec![0.0; plan.links.len()];
        for (route, plan) in plan.routes.iter().enumerate() {
            for &link in &plan.forward {
                at[link] += elastic[route] + fixed[route];
            }
        }
        // The link with the least room for what is offered to it limits a route. A link that is closed at first opens later.
        let room = |&link: &usize| Some(capacity(&plan.links[link])? / at[link]).filter(|room| room.is_normal());
        for (route, plan) in plan.routes.iter().enumerate() {
            let least = plan.forward.iter().filter_map(room).reduce(f64::min).unwrap_or(1.0);
            elastic[route] *= least;
            fixed[route] *= least.min(1.0);
        }
    }
    elastic.iter().zip(fixed).map(|(elastic, fixed)| elastic + fixed).collect()
}

/// What the queue of a link lets through, packets a second.
pub fn capacity(link: &LinkPlan) -> Option<f64> {
    link.queue.as_ref().map(|queue| packets_a_second(link.rate, queue.mean_packet))
}

/// Packets a second that are offered to each route, as if it had all links to itself: by flows that take what there is, and by
/// those that send what they have.
fn offered(plan: &Plan) -> (Vec<f64>, Vec<f64>) {
    let (mut elastic, mut fixed) = (vec![0.0; plan.routes.len()], vec![0.0; plan.routes.len()]);
    for traffic in &plan.traffic {
        match traffic.kind {
            // Flows with equal windows: the shorter the round trip, the more packets.
            TrafficKind::Tcp { route, count, .. } => {
                let route_plan = &plan.routes[route];
                let rate = WINDOW / round_trip(plan, route_plan).secs() / queues(plan, route_plan).sqrt();
                elastic[route] += f64::from(count) * rate;
            }
            TrafficKind::Cbr { route, count, rate, packet, .. } => {
                fixed[route] += f64::from(count) * packets_a_second(rate, packet);
            }
            TrafficKind::Recorded { route, count, ref packets, .. } => {
                let span = packets.last().map_or(0.0, |(last, _)| last.secs()).max(1.0);
                fixed[route] += f64::from(count) * packets.len() as f64 / span;
            }
            TrafficKind::Paced { route, count, .. } => fixed[route] += f64::from(count) * PACKETS_A_SECOND,
            TrafficKind::Packets { route, rate, .. } => fixed[route] += rate,
            TrafficKind::Poisson { ref routes, ref weights, rate, size, .. } => {
                let packets = rate * f64::from(size);
                let total: f64 = weights.iter().sum();
                for (i, &route) in routes.iter().enumerate() {
                    let share = weights.get(i).map_or(1.0 / routes.len() as f64, |weight| weight / total);
                    fixed[route] += packets * share;
                }
            }
            TrafficKind::Quic(_) | TrafficKind::Media(_) => {}
        }
    }
    (elastic, fixed)
}

/// Number of queues for its data, at least one.
fn queues(plan: &Plan, route: &RoutePlan) -> f64 {
    (route.forward.iter().filter(|&&l| plan.links[l].has_queue()).count() as f64).max(1.0)
}

/// The round-trip time without much queueing.
fn round_trip(plan: &Plan, route: &RoutePlan) -> Dur {
    let middle = |law: &DelayLaw| Dur((law.least().0 + law.longest().0) / 2);
    let delay = |link: &LinkPlan| link.per_flow.as_ref().map_or(link.delay, |per_flow| middle(&per_flow.delay));
    let links = route.forward.iter().chain(&route.reverse);
    links.map(|&l| delay(&plan.links[l])).fold(QUEUEING, |sum, delay| sum + delay)
}

fn packets_a_second(rate: Rate, packet: Bytes) -> f64 {
    rate.0 as f64 / (8.0 * packet.0.max(1) as f64)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{from_value, json, Value};

    /// Loads of routes over queues that let through 100 and 300 packets a second, and one that is closed.
    fn loads_of(routes: &[&[usize]], kind: impl Fn(usize) -> Value) -> Vec<f64> {
        let queue = json!({"policy": {"name": "droptail", "params": {}}, "limit": {"packets": 30}, "signal": "ecn",
            "mean_packet": 1250});
        let link =
            |i: usize, rate: u64| json!({"name": format!("{i}"), "rate": rate, "delay": 1_000_000, "queue": queue});
        let links = [link(0, 1_000_000), link(1, 3_000_000), link(2, 0)];
        let paths: Vec<_> = routes.iter().map(|links| json!({"forward": links, "reverse": []})).collect();
        let traffic: Vec<_> =
            (0..routes.len()).map(|r| json!({"name": format!("{r}"), "dscp": 0, "kind": kind(r)})).collect();
        let plan = json!({"duration": 1_000_000_000, "boundaries": [], "sample": 0, "links": links, "routes": paths,
            "transports": [{"preset": "rfc", "params": {}}], "traffic": traffic});
        loads(&from_value(plan).expect("it is a plan"))
    }

    fn tcp(route: usize) -> Value {
        json!({"tcp": {"route": route, "count": 1000, "transport": 0, "start": 0, "stop": null, "jitter": 0, "size": null,
            "trace": false}})
    }

    /// A packet has 1250 bytes.
    fn cbr(route: usize) -> Value {
        json!({"cbr": {"route": route, "count": 1, "rate": 2_000_000, "packet": 1250, "start": 0, "stop": null,
            "jitter": 0}})
    }

    #[test]
    fn links_limit_what_flows_take_and_others_get_what_is_left() {
        let close = |loads: Vec<f64>, expected: [f64; 2]| {
            assert!(loads.iter().zip(expected).all(|(load, expected)| (load - expected).abs() < 1e-6), "{loads:?}");
        };
        close(loads_of(&[&[0], &[1]], tcp), [100.0, 300.0]);
        close(loads_of(&[&[0, 1], &[0, 1]], tcp), [50.0, 50.0]);
        let loads = loads_of(&[&[0, 1], &[1]], tcp);
        assert!((loads[0] - 100.0).abs() < 1e-6 && (150.0..=200.0).contains(&loads[1]), "{loads:?}");
        // Those that send what they have do not send more, but no more gets through than there is room for.
        close(loads_of(&[&[0], &[1]], cbr), [100.0, 200.0]);
    }

    #[test]
    fn flows_over_a_closed_link_are_work_too() {
        assert!(loads_of(&[&[2], &[1]], tcp).iter().all(|&load| load > 0.0));
    }
}
