//! Random sources: arrival processes of flows and packets, applications that write in pieces, size distributions.

use crate::plan::{FlowSizes, Gaps, Plan, SizeLaw, TrafficKind, TrafficPlan, WritePlan};
use marqueue_core::{math, Dur, Rng, Time};
use std::collections::VecDeque;

/// How long a flow that arrives has a slot that is reused, s: until it ends, and three or four periods of [`crate::slots`]. When
/// it ends depends on how busy the network is; this is that of short flows with typical round-trip times.
const LIFE: f64 = 1.0;

/// The number of flows that are expected to arrive during the run.
pub fn expected_arrivals(plan: &Plan) -> f64 {
    plan.traffic.iter().map(|traffic| expected_arrivals_of(plan, traffic)).sum()
}

/// The same of one group.
pub fn expected_arrivals_of(plan: &Plan, traffic: &TrafficPlan) -> f64 {
    match traffic.kind {
        TrafficKind::Poisson { rate, start, stop, .. } => {
            rate * (stop.min(plan.duration).secs().max(start.secs()) - start.secs())
        }
        _ => 0.0,
    }
}

/// Do flows that arrive get the slots of flows that have ended ([`Plan::reuse_slots_above`])?
pub fn reuses_slots(plan: &Plan) -> bool {
    expected_arrivals(plan) > f64::from(plan.reuse_slots_above)
}

/// The number of slots to allocate: those of the flows that exist from the start and of the flows that arrive; where slots
/// are reused, in `LIFE`. More than four standard deviations above the mean arrive in one run of 30,000.
pub fn slots_for(plan: &Plan) -> f64 {
    let in_life = |traffic: &TrafficPlan| match traffic.kind {
        TrafficKind::Poisson { rate, .. } => rate * LIFE,
        _ => 0.0,
    };
    let most = if reuses_slots(plan) { plan.traffic.iter().map(in_life).sum() } else { f64::INFINITY };
    let arriving = expected_arrivals(plan).min(most);
    plan.initial_flows() as f64 + arriving + 4.0 * arriving.sqrt()
}

/// A Poisson process of flow or packet arrivals.
#[derive(Debug)]
pub struct Arrivals {
    /// Index into the plan's traffic.
    pub group: u32,
    /// Its random stream.
    pub rng: Rng,
    /// The next arrival to be drawn; `Time::NEVER` when the process has ended.
    pub next: Time,
    /// Flows that were created before their arrival, in a part of a network: when they arrive, and their slots.
    pub ahead: VecDeque<(Time, u32)>,
    mean_gap: f64,
    stop: Time,
    /// What arrives.
    pub kind: ArrivalKind,
}

/// What arrives.
#[derive(Clone, Debug)]
pub enum ArrivalKind {
    /// TCP flows on one of `routes`.
    Flows {
        /// Index into the plan's transports.
        transport: u32,
        /// Its route.
        routes: RandomRoute,
        /// Packets a flow, in the mean.
        size: u32,
        /// Distribution of that.
        law: FlowSizes,
    },
    /// Uncontrolled packets of the flow in slot `flow`.
    Packets {
        /// The flow that they belong to.
        flow: u32,
        /// Mean size in bytes.
        bytes: u32,
        /// Distribution of sizes.
        law: SizeLaw,
        /// Number of packets sent.
        sent: u32,
    },
}

/// The distribution of the route of a flow.
#[derive(Clone, Debug)]
pub struct RandomRoute {
    /// Indices into the plan's routes.
    routes: Vec<u32>,
    /// The sum of the weights up to each route; empty if all routes are equally likely.
    sums: Vec<f64>,
}

impl RandomRoute {
    fn new(routes: &[usize], weights: &[f64]) -> RandomRoute {
        let add = |sum: &mut f64, weight: &f64| {
            *sum += weight;
            Some(*sum)
        };
        RandomRoute {
            routes: routes.iter().map(|&r| r as u32).collect(),
            sums: weights.iter().scan(0.0, add).collect(),
        }
    }

    /// Draws a route.
    pub fn draw(&self, rng: &mut Rng) -> u32 {
        let Some(total) = self.sums.last() else {
            return self.routes[rng.below(self.routes.len() as u32) as usize];
        };
        let at = rng.uniform() * total;
        let i = self.sums.partition_point(|&sum| sum <= at);
        // Rounding may give the total itself.
        self.routes[i.min(self.routes.len() - 1)]
    }
}

