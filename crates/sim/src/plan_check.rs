//! Checks a plan beyond what deserialization checks: ranges, order of times, existing indices, and sizes that determine
//! memory.

use crate::events::EventQueue;
use crate::plan::{CpuPlan, EncoderPlan, FlowSizes, LinkPlan, Plan, QuicPlan, SizeLaw, TrafficKind, TrafficPlan};
use marqueue_cc::media::AnyControl;
use marqueue_cc::rate_based::AnyRateLaw;
use marqueue_core::params::ParamError;
use marqueue_core::{Bytes, Dur, Ecn, Rate, Signals, Time};
use std::collections::{BTreeMap, BTreeSet};

/// Highest rate of a link or source, bit/s, and highest clock of a CPU, cycles/s.
const MAX_RATE: u64 = 1_000_000_000_000_000;
/// Longest propagation delay, 146 years. Sums of a few of them fit into [`Time`].
const MAX_DELAY: Dur = Dur(1 << 62);
/// Largest mean packet size of a queue, bytes.
const MAX_MEAN_PACKET: u64 = 1_000_000_000;
/// Largest number of cores of a CPU.
const MAX_CORES: u32 = 1024;
/// Highest density of a class, cycles/bit.
const MAX_DENSITY: f64 = 1e9;
/// Smallest packet that carries router signals, bytes: the headers of IP and UDP, and the header for routers.
const MIN_PACKET_WITH_SIGNALS: u64 = 28 + Signals::BYTES as u64;
/// Highest arrival rate of a random process, 1/s. The clock counts nanoseconds.
const MAX_ARRIVAL_RATE: f64 = 1e9;
/// Largest number of flows that exist from the start.
const MAX_FLOWS: u64 = 10_000_000;
/// Largest number of values in one kind of table of a result: flows times windows, links times samples.
const MAX_TABLE_CELLS: u64 = 100_000_000;

/// Checks a plan.
///
/// # Errors
/// Names the first invalid value.
pub fn check_plan(plan: &Plan) -> Result<(), ParamError> {
    let bad = |path: String, message: String| Err(ParamError::new(path, message));
    if plan.duration == Time::ZERO {
        return bad("duration".into(), "got 0, expected more".into());
    }
    // Each link has at most two event sources, each traffic group one, and there are four others.
    let horizon = EventQueue::horizon_for(2 * plan.links.len() + plan.traffic.len() + 4);
    if plan.duration > horizon {
        let message =
            format!("got {} s, expected at most {} s for this number of links", plan.duration.secs(), horizon.secs());
        return bad("duration".into(), message);
    }
    let mut last = Time::ZERO;
    for (i, &edge) in plan.boundaries.iter().enumerate() {
        if edge <= last || edge >= plan.duration {
            let message = format!("got {} s, expected increasing times inside the run", edge.secs());
            return bad(format!("boundaries[{i}]"), message);
        }
        last = edge;
    }
    check_links(plan)?;
    check_all_per_flow(plan)?;
    if plan.traffic.is_empty() {
        return bad("traffic".into(), "got none, expected at least one flow".into());
    }
    plan.traffic
        .iter()
        .enumerate()
        .try_for_each(|(i, t)| check_traffic(plan, &t.kind).map_err(|e| e.within(&format!("traffic[{i}]"))))?;
    check_sizes(plan)
}

