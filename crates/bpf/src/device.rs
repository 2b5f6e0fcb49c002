//! AVQ on a device: attached, told anew, looked at, detached. It outlives whoever attached it.
//!
//! Program and maps are pinned in a folder of the device's namespace and index; the filter stands at a
//! priority and a handle of its own at clsact's egress hook, by which it is found again.

use crate::fixed_point::AvqParams;
use crate::interface::{Error, Setup, Stats};
use crate::requirements::{self, failed};
use crate::{program, tc_hooks};
use libbpf_rs::{ErrorKind, MapCore, MapHandle, Program, TcHook, TcHookBuilder, TC_EGRESS, TC_INGRESS};
use marqueue_aqm::Signal;
use rustix::net::netdevice::{index_to_name, name_to_index};
use rustix::net::{socket, AddressFamily, SocketType};
use std::fs;
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::{Path, PathBuf};

/// Of the filter, "mq".
const PRIORITY: u32 = 0x6d71;
const HANDLE: u32 = 1;

const PROGRAM: &str = "avq_egress";
const MAPS: [&str; 3] = ["setup", "state", "counters"];

/// A device in the network namespace of this thread.
struct Device {
    index: i32,
    pins: PathBuf,
    /// Any socket: hooks are looked up by something that is open.
    socket: OwnedFd,
}

impl Device {
    fn find(name: &str) -> Result<Device, Error> {
        requirements::ready()?;
        let unknown = |error| Error(format!("got device \"{name}\", expected one of this network namespace ({error})"));
        let socket = socket(AddressFamily::INET, SocketType::DGRAM, None).map_err(unknown)?;
        let index = name_to_index(&socket, name).map_err(unknown)?;
        let pins = requirements::bpffs()?.join("marqueue").join(format!("{}-{index}", requirements::namespace()?));
        Ok(Device { index: index as i32, pins, socket })
    }

    fn hook(&self, program: BorrowedFd<'_>) -> TcHook {
        TcHookBuilder::new(program).ifindex(self.index).priority(PRIORITY).handle(HANDLE).replace(true).hook(TC_EGRESS)
    }

    /// The program of the filter that stands there.
    fn filter(&self) -> Result<Option<u32>, Error> {
        match self.hook(self.socket.as_fd()).query() {
            Ok(id) => Ok(Some(id)),
            // No filter, or no hook that has ever had one.
            Err(error) if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::InvalidInput) => Ok(None),
            Err(error) => Err(failed("clsact", &error)),
        }
    }

    fn map(&self, name: &str) -> Result<MapHandle, Error> {
        let path = self.pins.join(name);
        MapHandle::from_pinned_path(&path).map_err(|error| failed(&path.display().to_string(), &error))
    }

    /// What was pinned, if it is of this build.
    fn setup(&self) -> Option<Setup> {
        self.map("setup").and_then(|map| program::read_setup(&map)).ok().flatten()
    }

    /// Is this the pinned program?
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

    fn pin(&self, object: &mut libbpf_rs::Object) -> Result<(), Error> {
        fs::create_dir_all(&self.pins).map_err(|error| Error(format!("{}: {error}", self.pins.display())))?;
        let explain = |error| failed(&self.pins.display().to_string(), &error);
        for mut map in object.maps_mut() {
            let name = map.name().to_owned();
            map.pin(self.pins.join(name)).map_err(explain)?;
        }
        for mut program in object.progs_mut().filter(|each| each.name() == PROGRAM) {
            program.pin(self.pins.join(PROGRAM)).map_err(explain)?;
        }
        Ok(())
    }

    /// Removes what was pinned for devices of this namespace that are gone; with them went their filters.
    fn sweep(&self, namespace: u64) {
        let pinned = self.pins.parent().and_then(|folder| fs::read_dir(folder).ok());
        for entry in pinned.into_iter().flatten().flatten() {
            let name = entry.file_name();
            let of = name.to_str().and_then(|name| name.split_once('-'));
            let Some((Ok(owner), Ok(index))) = of.map(|(owner, index)| (owner.parse::<u64>(), index.parse())) else {
                continue;
            };
            if owner == namespace && index_to_name(&self.socket, index).is_err() {
                // What stays is looked at next time.
                let _ = fs::remove_dir_all(entry.path());
            }
        }
    }

    fn start(&self, setup: &Setup) -> Result<(), Error> {
        let mut object = program::load(PROGRAM, setup)?;
        self.pin(&mut object)?;
        let mut hook = self.hook(program::program(&object, PROGRAM).as_fd());
        let explain = |error| failed("clsact", &error);
        hook.create().map_err(explain)?;
        hook.attach().map_err(explain)?;
        Ok(())
    }

    /// Removes the filter, the pins, and the hook if it was made for them and nothing else hangs there.
    fn clear(&self, clsact: bool) -> Result<(), Error> {
        let mut hook = self.hook(self.socket.as_fd());
        if self.filter()?.is_some() {
            hook.detach().map_err(|error| failed("clsact", &error))?;
        }
        if clsact && tc_hooks::has_clsact(self.index)? && !tc_hooks::has_filters(self.index)? {
            hook.attach_point(TC_EGRESS | TC_INGRESS).destroy().map_err(|error| failed("clsact", &error))?;
        }
        self.unpin()
    }
}

/// Puts AVQ at a device's egress. Where it stands already it is told the new law, and goes on with its virtual
/// queue, capacity and counters. True if it was not there.
///
/// # Errors
/// If there is no such device or namespace, or the kernel refuses it.
pub fn attach(netns: Option<&Path>, device: &str, law: AvqParams, signal: Signal) -> Result<bool, Error> {
    requirements::inside(netns, || {
        let device = Device::find(device)?;
        device.sweep(requirements::namespace()?);
        let before = device.setup();
        // What an attach that was killed has pinned tells whose the hook is, too.
        let clsact = !tc_hooks::has_clsact(device.index)? || before.is_some_and(|setup| setup.clsact);
        let setup = Setup { law, signal, clsact };
        if before.is_some() && device.filter()?.is_some_and(|id| device.is_pinned(id)) {
            program::write_setup(&device.map("setup")?, &setup)?;
            return Ok(false);
        }
        device.unpin()?;
        device.start(&setup).inspect_err(|_| {
            // The error that is told is the first one.
            let _ = device.clear(clsact);
        })?;
        Ok(true)
    })
}

/// Removes what [`attach`] made. False if nothing was there.
///
/// # Errors
/// If there is no such device or namespace, or the kernel refuses it.
pub fn detach(netns: Option<&Path>, device: &str) -> Result<bool, Error> {
    requirements::inside(netns, || {
        let device = Device::find(device)?;
        let there = device.filter()?.is_some() || device.pins.exists();
        device.clear(device.setup().is_some_and(|setup| setup.clsact))?;
        Ok(there)
    })
}

/// What AVQ has done at a device; `None` if it is not there.
///
/// # Errors
/// If there is no such device or namespace, or the kernel refuses it.
pub fn stats(netns: Option<&Path>, device: &str) -> Result<Option<Stats>, Error> {
    requirements::inside(netns, || {
        let device = Device::find(device)?;
        let (Some(id), Some(setup)) = (device.filter()?, device.setup()) else { return Ok(None) };
        if !device.is_pinned(id) {
            return Ok(None);
        }
        let [_, state, counters] = MAPS.map(|name| device.map(name));
        let state = program::read_state(&state?)?;
        Ok(Some(Stats { setup, state, counters: program::read_counters(&counters?)? }))
    })
}
