//! Qdiscs and filters of a device over netlink: which root qdisc has it, has it a clsact qdisc, and has that any filter?
//! And a root qdisc is set and deleted.
//!
//! libbpf can query only its own filter and cannot tell a hook without filters from no hook. Detaching must know both,
//! so that it does not remove a hook that others use.

use crate::interface::Error;
use rustix::net::netlink::SocketAddrNetlink;
use rustix::net::{recv, sendto, socket, AddressFamily, RecvFlags, SendFlags, SocketType};

const RTM_NEWQDISC: u16 = 36;
const RTM_DELQDISC: u16 = 37;
const RTM_GETQDISC: u16 = 38;
const RTM_GETTFILTER: u16 = 46;
const NLM_F_REQUEST_DUMP: u16 = 0x301;
const NLM_F_REQUEST_ACK: u16 = 0x5;
const NLM_F_REPLACE_CREATE: u16 = 0x500;
const NLMSG_ERROR: u16 = 2;
const NLMSG_DONE: u16 = 3;

/// Parent of a root qdisc, of clsact itself, and of filters at its two hooks (<linux/pkt_sched.h>).
const ROOT: u32 = 0xffff_ffff;
const CLSACT: u32 = 0xffff_fff1;
const INGRESS_AND_EGRESS: [u32; 2] = [0xffff_fff2, 0xffff_fff3];

/// The attribute that names the kind of a qdisc or filter (<linux/rtnetlink.h>).
const TCA_KIND: u16 = 1;

const HEADER: usize = 16;

/// Length of the message header and struct tcmsg.
const REQUEST: usize = HEADER + 20;

/// Has the device a clsact qdisc?
///
/// # Errors
/// If the kernel refuses the query.
pub fn has_clsact(ifindex: i32) -> Result<bool, Error> {
    Ok(qdiscs(ifindex)?.iter().any(|each| each.parent == CLSACT))
}

/// The device's root qdisc; `None` if it has none.
///
/// # Errors
/// If the kernel refuses the query.
pub fn root_qdisc(ifindex: i32) -> Result<Option<Root>, Error> {
    let found = qdiscs(ifindex)?.into_iter().find(|each| each.parent == ROOT);
    Ok(found.map(|each| Root { kind: each.kind, is_default: each.handle == 0 }))
}

/// A root qdisc.
pub struct Root {
    /// As tc names it.
    pub kind: String,
    /// The kernel has made it, as it does for every device; nobody has set it.
    pub is_default: bool,
}

/// Makes a qdisc of this kind the root of a device, in place of the one there.
///
/// # Errors
/// If the kernel refuses it.
pub fn set_root(ifindex: i32, kind: &str) -> Result<(), Error> {
    let mut attributes = Vec::new();
    attributes.extend((4 + kind.len() as u16 + 1).to_ne_bytes());
    attributes.extend(TCA_KIND.to_ne_bytes());
    attributes.extend(kind.as_bytes());
    attributes.push(0);
    attributes.resize(attributes.len().next_multiple_of(4), 0);
    let done = change(RTM_NEWQDISC, NLM_F_REQUEST_ACK | NLM_F_REPLACE_CREATE, ifindex, &attributes);
    done.map_err(|error| Error(format!("root qdisc {kind} of device {ifindex}: {error}")))
}

/// Deletes the root qdisc of a device, for which the kernel then makes a default one.
///
/// # Errors
/// If the kernel refuses it.
pub fn delete_root(ifindex: i32) -> Result<(), Error> {
    let done = change(RTM_DELQDISC, NLM_F_REQUEST_ACK, ifindex, &[]);
    done.map_err(|error| Error(format!("root qdisc of device {ifindex}: {error}")))
}

/// The qdiscs of a device. The kernel tells of those of all devices.
fn qdiscs(ifindex: i32) -> Result<Vec<Object>, Error> {
    let all = dump(RTM_GETQDISC, ifindex, 0).map_err(|error| Error(format!("qdiscs of device {ifindex}: {error}")))?;
    Ok(all.into_iter().filter(|each| each.ifindex == ifindex).collect())
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

/// A qdisc or a filter.
struct Object {
    ifindex: i32,
    handle: u32,
    parent: u32,
    kind: String,
}

/// A message about a qdisc or a filter of a device.
fn request(kind: u16, flags: u16, ifindex: i32, parent: u32, attributes: &[u8]) -> Vec<u8> {
    let mut request = Vec::with_capacity(REQUEST + attributes.len());
    request.extend(((REQUEST + attributes.len()) as u32).to_ne_bytes());
    request.extend(kind.to_ne_bytes());
    request.extend(flags.to_ne_bytes());
    request.extend([0; 8 + 4]);
    request.extend(ifindex.to_ne_bytes());
    request.extend([0; 4]);
    request.extend(parent.to_ne_bytes());
    request.extend([0; 4]);
    request.extend(attributes);
    request
}

/// Changes the root qdisc, and waits for the kernel's answer.
fn change(kind: u16, flags: u16, ifindex: i32, attributes: &[u8]) -> rustix::io::Result<()> {
    let socket = socket(AddressFamily::NETLINK, SocketType::RAW, None)?;
    let request = request(kind, flags, ifindex, ROOT, attributes);
    sendto(&socket, &request, SendFlags::empty(), &SocketAddrNetlink::new(0, 0))?;
    let mut answer = vec![0; 1 << 12];
    let (length, _) = recv(&socket, &mut answer[..], RecvFlags::empty())?;
    let error =
        answer[..length].get(HEADER..HEADER + 4).map(|word| i32::from_ne_bytes(word.try_into().expect("4 bytes")));
    match error {
        Some(0) => Ok(()),
        Some(error) => Err(rustix::io::Errno::from_raw_os_error(-error)),
        None => Err(rustix::io::Errno::BADMSG),
    }
}

/// The objects of a kind.
fn dump(kind: u16, ifindex: i32, parent: u32) -> rustix::io::Result<Vec<Object>> {
    let socket = socket(AddressFamily::NETLINK, SocketType::RAW, None)?;
    let request = request(kind, NLM_F_REQUEST_DUMP, ifindex, parent, &[]);
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
                _ if rest.len() >= REQUEST => {
                    let end = (word(0) as usize).clamp(REQUEST, rest.len());
                    let kind = kind_of(&rest[REQUEST..end]);
                    let (ifindex, handle, parent) = (word(20) as i32, word(24), word(28));
                    found.push(Object { ifindex, handle, parent, kind });
                }
                _ => {}
            }
            let size = word(0) as usize;
            rest = rest.get(size.next_multiple_of(4).max(HEADER)..).unwrap_or_default();
        }
    }
}

/// The kind among the attributes of an object; empty if it is not told.
fn kind_of(mut attributes: &[u8]) -> String {
    while let [low, high, first, second, ..] = *attributes {
        let (size, name) = (usize::from(u16::from_ne_bytes([low, high])), u16::from_ne_bytes([first, second]));
        if name == TCA_KIND {
            let text = attributes.get(4..size).unwrap_or_default();
            return String::from_utf8_lossy(text).trim_end_matches('\0').into();
        }
        attributes = attributes.get(size.next_multiple_of(4).max(4)..).unwrap_or_default();
    }
    String::new()
}
