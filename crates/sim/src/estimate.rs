//! How much memory a run takes, from its plan: an estimate that is made before the run starts.

use crate::flow::Flow;
use crate::flow_rows::MOST;
use crate::line::Line;
use crate::load::{capacity, loads};
use crate::plan::{LinkPlan, Plan, QuicPlan, TrafficKind, TrafficPlan, TransportPlan};
use crate::queue_times::QueueTimes;
use crate::traffic::{expected_arrivals, expected_arrivals_of, slots_for};
use marqueue_aqm::{Buffer, Limit};
use marqueue_cc::config::LossDetection;
use marqueue_cc::Config;
use marqueue_core::params::{PolicySpec, Value};
use marqueue_core::{math, Packet, Time};

// What a flow and a packet take was measured with heaptrack, for 10^4 to 10^7 flows of the presets rfc and linux
// (docs/performance/commands.md, "Cost predicted").

/// What a flow takes beside its [`Flow`] and its row: timers, with the room that busy times leave, and what its ends
/// allocate in a typical run.
const PER_FLOW: f64 = 180.0;
/// What a flow with RACK (RFC 8985) takes besides: estimates of delivery, more timers, and what it remembers of its first
/// window.
const PER_RACK_FLOW: f64 = 960.0;
/// What RACK remembers of a segment that is outstanding, in a buffer that doubles.
const PER_RACK_SEGMENT: f64 = 96.0;
/// The same beyond, of so many segments of each flow: a small window varies more, and its buffer is as large as it ever was.
const PER_SMALL_WINDOW_SEGMENT: f64 = 49.0;
const SMALL_WINDOW: f64 = 20.0;
/// A row of a flow that has ended, without its measuring windows.
const PER_ROW: f64 = 64.0;
/// With the unused part of a ring that grows by an eighth, on average.
const RING: f64 = 17.0 / 16.0;
/// A packet that waits or travels, as it is, and packed.
const PER_PACKET: f64 = RING * size_of::<(Time, Packet)>() as f64;
const PER_PACKED: f64 = RING * 12.0;
/// In slow start twice as many packets travel as a link carries in its delay.
const OVERSHOOT: f64 = 2.0;
/// A flow queue that is kept: of FQ-CoDel, of FQ-PIE. A third is its state, and the rest the room of the packets that were in it
/// at most; measured at 10,000 links with flows of 30 packets.
const PER_FQ_CODEL_QUEUE: f64 = 550.0;
const PER_FQ_PIE_QUEUE: f64 = 650.0;
/// All flow queues of CAKE, in three tins of 1024.
const PER_CAKE: f64 = 165e3;
/// A sample of one link, without its probes.
const PER_SAMPLE: f64 = 40.0;
/// What any run takes.
const BASE: f64 = 4e6;

/// An estimate of the largest memory that a run of `plan` takes, bytes. Do rows of flows leave it
/// ([`crate::FlowSink`])?
pub fn estimated_bytes(plan: &Plan, rows_leave: bool) -> f64 {
    MemoryParts::of(plan, rows_leave).total()
}

/// What takes the memory of a run, bytes.
#[derive(Clone, Copy, Debug)]
pub struct MemoryParts {
    /// Flows and their rows.
    pub flows: f64,
    /// Packets on links and in queues, and what is measured of these.
    pub packets: f64,
    /// The state of queues that have a queue for each flow.
    pub flow_queues: f64,
    /// Samples of queues.
    pub samples: f64,
}

impl MemoryParts {
    /// Those of a run of `plan`.
    fn of(plan: &Plan, rows_leave: bool) -> MemoryParts {
        let windows = (plan.boundaries.len() + 1) as f64;
        let flows = plan.initial_flows() as f64 * (PER_FLOW + bytes_of_row(plan));
        let samples = if plan.sample.0 == 0 { 0.0 } else { plan.duration.0 as f64 / plan.sample.0 as f64 };
        let sampled = plan.links.iter().filter(|link| link.queue.is_some()).count() as f64;
        let carried = carried(plan);
        let packets: Vec<_> = plan.links.iter().zip(carried).map(|(link, rate)| packets_of(link, rate)).collect();
        let outstanding = packets.iter().map(|packets| packets.travelling / OVERSHOOT + packets.waiting).sum();
        MemoryParts {
            flows: bytes_of_slots(plan) + flows + of_rack(plan, outstanding) + bytes_of_arrived(plan, rows_leave),
            packets: packets.iter().map(|packets| packets.bytes(windows)).sum(),
            flow_queues: bytes_of_flow_queues(plan),
            samples: 2.0 * samples * sampled * PER_SAMPLE,
        }
    }

