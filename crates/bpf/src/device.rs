//! An AQM at the egress or the ingress of a network device: attach, update, query, detach. It stays attached when the
//! process ends.
//!
//! Program and maps are pinned in a folder that is named by the network namespace, the index of the device and the hook.
//! The filter is identified by its priority and handle at that hook of clsact.

use crate::algorithm::{needs_queue, Law};
use crate::interface::{Error, Hook, Setup, Stats};
use crate::requirements::{self, libbpf_error};
use crate::{program, tc_hooks};
use libbpf_rs::{ErrorKind, MapCore, MapHandle, Program, TcHook, TcHookBuilder, TC_EGRESS, TC_INGRESS};
use marqueue_aqm::Signal;
use rustix::net::netdevice::{index_to_name, name_to_index};
use rustix::net::{socket, AddressFamily, SocketType};
use std::ffi::OsStr;
use std::fs;
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::{Path, PathBuf};

/// Priority of the filter: "mq" in ASCII.
const PRIORITY: u32 = 0x6d71;
const HANDLE: u32 = 1;

/// File name of the pinned program.
const PROGRAM: &str = "program";
const MAPS: [&str; 3] = ["setup", "state", "counters"];

/// Root qdiscs that hold no packets, or whose count is computed only when it is asked for.
const COUNTLESS: [&str; 6] = ["none", "noqueue", "mq", "mqprio", "taprio", "pfifo_fast"];

/// A hook of a device in the network namespace of this thread.
struct Device {
    name: String,
    index: i32,
    hook: Hook,
    pins: PathBuf,
    /// An open file descriptor, which looking up a hook needs.
    socket: OwnedFd,
}

impl Device {
    fn find(name: &str, hook: Hook) -> Result<Device, Error> {
        requirements::check()?;
        let unknown = |error| Error(format!("got device \"{name}\", expected one of this network namespace ({error})"));
        let socket = socket(AddressFamily::INET, SocketType::DGRAM, None).map_err(unknown)?;
        let index = name_to_index(&socket, name).map_err(unknown)?;
        let folder = format!("{}-{index}-{}", requirements::namespace()?, hook.name());
        let pins = requirements::bpffs()?.join("marqueue").join(folder);
        Ok(Device { name: name.into(), index: index as i32, hook, pins, socket })
    }

    fn tc_hook(&self, program: BorrowedFd<'_>) -> TcHook {
        let point = match self.hook {
            Hook::Egress => TC_EGRESS,
            Hook::Ingress => TC_INGRESS,
        };
        TcHookBuilder::new(program).ifindex(self.index).priority(PRIORITY).handle(HANDLE).replace(true).hook(point)
    }

    /// The id of the program of the attached filter.
    fn filter(&self) -> Result<Option<u32>, Error> {
        match self.tc_hook(self.socket.as_fd()).query() {
            Ok(id) => Ok(Some(id)),
            // No filter, or no hook.
            Err(error) if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::InvalidInput) => Ok(None),
            Err(error) => Err(libbpf_error("clsact", &error)),
        }
    }

    fn map(&self, name: &str) -> Result<MapHandle, Error> {
        let path = self.pins.join(name);
        MapHandle::from_pinned_path(&path).map_err(|error| libbpf_error(&path.display().to_string(), &error))
    }

    /// The pinned settings, if they are of this build.
    fn setup(&self) -> Option<Setup> {
        self.map("setup").and_then(|map| program::read_setup(&map)).ok().flatten()
    }

    /// Is this the id of the pinned program?
    fn is_pinned(&self, id: u32) -> bool {
        let pinned = Program::fd_from_pinned_path(self.pins.join(PROGRAM));
        pinned.and_then(|fd| Program::id_from_fd(fd.as_fd())).is_ok_and(|each| each == id)
    }

    fn unpin(&self) -> Result<(), Error> {
        let gone = |error: &io::Error| error.kind() == io::ErrorKind::NotFound;
        match fs::remove_dir_all(&self.pins) {
            Err(error) if !gone(&error) => Err(Error(format!("{}: {error}", self.pins.display()))),
            _ => Ok(()),
        }
    }

    fn pin(&self, object: &mut libbpf_rs::Object, name: &OsStr) -> Result<(), Error> {
        fs::create_dir_all(&self.pins).map_err(|error| Error(format!("{}: {error}", self.pins.display())))?;
        let explain = |error| libbpf_error(&self.pins.display().to_string(), &error);
        for mut map in object.maps_mut() {
            let name = map.name().to_owned();
            map.pin(self.pins.join(name)).map_err(explain)?;
        }
        for mut program in object.progs_mut().filter(|each| each.name() == name) {
            program.pin(self.pins.join(PROGRAM)).map_err(explain)?;
        }
        Ok(())
    }

    /// Removes pins of devices of this namespace that no longer exist; their filters went with them.
    fn sweep(&self, namespace: u64) {
        let pinned = self.pins.parent().and_then(|folder| fs::read_dir(folder).ok());
        for entry in pinned.into_iter().flatten().flatten() {
            let name = entry.file_name();
            let mut parts = name.to_str().unwrap_or_default().split('-');
            let (owner, index) = (parts.next().map(str::parse::<u64>), parts.next().map(str::parse));
            let (Some(Ok(owner)), Some(Ok(index))) = (owner, index) else { continue };
            if owner == namespace && index_to_name(&self.socket, index).is_err() {
                // If this fails, the next sweep tries again.
                let _ = fs::remove_dir_all(entry.path());
            }
        }
    }

    /// Returns an error if packets pass no queue at this hook that keeps a count of what it holds.
    fn check_queue(&self, aqm: &str) -> Result<(), Error> {
        if self.hook == Hook::Ingress {
            return Err(Error(format!(
                "{}: got {aqm} at ingress, expected an AQM that goes by arrivals alone (avq or mkc): packets that arrive \
                 have no queue whose length {aqm} could go by",
                self.name
            )));
        }
        let root = tc_hooks::root_qdisc(self.index)?.unwrap_or_else(|| "none".into());
        if COUNTLESS.contains(&root.as_str()) {
            return Err(Error(format!(
                "{}: got root qdisc {root}, expected one whose queue {aqm} can go by, such as tbf or htb (tc qdisc add \
                 dev {0} root tbf rate ...)",
                self.name
            )));
        }
        Ok(())
    }

    fn start(&self, setup: &Setup) -> Result<(), Error> {
        let name = format!("{}_{}", setup.law.name(), self.hook.name());
        let mut object = program::load(&name, setup)?;
        self.pin(&mut object, name.as_ref())?;
        let mut hook = self.tc_hook(program::program(&object, &name).as_fd());
        let explain = |error| libbpf_error("clsact", &error);
        hook.create().map_err(explain)?;
        hook.attach().map_err(explain)?;
        Ok(())
    }

    /// Removes the filter and the pins. `clsact`: also remove the hook if no other filter uses it.
    fn clear(&self, clsact: bool) -> Result<(), Error> {
        let mut hook = self.tc_hook(self.socket.as_fd());
        if self.filter()?.is_some() {
            hook.detach().map_err(|error| libbpf_error("clsact", &error))?;
        }
        if clsact && tc_hooks::has_clsact(self.index)? && !tc_hooks::has_filters(self.index)? {
            hook.attach_point(TC_EGRESS | TC_INGRESS).destroy().map_err(|error| libbpf_error("clsact", &error))?;
        }
        self.unpin()
    }
}