/// Checks links and routes.
///
/// # Errors
/// Names the first invalid value.
pub fn check_links(plan: &Plan) -> Result<(), ParamError> {
    let bad = |path: String, message: String| Err(ParamError::new(path, message));
    for (i, link) in plan.links.iter().enumerate() {
        check_rate(link.rate, &format!("links[{i}].rate"))?;
        for (j, &(_, rate)) in link.schedule.iter().enumerate() {
            check_rate(rate, &format!("links[{i}].schedule[{j}]"))?;
        }
        let times = &link.delivery_opportunities;
        if times.windows(2).any(|w| w[0] > w[1]) || times.last() == Some(&Dur::ZERO) {
            return bad(
                format!("links[{i}].delivery_opportunities"),
                "expected nondecreasing times, the last above zero".into(),
            );
        }
        if !times.is_empty() && (!link.schedule.is_empty() || link.cpu.is_some()) {
            return bad(
                format!("links[{i}].delivery_opportunities"),
                "expected a link without schedule and cpu".into(),
            );
        }
        if link.medium.is_some() && (!link.schedule.is_empty() || !times.is_empty() || link.cpu.is_some()) {
            return bad(
                format!("links[{i}].medium"),
                "expected a link without schedule, delivery_opportunities and cpu".into(),
            );
        }
        if link.schedule.windows(2).any(|w| w[0].0 >= w[1].0) {
            return bad(format!("links[{i}].schedule"), "expected increasing times".into());
        }
        if link.delay > MAX_DELAY {
            let message = format!("got {} s, expected at most {} s", link.delay.0 / 1_000_000_000, MAX_DELAY.secs());
            return bad(format!("links[{i}].delay"), message);
        }
        if let Some(cpu) = &link.cpu {
            check_cpu(plan, link, cpu).map_err(|e| e.within(&format!("links[{i}]")))?;
        }
        let has_own_server = !times.is_empty() || link.cpu.is_some() || link.medium.is_some();
        if link.router().is_some() && has_own_server {
            let message =
                "got the qdisc of a kernel, expected an AQM of the simulator at a CPU, a delivery trace or a medium";
            return bad(format!("links[{i}].queue.policy"), message.into());
        }
        check_per_flow(link).map_err(|e| e.within(&format!("links[{i}]")))?;
        if let Some(size) =
            link.queue.as_ref().map(|q| q.mean_packet.0).filter(|size| !(1..=MAX_MEAN_PACKET).contains(size))
        {
            let message = format!("got {size} bytes, expected 1 to {MAX_MEAN_PACKET}");
            return bad(format!("links[{i}].queue.mean_packet"), message);
        }
    }
    for (i, route) in plan.routes.iter().enumerate() {
        if route.forward.is_empty() || route.forward.iter().chain(&route.reverse).any(|&l| l >= plan.links.len()) {
            return bad(format!("routes[{i}]"), "expected at least one link, and only existing links".into());
        }
        // When a packet leaves the link of its flow is known when it enters: none gets in between later.
        let mut of_flows = BTreeSet::new();
        let is_of_flows = |&&l: &&usize| plan.links[l].per_flow.is_some();
        let on_route = route.forward.iter().chain(&route.reverse).filter(is_of_flows);
        if let Some(&twice) = on_route.into_iter().find(|&&l| !of_flows.insert(l)) {
            let message = format!("got {:?} twice, expected a link for each flow once", plan.links[twice].name);
            return bad(format!("routes[{i}]"), message);
        }
    }
    Ok(())
}

/// Checks links of single flows. They have a rate and a delay, and nothing else.
fn check_per_flow(link: &LinkPlan) -> Result<(), ParamError> {
    let Some(per_flow) = &link.per_flow else { return Ok(()) };
    if link.has_queue() || link.pipe.is_any() || link.cpu.is_some() {
        let message = "expected a link without queue, schedule, trace, impairments and cpu";
        return Err(ParamError::new("per_flow", message));
    }
    per_flow.delay.check().map_err(|e| e.within("per_flow.delay"))?;
    if per_flow.delay.longest() > MAX_DELAY {
        let message = format!("expected delays of at most {} s", MAX_DELAY.secs());
        return Err(ParamError::new("per_flow.delay", message));
    }
    let shortest = per_flow.delay.least();
    if link.delay > shortest {
        let message = format!(
            "got {} s, expected at most the shortest delay of a flow, {} s",
            link.delay.secs(),
            shortest.secs()
        );
        return Err(ParamError::new("delay", message));
    }
    Ok(())
}

