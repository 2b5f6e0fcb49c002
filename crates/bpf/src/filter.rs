//! An AQM at a hook of tc, the egress or the ingress of a device: a filter of clsact, which is identified by its priority
//! and handle.

use crate::algorithm::{self, Law};
use crate::device::Device;
use crate::hook::Hook;
use crate::interface::{Error, Setup, Stats};
use crate::pins::Pins;
use crate::requirements::libbpf_error;
use crate::{netlink, program};
use libbpf_rs::{ErrorKind, Program, TcHook, TcHookBuilder, TC_EGRESS, TC_INGRESS};
use std::os::fd::{AsFd, BorrowedFd};

/// Priority of the filter: "mq" in ASCII.
const PRIORITY: u32 = 0x6d71;
const HANDLE: u32 = 1;

/// File name of the pinned program.
const PROGRAM: &str = "program";

/// Root qdiscs that hold no packets, or whose count is computed only when it is asked for.
const COUNTLESS: [&str; 6] = ["none", "noqueue", "mq", "mqprio", "taprio", "pfifo_fast"];

/// A hook of a device.
pub struct Filter<'a> {
    device: &'a Device,
    hook: Hook,
    pins: Pins,
}

impl<'a> Filter<'a> {
    /// The hook, whether or not there is a filter.
    ///
    /// # Errors
    /// If there is no file system of BPF.
    pub fn at(device: &'a Device, hook: Hook) -> Result<Filter<'a>, Error> {
        Ok(Filter { device, hook, pins: Pins::of(device.index, hook.name())? })
    }

    /// Attaches an AQM, or changes its parameters. Returns true if it was not attached before.
    ///
    /// # Errors
    /// If the AQM goes by a queue and there is none, or the kernel refuses it.
    pub fn attach(&self, setup: Setup) -> Result<bool, Error> {
        let other = Filter::at(self.device, self.hook.other())?;
        self.check_place(&setup.law)?;
        let before = self.pins.setup();
        // The pins of a killed attach still record whether it created clsact; those of the other hook, whether that did.
        let created = |setup: Option<Setup>| setup.is_some_and(|setup| setup.clsact);
        let clsact = !netlink::has_clsact(self.device.index)? || created(before.clone()) || created(other.pins.setup());
        let same = before.is_some_and(|before| before.law.name() == setup.law.name());
        let setup = Setup { clsact, ..setup };
        if same && self.is_attached()? {
            self.pins.write_setup(&setup)?;
            return Ok(false);
        }
        self.start(&setup).inspect_err(|_| {
            // Report the first error.
            let _ = self.clear(clsact);
        })?;
        Ok(true)
    }

    /// Removes everything that [`Filter::attach`] created. Returns false if there was nothing.
    ///
    /// # Errors
    /// If the kernel refuses it.
    pub fn detach(&self) -> Result<bool, Error> {
        let there = self.id()?.is_some() || self.pins.exist();
        self.clear(self.pins.setup().is_some_and(|setup| setup.clsact))?;
        Ok(there)
    }

    /// State and counters; `None` if nothing of this build is attached.
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

    /// Is the program of the filter the pinned one?
    ///
    /// # Errors
    /// If the kernel refuses it.
    pub fn is_attached(&self) -> Result<bool, Error> {
        let pinned = Program::fd_from_pinned_path(self.pins.path(PROGRAM));
        let pinned = pinned.and_then(|fd| Program::id_from_fd(fd.as_fd())).ok();
        Ok(pinned.is_some() && self.id()? == pinned)
    }

    fn tc_hook(&self, program: BorrowedFd<'_>) -> TcHook {
        let point = match self.hook {
            Hook::Egress => TC_EGRESS,
            Hook::Ingress => TC_INGRESS,
        };
        let mut builder = TcHookBuilder::new(program);
        builder.ifindex(self.device.index).priority(PRIORITY).handle(HANDLE).replace(true).hook(point)
    }

    /// The id of the program of the filter.
    fn id(&self) -> Result<Option<u32>, Error> {
        match self.tc_hook(self.device.socket.as_fd()).query() {
            Ok(id) => Ok(Some(id)),
            // No filter, or no hook.
            Err(error) if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::InvalidInput) => Ok(None),
            Err(error) => Err(libbpf_error("clsact", &error)),
        }
    }

    /// Returns an error if the AQM goes by a queue, and packets pass none at this hook that keeps a count of what it holds.
    fn check_place(&self, law: &Law) -> Result<(), Error> {
        let aqm = law.name();
        if !law.place().has(self.hook) {
            let there: Vec<_> = algorithm::at(self.hook).collect();
            return Err(Error(format!(
                "{}: got {aqm} at ingress, expected one of {}: packets that arrive have no queue whose length {aqm} could \
                 go by",
                self.device.name,
                there.join(", ")
            )));
        }
        if !law.place().needs_queue(self.hook) {
            return Ok(());
        }
        let root = netlink::root_qdisc(self.device.index)?.map_or_else(|| "none".into(), |root| root.kind);
        if COUNTLESS.contains(&root.as_str()) {
            return Err(Error(format!(
                "{}: got root qdisc {root}, expected one whose queue {aqm} can go by, such as tbf or htb (tc qdisc add \
                 dev {0} root tbf rate ...)",
                self.device.name
            )));
        }
        Ok(())
    }

    fn start(&self, setup: &Setup) -> Result<(), Error> {
        let name = format!("{}_{}", setup.law.name(), self.hook.name());
        let mut object = program::load(&name, setup)?;
        // First, so that a filter with another program is not taken for one that has these maps.
        for mut program in object.progs_mut().filter(|each| each.name() == name.as_str()) {
            self.pins.pin(PROGRAM, |path| program.pin(path))?;
        }
        self.pins.pin_maps(&mut object)?;
        let mut hook = self.tc_hook(program::program(&object, &name).as_fd());
        let explain = |error| libbpf_error("clsact", &error);
        hook.create().map_err(explain)?;
        hook.attach().map_err(explain)?;
        Ok(())
    }

    /// Removes the filter and the pins. `clsact`: also remove the hook if no other filter uses it.
    fn clear(&self, clsact: bool) -> Result<(), Error> {
        let index = self.device.index;
        let mut hook = self.tc_hook(self.device.socket.as_fd());
        if self.id()?.is_some() {
            hook.detach().map_err(|error| libbpf_error("clsact", &error))?;
        }
        if clsact && netlink::has_clsact(index)? && !netlink::has_filters(index)? {
            hook.attach_point(TC_EGRESS | TC_INGRESS).destroy().map_err(|error| libbpf_error("clsact", &error))?;
        }
        self.pins.remove()
    }
}
