//! Draws plans from a fuzzer's bytes: mostly valid ones.

use crate::{magnitude, one_of, params, policy};
use arbitrary::{Result, Unstructured};
use marqueue_aqm::{Limit, Signal};
use marqueue_core::params::{ParamSet, ParamSpec, PolicySpec};
use marqueue_core::{Bytes, Dur, Hz, MicroCycles, Rate, Time};
use marqueue_sim::check;
use marqueue_sim::delay_law::DelayLaw;
use marqueue_sim::impair::{Jitter, Loss, Reorder};
use marqueue_sim::medium::AnyMedium;
use marqueue_sim::plan::*;
use std::collections::{BTreeMap, BTreeSet};

/// Limits of the plans that are run, so that each run is short. `check` accepts larger ones.
const MAX_DURATION: Time = Time(500_000_000);
const MAX_FLOWS: u64 = 2_000;
const MAX_WINDOWS: usize = 1_000;
const MAX_LINKS: usize = 100;

fn rate(u: &mut Unstructured<'_>) -> Result<Rate> {
    Ok(Rate(match u.int_in_range(0..=3)? {
        0 => magnitude(u, u64::MAX)?,
        1 => magnitude(u, 1_000_000_000_000_000)?,
        _ => one_of(u, &[100_000, 1_000_000, 10_000_000, 100_000_000, 1_000_000_000])?,
    }))
}

/// A number of nanoseconds, mostly within the run.
fn ns(u: &mut Unstructured<'_>) -> Result<u64> {
    Ok(match u.int_in_range(0..=7)? {
        0 => magnitude(u, u64::MAX)?,
        1 => 0,
        2..=4 => one_of(u, &[1_000_000, 5_000_000, 10_000_000, 20_000_000])?,
        _ => magnitude(u, MAX_DURATION.0)?,
    })
}

fn times(u: &mut Unstructured<'_>, most: usize) -> Result<Vec<Time>> {
    let n = u.int_in_range(0..=most)?;
    let mut times = (0..n).map(|_| ns(u).map(Time)).collect::<Result<Vec<_>>>()?;
    if !u.ratio(1, 16)? {
        times.sort_unstable();
        times.dedup();
    }
    Ok(times)
}

fn queue(u: &mut Unstructured<'_>) -> Result<QueuePlan> {
    Ok(QueuePlan {
        policy: policy(u, 1)?,
        limit: match u.int_in_range(0..=3)? {
            0 => Limit::Packets(magnitude(u, u32::MAX.into())? as u32),
            1 => Limit::Bytes(magnitude(u, u64::MAX)?),
            _ => Limit::Packets(u.int_in_range(1..=100)?),
        },
        signal: one_of(u, &[Signal::Drop, Signal::Ecn, Signal::EcnOnly])?,
        mean_packet: Bytes(one_of(u, &[1000, 1500, 40, 1, 0, 1_000_000_000, u64::MAX])?),
        // The qdisc of a kernel needs the kernel: targets `rings` and `device`.
        router: None,
    })
}

/// A CPU that is mostly valid.
fn cpu(u: &mut Unstructured<'_>) -> Result<CpuPlan> {
    let work = |u: &mut Unstructured<'_>| {
        Ok(WorkPlan {
            per_bit: MicroCycles(magnitude(u, u64::MAX)?),
            per_packet: MicroCycles(magnitude(u, u64::MAX)?),
            density: one_of(u, &[0.0, 0.25, 2.0, 1e9, 1e-300])?,
        })
    };
    Ok(CpuPlan {
        clock: Hz(one_of(u, &[1_000_000, 100_000_000, 1_000_000_000, 1, 0])?),
        cores: one_of(u, &[1, 2, 3, 1024, 0])?,
        work: (0..u.int_in_range(3..=4)?).map(|_| work(u)).collect::<Result<_>>()?,
        lambda: one_of(u, &[None, Some(0.1), Some(1.0)])?,
    })
}

