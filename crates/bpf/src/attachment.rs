//! An AQM at a network device: attach, update, query, detach. It stays attached when the process ends.
//!
//! Most are at a hook of tc in front of the queue of the device (`filter`). One that drops packets out of its
//! queue is the root qdisc of the device (`qdisc`). A device has one of both kinds at its egress.

use crate::algorithm::{Law, Place};
use crate::device::Device;
use crate::filter::Filter;
use crate::hook::Hook;
use crate::interface::{Error, Setup, Stats};
use crate::qdisc::Qdisc;
use crate::requirements;
use marqueue_aqm::Signal;
use std::path::Path;

/// Attaches an AQM to a device: at a hook, or as its root qdisc if it is a qdisc. If it is attached already,
/// updates its parameters and keeps its state and counters; another one at the same hook is replaced. Returns true if it
/// was not attached before.
///
/// # Errors
/// If there is no such device or namespace, the AQM goes by a queue and the device's root qdisc has none, packets do not
/// pass one at this hook, a root qdisc is in the way, or the kernel refuses the operation.
pub fn attach(netns: Option<&Path>, device: &str, hook: Hook, law: Law, signal: Signal) -> Result<bool, Error> {
    requirements::in_namespace(netns, || {
        let device = Device::find(device)?;
        device.sweep()?;
        let (qdisc, filter) = (Qdisc::at(&device)?, Filter::at(&device, hook)?);
        let (aqm, place) = (law.name(), law.place());
        let setup = Setup { law, signal, clsact: false };
        if place == Place::Root {
            if hook == Hook::Ingress {
                let expected = "expected egress: packets that arrive have no queue";
                return Err(Error(format!("{}: got {aqm} at ingress, {expected}", device.name)));
            }
            check_free(&device, filter.is_attached()?, "at its egress hook")?;
            return qdisc.attach(&setup);
        }
        check_free(&device, hook == Hook::Egress && qdisc.is_attached()?, "as its root qdisc")?;
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

/// Returns an error if another AQM is there in the other of two ways.
fn check_free(device: &Device, there: bool, how: &str) -> Result<(), Error> {
    if there {
        return Err(Error(format!("{0}: got an AQM {how}, expected none: marqueue detach {0}", device.name)));
    }
    Ok(())
}