/// Checks what all links of single flows have together.
fn check_all_per_flow(plan: &Plan) -> Result<(), ParamError> {
    let mut first_of_stream = BTreeMap::new();
    let (flows, mut links) = (plan.initial_flows(), 0u64);
    for (l, link) in plan.links.iter().enumerate() {
        let Some(per_flow) = &link.per_flow else { continue };
        // A flow draws one delay for all links of a stream.
        let (first, delay) = *first_of_stream.entry(&per_flow.stream).or_insert((&link.name, &per_flow.delay));
        if per_flow.delay != *delay {
            let message = format!("expected the delays of {first:?}, which has this stream too");
            return Err(ParamError::new(format!("links[{l}].per_flow.delay"), message));
        }
        links = links.saturating_add(flows);
        if links > MAX_TABLE_CELLS {
            let message = format!("got {links} links of single flows so far, expected at most {MAX_TABLE_CELLS}");
            return Err(ParamError::new(format!("links[{l}].per_flow"), message));
        }
    }
    Ok(())
}

/// Checks sizes that determine how much memory any run of the plan takes.
fn check_sizes(plan: &Plan) -> Result<(), ParamError> {
    let flows = plan.initial_flows();
    if flows > MAX_FLOWS {
        return Err(ParamError::new("traffic", format!("got {flows} flows in all, expected at most {MAX_FLOWS}")));
    }
    let windows = plan.boundaries.len() as u64 + 1;
    if flows * windows > MAX_TABLE_CELLS {
        let message =
            format!("got {windows} windows for {flows} flows, expected a product of at most {MAX_TABLE_CELLS}");
        return Err(ParamError::new("boundaries", message));
    }
    let queues = plan.links.iter().filter(|l| l.queue.is_some()).count() as u64;
    let samples_cwnd = |t: &&TrafficPlan| {
        matches!(
            t.kind,
            TrafficKind::Tcp { sample_cwnd: true, .. } | TrafficKind::Quic(QuicPlan { sample_cwnd: true, .. })
        )
    };
    let series = queues + plan.traffic.iter().filter(samples_cwnd).count() as u64;
    let samples = plan.duration.0.checked_div(plan.sample.0).unwrap_or(0);
    if samples.saturating_mul(series) > MAX_TABLE_CELLS {
        let least = Dur((plan.duration.0 / MAX_TABLE_CELLS + 1).saturating_mul(series));
        let message =
            format!("got {} s, expected at least {} s for a run of this length", plan.sample.secs(), least.secs());
        return Err(ParamError::new("sample", message));
    }
    Ok(())
}

/// Checks a CPU. Its link has a queue, but no delay, schedule or pipe.
fn check_cpu(plan: &Plan, link: &LinkPlan, cpu: &CpuPlan) -> Result<(), ParamError> {
    let bad = |path: &str, message: String| Err(ParamError::new(path, message));
    if link.queue.is_none() || link.delay > Dur::ZERO || !link.schedule.is_empty() || link.pipe.is_any() {
        return bad("cpu", "expected a link with a queue and without delay, schedule and pipe".into());
    }
    if !(1..=MAX_RATE).contains(&cpu.clock.0) {
        return bad("cpu.clock", format!("got {} cycles/s, expected 1 to {MAX_RATE}", cpu.clock.0));
    }
    if !(1..=MAX_CORES).contains(&cpu.cores) {
        return bad("cpu.cores", format!("got {}, expected 1 to {MAX_CORES}", cpu.cores));
    }
    if cpu.work.len() < plan.class_count() {
        return bad("cpu.work", format!("got {} classes, expected {}", cpu.work.len(), plan.class_count()));
    }
    for (i, work) in cpu.work.iter().enumerate() {
        if !(0.0..=MAX_DENSITY).contains(&work.density) {
            let message = format!("got {} cycles/bit, expected 0 to {MAX_DENSITY}", work.density);
            return bad(&format!("cpu.work[{i}].density"), message);
        }
    }
    match cpu.lambda {
        Some(lambda) if !(lambda > 0.0 && lambda < 1.0) => {
            bad("cpu.lambda", format!("got {lambda}, expected more than 0 and less than 1"))
        }
        _ => Ok(()),
    }
}

