//! Shared plans of tests.
#![allow(dead_code, reason = "each test file uses a part")]

pub mod parts;

use marqueue_aqm::{Limit, Signal};
use marqueue_core::params::{ParamValues, PolicySpec, Value};
use marqueue_core::{Bytes, Dur, Rate, Time};
use marqueue_sim::plan::*;
use marqueue_sim::result::{LinkWindow, RunResult};
use marqueue_sim::{run, Control};

pub fn ms(x: f64) -> Dur {
    Dur::from_secs(x / 1e3)
}

pub fn secs(x: f64) -> Time {
    Time::ZERO + Dur::from_secs(x)
}

pub fn values(pairs: &[(&str, f64)]) -> ParamValues {
    pairs.iter().map(|(k, v)| (k.to_string(), Value::Number(*v))).collect()
}

pub fn policy(name: &str, params: ParamValues) -> PolicySpec {
    PolicySpec { name: name.into(), params }
}

pub fn queue(name: &str, params: ParamValues, limit: u32, signal: Signal) -> QueuePlan {
    QueuePlan {
        policy: policy(name, params),
        limit: Limit::Packets(limit),
        signal,
        mean_packet: Bytes(1000),
        router: None,
    }
}

pub fn link(name: &str, rate: u64, delay: Dur, queue: Option<QueuePlan>) -> LinkPlan {
    let (name, pipe) = (name.into(), PipePlan::default());
    LinkPlan {
        name,
        rate: Rate(rate),
        delay,
        queue,
        schedule: Vec::new(),
        delivery_opportunities: Vec::new(),
        medium: None,
        trace: false,
        pipe,
        cpu: None,
        per_flow: None,
        model: None,
    }
}

/// A dumbbell: one class of hosts for each round-trip time, as ns-2's scenario scripts build it.
pub struct Dumbbell {
    pub rate: u64,
    pub access: u64,
    pub bottleneck_delay: f64,
    pub destination_delay: f64,
    pub rtts: Vec<f64>,
    pub queue: QueuePlan,
}

impl Dumbbell {
    /// Link 0 is the bottleneck, 1 its return link, then four links a class; route `c` is class `c`.
    pub fn plan(self, duration: f64) -> Plan {
        let d0 = ms(self.bottleneck_delay);
        let mut plan = Plan {
            duration: secs(duration),
            boundaries: Vec::new(),
            sample: Dur::ZERO,
            links: vec![link("bottleneck", self.rate, d0, Some(self.queue)), link("back", self.rate, d0, None)],
            routes: Vec::new(),
            transports: Vec::new(),
            traffic: Vec::new(),
            reuse_slots_above: Plan::reuse_slots_above(),
        };
        for rtt in self.rtts {
            let source = ms(rtt / 2.0 - self.bottleneck_delay - self.destination_delay);
            let destination = ms(self.destination_delay);
            let first = plan.links.len();
            for (name, delay) in
                [("src", source), ("dst", destination), ("dst back", destination), ("src back", source)]
            {
                plan.links.push(link(&format!("{name} {rtt}"), self.access, delay, None));
            }
            plan.routes.push(RoutePlan { forward: vec![first, 0, first + 1], reverse: vec![first + 2, 1, first + 3] });
        }
        plan
    }
}

pub fn tcp(name: &str, route: usize, count: u32, jitter: f64) -> TrafficPlan {
    let kind = TrafficKind::Tcp {
        transport: 0,
        route,
        count,
        start: Time::ZERO,
        jitter: Dur::from_secs(jitter),
        stop: None,
        size: None,
        trace: false,
        write: None,
        sample_cwnd: false,
    };
    TrafficPlan { name: name.into(), dscp: 0, class: 0, kind }
}

pub fn ns2(recovery: &str, ecn: bool) -> TransportPlan {
    let mut params = ParamValues::new();
    params.insert("recovery".into(), Value::Choice(recovery.into()));
    params.insert("ecn".into(), Value::Flag(ecn));
    TransportPlan { preset: "ns2".into(), params, stack: None }
}

pub fn go(plan: &Plan, seed: u64) -> RunResult {
    run(plan, seed, &Control::default()).expect("the plan is valid")
}

pub fn mean_queue(w: &LinkWindow) -> f64 {
    w.queue_times.area() / w.queue_times.total() as f64
}

pub fn utilization(w: &LinkWindow) -> f64 {
    w.used / w.capacity
}

/// The plan with a host that could send into every link, so that every arrival is an event.
pub fn hop_by_hop(plan: &Plan) -> Plan {
    let mut plan = plan.clone();
    plan.routes.extend((0..plan.links.len()).map(|l| RoutePlan { forward: vec![l], reverse: vec![] }));
    plan
}

/// A result without its number of events.
pub fn happened(r: &RunResult) -> String {
    format!("{:?} {:?} {:?} {:?}", r.links, r.traces, r.flows, r.senders)
}
