//! Kernels as routers: the qdisc of each is the queue of a link.
//!
//! A packet that arrives at the link is given to the kernel's first device and leaves by its second one, behind the
//! qdisc, as it came. Its number in the queue is in the frame's source address. The buffer of a frame that the second
//! device has taken is given back when the link has sent the packet, so that the kernel's byte queue limits see the
//! transmitter of the link. What the kernel drops it reports by drop monitor.

use crate::frame;
use crate::guest_plan::GuestPlan;
use crate::hosts::{mac, HostPlan, MEMORY, ORIGIN};
use marqueue_cc::Config;
use marqueue_core::params::ParamError;
use marqueue_core::{Ecn, Packet, Time};
use marqueue_sim::plan::{Plan, RouterPlan, SizeLaw, TrafficKind};

/// The device at which packets arrive.
pub const ARRIVALS: usize = 0;
/// The one behind the qdisc.
pub const DEPARTURES: usize = 1;
/// That of telemetry.
const TELEMETRY: &str = "eth2";
/// Packets of a queue for each megabyte of a kernel: one of 1500 bytes takes 2304 (sk_buff with its data).
const PACKETS_A_MEGABYTE: u32 = 400;
/// Most memory that is given for the buffer of a link, megabytes.
const MOST_BUFFER: usize = 1024;
/// The least and the largest size of an IP packet in a frame: the headers of TCP, and Ethernet's MTU.
const SIZES: std::ops::RangeInclusive<u64> = 40..=1500;

/// The routers of a plan. Their guests follow those of the hosts.
#[derive(Clone, Debug, Default)]
pub struct Routers {
    first: usize,
    /// The link of each.
    links: Vec<usize>,
}

impl Routers {
    /// The routers of a plan with this many other guests.
    pub fn new(plan: &Plan, first: usize) -> Routers {
        let links = plan.links.iter().enumerate().filter(|(_, link)| link.router().is_some());
        Routers { first, links: links.map(|(index, _)| index).collect() }
    }

    /// What their guests do.
    ///
    /// # Errors
    /// If an argument of tc is not one line.
    pub fn guests(&self, plan: &Plan) -> Result<Vec<HostPlan>, ParamError> {
        let guest = |(number, &link): (usize, &usize)| {
            let router = plan.links[link].router().expect("the link of a router");
            let name = &plan.links[link].name;
            Ok(HostPlan {
                name: format!("{} (queue of {name}, guest {number})", router.kernel),
                kernel: router.kernel.clone(),
                plan: guest_plan(router, plan.duration).map_err(|e| e.within(&policy_of(link)))?,
                memory: MEMORY + buffer_memory(plan, link),
                devices: (0..3).map(|device| mac(number, device)).collect(),
            })
        };
        (self.first..).zip(&self.links).map(guest).collect()
    }

    /// The guest of a link's queue.
    pub fn guest_of(&self, link: u32) -> usize {
        self.first + self.links.binary_search(&(link as usize)).expect("the link of a router")
    }

    /// The link of a guest, if it is a router.
    pub fn link_of(&self, guest: usize) -> Option<u32> {
        self.links.get(guest.checked_sub(self.first)?).map(|&link| link as u32)
    }
}

/// The place of a router in a plan.
pub fn policy_of(link: usize) -> String {
    format!("links[{link}].queue.policy")
}

fn guest_plan(router: &RouterPlan, end: Time) -> Result<GuestPlan, ParamError> {
    let (from, to) = (format!("eth{ARRIVALS}"), format!("eth{DEPARTURES}"));
    let mut plan = GuestPlan::new(TELEMETRY, ORIGIN);
    plan.report_drops();
    for command in &router.tc {
        plan.tc(&with_device(command, &to)?)?;
    }
    if let Some(bytes) = router.byte_queue_limit {
        plan.byte_queue_limit(&to, bytes.0);
    }
    plan.forward(&from, &to);
    plan.report_tc(end, &format!("-s -d qdisc show dev {to}"))?;
    if router.tc.len() > 1 {
        plan.report_tc(end, &format!("-s class show dev {to}"))?;
    }
    Ok(plan)
}