    fn total(&self) -> f64 {
        BASE + self.flows + self.packets + self.flow_queues + self.samples
    }
}

/// The flow queues of all links. Those of FQ-CoDel and FQ-PIE are kept once a flow was hashed to them, and those of CAKE are
/// there from the start.
fn bytes_of_flow_queues(plan: &Plan) -> f64 {
    let of_policies = plan.links.iter().map(|link| {
        let policy = &link.queue.as_ref()?.policy;
        match policy.name.as_str() {
            "fq_codel" => Some((queues_of(policy), PER_FQ_CODEL_QUEUE)),
            "fq_pie" => Some((queues_of(policy), PER_FQ_PIE_QUEUE)),
            "cake" => Some((0.0, PER_CAKE)),
            _ => None,
        }
    });
    let of_policies: Vec<_> = of_policies.collect();
    if of_policies.iter().all(Option::is_none) {
        return 0.0;
    }
    let of_link = |(of_policy, flows): (Option<(f64, f64)>, f64)| match of_policy {
        None => 0.0,
        Some((0.0, all)) => all,
        Some((queues, each)) => queues * (1.0 - math::exp(-flows / queues)) * each,
    };
    of_policies.into_iter().zip(flows_over(plan)).map(of_link).sum()
}

/// The number of hashed queues of a policy: RFC 8290, section 5.2.5, and RFC 8033 have this default.
fn queues_of(policy: &PolicySpec) -> f64 {
    match policy.params.get("queues") {
        Some(Value::Number(queues)) => *queues,
        _ => 1024.0,
    }
}

/// The number of TCP flows over each link during the run, in either direction.
fn flows_over(plan: &Plan) -> Vec<f64> {
    let mut over_route = vec![0.0; plan.routes.len()];
    for traffic in &plan.traffic {
        match &traffic.kind {
            TrafficKind::Tcp { route, count, .. } => over_route[*route] += f64::from(*count),
            TrafficKind::Poisson { routes, weights, .. } => {
                let total = if weights.is_empty() { routes.len() as f64 } else { weights.iter().sum() };
                let each = expected_arrivals_of(plan, traffic) / total;
                let weights = weights.iter().copied().chain(std::iter::repeat(1.0));
                routes.iter().zip(weights).for_each(|(&route, weight)| over_route[route] += each * weight);
            }
            _ => {}
        }
    }
    let mut over_link = vec![0.0; plan.links.len()];
    for (route, flows) in plan.routes.iter().zip(over_route) {
        route.forward.iter().chain(&route.reverse).for_each(|&l| over_link[l] += flows);
    }
    over_link
}

fn bytes_of_row(plan: &Plan) -> f64 {
    8.0 * (plan.boundaries.len() + 1) as f64 + PER_ROW
}

/// The rows of flows that arrive.
fn bytes_of_arrived(plan: &Plan, rows_leave: bool) -> f64 {
    // Columns double when they grow.
    let rows = 2.0 * arriving(plan);
    bytes_of_row(plan) * if rows_leave && may_leave(plan) { rows.min(MOST as f64) } else { rows }
}

/// What the flows with RACK take for it, if so many packets are outstanding in all.
fn of_rack(plan: &Plan, outstanding: f64) -> f64 {
    let flows = flows_with_rack(plan);
    if flows == 0.0 {
        return 0.0;
    }
    let segments = outstanding * flows / plan.initial_flows() as f64;
    let of_small_windows = segments.min(flows * SMALL_WINDOW) * PER_SMALL_WINDOW_SEGMENT;
    flows * PER_RACK_FLOW + segments * PER_RACK_SEGMENT + of_small_windows
}

fn flows_with_rack(plan: &Plan) -> f64 {
    let has_rack = |transport: &TransportPlan| {
        let config = Config::with_preset(&transport.preset, &transport.params);
        config.is_ok_and(|config| config.loss_detection == LossDetection::Rack)
    };
    // A large network has a group of traffic for each route.
    let has_rack: Vec<bool> = plan.transports.iter().map(has_rack).collect();
    let of_group = |traffic: &TrafficPlan| match &traffic.kind {
        TrafficKind::Tcp { transport, count, .. } if has_rack[*transport] => f64::from(*count),
        _ => 0.0,
    };
    plan.traffic.iter().map(of_group).sum()
}