/// Checks a rate. Below one bit a second a packet would take longer than any run.
fn check_rate(rate: Rate, path: &str) -> Result<(), ParamError> {
    if !(1..=MAX_RATE).contains(&rate.0) {
        return Err(ParamError::new(path, format!("got {} bit/s, expected 1 to {MAX_RATE}", rate.0)));
    }
    Ok(())
}

/// Sizes of a full packet of QUIC: UDP's payload is 1200 bytes at least (RFC 9000, section 14), and it has to fit into an
/// Ethernet frame.
const QUIC_PACKETS: std::ops::RangeInclusive<u64> = 1228..=1500;

/// Sizes of a full packet of media: headers of 40 bytes, and an Ethernet frame.
const MEDIA_PACKETS: std::ops::RangeInclusive<u64> = 100..=1500;

/// Largest mean size of a key frame, bytes.
const LARGEST_FRAME: f64 = 1e8;

/// Checks an encoder. Places are those of a scenario.
fn check_encoder(encoder: &EncoderPlan) -> Result<(), ParamError> {
    let EncoderPlan { period, min_rate, max_rate, ladder, deviation, key_frames, key_size } = encoder;
    let expect = |ok: bool, path: &str, message: &str| match ok {
        true => Ok(()),
        false => Err(ParamError::new(path, message)),
    };
    expect((Dur(1_000_000)..=Dur(1_000_000_000)).contains(period), "frame_rate", "expected 1 to 1000 frames a second")?;
    check_rate(*min_rate, "min_rate")?;
    check_rate(*max_rate, "max_rate")?;
    expect(min_rate.0 <= max_rate.0, "max_rate", "expected at least min_rate")?;
    expect(ladder.is_sorted_by(|a, b| a.0 < b.0), "ladder", "expected rates that increase")?;
    let inside = ladder.iter().all(|rate| (min_rate.0..=max_rate.0).contains(&rate.0));
    expect(inside, "ladder", "expected rates from min_rate to max_rate")?;
    expect((0.0..=1.0).contains(deviation), "deviation", "expected 0 to 1")?;
    expect(key_frames.is_none_or(|every| every >= *period), "key_frames", "expected at least the time between frames")?;
    expect((1.0..=100.0).contains(key_size), "key_size", "expected 1 to 100")?;
    let largest = max_rate.0 as f64 / 8.0 * period.secs() * key_size;
    expect(largest <= LARGEST_FRAME, "max_rate", &format!("expected key frames of at most {LARGEST_FRAME} bytes"))
}