/// Attaches an AQM at a hook of a device. If it is attached already, updates its parameters and keeps its state and
/// counters; another one is replaced. Returns true if it was not attached before.
///
/// # Errors
/// If there is no such device or namespace, the AQM goes by a queue and the device's root qdisc has none, or packets do
/// not pass one at this hook, or the kernel refuses the operation.
pub fn attach(netns: Option<&Path>, device: &str, hook: Hook, law: Law, signal: Signal) -> Result<bool, Error> {
    requirements::in_namespace(netns, || {
        let other = Device::find(device, hook.other())?;
        let device = Device::find(device, hook)?;
        device.sweep(requirements::namespace()?);
        if needs_queue(law.name()) {
            device.check_queue(law.name())?;
        }
        let before = device.setup();
        // The pins of a killed attach still record whether it created clsact; those of the other hook, whether that did.
        let created = |setup: Option<Setup>| setup.is_some_and(|setup| setup.clsact);
        let clsact = !tc_hooks::has_clsact(device.index)? || created(before.clone()) || created(other.setup());
        let same = before.is_some_and(|setup| setup.law.name() == law.name());
        let setup = Setup { law, signal, clsact };
        if same && device.filter()?.is_some_and(|id| device.is_pinned(id)) {
            program::write_setup(&device.map("setup")?, &setup)?;
            return Ok(false);
        }
        device.unpin()?;
        device.start(&setup).inspect_err(|_| {
            // Report the first error.
            let _ = device.clear(clsact);
        })?;
        Ok(true)
    })
}

/// Removes everything that [`attach`] created at this hook. Returns false if nothing was attached.
///
/// # Errors
/// If there is no such device or namespace, or the kernel refuses the operation.
pub fn detach(netns: Option<&Path>, device: &str, hook: Hook) -> Result<bool, Error> {
    requirements::in_namespace(netns, || {
        let device = Device::find(device, hook)?;
        let there = device.filter()?.is_some() || device.pins.exists();
        device.clear(device.setup().is_some_and(|setup| setup.clsact))?;
        Ok(there)
    })
}

/// State and counters of the AQM at a hook; `None` if none is attached.
///
/// # Errors
/// If there is no such device or namespace, or the kernel refuses the operation.
pub fn stats(netns: Option<&Path>, device: &str, hook: Hook) -> Result<Option<Stats>, Error> {
    requirements::in_namespace(netns, || {
        let device = Device::find(device, hook)?;
        let (Some(id), Some(setup)) = (device.filter()?, device.setup()) else { return Ok(None) };
        if !device.is_pinned(id) {
            return Ok(None);
        }
        let [_, state, counters] = MAPS.map(|name| device.map(name));
        let state = program::read_state(&state?, setup.law.name())?;
        Ok(Some(Stats { setup, state, counters: program::read_counters(&counters?)? }))
    })
}
