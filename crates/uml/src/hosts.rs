//! The guests that a plan needs, and what each of them does.
//!
//! Flows of one kernel with the same sysctls share two guests: one has all senders, the other all receivers. The
//! addresses of guest `g` are 10.g.0.1 and 02:00:00:00:g:d on device d. Senders are told apart by their ports.

use crate::guest_plan::{GuestPlan, Listener, Sender};
use marqueue_cc::Config;
use marqueue_core::params::ParamError;
use marqueue_core::{Dur, Time};
use marqueue_sim::external::ExternalFlow;
use marqueue_sim::plan::{Gaps, Plan, StackPlan, TrafficKind};
use std::collections::BTreeMap;
use std::net::{Ipv4Addr, SocketAddrV4};

/// The time of the guests at which the scenario begins: they have booted by then.
pub const ORIGIN: u64 = 2_000_000_000;
/// Sampling interval of a plan that has none. Completion and retransmissions are known without samples.
const DEFAULT_SAMPLE: Dur = Dur(100_000_000);
/// Port of the first sender, and of the first receiver.
const FIRST_SENDER: u16 = 10_000;
const FIRST_RECEIVER: u16 = 5_000;
/// Most flows of two guests: one port each.
const MOST_FLOWS: usize = 50_000;
/// What timestamps take of a segment, bytes (RFC 7323, appendix A). The kernel's MSS includes them.
const TIMESTAMPS: u32 = 12;
/// Length of the prefix of a guest's network.
const PREFIX: u8 = 16;
/// Payload of a segment in an Ethernet frame with timestamps.
const ETHERNET_SEGMENT: u32 = 1448;
/// Memory of a guest without flows, and for each flow, megabytes.
pub const MEMORY: usize = 64;
const FLOWS_A_MEGABYTE: usize = 10;

/// A guest to be started.
#[derive(Clone, Debug)]
pub struct HostPlan {
    /// Its name in messages.
    pub name: String,
    /// Its kernel.
    pub kernel: String,
    /// What its program does.
    pub plan: GuestPlan,
    /// Its memory, megabytes.
    pub memory: usize,
    /// The address of each of its devices. The last one is for telemetry.
    pub devices: Vec<[u8; 6]>,
}

/// The guests of a plan, and where its flows end.
#[derive(Debug, Default)]
pub struct Hosts {
    /// Guests with senders have even numbers, each followed by that of its receivers.
    pub guests: Vec<HostPlan>,
    /// For each pair of guests, the flow of each sender's port.
    pub flows: Vec<Vec<usize>>,
    /// For each flow, the payload of its segments.
    pub segments: Vec<u32>,
}

impl Hosts {
    /// The guests for these flows of a plan.
    ///
    /// # Errors
    /// If a guest would have too many flows, or cannot do what the plan says.
    pub fn new(plan: &Plan, flows: &[ExternalFlow]) -> Result<Hosts, ParamError> {
        check(plan)?;
        let mut hosts = Hosts::default();
        let mut kinds: Vec<(&str, &BTreeMap<String, String>)> = Vec::new();
        let mut members: Vec<Vec<usize>> = Vec::new();
        for (index, flow) in flows.iter().enumerate() {
            let stack = stack_of(plan, flow);
            let kind = (stack.kernel.as_str(), &stack.sysctl);
            let pair = kinds.iter().position(|known| *known == kind).unwrap_or_else(|| {
                kinds.push(kind);
                members.push(Vec::new());
                kinds.len() - 1
            });
            members[pair].push(index);
            hosts.segments.push(segment_of(plan, flow.transport as usize)?);
        }
        for here in members {
            if here.len() > MOST_FLOWS {
                let message = format!("got {} flows of one kernel, expected at most {MOST_FLOWS}", here.len());
                return Err(ParamError::new("traffic", message));
            }
            hosts.add_pair(plan, flows, &here)?;
            hosts.flows.push(here);
        }
        Ok(hosts)
    }

    /// Adds the two guests of these flows, which have the same kernel and sysctls.
    fn add_pair(&mut self, plan: &Plan, flows: &[ExternalFlow], here: &[usize]) -> Result<(), ParamError> {
        let (sender, receiver) = (self.guests.len(), self.guests.len() + 1);
        let StackPlan { kernel, sysctl, .. } = stack_of(plan, &flows[here[0]]);
        let mut sending = head(sender, receiver, sysctl)?;
        let mut receiving = head(receiver, sender, sysctl)?;
        sending.sample_every(if plan.sample == Dur::ZERO { DEFAULT_SAMPLE } else { plan.sample });
        let mut listeners: Vec<Listener> = Vec::new();
        for (position, &index) in here.iter().enumerate() {
            let (flow, segment) = (&flows[index], self.segments[index]);
            let congestion = Some(stack_of(plan, flow).congestion_control.clone());
            let mss = mss(segment);
            let known = listeners.iter().find(|each| each.congestion == congestion && each.mss == mss);
            let remote = match known {
                Some(listener) => listener.local,
                None => {
                    let local = SocketAddrV4::new(address(receiver), FIRST_RECEIVER + listeners.len() as u16);
                    let congestion = congestion.clone();
                    let listener = Listener { local, congestion, mss, receive_buffer: None };
                    receiving.listen(&listener)?;
                    listeners.push(listener);
                    local
                }
            };
            let bytes = |packets: u32| u64::from(packets) * u64::from(segment);
            sending.flow(&Sender {
                number: index as u32,
                local: SocketAddrV4::new(address(sender), FIRST_SENDER + position as u16),
                remote,
                start: flow.start,
                stop: flow.stop.filter(|&stop| stop > flow.start),
                bytes: flow.size.map(bytes),
                pieces: flow.write.map(|write| (bytes(write.packets), write.every)),
                congestion,
                mss,
                send_buffer: None,
            })?;
        }
        let memory = MEMORY + here.len() / FLOWS_A_MEGABYTE;
        for (number, role, plan) in [(sender, "senders", sending), (receiver, "receivers", receiving)] {
            self.guests.push(HostPlan {
                name: format!("{kernel} ({role}, guest {number})"),
                kernel: kernel.clone(),
                plan,
                memory,
                devices: vec![mac(number, 0), mac(number, 1)],
            });
        }
        Ok(())
    }

