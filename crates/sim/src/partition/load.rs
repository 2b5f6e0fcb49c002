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

/// Packets a second on each route.
pub fn loads(plan: &Plan) -> Vec<f64> {
    let mut loads = vec![0.0; plan.routes.len()];
    for traffic in &plan.traffic {
        match traffic.kind {
            // Flows with equal windows: the shorter the round trip, the more packets.
            TrafficKind::Tcp { route, count, .. } => {
                let route_plan = &plan.routes[route];
                let rate = WINDOW / round_trip(plan, route_plan).secs() / queues(plan, route_plan).sqrt();
                loads[route] += f64::from(count) * rate;
            }
            TrafficKind::Cbr { route, count, rate, packet, .. } => {
                loads[route] += f64::from(count) * packets_a_second(rate, packet);
            }
            TrafficKind::Recorded { route, count, ref packets, .. } => {
                let span = packets.last().map_or(0.0, |(last, _)| last.secs()).max(1.0);
                loads[route] += f64::from(count) * packets.len() as f64 / span;
            }
            TrafficKind::Paced { route, count, .. } => loads[route] += f64::from(count) * PACKETS_A_SECOND,
            TrafficKind::Packets { route, rate, .. } => loads[route] += rate,
            TrafficKind::Poisson { ref routes, ref weights, rate, size, .. } => {
                let packets = rate * f64::from(size);
                let total: f64 = weights.iter().sum();
                for (i, &route) in routes.iter().enumerate() {
                    let share = weights.get(i).map_or(1.0 / routes.len() as f64, |weight| weight / total);
                    loads[route] += packets * share;
                }
            }
            TrafficKind::Quic(_) | TrafficKind::Media(_) => {}
        }
    }
    loads
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