/// What a run takes whose rows of flows leave it, and what its result has.
#[derive(Clone, Copy, Debug)]
pub struct Estimate {
    /// The largest memory of the run, bytes.
    pub bytes: f64,
    /// What takes most of it.
    pub parts: MemoryParts,
    /// What of it goes back to the system when the run has ended, bytes: the block of all flows. Smaller blocks mostly stay
    /// with the process.
    pub released: f64,
    /// What each thread but the first takes, bytes: it has all flows, and a part of the packets.
    pub of_thread: f64,
    /// The mean number of flows.
    pub flows: f64,
    /// The number of their rows that the result has in memory.
    pub rows: f64,
    /// The number of measuring windows.
    pub windows: usize,
}

impl Estimate {
    /// The estimate for a run of `plan`.
    pub fn of(plan: &Plan) -> Estimate {
        let flows = plan.initial_flows() as f64 + arriving(plan);
        let parts = MemoryParts::of(plan, true);
        Estimate {
            bytes: parts.total(),
            parts,
            released: bytes_of_slots(plan),
            of_thread: BASE
                + bytes_of_slots(plan)
                + plan.initial_flows() as f64 * PER_FLOW
                + bytes_of_arrived(plan, true)
                + flows_with_rack(plan) * PER_RACK_FLOW,
            flows,
            rows: if may_leave(plan) && flows > MOST as f64 { 0.0 } else { flows },
            windows: plan.boundaries.len() + 1,
        }
    }
}

