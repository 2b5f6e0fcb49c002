//! An AQM that is the root qdisc of a device, by operations that the kernel takes in BPF (struct_ops; Linux 6.16,
//! CONFIG_NET_SCH_BPF).

use crate::device::Device;
use crate::interface::{Error, Setup, Stats};
use crate::pins::Pins;
use crate::requirements;
use crate::{netlink, program};
use libbpf_rs::Link;

/// File name of the pinned operations.
const LINK: &str = "link";

/// The root of a device.
pub struct Qdisc<'a> {
    device: &'a Device,
    pins: Pins,
}

impl<'a> Qdisc<'a> {
    /// The root, whichever qdisc it is.
    ///
    /// # Errors
    /// If there is no file system of BPF.
    pub fn at(device: &'a Device) -> Result<Qdisc<'a>, Error> {
        Ok(Qdisc { device, pins: Pins::of(device.index, "root")? })
    }

    /// Makes an AQM the root qdisc, or changes its parameters. Returns true if it was not the root before.
    ///
    /// # Errors
    /// If somebody has set another root qdisc, or the kernel refuses it.
    pub fn attach(&self, setup: &Setup) -> Result<bool, Error> {
        requirements::check_qdiscs()?;
        if setup.law.asks_for_cgroups() {
            requirements::check_cgroups_of_sockets()?;
        }
        let name = self.kind(setup.law.name())?;
        let root = netlink::root_qdisc(self.device.index)?;
        let ours = root.as_ref().is_some_and(|root| root.kind == name);
        if ours && self.pins.setup().is_some() {
            self.pins.write_setup(setup)?;
            return Ok(false);
        }
        if let Some(root) = root.filter(|root| !ours && !root.is_default) {
            let Device { name, .. } = self.device;
            return Err(Error(format!(
                "{name}: got root qdisc {}, which somebody has set, expected none: {} is one itself (tc qdisc del dev {name} \
                 root)",
                root.kind,
                setup.law.name()
            )));
        }
        if ours {
            netlink::delete_root(self.device.index)?;
        }
        self.unregister()?;
        self.start(&name, setup).inspect_err(|_| {
            // Report the first error.
            let _ = self.unregister();
        })?;
        Ok(true)
    }

    /// Removes the qdisc. Returns false if there was none of ours.
    ///
    /// # Errors
    /// If the kernel refuses it.
    pub fn detach(&self) -> Result<bool, Error> {
        let attached = self.is_attached()?;
        if attached {
            netlink::delete_root(self.device.index)?;
        }
        let there = attached || self.pins.exist();
        self.unregister()?;
        Ok(there)
    }

    /// State and counters; `None` if nothing of this build is the root.
    ///
    /// # Errors
    /// If the kernel refuses it.
    pub fn stats(&self) -> Result<Option<Stats>, Error> {
        if self.is_attached()? {
            self.pins.stats()
        } else {
            Ok(None)
        }
    }

    /// Is one of ours the root?
    ///
    /// # Errors
    /// If the kernel refuses the query.
    pub fn is_attached(&self) -> Result<bool, Error> {
        let root = netlink::root_qdisc(self.device.index)?;
        let Some((_, suffix)) = root.as_ref().and_then(|root| root.kind.split_once('_')) else { return Ok(false) };
        Ok(suffix == self.suffix()?)
    }

    /// Takes the operations back, and removes the pins. Without the first the kernel would do it some time later, and
    /// refuse operations of the same name until then.
    fn unregister(&self) -> Result<(), Error> {
        if let Ok(link) = Link::open(self.pins.path(LINK)) {
            // What cannot be detached goes with its last pin, some time later.
            let _ = link.detach();
        }
        self.pins.remove()
    }

    fn start(&self, name: &str, setup: &Setup) -> Result<(), Error> {
        let mut object = program::load_qdisc(name, setup)?;
        self.pins.pin_maps(&mut object)?;
        let mut link = program::register_qdisc(&mut object)?;
        self.pins.pin(LINK, |path| link.pin(path))?;
        netlink::set_root(self.device.index, name)
    }

    /// The kind that tc shows. The kernel has one set of kinds for all namespaces and devices, so each has its own.
    fn kind(&self, aqm: &str) -> Result<String, Error> {
        Ok(format!("{aqm}_{}", self.suffix()?))
    }

    /// Of a network namespace and a device: eight digits.
    fn suffix(&self) -> Result<String, Error> {
        let place = requirements::namespace()? << 20 | u64::from(self.device.index.unsigned_abs());
        Ok(format!("{:08x}", program::hash(&place.to_ne_bytes()) as u32))
    }
}
