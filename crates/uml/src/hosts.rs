//! The guests that a plan needs, and what each of them does.
//!
//! Flows of one kernel with the same sysctls share two guests: one has all senders, the other all receivers. The
//! addresses of guest `g` are 10.g.0.1 and 02:00:00:00:g:d on device d. Senders are told apart by their ports.

use marqueue_cc::Config;
use marqueue_core::params::ParamError;
use marqueue_core::{Dur, Time};
use marqueue_sim::external::ExternalFlow;
use marqueue_sim::plan::{Gaps, Plan, StackPlan};
use std::collections::BTreeMap;
use std::fmt::Write as _;

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
/// Payload of a segment in an Ethernet frame with timestamps.
const ETHERNET_SEGMENT: u32 = 1448;
/// Memory of a guest without flows, and for each flow, megabytes.
const MEMORY: usize = 64;
const FLOWS_A_MEGABYTE: usize = 10;

/// A guest to be started.
#[derive(Clone, Debug)]
pub struct HostPlan {
    /// Its name in messages.
    pub name: String,
    /// Its kernel.
    pub kernel: String,
    /// What its program does, line by line.
    pub plan: String,
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

/// A receiver's socket is for all flows with these settings.
type Listener = (String, u32);

impl Hosts {
    /// The guests for these flows of a plan.
    ///
    /// # Errors
    /// If a guest would have too many flows, or cannot do what the plan says.
    pub fn new(plan: &Plan, flows: &[ExternalFlow]) -> Result<Hosts, ParamError> {
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
            hosts.segments.push(segment_of(plan, flow)?);
        }
        for (pair, (kernel, sysctl)) in kinds.into_iter().enumerate() {
            let here = std::mem::take(&mut members[pair]);
            if here.len() > MOST_FLOWS {
                let message = format!("got {} flows of one kernel, expected at most {MOST_FLOWS}", here.len());
                return Err(ParamError::new("traffic", message));
            }
            hosts.add_pair(plan, flows, &here, kernel, sysctl)?;
            hosts.flows.push(here);
        }
        Ok(hosts)
    }

    /// Adds the two guests of these flows.
    fn add_pair(
        &mut self,
        plan: &Plan,
        flows: &[ExternalFlow],
        here: &[usize],
        kernel: &str,
        sysctl: &BTreeMap<String, String>,
    ) -> Result<(), ParamError> {
        let (sender, receiver) = (self.guests.len(), self.guests.len() + 1);
        let mut sending = head(sender, receiver, sysctl);
        let mut receiving = head(receiver, sender, sysctl);
        let sample = if plan.sample == Dur::ZERO { DEFAULT_SAMPLE } else { plan.sample };
        let _ = writeln!(sending, "sample-every {}", sample.0);
        let mut listeners: Vec<Listener> = Vec::new();
        for (position, &index) in here.iter().enumerate() {
            let (flow, segment) = (&flows[index], self.segments[index]);
            let control = &stack_of(plan, flow).congestion_control;
            let listener = (control.clone(), segment);
            let known = listeners.iter().position(|each| *each == listener);
            let port = known.unwrap_or_else(|| {
                let port = FIRST_RECEIVER + listeners.len() as u16;
                let _ = writeln!(receiving, "listen {} {port} congestion {control}{}", address(receiver), mss(segment));
                listeners.push(listener);
                listeners.len() - 1
            }) as u16
                + FIRST_RECEIVER;
            let from = FIRST_SENDER + position as u16;
            let bytes = u64::from(flow.size.unwrap_or(0)) * u64::from(segment);
            let _ = write!(
                sending,
                "flow {index} from {}:{from} to {}:{port} start {} bytes {bytes} congestion {control}{}",
                address(sender),
                address(receiver),
                flow.start.0,
                mss(segment),
            );
            if let Some(write) = &flow.write {
                if write.gaps == Gaps::Exponential {
                    let message = "got exponential gaps, expected constant ones with a kernel";
                    return Err(ParamError::new(format!("traffic[{}].gaps", flow.group), message));
                }
                let piece = u64::from(write.packets) * u64::from(segment);
                let _ = write!(sending, " write {piece} every {}", write.every.0);
            }
            if let Some(stop) = flow.stop.filter(|&stop| stop > flow.start) {
                let _ = write!(sending, " stop {}", stop.0);
            }
            sending.push('\n');
        }
        let memory = MEMORY + here.len() / FLOWS_A_MEGABYTE;
        for (number, role, plan) in [(sender, "senders", sending), (receiver, "receivers", receiving)] {
            self.guests.push(HostPlan {
                name: format!("{kernel} ({role}, guest {number})"),
                kernel: kernel.to_string(),
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

/// The payload of a flow's segments.
fn segment_of(plan: &Plan, flow: &ExternalFlow) -> Result<u32, ParamError> {
    let transport = &plan.transports[flow.transport as usize];
    let path = || format!("transports[{}]", flow.transport);
    let config = Config::with_preset(&transport.preset, &transport.params).map_err(|e| e.within(&path()))?;
    if !(76..=ETHERNET_SEGMENT).contains(&config.segment) {
        let message = format!("got {} bytes, expected 76 to {ETHERNET_SEGMENT} with a kernel", config.segment);
        return Err(ParamError::new(format!("{}.segment", path()), message));
    }
    Ok(config.segment)
}

/// The option that limits segments, where the frame does not.
fn mss(segment: u32) -> String {
    if segment == ETHERNET_SEGMENT {
        return String::new();
    }
    format!(" mss {}", segment + TIMESTAMPS)
}

/// The lines that all guests have.
fn head(guest: usize, peer: usize, sysctl: &BTreeMap<String, String>) -> String {
    let mut text = String::from("control eth1\n");
    for (name, value) in sysctl {
        let _ = writeln!(text, "sysctl {name}={value}");
    }
    let [a, b, c, d, e, f] = mac(peer, 0);
    let _ = writeln!(text, "device eth0 address {}/16", address(guest));
    let _ = writeln!(text, "neighbour eth0 {} {a:02x}:{b:02x}:{c:02x}:{d:02x}:{e:02x}:{f:02x}", address(peer));
    let _ = writeln!(text, "route 10.{peer}.0.0/16 eth0");
    let _ = writeln!(text, "clock-origin {ORIGIN}");
    text
}

fn address(guest: usize) -> String {
    format!("10.{guest}.0.1")
}

fn mac(guest: usize, device: u8) -> [u8; 6] {
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
