//! An AQM at a network device: attach, update, query, detach. It stays attached when the process ends.
//!
//! Most are at a hook of tc in front of the queue of the device ([`crate::filter`]). One that drops packets out of its
//! queue is the root qdisc of the device ([`crate::qdisc`]). A device has one of both kinds at its egress.

use crate::algorithm::{Law, QDISCS};
use crate::filter::Filter;
use crate::interface::{Error, Hook, Setup, Stats};
use crate::qdisc::Qdisc;
use crate::{pins, requirements};
use marqueue_aqm::Signal;
use rustix::net::netdevice::{index_to_name, name_to_index};
use rustix::net::{socket, AddressFamily, SocketType};
use std::os::fd::OwnedFd;
use std::path::Path;

/// A device of this thread's network namespace.
pub(crate) struct Device {
    pub(crate) name: String,
    pub(crate) index: i32,
    /// An open file descriptor, which looking up a hook needs.
    pub(crate) socket: OwnedFd,
}

impl Device {
    fn find(name: &str) -> Result<Device, Error> {
        requirements::check()?;
        let unknown = |error| Error(format!("got device \"{name}\", expected one of this network namespace ({error})"));
        let socket = socket(AddressFamily::INET, SocketType::DGRAM, None).map_err(unknown)?;
        let index = name_to_index(&socket, name).map_err(unknown)?;
        Ok(Device { name: name.into(), index: index as i32, socket })
    }

    /// Returns an error if another AQM is there in the other of two ways.
    fn check_free(&self, there: bool, how: &str) -> Result<(), Error> {
        if there {
            return Err(Error(format!("{0}: got an AQM {how}, expected none: marqueue detach {0}", self.name)));
        }
        Ok(())
    }
}

/// Attaches an AQM to a device: at a hook, or as its root qdisc if it is one of [`QDISCS`]. If it is attached already,
/// updates its parameters and keeps its state and counters; another one at the same hook is replaced. Returns true if it
/// was not attached before.
///
/// # Errors
/// If there is no such device or namespace, the AQM goes by a queue and the device's root qdisc has none, packets do not
/// pass one at this hook, a root qdisc is in the way, or the kernel refuses the operation.
pub fn attach(netns: Option<&Path>, device: &str, hook: Hook, law: Law, signal: Signal) -> Result<bool, Error> {
    requirements::in_namespace(netns, || {
        let device = Device::find(device)?;
        pins::sweep(|index| index_to_name(&device.socket, index).is_ok())?;
        let (qdisc, filter) = (Qdisc::at(&device)?, Filter::at(&device, hook)?);
        let aqm = law.name();
        let setup = Setup { law, signal, clsact: false };
        if QDISCS.contains(&aqm) {
            if hook == Hook::Ingress {
                let expected = "expected egress: packets that arrive have no queue";
                return Err(Error(format!("{}: got {aqm} at ingress, {expected}", device.name)));
            }
            device.check_free(filter.is_attached()?, "at its egress hook")?;
            return qdisc.attach(&setup);
        }
        device.check_free(hook == Hook::Egress && qdisc.is_attached()?, "as its root qdisc")?;
        filter.attach(setup)
    })
}

/// Removes everything that [`attach`] created at this hook, and with egress the root qdisc if [`attach`] made it. Returns
/// false if nothing was attached.
///
/// # Errors
/// If there is no such device or namespace, or the kernel refuses the operation.
pub fn detach(netns: Option<&Path>, device: &str, hook: Hook) -> Result<bool, Error> {
    requirements::in_namespace(netns, || {
        let device = Device::find(device)?;
        let qdisc = hook == Hook::Egress && Qdisc::at(&device)?.detach()?;
        Ok(Filter::at(&device, hook)?.detach()? || qdisc)
    })
}

/// State and counters of the AQM at a hook, or of the root qdisc with egress; `None` if none is attached.
///
/// # Errors
/// If there is no such device or namespace, or the kernel refuses the operation.
pub fn stats(netns: Option<&Path>, device: &str, hook: Hook) -> Result<Option<Stats>, Error> {
    requirements::in_namespace(netns, || {
        let device = Device::find(device)?;
        let filter = Filter::at(&device, hook)?.stats()?;
        match hook {
            Hook::Egress if filter.is_none() => Qdisc::at(&device)?.stats(),
            _ => Ok(filter),
        }
    })
}