fn link(u: &mut Unstructured<'_>, i: usize) -> Result<LinkPlan> {
    let queue = if u.arbitrary()? { Some(queue(u)?) } else { None };
    let opportunities = if u.ratio(1, 8)? { times(u, 4)? } else { Vec::new() };
    let delivery_opportunities = opportunities.into_iter().map(|t| Dur(t.0)).collect();
    let times = if u.ratio(1, 4)? { times(u, 3)? } else { Vec::new() };
    let medium = if u.ratio(1, 8)? { Some(medium(u)?) } else { None };
    let link = LinkPlan {
        name: format!("link {i}"),
        rate: rate(u)?,
        delay: Dur(ns(u)?),
        queue,
        schedule: times.into_iter().map(|t| Ok((t, rate(u)?))).collect::<Result<_>>()?,
        trace: u.arbitrary()?,
        pipe: pipe(u)?,
        delivery_opportunities,
        medium,
        cpu: None,
        per_flow: None,
        model: None,
    };
    if link.queue.is_none() {
        return if u.ratio(1, 4)? { links_of_flows(u, link) } else { Ok(link) };
    }
    if u.ratio(3, 4)? {
        return Ok(link);
    }
    let (delay, schedule, pipe) = (Dur::ZERO, Vec::new(), PipePlan::default());
    Ok(LinkPlan { delay, schedule, pipe, medium: None, cpu: Some(cpu(u)?), ..link })
}

/// A link for each flow, mostly valid.
fn links_of_flows(u: &mut Unstructured<'_>, link: LinkPlan) -> Result<LinkPlan> {
    let (least, most) = (link.delay, Dur(link.delay.0.saturating_add(ns(u)?)));
    let delay = match u.int_in_range(0..=4)? {
        0 => DelayLaw::Constant { delay: least },
        1 => DelayLaw::Uniform { least, most },
        2 => DelayLaw::Exponential { least, mean: most },
        3 => DelayLaw::Lognormal { median: most, sigma: one_of(u, &[0.1, 1.0, 5.0, 0.0])?, less: Dur(ns(u)?), least },
        _ => DelayLaw::Empirical { delays: vec![least, most] },
    };
    let stream = one_of(u, &["near", "far"])?.into();
    let (schedule, delivery_opportunities, pipe) = (Vec::new(), Vec::new(), PipePlan::default());
    Ok(LinkPlan {
        per_flow: Some(PerFlowPlan { delay, stream }),
        trace: false,
        schedule,
        delivery_opportunities,
        medium: None,
        pipe,
        ..link
    })
}

/// An entry of a catalogue, with parameters in their ranges.
fn one_with_params(u: &mut Unstructured<'_>, entries: &[(&'static str, Vec<ParamSpec>)]) -> Result<PolicySpec> {
    let (name, specs) = u.choose(entries)?;
    Ok(PolicySpec { name: (*name).into(), params: params(u, specs, 0)? })
}

fn medium(u: &mut Unstructured<'_>) -> Result<PolicySpec> {
    let media: Vec<_> = AnyMedium::catalogue().into_iter().map(|e| (e.name, e.params)).collect();
    one_with_params(u, &media)
}

fn pipe(u: &mut Unstructured<'_>) -> Result<PipePlan> {
    if u.ratio(2, 3)? {
        return Ok(PipePlan::default());
    }
    let losses: Vec<_> = Loss::catalogue().into_iter().map(|e| (e.name, e.params)).collect();
    Ok(PipePlan {
        loss: if u.arbitrary()? { Some(one_with_params(u, &losses)?) } else { None },
        jitter: if u.arbitrary()? { Some(params(u, &Jitter::specs(), 0)?) } else { None },
        reorder: if u.arbitrary()? { Some(params(u, &Reorder::specs(), 0)?) } else { None },
    })
}

fn write(u: &mut Unstructured<'_>) -> Result<Option<WritePlan>> {
    if u.ratio(2, 3)? {
        return Ok(None);
    }
    Ok(Some(WritePlan {
        packets: count(u)?,
        every: Dur(ns(u)?),
        gaps: one_of(u, &[Gaps::Constant, Gaps::Exponential])?,
        first: if u.arbitrary()? { Some(FirstWrite { packets: count(u)?, lasts: Dur(ns(u)?) }) } else { None },
    }))
}

fn route_links(u: &mut Unstructured<'_>, links: usize) -> Result<Vec<usize>> {
    let n = u.int_in_range(0..=5)?.max(usize::from(u.ratio(7, 8)?));
    (0..n).map(|_| index(u, links)).collect()
}

/// An index below `n`, or rarely `n`, which is invalid.
fn index(u: &mut Unstructured<'_>, n: usize) -> Result<usize> {
    if n == 0 || u.ratio(1, 64)? {
        return Ok(n);
    }
    u.int_in_range(0..=n - 1)
}

fn count(u: &mut Unstructured<'_>) -> Result<u32> {
    Ok(if u.ratio(1, 32)? { magnitude(u, u32::MAX.into())? as u32 } else { u.int_in_range(0..=12)? })
}