    /// The flow of a segment that a guest sends or receives, by the port of its sender; `None` if it has none.
    pub fn flow_of(&self, guest: usize, ports: [u16; 2]) -> Option<usize> {
        let port = if is_sender(guest) { ports[0] } else { ports[1] };
        let position = port.checked_sub(FIRST_SENDER)?;
        self.flows.get(guest / 2)?.get(usize::from(position)).copied()
    }

    /// The guest with the senders of each flow.
    pub fn sender_of(&self, flow: usize) -> Option<usize> {
        self.flows.iter().position(|pair| pair.binary_search(&flow).is_ok()).map(|pair| 2 * pair)
    }
}

/// Has this guest senders? Otherwise it has receivers.
pub fn is_sender(guest: usize) -> bool {
    guest.is_multiple_of(2)
}

/// The kernel of a flow.
fn stack_of<'a>(plan: &'a Plan, flow: &ExternalFlow) -> &'a StackPlan {
    let stack = &plan.transports[flow.transport as usize].stack;
    stack.as_ref().expect("a flow is external because it has a kernel")
}

/// Checks what a plan asks of kernels.
///
/// # Errors
/// If no kernel could do it.
pub fn check(plan: &Plan) -> Result<(), ParamError> {
    for (index, transport) in plan.transports.iter().enumerate() {
        let Some(stack) = &transport.stack else { continue };
        segment_of(plan, index)?;
        let checked = head(0, 1, &stack.sysctl).and_then(|mut guest| {
            let (local, congestion) = (SocketAddrV4::new(address(0), FIRST_RECEIVER), &stack.congestion_control);
            guest.listen(&Listener { local, congestion: Some(congestion.clone()), mss: None, receive_buffer: None })?;
            Ok(())
        });
        checked.map_err(|error| error.within(&format!("transports[{index}]")))?;
    }
    for (index, traffic) in plan.traffic.iter().enumerate() {
        let TrafficKind::Tcp { transport, write: Some(write), .. } = &traffic.kind else { continue };
        if plan.transports[*transport].stack.is_none() {
            continue;
        }
        if write.gaps == Gaps::Exponential {
            let message = "got exponential gaps, expected constant ones with a kernel";
            return Err(ParamError::new(format!("traffic[{index}].gaps"), message));
        }
        if let Some(first) = write.first {
            let got = first.packets;
            let message =
                format!("got {got} packets, expected none with a kernel, whose application writes equal pieces");
            return Err(ParamError::new(format!("traffic[{index}].first"), message));
        }
    }
    Ok(())
}

/// The payload of the segments of a transport's flows.
fn segment_of(plan: &Plan, index: usize) -> Result<u32, ParamError> {
    let transport = &plan.transports[index];
    let path = format!("transports[{index}]");
    let config = Config::with_preset(&transport.preset, &transport.params).map_err(|e| e.within(&path))?;
    if !(76..=ETHERNET_SEGMENT).contains(&config.segment) {
        let message = format!("got {} bytes, expected 76 to {ETHERNET_SEGMENT} with a kernel", config.segment);
        return Err(ParamError::new(format!("{path}.segment"), message));
    }
    Ok(config.segment)
}

/// The option that limits segments, where the frame does not.
fn mss(segment: u32) -> Option<u32> {
    (segment != ETHERNET_SEGMENT).then_some(segment + TIMESTAMPS)
}

/// What the plans of all guests begin with.
fn head(guest: usize, peer: usize, sysctl: &BTreeMap<String, String>) -> Result<GuestPlan, ParamError> {
    let mut plan = GuestPlan::new("eth1", ORIGIN);
    for (name, value) in sysctl {
        plan.sysctl(name, value)?;
    }
    plan.device("eth0", address(guest), PREFIX).neighbour("eth0", address(peer), mac(peer, 0));
    plan.route(Ipv4Addr::new(10, peer as u8, 0, 0), PREFIX, "eth0");
    Ok(plan)
}

fn address(guest: usize) -> Ipv4Addr {
    Ipv4Addr::new(10, guest as u8, 0, 1)
}

pub(crate) fn mac(guest: usize, device: u8) -> [u8; 6] {
    [2, 0, 0, 0, guest as u8, device]
}

/// The time of the scenario at a time of the guests; `None` before its beginning.
pub fn scenario_time(guests: u64) -> Option<Time> {
    guests.checked_sub(ORIGIN).map(Time)
}

/// The time of the guests at a time of the scenario.
pub fn guest_time(scenario: Time) -> u64 {
    scenario.0.saturating_add(ORIGIN)
}
