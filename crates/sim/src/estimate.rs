//! How much memory a run takes, from its plan: an estimate that is made before the run starts.

use crate::flow::Flow;
use crate::flow_rows::MOST;
use crate::plan::{LinkPlan, Plan, QuicPlan, TrafficKind};
use crate::queue_times::QueueTimes;
use crate::traffic::{expected_arrivals, slots_for};
use marqueue_aqm::Limit;
use marqueue_core::{Packet, Time};

/// What a flow takes beside its [`Flow`]: its row, and what its ends allocate in a typical run.
const PER_FLOW: f64 = 512.0;
/// A row of a flow that has ended, without its measuring windows.
const PER_ROW: f64 = 64.0;
/// A packet that waits or travels: itself, with time and the unused part of a buffer that doubles.
const PER_PACKET: f64 = 2.0 * (std::mem::size_of::<Packet>() + 16) as f64;
/// A sample of one link, without its probes.
const PER_SAMPLE: f64 = 40.0;
/// What any run takes.
const BASE: f64 = 2e6;

/// An estimate of the largest memory that a run of `plan` takes, bytes. Do rows of flows leave it
/// ([`crate::FlowSink`])?
pub fn estimated_bytes(plan: &Plan, rows_leave: bool) -> f64 {
    let windows = (plan.boundaries.len() + 1) as f64;
    let rows = 8.0 * windows + PER_ROW;
    let slots = slots_for(plan) * std::mem::size_of::<Flow>() as f64;
    let flows = plan.initial_flows() as f64 * (PER_FLOW + rows);
    // Columns double when they grow.
    let arrived = 2.0 * arriving(plan);
    let arrived = if rows_leave && may_leave(plan) { arrived.min(MOST as f64) } else { arrived };
    let samples = if plan.sample.0 == 0 { 0.0 } else { plan.duration.0 as f64 / plan.sample.0 as f64 };
    let sampled = plan.links.iter().filter(|link| link.queue.is_some()).count() as f64;
    let carried = carried(plan);
    let links: f64 = plan.links.iter().zip(carried).map(|(link, rate)| of_link(link, rate, windows)).sum();
    BASE + slots + flows + arrived * rows + 2.0 * samples * sampled * PER_SAMPLE + links
}

/// The mean number of flows of a run of `plan`, and how many of their rows its result has in memory if rows leave it.
pub fn estimated_flows(plan: &Plan) -> (f64, f64) {
    let flows = plan.initial_flows() as f64 + arriving(plan);
    (flows, if may_leave(plan) && flows > MOST as f64 { 0.0 } else { flows })
}

/// Can rows leave a run of `plan`?
fn may_leave(plan: &Plan) -> bool {
    arriving(plan) > 0.0 && !plan.has_quic() && !plan.has_kernels()
}

/// Number of flows that arrive during the run.
fn arriving(plan: &Plan) -> f64 {
    expected_arrivals(plan) + plan.traffic.iter().map(|t| arriving_quic(&t.kind, plan.duration)).sum::<f64>()
}

/// Number of QUIC flows that arrive during the run.
fn arriving_quic(kind: &TrafficKind, duration: Time) -> f64 {
    match kind {
        TrafficKind::Quic(QuicPlan { arrivals: Some(rate), start, stop, .. }) => {
            rate * stop.unwrap_or(duration).min(duration).secs().max(start.secs()) - rate * start.secs()
        }
        _ => 0.0,
    }
}

/// What each link carries at most if the routes over a link share it equally, bit/s.
fn carried(plan: &Plan) -> Vec<f64> {
    let mut routes = vec![0.0; plan.links.len()];
    plan.routes.iter().flat_map(|route| &route.forward).for_each(|&l| routes[l] += 1.0);
    // A CPU has no rate in bits.
    let share =
        |l: usize| if plan.links[l].cpu.is_some() { f64::INFINITY } else { plan.links[l].rate.0 as f64 / routes[l] };
    let mut carried = vec![0.0; plan.links.len()];
    for route in &plan.routes {
        let rate = route.forward.iter().map(|&l| share(l)).fold(f64::INFINITY, f64::min);
        route.forward.iter().chain(&route.reverse).for_each(|&l| carried[l] += rate);
    }
    plan.links.iter().zip(carried).map(|(link, of_routes)| of_routes.min(link.rate.0 as f64)).collect()
}

/// The packets that wait and travel, and the histogram of the queue's lengths in each measuring window. The link carries
/// `rate` bit/s at most.
fn of_link(link: &LinkPlan, rate: f64, windows: f64) -> f64 {
    let mean_packet = link.queue.as_ref().map_or(1000.0, |q| q.mean_packet.0 as f64);
    let in_flight = rate * link.delay.secs() / 8.0 / mean_packet;
    let waiting = match link.queue.as_ref().map(|q| q.limit) {
        Some(Limit::Packets(n)) => f64::from(n),
        Some(Limit::Bytes(bytes)) => bytes as f64 / mean_packet,
        None => 0.0,
    };
    // A buffer that never fills is not allocated either: of it, what passes in a second.
    let waiting = waiting.min(link.rate.0 as f64 / 8.0 / mean_packet);
    (in_flight + waiting) * PER_PACKET + QueueTimes::bytes(waiting as u32) as f64 * windows
}