/// A command of tc, such as `class add parent 1: classid 1:1 ...`, about a device.
fn with_device(command: &str, device: &str) -> Result<String, ParamError> {
    let mut words = command.splitn(3, ' ');
    match (words.next(), words.next(), words.next()) {
        (Some(object), Some(verb), Some(rest)) => Ok(format!("{object} {verb} dev {device} {rest}")),
        _ => {
            Err(ParamError::new("", format!("got {command:?}, expected a command such as \"qdisc add root fq_codel\"")))
        }
    }
}

/// Memory for the packets of a buffer, megabytes.
fn buffer_memory(plan: &Plan, link: usize) -> usize {
    let packets = plan.links[link].queue.as_ref().map_or(0, |queue| queue.most_packets());
    ((packets / PACKETS_A_MEGABYTE) as usize).min(MOST_BUFFER)
}

/// Checks the sizes of packets: those of models pass a router in frames.
///
/// # Errors
/// Names the first size that has no frame.
pub fn check(plan: &Plan) -> Result<(), ParamError> {
    if plan.links.iter().all(|link| link.router().is_none()) {
        return Ok(());
    }
    let (first, last) = (SIZES.start(), SIZES.end());
    let expected = format!("expected {first} to {last} bytes beside the qdisc of a kernel");
    for (index, transport) in plan.transports.iter().enumerate() {
        let path = format!("transports[{index}]");
        let config = Config::with_preset(&transport.preset, &transport.params).map_err(|e| e.within(&path))?;
        let size = u64::from(config.wire);
        if !SIZES.contains(&size) {
            let message = format!("got packets of {size} bytes, {expected}");
            return Err(ParamError::new(format!("{path}.segment"), message));
        }
    }
    for (index, traffic) in plan.traffic.iter().enumerate() {
        let size = match &traffic.kind {
            TrafficKind::Cbr { packet, .. } | TrafficKind::Paced { packet, .. } => packet.0,
            TrafficKind::Packets { packet, size: SizeLaw::Constant, .. } => packet.0,
            TrafficKind::Media(media) => media.packet.0,
            TrafficKind::Recorded { packets, .. } => {
                packets.iter().map(|(_, size)| size.0).find(|size| !SIZES.contains(size)).unwrap_or(*SIZES.start())
            }
            TrafficKind::Packets { .. } => {
                let message = "got random sizes, expected constant ones beside the qdisc of a kernel";
                return Err(ParamError::new(format!("traffic[{index}].size"), message));
            }
            TrafficKind::Tcp { .. } | TrafficKind::Poisson { .. } | TrafficKind::Quic(_) => continue,
        };
        if !SIZES.contains(&size) {
            return Err(ParamError::new(format!("traffic[{index}].packet"), format!("got {size} bytes, {expected}")));
        }
    }
    Ok(())
}

/// Writes the frame of a packet that arrives at a queue. `sent` is the frame in which a kernel sent it, if one did.
pub fn write_frame(number: u32, packet: &Packet, sent: Option<&[u8]>, is_tcp: bool, to: &mut Vec<u8>) {
    to.clear();
    match sent {
        Some(frame) => {
            to.extend_from_slice(frame);
            if packet.ecn() == Ecn::Ce {
                frame::mark(to);
            }
        }
        None => frame::write_packet(packet, is_tcp, to),
    }
    frame::set_number(to, number);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_is_about_the_device_behind_the_queue() {
        let with = |command| with_device(command, "eth1");
        assert_eq!(with("qdisc add root codel limit 9").as_deref(), Ok("qdisc add dev eth1 root codel limit 9"));
        assert!(with("qdisc add").is_err());
    }
}