fn stop(u: &mut Unstructured<'_>) -> Result<Option<Time>> {
    Ok(if u.arbitrary()? { Some(Time(ns(u)?)) } else { None })
}

fn per_second(u: &mut Unstructured<'_>) -> Result<f64> {
    Ok(match u.int_in_range(0..=3)? {
        0 => u.arbitrary()?,
        1 => f64::from(u.int_in_range(1..=2_000_000u32)?),
        _ => one_of(u, &[1.0, 50.0, 1000.0, 1e5, 1e-300, 1e9])?,
    })
}

fn packet(u: &mut Unstructured<'_>) -> Result<Bytes> {
    Ok(Bytes(if u.ratio(1, 8)? { magnitude(u, u64::MAX)? } else { u.int_in_range(1..=65_535)? }))
}

/// The laws of paced flows.
fn laws() -> Vec<(&'static str, Vec<ParamSpec>)> {
    marqueue_cc::rate_based::AnyRateLaw::catalogue().into_iter().map(|e| (e.name, e.params)).collect()
}

fn media(u: &mut Unstructured<'_>, route: usize, start: Time, jitter: Dur) -> Result<MediaPlan> {
    let controls: Vec<_> =
        marqueue_cc::media::AnyControl::catalogue().into_iter().map(|e| (e.name, e.params)).collect();
    let (min_rate, max_rate) = (rate(u)?, rate(u)?);
    let encoder = EncoderPlan {
        period: Dur(if u.ratio(1, 8)? { ns(u)? } else { u.int_in_range(1_000_000..=100_000_000)? }),
        min_rate,
        max_rate,
        ladder: if u.arbitrary()? { vec![min_rate, max_rate] } else { Vec::new() },
        deviation: one_of(u, &[0.0, 0.15, 1.0, -1.0])?,
        key_frames: if u.arbitrary()? { Some(Dur(ns(u)?)) } else { None },
        key_size: one_of(u, &[1.0, 4.0, 100.0, 0.5])?,
    };
    Ok(MediaPlan {
        control: one_with_params(u, &controls)?,
        route,
        count: count(u)?,
        packet: if u.arbitrary()? { Bytes(1200) } else { packet(u)? },
        ecn: one_of(u, &[EcnField::NotEct, EcnField::Ect, EcnField::Ect1])?,
        encoder,
        start,
        jitter,
        stop: stop(u)?,
        trace: u.arbitrary()?,
    })
}

fn traffic(u: &mut Unstructured<'_>, i: usize, routes: usize, transports: usize) -> Result<TrafficPlan> {
    let (start, jitter) = (Time(if u.arbitrary()? { 0 } else { ns(u)? }), Dur(ns(u)?));
    let route = index(u, routes)?;
    let kind = match u.int_in_range(0..=8)? {
        5 => TrafficKind::Recorded {
            route,
            count: count(u)?,
            packets: (0..u.int_in_range(0..=4)?).map(|_| Ok((Dur(ns(u)?), packet(u)?))).collect::<Result<_>>()?,
            start,
            jitter,
            stop: stop(u)?,
            ecn: one_of(u, &[EcnField::NotEct, EcnField::Ect, EcnField::Ect1])?,
        },
        4 => TrafficKind::Media(media(u, route, start, jitter)?),
        3 => TrafficKind::Paced {
            control: one_with_params(u, &laws())?,
            route,
            count: count(u)?,
            rate: rate(u)?,
            packet: packet(u)?,
            ecn: u.arbitrary()?,
            start,
            jitter,
            stop: stop(u)?,
            trace: u.arbitrary()?,
        },
        0 => TrafficKind::Poisson {
            transport: index(u, transports)?,
            routes: route_links(u, routes)?,
            weights: one_of(u, &[&[][..], &[1.0], &[0.5, 2.0]])?.to_vec(),
            rate: per_second(u)?,
            start,
            stop: Time(ns(u)?),
            size: count(u)?,
            law: one_of(u, &[FlowSizes::Constant, FlowSizes::Pareto { shape: 1.2 }, FlowSizes::Pareto { shape: 1.0 }])?,
        },
        1 => TrafficKind::Cbr {
            route,
            count: count(u)?,
            rate: rate(u)?,
            packet: packet(u)?,
            start,
            jitter,
            stop: stop(u)?,
            ecn: one_of(u, &[EcnField::NotEct, EcnField::Ect, EcnField::Ect1])?,
        },
        2 => TrafficKind::Packets {
            route,
            rate: per_second(u)?,
            packet: packet(u)?,
            size: one_of(u, &[SizeLaw::Constant, SizeLaw::Exponential, SizeLaw::Hyperexponential { scv: 4.0 }])?,
            start,
            stop: stop(u)?,
            ecn: one_of(u, &[EcnField::NotEct, EcnField::Ect, EcnField::Ect1])?,
        },
        _ => TrafficKind::Tcp {
            transport: index(u, transports)?,
            route,
            count: count(u)?,
            start,
            jitter,
            stop: stop(u)?,
            size: if u.arbitrary()? { Some(count(u)?) } else { None },
            trace: u.arbitrary()?,
            write: write(u)?,
            sample_cwnd: u.arbitrary()?,
        },
    };
    Ok(TrafficPlan { name: format!("traffic {i}"), dscp: u.int_in_range(0..=63)?, class: u.int_in_range(0..=3)?, kind })
}