fn bytes_of_slots(plan: &Plan) -> f64 {
    slots_for(plan) * size_of::<Flow>() as f64
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

/// What each link carries, packets a second: each route's load ([`loads`]), and all that the queues of a route let through if
/// flows of a library or of media use it, whose rates nothing here tells.
fn carried(plan: &Plan) -> Vec<f64> {
    let mut loads = loads(plan);
    for route in plan.traffic.iter().filter_map(|traffic| route_of_unknown_rate(&traffic.kind)) {
        let room = plan.routes[route].forward.iter().filter_map(|&l| capacity(&plan.links[l]));
        // A link with a CPU has no rate in bits, and one that is closed at first opens later.
        loads[route] = room.filter(|room| room.is_normal()).reduce(f64::min).unwrap_or(loads[route]);
    }
    let mut carried = vec![0.0; plan.links.len()];
    for (route, load) in plan.routes.iter().zip(loads) {
        route.forward.iter().chain(&route.reverse).for_each(|&l| carried[l] += load);
    }
    carried
}

fn route_of_unknown_rate(kind: &TrafficKind) -> Option<usize> {
    match kind {
        TrafficKind::Quic(quic) => Some(quic.route),
        TrafficKind::Media(media) => Some(media.route),
        _ => None,
    }
}

/// How many packets there are of a link at most.
struct Packets {
    travelling: f64,
    waiting: f64,
}

/// The packets of a link that carries so many a second, if it can.
fn packets_of(link: &LinkPlan, carried: f64) -> Packets {
    let mean_packet = link.queue.as_ref().map_or(1000.0, |q| q.mean_packet.0 as f64);
    let buffer = match link.queue.as_ref().map(|q| q.limit) {
        Some(Limit::Packets(n)) => f64::from(n),
        Some(Limit::Bytes(bytes)) => bytes as f64 / mean_packet,
        None => 0.0,
    };
    let rate = link.rate.0 as f64 / 8.0 / mean_packet;
    // A link with a CPU has no rate in bits.
    let carried = if link.cpu.is_some() { carried } else { carried.min(rate) };
    Packets {
        travelling: OVERSHOOT * carried * link.delay.secs(),
        // A buffer that never fills is not allocated either: of it, what passes in a second.
        waiting: buffer.min(carried).min(rate),
    }
}

impl Packets {
    /// What they take, with the times of the queue's lengths in each measuring window.
    fn bytes(&self, windows: f64) -> f64 {
        let each = |packets: f64, plain: usize| if packets > plain as f64 { PER_PACKED } else { PER_PACKET };
        self.travelling * each(self.travelling, Line::MOST)
            + self.waiting * each(self.waiting, Buffer::MOST_PLAIN)
            + QueueTimes::bytes(self.waiting as u32) as f64 * windows
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{from_value, json};

    /// A plan for a second of flows of 30 packets over a link of 1 Gbit/s and 1 ms, of which so many arrive.
    fn arriving_over(policy: &serde_json::Value, rate: f64) -> Plan {
        let flows = json!({"poisson": {"transport": 0, "routes": [0], "weights": [], "rate": rate, "start": 0,
            "stop": 1_000_000_000, "size": 30, "law": "constant"}});
        with_traffic(policy, &flows)
    }

    fn with_traffic(policy: &serde_json::Value, kind: &serde_json::Value) -> Plan {
        let link = |queue| json!({"name": "link", "rate": 1_000_000_000, "delay": 1_000_000, "queue": queue});
        let queue = json!({"policy": policy, "limit": {"packets": 1000}, "signal": "drop", "mean_packet": 1250});
        let plan = json!({"duration": 1_000_000_000, "boundaries": [], "sample": 0,
            "links": [link(queue), link(json!(null))], "routes": [{"forward": [0], "reverse": [1]}],
            "transports": [{"preset": "rfc", "params": {}}],
            "traffic": [{"name": "flows", "dscp": 0, "kind": kind}]});
        from_value(plan).expect("it is a plan")
    }

    /// What the flow queues of one link take, over which so many flows arrive in a second.
    fn flow_queues(policy: &serde_json::Value, rate: f64) -> f64 {
        bytes_of_flow_queues(&arriving_over(policy, rate))
    }

    #[test]
    fn a_buffer_counts_as_far_as_flows_fill_it() {
        let droptail = json!({"name": "droptail", "params": {}});
        let waiting = |plan: &Plan| packets_of(&plan.links[0], carried(plan)[0]).waiting;
        assert_eq!(waiting(&arriving_over(&droptail, 0.1)), 3.0);
        assert_eq!(waiting(&arriving_over(&droptail, 1000.0)), 1000.0);
        let tcp = json!({"tcp": {"route": 0, "count": 1, "transport": 0, "start": 0, "stop": null, "jitter": 0,
            "size": null, "trace": false}});
        let encoder = json!({"period": 1, "min_rate": 1, "max_rate": 1, "deviation": 0.0, "key_size": 1.0});
        let media = json!({"media": {"control": {"name": "nada", "params": {}}, "route": 0, "count": 1, "packet": 1250,
            "ecn": "not-ect", "encoder": encoder, "start": 0, "jitter": 0, "stop": null}});
        for kind in [tcp, media] {
            let plan = with_traffic(&droptail, &kind);
            assert_eq!(waiting(&plan), 1000.0, "{kind}");
            let travelling = packets_of(&plan.links[0], carried(&plan)[0]).travelling;
            assert!((travelling / OVERSHOOT - 100.0).abs() < 1e-6, "{kind}: {travelling}");
            let mut closed = plan;
            closed.links[0].rate.0 = 0;
            assert!(estimated_bytes(&closed, false).is_finite(), "{kind}");
        }
    }

    #[test]
    fn flow_queues_count_once_a_flow_was_hashed_to_them() {
        let policy = |name: &str| json!({"name": name, "params": {}});
        assert_eq!(flow_queues(&policy("codel"), 1e5), 0.0);
        assert_eq!(flow_queues(&policy("cake"), 1.0), PER_CAKE);
        let all = 1024.0 * PER_FQ_CODEL_QUEUE;
        let found = [1.0, 1024.0, 1e5].map(|rate| flow_queues(&policy("fq_codel"), rate) / all);
        // Of 1024 queues those of one flow, of so many flows that 1 - 1/e are hit, and all.
        for (found, expected) in found.into_iter().zip([1.0 / 1024.0, 1.0 - 1.0 / std::f64::consts::E, 1.0]) {
            assert!((found / expected - 1.0).abs() < 1e-3, "{found}, expected {expected}");
        }
        let few = json!({"name": "fq_pie", "params": {"queues": 8.0}});
        assert!((flow_queues(&few, 1e5) - 8.0 * PER_FQ_PIE_QUEUE).abs() < 1.0);
    }
}
