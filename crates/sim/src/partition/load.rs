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
        // The link with the least room for what is offered to it limits a route.
        let room = |&link: &usize| Some(capacity(&plan.links[link])? / at[link]).filter(|room| room.is_finite());
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
