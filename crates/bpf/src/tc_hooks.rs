//! Queries over netlink: has a device a clsact qdisc, and has that any filter?
//!
//! libbpf can query only its own filter and cannot tell a hook without filters from no hook. Detaching must know both,
//! so that it does not remove a hook that others use.

use crate::interface::Error;
use rustix::net::netlink::SocketAddrNetlink;
use rustix::net::{recv, sendto, socket, AddressFamily, RecvFlags, SendFlags, SocketType};

const RTM_GETQDISC: u16 = 38;
const RTM_GETTFILTER: u16 = 46;
const NLM_F_REQUEST_DUMP: u16 = 0x301;
const NLMSG_ERROR: u16 = 2;
const NLMSG_DONE: u16 = 3;

/// Parent of clsact itself, and of filters at its two hooks (<linux/pkt_sched.h>).
const CLSACT: u32 = 0xffff_fff1;
const INGRESS_AND_EGRESS: [u32; 2] = [0xffff_fff2, 0xffff_fff3];

const HEADER: usize = 16;

/// Length of the message header and struct tcmsg.
const REQUEST: usize = HEADER + 20;

/// Has the device a clsact qdisc?
///
/// # Errors
/// If the kernel refuses the query.
pub fn has_clsact(ifindex: i32) -> Result<bool, Error> {
    let found =
        dump(RTM_GETQDISC, ifindex, 0).map_err(|error| Error(format!("qdiscs of device {ifindex}: {error}")))?;
    Ok(found.contains(&(ifindex, CLSACT)))
}

/// Has the device any filter at ingress or egress?
///
/// # Errors
/// If the kernel refuses the query.
pub fn has_filters(ifindex: i32) -> Result<bool, Error> {
    for hook in INGRESS_AND_EGRESS {
        let found = dump(RTM_GETTFILTER, ifindex, hook);
        if !found.map_err(|error| Error(format!("filters of device {ifindex}: {error}")))?.is_empty() {
            return Ok(true);
        }
    }
    Ok(false)
}

/// The objects of a kind: device and parent of each.
fn dump(kind: u16, ifindex: i32, parent: u32) -> rustix::io::Result<Vec<(i32, u32)>> {
    let socket = socket(AddressFamily::NETLINK, SocketType::RAW, None)?;
    let mut request = Vec::with_capacity(REQUEST);
    request.extend((REQUEST as u32).to_ne_bytes());
    request.extend(kind.to_ne_bytes());
    request.extend(NLM_F_REQUEST_DUMP.to_ne_bytes());
    request.extend([0; 8 + 4]);
    request.extend(ifindex.to_ne_bytes());
    request.extend([0; 4]);
    request.extend(parent.to_ne_bytes());
    request.extend([0; 4]);
    sendto(&socket, &request, SendFlags::empty(), &SocketAddrNetlink::new(0, 0))?;
    let mut found = Vec::new();
    let mut answer = vec![0; 1 << 16];
    loop {
        let (length, _) = recv(&socket, &mut answer[..], RecvFlags::empty())?;
        let mut rest = &answer[..length];
        while rest.len() >= HEADER {
            let word = |at: usize| u32::from_ne_bytes(rest[at..at + 4].try_into().expect("4 bytes"));
            match u16::from_ne_bytes([rest[4], rest[5]]) {
                NLMSG_DONE | NLMSG_ERROR => return Ok(found),
                _ if rest.len() >= REQUEST => found.push((word(20) as i32, word(28))),
                _ => {}
            }
            let size = word(0) as usize;
            rest = rest.get(size.next_multiple_of(4).max(HEADER)..).unwrap_or_default();
        }
    }
}