/// Checks a traffic group.
fn check_traffic(plan: &Plan, kind: &TrafficKind) -> Result<(), ParamError> {
    let expect = |ok: bool, path: &str, message: &str| match ok {
        true => Ok(()),
        false => Err(ParamError::new(path, message)),
    };
    let route_ok = |r: &usize| *r < plan.routes.len();
    let has_reverse = |r: &usize| route_ok(r) && !plan.routes[*r].reverse.is_empty();
    let transport_exists = |t: usize| expect(t < plan.transports.len(), "transport", "expected an existing transport");
    let route_exists = |r: &usize| expect(route_ok(r), "route", "expected an existing route");
    let route_returns = |r: &usize| expect(has_reverse(r), "route", "expected an existing route with a reverse part");
    let packet_size = |b: &Bytes| expect((1..=65_535).contains(&b.0), "packet", "expected 1 to 65535 bytes");
    let arrivals = |x: f64, what: &str| {
        let message = format!("got {x}, expected {what} a second, more than 0 and at most {MAX_ARRIVAL_RATE}");
        expect(x > 0.0 && x <= MAX_ARRIVAL_RATE, "rate", &message)
    };
    match kind {
        TrafficKind::Tcp { transport, route, size, write, .. } => {
            transport_exists(*transport)?;
            route_returns(route)?;
            expect(*size != Some(0), "size", "got 0 packets, expected at least 1")?;
            let Some(write) = write else { return Ok(()) };
            let in_run = |time: Dur, key: &str| {
                let within = (Dur(1)..=Dur(plan.duration.0)).contains(&time);
                expect(within, key, "expected a time above zero and at most the duration of the run")
            };
            expect(write.packets > 0, "write", "got 0 packets, expected at least 1")?;
            in_run(write.every, "every")?;
            let Some(first) = write.first else { return Ok(()) };
            expect(first.packets > 0, "first", "got 0 packets, expected at least 1")?;
            in_run(first.lasts, "first_lasts")
        }
        TrafficKind::Poisson { transport, routes, weights, rate, size, law, .. } => {
            transport_exists(*transport)?;
            expect(
                !routes.is_empty() && routes.iter().all(has_reverse),
                "routes",
                "expected existing routes with a reverse part",
            )?;
            expect(
                weights.is_empty()
                    || (weights.len() == routes.len() && weights.iter().all(|w| w.is_finite() && *w > 0.0)),
                "weights",
                "expected a number above 0 for each route",
            )?;
            arrivals(*rate, "flows")?;
            if let FlowSizes::Pareto { shape } = law {
                expect(shape.is_finite() && *shape > 1.0, "law.shape", "expected more than 1")?;
            }
            expect(*size > 0, "size", "got 0 packets, expected at least 1")
        }
        TrafficKind::Cbr { route, rate, packet, .. } => {
            route_exists(route)?;
            check_rate(*rate, "rate")?;
            packet_size(packet)
        }
        TrafficKind::Recorded { route, packets, .. } => {
            route_exists(route)?;
            expect(!packets.is_empty(), "packets", "got none, expected at least one packet")?;
            for (index, (after, size)) in packets.iter().enumerate() {
                packet_size(size).map_err(|e| ParamError::new(format!("packets[{index}]"), e.message))?;
                let in_order = index == 0 || packets[index - 1].0 <= *after;
                expect(in_order, &format!("packets[{index}]"), "got a time before that of the last packet")?;
            }
            Ok(())
        }
        TrafficKind::Paced { control, route, rate, packet, .. } => {
            let law = AnyRateLaw::build(control, *packet).map_err(|e| e.within("control"))?;
            route_returns(route)?;
            check_rate(*rate, "rate")?;
            packet_size(packet)?;
            let message = format!("expected at least {MIN_PACKET_WITH_SIGNALS} bytes, the size of the headers");
            expect(!law.uses_router_feedback() || packet.0 >= MIN_PACKET_WITH_SIGNALS, "packet", &message)
        }
        TrafficKind::Quic(quic) => {
            route_returns(&quic.route)?;
            let message = format!("got {} bytes, expected {QUIC_PACKETS:?} with QUIC", quic.packet.0);
            expect(QUIC_PACKETS.contains(&quic.packet.0), "packet", &message)?;
            expect(quic.size != Some(0), "size", "got 0 bytes, expected at least 1")?;
            if let Some(rate) = quic.rate {
                check_rate(rate, "rate")?;
            }
            if let Some(rate) = quic.arrivals {
                arrivals(rate, "flows").map_err(|e| ParamError::new("arrivals", e.message))?;
            }
            if let FlowSizes::Pareto { shape } = quic.law {
                expect(shape.is_finite() && shape > 1.0, "law.shape", "expected more than 1")?;
            }
            Ok(())
        }
        TrafficKind::Media(media) => {
            AnyControl::check(&media.control).map_err(|e| e.within("control"))?;
            let name = &media.control.name;
            let unanswered = Ecn::from(media.ecn) != Ecn::NotEct && !AnyControl::answers_marks(name);
            expect(!unanswered, "ecn", &format!("got one with {name}, which does not answer marks, expected not-ect"))?;
            route_returns(&media.route)?;
            let message = format!("got {} bytes, expected {MEDIA_PACKETS:?} with media", media.packet.0);
            expect(MEDIA_PACKETS.contains(&media.packet.0), "packet", &message)?;
            check_encoder(&media.encoder)
        }
        TrafficKind::Packets { route, rate, packet, size, .. } => {
            route_exists(route)?;
            arrivals(*rate, "packets")?;
            if let SizeLaw::Hyperexponential { scv } = size {
                expect(scv.is_finite() && *scv >= 1.0, "size.scv", "expected at least 1")?;
            }
            packet_size(packet)
        }
    }
}