/// Gives all links of flows with one stream the delays of the first one.
fn share_laws(links: &mut [LinkPlan]) {
    let mut laws: BTreeMap<String, (Dur, DelayLaw)> = BTreeMap::new();
    for link in links {
        if let Some(flows) = &mut link.per_flow {
            let law = laws.entry(flows.stream.clone()).or_insert_with(|| (link.delay, flows.delay.clone()));
            (link.delay, flows.delay) = law.clone();
        }
    }
}

/// Leaves out links of flows that a route has passed before.
fn pass_once(route: &mut RoutePlan, links: &[LinkPlan]) {
    let mut passed = BTreeSet::new();
    let mut is_first = |l: &usize| links.get(*l).is_none_or(|link| link.per_flow.is_none()) || passed.insert(*l);
    route.forward.retain(&mut is_first);
    route.reverse.retain(&mut is_first);
}

/// Any traffic on any routes over any links.
pub fn plan(u: &mut Unstructured<'_>) -> Result<Plan> {
    let duration = Time(if u.ratio(1, 8)? { magnitude(u, u64::MAX)? } else { magnitude(u, MAX_DURATION.0)? });
    let mut links = (0..u.int_in_range(1..=8)?).map(|i| link(u, i)).collect::<Result<Vec<_>>>()?;
    share_laws(&mut links);
    let l = links.len();
    let mut routes = (0..u.int_in_range(1..=4)?)
        .map(|_| Ok(RoutePlan { forward: route_links(u, l)?, reverse: route_links(u, l)? }))
        .collect::<Result<Vec<_>>>()?;
    routes.iter_mut().for_each(|route| pass_once(route, &links));
    let transports = (0..u.int_in_range(0..=2)?)
        .map(|_| {
            let preset = one_of(u, &marqueue_cc::preset::PRESETS)?.into();
            Ok(TransportPlan { preset, params: params(u, &marqueue_cc::config::Params::specs(), 0)?, stack: None })
        })
        .collect::<Result<Vec<_>>>()?;
    let groups = u.int_in_range(1..=4)?;
    let traffic = (0..groups).map(|i| traffic(u, i, routes.len(), transports.len())).collect::<Result<Vec<_>>>()?;
    let (boundaries, sample) = (times(u, 3)?, Dur(ns(u)?));
    let reuse_slots_above = if u.arbitrary()? { 0 } else { Plan::reuse_slots_above() };
    Ok(Plan { duration, boundaries, sample, links, routes, transports, traffic, reuse_slots_above })
}

/// Flows that exist from the start, and processes of arrivals.
fn flows(plan: &Plan) -> u64 {
    plan.traffic
        .iter()
        .map(|t| match t.kind {
            TrafficKind::Tcp { count, .. }
            | TrafficKind::Cbr { count, .. }
            | TrafficKind::Recorded { count, .. }
            | TrafficKind::Paced { count, .. } => count.into(),
            TrafficKind::Poisson { .. } | TrafficKind::Packets { .. } => 1,
            TrafficKind::Quic(_) => 1,
            TrafficKind::Media(MediaPlan { count, .. }) => count.into(),
        })
        .sum()
}

/// The plan, if it passes `check`, made so short that it can be run here.
pub fn shortened(mut plan: Plan) -> Option<Plan> {
    check(&plan).ok()?;
    // The library that ends these flows is not here.
    if plan.traffic.iter().any(|t| matches!(t.kind, TrafficKind::Quic(_))) {
        return None;
    }
    if flows(&plan) > MAX_FLOWS || plan.boundaries.len() > MAX_WINDOWS || plan.links.len() > MAX_LINKS {
        return None;
    }
    plan.duration = plan.duration.min(MAX_DURATION);
    plan.boundaries.retain(|&edge| edge < plan.duration);
    Some(plan)
}
