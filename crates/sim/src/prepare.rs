//! Builds what a plan consists of, before a run starts: transport settings, queues with their servers, impaired pipes.

use crate::cpu::Cpu;
use crate::delivery_trace::DeliveryTrace;
use crate::engine::PreparedRun;
use crate::impair::Pipe;
use crate::medium::AnyMedium;
use crate::meter::Meter;
use crate::plan::{LinkPlan, Plan, QueuePlan, TrafficKind, TransportPlan};
use crate::programs::Programs;
use crate::resource::{Medium, Resource, Server};
use marqueue_aqm::{Discipline, Env, Outside, SingleQueue};
use marqueue_cc::program::{program_of, PREFIX};
use marqueue_cc::Config;
use marqueue_core::params::ParamError;
use marqueue_core::units::Transmitter;
use marqueue_core::{Rate, Rng};

/// Refuses flows whose ends are outside, and queues there: nothing would move their packets.
pub fn refuse_external(plan: &Plan) -> Result<(), ParamError> {
    if let Some(i) = plan.transports.iter().position(|t| t.stack.is_some()) {
        return Err(ParamError::new(format!("transports[{i}].stack"), "got a kernel, expected a model in this run"));
    }
    if let Some(i) = plan.traffic.iter().position(|t| matches!(t.kind, TrafficKind::Quic(_))) {
        let message = "got quic, expected another kind of traffic here: the QUIC library is not part of this program";
        return Err(ParamError::new(format!("traffic[{i}].kind"), message));
    }
    match plan.links.iter().position(|link| link.router().is_some()) {
        None => Ok(()),
        Some(i) => {
            let message = "got the qdisc of a kernel, expected an AQM of the simulator in this run";
            Err(ParamError::new(format!("links[{i}].queue.policy"), message))
        }
    }
}

/// Builds the transport settings, queues and impaired pipes of a plan.
pub fn prepare(plan: &Plan, seed: u64, programs: &impl Programs) -> Result<PreparedRun, ParamError> {
    let configs = plan
        .transports
        .iter()
        .enumerate()
        .map(|(i, t)| build_config(t, programs).map_err(|e| e.within(&format!("transports[{i}]"))))
        .collect::<Result<_, _>>()?;
    let classes = plan.class_count();
    let resources = plan
        .links
        .iter()
        .enumerate()
        .map(|(i, link)| build_resource(link, classes, seed, programs).map_err(|e| e.within(&format!("links[{i}]"))))
        .collect::<Result<_, _>>()?;
    let windows = plan.boundaries.len() + 1;
    let pipes = plan
        .links
        .iter()
        .enumerate()
        .map(|(i, link)| Pipe::build(link, windows, seed).map_err(|e| e.within(&format!("links[{i}].pipe"))))
        .collect::<Result<_, _>>()?;
    Ok(PreparedRun { configs, resources, pipes })
}

/// The settings of a transport, with the program that controls it, if it names one.
fn build_config(transport: &TransportPlan, programs: &impl Programs) -> Result<Config, ParamError> {
    let mut config = Config::with_preset(&transport.preset, &transport.params)?;
    config.program = match program_of(&transport.params) {
        Some(spec) => programs.laws(spec).map_err(|e| e.within("control"))?,
        None => None,
    };
    Ok(config)
}

/// The queue of `link` with its server, if it has one. `classes` is the number of processing classes
/// ([`Plan::class_count`]).
///
/// # Errors
/// If the AQM is unknown or refuses its parameters.
pub fn build_resource(
    link: &LinkPlan,
    classes: usize,
    seed: u64,
    programs: &impl Programs,
) -> Result<Option<Resource>, ParamError> {
    let queue = match &link.queue {
        Some(queue) => queue.clone(),
        None if link.has_queue() => QueuePlan::unlimited(),
        None => return Ok(None),
    };
    let medium = link.medium.as_ref().map(|spec| {
        let rng = Rng::named(seed, &format!("link/{}/medium", link.name));
        AnyMedium::build(spec, link.rate, rng).map_err(|e| e.within("medium"))
    });
    let medium = medium.transpose()?.map(|model| {
        let capacity = model.capacity(queue.mean_packet);
        Box::new(Medium::new(model, capacity))
    });
    let env = Env {
        // Of a medium, AQMs are told what packets of usual size get of it.
        rate: medium.as_ref().map_or(link.rate, |medium| Rate((medium.capacity().round() as u64).max(1))),
        mean_packet: queue.mean_packet,
        limit: queue.limit,
        delay: link.delay,
        signal: queue.signal,
        densities: link.cpu.as_ref().map(|cpu| Box::new(cpu.densities(link.rate))),
    };
    let rng = Rng::named(seed, &format!("link/{}", link.name));
    let discipline = match queue.router {
        Some(_) => Discipline::Outside(Outside::new(env)),
        None if queue.policy.name.starts_with(PREFIX) => {
            let program = programs.policy(&queue.policy, &env).map_err(|e| e.within("queue.policy"))?;
            Discipline::Program(SingleQueue::of_program(program, env, rng))
        }
        None => Discipline::build(&queue.policy, env, rng).map_err(|e| e.within("queue.policy"))?,
    };
    let meter = Meter::new(discipline.probes(), classes);
    let server = match (&link.cpu, medium) {
        (Some(cpu), _) => Server::Cpu(Box::new(Cpu::new(cpu))),
        (None, Some(medium)) => Server::Medium(medium),
        (None, None) if !link.delivery_opportunities.is_empty() => {
            Server::DeliveryTrace(Box::new(DeliveryTrace::new(link.delivery_opportunities.clone())))
        }
        (None, None) => Server::Link(Transmitter::new(link.rate)),
    };
    let mut resource = Resource::new(discipline, server, link.delay, &link.schedule, meter);
    resource.trace = link.trace.then(Box::default);
    Ok(Some(resource))
}
