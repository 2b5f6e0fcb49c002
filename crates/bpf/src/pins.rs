//! Where programs and maps stay when the process ends: a folder in the file system of BPF for each place of a device.

use crate::interface::{Error, Setup, Stats};
use crate::program;
use crate::requirements::{self, libbpf_error};
use libbpf_rs::{MapCore, MapHandle, Object};
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

/// The maps that are pinned.
const MAPS: [&str; 3] = ["setup", "state", "counters"];

/// A folder of pins.
pub struct Pins {
    folder: PathBuf,
}

impl Pins {
    /// Those of a place of a device of this thread's network namespace: a hook, or the root qdisc. The folder need not
    /// exist.
    ///
    /// # Errors
    /// If there is no file system of BPF.
    pub fn of(index: i32, place: &str) -> Result<Pins, Error> {
        let folder = format!("{}-{index}-{place}", requirements::namespace()?);
        Ok(Pins { folder: requirements::bpffs()?.join("marqueue").join(folder) })
    }

    /// Is there anything?
    pub fn exist(&self) -> bool {
        self.folder.exists()
    }

    /// The path of a pin.
    pub fn path(&self, name: &str) -> PathBuf {
        self.folder.join(name)
    }

    fn map(&self, name: &str) -> Result<MapHandle, Error> {
        let path = self.path(name);
        MapHandle::from_pinned_path(&path).map_err(|error| libbpf_error(&path.display().to_string(), &error))
    }

    /// The settings, if they are of this build.
    pub fn setup(&self) -> Option<Setup> {
        self.map("setup").and_then(|map| program::read_setup(&map)).ok().flatten()
    }

    /// Changes the settings.
    ///
    /// # Errors
    /// If the kernel refuses it.
    pub fn write_setup(&self, setup: &Setup) -> Result<(), Error> {
        program::write_setup(&self.map("setup")?, setup)
    }

    /// Settings, state and counters; `None` if they are not of this build.
    ///
    /// # Errors
    /// If the kernel refuses it.
    pub fn stats(&self) -> Result<Option<Stats>, Error> {
        let Some(setup) = self.setup() else { return Ok(None) };
        let state = program::read_state(&self.map("state")?, setup.law.name())?;
        let counters = program::read_counters(&self.map("counters")?)?;
        Ok(Some(Stats { setup, state, counters }))
    }

    /// Pins the maps of an object.
    ///
    /// # Errors
    /// If the kernel refuses it.
    pub fn pin_maps(&self, object: &mut Object) -> Result<(), Error> {
        for mut map in object.maps_mut() {
            let name = map.name().to_owned();
            if let Some(name) = MAPS.iter().find(|each| name == **each) {
                self.pin(name, |path| map.pin(path))?;
            }
        }
        Ok(())
    }

    /// Pins something under a name, in the place of what has it. There is one of both at any time, so that the settings of
    /// an attach that is killed are still there.
    ///
    /// # Errors
    /// If the kernel refuses it.
    pub fn pin(&self, name: &str, pin: impl FnOnce(&Path) -> libbpf_rs::Result<()>) -> Result<(), Error> {
        let at = self.folder.display().to_string();
        let explain = |error: io::Error| Error(format!("{at}: {error}"));
        fs::create_dir_all(&self.folder).map_err(explain)?;
        // The file system takes no dots in names.
        let fresh = self.folder.join(format!("new-{name}"));
        match fs::remove_file(&fresh) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(explain(error)),
            _ => {}
        }
        pin(&fresh).map_err(|error| libbpf_error(&at, &error))?;
        fs::rename(&fresh, self.folder.join(name)).map_err(explain)
    }

    /// Removes the folder.
    ///
    /// # Errors
    /// If it cannot be removed.
    pub fn remove(&self) -> Result<(), Error> {
        match fs::remove_dir_all(&self.folder) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => {
                Err(Error(format!("{}: {error}", self.folder.display())))
            }
            _ => Ok(()),
        }
    }
}

/// Removes the pins of devices of this thread's network namespace that no longer exist; what was attached went with them.
///
/// # Errors
/// If there is no file system of BPF.
pub fn sweep(exists: impl Fn(u32) -> bool) -> Result<(), Error> {
    let namespace = requirements::namespace()?;
    for entry in fs::read_dir(requirements::bpffs()?.join("marqueue")).into_iter().flatten().flatten() {
        let name = entry.file_name();
        let mut parts = name.to_str().unwrap_or_default().split('-');
        let (owner, index) = (parts.next().map(str::parse::<u64>), parts.next().map(str::parse));
        let (Some(Ok(owner)), Some(Ok(index))) = (owner, index) else { continue };
        if owner == namespace && !exists(index) {
            // If this fails, the next sweep tries again.
            let _ = fs::remove_dir_all(entry.path());
        }
    }
    Ok(())
}