impl Arrivals {
    /// The arrival process of a traffic group, if it has one. `packet_flow` is the flow slot of its packets.
    pub fn new(plan: &TrafficPlan, group: u32, seed: u64, packet_flow: u32) -> Option<Arrivals> {
        let (rate, start, stop, kind) = match &plan.kind {
            TrafficKind::Poisson { transport, routes, weights, rate, start, stop, size, law } => {
                let routes = RandomRoute::new(routes, weights);
                (
                    *rate,
                    *start,
                    *stop,
                    ArrivalKind::Flows { transport: *transport as u32, routes, size: *size, law: *law },
                )
            }
            TrafficKind::Packets { rate, packet, size, start, stop, .. } => {
                let kind = ArrivalKind::Packets { flow: packet_flow, bytes: packet.0 as u32, law: *size, sent: 0 };
                (*rate, *start, stop.unwrap_or(Time::NEVER), kind)
            }
            TrafficKind::Tcp { .. }
            | TrafficKind::Cbr { .. }
            | TrafficKind::Recorded { .. }
            | TrafficKind::Paced { .. }
            | TrafficKind::Quic(_)
            | TrafficKind::Media(_) => return None,
        };
        let rng = Rng::named(seed, &format!("traffic/{}", plan.name));
        let mut arrivals =
            Arrivals { group, rng, next: start, ahead: VecDeque::new(), mean_gap: 1.0 / rate, stop, kind };
        arrivals.advance();
        Some(arrivals)
    }

    /// The flow of its packets, if packets arrive.
    pub fn packet_flow(&self) -> Option<u32> {
        match self.kind {
            ArrivalKind::Packets { flow, .. } => Some(flow),
            ArrivalKind::Flows { .. } => None,
        }
    }

    /// When the next arrival takes place.
    pub fn due(&self) -> Time {
        self.ahead.front().map_or(self.next, |&(at, _)| at)
    }

    /// Draws the next arrival.
    pub fn advance(&mut self) {
        self.next += Dur::from_secs(self.rng.exponential(self.mean_gap));
        if self.next >= self.stop {
            self.next = Time::NEVER;
        }
    }
}

/// An application that writes its data in pieces.
#[derive(Debug)]
pub struct Writer {
    plan: WritePlan,
    rng: Rng,
    /// Time of the next piece; `Time::NEVER` when all data is written.
    pub next: Time,
    /// Packets not written yet; `None` if endless.
    left: Option<u32>,
}

impl Writer {
    /// A writer of `size` packets that starts at `start`.
    pub fn new(plan: WritePlan, rng: Rng, start: Time, size: Option<u32>) -> Writer {
        Writer { plan, rng, next: start, left: size }
    }

    /// Writes the piece that is due and schedules the next one. Returns its number of packets.
    pub fn write(&mut self) -> u32 {
        let first = self.plan.first.take();
        let piece = first.map_or(self.plan.packets, |first| first.packets);
        let n = self.left.map_or(piece, |left| left.min(piece));
        self.left = self.left.map(|left| left - n);
        self.next += match (first, self.plan.gaps) {
            (Some(first), _) => first.lasts,
            (None, Gaps::Constant) => self.plan.every,
            (None, Gaps::Exponential) => Dur::from_secs(self.rng.exponential(self.plan.every.secs())),
        };
        if self.left == Some(0) {
            self.next = Time::NEVER;
        }
        n
    }
}

/// Draws the number of packets of a flow.
pub fn draw_packets(law: FlowSizes, mean: u32, rng: &mut Rng) -> u32 {
    match law {
        FlowSizes::Constant => mean,
        FlowSizes::Pareto { shape } => {
            let least = f64::from(mean) * (shape - 1.0) / shape;
            let size = least * math::powf(1.0 - rng.uniform(), -1.0 / shape);
            (size.round() as u32).max(1)
        }
    }
}

/// Draws a packet size, bytes.
pub fn draw_size(law: SizeLaw, mean: u32, rng: &mut Rng) -> u32 {
    match law {
        SizeLaw::Constant => mean,
        SizeLaw::Exponential => whole_bytes(rng.exponential(f64::from(mean))),
        SizeLaw::Hyperexponential { scv } => {
            let many = 0.5 * (1.0 + ((scv - 1.0) / (scv + 1.0)).sqrt());
            let share = if rng.uniform() < many { many } else { 1.0 - many };
            whole_bytes(rng.exponential(f64::from(mean) / (2.0 * share)))
        }
    }
}

fn whole_bytes(size: f64) -> u32 {
    (size.ceil() as u32).max(1)
}
